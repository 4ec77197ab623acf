"""A few of the rows that came since a model was frozen: it never learnt them, so they can tell what it is worth.

Of n rows since the freeze, one of every 2^s is kept, s the least for which that makes at most `ROOM` rows. Which one of
a block of 2^s rows is settled by hashes, half by half, so that it is one of those that were kept while s was less: what
is kept depends on the number of rows alone, never on how they came in batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.random import hash_number, key_of
from lowregret.rows import Dense, Rows, Sparse, as_sparse
from lowregret.store.file import Arrays
from lowregret.types import Vector

ROOM = 512  # rows
WIDEST = 256  # features that were met when the model was frozen; no rows are kept if there were more

PREFIX = "reserve."  # of arrays in files

_KEY = key_of(11)


def level_of(count: int) -> int:
    """The least s for which one of every 2^s rows makes at most `ROOM` of this many."""
    return int(max((count - 1) // ROOM, 0)).bit_length()


def chosen(begin: int, end: int, level: int) -> Any:
    """The numbers from `begin` to `end` − 1 of the rows that are kept at a level: O(their number · level)."""
    found = np.arange(begin >> level, (max(end, begin + 1) - 1 >> level) + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for half in range(level, 0, -1):
            bit = hash_number(hash_number(_KEY, half), found) >> np.uint64(63)
            found = found << np.uint64(1) | bit
    numbers = found.astype(np.int64)
    return numbers[(numbers >= begin) & (numbers < end)]


class Reserve:
    """Rows by their columns, without zeros, with labels (codes of classes) and weights, and the number of each."""

    def __init__(self, is_open: bool, **arrays: Any) -> None:
        self.is_open = is_open  # whether rows are narrow enough to be kept
        self._parts = [arrays] if arrays else []
        self._next, self._level = 0, 0  # no row before this number is kept at the level

    def see(self, x: Rows, columns: Any, y: Any, w: Vector, begin: int, end: int, before: int) -> None:
        """Keep some of rows begin, …, end − 1; `before` rows came since the freeze, `columns` are those of places."""
        played = None if not w.size else begin + np.flatnonzero(w[begin:end])
        count = before + (end - begin if played is None else played.size)
        level = level_of(count)
        if not self.is_open or (level == self._level and count <= self._next):
            return
        numbers = chosen(before, count, level)
        self._thin(count, level)
        if numbers.size:
            picked = begin + numbers - before if played is None else played[numbers - before]
            self._parts.append(_taken(x, columns, y, w, picked) | {"numbers": numbers})
        ahead = chosen(count, count + (2 << level), level)
        self._next, self._level = int(ahead[0]), level

    def _thin(self, count: int, level: int) -> None:
        """Keep of the rows there are those that belong to the level."""
        if level == self._level or not self._parts:
            return
        kept = self.arrays()
        stay = np.flatnonzero(np.isin(kept["numbers"], chosen(0, count, level)))
        rows = Sparse(kept["indptr"], kept["indices"], kept["data"], 0)
        self._parts = [_taken(rows, None, kept["labels"], kept["weights"], stay) | {"numbers": kept["numbers"][stay]}]

    def arrays(self) -> Arrays:
        """The arrays that a file keeps of it; none if there are no rows."""
        if len(self._parts) > 1:
            joined = {name: np.concatenate([part[name] for part in self._parts]) for name in self._parts[0]}
            ends = [np.diff(part["indptr"]) for part in self._parts]
            self._parts = [joined | {"indptr": np.append(0, np.cumsum(np.concatenate(ends)))}]
        return self._parts[0] if self._parts else {}

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(part["numbers"].size for part in self._parts)


def _taken(x: Rows, columns: Any, y: Any, w: Vector, picked: Any) -> Arrays:
    """The picked rows, with labels and weights."""
    rows = compressed(x, picked, columns)
    kept = {"indptr": rows.indptr, "indices": rows.indices, "data": rows.data}
    return kept | {"labels": np.asarray(y[picked], float), "weights": w[picked] if w.size else np.ones(picked.size)}


def compressed(x: Rows, picked: Any, columns: Any = None) -> Sparse:
    """The picked rows by ascending columns, without zeros, in double precision; `columns` are those of places."""
    rows = x if isinstance(x, Sparse) else as_sparse(Dense(x.data[picked]))  # type: ignore[attr-defined]
    there = picked if isinstance(x, Sparse) else np.arange(picked.size)
    starts, sizes = rows.indptr[there], np.diff(rows.indptr)[there]
    entries = np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    indices, data = rows.indices[entries], np.asarray(rows.data[entries], float)
    indices = indices if columns is None else columns[indices]
    of = np.repeat(np.arange(picked.size), sizes)
    order = np.lexsort((indices, of))
    order = order[data[order] != 0]
    ends = np.append(0, np.cumsum(np.bincount(of[order], minlength=picked.size)))
    return Sparse(ends, indices[order].astype(np.uint32), data[order], x.shape[1])
