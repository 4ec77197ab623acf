"""Forests: partitions of the space of rows by trees, and the cells that a row lies in.

Each tree cuts the space twice: coarsely, by its first `COARSE` splits, and finely, by all. A row lies in one coarse and
one fine cell of every tree, so that of m trees it has 2m further features, all 1:

    coarse cells, tree by tree; then fine cells, tree by tree; then the features that the row had

A weighting of the cells is an additive forest, and learning it is as convex as before. A split asks whether a feature
exceeds a value that a row of the sample had, so only ranks matter; a feature that a row does not have is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.rows import Rows, Sparse, longest
from lowregret.types import Cells, Index

COARSE = 6  # splits that coarse cells are made by
FAR = 1e150  # larger features are refused, by `auto` too
DEEP = 0xFFFF  # the cut of a leaf, which no rank exceeds
BLOCK = 1024  # rows that are ranked together
WALKERS = 8  # rows that go down a tree side by side: the next step of one need not wait for that of another

_HALF, _QUARTER = np.uint64(32), np.uint64(16)
_LOW = np.uint64(0xFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Desk(NamedTuple):
    """Memory for rows with their cells, which can be used again."""

    bins: Any = np.empty((0, 0), np.uint16)
    indptr: Any = np.zeros(1, np.int64)
    indices: Any = np.empty(0, np.uint32)
    values: Any = np.empty(0)
    block: Any = np.empty((0, 0))  # of rows as dense ones, a column each
    hops: Any = np.zeros(2, np.uint64)  # none, and half of what is left

    def fitting(self, rows: int, entries: int, features: int) -> Desk:
        """This desk, or a new one if it has no room for that many rows, each of that many entries."""
        if len(self.bins) >= rows + WALKERS and self.bins.shape[1] == features and self.values.size >= rows * entries:
            return self
        room = rows * entries
        bins = np.zeros((rows + WALKERS, features), np.uint16)
        indptr, indices, values = np.zeros(rows + 1, np.int64), np.empty(room, np.uint32), np.empty(room)
        return Desk(bins, indptr, indices, values, np.zeros((features, BLOCK)), np.zeros(2, np.uint64))


class Forest(NamedTuple):
    """Trees in arrays: a node is its first child (the second is the next node), the feature that it asks for, its cut.

    Leaves are their own children, and nodes of later trees come after those of earlier ones.
    """

    edges: Cells  # values of each feature that ranks are by, ascending
    ends: Cells  # where those of each feature end
    nodes: Cells
    roots: Cells
    cells: Cells  # of each node: the fine cell of a leaf, else 0
    coarse: Cells  # the coarse cell of a node at most COARSE deep, else 0
    counts: Cells  # how many coarse cells, and cells in all

    @classmethod
    def of(cls, edges: Sequence[Any], trees: Sequence[Any]) -> Forest:
        """The forest of trees that are given by their nodes, numbered from 0 in each."""
        roots = np.cumsum([0, *map(len, trees[:-1])]).astype(np.uint64)
        nodes = np.concatenate([nodes + (root << _HALF) for root, nodes in zip(roots, trees, strict=True)])
        ends = np.cumsum([0, *map(len, edges)]).astype(np.uint64)
        return cls(np.concatenate([*edges, np.empty(0)]), ends, nodes, roots, *numbered(nodes, roots))

    @classmethod
    def stored(cls, edges: Any, ends: Any, nodes: Any, roots: Any) -> Forest:
        """The forest that a file keeps by these arrays."""
        return cls(edges, ends, nodes, roots, *numbered(nodes, roots))

    @property
    def features(self) -> int:
        """How many features trees may ask for."""
        return int(self.ends.size) - 1

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return int(self.roots.size)

    @property
    def width(self) -> int:
        """How many cells there are: the columns that come before those of the features."""
        return int(self.counts[1])

    @property
    def columns(self) -> int:
        """How many columns rows have that `rows` gives."""
        return self.width + self.features

    def rows(self, x: Rows, picked: Any, compiled: bool, desk: Desk | None = None) -> Sparse:
        """The picked rows of x with the cells that they lie in, up to one whose features are no moderate numbers.

        Features that trees do not know are left out. They lie in the memory of a desk, if one is given.
        O(nnz · log n + trees · depth) a row.
        """
        entries = 2 * self.trees + min(longest(x), self.features)
        desk = (desk or Desk()).fitting(picked.size, entries, self.features)
        done = int(call(place_rows, compiled, self, x, picked, *desk))
        last = int(desk.indptr[done])
        return Sparse(desk.indptr[: done + 1], desk.indices[:last], desk.values[:last], self.columns)


def pack(feature: Any, cut: Any, child: Any) -> Any:
    """A node in one number."""
    return child << _HALF | feature << _QUARTER | cut


def child_of(node: Any) -> Any:
    """The first child of a packed node; the node itself if it is a leaf."""
    return node >> _HALF


def feature_of(node: Any) -> Any:
    """The feature that a packed node asks for."""
    return node >> _QUARTER & _LOW


def cut_of(node: Any) -> Any:
    """The rank that a packed node asks whether it is exceeded."""
    return node & _LOW


def numbered(nodes: Any, roots: Any) -> tuple[Any, Any, Any]:
    """Numbers of fine and coarse cells by node, coarse ones first, and how many there are."""
    leaves, rough = child_of(nodes) == np.arange(len(nodes), dtype=np.uint64), np.zeros(len(nodes), bool)
    level = roots
    for depth in range(COARSE + 1):
        rough[level[leaves[level] | (depth == COARSE)]] = True
        below = child_of(nodes[level[~leaves[level]]])
        level = np.concatenate([below, below + _ONE])
    coarse, cells = np.zeros(len(nodes), np.uint32), np.zeros(len(nodes), np.uint32)
    coarse[rough] = np.arange(rough.sum())
    cells[leaves] = rough.sum() + np.arange(leaves.sum())
    return cells, coarse, np.array([rough.sum(), rough.sum() + leaves.sum()], np.int64)


# ---- compiled --------------------------------------------------------------------------------------------------------


@kernel
def place_rows(
    f: Forest, x: Rows, picked: Any, bins: Any, indptr: Cells, indices: Cells, values: Cells, block: Any, hops: Cells
) -> int:
    """Write rows with their cells; returns how many rows come before the first whose features are no numbers."""
    done = rank_rows(f, x, picked, bins, block, hops)
    trees, width, at = np.uint64(f.roots.size), np.uint64(f.counts[1]), _ZERO
    for r in range(done):
        i, head = picked[r], at
        for _ in range(trees + trees):
            values[at] = 1.0
            at += _ONE
        for k in range(x.begin(i), x.end(i)):
            if np.uint64(x.column(i, k)) < np.uint64(f.ends.size - 1):
                indices[at], values[at] = np.uint32(width + np.uint64(x.column(i, k))), x.value(i, k)
                at += _ONE
        indptr[r], indptr[r + 1] = np.int64(head), np.int64(at)
    for tree in range(f.roots.size):
        walk(f, np.uint64(tree), done, bins, indptr, indices)
    return done


def rank_rows(f: Forest, x: Rows, picked: Any, bins: Any, block: Any, hops: Cells) -> int:
    """Write the ranks of features, up to a row with one that is no moderate number; returns how many rows it did.

    Rows are ranked block by block, feature by feature: then the values of one feature are near, and the search for one
    row need not wait for that of another.
    """
    first = 0
    while first < picked.size:
        rows = min(picked.size - first, BLOCK)
        done = spread_rows(f, x, picked, first, rows, block)
        for j in range(np.uint64(f.ends.size - 1)):
            for r in range(np.uint64(0), np.uint64(done), np.uint64(4)):
                rank_four(f, j, r, np.uint64(first), bins, block, hops)
        first += done
        if done < rows:
            break
    return first


def spread_rows(f: Forest, x: Rows, picked: Any, first: int, rows: int, block: Any) -> int:
    """Write the features of a block of rows, 0 where there is none; returns how many rows have moderate numbers."""
    features = np.uint64(f.ends.size - 1)
    for r in range(rows):
        i, row = picked[first + r], np.uint64(r)
        if not x.inside(i):
            return r
        for absent in range(features):
            block[absent, row] = 0.0
        for k in range(x.begin(i), x.end(i)):
            j, value = np.uint64(x.column(i, k)), x.value(i, k)
            if not abs(value) < FAR:
                return r
            if j < features:
                block[j, row] = value
    return rows


def rank_four(f: Forest, j: Index, r: Index, first: Index, bins: Any, block: Any, hops: Cells) -> None:
    """Write the numbers of edges of feature j below its values in four rows of a block.

    Four searches go side by side, without branches, which could not be foretold.
    """
    at, left = f.ends[j], f.ends[j + _ONE] - f.ends[j]
    one, two, three = r + _ONE, r + np.uint64(2), r + np.uint64(3)
    u, v, x, y = block[j, r], block[j, one], block[j, two], block[j, three]
    a = b = c = d = at
    while left > _ONE:
        half = left >> _ONE
        last, hops[_ONE] = half - _ONE, half
        a += hops[np.uint64(f.edges[a + last] < u)]
        b += hops[np.uint64(f.edges[b + last] < v)]
        c += hops[np.uint64(f.edges[c + last] < x)]
        d += hops[np.uint64(f.edges[d + last] < y)]
        left -= half
    if left > _ZERO:
        a += np.uint64(f.edges[a] < u)
        b += np.uint64(f.edges[b] < v)
        c += np.uint64(f.edges[c] < x)
        d += np.uint64(f.edges[d] < y)
    r += first
    bins[r, j], bins[r + _ONE, j] = np.uint16(a - at), np.uint16(b - at)
    bins[r + np.uint64(2), j], bins[r + np.uint64(3), j] = np.uint16(c - at), np.uint16(d - at)


def walk(f: Forest, tree: Index, rows: int, bins: Any, indptr: Cells, indices: Cells) -> None:
    """Write the cells of one tree that rows lie in, eight rows side by side."""
    trees, root = np.uint64(f.roots.size), f.roots[tree]
    for first in range(np.uint64(0), np.uint64(rows), np.uint64(WALKERS)):
        a = b = c = d = e = g = h = q = root
        depth, moved = 0, True
        while moved:
            if depth == COARSE:
                note(f.coarse, (a, b, c, d, e, g, h, q), first, rows, tree, indptr, indices)
            before = a + b + c + d + e + g + h + q
            a, b = step(f, bins, first, a), step(f, bins, first + np.uint64(1), b)
            c, d = step(f, bins, first + np.uint64(2), c), step(f, bins, first + np.uint64(3), d)
            e, g = step(f, bins, first + np.uint64(4), e), step(f, bins, first + np.uint64(5), g)
            h, q = step(f, bins, first + np.uint64(6), h), step(f, bins, first + np.uint64(7), q)
            moved = a + b + c + d + e + g + h + q != before  # children come after their parents
            depth += 1
        if depth <= COARSE:
            note(f.coarse, (a, b, c, d, e, g, h, q), first, rows, tree, indptr, indices)
        note(f.cells, (a, b, c, d, e, g, h, q), first, rows, trees + tree, indptr, indices)


def step(f: Forest, bins: Any, row: Index, at: Index) -> Index:
    """The next node on the way of a row; the same at a leaf."""
    node = f.nodes[at]
    return (node >> _HALF) + np.uint64(np.uint64(bins[row, node >> _QUARTER & _LOW]) > (node & _LOW))


def note(cells: Cells, nodes: Any, first: Index, rows: int, entry: Index, indptr: Cells, indices: Cells) -> None:
    """Write the cells of nodes that eight rows are at."""
    for k in range(WALKERS):
        if first + np.uint64(k) < np.uint64(rows):
            indices[np.uint64(indptr[first + np.uint64(k)]) + entry] = cells[nodes[k]]
