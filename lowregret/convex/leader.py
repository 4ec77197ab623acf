"""Players that look at all functions so far: follow the leader, and follow the regularised leader.

    FTL    w_t = argmin_{w∈S} Σ_{i<t} f_i(w)
    FTRL   w_t = argmin_{w∈S} R(w)/η + Σ_{i<t} f_i(w)

They are not update rules: a round costs O(d) where the sum of the functions folds (linear, and quadratic in Euclidean
geometry), else a minimisation over all functions so far, O(t·d) per cut (see `minimise`), whose gap is certified.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from lowregret.compile.part import Part
from lowregret.convex.functions import Sum
from lowregret.convex.minimise import Solution, minimise, vertex
from lowregret.domain import Domain
from lowregret.mirror import Euclidean, Mirror
from lowregret.types import Vector


class Follower(Part):
    """A player whose next point minimises a penalty plus all functions so far."""

    compilable: ClassVar[bool] = False
    facts: ClassVar[dict[str, Any]] = {"highest": lambda self, comparator, d: math.inf}

    if TYPE_CHECKING:  # a field of some players, which an inherited property would hide

        @property
        def domain(self) -> Domain:
            """S"""

    @property
    @abstractmethod
    def folds(self) -> bool:
        """Whether `nearest` takes s > 0."""

    @property
    @abstractmethod
    def curved(self) -> bool:
        """Whether the penalty makes minimisers unique and bounded."""

    @abstractmethod
    def penalty(self, w: Vector) -> float:
        """R(w)/η, or 0"""

    @abstractmethod
    def nearest(self, b: Vector, s: float) -> Vector:
        """argmin_{u∈S} penalty(u) + ⟨b,u⟩ + (s/2)‖u‖²"""

    @abstractmethod
    def highest(self, comparator: Domain, d: int) -> float:
        """The largest penalty of a comparator."""

    @abstractmethod
    def fits(self, d: int) -> None:
        """Refuse a dimension in which the player cannot play."""

    def first(self, d: int) -> Vector:
        """w_1"""
        return self.nearest(np.zeros(d), 0.0)

    def follow(self, total: Sum, start: Vector) -> Solution:
        """The point to play after these functions, with its certified gap."""
        return minimise(self, total, start)


class FollowTheLeader(Follower):
    """w_t = argmin_S Σ_{i<t} f_i; w_1 = Π_S(0), as wherever all points tie (ALG-FTL).

    Linear functions need a bounded set: O(d), at a vertex. Quadratic ones (σ/2)‖w − z‖²: the projection of the running
    mean, O(d) (FTL-QUAD). It is no remedy against adversaries: on f_t = ±w it pays for every round (DEMO-FTL-FAIL).
    """

    domain: Domain

    def check(self) -> None:
        self.require(
            isinstance(self.domain, Domain), f"domain must be a Domain such as L2Ball(1.0), got {self.domain!r}"
        )

    @property
    def folds(self) -> bool:
        return True

    @property
    def curved(self) -> bool:
        return False

    def penalty(self, w: Vector) -> float:
        return 0.0

    def nearest(self, b: Vector, s: float) -> Vector:
        return self.domain.projection(-b / s) if s > 0 else vertex(self.domain, b)

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.0

    def fits(self, d: int) -> None:
        self.domain.fits(d)


class FollowTheRegularisedLeader(Follower):
    """w_t = argmin_S R/η + Σ_{i<t} f_i, R and S those of the mirror map (ALG-FTRL, FoReL).

    Linear functions, any mirror: the link ∇R*(−ηΣz_i), which is mirror descent, O(d). Quadratic ones: O(d) and a
    projection in Euclidean geometry. Others: a minimisation with a certified gap.
    """

    mirror: Mirror
    eta: float

    def check(self) -> None:
        self.require(
            isinstance(self.mirror, Mirror), f"mirror must be a Mirror such as Euclidean(), got {self.mirror!r}"
        )
        self.require(0 < self.eta < math.inf, f"eta must be a positive number, got {self.eta}")

    @property
    def domain(self) -> Domain:
        return self.mirror.domain

    @property
    def folds(self) -> bool:
        return isinstance(self.mirror, Euclidean)

    @property
    def curved(self) -> bool:
        return True

    @property
    def strength(self) -> float:
        """σ such that R/η is σ-strongly convex in the mirror's norm; 0 if it is only so locally."""
        return self.mirror.strength() / self.eta

    def penalty(self, w: Vector) -> float:
        """R(w)/η on S; in Euclidean geometry it is not checked that w lies there, which would cost a projection."""
        return float(w @ w) / (2 * self.eta) if self.folds else self.mirror.value(w) / self.eta

    def nearest(self, b: Vector, s: float) -> Vector:
        if self.folds:
            return self.domain.projection(-b / (s + 1 / self.eta))
        return self.mirror.link(-self.eta * b)

    def follow(self, total: Sum, start: Vector) -> Solution:
        self.mirror.require(
            self.mirror.knows_value() or not (total.rest or total.sigma > 0),
            "its link alone does not tell how to follow functions that are not linear: give it a method value(w), R(w)",
        )
        return super().follow(total, start)

    def highest(self, comparator: Domain, d: int) -> float:
        return self.mirror.highest(comparator, d) / self.eta

    def fits(self, d: int) -> None:
        self.mirror.fits(d)
