"""What a command writes must be no file that it reads, and no file twice."""

from __future__ import annotations

import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterator

from lowregret.error import StoreError
from lowregret.stream.source import STDIN, expand

_READ = {
    "train": ("data", "resume"),
    "predict": ("model", "data"),
    "experts": ("table", "prior"),
    "bandit": ("log",),
    "dimension": ("source",),
    "play": ("data",),
}
_WRITTEN = {
    "model": "-o",
    "predictions": "--predictions",
    "weights": "--weights",
    "report": "--report",
    "plot": "--plot",
}


def require_apart(args: Namespace) -> None:
    """Refuse an output that is also an input, by whatever name, or another output; a model may replace itself."""
    names = _READ.get(args.command, ())
    read = {place: (name, path) for name in names for path in _files(args, name) if (place := _place(path))}
    written: dict[object, str] = {}
    for name, option in _WRITTEN.items():
        path = getattr(args, name, None)
        if name in names or path in (None, STDIN) or (place := _place(path)) is None:
            continue
        source, known = read.get(place, ("", ""))
        if source and (source, name) != ("resume", "model"):
            same = "" if known == path else f", which is {'standard input' if known == STDIN else known},"
            raise StoreError(f"{option} {path}{same} is read by this command and would be lost: name another file")
        if place in written:
            raise StoreError(f"{option} and {written[place]} both name {path}: give each a file of its own")
        written[place] = option


def _files(args: Namespace, name: str) -> Iterator[str]:
    """The files that an argument stands for."""
    said = getattr(args, name)
    if said:
        yield from expand(said) if name == "data" else (said,)


def _place(path: str) -> object:
    """What two names of one file have in common; None for what is no file, such as a pipe."""
    try:
        found = os.fstat(sys.stdin.fileno()) if path == STDIN else os.stat(path)
    except (OSError, ValueError):  # not there yet, or no standard input
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
