"""Reading ahead: the first rows of a stream are read while their reader is still getting ready."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from threading import Thread

from lowregret.stream.batch import Batch, Stream
from lowregret.stream.notice import Notices


class Ahead:
    """A stream whose first batch was read ahead; `notices` are those of its first rows, if it was given some."""

    def __init__(self, stream: Stream, notices: Notices | None = None) -> None:
        self.stream, self.notices = stream, notices
        self._batches: Iterator[Batch] | None = stream.batches()
        self._first: Future[Batch | None] = Future()
        Thread(target=self._begin, args=(self._batches,), name="lowregret-ahead", daemon=True).start()

    def _begin(self, batches: Iterator[Batch]) -> None:
        """Read the first batch, in a thread of its own."""
        try:
            self._first.set_result(next(batches, None))
        except BaseException as error:  # raised again where batches are asked for
            self._first.set_exception(error)

    @property
    def size(self) -> int:
        return self.stream.size

    def first(self) -> Batch | None:
        """The batch that comes first, which is still to come."""
        return self._first.result()

    def batches(self) -> Iterator[Batch]:
        """All batches: the first time those already begun, later from the beginning."""
        if self._batches is None:
            yield from self.stream.batches()
            return
        batches, self._batches = self._batches, None
        first = self._first.result()
        if first is not None:
            yield first
            yield from batches
