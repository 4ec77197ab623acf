"""Shards: rows dealt to workers, read as everywhere, and how far each shard is learnt.

A shard is whatever `read` takes, or every n-th block of its rows: of a file that several workers share, part k has rows
k·deal … (k+1)·deal − 1, (k+n)·deal …, so that all of them go through it side by side. Its cursor is the number of its
rows that were learnt. A line that could not be read goes with the row before it, or with the first that follows, so
that it is counted where and when that row is: once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.part import Part
from lowregret.stream.batch import Batch, raise_faults
from lowregret.stream.read import OnError, know_formats, stream_of


class Shard(NamedTuple):
    """Part `part` of `parts` of the rows of `data`."""

    data: Any  # names of files, or a table
    part: int = 0
    parts: int = 1


def deal(data: list[Any], workers: int) -> list[Shard]:
    """Shards for this many workers, at least one for each: data are shared if there are fewer."""
    parts = -(-workers // len(data))
    return [Shard(source, part, parts) for source in data for part in range(parts)]


def read_shard(
    shard: Shard, form: Part, size: int, cursor: int = 0, threads: int = 1, on_error: OnError = "stop"
) -> Iterator[Batch]:
    """The rows of a shard after the first `cursor`, at most `size` at a time, valid until more are asked for."""
    know_formats()
    seen, early, begun = 0, list[str](), cursor == 0  # rows of the data before the present batch, faults since the last
    for batch in raise_faults(stream_of(shard.data, form, threads, on_error).batches()):
        faults, at = early + batch.faults, np.append(np.zeros(len(early), np.int64), _rows_of_faults(batch))
        for begin, end in _own(seen, len(batch), size, shard):
            skipped = min(cursor, end - begin)
            cursor -= skipped
            if begin + skipped < end:
                begun, piece = True, batch.part(begin + skipped, end)
                piece.faults = [faults[k] for k in np.flatnonzero((begin + skipped <= at) & (at < end))]
                yield piece
        seen += len(batch)
        early = [] if len(batch) else faults
    if early and begun and shard.part == 0:  # no row follows, and this has not been read before
        yield replace(batch.part(0, 0), faults=early)


def _rows_of_faults(batch: Batch) -> Any:
    """The row with which each line that could not be read goes, by the lines that faults and rows tell."""
    lines = [int(fault[len(batch.name) + 1 :].split(":", 1)[0]) for fault in batch.faults]
    return np.maximum(np.searchsorted(batch.lines, np.array(lines, np.int64)) - 1, 0)


def _own(seen: int, rows: int, size: int, shard: Shard) -> Iterator[tuple[int, int]]:
    """The spans of a batch, `rows` rows after `seen` others, that are the shard's, each within a block of `size`."""
    at = 0
    while at < rows:
        block, within = divmod(seen + at, size)
        end = min(at + size - within, rows)
        if block % shard.parts == shard.part:
            yield at, end
        at = end
