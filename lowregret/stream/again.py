"""Streams that are read several times: at first rows are kept in a temporary cache, from which they come again.

Those that are not kept are read from their files again, which must be what they were.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING

from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.stream.batch import Batch, Stream
from lowregret.stream.names import Met

if TYPE_CHECKING:
    from lowregret.stream.cache import Recorder
    from lowregret.stream.cache_file import CacheFile

NAME = "the temporary cache"
LEAST = 16 << 20  # bytes below which reading again takes no longer than importing what keeps rows


def read_once(stream: Stream, form: Part, paths: Sequence[str]) -> Stream:
    """A stream of the same rows that parses them only once, if they are many and there is what it takes to keep them.

    Other rows, and those of caches, come from the files at `paths` each time, which may not have changed.
    """
    from lowregret.stream.cache import CacheStream

    same = Unchanged(stream, paths)
    if isinstance(stream, CacheStream) or stream.size < LEAST or find_spec("pyarrow") is None:
        return same
    return Again(same, form)


class Unchanged:
    """A stream that raises a `DataError` when it is read again and one of its files is not what it was before."""

    def __init__(self, stream: Stream, paths: Sequence[str]) -> None:
        self.stream = stream
        self._before = {path: _identity(path) for path in paths}
        self._again = False

    @property
    def size(self) -> int:
        return self.stream.size

    def batches(self) -> Iterator[Batch]:
        """All rows in order; the files are looked at before and after, but for the first time."""
        again, self._again = self._again, True
        if again:
            self._require_unchanged()
        yield from self.stream.batches()
        if again:
            self._require_unchanged()

    def _require_unchanged(self) -> None:
        for path, before in self._before.items():
            if _identity(path) != before:
                raise DataError(
                    f"{path} has changed since it was first read, and is to be read more than once: "
                    "begin again once it stays as it is"
                )


def _identity(path: str) -> tuple[int, ...] | None:
    """Which file lies at a path and when it was changed; None if it is no file."""
    if not os.path.isfile(path):
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class Again:
    """A stream whose rows are kept in a file without a name, in the folder of temporary files, if there is room."""

    def __init__(self, stream: Stream, form: Part) -> None:
        self.stream, self.form = stream, form
        self._file: CacheFile | None = None  # once all rows are in it

    @property
    def size(self) -> int:
        return self.stream.size

    def batches(self) -> Iterator[Batch]:
        """All rows in order, kept the first time that somebody reads all of them."""
        return self._recorded() if self._file is None else self._replayed(self._file)

    def _recorded(self) -> Iterator[Batch]:
        from lowregret.stream.cache import Recorder

        file = _without_name()
        recorder = None if file is None else Recorder(file, self.form)
        for batch in self.stream.batches():
            recorder = None if batch.fault else _kept(recorder, batch)
            yield batch
        if file is not None and recorder is not None:
            self._file = _finished(recorder, file)

    def _replayed(self, file: CacheFile) -> Iterator[Batch]:
        from lowregret.stream.cache import in_background, replayed

        classes, met = dict[float, str](), Met()
        with closing(in_background(file.records())) as records:
            for record in records:
                yield replayed(record, NAME, classes, met)


def _without_name() -> IO[bytes] | None:
    """A new file without a name in the folder of temporary files; None if no folder takes one, as on a full disk."""
    try:
        return tempfile.TemporaryFile(prefix="lowregret-")
    except OSError:
        return None


def _kept(recorder: Recorder | None, batch: Batch) -> Recorder | None:
    """The recorder after it has kept a batch; None if it could not, for want of room or of a pyarrow that loads."""
    if recorder is not None:
        try:
            recorder.see(batch)
        except (OSError, DataError):
            return None
    return recorder


def _finished(recorder: Recorder, file: IO[bytes]) -> CacheFile | None:
    """The cache that was recorded; None if there is no room for its end, or for all of it in memory."""
    from lowregret.stream.cache_file import mapped

    try:
        recorder.finish()
        return mapped(file, NAME)
    except (OSError, DataError):
        return None
