"""The commands, a file each: what can be said behind its name, and what it does.

A command's file is light to import, for `--help` reads all of them; what does the work is imported when it runs.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# In the order of `lowregret --help`.
NAMES = ("train", "predict", "experts", "bandit", "dimension", "play", "zoo", "convert", "warm")


def _speaks(args: Namespace) -> bool:
    return True


@dataclass(frozen=True)
class Command:
    """A command as the command line knows it: the `COMMAND` of its file."""

    purpose: str
    examples: str  # the end of its help
    arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace], int]
    reads: tuple[str, ...] = ()  # arguments that name files which are read
    speaks: Callable[[Namespace], bool] = _speaks  # whether it writes to standard output, without --json
    sample: Callable[[Path], list[object]] | None = None  # makes a little data in a folder; the words that use them


def command(name: str) -> Command:
    """The command of this name."""
    found: Command = import_module(f"lowregret.cli.commands.{name}").COMMAND
    return found
