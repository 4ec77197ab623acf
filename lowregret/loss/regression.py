"""Losses of a score that is a forecast of y: of the residual p − y, and of counts."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from lowregret.compile.numerics import difference_error, exp, log_factorial, poisson_root, xlogx
from lowregret.loss.base import Loss
from lowregret.types import Vector

__all__ = ["Absolute", "EpsilonInsensitive", "Huber", "Poisson", "Quantile", "Square"]


class Residual(Loss):
    """Losses of r = p − y that are wedges: flat for |r| ≤ ε, then bent until the slope is at its limit.

    Then ℓ*(a) = a·y + ε|a| + ½a²/bend for a between the limits.
    """

    @abstractmethod
    def wedge(self) -> tuple[float, float, float, float]:
        """(lowest slope, highest slope, ε, 1/bend)."""

    def conjugate(self, a: float, y: float) -> float:
        low, high, flat, soft = self.wedge()
        return a * y + flat * abs(a) + 0.5 * soft * a * a if low <= a <= high else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        low, high, flat, soft = self.wedge()
        r = p - y
        excess, width = abs(r) - flat, mu + soft
        limit = high if r > 0.0 else -low
        if excess < 0.0 or (excess == 0.0 and (flat > 0.0 or width == 0.0)):
            return 0.0, 0.0
        if excess < limit * width:
            return math.copysign(excess / width, r), 1.0 / width
        return math.copysign(limit, r), 0.0

    def offsets(self, y: float) -> tuple[float, float]:
        return abs(y) + self.wedge()[2], 0.0

    @property
    def kinked(self) -> bool:
        return self.wedge()[3] == 0.0

    @property
    def convex_in_label(self) -> bool:
        return True


class Square(Residual):
    """ℓ = (p − y)²"""

    name: ClassVar[str] = "square"
    purpose: ClassVar[str] = "numbers, predicted by their mean"

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        return r * r, 2.0 * r

    def wedge(self) -> tuple[float, float, float, float]:
        return -math.inf, math.inf, 0.0, 0.5

    @property
    def curvature(self) -> float:
        return 2.0

    @property
    def smoothness(self) -> float:
        return 2.0


class Absolute(Residual):
    """ℓ = |p − y|"""

    name: ClassVar[str] = "absolute"
    purpose: ClassVar[str] = "numbers, predicted by their median; outliers count less"

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        return (r, 1.0) if r > 0.0 else (-r, -1.0 if r < 0.0 else 0.0)

    def wedge(self) -> tuple[float, float, float, float]:
        return -1.0, 1.0, 0.0, 0.0

    @property
    def lipschitz(self) -> float:
        return 1.0


class Quantile(Residual):
    """ℓ = τ[y − p]₊ + (1 − τ)[p − y]₊: its minimiser is the τ-quantile"""

    name: ClassVar[str] = "quantile"
    purpose: ClassVar[str] = "numbers, predicted by the τ-quantile"
    tau: float = 0.5

    def check(self) -> None:
        self.require(0 < self.tau < 1, f"tau must lie strictly between 0 and 1, got {self.tau}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        if r > 0.0:
            return (1.0 - self.tau) * r, 1.0 - self.tau
        return -self.tau * r, -self.tau if r < 0.0 else 0.0

    def wedge(self) -> tuple[float, float, float, float]:
        return -self.tau, 1.0 - self.tau, 0.0, 0.0

    @property
    def lipschitz(self) -> float:
        return max(self.tau, 1.0 - self.tau)


class Huber(Residual):
    """ℓ = ½r² for |r| ≤ δ, δ(|r| − ½δ) beyond; r = p − y"""

    name: ClassVar[str] = "huber"
    purpose: ClassVar[str] = "numbers; square for small residuals, absolute for outliers"
    delta: float = 1.0

    def check(self) -> None:
        self.require(0 < self.delta < math.inf, f"delta must be positive, got {self.delta}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        if abs(r) <= self.delta:
            return 0.5 * r * r, r
        return self.delta * (abs(r) - 0.5 * self.delta), math.copysign(self.delta, r)

    def wedge(self) -> tuple[float, float, float, float]:
        return -self.delta, self.delta, 0.0, 1.0

    @property
    def lipschitz(self) -> float:
        return self.delta

    @property
    def smoothness(self) -> float:
        return 1.0


class EpsilonInsensitive(Residual):
    """ℓ = [|p − y| − ε]₊"""

    name: ClassVar[str] = "epsilon-insensitive"
    purpose: ClassVar[str] = "numbers; residuals up to ε cost nothing"
    epsilon: float = 0.1

    def check(self) -> None:
        self.require(0 <= self.epsilon < math.inf, f"epsilon must be ≥ 0, got {self.epsilon}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        gap = abs(r) - self.epsilon + math.copysign(1.0, r) * difference_error(p, y, r)
        return (gap, math.copysign(1.0, r)) if gap > 0.0 else (0.0, 0.0)

    def wedge(self) -> tuple[float, float, float, float]:
        return -1.0, 1.0, self.epsilon, 0.0

    @property
    def lipschitz(self) -> float:
        return 1.0


class Poisson(Loss):
    """ℓ = e^p − y·p + ln y!: the negative log-likelihood of a count y with mean e^p"""

    name: ClassVar[str] = "poisson"
    purpose: ClassVar[str] = "counts, predicted by their mean e^p"
    labels: ClassVar[str] = "a finite number ≥ 0"

    def accepts(self, y: float) -> bool:
        return 0.0 <= y < math.inf

    def at(self, p: float, y: float) -> tuple[float, float]:
        mean = exp(p)
        return mean - y * p + log_factorial(y), mean - y

    def predictions(self, scores: Vector) -> Vector:
        """The mean e^p."""
        return np.exp(scores)

    def conjugate(self, a: float, y: float) -> float:
        """m·ln m − m − ln y! for the mean m = a + y ≥ 0"""
        mean = a + y
        return xlogx(mean) - mean - log_factorial(y) if mean >= 0.0 else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        mean = exp(poisson_root(p + mu * y, mu))
        return mean - y, mean / (1.0 + mu * mean)

    def offsets(self, y: float) -> tuple[float, float]:
        """0, and y·ln y + y about, of which ln y! and what it cancels with are sums."""
        x = y + 12.0
        return 0.0, x * (math.log(x) + 1.0)
