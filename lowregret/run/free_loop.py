"""Learning by several at once without waiting: whoever is free takes the next rows, scores and learns them at once.

All read and write one table, without locks: a row may be scored while others are being learnt, and where two move the
same weight at the same time, one of the moves may be lost. What the certificate reads is not: each worker has sums of
his own, Σℓ'_t·p_t over the scores that he really used and θ_k = −Σz_t over his rows, which nobody else writes. So

    regret(u) ≤ Σ_t ℓ'_t·(p_t − ⟨u, x_t⟩) = Σ_k Σ_{t of k} ℓ'_t·p_t + ⟨u, Σ_k θ_k⟩                             (LEM-2.5)

for the predictions that were made, whatever the threads did. Σθ_k then takes the place of what the table has of θ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from lowregret.compile.atomic import add, read
from lowregret.compile.kernel import kernel
from lowregret.learner.linear import Linear
from lowregret.rows import Rows
from lowregret.rule.base import WIDEST
from lowregret.rule.mirror_descent import RATE
from lowregret.run.block_loop import APART, Findings, decide
from lowregret.state import DIMENSION, ENERGY, MISTAKES, ROUNDS, TOTAL, State
from lowregret.types import Cells, Vector

CHUNK = 32  # rows that are taken at once
_NEXT = np.uint64(0)
_STOP = 1 << 62


class Queue(NamedTuple):
    """The rows that are still to be taken, and what each worker did."""

    next: Cells  # the first row that nobody has taken
    stop: int
    done: Cells  # of each worker, a cache line apart: rows learnt
    workers: int


def others_done(queue: Queue, worker: int) -> int:
    """How many rows other workers have learnt by now."""
    found = 0
    for k in range(queue.workers):
        if k != worker:
            found += read(queue.done, np.uint64(k * APART))
    return found


def learn_one(
    learner: Linear, s: State, own: Vector, x: Rows, i: int, y: float, weight: float, out: Findings, limit: float
) -> float:
    """Score and learn row i; returns its score, or NaN if it cannot be learnt."""
    rule, rate = learner.rule, s.sums[RATE] if s.sums[ENERGY] > 0.0 else 0.0
    p = decide(learner, s, x, i, y, weight, out, 0, limit)
    if weight == 0.0 or not math.isfinite(p):
        return p
    s.sums[TOTAL] += out.values[0]
    learner.blur(s, weight, out.sizes[0])
    s.counts[MISTAKES] += learner.loss.wrong(p, y)
    slope = out.slopes[0]
    if slope == 0.0:
        rule.idle(s)
        return p
    sums, last = rule.open(s, 0.0, 0.0, 0.0, 0.0), np.uint64(s.counts[DIMENSION] - 1)
    for k in range(x.begin(i), x.end(i)):
        j, g = np.uint64(x.column(i, k)), slope * x.value(i, k)
        sums = rule.push(s, j, g, sums)
        own[j] -= g
    if learner.bias != 0.0:
        sums = rule.push(s, last, slope * learner.bias, sums)
        own[last] -= slope * learner.bias
    rule.reckon(s, out.inners[0], out.squares[0], rate)
    s.sums[WIDEST] = max(s.sums[WIDEST], rule.widest(sums))
    return p


@kernel
def learn_freely(
    learner: Linear, s: State, own: Vector, x: Rows, y: Vector, weights: Vector, scores: Vector, out: Findings,
    queue: Queue, lags: Vector, worker: int, limit: float,
) -> int:  # fmt: skip
    """Take rows and learn them until none is left; returns the first row that could not be learnt, or the end.

    `s` has the table of all, and sums and counts of this worker, as `own` is his −Σz. `lags`: rows watched, how many
    others were learnt while these were scored and learnt, in all and at most.
    """
    while True:
        i = add(queue.next, _NEXT, CHUNK)
        if i >= queue.stop:
            return queue.stop
        end, before, first = min(i + CHUNK, queue.stop), others_done(queue, worker), i
        while i < end:
            weight = weights[i] if weights.size > 0 else 1.0
            p = learn_one(learner, s, own, x, i, y[i], weight, out, limit)
            if not math.isfinite(p):
                add(queue.next, _NEXT, _STOP)
                return i
            scores[i] = p
            if i == first:
                late = np.float64(others_done(queue, worker) - before)
                lags[0], lags[1], lags[2] = lags[0] + 1.0, lags[1] + late, max(lags[2], late)
            add(queue.done, np.uint64(worker * APART), 1)
            i += 1


@kernel
def retune(learner: Linear, s: State) -> None:
    """Find the rate of the coming round afresh, after the sums were changed."""
    s.counts[ROUNDS] -= 1
    learner.rule.idle(s)
