"""`python -m linad`: the command line."""

import sys

from linad.command.cli import main

if __name__ == "__main__":
    sys.exit(main())
