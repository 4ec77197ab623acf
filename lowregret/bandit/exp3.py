"""EXP3, and its high-probability form EXP3-IX: exponential weights on estimated costs."""

from __future__ import annotations

import math
from typing import ClassVar

from lowregret.bandit.algorithm import BanditAlgorithm, blur, bounded, centre, local
from lowregret.bandit.state import BASE, CLAMPED, COSTS, LEAST, LEVEL, LINEAR, LOCAL, SMALLEST, BanditState
from lowregret.bandit.tree import build_tree, draw_leaf, leaf, new_tree, put_leaf
from lowregret.compile.random import uniform
from lowregret.errors import PartError
from lowregret.learner.validate import is_whole
from lowregret.types import Vector

FAINT = 1e-100  # when the sum of weights leaves (FAINT, 1/FAINT) they are computed afresh, 1 for the best arm
MOST = 2**63 - 1  # rounds
HIGHEST = 700.0  # an exponent whose power is a number, and beyond 1/FAINT


class Exponential(BanditAlgorithm):
    """w ∝ e^{−ηĈ}, drawn from a sum tree: O(log K) a round, O(K) once in a while."""

    eta: float

    def check(self) -> None:
        self.require(0 < self.eta < math.inf, f"eta must be a positive number, got {self.eta}")

    def room(self, arms: int) -> Vector:
        return new_tree(arms)

    def begin(self, s: BanditState) -> None:
        base = s.estimates[0]
        for c in s.estimates:
            base = min(base, c)
        half = s.weights.size >> 1
        for i in range(s.estimates.size):
            s.weights[half + i] = math.exp(-self.eta * (s.estimates[i] - base))
        build_tree(s.weights)
        s.sums[BASE] = base
        self.look(s)

    def look(self, s: BanditState) -> None:
        """Find the smallest weight: O(K)."""
        half = s.weights.size >> 1
        least = s.weights[half]
        for i in range(s.estimates.size):
            least = min(least, s.weights[half + i])
        s.sums[LEAST] = least

    def choose(self, s: BanditState) -> tuple[int, float]:
        arm = draw_leaf(s.weights, uniform(s.chance))
        p = leaf(s.weights, arm) / s.weights[1]
        if p < SMALLEST:
            s.counts[CLAMPED] += 1
            p = SMALLEST
        return arm, p

    def policy(self, s: BanditState, w: Vector) -> None:
        for i in range(w.size):
            w[i] = leaf(s.weights, i) / s.weights[1]

    def absorb(self, s: BanditState, arm: int, z: float) -> None:
        """Ĉ[arm] += z, and the weight that follows from it."""
        v = leaf(s.weights, arm) / s.weights[1]
        s.sums[LINEAR] += v * z
        cost = local(v * z * z, z, v, self.eta / 3.0, 2.0 / self.eta)
        s.sums[LOCAL] += cost
        s.estimates[arm] = bounded(s.estimates[arm] + z)
        blur(s, s.estimates[arm], z, v, cost, self.eta / 2.0)
        exponent = -self.eta * (s.estimates[arm] - s.sums[BASE])
        put_leaf(s.weights, arm, math.exp(min(exponent, HIGHEST)))
        s.sums[LEAST] = min(s.sums[LEAST], leaf(s.weights, arm))
        if not FAINT < s.weights[1] < 1 / FAINT:
            self.begin(s)
        elif s.counts[COSTS] % s.estimates.size == 0:  # the smallest may have grown
            self.look(s)


class Exp3(Exponential):
    """ALG-EXP3: draw i ~ w_t, see y, Ĉ[i] += y/w_t[i] (Auer, Cesa-Bianchi, Freund, Schapire 2002).

    `centred`: costs are taken relative to what was usual lately, as far as no promise changes (see `algorithm.py`).
    """

    name: ClassVar[str] = "exp3"
    centred: bool = True

    @classmethod
    def tuned(cls, arms: int, rounds: int) -> Exp3:
        """η = √(2 ln K/(KT)), for which COR-4.2+ promises √(2KT ln K)."""
        return cls(exp3_rate(arms, rounds))

    def baseline(self, s: BanditState) -> float:
        return centre(s.sums[LEVEL], 3.0 * s.sums[LEAST] / s.weights[1] / self.eta) if self.centred else 0.0

    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None:
        self.absorb(s, arm, y / max(p, SMALLEST))


class Exp3IX(Exponential):
    """EXP3-IX: Ĉ[i] += y/(w_t[i] + γ): too small by a little, and so never too large by much (Neu 2015)."""

    name: ClassVar[str] = "exp3-ix"
    gamma: float

    @classmethod
    def tuned(cls, arms: int, rounds: int) -> Exp3IX:
        """η = 2γ = √(2 ln K/(KT))."""
        eta = exp3_rate(arms, rounds)
        return cls(eta, eta / 2)

    def check(self) -> None:
        super().check()
        self.require(0 < self.gamma < math.inf, f"gamma must be a positive number, got {self.gamma}")

    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None:
        self.absorb(s, arm, y / (p + self.gamma))


def exp3_rate(arms: int, rounds: int) -> float:
    """√(2 ln K/(KT)); any positive number will do for a single arm."""
    if not is_whole(arms, 1):
        raise PartError(f"tuning needs a whole number of arms, at least 1, got {arms!r}")
    if not (is_whole(rounds) and rounds <= MOST):
        raise PartError(f"tuning needs a whole number of rounds, got {rounds!r}")
    return math.sqrt(2 * math.log(max(arms, 2)) / (float(arms) * max(float(rounds), 1.0)))
