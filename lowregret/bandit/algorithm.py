"""The contract of bandit algorithms.

    begin(s)                     w_1
    choose(s)                    draw an arm; returns (arm, its probability)
    policy(s, w)                 the present probability of every arm
    learn(s, i, p, y)            arm i was chosen with probability p and cost y ∈ [0, 1], already counted in `counts`

    baseline(s)                  b, taken off the cost of the coming choice for all arms alike

`learn` gets the probability and the baseline of the time of choosing, so that z + b stays unbiased however late y is,
and though it hang on the arm how late.

Taking the same b off the costs of all arms in a round changes no regret and, as weights depend on differences between
arms alone, no algorithm; but it changes the noise of z = ((y − b)/p)e_i, and spares nearly all of it where costs are
nearly alike (rewards of rare clicks). b must not depend on the arm drawn: it is settled before that, by the costs that
came till then, a running mean of them, and z + b is unbiased. But z may be negative, and then the regret on estimates
grows by more than for z ≥ 0: by (η/2)v·z²/(1 − η|z|/3) of exponential weights, for e^s − 1 − s ≤ (s²/2)/(1 − s/3), by
ηv^{3/2}z²/(1 − η√v|z|) of Tsallis-INF (`tsallis_path`), and by |z|(1 − v) at most of either. In expectation over the
arm, z = (y − b)/v, this is at most what theorems allow for, with 1 for (y − b)² and no denominator, if for all arms

    b² ≤ 1 − b/r,   r = 3v/η of exponential weights,   r = √v/η of Tsallis-INF,

so b is at most `centre(r)` for the smallest weight v. What is promised holds as it stands, and for the same reasons.
EXP3-IX stays as it is: its confidence rests on estimates that are never too large, which takes costs y ≥ 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from lowregret.bandit.state import BLUR, COST, LARGEST, LINEAR, LOCAL, SHIFT, BanditState
from lowregret.compile.part import Part
from lowregret.types import Vector

UNKNOWN = -1.0  # a probability that has no closed form
LOOSE = 3200.0  # ε by which weights e^{−s}/Σ are off: each by 2|s|ε relatively, |s| < 750 where it is a number


def centre(level: float, r: float) -> float:
    """The level, or the b with b² = 1 − b/r if that is less."""
    return min(level, 2.0 * r / (1.0 + math.sqrt(1.0 + 4.0 * r * r)))


def local(square: float, z: float, v: float, slope: float, most: float) -> float:
    """The share of an estimate z of an arm of weight v in the sum of local norms: `square` for z ≥ 0.

    For z < 0 it is square/(1 − slope·|z|), or most·|z|(1 − v) where that is less: nothing moves by more than 1 − v.
    """
    if z >= 0.0:
        return square
    left, furthest = 1.0 + slope * z, -most * z * (1.0 - v)
    return furthest if left <= 0.0 or square > furthest * left else square / left


def blur(s: BanditState, estimate: float, z: float, v: float, cost: float, factor: float) -> None:
    """Book what rounding may hide of a round, in units of ε: of z, which moved an estimate to Ĉ, and cost factor·cost.

    What is played is exact weights of the estimates as they were rounded, but for a share (LOOSE + 4K)ε of each. So z
    is off by ε(|Ĉ| + 3|z|), which counts in Ĉ, in ⟨v, z⟩ and in what the step costs, whose slope in z lies between −1
    and 1; and the share of v counts in ⟨v, z⟩ and in the cost, there by at most 3|z| where z < 0. Then come the sums.
    """
    loose = LOOSE + 4.0 * s.estimates.size
    step = abs(z) * (9.0 + loose * (v if z >= 0.0 else 3.0)) + loose * factor * cost
    sums = s.sums[COST] + abs(s.sums[SHIFT]) + abs(s.sums[LINEAR]) + factor * s.sums[LOCAL]
    s.sums[BLUR] = bounded(s.sums[BLUR] + (3.0 * abs(estimate) + step + sums))


def bounded(estimate: float) -> float:
    """An estimated cost that stays finite."""
    return min(max(estimate, -LARGEST), LARGEST)


class BanditAlgorithm(Part):
    """How an arm is chosen from what was seen."""

    name: ClassVar[str]

    @abstractmethod
    def begin(self, s: BanditState) -> None:
        """Set a zero state to the first round's (also to refresh weights from estimates)."""

    @abstractmethod
    def choose(self, s: BanditState) -> tuple[int, float]: ...

    @abstractmethod
    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None: ...

    def room(self, arms: int) -> Vector:
        """Zeros for the weights."""
        return np.zeros(arms)

    def baseline(self, s: BanditState) -> float:
        """A cost known before the round that is taken off the costs of all arms; 0 takes off nothing."""
        return 0.0

    def weighs(self) -> bool:
        """Whether costs are divided by their probabilities; then only differences between arms matter."""
        return True

    @abstractmethod
    def policy(self, s: BanditState, w: Vector) -> None:
        """Write the present probability of every arm: O(K)."""
