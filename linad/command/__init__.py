"""The command line: `linad demo`, `linad check`, `linad show`."""
