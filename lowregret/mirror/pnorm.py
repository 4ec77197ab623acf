"""p-norm geometry: between Euclidean (p = 2) and entropic (p = 2 ln d)."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.compile.numerics import norm, power
from lowregret.domain import Domain
from lowregret.mirror.base import Mirror
from lowregret.state import DIMENSION, MASS, WEIGHT, State, slot, worn
from lowregret.types import Index, Vector, cell

UNIT = slot("unit")  # c, the unit of θ

RANGE = 1e30  # outside of 1/RANGE … RANGE, Σ|θ/c|^p calls for another unit c


class PNorm(Mirror):
    """R(w) = ½‖w‖_q², 1/p + 1/q = 1, p ≥ 2; link sgn(θ)|θ|^{p−1}/‖θ‖_p^{p−2}.

    MASS = Σ|θ/c|^p and raw = sgn(θ)|θ/c|^{p−1} with a unit c near max|θ| (UNIT), so that no power overflows.
    """

    norm: ClassVar[str] = "q"
    p: float = 2.0

    def check(self) -> None:
        self.require(2 <= self.p < math.inf, f"p must be at least 2 and finite, got {self.p}")

    @property
    def q(self) -> float:
        return self.p / (self.p - 1)

    @property
    def exponent(self) -> float:
        return self.q

    def value(self, w: Vector) -> float:
        r = norm(w, self.q)
        return 0.5 * r * r

    def conjugate(self, theta: Vector) -> float:
        r = norm(theta, self.p)
        return 0.5 * r * r

    def tells_length(self) -> bool:
        return True

    def link(self, theta: Vector) -> Vector:
        return _norm_gradient(theta, self.p)

    def gradient(self, w: Vector) -> Vector:
        return _norm_gradient(w, self.q)

    def strength(self) -> float:
        return 1.0 / (self.p - 1.0)

    def highest(self, comparator: Domain, d: int) -> float:
        r = comparator.reach(self.q, d)
        return 0.5 * r * r

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = (B/L)√((q−1)/T) gives BL√((p−1)T) (COR-2.18 corrected)."""
        return radius / lipschitz * math.sqrt(self.strength() / rounds)

    def whole(self) -> bool:
        return False

    def rated(self) -> bool:
        return False

    def stores_rate(self) -> bool:
        return False

    def begin(self, s: State) -> None:
        s.sums[UNIT] = 1.0

    def raw(self, s: State, j: Index, eta: float) -> float:
        return s.table[cell(j, 2) + WEIGHT]

    def scale(self, s: State, eta: float) -> float:
        mass = s.sums[MASS]
        return eta * s.sums[UNIT] * mass ** (2.0 / self.p - 1.0) if mass > 0.0 else 0.0

    def square_length(self, s: State, eta: float) -> float:
        """‖w‖₂ ≤ ‖w‖_q = η‖θ‖_p"""
        length = eta * s.sums[UNIT] * s.sums[MASS] ** (1.0 / self.p)
        return length * length

    def open(self, product: float, square: float) -> tuple[float, float, float]:
        """(change of MASS, Σ|g/largest|^p, largest |g|)"""
        return 0.0, 0.0, 0.0

    def push(
        self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float, float]
    ) -> tuple[float, float, float]:
        change, powers, largest = round_sums
        unit = s.sums[UNIT]
        at = cell(j, 2)
        old = s.table[at]
        new = old - g
        raw = math.copysign(power(abs(new / unit), self.p - 1.0), new)  # inf makes MASS inf, hence stale
        change += raw * (new / unit) - s.table[at + WEIGHT] * (old / unit)
        s.table[at] = new
        s.table[at + WEIGHT] = raw
        size = abs(g)
        if size > largest:
            return change, 1.0 + powers * (largest / size) ** self.p, size
        return change, powers + (size / largest) ** self.p if size > 0.0 else powers, largest

    def close(
        self,
        s: State,
        eta: float,
        scale: float,
        entries: int,
        round_sums: tuple[float, float, float],
    ) -> float:
        """The dual norm is ‖z‖_p."""
        change, powers, largest = round_sums
        s.sums[MASS] = max(s.sums[MASS] + change, 0.0)
        length = largest * powers ** (1.0 / self.p)
        return length * length

    def stale(self, s: State) -> bool:
        return worn(s) or not 1 / RANGE <= s.sums[MASS] <= RANGE

    def refresh(self, s: State, eta: float) -> None:
        unit = 0.0
        for j in range(s.counts[DIMENSION]):
            unit = max(unit, abs(s.table[cell(j, 2)]))
        unit = unit if unit > 0.0 else 1.0
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            theta = s.table[cell(j, 2)] / unit
            raw = math.copysign(abs(theta) ** (self.p - 1.0), theta)
            s.table[cell(j, 2) + WEIGHT] = raw
            mass += raw * theta
        s.sums[UNIT] = unit
        s.sums[MASS] = mass


def _norm_gradient(x: Vector, p: float) -> Vector:
    """∇½‖x‖_p², 0 at 0."""
    x = np.asarray(x, float)
    length = norm(x, p)
    return np.sign(x) * np.abs(x / length) ** (p - 1) * length if length > 0 else np.zeros_like(x)
