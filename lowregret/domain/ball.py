"""R^d, balls, and single points."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import TOLERANCE, norm
from lowregret.domain.base import ROUNDING, Domain, Radial, Whole, constant_vector, require_size
from lowregret.domain.simplex import simplex_threshold
from lowregret.errors import PartError
from lowregret.types import Vector


class Reals(Radial):
    """R^d"""

    name: ClassVar[str] = "reals"

    def projection(self, v: Vector) -> Vector:
        return np.array(v, float)

    def support(self, theta: Vector) -> float:
        return math.inf if np.any(theta) else 0.0

    def reach(self, q: float, d: int) -> float:
        return math.inf

    def diameter(self, d: int) -> float:
        return math.inf

    def surrounds(self, other: Domain, d: int) -> bool:
        return True


class L2Ball(Radial):
    """{‖w‖₂ ≤ radius}"""

    name: ClassVar[str] = "l2-ball"
    radius: float = 1.0

    def check(self) -> None:
        require_size(self, "radius", self.radius)

    def shrink(self, norm: float) -> float:
        return 1.0 if norm <= self.radius else self.radius / norm

    def projection(self, v: Vector) -> Vector:
        v = np.array(v, float)
        if norm(v) <= self.radius:
            return v
        v /= np.max(np.abs(v))
        return v * (self.radius / norm(v))

    def support(self, theta: Vector) -> float:
        return self.radius * norm(theta)

    def reach(self, q: float, d: int) -> float:
        return self.radius * d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return 2 * self.radius

    def surrounds(self, other: Domain, d: int) -> bool:
        return other.reach(2, d) <= self.radius * ROUNDING


class L1Ball(Whole):
    """{‖w‖₁ ≤ radius}"""

    name: ClassVar[str] = "l1-ball"
    radius: float = 1.0

    def check(self) -> None:
        require_size(self, "radius", self.radius)

    def project(self, v: Vector) -> None:
        _project_l1(v, self.radius)

    def support(self, theta: Vector) -> float:
        return self.radius * float(np.max(np.abs(theta), initial=0.0))

    def reach(self, q: float, d: int) -> float:
        return self.radius

    def diameter(self, d: int) -> float:
        return 2 * self.radius

    def surrounds(self, other: Domain, d: int) -> bool:
        return other.reach(1, d) <= self.radius * ROUNDING


class LqBall(Domain):
    """{‖w‖_q ≤ radius}, 1 ≤ q ≤ ∞: a comparator set; nothing is projected on it"""

    name: ClassVar[str] = "lq-ball"
    radius: float = 1.0
    q: float = 2.0

    def check(self) -> None:
        require_size(self, "radius", self.radius)
        self.require(self.q >= 1, f"q must be at least 1, got {self.q}")

    def projection(self, v: Vector) -> Vector:
        if self.contains(v, 0.0):
            return np.array(v, float)
        raise PartError("LqBall is a comparator set, not a domain: use L2Ball, L1Ball or Box to restrict the learner")

    def contains(self, w: Vector, tolerance: float = TOLERANCE) -> bool:
        return norm(w, self.q) <= self.radius * (1 + tolerance)

    def support(self, theta: Vector) -> float:
        dual = 1.0 if self.q == math.inf else math.inf if self.q == 1 else self.q / (self.q - 1)
        return self.radius * norm(theta, dual)

    def reach(self, q: float, d: int) -> float:
        return self.radius * d ** max(0.0, 1 / q - 1 / self.q)

    def diameter(self, d: int) -> float:
        return 2 * self.reach(2, d)

    def surrounds(self, other: Domain, d: int) -> bool:
        return other.reach(self.q, d) <= self.radius * ROUNDING


class Point(Domain):
    """{u}: one fixed comparator"""

    name: ClassVar[str] = "point"
    u: Any

    def check(self) -> None:
        object.__setattr__(self, "u", constant_vector(self, "u", self.u))

    def projection(self, v: Vector) -> Vector:
        return np.array(self.u)

    def support(self, theta: Vector) -> float:
        return float(self.u @ theta)

    def reach(self, q: float, d: int) -> float:
        return norm(self.u, q)

    def diameter(self, d: int) -> float:
        return 0.0

    def bounds(self, d: int) -> tuple[Vector, Vector]:
        return self.u, self.u

    def lies_in(self, other: Domain, d: int) -> bool:
        return other.contains(self.u)

    def fits(self, d: int) -> None:
        self.require(self.u.size == d, f"u has {self.u.size} coordinates, the learner has {d}")

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "radius": norm(self.u)}


@kernel
def _project_l1(v: Vector, radius: float) -> None:
    """Soft-threshold: v ← sgn(v)[|v| − τ]₊ with τ such that ‖v‖₁ = radius, unless it is at most that already."""
    total = 0.0
    for x in v:
        total += abs(x)
    if total <= radius:
        return
    top, tau = simplex_threshold(v, radius, True)
    for j in range(v.size):
        v[j] = math.copysign(max(abs(v[j]) - top - tau, 0.0), v[j])
