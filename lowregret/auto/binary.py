"""`auto` for labels ±1 and the logistic loss: experts are trusted as Bayes would, and may take turns."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.auto.lanes import LANES, Eight, implicit, load
from lowregret.auto.learner import (
    EXPERTS,
    GAP,
    LAST,
    LOSSES,
    RECENT,
    WEIGHTS,
    Auto,
    Desk,
    Mind,
)
from lowregret.auto.logit import CERTAIN, FLAT, logit_answer, share_trust, squared_slopes
from lowregret.auto.stack import (
    FADE,
    LAST_LABEL,
    ONE,
    OPEN,
    RECENT_LABELS,
    STACKS,
    stack_guess,
    stack_learn,
    stack_project,
)
from lowregret.loss import Logistic
from lowregret.part import Part

LOUD = 10.0  # inputs of the stacks are kept within ±this


class AutoClassifier(Auto):
    """Bayes' mixture of eleven experts, p = Σ w_k σ(s_k), with w ← (1 − 1/(t+1))·w·likelihood/Σ + (1/(t+1))/11.

    Its log loss is at most that of the best expert + ln 11 + ln T (Herbster & Warmuth, 1998, with a falling share), and
    for experts that change m times, at most theirs + (m + 1)·ln 11 + (m + 1)·ln T.
    """

    losses: ClassVar[type[Part]] = Logistic
    example: ClassVar[str] = "Logistic()"

    loss: Logistic = Logistic()

    def listen(self, mind: Mind, desk: Desk, known: bool) -> None:
        for k in range(LANES):
            p = float(np.float64(desk.lanes[np.uint64(k)]))
            desk.experts[k] = min(max(p, -CERTAIN), CERTAIN)
            desk.inputs[k] = min(max(p, -LOUD), LOUD)
        desk.inputs[ONE] = 1.0
        desk.inputs[LAST_LABEL] = mind.past[LAST] if known else 0.0
        desk.inputs[RECENT_LABELS] = mind.past[RECENT] if known else 0.0
        for k in range(STACKS):
            p = stack_guess(mind.stacks, k, desk.inputs)
            desk.experts[LANES + k] = min(max(p, -CERTAIN), CERTAIN)

    def mix(self, mind: Mind, desk: Desk) -> float:
        plus = minus = 0.0
        for k in range(EXPERTS):
            p = desk.experts[k]
            e = math.exp(-abs(p))
            likely = 1.0 / (1.0 + e)
            up, down = (likely, e * likely) if p >= 0.0 else (e * likely, likely)
            desk.chances[k], desk.chances[EXPERTS + k] = up, down
            plus += mind.trust[WEIGHTS + k] * up
            minus += mind.trust[WEIGHTS + k] * down
        return math.log(plus / minus)

    def judge(self, mind: Mind, desk: Desk, y: float, weight: float, t: float) -> None:
        for k in range(EXPERTS):
            desk.likelihoods[k] = desk.chances[k] if y > 0.0 else desk.chances[EXPERTS + k]
        share_trust(mind.trust, desk.likelihoods, (LOSSES, GAP, EXPERTS), weight, t)
        self.teach(mind, desk, y, weight)

    def teach(self, mind: Mind, desk: Desk, y: float, weight: float) -> None:
        """A step of every stack, as for the lanes."""
        for k in range(STACKS):
            desk.widths[k] = stack_project(mind.stacks, k, desk.inputs, desk.along)
        p, q, none = desk.experts, desk.widths, np.float32(0)
        m = (y * p[LANES], y * p[LANES + 1], y * p[LANES + 2])
        s = implicit(
            (np.float32(m[0]), np.float32(m[1]), np.float32(m[2]), none, none, none, none, none),
            (
                np.float32(weight * q[0]),
                np.float32(weight * q[1]),
                np.float32(weight * q[2]),
                none,
                none,
                none,
                none,
                none,
            ),
        )
        for k in range(STACKS):
            a = np.float64(s[k])
            h = weight * max(a * (1.0 - a), FLAT)
            stack_learn(mind.stacks, k, desk.along, weight * y * a, h / (1.0 + h * q[k]), OPEN)

    def lean(self, mind: Mind, desk: Desk, y: float, weight: float) -> Eight:
        return squared_slopes(load(desk.lanes, np.uint64(0)), y, weight)

    def answer(self, mind: Mind, desk: Desk, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
        return logit_answer(load(desk.lanes, np.uint64(0)), y, weight, q)

    def reach(self, mind: Mind) -> float:
        return 1.0

    def remember(self, mind: Mind, y: float) -> None:
        mind.past[LAST] = y
        mind.past[RECENT] = FADE * mind.past[RECENT] + (1.0 - FADE) * y
