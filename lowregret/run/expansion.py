"""Rows that get further columns before a run learns them: by a fixed map, or by partitions, which settle.

A run on d features that are known has its own columns first and those that were added from d on; where the number of
features is not known, they begin at 2^20. Weights, comparators and certificates speak of this one space of features.

Partitions are grown after 1,024 rounds, on all rows learnt so far. The features of rows before are 0 in all cells, and
cells never change afterwards, so that rows are still fixed vectors of one space, and theorems hold as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.spec import from_json, to_json
from lowregret.errors import DataError, PartError
from lowregret.features import FeatureMap, Forest, Partitions
from lowregret.features.base import fault_of, require_sound
from lowregret.features.expand import alone, at_once, joined, with_cells, with_mapped
from lowregret.learner.validate import Place
from lowregret.rows import OUTSIDE, Dense, Rows, Sparse
from lowregret.run.models import CHUNK, forest_contents, under
from lowregret.run.outcome import NOTHING, Learnt
from lowregret.run.sample import Sample
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

SETTLED = 1024  # rounds after which partitions are grown
OFFSET = 1 << 20  # where added columns begin, if the number of features is not known
WIDEST = 1024  # features that forests look at
NOTES = {
    "wide": f"nothing: more than {WIDEST:,} features vary in the first {SETTLED:,} rows, too wide for partitions",
    "alike": f"nothing: the first {SETTLED:,} rows are all alike, so that partitions have nothing to part",
    "interrupted": "nothing: the run was interrupted before partitions were grown",
}


class Expansion(ABC):
    """Added columns of a run or predictor: the part that says what they are, and where they begin."""

    left: str | None = None  # why there are none, if that is so: one of NOTES

    def __init__(self, part: Any, offset: int, added: int) -> None:
        self.part, self.offset = part, offset
        self.columns = offset + added  # of expanded rows

    @property
    @abstractmethod
    def summary(self) -> str:
        """A sentence on the columns that are added."""

    @abstractmethod
    def expanded(self, x: Rows, compiled: bool) -> Sparse:
        """Rows with their added columns, up to one for which there are none."""

    @abstractmethod
    def fault(self, x: Rows, i: int) -> str:
        """Why `expanded` ended before row i."""

    @abstractmethod
    def name(self, column: int) -> str:
        """The name of an added column, counted from 0."""

    @property
    def at_once(self) -> int:
        """How many rows are expanded at a time."""
        return CHUNK

    def pieces(self, x: Rows) -> Iterator[tuple[int, Rows]]:
        """Rows in pieces that are expanded at a time, each with its first row."""
        for begin in range(0, x.shape[0], self.at_once):
            yield begin, cut(x, begin, min(begin + self.at_once, x.shape[0]))

    def room(self, w: Vector) -> int:
        """How many rows with these weights, all 1 if there are none, may be learnt before the map changes."""
        return self.at_once

    def meet(self, x: Rows, learnt: Learnt, w: Vector) -> None:
        """Take notice of rows of which the first were learnt."""

    def settle(self, run: Any) -> None:
        """Change the map if it is time to."""

    def located(self, x: Rows, compiled: bool, first: int = 0) -> Sparse:
        """All rows with their added columns; they are rows `first`, … of those that were given."""
        found = self.expanded(x, compiled)
        if found.shape[0] < x.shape[0]:
            raise DataError(f"row {first + found.shape[0]}: {self.fault(x, found.shape[0])}")
        return found

    def as_learnt(self, x: Rows, w: Vector, before: int, compiled: bool, late: bool = False) -> Sparse:
        """Rows that were learnt after `before` others, with the columns that they had then.

        `late`: perhaps not in this order.
        """
        return self.located(x, compiled)

    def learn(
        self, run: Any, x: Rows, labels: Any, w: Vector, place: Place, names: Mapping[float, str] | None
    ) -> Learnt:
        """Let a run learn rows piece by piece, each as a batch of its own; reports on all of them as on one."""
        told: list[tuple[Any, ...]] = []
        begin, run.learnt, slots = 0, NOTHING, run.slots
        self.settle(run)  # if an interruption came before
        try:
            while begin < x.shape[0] or not told:
                end = min(begin + self.room(w[begin : begin + CHUNK]), x.shape[0])
                rows = self.expanded(cut(x, begin, end), run.compiled)
                stop, weights = begin + rows.shape[0], w[begin : begin + rows.shape[0]]
                given, run.slots = cut(x, begin, stop), run.slots.part(slots, begin, stop)
                try:
                    run._learn(given, labels[begin:stop], weights, Shifted(place, begin), names, rows)
                finally:
                    if run.learnt is not NOTHING:
                        told.append((run.learnt, *(getattr(run, name) for name in run.of_batch)))
                        self.meet(given, run.learnt, weights)
                self.settle(run)
                if stop < end:
                    raise DataError(f"{place(stop)}: {self.fault(x, stop)}")
                begin = end
        finally:
            if told:
                pieces, *arrays = zip(*told, strict=True)
                for name, parts in zip(run.of_batch, arrays, strict=True):
                    setattr(run, name, stacked(parts))
                _, *reported = zip(*pieces, strict=True)
                run.learnt = Learnt(sum(piece.done for piece in pieces), *map(stacked, reported))
        return run.learnt

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self, run: Any) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays by which the file of a run or predictor keeps it."""
        return {"expand": {"map": to_json(self.part), "offset": self.offset, "left": self.left}}, {}

    def frozen(self) -> Expansion:
        """A copy for prediction alone, which settles nothing any more."""
        return self


class Mapped(Expansion):
    """A fixed map, for rows whose number of features is known."""

    def __init__(self, part: FeatureMap, features: int) -> None:
        super().__init__(part, features, part.columns(features))

    @property
    def summary(self) -> str:
        added = f"{self.columns - self.offset:,} columns of {self.part}"
        return f"{added}, beside the {self.offset:,} that rows have"

    @property
    def at_once(self) -> int:
        return min(at_once(self.part, self.offset), CHUNK)

    def expanded(self, x: Rows, compiled: bool) -> Sparse:
        return with_mapped(self.part, alone(x, self.offset, self.columns), self.offset, compiled)

    def fault(self, x: Rows, i: int) -> str:
        row = np.zeros(self.offset)
        for k in range(int(x.begin(i)), int(x.end(i))):
            column = int(x.column(i, np.uint64(k)))
            if column >= self.offset:
                return beyond(column, self.offset)
            row[column] = x.value(i, np.uint64(k))
        row.flags.writeable = False
        why = fault_of(self.part, row, self.columns - self.offset, self.part.entries(self.offset))
        return f"{self.part}: {why or 'compiled, it gives something else than interpreted'}; remove or scale the row"

    def name(self, column: int) -> str:
        return f"{type(self.part).__name__} {column}"


class Settling(Expansion):
    """Partitions: the rows that they are grown on, until they are; then the forest and the columns that it asks for."""

    def __init__(
        self,
        part: Partitions,
        offset: int,
        sample: Sample | None = None,
        forest: Forest | None = None,
        asked: Any = None,
        left: str | None = None,
    ) -> None:
        super().__init__(part, offset, part.most_cells(SETTLED))
        self.sample, self.forest, self.asked, self.left = sample, forest, asked, left

    @property
    def summary(self) -> str:
        if self.left is not None:
            return NOTES[self.left]
        if self.forest is None:
            return f"nothing yet: partitions are grown after {SETTLED:,} rounds"
        trees = f"{self.forest.width:,} cells of {self.forest.trees:,} random trees"
        return f"{trees}, grown after {SETTLED:,} rounds on {counted(self.asked.size, 'feature')}"

    def expanded(self, x: Rows, compiled: bool) -> Sparse:
        own = alone(x, self.offset, self.columns)
        return own if self.forest is None else with_cells(self.forest, self.asked, own, self.offset, compiled)

    def fault(self, x: Rows, i: int) -> str:
        return beyond(int(x.column(i, x.end(i) - np.uint64(1))), self.offset)

    def name(self, column: int) -> str:
        return f"cell {column}"

    def room(self, w: Vector) -> int:
        return CHUNK if self.sample is None else rows_until(w, SETTLED - self.sample.size)

    def meet(self, x: Rows, learnt: Learnt, w: Vector) -> None:
        if self.sample is not None:
            self.sample.add(x, learnt.labels, w, 0, learnt.done)

    def settle(self, run: Any) -> None:
        """Grow the forest on the sample if that is complete, and forget it."""
        sample = self.sample
        if sample is None or sample.size < SETTLED:
            return
        x, y = sample.rows, sample.labels
        asked = varying(x)
        if 0 < asked.size <= WIDEST and sample.size == run.rounds:
            matrix, rows = np.zeros((y.size, asked.size)), np.repeat(np.arange(y.size), np.diff(x.indptr))
            at = np.minimum(np.searchsorted(asked, x.indices), asked.size - 1)
            there = asked[at] == x.indices
            matrix[rows[there], at[there]] = x.data[there]
            labels = y.astype(np.int64) if run.coded else y
            self.forest, self.asked = self.part.grow(matrix, labels, run.coded, run.compiled), asked
        else:
            self.left = "alike" if not asked.size else "wide" if asked.size > WIDEST else "interrupted"
        self.sample = None

    def as_learnt(self, x: Rows, w: Vector, before: int, compiled: bool, late: bool = False) -> Sparse:
        if late:
            raise PartError(
                "which rows had cells when they were learnt is not known where labels come late: use linear_regret"
            )
        bare = min(rows_until(w, SETTLED - before), x.shape[0]) if before < SETTLED else 0
        first = Settling(self.part, self.offset).located(cut(x, 0, bare), compiled)
        return joined([first, self.located(cut(x, bare, x.shape[0]), compiled, bare)])

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self, run: Any) -> tuple[dict[str, Any], Arrays]:
        if self.sample is not None and self.sample.size != run.rounds:
            self.sample, self.left = None, "interrupted"
        description, arrays = super().contents(run)
        if self.sample is not None:
            arrays |= {f"sample.{name}": array for name, array in self.sample.arrays().items()}
        if self.forest is not None:
            arrays |= forest_contents(self.forest) | {"asked": self.asked}
        return description, arrays

    def frozen(self) -> Expansion:
        return Settling(self.part, self.offset, None, self.forest, self.asked, self.left)


class Shifted(NamedTuple):
    """Where rows of a piece are, which begins at row `begin` of a batch."""

    place: Place
    begin: int

    def __call__(self, i: int) -> str:
        return self.place(self.begin + i)


def begin_expansion(part: Any, features: int | None) -> Expansion:
    """The expansion by a map or by partitions, of rows with this many features; None: nobody knows how many."""
    if isinstance(part, Partitions):
        part.require(part.trees > 0, "expand needs trees: give trees=64, or leave expand out")
        part.require(not part.alone, "alone is for auto, a linear learner has rows and cells: leave it out")
        narrow = features is None or features <= OFFSET
        part.require(narrow, f"rows of {features} features are too wide for partitions: leave expand out")
        return Settling(part, OFFSET if features is None else features, Sample())
    if not isinstance(part, FeatureMap):
        raise PartError(f"expand must be a feature map such as Partitions() or Products(), got {part!r}")
    if features is None:
        raise PartError(f"{part} must know the number of features, which a stream does not tell: give it as dimension")
    require_sound(part, features)
    return Mapped(part, features)


def stored_expansion(told: dict[str, Any], arrays: Arrays) -> Expansion:
    """The expansion whose `contents` are in a file."""
    part, offset = from_json(told["map"]), told["offset"]
    if isinstance(part, FeatureMap):
        return Mapped(part, offset)
    assert isinstance(part, Partitions)
    sample, forest = under("sample.", arrays), under("forest.", arrays)
    grown = Forest.stored(**forest) if forest else None
    return Settling(part, offset, Sample(**sample) if sample else None, grown, arrays.get("asked"), told["left"])


# ---- rows ------------------------------------------------------------------------------------------------------------


def cut(x: Rows, begin: int, end: int) -> Rows:
    """Rows begin, …, end − 1, in the same memory."""
    if begin == 0 and end == x.shape[0]:
        return x
    if not isinstance(x, Sparse):
        return Dense(x.data[begin:end])  # type: ignore[attr-defined]
    low, high = int(x.indptr[begin]), int(x.indptr[end])
    ends, indices, data = x.indptr[begin : end + 1] - low, x.indices[low:high], x.data[low:high]
    return replace(x, indptr=ends, indices=indices, data=data)


def stacked(arrays: Any) -> Any:
    """Arrays one after the other; of scores of classes, those that were not known yet are 0."""
    if len(arrays) == 1:
        return arrays[0]
    if arrays[-1].ndim == 2:
        width = max(array.shape[1] for array in arrays)
        arrays = [np.pad(array, ((0, 0), (0, width - array.shape[1]))) for array in arrays]
    return np.concatenate(arrays)


def rows_until(w: Vector, rounds: int) -> int:
    """The number of rows up to the last of these rounds, or all: rows of weight 0 are no rounds."""
    if not w.size:
        return rounds
    played = np.flatnonzero(w)
    return int(played[rounds - 1]) + 1 if played.size >= rounds else max(w.size, 1)


def varying(x: Sparse) -> Any:
    """The columns, ascending, whose values are not the same in all rows; 0 where a row does not have them."""
    columns, at, counts = np.unique(x.indices, return_inverse=True, return_counts=True)
    everywhere = counts == x.shape[0]
    low, high = (np.where(everywhere, end, 0.0) for end in (np.inf, -np.inf))
    np.minimum.at(low, at, x.data)
    np.maximum.at(high, at, x.data)
    return columns[low < high].astype(np.uint64)


def beyond(column: int, offset: int) -> str:
    """Why a row with this column has no room for added ones."""
    if offset == OFFSET:
        return f"feature {column} is beyond the first 2^20, where added columns begin: hash them into fewer (--bits 18)"
    return OUTSIDE.format(offset)
