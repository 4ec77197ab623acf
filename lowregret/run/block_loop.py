"""Learning by several at once: the rows of a block are scored on one iterate, then learnt in order, feature by feature.

    scores of the rows of a block        on one iterate, by whoever comes to it: nobody writes meanwhile
    w[j], for all rows in turn           by the one who has feature j: nobody else touches it

So every number comes of the same operations in the same order, however many work on it. The answer to a row comes up
to B − 1 rounds late, as in ALG-OGD-DELAY: `certificate/blocks.py`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.blocks import DECIDED, LOST, PROBED, SIZE, STALE, next_block
from lowregret.compile.atomic import add, give_way, read
from lowregret.compile.kernel import kernel
from lowregret.learner.linear import Linear
from lowregret.rows import WEIGHTIEST, Rows
from lowregret.rule.base import WIDEST
from lowregret.state import DIMENSION, MISTAKES, ROUNDS, TOTAL, State
from lowregret.types import Cells, Vector

PATIENCE = 2048  # looks at a number that another thread is to change, before giving way
WAITS = 16  # times of giving way after which cores seem too busy to work together, and one more per so many blocks:
BLOCKS = 8
OPEN = 1 << 62  # a count of arrivals at which nobody waits any more: one of the workers is gone
APART = 8  # whole numbers in a cache line
_GATE = np.uint64(0)


class Crew(NamedTuple):
    """Who works on a block: its size, the features of each worker, and where they meet."""

    block: int
    workers: int
    cuts: Cells  # worker k moves coordinates cuts[k] … cuts[k+1] − 1
    gate: Cells  # how often a worker arrived at a meeting, counted over all
    told: Cells  # of each worker, a cache line apart: the first row that he found unfit, and whether he waited too long
    widest: Vector  # of each worker, a cache line apart: the largest weight that he moved


class Findings(NamedTuple):
    """Loss and sub-gradient of each row of a block."""

    values: Vector  # loss
    slopes: Vector
    inners: Vector  # ⟨w, z⟩
    squares: Vector  # ‖z‖₂²
    sizes: Vector  # ‖x‖₂²
    fresh: Vector  # the score that the row would have had after those before it in the block, if that is asked


def meet(crew: Crew) -> int:
    """Wait until all workers are here, unless the gate is open; returns how often others were given the processor."""
    if crew.workers == 1:
        return 0
    arrived = add(crew.gate, _GATE, 1)
    all_here = (arrived // crew.workers + 1) * crew.workers
    looks = 0
    while read(crew.gate, _GATE) < min(all_here, OPEN):
        looks += 1
        if looks % PATIENCE == 0:
            give_way()
    return looks // PATIENCE


def extent(weights: Vector, i: int, rows: int, most: int) -> tuple[int, int]:
    """The end of the rows from i on that make up at most this many rounds, and how many rounds they are."""
    if weights.size == 0:
        stop = min(i + most, rows)
        return stop, stop - i
    rounds = 0
    while i < rows and rounds < most:
        rounds += weights[i] != 0.0
        i += 1
    return i, rounds


def decide(
    learner: Linear, seen: State, x: Rows, i: int, y: float, weight: float, out: Findings, at: int, limit: float
) -> float:
    """Score row i and find its loss and slope; NaN if it cannot be learnt, as in `learn_rows`."""
    if weight != 0.0 and not (0.0 < weight <= WEIGHTIEST and learner.loss.accepts(y)):
        return math.nan
    if not x.inside(i):
        return math.nan
    w = learner.dot(seen, x, i) * learner.rule.scale(seen)
    p = learner.lifted(w, x, i)
    out.slopes[at] = 0.0
    if weight == 0.0:
        return p
    value, slope = learner.loss.at(p, y)
    value, slope = weight * value, weight * slope
    size = learner.square(x, i)
    square = slope * slope * size if slope != 0.0 else 0.0
    if not abs(p) + abs(value) + abs(slope) + square < limit:
        return math.nan
    out.values[at], out.slopes[at], out.inners[at], out.squares[at] = value, slope, slope * w, square
    out.sizes[at] = size
    return p


def decide_share(
    learner: Linear, seen: State, x: Rows, y: Vector, weights: Vector, scores: Vector, out: Findings, crew: Crew,
    worker: int, i: int, stop: int, limit: float,
) -> int:  # fmt: skip
    """Decide the rows of one worker among i … stop − 1; returns the first that is unfit, or the end."""
    for k in range(i + worker, stop, crew.workers):
        weight = weights[k] if weights.size > 0 else 1.0
        p = decide(learner, seen, x, k, y[k], weight, out, k - i, limit)
        if not math.isfinite(p):
            return k
        scores[k] = p
    return stop


def move(
    learner: Linear, s: State, x: Rows, out: Findings, i: int, stop: int, low: Any, high: Any, probe: bool
) -> float:
    """Learn coordinates low … high − 1 of rows i … stop − 1, row after row; returns the largest that moved."""
    rule = learner.rule
    sums, last, begin = rule.open(s, 0.0, 0.0, 0.0, 0.0), np.uint64(s.counts[DIMENSION] - 1), i
    while i < stop:
        slope = out.slopes[i - begin]
        if probe:
            out.fresh[i - begin] = learner.lifted(learner.dot(s, x, i) * rule.scale(s), x, i)
        if slope != 0.0:
            for k in range(x.begin(i), x.end(i)):
                j = np.uint64(x.column(i, k))
                if low <= j < high:
                    sums = rule.push(s, j, slope * x.value(i, k), sums)
            if learner.bias != 0.0 and low <= last < high:
                sums = rule.push(s, last, slope * learner.bias, sums)
        i += 1
    return rule.widest(sums)


def book(
    learner: Linear, s: State, ledger: Vector, y: Vector, weights: Vector, scores: Vector, out: Findings, i: int,
    stop: int, block: int, probe: bool,
) -> None:  # fmt: skip
    """Fold the rounds of rows i … stop − 1 into the sums."""
    begin = i
    while i < stop:
        if weights.size == 0 or weights[i] != 0.0:
            at = i - begin
            if s.counts[ROUNDS] % block == 0:
                next_block(ledger, s)
            s.sums[TOTAL] += out.values[at]
            learner.blur(s, weights[i] if weights.size > 0 else 1.0, out.sizes[at])
            if probe:
                ledger[STALE] += abs(out.slopes[at] * (scores[i] - out.fresh[at])) / (block - 1)
                ledger[LOST] += out.values[at]
                ledger[PROBED] += 1.0
            s.counts[MISTAKES] += learner.loss.wrong(scores[i], y[i])
            if out.slopes[at] == 0.0:
                learner.rule.idle(s)
            else:
                learner.rule.reckon(s, out.inners[at], out.squares[at], ledger[DECIDED])
                ledger[SIZE] += math.sqrt(out.squares[at])
        i += 1


@kernel
def learn_blocks(
    learner: Linear, s: State, seen: State, ledger: Vector, x: Rows, y: Vector, weights: Vector, scores: Vector,
    out: Findings, crew: Crew, worker: int, i: int, until: int, whole: bool, probe: bool, limit: float,
) -> int:  # fmt: skip
    """Learn rows i, i+1, … as one worker of a crew, until `until` rounds are done; returns the first row not learnt.

    It may end sooner, after a block, if workers wait too long for each other.
    `probe`, alone: what staleness costs is added up in the ledger.
    `whole`: blocks of which all rows are there and fit, each decided with the state as it is before the block. Else
    the rows that remain of the present block, up to the first unfit, decided with `seen`.
    """
    low, high = np.uint64(crew.cuts[worker]), np.uint64(crew.cuts[worker + 1])
    waits = blocks = 0
    while i < y.size and s.counts[ROUNDS] < until:
        done = s.counts[ROUNDS]
        stop, rounds = extent(weights, i, y.size, min(crew.block - done % crew.block, until - done))
        if whole and rounds < crew.block:
            break
        fault = decide_share(learner, seen, x, y, weights, scores, out, crew, worker, i, stop, limit)
        crew.told[worker * APART], crew.told[worker * APART + 1] = fault, waits > WAITS + blocks // BLOCKS
        waits, tired = waits + meet(crew), 0
        for other in range(crew.workers):
            fault, tired = min(fault, crew.told[other * APART]), tired + crew.told[other * APART + 1]
        if whole and fault < stop:
            break
        crew.widest[worker * APART] = move(learner, s, x, out, i, fault, low, high, probe)
        if worker == 0:
            book(learner, s, ledger, y, weights, scores, out, i, fault, crew.block, probe)
        waits += meet(crew)
        if worker == 0:
            for other in range(crew.workers):
                s.sums[WIDEST] = max(s.sums[WIDEST], crew.widest[other * APART])
        blocks += 1
        i = fault
        if tired > 0 or not whole:
            break
    return i
