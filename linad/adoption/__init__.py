"""Other people's code, as it is: `linad.adopt`."""
