"""Files that several processes may write: none takes the place of one that another has put there meanwhile."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from lowregret.errors import StoreError
from lowregret.store.replacing import lock

PATIENCE, STEP = 1.0, 0.005  # seconds to wait for others that rename in the folder, and between two looks

Stamp: TypeAlias = tuple[int, int, int, int] | None


class Watched(os.PathLike[str]):
    """A path at which a file is written only while there is none, or the one that was there or was written here."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self._seen = _stamp(self.path)

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    @property
    def is_anothers(self) -> bool:
        """Whether the file at the path is another one than was there or was written here."""
        return _stamp(self.path) not in (None, self._seen)

    @contextmanager
    def renaming(self) -> Iterator[None]:
        """Put a file at the path, while no other process does so; raises a `StoreError` if one has done so before."""
        with _alone(os.path.dirname(os.path.realpath(self.path))):
            if self.is_anothers:
                raise StoreError("another process has written it since this one began, and its file stays")
            yield
            self._seen = _stamp(self.path)


def _stamp(path: str) -> Stamp:
    """Marks of the file at a path that others there before or after do not share; None if there is no file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _alone(folder: str) -> Iterator[None]:
    """Have a folder for oneself, among processes that ask for it; whoever waits for long goes on without."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # a folder that may not be read, or where folders cannot be opened
        yield
        return
    try:
        end = time.monotonic() + PATIENCE
        while not lock(handle) and time.monotonic() < end:
            time.sleep(STEP)
        yield
    finally:
        os.close(handle)
