"""`python -m lowregret` is the command line."""

from __future__ import annotations

from lowregret.cli import command

if __name__ == "__main__":
    command()
