"""Where the numbers of features lie in a run that does not know its features: in the order in which they were learnt.

A run that has learnt n features takes the memory of n, whatever their columns are: hashed, or any numbers. Which place
a feature has depends on the rows up to its first alone, never on how they came in batches. A feature that was not
learnt yet has no place of its own; it reads the first free one, where all is 0.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import SECRET, mix
from lowregret.rows import Rows, Sparse, as_sparse
from lowregret.types import Cells, Vector

ROOM = 1024  # features that there is room for in the beginning
INTERPRETED = 1 << 12  # features that are entered sooner than code to do it is compiled
NEAR = 1 << 23  # columns that are looked up without hashing; memory that is never written to is never taken
NOTHING = np.empty(0)  # weights of rows that all count

_ONE, _TWO = np.uint64(1), np.uint64(2)


class Placed(NamedTuple):
    """Rows whose columns are places; row i needs room for `needs[i]` of them. Rows beyond `needs` cannot be learnt."""

    rows: Rows
    needs: Any
    before: int = 0  # places that there were before
    memory: Any = None  # in which the columns lie
    new: bool = True  # whether there may be features among them that were not learnt before

    @property
    def indices(self) -> Any:
        """The place of each entry."""
        return self.rows.parameters["indices"]

    def fitting(self, room: int) -> int:
        """How many rows there is room for."""
        return int(np.searchsorted(self.needs, room, side="right"))


class Ranks(NamedTuple):
    """Features of a batch numbered in the order in which they come: places, if nothing else was learnt."""

    indices: Any  # the number of each entry's feature
    needs: Any  # of each row: 2 + the highest number up to it; None if that was told before
    columns: Any  # of the features numbered so far, those of this batch included
    before: int  # features numbered before this batch
    source: object  # whoever numbers them, always in the same order


class Index(NamedTuple):
    """1 + the place of each column, 0 for those without: of the first columns one by one, of others in a hash table."""

    near: Any
    far: Any  # pairs (column, 1 + place), a quarter to a half of them in use at most
    secret: Any = SECRET  # with which columns are hashed: rows that are made to collide would take quadratic time


class Places:
    """The column of each place, and where to find them."""

    def __init__(self, columns: Any = ()) -> None:
        self._count = np.array([len(columns)])
        self._columns = np.asarray(columns, np.uint64)
        self._index = Index(np.zeros(NEAR, np.uint32), np.empty(0, np.uint64))
        self._agreed: tuple[object, int] = (None, 0)  # who numbers features alike, and how many of the first
        self._spare: Any = NOTHING  # memory for columns of rows, from rows that nobody needs any more
        near = np.flatnonzero(self._columns < NEAR)
        self._index.near[self._columns[near]] = near + 1
        self._make_room(max(len(columns), ROOM))

    def __reduce__(self) -> Any:
        """Pickled as the columns alone, which tell the rest."""
        return Places, (self.columns.copy(),)

    def __len__(self) -> int:
        """How many features have a place."""
        return int(self._count[0])

    @property
    def columns(self) -> Any:
        """The column of each place."""
        return self._columns[: len(self)]

    def place(self, x: Rows, weights: Vector, compiled: bool, ranks: Ranks | None = None) -> Placed:
        """Rows to be learnt: features that are new in them get places, but not those of rows of weight 0.

        It stops at a row with a column that x does not have. O(nnz), or O(rows) if `ranks` are the places.
        """
        x, before, i = as_sparse(x), len(self), 0
        if ranks is not None and self._agrees(ranks, weights):
            return self._taken_over(x, ranks)
        memory, needs = self._memory(x.indices), np.empty(x.shape[0], np.int64)
        indices = memory[: x.indices.size]
        try:
            while True:
                given = x, weights, self._index, self._columns, self._count, indices, needs, i
                i = int(call(place_rows, compiled, *given))
                if i == needs.size or not x.inside(i):
                    break
                self._make_room(2 * max(self._columns.size, int(x.end(i) - x.begin(i))))
        except BaseException:
            self.forget_after(before)
            raise
        needs = needs[:i]
        return Placed(replace(x, indices=indices, columns=int(needs.max(initial=0))), needs, before, memory)

    def _agrees(self, ranks: Ranks, weights: Vector) -> bool:
        """Whether the ranks are places, or will be once the features that are new in them are entered."""
        have, all_of_them = len(self), len(ranks.columns)
        if have < all_of_them and (have != ranks.before or ranks.needs is None or not np.all(weights)):
            return False
        shared = min(have, all_of_them)
        known = self._agreed[1] if self._agreed[0] is ranks.source else 0
        if known < shared and not np.array_equal(self._columns[known:shared], ranks.columns[known:shared]):
            return False
        self._agreed = ranks.source, max(known, shared)
        return True

    def _taken_over(self, x: Sparse, ranks: Ranks) -> Placed:
        """Rows whose places are their ranks; features that are new in them are entered."""
        before, all_of_them = len(self), len(ranks.columns)
        if before < all_of_them:
            self._enter(ranks.columns[before:])
            needs = ranks.needs
        else:
            needs = np.full(x.shape[0], before + 1)
        rows = replace(x, indices=ranks.indices, columns=int(needs.max(initial=0)))
        return Placed(rows, needs, before, new=before < all_of_them)

    def _enter(self, new: Any) -> None:
        """Give places to columns that have none."""
        before, count = len(self), len(self) + len(new)
        if count > self._columns.size:
            self._make_room(2 * count)
        self._columns[before:count], self._count[0] = new, count
        near = np.flatnonzero(new < NEAR)
        self._index.near[new[near]] = before + near + 1
        if near.size < len(new):
            call(fill, len(new) > INTERPRETED, self._index, self.columns, before)

    def give_back(self, placed: Placed) -> None:
        """Use the memory of rows that nobody needs any more for the next ones: fresh pages cost as much as placing."""
        self._spare = NOTHING if placed.memory is None else placed.memory

    def _memory(self, like: Any) -> Any:
        """An array of that type, and at least as long, which is given away."""
        spare, self._spare = self._spare, NOTHING
        return spare if spare.dtype == like.dtype and spare.size >= like.size else np.empty_like(like)

    def find(self, x: Rows, room: int, compiled: bool) -> Rows:
        """Rows to be judged, not learnt, with `room` columns: one more than there are places, or more."""
        x = as_sparse(x)
        indices = np.empty_like(x.indices)
        call(find_rows, compiled, x, x.shape[0], self._index, len(self), indices)
        return replace(x, indices=indices, columns=room)

    def forget_after(self, count: int) -> None:
        """Keep the first `count` features only."""
        if count < len(self):
            forgotten = self.columns[count:]
            self._index.near[forgotten[forgotten < NEAR]] = 0
            self._count[0] = count
            self._make_room(self._columns.size)
            self._agreed = None, 0

    def by_column(self, w: Vector, features: int, bias: bool) -> Vector:
        """Values by place, the bias last, as values by column; 0 for features without a place."""
        found = np.zeros((features + bias, *w.shape[1:]))
        found[self.columns] = w[: len(self)]
        found[features:] = w[len(w) - bias :]
        return found

    def by_place(self, u: Vector, room: int, bias: bool) -> Vector:
        """Values by column, the bias last, as values by place."""
        found = np.zeros((room + bias, *u.shape[1:]))
        found[: len(self)] = u[self.columns]
        found[room:] = u[len(u) - bias :]
        return found

    def _make_room(self, room: int) -> None:
        """Make room for this many features."""
        columns = np.zeros(room, np.uint64)
        columns[: len(self)] = self.columns
        self._columns = columns
        self._index = self._index._replace(far=np.zeros(4 << (room - 1).bit_length(), np.uint64))
        if self.columns.max(initial=0) >= NEAR:
            call(fill, len(self) > INTERPRETED, self._index, self.columns, 0)


# ---- compiled -------------------------------------------------------------------------------------------------------


@kernel
def place_rows(
    x: Rows, weights: Vector, index: Index, columns: Cells, count: Cells, indices: Cells, needs: Cells, i: int
) -> int:
    """Write the places of rows i, i+1, …; returns the first row for which there may be no room, or all: O(nnz)."""
    while i < needs.size and x.inside(i):
        met, learnt = np.uint64(count[0]), weights.size == 0 or weights[i] != 0.0
        if met + (x.end(i) - x.begin(i)) > np.uint64(columns.size):
            break
        for k in range(x.begin(i), x.end(i)):
            column = np.uint64(x.column(i, k))
            place = known(index, column)
            if place == 0:
                place = met + _ONE
                if learnt:
                    columns[met], met = column, place
                    enter(index, column, place)
            indices[k] = place - _ONE
        count[0] = met
        needs[i] = met + _ONE
        i += 1
    return i


@kernel
def follow_ranks(x: Sparse, ranks: Cells, before: int, columns: Cells, needs: Cells) -> bool:
    """Write what `Ranks` tell, columns from `before` on; returns whether features are numbered as they come: O(nnz)."""
    met = np.uint64(before)
    for i in range(needs.size):
        for k in range(x.begin(i), x.end(i)):
            if ranks[k] >= met:
                if ranks[k] > met or met == columns.size:
                    return False
                columns[met] = x.column(i, k)
                met += _ONE
        needs[i] = met + _ONE
    return bool(met == columns.size)


@kernel
def find_rows(x: Rows, rows: int, index: Index, count: int, indices: Cells) -> None:
    """Write the places of the first rows, `count` for features without one: O(nnz)."""
    for i in range(rows):
        for k in range(x.begin(i), x.end(i)):
            place = known(index, np.uint64(x.column(i, k)))
            indices[k] = place - _ONE if place > 0 else np.uint64(count)


@kernel
def fill(index: Index, columns: Cells, first: int) -> None:
    """Enter those columns of the places from `first` on that are far."""
    for place in range(first, columns.size):
        if columns[place] >= index.near.size:
            enter(index, columns[place], np.uint64(place + 1))


def known(index: Index, column: Any) -> Any:
    """1 + the place of a column, or 0."""
    if column < index.near.size:
        return np.uint64(index.near[column])
    return index.far[spot(index, column) + _ONE]


def enter(index: Index, column: Any, place: Any) -> None:
    """Say that a column has this place, plus 1."""
    if column < index.near.size:
        index.near[column] = place
    else:
        at = spot(index, column)
        index.far[at], index.far[at + _ONE] = column, place


def spot(index: Index, column: Any) -> Any:
    """Where the pair of a column is, or would be."""
    far = index.far
    last = np.uint64(far.size) - _TWO
    at = mix(column ^ index.secret) * _TWO & last
    while far[at + _ONE] != 0 and far[at] != column:
        at = at + _TWO & last
    return at
