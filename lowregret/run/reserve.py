"""A few of the rows that came since a model was frozen: it never learnt them, so they can tell what it is worth.

Of n rows since the freeze, one of every 2^s is kept, s the least for which that makes at most `ROOM` rows. Which one of
a block of 2^s rows is settled by hashes, half by half, so that it is one of those that were kept while s was less: what
is kept depends on the number of rows alone, never on how they came in batches.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.random import hash_number, key_of
from lowregret.rows import Rows, Sparse
from lowregret.store.file import Arrays
from lowregret.types import Vector

ROOM = 512  # rows
WIDEST = 256  # features that were met when the model was frozen; no rows are kept if there were more

PREFIX = "reserve."  # of arrays in files

_KEY = key_of(11)


def level_of(count: int) -> int:
    """The least s for which one of every 2^s rows makes at most `ROOM` of this many."""
    return int(max((count - 1) // ROOM, 0)).bit_length()


@cache
def _level_key(half: int) -> Any:
    with np.errstate(over="ignore"):
        return hash_number(_KEY, half)


def chosen(begin: int, end: int, level: int) -> Any:
    """The numbers from `begin` to `end` − 1 of the rows that are kept at a level: O(their number · level)."""
    found = np.arange(begin >> level, (max(end, begin + 1) - 1 >> level) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for half in range(level, 0, -1):
            bit = hash_number(_level_key(half), found) >> np.uint64(63)
            found = found << np.uint64(1) | bit
    numbers = found.astype(np.int64)
    return numbers[(numbers >= begin) & (numbers < end)]


class Taken(NamedTuple):
    """Rows as they come: how many entries each has, their columns and values; labels, weights, and numbers of rows."""

    sizes: Any
    indices: Any
    data: Vector
    labels: Vector
    weights: Vector
    numbers: Any

    @classmethod
    def of(cls, x: Rows, columns: Any, y: Any, w: Vector, picked: Any, numbers: Any) -> Taken:
        """The picked rows of x; `columns` are those of places, if these differ."""
        sizes, indices, data = _entries(x, picked)
        indices = indices if columns is None else columns[indices].astype(np.uint32)
        weights = w[picked] if w.size else np.ones(picked.size)
        return cls(sizes, indices, data, y[picked].astype(float), weights, numbers)


class Reserve:
    """Rows by their columns, without zeros, with labels (codes of classes) and weights, and the number of each."""

    def __init__(self, is_open: bool, **arrays: Any) -> None:
        self.is_open = is_open  # whether rows are narrow enough to be kept
        self._taken = list[Taken]()  # also rows that a higher level does not keep, until somebody asks
        self._level, self._count, self._next = 0, 0, 0  # rows come so far; none before the next number is kept
        self._ahead, self._known = np.empty(0, np.int64), 0  # numbers of rows to be kept, all up to some number
        if arrays:
            self._taken = [Taken(np.diff(arrays["indptr"]), *(arrays[name] for name in Taken._fields[1:]))]
            self._count = int(arrays["numbers"][-1]) + 1

    def see(self, x: Rows, columns: Any, y: Any, w: Vector, begin: int, end: int, before: int) -> None:
        """Keep some of rows begin, …, end − 1; `before` rows came since the freeze, `columns` are those of places."""
        self._count = before + (int(np.count_nonzero(w[begin:end])) if w.size else end - begin)
        if not self.is_open or self._count <= min(self._next, ROOM << self._level):
            return
        numbers = self._due(before)
        if numbers.size:
            picked = begin + numbers - before
            if w.size:
                picked = begin + np.flatnonzero(w[begin:end])[numbers - before]
            self._taken.append(Taken.of(x, columns, y, w, picked, numbers))

    def _due(self, before: int) -> Any:
        """The numbers of those rows from `before` on that are to be kept."""
        level = level_of(self._count)
        if level != self._level:
            self._level, self._ahead, self._known = level, self._ahead[:0], 0
        if self._known <= self._count:
            begin, end = max(self._known, before), self._count + (ROOM // 8 << level)
            self._ahead, self._known = np.append(self._ahead, chosen(begin, end, level)), end
        cut = int(np.searchsorted(self._ahead, self._count))
        due, self._ahead = self._ahead[:cut], self._ahead[cut:]
        self._next = int(self._ahead[0]) if self._ahead.size else self._known
        return due

    def arrays(self) -> Arrays:
        """The arrays that a file keeps of it; none if there are no rows."""
        if not self._taken:
            return {}
        joined = (np.concatenate(parts) for parts in zip(*self._taken, strict=True))
        sizes, indices, data, labels, weights, numbers = joined
        stay = np.flatnonzero(np.isin(numbers, chosen(0, self._count, level_of(self._count))))
        rows = compressed(Sparse(np.append(0, np.cumsum(sizes)), indices, data, 0), stay)
        told = labels[stay], weights[stay], numbers[stay]
        self._taken = [Taken(np.diff(rows.indptr), rows.indices, rows.data, *told)]
        kept = {name: array for name, array in self._taken[0]._asdict().items() if name != "sizes"}
        return kept | {"indptr": rows.indptr}

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.arrays()["numbers"].size if self._taken else 0


def _entries(x: Rows, picked: Any) -> tuple[Any, Any, Vector]:
    """The number of entries of each picked row, and their columns and values in double precision."""
    if not isinstance(x, Sparse):
        sizes = np.full(picked.size, x.shape[1])
        indices = np.tile(np.arange(x.shape[1], dtype=np.uint32), picked.size)
        return sizes, indices, x.data[picked].ravel().astype(float)  # type: ignore[attr-defined]
    starts = x.indptr[picked]
    sizes = x.indptr[picked + 1] - starts
    entries = np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    return sizes, x.indices[entries].astype(np.uint32), x.data[entries].astype(float)


def compressed(x: Rows, picked: Any) -> Sparse:
    """The picked rows by ascending columns, without zeros, in double precision."""
    sizes, indices, data = _entries(x, picked)
    of = np.repeat(np.arange(picked.size), sizes)
    order = np.lexsort((indices, of))
    order = order[data[order] != 0]
    ends = np.append(0, np.cumsum(np.bincount(of[order], minlength=picked.size)))
    return Sparse(ends, indices[order], data[order], x.shape[1])
