"""Baselines for costs that come from fixed distributions, one per arm. Nothing is promised where they do not."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.state import CHOICES, BanditState
from lowregret.compile.random import beta, uniform
from lowregret.types import Vector


class Greedy(BanditAlgorithm):
    """Algorithms that believe in a mean cost per arm."""

    @abstractmethod
    def mean(self, s: BanditState, arm: int) -> float:
        """The mean cost of an arm, as far as it is known."""

    def begin(self, s: BanditState) -> None:
        pass

    def weighs(self) -> bool:
        return False

    def policy(self, s: BanditState, w: Vector) -> None:
        """All on the arm that looks best, ties to the first: the choice if exploring stopped now."""
        best = 0
        for i in range(w.size):
            w[i] = 0.0
            if self.mean(s, i) < self.mean(s, best):
                best = i
        w[best] = 1.0


class Ucb1(Greedy):
    """Every arm once, then argmin of mean cost − √(2 ln t/n_i) (Auer, Cesa-Bianchi, Fischer 2002). O(K) a round.

    While costs are outstanding, n_i counts choices, so that one arm is not chosen for ever for want of news.
    """

    name: ClassVar[str] = "ucb1"

    def choose(self, s: BanditState) -> tuple[int, float]:
        best, lowest = 0, math.inf
        for i in range(s.estimates.size):
            index = self.index(s, i)
            if index < lowest:
                best, lowest = i, index
        return best, 1.0

    def index(self, s: BanditState, arm: int) -> float:
        """The least mean cost that this arm may plausibly have."""
        if s.shown[arm] == 0:
            return -math.inf
        mean = s.estimates[arm] / max(s.seen[arm], 1)
        return mean - math.sqrt(2.0 * math.log(s.counts[CHOICES] + 1.0) / s.shown[arm])

    def mean(self, s: BanditState, arm: int) -> float:
        return s.estimates[arm] / s.seen[arm] if s.seen[arm] > 0 else math.inf

    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None:
        s.estimates[arm] += y


class Thompson(Greedy):
    """Draw each arm's mean cost from its posterior Beta(a + Σy, b + Σ(1 − y)), choose the least (Thompson 1933).

    A cost strictly between 0 and 1 is first made 0 or 1 by a coin of that mean. O(K) a round. The probability of a
    choice has no closed form: it is not recorded, and logs of it cannot be evaluated off policy.
    """

    name: ClassVar[str] = "thompson"
    a: float = 1.0
    b: float = 1.0

    def check(self) -> None:
        self.require(0 < self.a < math.inf and 0 < self.b < math.inf, f"a, b must be positive, got {self.a}, {self.b}")

    def choose(self, s: BanditState) -> tuple[int, float]:
        best, lowest = 0, math.inf
        for i in range(s.estimates.size):
            mean = beta(s.chance, self.a + s.estimates[i], self.b + s.seen[i] - s.estimates[i])
            if mean < lowest:
                best, lowest = i, mean
        return best, UNKNOWN

    def mean(self, s: BanditState, arm: int) -> float:
        return (self.a + s.estimates[arm]) / (self.a + self.b + s.seen[arm])

    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None:
        s.estimates[arm] += 1.0 if uniform(s.chance) < y else 0.0
