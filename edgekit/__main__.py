"""`python -m edgekit` is the command `edgekit`."""

import sys

from edgekit.cli import main

if __name__ == "__main__":
    sys.exit(main())
