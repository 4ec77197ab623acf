"""The box and the non-negative orthant."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.domain.base import ROUNDING, Domain, Separable, constant_vector, rounded
from lowregret.types import Index, Vector


class Box(Separable):
    """{low ≤ w ≤ high}, the same interval for every coordinate or a vector of them"""

    name: ClassVar[str] = "box"
    low: Any = -1.0
    high: Any = 1.0

    def check(self) -> None:
        for side in ("low", "high"):
            object.__setattr__(self, side, constant_vector(self, side, getattr(self, side)))
        self.require(
            self.low.size == self.high.size or 1 in (self.low.size, self.high.size),
            f"low has {self.low.size} entries, high {self.high.size}: give one number, or vectors of one length",
        )
        self.require(bool(np.all(self.low <= self.high)), "low must not exceed high")

    def clip(self, j: Index, v: float) -> float:
        low = self.low[j] if self.low.size > 1 else self.low[0]
        high = self.high[j] if self.high.size > 1 else self.high[0]
        return min(max(v, low), high)

    def projection(self, v: Vector) -> Vector:
        return np.clip(np.asarray(v, float), self.low, self.high)

    def support(self, theta: Vector) -> float:
        return float(np.sum(np.maximum(self.low * theta, self.high * theta)))

    def reach(self, q: float, d: int) -> float:
        return norm(np.broadcast_to(np.maximum(abs(self.low), abs(self.high)), d), q)

    def diameter(self, d: int) -> float:
        return norm(np.broadcast_to(self.high - self.low, d))

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        return self.low, self.high

    def surrounds(self, other: Domain, d: int) -> bool:
        low, high = other.bounds(d)
        size = np.maximum(abs(self.low), abs(self.high))
        slack = (ROUNDING - 1) * np.minimum(size, self.high - self.low) + rounded(1) * size
        return bool(np.all(self.low - slack <= low) and np.all(high <= self.high + slack))

    def fits(self, d: int) -> None:
        size = max(self.low.size, self.high.size)
        self.require(size in (1, d), f"the bounds have {size} entries, the learner has {d} coordinates")

    def describe(self) -> dict[str, Any]:
        if np.ptp(self.low) == np.ptp(self.high) == 0 and self.low[0] == -self.high[0]:
            return {"set": "linf-ball", "radius": float(self.high[0])}
        return {"set": self.name, "low": self.low.tolist(), "high": self.high.tolist()}


class Orthant(Separable):
    """{w ≥ 0}"""

    name: ClassVar[str] = "orthant"

    def clip(self, j: Index, v: float) -> float:
        return max(v, 0.0)

    def projection(self, v: Vector) -> Vector:
        return np.maximum(np.asarray(v, float), 0.0)

    def support(self, theta: Vector) -> float:
        return math.inf if np.any(theta > 0) else 0.0

    def reach(self, q: float, d: int) -> float:
        return math.inf

    def diameter(self, d: int) -> float:
        return math.inf

    def bounds(self, d: int) -> tuple[float, float]:
        return 0.0, math.inf

    def surrounds(self, other: Domain, d: int) -> bool:
        return bool(np.all(np.asarray(other.bounds(d)[0]) >= 0))
