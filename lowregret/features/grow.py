"""Growing a forest: trees whose splits are drawn at random among values that rows had, the better of a few by labels.

A split of a node asks whether a feature exceeds a value. Some are drawn (`CANDIDATES`), each a feature that differs
within the node and the value that one of its rows has there, and the one is taken that tells most of the labels, by

    Σ over both sides of |Σ aim|² / rows        aim = label − mean; of classes, their codes less the mean

(extremely random trees of few candidates: Geurts, Ernst & Wehenkel, Machine Learning 2006).
Nodes split, the oldest first, until they hold one row, or rows that are all alike, or there are leaves enough. Only the
ranks of values matter, so that growing features monotonically changes nothing.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import hash_number, key_of, new_chance, uniform
from lowregret.features.forest import DEEP, Forest, pack
from lowregret.types import Cells

CANDIDATES = (4, 16)  # of every other tree: chance makes trees unlike each other, choice makes them good
JURY = 256  # rows of a node that candidates are judged by
CODES = 8  # numbers that classes are told apart by, where there are more classes

_ZERO, _ONE = np.uint64(0), np.uint64(1)


class Bed(NamedTuple):
    """Memory in which one tree grows."""

    order: Cells  # rows, those of a node side by side
    first: Cells  # of each node, where its rows begin
    last: Cells  # and end
    sums: Cells  # of aims on either side
    nodes: Cells  # as `Forest` has them

    @classmethod
    def of(cls, rows: int, leaves: int, aims: int) -> Bed:
        """Memory for trees of up to this many rows and leaves."""
        first, last = (np.zeros(2 * leaves, np.int64) for _ in range(2))
        return cls(np.arange(rows), first, last, np.zeros(2 * aims), np.zeros(2 * leaves, np.uint64))


def grow_forest(sample: Any, aims: Any, trees: int, leaves: int, seed: int, compiled: bool) -> Forest:
    """A forest grown on a matrix of rows and what is to be told of each: O(trees · rows · (log rows + features))."""
    edges = [np.unique(column) for column in sample.T]
    bins = np.column_stack([np.searchsorted(edge, column) for edge, column in zip(edges, sample.T, strict=True)])
    bins, leaves = np.ascontiguousarray(bins, np.uint16), max(min(leaves, len(sample)), 1)
    bed, grown, key = Bed.of(len(sample), leaves, aims.shape[1]), [], key_of(seed)
    for tree in range(trees):
        with np.errstate(over="ignore"):
            chance = new_chance(int(hash_number(key, tree)))
        bed.order[:] = np.arange(len(sample))
        given = leaves, CANDIDATES[tree % len(CANDIDATES)], chance, bed
        count = int(call(grow_tree, compiled, bins, np.ascontiguousarray(aims, float), *given))
        grown.append(bed.nodes[:count].copy())
    return Forest.of(edges, grown)


def aims_of(labels: Any, classes: int) -> Any:
    """The aims of splits, which should tell labels apart: numbers less their mean, or a code for each class."""
    if not classes:
        unit = math.frexp(float(np.max(np.abs(labels), initial=0.0)))[1]
        labels = np.ldexp(labels, -unit)  # exactly, so that squares neither overflow nor vanish
        return (labels - labels.mean())[:, None]
    if classes <= CODES:
        codes = np.eye(classes)
    else:
        with np.errstate(over="ignore"):
            bits = hash_number(np.uint64(0), np.arange(classes * CODES, dtype=np.uint64)) >> np.uint64(63)
        codes = 2.0 * bits.reshape(classes, CODES) - 1.0
    aims = codes[labels]
    return aims - aims.mean(axis=0)


@kernel
def grow_tree(bins: Any, aims: Any, leaves: int, candidates: int, chance: Any, bed: Bed) -> int:
    """Grow one tree, each split the best of some; returns the number of its nodes, children after their parents."""
    bed.first[0], bed.last[0] = 0, bins.shape[0]
    count, grown, at = 1, 1, 0
    while at < count:
        bed.nodes[np.uint64(at)] = pack(_ZERO, np.uint64(DEEP), np.uint64(at))
        if grown < leaves and bed.last[at] - bed.first[at] > 1:
            feature, cut = best_split(bins, aims, at, candidates, chance, bed)
            if feature >= 0:
                middle = part_rows(bins, bed, at, feature, cut)
                bed.nodes[np.uint64(at)] = pack(np.uint64(feature), np.uint64(cut), np.uint64(count))
                bed.first[count], bed.last[count] = bed.first[at], middle
                bed.first[count + 1], bed.last[count + 1] = middle, bed.last[at]
                count, grown = count + 2, grown + 1
        at += 1
    return count


def best_split(bins: Any, aims: Any, at: int, candidates: int, chance: Any, bed: Bed) -> tuple[int, int]:
    """The split of a node that tells most of the aims, among a few; −1 if its rows are all alike."""
    best, feature, cut = -1.0, -1, 0
    for _ in range(candidates):
        j = drawn_feature(bins, at, chance, bed)
        if j < 0:
            break
        value = drawn_cut(bins, at, j, chance, bed)
        told = gain(bins, aims, at, j, value, bed)
        if told > best:
            best, feature, cut = told, j, value
    return feature, cut


def drawn_feature(bins: Any, at: int, chance: Any, bed: Bed) -> int:
    """A feature in which rows of the node differ, each as likely as the others; −1 if there is none."""
    features = bins.shape[1]
    for _ in range(2 * features):
        j = min(int(uniform(chance) * features), features - 1)
        if differs(bins, at, j, bed):
            return j
    start = min(int(uniform(chance) * features), features - 1)
    for k in range(features):
        j = (start + k) % features
        if differs(bins, at, j, bed):
            return j
    return -1


def differs(bins: Any, at: int, j: int, bed: Bed) -> bool:
    """Whether rows of a node differ in feature j."""
    value = bins[bed.order[bed.first[at]], j]
    r = bed.first[at] + 1
    while r < bed.last[at] and bins[bed.order[r], j] == value:
        r += 1
    return bool(r < bed.last[at])


def drawn_cut(bins: Any, at: int, j: int, chance: Any, bed: Bed) -> int:
    """The rank that a row of the node has in feature j, but the highest there: then the one below it."""
    rows = bed.last[at] - bed.first[at]
    cut = np.int64(bins[bed.order[bed.first[at] + min(int(uniform(chance) * rows), rows - 1)], j])
    below, r = np.int64(-1), bed.first[at]
    while r < bed.last[at] and np.int64(bins[bed.order[r], j]) <= cut:
        value = np.int64(bins[bed.order[r], j])
        below = max(below, value) if value < cut else below
        r += 1
    return int(cut if r < bed.last[at] else below)


def gain(bins: Any, aims: Any, at: int, j: int, cut: int, bed: Bed) -> float:
    """Σ over both sides of |Σ aim|²/rows; of large nodes by every n-th row, `JURY` of them or some more."""
    codes, left, right = aims.shape[1], 0, 0
    for k in range(2 * codes):
        bed.sums[k] = 0.0
    for r in range(bed.first[at], bed.last[at], max((bed.last[at] - bed.first[at]) // JURY, 1)):
        i = bed.order[r]
        side = 0 if bins[i, j] <= cut else codes
        left, right = left + (side == 0), right + (side > 0)
        for k in range(codes):
            bed.sums[side + k] += aims[i, k]
    told = 0.0
    for k in range(codes):
        told += bed.sums[k] * bed.sums[k] / max(left, 1) + bed.sums[codes + k] * bed.sums[codes + k] / max(right, 1)
    return told


def part_rows(bins: Any, bed: Bed, at: int, j: int, cut: int) -> int:
    """Bring the rows of a node that do not exceed the cut before those that do; returns where the latter begin."""
    low, high = bed.first[at], bed.last[at] - 1
    while low <= high:
        row = bed.order[low]
        if bins[row, j] <= cut:
            low += 1
        else:
            bed.order[low], bed.order[high] = bed.order[high], row
            high -= 1
    return low
