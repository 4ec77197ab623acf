"""Refusing to write a file that is also read, or written twice."""

from __future__ import annotations

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TextIO

from lowregret.cli.commands import Command
from lowregret.cli.streams import closed
from lowregret.errors import StoreError
from lowregret.store.replacing import open_number, real_file, require_place
from lowregret.stream.source import STDIN, beside, expand

_WRITTEN = {
    "model": "-o",
    "cache": "-o",
    "predictions": "--predictions",
    "weights": "--weights",
    "weights_over_time": "--weights-over-time",
    "report": "--report",
    "plot": "--plot",
}


def require_apart(command: Command, args: Namespace) -> None:
    """Refuse an output that is also an input, by whatever name, or another output; a model may replace itself.

    Not so one for prediction alone: it would leave nothing to resume.
    """
    for name, option in _WRITTEN.items():
        path = getattr(args, name, None)
        if "stdout" in closed and name not in command.reads and path and open_number(path) == "1":
            raise StoreError(f"cannot write {path}: standard output is closed; name a file for {option}")
    read = {place: (name, path) for name in command.reads for path in _files(args, name) if (place := _place(path))}
    written: dict[object, tuple[str, str]] = {}
    for name, option, path, place in _outputs(command, args):
        source, known = read.get(place, ("", ""))
        replaces = (source, name) == ("resume", "model") and not getattr(args, "predict_only", False)
        if source and not replaces:
            same = "" if known == path else f", which is {'standard input' if known == STDIN else known},"
            said = f"{option} {path}".rstrip()
            raise StoreError(f"{said}{same} is read by this command and would be lost: name another file")
        if place in written:
            other, known = written[place]
            raise StoreError(f"{option} and {other} both name {path or known}: give each a file of its own")
        written[place] = option, path


def _outputs(command: Command, args: Namespace) -> Iterator[tuple[str, str, str, object]]:
    """The files written: the argument, its option, the file's name (standard output has none) and its place."""
    for name, option in _WRITTEN.items():
        path = getattr(args, name, None)
        if name not in command.reads and path not in (None, STDIN) and (place := _place(path)) is not None:
            yield name, option, path, place
    if getattr(args, "coverage", None) and args.plot and (place := _place(second := coverage_picture(args.plot))):
        yield "coverage", "the second picture of --plot", second, place
    if _speaks(command, args) and (place := _standard(sys.stdout)) is not None:
        yield "stdout", "standard output", "", place


def coverage_picture(path: str) -> str:
    """The name of the second picture of `experts --coverage --plot`: beside w.png, w.coverage.png."""
    stem, ending = os.path.splitext(path)
    return f"{stem}.coverage{ending}"


def require_second(path: str) -> None:
    """Refuse a second picture that has no place beside the first, or would go to what is no file and was not named."""
    if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
        raise StoreError(f"--coverage draws a second picture beside that of --plot, and {path} is no file: name one")
    require_place(second := coverage_picture(path))
    real_file(second)


def _speaks(command: Command, args: Namespace) -> bool:
    """Whether a command writes to standard output."""
    return bool(args.json or getattr(args, "predictions", None) == STDIN or command.speaks(args))


def _files(args: Namespace, name: str) -> Iterator[str]:
    """The files that an argument stands for, and the caches that are kept beside them."""
    said = getattr(args, name)
    if not said:
        return
    for path in expand(said) if name == "data" else (said,):
        yield path
        if name == "data" and getattr(args, "keep_rows", False):
            yield beside(path)


def _place(path: str) -> object:
    """The identity of a file, equal for all its names; None for what is no file, such as a pipe."""
    if path == STDIN:
        return _standard(sys.stdin)
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # not there yet
        return os.path.realpath(path)
    return _inode(found)


def _standard(stream: TextIO) -> object:
    """The identity of the file that is standard input or output."""
    try:
        return _inode(os.fstat(stream.fileno()))
    except (OSError, ValueError, AttributeError):  # there is none
        return None


def _inode(found: os.stat_result) -> object:
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
