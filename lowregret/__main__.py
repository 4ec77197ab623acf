"""`python -m lowregret` is the command line."""

from __future__ import annotations

import sys

from lowregret.cli import main

if __name__ == "__main__":
    sys.exit(main())
