"""Tsallis-INF: optimal up to constants whether the costs come from an adversary or from fixed distributions."""

from __future__ import annotations

import math
from typing import ClassVar

from lowregret.bandit.algorithm import BanditAlgorithm, blur, bounded, centre, local
from lowregret.bandit.state import COSTS, LEAST, LEVEL, LINEAR, LOCAL, SMALLEST, BanditState
from lowregret.compile.random import uniform
from lowregret.types import Vector


class TsallisInf(BanditAlgorithm):
    """w_t = argmin ⟨w, Ĉ⟩ − 2Σ√w_i/η_t = (η_t(Ĉ_i − x))^{−2}, η_t = 1/√t, Ĉ[i] += y/w_t[i] (Zimmert, Seldin 2021).

    In their notation the rate is 2/√t and w_i = 4(η_t(Ĉ_i − x))^{−2}. No horizon; O(K) a round. `centred`: costs are
    taken relative to what was usual lately, as far as no promise changes (see `algorithm.py`).
    """

    name: ClassVar[str] = "tsallis-inf"
    centred: bool = True

    def baseline(self, s: BanditState) -> float:
        return centre(s.sums[LEVEL], math.sqrt(s.sums[LEAST] * (s.counts[COSTS] + 1.0))) if self.centred else 0.0

    def begin(self, s: BanditState) -> None:
        rate = 1.0 / math.sqrt(s.counts[COSTS] + 1.0)
        lowest = s.estimates[0]
        for c in s.estimates:
            lowest = min(lowest, c)
        for i in range(s.estimates.size):
            s.weights[i] = rate * (s.estimates[i] - lowest)
        y = normaliser(s.weights)
        total = 0.0
        for i in range(s.weights.size):
            s.weights[i] = 1.0 / ((s.weights[i] + y) * (s.weights[i] + y))
            total += s.weights[i]
        least = 1.0
        for i in range(s.weights.size):
            s.weights[i] /= total
            least = min(least, s.weights[i])
        s.sums[LEAST] = least

    def choose(self, s: BanditState) -> tuple[int, float]:
        arm = drawn(s.weights, uniform(s.chance))
        return arm, s.weights[arm]

    def policy(self, s: BanditState, w: Vector) -> None:
        for i in range(w.size):
            w[i] = s.weights[i]

    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None:
        z, v = y / max(p, SMALLEST), s.weights[arm]
        rate = 1.0 / math.sqrt(float(s.counts[COSTS]))
        s.sums[LINEAR] += v * z
        cost = local(v * math.sqrt(v) * z * z * rate, z, v, math.sqrt(v) * rate, 1.0)
        s.sums[LOCAL] += cost
        s.estimates[arm] = bounded(s.estimates[arm] + z)
        blur(s, s.estimates[arm], z, v, cost, 1.0)
        self.begin(s)


def normaliser(gaps: Vector) -> float:
    """y ∈ [1, √K] with h(y) = (Σ(g_i + y)^{−2})^{−½} = 1, for gaps g ≥ 0 of which the smallest is 0.

    h is increasing and concave (a power mean of linear functions), and h(1) ≤ 1: Newton's method from y = 1 rises to
    the root without overshooting. O(K) a step, a handful of steps.
    """
    y = 1.0
    for _ in range(50):
        square, cube = 0.0, 0.0
        for g in gaps:
            inverse = 1.0 / (g + y)
            square += inverse * inverse
            cube += inverse * inverse * inverse
        coming = y + (1.0 - 1.0 / math.sqrt(square)) * square * math.sqrt(square) / cube
        if not coming > y * (1.0 + 1e-15):
            break
        y = coming
    return y


def drawn(weights: Vector, u: float) -> int:
    """The arm in which u falls, for weights that sum to 1 up to rounding; never one of weight 0."""
    last = 0
    for i in range(weights.size):
        if weights[i] > 0.0:
            last = i
            u -= weights[i]
            if u < 0.0:
                break
    return last
