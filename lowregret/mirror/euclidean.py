"""Euclidean geometry, on R^d and on every set that can be projected on."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.domain import Domain, Reals, Separable
from lowregret.mirror.base import Mirror
from lowregret.state import DIMENSION, MASS, WEIGHT, State
from lowregret.types import Index, Vector, cell


class Euclidean(Mirror):
    """R(w) = ½‖w‖₂² on S, link Π_S(θ); MASS = ‖θ‖²"""

    norm: ClassVar[str] = "2"
    domain: Domain = Reals()

    def check(self) -> None:
        self.require(
            isinstance(self.domain, Domain) and self.domain.playable,
            f"needs a domain that can be projected on, such as Reals() or L2Ball(1.0), got {self.domain!r}",
        )

    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w) if self.domain.contains(w) else math.inf

    def conjugate(self, theta: Vector) -> float:
        w = self.domain.projection(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            value = float(w @ theta) - 0.5 * float(w @ w)
        return math.inf if math.isnan(value) else value  # of vectors whose squares leave the range of numbers

    def tells_length(self) -> bool:
        return True

    def link(self, theta: Vector) -> Vector:
        return self.domain.projection(theta)

    def gradient(self, w: Vector) -> Vector:
        return np.array(w, float)

    def divergence(self, w: Vector, u: Vector) -> float:
        return 0.5 * float((w - u) @ (w - u))

    def strength(self) -> float:
        return 1.0

    def highest(self, comparator: Domain, d: int) -> float:
        r = comparator.reach(2, d)
        return 0.5 * r * r

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = B/(L√T) gives BL√T (THM-2.21)."""
        return radius / (lipschitz * math.sqrt(rounds))

    def begin(self, s: State) -> None:
        if self.domain.whole():
            s.table[1::2] = self.domain.projection(np.zeros(s.dimension))

    def whole(self) -> bool:
        return self.domain.whole()

    def width(self) -> int:
        return 2 if self.domain.whole() else 1

    def rated(self) -> bool:
        return self.domain.rated()

    def parted(self) -> bool:
        return isinstance(self.domain, Reals | Separable)

    def stores_rate(self) -> bool:
        return self.domain.whole()

    def raw(self, s: State, j: Index, eta: float) -> float:
        if self.domain.whole():
            return s.table[cell(j, self.width()) + WEIGHT]
        return self.domain.lazy_raw(j, s.table[cell(j, self.width())], eta)

    def scale(self, s: State, eta: float) -> float:
        return self.domain.lazy_scale(eta, math.sqrt(s.sums[MASS]))

    def square_length(self, s: State, eta: float) -> float:
        scale = self.scale(s, eta)
        return scale * scale * s.sums[MASS] if self.domain.radial() else math.inf

    def fades(self, length: float) -> bool:
        return self.domain.radial() and self.domain.shrink(length) < 1.0

    def open(self, product: float, square: float) -> tuple[float, float]:
        """(change of ‖θ‖², ‖z‖²): where raw weights are θ itself, ‖θ − z‖² = ‖θ‖² − 2⟨θ,z⟩ + ‖z‖² is known now."""
        return square - 2.0 * product if self.domain.radial() else 0.0, square

    def push(self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float]) -> tuple[float, float]:
        at = cell(j, self.width())
        old = s.table[at]
        new = old - g
        s.table[at] = new
        if self.domain.radial():
            return round_sums
        return round_sums[0] + (new - old) * (new + old), round_sums[1]

    def close(self, s: State, eta: float, scale: float, entries: int, round_sums: tuple[float, float]) -> float:
        s.sums[MASS] = max(s.sums[MASS] + round_sums[0], 0.0)
        return round_sums[1]

    def refresh(self, s: State, eta: float) -> None:
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            theta = s.table[cell(j, self.width())]
            mass += theta * theta
        s.sums[MASS] = mass
        if self.domain.whole():
            for j in range(s.counts[DIMENSION]):
                at = cell(j, self.width())
                s.table[at + WEIGHT] = eta * s.table[at]
            self.domain.project(s.table[1::2])
