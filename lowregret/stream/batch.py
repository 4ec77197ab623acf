"""Batches of a stream: rows with labels and weights, and where they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from lowregret.errors import DataError
from lowregret.rows import Sparse
from lowregret.stream.names import Met
from lowregret.stream.places import Ranks
from lowregret.types import Vector

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
    held: Vector | None = None  # the importance of rows held out, whose weight is 0; 0 for others
    last: bool = False  # whether all rows are held out until the others have been learnt
    names: Mapping[float, str] | None = None  # what labels stand for, where they are texts
    met: Met = field(default_factory=Met)  # what the stream has shown so far, this batch included
    lags: Vector = field(default_factory=lambda: np.empty(0))  # how late labels come, in rows; NaN of rows without one
    times: Vector = field(default_factory=lambda: np.empty(0))  # of the rows, if lags are in seconds
    ranks: Ranks | None = None  # features numbered as they come, if the stream has done that

    def __len__(self) -> int:
        return self.labels.size

    def part(self, begin: int, end: int) -> Batch:
        """Rows begin … end − 1, in the same memory."""
        rows, low, high = self.rows, int(self.rows.indptr[begin]), int(self.rows.indptr[end])
        labels = self.labels[begin:end]
        return replace(
            self,
            rows=replace(
                rows,
                indptr=rows.indptr[begin : end + 1] - low,
                indices=rows.indices[low:high],
                data=rows.data[low:high],
            ),
            labels=labels,
            weights=self.weights[begin:end],
            lines=self.lines[begin:end],
            lags=self.lags[begin:end],
            times=self.times[begin:end],
            ranks=None,
            unlabelled=int(np.count_nonzero(np.isnan(labels))) if self.unlabelled else 0,
        )

    def copy(self) -> Batch:
        """These rows in memory of their own, valid for ever, without faults."""
        rows = self.rows
        own = replace(rows, indptr=rows.indptr.copy(), indices=rows.indices.copy(), data=rows.data.copy())
        arrays = {name: getattr(self, name).copy() for name in ("labels", "weights", "lines", "lags", "times")}
        return replace(self, rows=own, **arrays, faults=[], fault=None, ranks=None)

    def hold_out(self, marks: Any) -> None:
        """Give the marked rows the weight 0, and remember what it was."""
        weights = self.weights if self.weights.size else np.ones(len(self))
        self.held = np.where(marks, weights, 0.0)
        self.weights = np.where(marks, 0.0, weights)

    def nonzeros(self, end: int) -> int:
        """How many entries the rows before `end` have that are learnt: those of weight 0 are not."""
        sizes = np.diff(self.rows.indptr[: end + 1])
        return int(sizes[self.weights[:end] != 0].sum() if self.weights.size else sizes.sum())

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


def is_stream(data: Any) -> TypeGuard[Stream]:
    """Whether data are a stream; a matrix of SciPy is none, and is not asked for its size, for it may be damaged."""
    return not hasattr(data, "tocsr") and isinstance(data, Stream)


def brings_lags(data: Any) -> bool:
    """Whether data are a stream whose rows say how late their labels come."""
    return bool(getattr(getattr(data, "form", None), "delay_column", ""))


def raise_faults(batches: Iterable[Batch], skipping: str = SKIPPING) -> Iterator[Batch]:
    """Pass batches on; raise a `DataError` for what cannot be read once the rows before it have been dealt with.

    `skipping` says how to go on without such lines; the error ends with it if other lines could be read.
    """
    rows = 0
    for batch in batches:
        rows += len(batch)
        yield batch
        if batch.fault:
            raise DataError(batch.fault + (f"; {skipping} leaves such lines out" if skipping and rows else ""))


def has_arrow_stream(data: Any) -> bool:
    """Whether an object hands over Arrow data."""
    return hasattr(data, "__arrow_c_stream__")
