"""Mirror descent that starts elsewhere: the regulariser is the divergence from w₁."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.domain import Domain
from lowregret.domain.base import constant_vector
from lowregret.mirror.base import Mirror
from lowregret.types import Vector


class Centred(Mirror):
    """R(w) = D(w‖w₁), the divergence of another map from a `start` w₁; link ∇D*(θ) = the other's of θ + ∇R(w₁).

    It is as strongly convex as the other and smallest, 0, at w₁, so that theorems have D(u‖w₁) for R(u) − R(w₁): of
    `Euclidean`, ½‖u − w₁‖²; of `Entropy`, the relative entropy of u and a prior w₁. O(d) a round, interpreted; in
    Euclidean geometry `ProjectedGradient(…, start=w₁)` and `Linear(…, centre=w₁)` cost O(nnz).
    """

    mirror: Mirror
    start: Any

    def check(self) -> None:
        self.require(isinstance(self.mirror, Mirror), f"mirror must be a Mirror such as Entropy(), got {self.mirror!r}")
        object.__setattr__(self, "start", constant_vector(self, "start", self.start))
        self.mirror.fits(self.start.size)
        self.require(
            self.mirror.domain.contains(self.start) and bool(np.all(np.isfinite(self._slope))),
            f"start must lie in the {self.mirror.domain.name}, and where R has a finite gradient: off its edges",
        )

    @property
    def _slope(self) -> Vector:
        """∇R(w₁)"""
        return self.mirror.gradient(self.start)

    @property
    def domain(self) -> Domain:
        return self.mirror.domain

    @property
    def exponent(self) -> float:
        return self.mirror.exponent

    def knows_value(self) -> bool:
        return self.mirror.knows_value()

    def fits(self, d: int) -> None:
        self.mirror.fits(d)
        self.require(self.start.size == d, f"start has {self.start.size} coordinates, the learner has {d}")

    def link(self, theta: Vector) -> Vector:
        return self.mirror.link(theta + self._slope)

    def value(self, w: Vector) -> float:
        return self.mirror.value(w) - self.mirror.value(self.start) - float(self._slope @ (w - self.start))

    def gradient(self, w: Vector) -> Vector:
        return self.mirror.gradient(w) - self._slope

    def strength(self) -> float:
        return self.mirror.strength()

    def highest(self, comparator: Domain, d: int) -> float:
        """max R(u) and max −⟨∇R(w₁), u⟩, each for itself: exact for points, and where both are at one u."""
        slope, lowest = self._slope, self.mirror.value(self.start) - float(self._slope @ self.start)
        return self.mirror.highest(comparator, d) + comparator.support(-slope) - lowest
