"""ALG-BOGD: gradient descent that sees only the cost of the points it plays, one or two a round.

One point: Flaxman, Kalai, McMahan 2005. Two points: Agarwal, Dekel, Xiao 2010.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Self

import numpy as np

from lowregret.bandit.schema import BanditDescentSchema
from lowregret.certificate import Certificate, Premise
from lowregret.compile.numerics import EPSILON, at_most, norm, squared, squared_over
from lowregret.compile.random import new_chance, normal
from lowregret.compile.spec import to_json
from lowregret.compile.turns import in_turn
from lowregret.domain import Box, Domain, L2Ball, Simplex
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.validate import is_positive, is_whole, require_room
from lowregret.run.round_by_round import Contents, Recorded
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

IDS = (("COR-4.5", "COR-4.5-OUT"), ("COR-4.5-2", "COR-4.5-2-OUT"))  # by points a round, and whether played outside
Cost = Callable[[int, Vector], float]  # (t, point) → f_t(point), t = 0, 1, …


class Shape:
    """A set seen from its centre: in-radius r and dimension m within its affine hull, B = max‖u − centre‖.

    Who may play `outside` sees any convex set from 0, with room on all sides: r = ∞, m = d.
    """

    def __init__(self, domain: Domain, dimension: int, outside: bool = False) -> None:
        if not (isinstance(domain, Domain) and is_whole(dimension, 1)):
            raise PartError(f"bandit descent needs a set and its number of coordinates, got {domain!r}, {dimension!r}")
        require_room(int(dimension), "coordinates")
        domain.fits(dimension)
        self.domain, self.flat = domain, isinstance(domain, Simplex) and not outside
        self.dimension = dimension - 1 if self.flat else dimension
        match domain:
            case Domain(playable=True) if outside:
                self.centre, self.inner, self.outer = np.zeros(dimension), math.inf, domain.reach(2, dimension)
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
                raise PartError(
                    f"bandit descent plays on an L2Ball, a Box or a Simplex, not on a {domain.name}: outside=True "
                    "plays around any convex set that can be projected on, and outside of it"
                )
        if self.inner == 0 or self.dimension == 0:
            raise PartError("the set is a point, or has no interior: there is nothing to explore")

    def within(self, v: Vector) -> Vector:
        """v without what leads out of the affine hull."""
        return v - np.mean(v) if self.flat else v

    def shrunk(self, v: Vector, alpha: float) -> Vector:
        """The projection of centre + v on the set shrunk to (1 − α) around its centre."""
        return self.centre + (1 - alpha) * (self.domain.projection(self.centre + v / (1 - alpha)) - self.centre)


class BanditDescent(Recorded):
    """w_t = Π(ηθ_t) on the set shrunk by α = δ/r, or on all of it (`outside`); play w_t + δv_t, see c; θ −= (m/δ)c·v_t.

    v_t is uniform on the unit sphere of dimension m, and θ −= z_t:
    points=1: play w_t + δv_t, see c:           z_t = (m/δ) c v_t
    points=2: play w_t ± δv_t, see c₊ and c₋:   z_t = (m/2δ)(c₊ − c₋) v_t; the cost is their mean

    Every point played lies in the set. O(d) a round, and a projection. The certificate needs to know that the functions
    are `lipschitz` and, with one point, that none exceeds ±`largest` on the set.

    `outside=True` is the algorithm as the textbook has it, on any convex set: w_t = Π(ηθ_t) on the set as it is (α = 0,
    m = d), and w_t ± δv_t is played wherever it lies, so the functions must be Lipschitz up to δ outside as well.
    """

    kind = "bandit-descent"
    schema = BanditDescentSchema()
    rounds: int = 0
    loss: float = 0.0

    def __init__(
        self, domain: Domain, dimension: int, eta: float, delta: float, *, points: int = 1, seed: int = 0,
        lipschitz: float = math.inf, largest: float = math.inf, outside: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.shape, self.outside = Shape(domain, dimension, outside), bool(outside)
        if points not in (1, 2):
            raise PartError(f"points must be 1 or 2, got {points!r}")
        if not (is_positive(eta) and is_positive(delta) and delta <= self.shape.inner / 2):
            most = "" if outside else f" and at most half the in-radius, {self.shape.inner / 2:.6g}"
            raise PartError(f"eta must be positive and delta above 0{most}; got {eta!r} and {delta!r}")
        told: tuple[Any, ...] = lipschitz, largest
        if not all(isinstance(size, Real) and float(size) >= 0 for size in told):
            raise PartError(f"lipschitz and largest must be numbers from 0 on, got {lipschitz!r} and {largest!r}")
        self.eta, self.delta, self.points = float(eta), float(delta), int(points)
        self.alpha = self.delta / self.shape.inner
        self.chance = new_chance(seed)
        self.lipschitz, self.largest = float(lipschitz), float(largest)
        self.theta, self.sum = np.zeros(dimension), np.zeros(dimension)  # −Σz_t, Σw_t
        self.energy, self.largest_seen, self.steepest = 0.0, 0.0, 0.0

    @classmethod
    def tuned(
        cls, domain: Domain, dimension: int, rounds: int, lipschitz: float, largest: float, *, points: int = 1,
        seed: int = 0, outside: bool = False,
    ) -> BanditDescent:  # fmt: skip
        """η and δ that minimise the bound for T rounds of L-Lipschitz functions with |f_t| ≤ F."""
        if not (is_positive(lipschitz) and (points != 1 or is_positive(largest))):
            raise PartError(
                f"tuning needs how steep the functions are and, with one point, how large: numbers above 0, got "
                f"lipschitz={lipschitz!r} and largest={largest!r}"
            )
        if not is_whole(rounds, 1):
            raise PartError(f"tuning needs a whole number of rounds, at least 1, got {rounds!r}")
        s = Shape(domain, dimension, outside)
        if not s.outer < math.inf:
            raise PartError(f"tuning needs a bounded set to compare with, not a {domain.name}")
        slope, root = (2 + s.outer / s.inner) * lipschitz, math.sqrt(rounds)
        reach = s.outer * s.dimension
        delta = (
            math.sqrt(reach) * math.sqrt(largest / slope / root) if points == 1 else reach * lipschitz / (slope * root)
        )
        delta = min(delta, s.inner / 2)
        scale = _scale(points, lipschitz, largest, delta, outside)
        eta = s.outer / (s.dimension * scale * root)
        at = domain, dimension, eta, delta
        return cls(*at, points=points, seed=seed, lipschitz=lipschitz, largest=largest, outside=outside)

    @property
    def point(self) -> Vector:
        """w_t, around which is played"""
        return self.shape.shrunk(self.eta * self.theta, self.alpha)

    @property
    def average(self) -> Vector:
        """Mean of the w_t so far"""
        return self.sum / self.rounds if self.rounds else self.point

    def learn(self, cost: Cost, rounds: int) -> Self:
        """Play this many rounds against f_t = cost(t, ·), convex on the set, and around it if played outside."""
        if not is_whole(rounds):
            raise PartError(f"rounds must be a whole number, not below 0, got {rounds!r}")
        for _ in range(rounds):
            with np.errstate(over="ignore", invalid="ignore"):
                self._round(cost)
        return self

    @in_turn
    def _round(self, cost: Cost) -> None:
        w, v = self.point, self._direction()
        seen = [self._see(cost, w + sign * self.delta * v) for sign in (1, -1)[: self.points]]
        slope = seen[0] if self.points == 1 else seen[0] / 2 - seen[1] / 2
        z = self.shape.dimension / self.delta * slope * v
        theta, loss, energy = self.theta - z, self.loss + sum(seen) / self.points, self.energy + float(z @ z)
        goes_on = np.all(np.isfinite(self.shape.shrunk(self.eta * theta, self.alpha)))
        if not (goes_on and np.all(np.isfinite(theta)) and math.isfinite(loss) and math.isfinite(energy)):
            raise DivergedError(
                f"round {self.rounds}: estimates left the range of numbers, for the cost is {seen[0]:g} and delta "
                f"{self.delta:g}: scale the costs down, or use a larger delta"
            )
        rounding = 8 * EPSILON * max(map(abs, seen))  # of costs that are near each other
        self.steepest = max(self.steepest, (abs(slope) - rounding) / self.delta if self.points == 2 else 0.0)
        self.theta, self.sum, self.loss, self.energy = theta, self.sum + w, loss, energy
        self.rounds += 1
        self._mark()

    def _see(self, cost: Cost, point: Vector) -> float:
        told: Any = cost(self.rounds, point.copy())
        try:
            value = float(told)
        except (TypeError, ValueError, OverflowError):
            value = math.nan
        if not math.isfinite(value):
            raise DataError(f"round {self.rounds}: the cost is {told!r} at {point[:5]}…: it must be finite on the set")
        self.largest_seen = max(self.largest_seen, abs(value))
        return value

    def _direction(self) -> Vector:
        with np.errstate(over="ignore"):
            v = self.shape.within(np.array([normal(self.chance) for _ in range(self.theta.size)]))
        length = norm(v)
        return v / length if length > 0 else self._direction()

    @property
    def certificates(self) -> list[Certificate]:
        """COR-4.5, corrected and for feasible play: E Σ(f_t(played) − f_t(u)) for every fixed u in the set.

        (2δ + αB)LT + B²/(2η) + (η/2)T m²F²/δ², and with two points m²L² for m²F²/δ². F must be known beforehand.
        Played outside, as COR-4.5 has it: 2δLT + B²/(2η) + (η/2)T d²(F/δ + L)², F = max|f_t| on the set alone.
        """
        s, rounds, lipschitz = self.shape, self.rounds, self.lipschitz
        scale = _scale(self.points, lipschitz, self.largest, self.delta, self.outside)
        bound = squared_over(s.outer, 2 * self.eta)
        if rounds:
            shrinking = 0.0 if self.outside else self.alpha * s.outer
            bound += (2 * self.delta + shrinking) * lipschitz * rounds
            bound += rounds * (s.dimension * scale) * (self.eta * (s.dimension * scale)) / 2
        most = (rounds * squared(s.dimension * scale) if rounds else 0.0) * (1 + 1e-9)
        where = f"on the set, and up to {self.delta:g} around it" if self.outside else "on the set"
        found = Certificate(
            id=IDS[self.points - 1][self.outside],
            statement=f"expected regret ≤ {self._formula()}",
            comparator=s.domain.describe(),
            linear_regret=None,
            bound=bound,
            premises=(
                Premise("how steep and how large costs can be was said: lipschitz=, and largest= with one point",
                        math.isfinite(lipschitz) and math.isfinite(scale), f"{lipschitz:g}, {self.largest:g}"),
                self._as_said(),
                Premise(f"costs are convex and {lipschitz:g}-Lipschitz {where} (assumed)", True),
                Premise("costs do not depend on the learner's coins (assumed)", True),
                Premise("Σ‖z_t‖² is as small as the theorem takes it to be", self.energy <= most, self.energy),
            ),
            measure="expected regret",
        )  # fmt: skip
        return [found]

    def _as_said(self) -> Premise:
        """Whether what was seen is not larger, or steeper, than was said; as |f_t| ≤ F + Lδ outside."""
        if self.points == 2:
            return Premise("no cost that was seen is steeper than that", at_most(self.steepest, self.lipschitz),
                           self.steepest)  # fmt: skip
        most = self.largest + (self.lipschitz * self.delta if self.outside else 0.0)
        return Premise("no cost that was seen is larger than that", at_most(self.largest_seen, most), self.largest_seen)

    def _formula(self) -> str:
        if self.outside:
            return "2δLT + B²/(2η) + (η/2)T·" + ("d²(F/δ + L)²" if self.points == 1 else "d²L²")
        return "(2δ + αB)LT + B²/(2η) + (η/2)T·" + ("m²F²/δ²" if self.points == 1 else "m²L²")

    def _of(self) -> str:
        return f"{self.shape.domain.name}, {counted(self.points, 'point')} a round"

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description = {"domain": to_json(self.shape.domain), "dimension": self.theta.size, "points": self.points}
        description |= {name: getattr(self, name) for name in (*_FACTS, *_SUMS, "rounds", "outside")}
        return description, {"theta": self.theta, "sum": self.sum, "chance": self.chance}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        facts = {name: found.description[name] for name in ("dimension", "points", *_FACTS)}
        made = cls(found.part("domain"), **facts, outside=found.description.get("outside", False))
        for name in (*_SUMS, "rounds"):
            setattr(made, name, found.description.get(name, 0.0))
        made.theta, made.sum, made.chance = (found.arrays[name] for name in ("theta", "sum", "chance"))
        return made


def _scale(points: int, lipschitz: float, largest: float, delta: float, outside: bool) -> float:
    """A number that ‖z_t‖/m does not exceed: L with two points, F/δ with one, as |f_t| ≤ F + Lδ outside F/δ + L."""
    return lipschitz if points == 2 else largest / delta + (lipschitz if outside else 0.0)


_FACTS = ("eta", "delta", "lipschitz", "largest")
_SUMS = ("loss", "energy", "largest_seen", "steepest")  # of which earlier files lack the last
