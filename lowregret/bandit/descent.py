"""ALG-BOGD: gradient descent that sees only the cost of the points it plays, one or two a round.

One point: Flaxman, Kalai, McMahan 2005. Two points: Agarwal, Dekel, Xiao 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.numerics import norm
from lowregret.compile.random import new_chance, normal
from lowregret.domain import Box, Domain, L2Ball, Simplex
from lowregret.errors import DataError, PartError
from lowregret.types import Vector
from lowregret.words import Brief

Cost = Callable[[int, Vector], float]  # (t, point) → f_t(point), t = 0, 1, …


class Shape:
    """A set seen from its centre: in-radius r and dimension m within its affine hull, B = max‖u − centre‖."""

    def __init__(self, domain: Domain, dimension: int) -> None:
        domain.fits(dimension)
        self.domain, self.flat = domain, isinstance(domain, Simplex)
        self.dimension = dimension - 1 if self.flat else dimension
        match domain:
            case L2Ball(radius):
                self.centre, self.inner, self.outer = np.zeros(dimension), radius, radius
            case Box(low, high):
                half = np.broadcast_to((high - low) / 2, dimension)
                self.centre = np.array(np.broadcast_to((high + low) / 2, dimension))
                self.inner, self.outer = float(np.min(half)), norm(half)
            case Simplex(total):
                self.centre = np.full(dimension, total / dimension)
                self.inner = total / math.sqrt(dimension * max(dimension - 1, 1))
                self.outer = total * math.sqrt(1 - 1 / dimension)
            case _:
                raise PartError(f"bandit descent plays on an L2Ball, a Box or a Simplex, not on a {domain.name}")
        if self.inner == 0 or self.dimension == 0:
            raise PartError("the set is a point, or has no interior: there is nothing to explore")

    def within(self, v: Vector) -> Vector:
        """v without what leads out of the affine hull."""
        return v - np.mean(v) if self.flat else v

    def shrunk(self, v: Vector, alpha: float) -> Vector:
        """The projection of centre + v on the set shrunk to (1 − α) around its centre."""
        return self.centre + (1 - alpha) * (self.domain.projection(self.centre + v / (1 - alpha)) - self.centre)


class BanditDescent(Brief):
    """w_t = Π(ηθ_t) on the set shrunk by α = δ/r; v_t uniform on the unit sphere of dimension m; θ −= z_t.

    points=1: play w_t + δv_t, see c:           z_t = (m/δ) c v_t
    points=2: play w_t ± δv_t, see c₊ and c₋:   z_t = (m/2δ)(c₊ − c₋) v_t; the cost is their mean

    Every point played lies in the set. O(d) a round, and a projection.
    """

    def __init__(
        self, domain: Domain, dimension: int, eta: float, delta: float, *, points: int = 1, seed: int = 0
    ) -> None:
        self.shape = Shape(domain, dimension)
        if points not in (1, 2):
            raise PartError(f"points must be 1 or 2, got {points!r}")
        if not (0 < eta < math.inf and 0 < delta <= self.shape.inner / 2):
            raise PartError(
                f"eta must be positive and delta above 0 and at most half the in-radius, {self.shape.inner / 2:.6g}; "
                f"got {eta} and {delta}"
            )
        self.eta, self.delta, self.points = float(eta), float(delta), points
        self.alpha = self.delta / self.shape.inner
        self.chance = new_chance(seed)
        self.theta, self.total, self.rounds = np.zeros(dimension), np.zeros(dimension), 0
        self.cost, self.energy, self.largest = 0.0, 0.0, 0.0

    @classmethod
    def tuned(
        cls, domain: Domain, dimension: int, rounds: int, lipschitz: float, largest: float, *, points: int = 1,
        seed: int = 0,
    ) -> BanditDescent:  # fmt: skip
        """η and δ that minimise the bound for T rounds of L-Lipschitz functions with |f_t| ≤ F."""
        s = Shape(domain, dimension)
        slope, root = (2 + s.outer / s.inner) * lipschitz, math.sqrt(rounds)
        reach = s.outer * s.dimension
        delta = math.sqrt(reach * largest / (slope * root)) if points == 1 else reach * lipschitz / (slope * root)
        delta = min(delta, s.inner / 2)
        scale = largest / delta if points == 1 else lipschitz
        return cls(domain, dimension, s.outer / (s.dimension * scale * root), delta, points=points, seed=seed)

    @property
    def point(self) -> Vector:
        """w_t, around which is played"""
        return self.shape.shrunk(self.eta * self.theta, self.alpha)

    @property
    def average(self) -> Vector:
        """Mean of the w_t so far"""
        return self.total / self.rounds if self.rounds else self.point

    def play(self, cost: Cost, rounds: int) -> BanditDescent:
        """Play so many rounds against f_t = cost(t, ·), convex on the set."""
        for _ in range(rounds):
            w, v = self.point, self._direction()
            seen = [self._see(cost, w + sign * self.delta * v) for sign in (1, -1)[: self.points]]
            slope = seen[0] if self.points == 1 else (seen[0] - seen[1]) / 2
            z = self.shape.dimension / self.delta * slope * v
            self.theta -= z
            self.total += w
            self.cost += sum(seen) / self.points
            self.energy += float(z @ z)
            self.rounds += 1
        return self

    def _see(self, cost: Cost, point: Vector) -> float:
        value = float(cost(self.rounds, point.copy()))
        if not math.isfinite(value):
            raise DataError(f"round {self.rounds}: the cost is {value} at {point[:5]}…: it must be finite on the set")
        self.largest = max(self.largest, abs(value))
        return value

    def _direction(self) -> Vector:
        with np.errstate(over="ignore"):
            v = self.shape.within(np.array([normal(self.chance) for _ in range(self.theta.size)]))
        length = norm(v)
        return v / length if length > 0 else self._direction()

    def certificate(self, lipschitz: float, largest: float | None = None) -> Certificate:
        """COR-4.5, corrected and for feasible play: E Σ(f_t(played) − f_t(u)) for every fixed u in the set.

        (2δ + αB)LT + B²/(2η) + (η/2)T m²F²/δ², and with two points m²L² for m²F²/δ². F must be known beforehand.
        """
        s, rounds = self.shape, self.rounds
        if self.points == 1 and largest is None:
            raise PartError("with one point the bound needs largest = F, a number that no |f_t| exceeds on the set")
        scale = lipschitz if self.points == 2 else (largest or 0.0) / self.delta
        bound = (2 * self.delta + self.alpha * s.outer) * lipschitz * rounds + s.outer**2 / (2 * self.eta)
        bound += self.eta / 2 * rounds * (s.dimension * scale) ** 2
        steepest = Premise("Σ‖z_t‖² is as small as the theorem takes it to be",
                           self.energy <= rounds * (s.dimension * scale) ** 2 * (1 + 1e-9), self.energy)  # fmt: skip
        middle = "m²F²/δ²" if self.points == 1 else "m²L²"
        return Certificate(
            id="COR-4.5" if self.points == 1 else "COR-4.5-2",
            statement=f"expected regret ≤ (2δ + αB)LT + B²/(2η) + (η/2)T·{middle}",
            comparator=s.domain.describe(),
            linear_regret=None,
            bound=bound,
            premises=(
                Premise(f"costs are convex and {lipschitz:g}-Lipschitz on the set (assumed)", True),
                Premise("costs do not depend on the learner's coins (assumed)", True),
                steepest,
            ),
            measure="expected regret",
        )
