"""Files that are still being written: whoever reads them waits at their ends, until it is told that this was all."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

SHOWN = 60  # bytes of half a line
LOOK = 0.1  # seconds between looks at a file that has nothing new
LOOKS = 100  # at a folder whose files are being renamed


class Follow:
    """Says how the last of several files is followed: until `end` is called. `say` tells what becomes of it."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say = say
        self._ended = threading.Event()

    @property
    def ended(self) -> bool:
        """Whether nothing more is wanted."""
        return self._ended.is_set()

    def end(self) -> None:
        """Let the file end where it has been read up to; may be called by a handler of signals."""
        self._ended.set()

    def wait(self) -> None:
        """Wait a little for news."""
        self._ended.wait(LOOK)


def between(path: str, before: os.stat_result, now: os.stat_result) -> list[tuple[str, os.stat_result]] | None:
    """The files that a path led to after one and before another, oldest first, by the names that rotation gave them.

    Whoever moves x to x.1 moves x.1 to x.2 first, and whoever names days goes on with later ones, x-20240131. So what
    became of the first file says which are younger; None if it is not there, or names do not say.
    """
    files = _beside(path)
    own = next((rest for rest, (found, _) in files.items() if os.path.samestat(found, before)), None)
    if own is None or not re.search(r"\d", own):
        return None
    shape, counted = _shape(own), re.fullmatch(r"\D\d{1,3}\D*", own) is not None
    alike = sorted((rest for rest in files if _shape(rest) == shape), key=len, reverse=True)
    numbers = {_digits(rest): rest for rest in alike}  # of x.1 and x.1.gz, which is being made of it, the first
    at = _digits(own)
    younger = sorted((number for number in numbers if (number < at if counted else number > at)), reverse=counted)
    if counted and [*younger, (0,)][: at[0]] != [(k,) for k in range(at[0] - 1, -1, -1)]:
        return None  # some are missing, or it is no count
    found = [files[numbers[number]] for number in younger]
    newer = [k for k, (stat, _) in enumerate(found) if os.path.samestat(stat, now)]
    return [(name, stat) for stat, name in (found[: newer[0]] if newer else found)]


def _beside(path: str) -> dict[str, tuple[os.stat_result, str]]:
    """Regular files whose names begin with that of another, by the rest of their names, at one moment.

    Files may be renamed while one after the other is looked at, so this is done until two looks agree.
    """
    folder, name = Path(path).parent, Path(path).name
    found: dict[str, tuple[os.stat_result, str]] = {}
    for _ in range(LOOKS):
        seen, found = found, {}
        with suppress(OSError), os.scandir(folder) as others:
            for other in others:
                if other.name.startswith(name) and other.name != name and other.is_file(follow_symlinks=False):
                    with suppress(OSError):  # it has another name by now
                        found[other.name[len(name) :]] = os.stat(other.path, follow_symlinks=False), other.path
        if {rest: stat.st_ino for rest, (stat, _) in seen.items()} == {
            r: stat.st_ino for r, (stat, _) in found.items()
        }:
            break
    return found


def _shape(rest: str) -> str:
    """The end of a name without its number, and without what a compressed one has behind it."""
    return re.sub(r"\d+", "0", re.sub(r"\.(gz|xz|bz2|zst)$", "", rest))


def _digits(rest: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", re.sub(r"\.(gz|xz|bz2|zst)$", "", rest))))


class Growing:
    """An open file, and whether its path still leads to it."""

    def __init__(self, path: str | None, file: int, name: str, follow: Follow) -> None:
        self.path, self.file, self.name, self.follow = path, file, name, follow
        self.over = False  # another file is to be read in its place, or this one from its beginning

    def waits(self, position: int) -> bool:
        """Wait a little at the end of what there is; returns whether more may come. O(1), two looks at the folder."""
        size = os.fstat(self.file).st_size
        if size < position:
            self._replace(f"{self.name} was cut to {size:,} bytes, of which {position:,} were read: beginning again")
        elif self._has_successor() and os.fstat(self.file).st_size <= position:
            self._replace(f"{self.name} is another file now: going on with it from its beginning")
        elif size == position:
            self.follow.wait()
        return not (self.over or self.follow.ended)

    def leave_out(self, rest: bytes) -> None:
        """Say that the end of a file is left out, for its line has no end."""
        if rest and (self.over or self.follow.ended):
            self.follow.say(
                f"{self.name} ends within a line, which is left out: {rest[:SHOWN].decode(errors='replace')!r}"
            )

    def _has_successor(self) -> bool:
        """Whether the path leads to another file that somebody has begun to write."""
        if self.path is None:
            return False
        try:
            there, here = os.stat(self.path), os.fstat(self.file)
        except OSError:  # moved away, and the next one is still to come
            return False
        return there.st_size > 0 and (there.st_dev, there.st_ino) != (here.st_dev, here.st_ino)

    def _replace(self, what: str) -> None:
        self.over = True
        self.follow.say(what)
