"""Entropic geometry: multiplicative updates."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import exp
from lowregret.domain import Domain, Orthant, Point, Simplex
from lowregret.mirror.base import Mirror
from lowregret.state import DIMENSION, LONGEST, MASS, WEIGHT, State, slot
from lowregret.types import Index, Vector, cell

OFFSET = slot("offset")  # the common offset of the exponents
LOCAL = slot("local")  # Σ_t Σ_i w_t[i] z_t[i]²
SPREAD = slot("spread")  # Σ_t (max_i z_t[i] − min_i z_t[i])²
LOWEST = slot("lowest")  # min_{t,i} η z_t[i]


class Entropic(Mirror):
    """The base of the two entropies: raw weights e^{ηθ − offset}, MASS their sum, local norms in the ledger."""

    norm: ClassVar[str] = "1"
    needs_dimension: ClassVar[bool] = True

    def tells_length(self) -> bool:
        return True

    def whole(self) -> bool:
        return False

    def begin(self, s: State) -> None:
        s.table[1::2] = 1.0
        s.sums[MASS] = s.dimension

    def raw(self, s: State, j: Index, eta: float) -> float:
        return s.table[cell(j, 2) + WEIGHT]

    def square_length(self, s: State, eta: float) -> float:
        """‖w‖₂ ≤ ‖w‖₁"""
        length = self.scale(s, eta) * s.sums[MASS]
        return length * length

    def open(self, product: float, square: float) -> tuple[float, float, float, float]:
        """(change of MASS, Σ raw·z², min z, max z)"""
        return 0.0, 0.0, math.inf, -math.inf

    def push(
        self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float, float, float]
    ) -> tuple[float, float, float, float]:
        change, local, low, high = round_sums
        at = cell(j, 2)
        old = s.table[at + WEIGHT]
        theta = s.table[at] - g
        new = exp(eta * theta - s.sums[OFFSET])  # inf makes MASS inf, hence stale
        s.table[at] = theta
        s.table[at + WEIGHT] = new
        return change + (new - old), local + old * g * g, min(low, g), max(high, g)

    def close(
        self,
        s: State,
        eta: float,
        scale: float,
        entries: int,
        round_sums: tuple[float, float, float, float],
    ) -> float:
        """The dual norm is ‖z‖_∞."""
        change, local, low, high = round_sums
        length = scale * s.sums[MASS]
        s.sums[LONGEST] = max(s.sums[LONGEST], length * length)
        s.sums[MASS] += change
        if entries < s.counts[DIMENSION]:  # coordinates outside the row have z = 0
            low, high = min(low, 0.0), max(high, 0.0)
        s.sums[LOCAL] += scale * local
        s.sums[LOWEST] = min(s.sums[LOWEST], eta * low)
        s.sums[SPREAD] += (high - low) * (high - low)
        largest = max(abs(high), abs(low))
        return largest * largest


class Entropy(Entropic):
    """R(w) = Σ w ln w on {w ≥ 0, Σw = total}; link total·softmax(θ)"""

    total: float = 1.0

    def check(self) -> None:
        self.require(0 < self.total < math.inf, f"total must be a positive number, got {self.total}")

    @property
    def domain(self) -> Domain:
        return Simplex(self.total)

    def value(self, w: Vector) -> float:
        return _negative_entropy(w) if self.domain.contains(w) else math.inf

    def conjugate(self, theta: Vector) -> float:
        top = float(np.max(theta))
        return self.total * (top + math.log(float(np.sum(np.exp(theta - top)))) - math.log(self.total))

    def link(self, theta: Vector) -> Vector:
        weights = np.exp(theta - np.max(theta))
        return self.total * weights / weights.sum()

    def gradient(self, w: Vector) -> Vector:
        """ln w, up to a constant in all coordinates, which the link does not see"""
        return _logarithm(w)

    def divergence(self, w: Vector, u: Vector) -> float:
        return _relative_entropy(w, u)

    def strength(self) -> float:
        return 1.0 / self.total

    def highest(self, comparator: Domain, d: int) -> float:
        """R of a given u; over sets, R of a vertex of the simplex, which no other point exceeds."""
        return self.value(comparator.u) if isinstance(comparator, Point) else self.total * math.log(self.total)

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = √(2 ln d/T)/L gives BL√(2T ln d) (COR-2.14 corrected)."""
        return math.sqrt(2 * math.log(max(d, 2)) / rounds) / lipschitz

    def fits(self, d: int) -> None:
        self.require(d >= 1, "needs at least one coordinate")

    def scale(self, s: State, eta: float) -> float:
        return self.total / s.sums[MASS]

    def refresh(self, s: State, eta: float) -> None:
        offset = -math.inf
        for j in range(s.counts[DIMENSION]):
            offset = max(offset, eta * s.table[cell(j, 2)])
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            s.table[cell(j, 2) + WEIGHT] = math.exp(eta * s.table[cell(j, 2)] - offset)
            mass += s.table[cell(j, 2) + WEIGHT]
        s.sums[OFFSET] = offset
        s.sums[MASS] = mass


class UnnormalisedEntropy(Entropic):
    """R(w) = Σ w(ln w − 1 − ln start) on {w ≥ 0}; link start·e^θ. The first iterate is `start` everywhere."""

    start: float

    def check(self) -> None:
        self.require(0 < self.start < math.inf, f"start must be a positive number, such as 1/d; got {self.start}")

    @property
    def domain(self) -> Domain:
        return Orthant()

    def value(self, w: Vector) -> float:
        w = np.asarray(w, float)
        return _negative_entropy(w) - (1 + math.log(self.start)) * float(np.sum(w)) if np.all(w >= 0) else math.inf

    def conjugate(self, theta: Vector) -> float:
        return float(np.sum(self.link(theta)))

    def link(self, theta: Vector) -> Vector:
        with np.errstate(over="ignore"):
            return self.start * np.exp(theta)

    def gradient(self, w: Vector) -> Vector:
        return _logarithm(w) - math.log(self.start)

    def divergence(self, w: Vector, u: Vector) -> float:
        return _relative_entropy(w, u)

    def strength(self) -> float:
        return 0.0

    def highest(self, comparator: Domain, d: int) -> float:
        """Over the comparators u ≥ 0: exact for points, simplices, boxes and L1 balls, else an upper bound.

        R is convex and a sum over coordinates, so highest at a vertex of {‖u‖₁ ≤ B} and at a corner of a box.
        """
        if isinstance(comparator, Point):
            return self.value(comparator.u)
        if isinstance(comparator, Simplex):
            return float(self._each(comparator.total))
        low, high = (np.maximum(np.broadcast_to(side, d), 0.0) for side in comparator.bounds(d))
        corner = float(np.sum(np.maximum(self._each(low), self._each(high))))
        return min(corner, max(0.0, float(self._each(comparator.reach(1, d)))))

    def _each(self, w: Any) -> Any:
        """The contribution of a coordinate w to R."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(w == 0, 0.0, w * (np.log(w) - 1 - math.log(self.start)))

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = √(2K/(dλT))/L, λ = start, K = dλ + [B ln(B/(eλ))]₊: as costs in [0, L] keep w ≤ λ, THM-2.23+ is then at
        most K/η + (η/2)·dλL²T, and this minimises it. With λ = 1/d and B = 1 it is the rate of the normalised entropy.
        """
        mass = d * self.start
        gain = mass + max(0.0, radius * (math.log(radius / self.start) - 1))
        return math.sqrt(2 * gain / (mass * rounds)) / lipschitz

    def scale(self, s: State, eta: float) -> float:
        return self.start

    def swell(self, s: State, eta: float, square: float) -> float:
        """λ·MASS·e^{η‖z‖₂} ≥ λe^{η(θ − z)}, and without λ, as raw weights are kept"""
        return max(self.start, 1.0) * s.sums[MASS] * exp(eta * math.sqrt(square))

    def refresh(self, s: State, eta: float) -> None:
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            s.table[cell(j, 2) + WEIGHT] = exp(eta * s.table[cell(j, 2)])
            mass += s.table[cell(j, 2) + WEIGHT]
        s.sums[OFFSET] = 0.0
        s.sums[MASS] = mass


def _logarithm(w: Vector) -> Vector:
    """ln w, −inf at 0"""
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(w, float))


def _negative_entropy(w: Vector) -> float:
    """Σ w ln w with 0·ln 0 = 0."""
    w = np.asarray(w, float)
    return float(np.sum(w * np.log(w, out=np.zeros_like(w), where=w > 0)))


def _relative_entropy(w: Vector, u: Vector) -> float:
    """Σ w ln(w/u) − w + u, each term ≥ 0; inf where u = 0 < w."""
    w, u = np.asarray(w, float), np.asarray(u, float)
    with np.errstate(divide="ignore"):
        logs = np.where(w > 0, np.log(w, out=np.zeros_like(w), where=w > 0) - np.log(u), 0.0)
    return float(np.sum(w * logs - w + u))
