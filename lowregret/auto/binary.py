"""`auto` for labels ±1 and the logistic loss: experts are trusted as Bayes would, and may take turns."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.auto.lanes import LANES, Eight, all_of, at_least, between, implicit, load, minus, times
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
from lowregret.auto.stack import FADE, LAST_LABEL, ONE, RECENT_LABELS, STACKS, stack_guess, stack_learn, stack_project
from lowregret.loss import Logistic
from lowregret.part import Part

CERTAIN = 30.0  # experts' scores are kept within ±this: no expert is surer than 1 − 10⁻¹³
LOUD = 10.0  # and inputs of the stacks within ±this
FLAT = 1e-4  # least curvature that the filters believe in


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
        side = 0 if y > 0.0 else EXPERTS
        mixed = total = 0.0
        for k in range(EXPERTS):
            chance = desk.chances[side + k]
            loss = -weight * math.log(chance)
            mind.trust[LOSSES + k] += loss
            mixed += mind.trust[WEIGHTS + k] * chance
            mind.trust[WEIGHTS + k] *= chance if weight == 1.0 else math.exp(-loss)
            total += mind.trust[WEIGHTS + k]
        mind.trust[GAP] += max(math.log(total) - weight * math.log(mixed), 0.0)
        share = 1.0 / (t + 1.0)
        for k in range(EXPERTS):
            mind.trust[WEIGHTS + k] = (1.0 - share) * mind.trust[WEIGHTS + k] / total + share / EXPERTS
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
            stack_learn(mind.stacks, k, desk.along, weight * y * a, h / (1.0 + h * q[k]))

    def lean(self, mind: Mind, desk: Desk, y: float, weight: float) -> Eight:
        side, nil = EXPERTS if y > 0.0 else 0, np.float32(0)
        g = desk.chances
        a, b = np.float32(weight * g[side]), np.float32(weight * g[side + 1])
        c, d = np.float32(weight * g[side + 2]), np.float32(weight * g[side + 3])
        return (a * a, b * b, c * c, d * d, nil, nil, nil, nil)

    def answer(self, mind: Mind, desk: Desk, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
        sign, much = all_of(np.float32(y)), all_of(np.float32(weight))
        m = between(times(sign, load(desk.lanes, np.uint64(0))), np.float32(CERTAIN))
        s = implicit(m, times(much, q))
        bend = at_least(times(s, minus(all_of(np.float32(1)), s)), np.float32(FLAT))
        return times(times(much, sign), s), times(much, bend)

    def reach(self, mind: Mind) -> float:
        return 1.0

    def remember(self, mind: Mind, y: float) -> None:
        mind.past[LAST] = y
        mind.past[RECENT] = FADE * mind.past[RECENT] + (1.0 - FADE) * y
