"""Growing a forest: trees whose splits are drawn at random among values that rows had, the best of a few by labels.

A split of a node asks whether a feature exceeds a value. Some are drawn (`CANDIDATES`), each a feature in which two
rows of the node differ and a value between theirs, and the one is taken that tells most of the labels, by

    gain = Σ over both sides of |Σ aim|² / rows        aim = label − mean; of classes, their codes less the mean

(extremely random trees: Geurts, Ernst & Wehenkel, Machine Learning 2006). Trees are of two kinds by turns. *Wild* ones
choose among few splits, by any features. *Led* ones choose among more, by features that told something in the trees
before them: a feature's rate is what splits by it gained beyond noise, for each row that one was tried on, and

    chance of a feature ∝ rate / (rate + FAINT · highest rate)

So a forest comes to ask for those features, few of many, that tell something only together, as the two that make a
checkerboard do (forests that learn which features to draw: Basu, Kumbier, Brown & Yu, PNAS 2018).

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
from lowregret.compile.simd import LANES, Eight, load, spread, total
from lowregret.features.forest import DEEP, Forest, pack
from lowregret.types import Cells, cell

CANDIDATES = (4, 16)  # of wild and of led trees: chance makes trees unlike each other, choice makes them good
JURY = 256  # rows of a node that candidates are judged by
FEWEST = 16  # rows of nodes that tell which features matter
NOISE = 10.0  # times the variance of the aims in a node: what the best of some splits gains by chance is less
FAINT = 0.3  # a feature that tells this share of the most is drawn half as often as it could be
HUNCH = 0.1  # times their variance among all rows: what each feature is credited with beforehand, lest noise leads
STRAY = 0.05  # share of the splits of led trees by any feature
TRIES = 8  # draws of a feature before rows that hardly differ are gone through

_ZERO, _NONE = np.uint64(0), np.float32(0)


class Bed(NamedTuple):
    """Memory in which one tree grows after the other."""

    order: Cells  # rows, those of a node side by side
    first: Cells  # of each node, where its rows begin
    last: Cells  # and end
    nodes: Cells  # as `Forest` has them
    tickets: Cells  # of each feature, the chance that it or one before it is drawn
    told: Cells  # of each feature, what splits by it gained beyond noise
    tried: Cells  # and on how many rows splits by it were tried

    @classmethod
    def of(cls, rows: int, leaves: int, features: int) -> Bed:
        """Memory for trees of up to this many rows and leaves."""
        first, last = (np.zeros(2 * leaves, np.int64) for _ in range(2))
        told = (np.zeros(features) for _ in range(3))
        return cls(np.arange(rows), first, last, np.zeros(2 * leaves, np.uint64), *told)

    def prepare(self, led: bool) -> None:
        """Make ready for a tree: all rows together, features to be drawn with equal chances or by what they told."""
        self.order[:] = np.arange(self.order.size)
        chances = np.full(self.told.size, 1.0 / max(self.told.size, 1))
        rates = self.told / np.maximum(self.tried, 1.0)
        if led and rates.any():
            clear = rates / (rates + FAINT * rates.max())
            chances = STRAY * chances + (1.0 - STRAY) * clear / clear.sum()
        self.tickets[:] = np.cumsum(chances)


def grow_forest(sample: Any, aims: Any, trees: int, leaves: int, seed: int, compiled: bool) -> Forest:
    """A forest grown on a matrix of rows and what is to be told of each: O(trees · rows · (log rows + features))."""
    edges = [np.unique(column) for column in sample.T]
    bins = np.array([np.searchsorted(edge, column) for edge, column in zip(edges, sample.T, strict=True)], np.uint16)
    bins = bins.reshape(len(edges), len(sample))
    leaves = max(min(leaves, len(sample)), 1)
    bed, grown, key = Bed.of(len(sample), leaves, len(edges)), [], key_of(seed)
    bed.told[:] = HUNCH * np.square(aims, dtype=float).sum() / max(len(aims), 1)
    for tree in range(trees):
        with np.errstate(over="ignore"):
            chance = new_chance(int(hash_number(key, tree)))
        led = tree % 2
        bed.prepare(bool(led))
        count = int(call(grow_tree, compiled, bins, np.ravel(aims), leaves, CANDIDATES[led], chance, bed))
        grown.append(bed.nodes[:count].copy())
    return Forest.of(edges, grown)


def aims_of(labels: Any, classes: int) -> Any:
    """The aims of splits, eight numbers a row that are at most 1: labels, or codes of classes, less their mean."""
    if not classes:
        unit = math.frexp(float(np.max(np.abs(labels), initial=0.0)))[1]
        aims = np.ldexp(labels, -unit)[:, None]  # exactly, so that nothing overflows or vanishes
    elif classes <= LANES:
        aims = np.eye(classes)[labels]
    else:
        with np.errstate(over="ignore"):
            bits = hash_number(np.uint64(0), np.arange(classes * LANES, dtype=np.uint64)) >> np.uint64(63)
        aims = (2.0 * bits.reshape(classes, LANES) - 1.0)[labels]
    aims = aims - aims.mean(axis=0)
    aims /= max(float(np.abs(aims).max(initial=0.0)), 1e-300)
    return np.pad(aims, ((0, 0), (0, LANES - aims.shape[1]))).astype(np.float32)


@kernel
def grow_tree(bins: Any, aims: Any, leaves: int, candidates: int, chance: Any, bed: Bed) -> int:
    """Grow one tree, each split the best of some; returns the number of its nodes, children after their parents."""
    bed.first[0], bed.last[0] = 0, bins.shape[1]
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
    rows = bed.last[at] - bed.first[at]
    step = max(rows // JURY, 1)
    sums, known, noise = sum_up(aims, at, step, bed)
    best, feature, cut = -1.0, -1, 0
    for _ in range(min(candidates, rows - 1)):
        j, value = drawn_split(bins, at, chance, bed)
        if j < 0:
            break
        told = gain(bins, aims, at, j, value, step, sums, bed)
        if told > best:
            best, feature, cut = told, j, value
        if rows >= FEWEST:
            bed.tried[j] += rows
    if feature >= 0 and rows >= FEWEST:
        bed.told[feature] += max(best - known - NOISE * noise, 0.0) * step
    return feature, cut


def sum_up(aims: Any, at: int, step: int, bed: Bed) -> tuple[Eight, float, float]:
    """Of every step-th row of a node: the sum of aims, |Σ aim|²/rows, and the mean square of aims about their mean."""
    sums = squares = spread(_NONE)
    rows = 0
    for r in range(bed.first[at], bed.last[at], step):
        aim = load(aims, cell(bed.order[r], LANES))
        sums, squares, rows = sums + aim, squares + aim * aim, rows + 1
    known = float(total(sums * sums)) / rows
    return sums, known, (float(total(squares)) - known) / rows


def drawn_split(bins: Any, at: int, chance: Any, bed: Bed) -> tuple[int, int]:
    """A feature and a rank that some rows of the node exceed there, and some do not; −1 if they are all alike.

    A feature is drawn, and two rows; if they differ, one of the ranks between theirs. If they do so seldom, it is the
    next feature in which two rows differ.
    """
    first, rows, features = bed.first[at], bed.last[at] - bed.first[at], bins.shape[0]
    one = 0
    for _ in range(TRIES):
        j = min(int(np.searchsorted(bed.tickets, uniform(chance), "right")), features - 1)
        one = min(int(uniform(chance) * rows), rows - 1)
        other = (one + 1 + min(int(uniform(chance) * (rows - 1)), rows - 2)) % rows
        cut = cut_between(bins, j, bed.order[first + one], bed.order[first + other], chance)
        if cut >= 0:
            return j, cut
    start = min(int(uniform(chance) * features), features - 1)
    for r in range(1, rows):
        for k in range(start, start + features):
            j = k if k < features else k - features
            cut = cut_between(bins, j, bed.order[first + one], bed.order[first + (one + r) % rows], chance)
            if cut >= 0:
                return j, cut
    return -1, 0


def cut_between(bins: Any, j: int, one: int, other: int, chance: Any) -> int:
    """A rank that one of two rows exceeds in feature j and the other does not; −1 if they are alike there."""
    low, high = int(bins[j, one]), int(bins[j, other])
    if low == high:
        return -1
    low, high = min(low, high), max(low, high)
    return low + min(int(uniform(chance) * (high - low)), high - low - 1)


def gain(bins: Any, aims: Any, at: int, j: int, cut: int, step: int, sums: Eight, bed: Bed) -> float:
    """Σ over both sides of a split of |Σ aim|²/rows, by every step-th row of a node whose aims have these sums."""
    low, below, rows = spread(_NONE), 0, 0
    for r in range(bed.first[at], bed.last[at], step):
        i = bed.order[r]
        lower = bins[j, i] <= cut
        low = low + load(aims, cell(i, LANES)) * (1.0 if lower else 0.0)
        below, rows = below + lower, rows + 1
    high = sums - low
    return float(total(low * low)) / max(below, 1) + float(total(high * high)) / max(rows - below, 1)


def part_rows(bins: Any, bed: Bed, at: int, j: int, cut: int) -> int:
    """Bring the rows of a node that do not exceed the cut before those that do; returns where the latter begin."""
    low, high = bed.first[at], bed.last[at] - 1
    while low <= high:
        row = bed.order[low]
        if bins[j, row] <= cut:
            low += 1
        else:
            bed.order[low], bed.order[high] = bed.order[high], row
            high -= 1
    return low
