"""Which rows are learnt: not the first ones, if they were learnt before, and not those held out for judging."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from lowregret.stream.batch import Batch


def skip_and_hold_out(batches: Iterator[Batch], skip: int = 0, every: int = 0, last: int = 0) -> Iterator[Batch]:
    """Batches without the first `skip` rows, and with one row in `every` or the `last` ones held out."""
    rest = _without_first(batches, skip, every)
    return _last_held(rest, last) if last else rest


def _without_first(batches: Iterator[Batch], skip: int, every: int) -> Iterator[Batch]:
    seen = 0
    for batch in batches:
        first, out = seen, min(max(skip - seen, 0), len(batch))
        seen += len(batch)
        found = batch.part(out, len(batch)) if out else batch
        if every:
            found.hold_out((first + out + np.arange(len(found))) % every == every - 1)
        yield found


def _last_held(batches: Iterator[Batch], last: int) -> Iterator[Batch]:
    """Hold out the last rows; where they end is not known before, so a row comes when `last` others follow it.

    Rows that are not followed by that many, because something cannot be read, do not come at all.
    """
    waiting: deque[Batch] = deque()
    count = 0  # rows that wait
    for batch in batches:
        count += len(batch)
        while waiting and count > last:
            free = min(count - last, len(waiting[0]))
            yield waiting[0].part(0, free)
            count -= free
            waiting[0] = waiting[0].part(free, len(waiting[0]))
            if not len(waiting[0]):
                waiting.popleft()
        free = max(count - last, 0)
        count -= free
        if free < len(batch):
            waiting.append(batch.part(free, len(batch)).copy())
        yield batch.part(0, free)
    for piece in waiting:
        piece.hold_out(True)
        piece.last = True
        yield piece
