"""Rounds of `auto` on many classes, compiled: rows learnt at once, or asked and answered later."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.auto.classes import DOUBT, LAST_CLASS, SHARES, AutoMulticlass, ClassMind, ClassWorkspace
from lowregret.auto.learner import EXPERTS, HEAVY, PARTITIONS
from lowregret.auto.mixture import fade_trust
from lowregret.auto.stack import STACKS
from lowregret.auto.view import look
from lowregret.compile.kernel import compact, kernel
from lowregret.compile.simd import LANES
from lowregret.learner.late import DRIFT, Waiting, rate_at
from lowregret.learner.multiclass import Room
from lowregret.rows import Rows
from lowregret.state import ROUNDS, State
from lowregret.types import Cells, Vector

# ---- late.past[slot, …]: what was known when a row was asked --------------------------------------------------------
MET, GUESSED, THEN_CLASS, HEEDED = 0, 1, 2, 3  # classes met, the guess, past[LAST_CLASS], whether an expert had joined
ASKED = 4  # whether the row was asked
THEN_CLASSES = 5  # then of each class: its recent share, the score beside, the lanes' scores, the stacks' chances
THEN_SHARE, THEN_BESIDE, THEN_LANES, THEN_STACKS = 0, 1, 2, 2 + LANES
THEN_WIDTH = THEN_STACKS + STACKS


def learn_row(
    learner: AutoMulticlass, s: State, mind: ClassMind, work: ClassWorkspace, x: Rows, i: int, y: int, weight: float,
    room: Room, beside: Any, late: Waiting,
) -> int:  # fmt: skip
    """One round: returns the class predicted before the row was learnt, or NONE."""
    scores, known, rate = room.scores[i if room.scores.shape[0] > 1 else 0], room.known[0], rate_at(late, i)
    if late.of.size == 0:
        guess = learner.score(mind, work, x, i, room, beside, scores, True)
        for c in range(known, y + 1):
            scores[c] = math.log(DOUBT / (known + 1))
        learner.doubt(mind, work, room, y, known)
    else:
        guess = answer(learner, mind, work, x, i, y, weight, room, beside, late, scores)
    learner.learn(s, mind, work, x, i, y, weight, room, scores, guess, rate)
    return guess


def ask(
    learner: AutoMulticlass, mind: ClassMind, work: ClassWorkspace, x: Rows, i: int, room: Room, beside: Any,
    late: Waiting, scores: Cells,
) -> int:  # fmt: skip
    """Score row i, whose answer comes later; what was known is kept with it. Returns the guess."""
    slot, lots, known, then = late.of[i], room.raw.size, room.known[0], late.past
    guess = learner.score(mind, work, x, i, room, beside, scores, True)
    then[slot, ASKED], then[slot, MET], then[slot, GUESSED] = 1.0, known, guess
    then[slot, THEN_CLASS], then[slot, HEEDED] = mind.past[LAST_CLASS], 1.0 if beside.shape[0] > 0 else 0.0
    for c in range(known):
        first = THEN_CLASSES + c * THEN_WIDTH
        then[slot, first + THEN_SHARE] = mind.past[SHARES + lots + c]
        if beside.shape[0] > 0:
            then[slot, first + THEN_BESIDE] = beside[i, c]
        for k in range(LANES):
            then[slot, first + THEN_LANES + k] = np.float64(work.lanes[np.uint64(c * LANES + k)])
        for k in range(STACKS):
            then[slot, first + THEN_STACKS + k] = work.chances[(LANES + k) * lots + c]
        if late.scores.shape[0] > 0:
            late.scores[slot, c] = scores[c]
    return guess


def answer(
    learner: AutoMulticlass, mind: ClassMind, work: ClassWorkspace, x: Rows, i: int, y: int, weight: float, room: Room,
    beside: Any, late: Waiting, scores: Cells,
) -> int:  # fmt: skip
    """Write the scores that row i was given when it was asked, and return the guess made then.

    Lanes are scored anew; stacks and trust go by what was known when the row was asked: see `row_loop.answer`.
    """
    slot, known, then = late.of[i], room.known[0], late.past
    if late.fades[i] < 1.0:
        fade_trust(mind.trust, late.fades[i])
    classes, met = max(known, y + 1), int(then[slot, MET])
    guess = learner.score(mind, work, x, i, room, beside, scores, True)
    asked = then[slot, ASKED] > 0.0
    if asked:
        guess = listen_again(learner, mind, work, room, then, slot, scores)
    learner.doubt(mind, work, room, y, met if asked else known)
    if asked:
        trade_chances(work, room, then, slot)
    for c in range(known, classes):
        scores[c] = math.log(DOUBT / ((met if asked else known) + 1))
    if late.scores.shape[0] == 0:
        return guess
    now = learner.loss.at(scores, classes, guess, y, room.slopes)
    guess = int(then[slot, GUESSED])
    for c in range(classes):
        scores[c] = late.scores[slot, c] if c < met else math.log(DOUBT / (met + 1))
    late.ledger[DRIFT] += weight * (learner.loss.at(scores, classes, guess, y, room.slopes) - now)
    return guess


def listen_again(
    learner: AutoMulticlass, mind: ClassMind, work: ClassWorkspace, room: Room, then: Any, slot: int, scores: Cells
) -> int:
    """Mix the experts' chances as they were when a row was asked; returns the guess. The stacks' own are kept there.

    A class that was met since had what experts leave to all that are not met.
    """
    known, met = room.known[0], int(then[slot, MET])
    trade_past(mind, work, room, then, slot)
    learner.listen(mind, work, room)
    learner.judge_classes(mind, work, room, True, PARTITIONS)
    room.known[0] = met
    for k in range(LANES):
        learner.share(work, room, k)
    room.known[0] = known
    trade_past(mind, work, room, then, slot)
    for c in range(met, known):
        for k in range(EXPERTS):
            if k < LANES or (k == PARTITIONS and (then[slot, HEEDED] > 0.0 or met == 0)):
                work.chances[k * room.raw.size + c] = DOUBT / (met + 1)
        for k in range(STACKS):
            then[slot, THEN_CLASSES + c * THEN_WIDTH + THEN_STACKS + k] = DOUBT / (met + 1)
    trade_chances(work, room, then, slot)
    if then[slot, HEEDED] > 0.0:
        for c in range(met):
            score = then[slot, THEN_CLASSES + c * THEN_WIDTH + THEN_BESIDE]
            work.chances[PARTITIONS * room.raw.size + c] = math.exp(score)
    return learner.mix(mind, work, room, scores)


def trade_chances(work: ClassWorkspace, room: Room, then: Any, slot: int) -> None:
    """Exchange the chances that stacks give for those kept in a slot."""
    for c in range(room.known[0]):
        first = THEN_CLASSES + c * THEN_WIDTH + THEN_STACKS
        for k in range(STACKS):
            at, kept = (LANES + k) * room.raw.size + c, then[slot, first + k]
            then[slot, first + k], work.chances[at] = work.chances[at], kept


def trade_past(mind: ClassMind, work: ClassWorkspace, room: Room, then: Any, slot: int) -> None:
    """Exchange the lanes' scores, the last class and recent shares for those kept in a slot."""
    lots, past, met = room.raw.size, mind.past, int(then[slot, MET])
    past[LAST_CLASS], then[slot, THEN_CLASS] = then[slot, THEN_CLASS], past[LAST_CLASS]
    for c in range(met):
        first, share = THEN_CLASSES + c * THEN_WIDTH, past[SHARES + lots + c]
        past[SHARES + lots + c], then[slot, first + THEN_SHARE] = then[slot, first + THEN_SHARE], share
        for k in range(LANES):
            kept = then[slot, first + THEN_LANES + k]
            then[slot, first + THEN_LANES + k] = np.float64(work.lanes[np.uint64(c * LANES + k)])
            work.lanes[np.uint64(c * LANES + k)] = np.float32(kept)


@kernel
@compact
def learn_classes(
    learner: AutoMulticlass,
    s: State,
    mind: ClassMind,
    work: ClassWorkspace,
    x: Rows,
    y: Any,
    weights: Vector,
    room: Room,
    beside: Any,
    late: Waiting,
    guesses: Any,
    i: int,
    until: int,
) -> int:
    """Learn rows i, i+1, … until `until` rounds are done or the rows end; returns the first row not learnt.

    Stops early at a row that cannot be learnt, or not before there is more room, leaving all as it was before it. A row
    with a slot in `late` is asked if its weight is 0, else it is its answer that comes.
    """
    while i < y.size and s.counts[ROUNDS] < until:
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0 and not (0.0 < weight <= HEAVY and 0 <= y[i] < room.raw.size):
            break
        if not (x.inside(i) and look(mind.measures, mind.pace, x, i, work.sheet)):
            break
        scores = room.scores[i if room.scores.shape[0] > 1 else 0]
        if weight != 0.0:
            guesses[i] = learn_row(learner, s, mind, work, x, i, y[i], weight, room, beside, late)
        elif late.of.size > 0 and late.of[i] >= 0:
            guesses[i] = ask(learner, mind, work, x, i, room, beside, late, scores)
        else:
            guesses[i] = learner.score(mind, work, x, i, room, beside, scores, False)
        i += 1
    return i
