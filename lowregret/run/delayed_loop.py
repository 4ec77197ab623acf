"""Learning from answers that come late: the compiled loop, which fills the ledger of `certificate/delay.py`."""

from __future__ import annotations

import math
from typing import Any

from lowregret.certificate.delay import WEIGHT, WRONG
from lowregret.compile.kernel import kernel
from lowregret.learner.late import DRIFT, LAGGED, TRAVELLED, Waiting
from lowregret.learner.linear import Linear
from lowregret.rows import WEIGHTIEST, Rows
from lowregret.run.pending import NEVER, Slots
from lowregret.state import LAST_RATE, ROUNDS, State
from lowregret.types import Vector


def length(learner: Linear, x: Rows, i: int, p: float) -> float:
    """‖x_i‖_p with the bias, for p = 2, ∞ or any other ≥ 1: O(nnz)."""
    if p == 2.0:
        return math.sqrt(learner.square(x, i))
    largest = learner.bias
    for k in range(x.begin(i), x.end(i)):
        largest = max(largest, abs(x.value(i, k)))
    if p == math.inf or largest == 0.0:
        return largest
    total = (learner.bias / largest) ** p
    for k in range(x.begin(i), x.end(i)):
        total += (abs(x.value(i, k)) / largest) ** p
    return largest * total ** (1.0 / p)


def answer(
    learner: Linear, s: State, x: Rows, i: int, y: float, weight: float, score: float, height: float, ledger: Vector,
    p: float, limit: float,
) -> bool:  # fmt: skip
    """Learn row i, judged by the score made when it was asked; False, and nothing changes, if it cannot be learnt.

    `height` is what TRAVELLED was when it was asked, `p` the exponent of the norm that steps are measured in.
    """
    scale = learner.rule.scale(s)
    raw = learner.dot(s, x, i)
    if not math.isfinite(raw * scale):
        return False
    if not math.isfinite(learner.absorb(s, x, i, y, weight, score, raw, scale, limit)):
        return False
    slope = weight * learner.loss.at(score, y)[1] if weight != 0.0 else 0.0
    if slope != 0.0:
        size = abs(slope) * length(learner, x, i, p)
        ledger[DRIFT] += slope * (score - learner.lifted(raw * scale, x, i))
        ledger[LAGGED] += size * (ledger[TRAVELLED] - height)
        ledger[TRAVELLED] += s.sums[LAST_RATE] * size
    return True


def answer_slot(
    learner: Linear, s: State, x: Rows, slots: Slots, i: int, ledger: Vector, p: float, limit: float
) -> bool:
    """Learn row i of the table, and count its weight; False, and nothing changes, if it cannot be learnt."""
    y, weight, score = slots.labels[i], slots.weights[i], slots.scores[i]
    if not answer(learner, s, x, i, y, weight, score, slots.heights[i], ledger, p, limit):
        return False
    ledger[WEIGHT] += weight
    ledger[WRONG] += weight * learner.loss.wrong(score, y)
    return True


def ask(learner: Linear, s: State, x: Rows, slots: Slots, i: int) -> bool:
    """Score row i with the present iterate; False if the row, or the answer sent with it, is not acceptable."""
    weight, sent = slots.weights[i], slots.due[i] < NEVER
    if sent and weight != 0.0 and not (0.0 < weight <= WEIGHTIEST and learner.loss.accepts(slots.labels[i])):
        return False
    if not x.inside(i):
        return False
    score = learner.lifted(learner.dot(s, x, i) * learner.rule.scale(s), x, i)
    slots.scores[i] = score
    if not math.isfinite(score):
        return False
    learner.rule.gauge_row(s, x, i, learner.bias != 0.0, 1, 1)
    return True


@kernel
def ask_and_learn(
    learner: Linear,
    s: State,
    x: Rows,
    slots: Slots,
    arrivals: Any,
    ledger: Vector,
    p: float,
    asked: int,
    size: int,
    i: int,
    e: int,
    until: int,
    limit: float,
) -> tuple[int, int]:
    """Ask rows i, i+1, … of `size`; after each, learn the rows `arrivals[e]`, … that are due. Returns the new (i, e).

    `asked` rounds went before. Stops early after `until` answers, or at a row that cannot be asked or learnt, leaving
    the state as it was before that row; so it does at a row whose numbers reach the limit (see `absorb`).
    """
    while True:
        while e < arrivals.size and slots.due[arrivals[e]] <= asked:
            if s.counts[ROUNDS] >= until or not answer_slot(learner, s, x, slots, arrivals[e], ledger, p, limit):
                return i, e
            e += 1
        if i >= size or not ask(learner, s, x, slots, i):
            return i, e
        slots.heights[i] = ledger[TRAVELLED]
        i += 1
        asked += 1


@kernel
def learn_late(
    learner: Linear, s: State, x: Rows, y: Vector, weights: Vector, late: Waiting, p: float, scores: Vector,
    i: int, until: int, limit: float,
) -> int:  # fmt: skip
    """Learn rows as `learn_rows` does; one with a slot in `late` is asked if its weight is 0, else answered."""
    while i < y.size and s.counts[ROUNDS] < until:
        weight, slot = weights[i], late.of[i]
        if weight != 0.0 and not (0.0 < weight <= WEIGHTIEST and learner.loss.accepts(y[i])):
            break
        if not x.inside(i):
            break
        score = learner.lifted(learner.dot(s, x, i) * learner.rule.scale(s), x, i) if weight == 0.0 else 0.0
        if weight == 0.0 and slot >= 0:
            late.scores[slot, 0], late.past[slot, 0] = score, late.ledger[TRAVELLED]
        elif weight != 0.0:
            score = late.scores[slot, 0]
            if not answer(learner, s, x, i, y[i], weight, score, late.past[slot, 0], late.ledger, p, limit):
                break
        if not math.isfinite(score):
            break
        scores[i] = score
        i += 1
    return i
