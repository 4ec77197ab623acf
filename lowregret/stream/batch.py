"""What a stream hands over: rows with labels and weights, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from lowregret.error import DataError
from lowregret.rows import Sparse
from lowregret.state import Vector
from lowregret.stream.met import Met

SKIPPING = 'read(…, on_error="skip")'  # how to go on without lines that cannot be read


@dataclass
class Batch:
    """Some rows of one file, valid until the next batch is asked for."""

    rows: Sparse
    labels: Vector
    weights: Vector  # empty: all 1
    lines: Any  # the line of each row in its file, from 1
    name: str  # of the file
    unlabelled: int = 0  # rows without a label: their weight is 0
    position: int = 0  # bytes of the files read so far, as they are on disk
    faults: list[str] = field(default_factory=list)  # what was skipped
    fault: str | None = None  # what follows the rows and cannot be read
    held: Any = None  # marks rows held out: labelled, but of weight 0
    names: Mapping[float, str] | None = None  # what labels stand for, where they are texts
    met: Met = field(default_factory=Met)  # what the stream has shown so far, this batch included

    def __len__(self) -> int:
        return self.labels.size

    def leave_out(self, count: int) -> None:
        """Forget the first rows."""
        rows = self.rows
        begin = int(rows.indptr[count])
        self.rows = replace(
            rows, indptr=rows.indptr[count:] - begin, indices=rows.indices[begin:], data=rows.data[begin:]
        )
        self.labels, self.lines, self.weights = self.labels[count:], self.lines[count:], self.weights[count:]

    def hold_out(self, marks: Any) -> None:
        """Give the marked rows the weight 0, and remember which of them have a label."""
        weights = self.weights if self.weights.size else np.ones(len(self))
        self.held = marks & (weights != 0)
        self.weights = np.where(marks, 0.0, weights)

    def place(self, i: int) -> str:
        """Where row i is."""
        return f"{self.name}:{int(self.lines[i])}"


@runtime_checkable
class Stream(Protocol):
    """Rows in batches, as often as asked for."""

    @property
    def size(self) -> int:
        """Bytes on disk; 0 if nobody knows."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order. A fault ends it with a batch that says so."""


def sound(batches: Iterable[Batch], skipping: str = SKIPPING) -> Iterator[Batch]:
    """The same batches; what cannot be read is raised when the rows before it have been dealt with.

    `skipping`: how to go on without such lines, which is told if others could be read.
    """
    rows = 0
    for batch in batches:
        rows += len(batch)
        yield batch
        if batch.fault:
            raise DataError(batch.fault + (f"; {skipping} leaves such lines out" if skipping and rows else ""))


def chosen(batches: Iterator[Batch], skip: int, holdout: int) -> Iterator[Batch]:
    """Batches without the first `skip` rows, and with every `holdout`-th row of the data held out."""
    seen = 0
    for batch in batches:
        first, out = seen, min(max(skip - seen, 0), len(batch))
        seen += len(batch)
        if out:
            batch.leave_out(out)
        if holdout:
            batch.hold_out((first + out + np.arange(len(batch))) % holdout == holdout - 1)
        yield batch


def has_arrow_stream(data: Any) -> bool:
    """Whether an object hands over Arrow data."""
    return hasattr(data, "__arrow_c_stream__")
