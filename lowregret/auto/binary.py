"""`auto` for labels ±1 and the logistic loss: experts are trusted as Bayes would, and may take turns."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from lowregret.auto.learner import LAST, PARTITIONS, RECENT, Auto, Mind, Workspace
from lowregret.auto.logit import CERTAIN, FLAT, bends, both_implicit, exponential, implicit, margins, slopes
from lowregret.auto.mixture import fade_trust, share_trust
from lowregret.auto.stack import (
    BOLD,
    FADE,
    LAST_LABEL,
    ONE,
    OPEN,
    RECENT_LABELS,
    STACKS,
    fresh_stacks,
    stack_guess,
    stack_learn,
    stack_project,
)
from lowregret.compile.part import Part
from lowregret.compile.simd import LANES, Eight, between, load, spread, store, total, where
from lowregret.loss import Logistic
from lowregret.types import Cells, Index, Vector

LOUD = 10.0  # inputs of the stacks are kept within ±this
_LOW, _HIGH = np.uint64(0), np.uint64(LANES)


class AutoClassifier(Auto):
    """Bayes' mixture of eleven experts, p = Σ w_k σ(s_k), with w ← (1 − 1/(t+1))·w·likelihood/Σ + (1/(t+1))/11.

    Its log loss is at most that of the best expert + ln 11 + ln T (Herbster & Warmuth, 1998, with a falling share), and
    for experts that change m times, at most theirs + (m + 1)·ln 11 + (m + 1)·ln T.
    """

    losses: ClassVar[type[Part]] = Logistic
    example: ClassVar[str] = "Logistic()"

    loss: Logistic = Logistic()

    def stacks(self) -> Vector:
        return fresh_stacks(BOLD, OPEN)

    @property
    def spread(self) -> float:
        return float(OPEN.max())

    def hear(self, mind: Mind, work: Workspace, known: bool) -> None:
        p = load(work.experts, _LOW)
        store(work.experts, _LOW, between(p, spread(CERTAIN)))
        store(work.inputs, _LOW, between(p, spread(LOUD)))
        work.inputs[ONE] = 1.0
        work.inputs[LAST_LABEL] = mind.past[LAST] if known else 0.0
        work.inputs[RECENT_LABELS] = mind.past[RECENT] if known else 0.0
        for k in range(STACKS):
            guess = stack_guess(mind.stacks, k, work.inputs)
            work.experts[LANES + k] = min(max(guess, -CERTAIN), CERTAIN)
            work.margins[k] = np.float32(work.experts[LANES + k])

    def heed(self, mind: Mind, work: Workspace, score: float) -> None:
        work.experts[PARTITIONS] = min(max(score, -CERTAIN), CERTAIN)

    def lost(self, mind: Mind, work: Workspace, k: int, y: float) -> float:
        wrong = work.doubts[k] if y > 0.0 else work.chances[k]
        return wrong * wrong

    def weighed(self, p: float, y: float) -> float:
        wrong = 1.0 / (1.0 + math.exp(min(y * p, CERTAIN)))
        return wrong * wrong

    def mix(self, mind: Mind, work: Workspace) -> float:
        up, down = self.chance(work, _LOW)
        more, less = self.chance(work, _HIGH)
        trust, others = load(mind.trust, _LOW), load(mind.trust, _HIGH)
        return math.log(total(trust * up + others * more) / total(trust * down + others * less))

    def chance(self, work: Workspace, at: Index) -> tuple[Eight, Eight]:
        """The chances that eight experts give to +1, and to −1."""
        p = load(work.experts, at)
        e = exponential(-abs(p))
        likely = 1.0 / (1.0 + e)
        unlikely, positive = e * likely, p > 0.0
        up, down = where(positive, likely, unlikely), where(positive, unlikely, likely)
        store(work.chances, at, up)
        store(work.doubts, at, down)
        return up, down

    def judge(self, mind: Mind, work: Workspace, y: float, weight: float, t: float, rate: float) -> None:
        share_trust(mind.trust, work.chances if y > 0.0 else work.doubts, weight, t, rate)

    def fade(self, mind: Mind, power: float) -> None:
        fade_trust(mind.trust, power)

    def lean(self, mind: Mind, work: Workspace, y: float, weight: float) -> Eight:
        return slopes(load(work.lanes, _LOW), y, weight)

    def answer(self, mind: Mind, work: Workspace, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
        for k in range(STACKS):
            width = stack_project(mind.stacks, k, work.inputs, work.along)
            work.margins[k], work.widths[k] = np.float32(y) * work.margins[k], np.float32(weight * width)
        p, much = margins(load(work.lanes, _LOW), y), np.float32(weight)
        s, steps = both_implicit(p, q * much, load(work.margins, _LOW), load(work.widths, _LOW))
        for k in range(STACKS):
            self.move(mind.stacks, k, work, np.float64(steps[k]), y, weight, OPEN)
        return s * np.float32(weight * y), bends(s, weight)

    def move(self, stacks: Cells, k: int, work: Workspace, a: float, y: float, weight: float, priors: Any) -> None:
        """A step of stack k along what it made of the inputs, to where the slope is −y·a."""
        h = max(a * (1.0 - a), FLAT)
        shrink = weight * h / (1.0 + h * np.float64(work.widths[k]))
        stack_learn(stacks, k, work.along, weight * y * a, shrink, priors)

    def teach(self, stacks: Cells, mind: Mind, work: Workspace, y: float, weight: float, priors: Any) -> None:
        guess = min(max(stack_guess(stacks, 0, work.inputs), -CERTAIN), CERTAIN)
        width = stack_project(stacks, 0, work.inputs, work.along)
        work.margins[0], work.widths[0] = np.float32(y * guess), np.float32(weight * width)
        steps = implicit(load(work.margins, _LOW), load(work.widths, _LOW))
        self.move(stacks, 0, work, np.float64(steps[0]), y, weight, priors)

    def reach(self, mind: Mind) -> float:
        return 1.0

    def remember(self, mind: Mind, y: float) -> None:
        mind.past[LAST] = y
        mind.past[RECENT] = FADE * mind.past[RECENT] + (1.0 - FADE) * y
