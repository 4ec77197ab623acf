"""Rows with further columns behind their own: those that a feature map writes, or the cells of a forest.

An expanded row has its own entries first, then those that were added, in columns from `offset` on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.features.base import FAR, FeatureMap
from lowregret.features.forest import BLOCK, WALKERS, Forest, rank_four, walk
from lowregret.rows import Rows, Sparse, as_sparse
from lowregret.types import Cells, Index

ROOM = 1 << 23  # entries that rows which are mapped at a time may have
GUARD = 1024  # entries for which there is room in memory, should a map write more than it said

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def alone(x: Rows, offset: int, columns: int) -> Sparse:
    """Rows with their own entries only, up to one with an entry at the offset or beyond, in a space of `columns`."""
    own = as_sparse(x)
    first, last = int(own.indptr[0]), int(own.indptr[-1])
    beyond = np.flatnonzero(own.indices[first:last] >= offset)
    done = int(np.searchsorted(own.indptr, first + beyond[0], "right")) - 1 if beyond.size else x.shape[0]
    last = int(own.indptr[done])
    indices = own.indices[first:last].astype(np.uint32)
    return Sparse(own.indptr[: done + 1] - first, indices, np.asarray(own.data[first:last], float), columns)


def with_mapped(added: FeatureMap, x: Sparse, offset: int, compiled: bool) -> Sparse:
    """Rows and what the map adds to them, up to one for which it breaks a promise; x is as `alone` gives it.

    A row with an entry that is no finite number is left as it is.
    """
    entries, columns = added.entries(offset), added.columns(offset)
    row = np.zeros(offset)
    shown = row.view()
    shown.flags.writeable = False
    desk = row, shown, np.zeros(entries + GUARD, np.int64)[:entries], np.zeros(entries + GUARD)[:entries]
    found, step = list[Sparse](), at_once(added, offset)
    for begin in range(0, max(x.shape[0], 1), step):
        piece = replace(x, indptr=x.indptr[begin : begin + step + 1])
        rows, room = piece.shape[0], int(piece.indptr[-1] - piece.indptr[0]) + piece.shape[0] * entries
        ends, indices, values = np.zeros(rows + 1, np.int64), np.empty(room, np.uint32), np.empty(room)
        done = int(call(append_mapped, compiled, added, piece, offset, columns, *desk, ends, indices, values))
        last = int(ends[done])
        found.append(Sparse(ends[: done + 1], indices[:last], values[:last], x.columns))
        if done < rows:
            break
        if rows < x.shape[0]:  # room that a row might have needed is not kept
            found[-1] = replace(found[-1], indices=indices[:last].copy(), data=values[:last].copy())
    return joined(found)


def at_once(added: FeatureMap, features: int) -> int:
    """How many rows are mapped at a time, such that there is room for all that a row may have."""
    return max(ROOM // added.entries(features), 1)


def joined(parts: Sequence[Sparse]) -> Sparse:
    """The rows of all parts, one after the other, which have the same columns."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(part.indptr[-1] for part in parts)])
    ends = [np.zeros(1, np.int64), *(part.indptr[1:] + count for part, count in zip(parts, before, strict=False))]
    indices, data = (np.concatenate([getattr(part, name) for part in parts]) for name in ("indices", "data"))
    return Sparse(np.concatenate(ends), indices, data, parts[0].columns)


def with_cells(forest: Forest, asked: Any, x: Sparse, offset: int, compiled: bool) -> Sparse:
    """Rows and the cells that they lie in; feature j of the forest is column `asked[j]`, x as `alone` gives it."""
    rows = x.shape[0]
    room = x.indices.size + 2 * forest.trees * rows
    bins = np.zeros((rows + WALKERS, forest.features), np.uint16)
    ends, heads = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64)
    indices, values = np.empty(room, np.uint32), np.empty(room)
    desk = bins, np.zeros((forest.features, BLOCK)), np.zeros(2, np.uint64)
    call(append_cells, compiled, forest, asked, x, offset, *desk, heads, ends, indices, values)
    return Sparse(ends, indices, values, x.columns)


# ---- compiled --------------------------------------------------------------------------------------------------------


@kernel
def append_mapped(
    added: FeatureMap, x: Sparse, offset: int, width: int, row: Any, shown: Any, columns: Cells, values: Cells,
    ends: Cells, indices: Cells, data: Cells,
) -> int:  # fmt: skip
    """Write rows and what the map adds to them; returns the first row for which it breaks a promise, or all."""
    at = _ZERO
    for i in range(ends.size - 1):
        finite = True
        for k in range(x.begin(i), x.end(i)):
            row[x.column(i, k)] = data[at] = x.value(i, k)
            finite = finite and abs(data[at]) < np.inf
            indices[at] = x.column(i, k)
            at += _ONE
        if finite:
            count = added.write(shown, columns, values)
            if not sound(columns, values, count, width):
                return i
            for k in range(np.uint64(count)):
                indices[at], data[at] = np.uint32(offset + columns[k]), values[k]
                at += _ONE
        for k in range(x.begin(i), x.end(i)):
            row[x.column(i, k)] = 0.0
        ends[i + 1] = np.int64(at)
    return ends.size - 1


def sound(columns: Cells, values: Cells, count: int, width: int) -> bool:
    """Whether these are entries that a map may give a row."""
    if not 0 <= count <= columns.size:
        return False
    last = np.int64(-1)
    for k in range(np.uint64(count)):
        if not (last < columns[k] < width and abs(values[k]) < FAR):
            return False
        last = columns[k]
    return True


@kernel
def append_cells(
    f: Forest, asked: Cells, x: Sparse, offset: int, bins: Any, block: Any, hops: Cells, heads: Cells, ends: Cells,
    indices: Cells, data: Cells,
) -> None:  # fmt: skip
    """Write rows and the cells that they lie in: O(nnz + features · log n + trees · depth) a row."""
    at = _ZERO
    rank_asked(f, asked, x, heads.size, bins, block, hops)
    for i in range(heads.size):
        for k in range(x.begin(i), x.end(i)):
            indices[at], data[at] = x.column(i, k), x.value(i, k)
            at += _ONE
        heads[i] = np.int64(at)
        for _ in range(np.uint64(2 * f.roots.size)):
            data[at] = 1.0
            at += _ONE
        ends[i + 1] = np.int64(at)
    for tree in range(f.roots.size):
        walk(f, np.uint64(tree), heads.size, bins, heads, indices)
    for i in range(heads.size):
        for k in range(np.uint64(heads[i]), np.uint64(ends[i + 1])):
            indices[k] += np.uint32(offset)


def rank_asked(f: Forest, asked: Cells, x: Sparse, rows: int, bins: Any, block: Any, hops: Cells) -> None:
    """Write the ranks of the features that the forest asks for, block by block."""
    first = 0
    while first < rows:
        count = min(rows - first, BLOCK)
        for r in range(count):
            spread_asked(asked, x, first + r, np.uint64(r), block)
        for j in range(np.uint64(asked.size)):
            for r in range(np.uint64(0), np.uint64(count), np.uint64(4)):
                rank_four(f, j, r, np.uint64(first), bins, block, hops)
        first += count


def spread_asked(asked: Cells, x: Sparse, i: int, row: Index, block: Any) -> None:
    """Write the values of the columns asked for, 0 where there is none; both they and those of the row ascend."""
    k = x.begin(i)
    for j in range(np.uint64(asked.size)):
        while k < x.end(i) and np.uint64(x.column(i, k)) < asked[j]:
            k += _ONE
        there = k < x.end(i) and np.uint64(x.column(i, k)) == asked[j]
        block[j, row] = x.value(i, k) if there else 0.0
