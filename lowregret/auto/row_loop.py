"""Rounds of `auto` with one score a row, compiled: rows learnt at once, or asked and answered later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.auto.learner import HEAVY, LAST, ORIGIN, RECENT, UNIT, WIDE, Auto, Mind, Workspace
from lowregret.auto.stack import STACKS
from lowregret.auto.view import look
from lowregret.compile.kernel import compact, kernel
from lowregret.compile.simd import LANES
from lowregret.learner.late import DRIFT, Waiting, rate_at
from lowregret.rows import Rows
from lowregret.state import ROUNDS, State
from lowregret.types import Vector

# ---- late.past[slot, …]: what was known when a row was asked --------------------------------------------------------
ASKED = 0  # 0: the row was not asked; 1: no label was known yet; 2: LAST and RECENT were known, in a UNIT
THEN_LAST, THEN_RECENT, THEN_UNIT = 1, 2, 3
HEEDED, THEN_BESIDE = 4, 5  # whether an expert had joined, and its score
THEN_LANES = 6
THEN_STACKS = THEN_LANES + LANES  # their scores as experts, and those of the stacks
THEN = THEN_STACKS + STACKS


def ask(learner: Auto, s: State, mind: Mind, work: Workspace, x: Rows, i: int, beside: Vector, late: Waiting) -> float:
    """The score of row i, whose answer comes later; what was known is kept with it."""
    slot, past, then = late.of[i], mind.past, late.past
    known = s.counts[ROUNDS] > 0
    p = learner.score(s, mind, work, x, i, beside, known)
    then[slot, ASKED], then[slot, THEN_UNIT] = 2.0 if known else 1.0, past[UNIT]
    then[slot, THEN_LAST], then[slot, THEN_RECENT] = past[LAST], past[RECENT]
    then[slot, HEEDED] = 1.0 if beside.size > 0 else 0.0
    if beside.size > 0:
        then[slot, THEN_BESIDE] = learner.limited(mind, beside[i])
    for k in range(LANES):
        then[slot, THEN_LANES + k] = work.experts[k]
    for k in range(STACKS):
        then[slot, THEN_STACKS + k] = work.experts[LANES + k]
    if late.scores.shape[0] > 0:
        late.scores[slot, 0] = p
    return p


def answer(
    learner: Auto, s: State, mind: Mind, work: Workspace, x: Rows, i: int, y: float, weight: float, beside: Vector,
    late: Waiting,
) -> float:  # fmt: skip
    """The score that row i was given when it was asked; lanes are scored anew, to learn from the row.

    Stacks learn from what they saw when the row was asked: the lanes' scores, and the labels before. Experts are
    trusted by the scores that they gave then.
    """
    slot, past, then = late.of[i], mind.past, late.past
    if late.fades[i] < 1.0:
        learner.fade(mind, late.fades[i])
    now = learner.score(s, mind, work, x, i, beside, False)
    if then[slot, ASKED] > 0.0:
        last, recent, ratio = past[LAST], past[RECENT], then[slot, THEN_UNIT] / past[UNIT]
        past[LAST], past[RECENT] = ratio * then[slot, THEN_LAST], ratio * then[slot, THEN_RECENT]
        for k in range(LANES):
            work.experts[k] = ratio * then[slot, THEN_LANES + k]
        learner.hear(mind, work, then[slot, ASKED] > 1.0)
        past[LAST], past[RECENT] = last, recent
        off = 0.0 if then[slot, ASKED] > 1.0 else -past[ORIGIN] / past[UNIT]  # the origin is the first label
        for k in range(LANES + STACKS):
            work.experts[k] = ratio * then[slot, THEN_LANES + k] + off
        if beside.size > 0:
            learner.heed(mind, work, then[slot, THEN_BESIDE] if then[slot, HEEDED] > 0.0 else beside[i])
        now = learner.mix(mind, work)
    if late.scores.shape[0] == 0:
        return now
    p = late.scores[slot, 0]
    late.ledger[DRIFT] += weight * (learner.loss.at(p, y)[0] - learner.loss.at(now, y)[0])
    return p


def move_waiting(then: Any, moved: float) -> None:
    """Write what is kept of rows that wait as seen from an origin that moved so far, in units of 1."""
    asked = np.flatnonzero(then[:, ASKED] > 1.0)
    for kept in (THEN_LAST, THEN_RECENT, *range(THEN_LANES, THEN)):
        then[asked, kept] = then[asked, kept] * then[asked, THEN_UNIT] - moved
    then[asked, THEN_UNIT] = 1.0


@kernel
@compact
def learn_rows(
    learner: Auto,
    s: State,
    mind: Mind,
    work: Workspace,
    x: Rows,
    y: Vector,
    weights: Vector,
    beside: Vector,
    late: Waiting,
    scores: Vector,
    i: int,
    until: int,
) -> int:
    """Learn rows i, i+1, … until `until` rounds are done or the rows end; returns the first row not learnt.

    Stops early at a row that cannot be learnt, or not in this unit of labels, leaving all as it was before that row. An
    empty `weights` means 1 everywhere; a row of weight 0 is scored but changes nothing. An empty `beside` means that no
    expert joined. A row with a slot in `late` is asked if its weight is 0, else it is its answer that comes.
    """
    while i < y.size and s.counts[ROUNDS] < until:
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0 and not (0.0 < weight <= HEAVY and learner.loss.accepts(y[i]) and weight * y[i] * y[i] < WIDE):
            break
        if not (x.inside(i) and look(s.table, mind.pace, x, i, work.sheet)):
            break
        if weight != 0.0 and not learner.fits(mind, y[i], weight):
            break
        if late.of.size == 0 or late.of[i] < 0:
            scores[i] = learner.score(s, mind, work, x, i, beside, weight != 0.0)
        elif weight == 0.0:
            scores[i] = ask(learner, s, mind, work, x, i, beside, late)
        else:
            scores[i] = answer(learner, s, mind, work, x, i, y[i], weight, beside, late)
        if not math.isfinite(scores[i]):
            break
        if weight != 0.0:
            learner.learn(s, mind, work, x, i, min(i + 1, y.size - 1), y[i], weight, scores[i], rate_at(late, i))
        i += 1
    return i
