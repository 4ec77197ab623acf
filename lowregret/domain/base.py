"""Convex sets: what may be played (projection) and what a run is compared with (support function).

Three kinds, by what a Euclidean projection costs when only the touched coordinates may be looked at:

- `Radial`: a common factor of all coordinates, known from the norm             O(1)
- `Separable`: each coordinate on its own                                       O(1) per coordinate
- `Whole`: needs the whole vector                                               O(d) and more

Every set answers, for certificates: `support(θ)` = max_{u∈S}⟨u,θ⟩, `reach(q, d)` = max‖u‖_q, `diameter(d)`, and
`covers(U, d)`: whether all comparators in U could have been played. Where a set has no closed form, `support`, `reach`
and `diameter` are upper bounds and `covers` says no, so that certificates stay true.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.digest import is_ours
from lowregret.compile.numerics import EPSILON, TOLERANCE, norm
from lowregret.compile.part import Part
from lowregret.types import Index, Vector
from lowregret.words import hyphenated

ROUNDING = 1 + 1e-12  # sizes that differ by rounding alone count as equal


class Domain(Part):
    """A closed convex set in R^d."""

    name: ClassVar[str]  # of a user's own set, that of its class unless it says another
    playable: ClassVar[bool] = False  # whether a rule can keep its iterates in it; else it is for comparators only
    stepwise: ClassVar[bool] = False  # whether its projections are found step by step, to a tolerance

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if not (hasattr(cls, "name") or is_ours(cls.__module__)):
            cls.name = hyphenated(cls.__name__)

    @abstractmethod
    def projection(self, v: Vector) -> Vector:
        """Π_S(v), the Euclidean projection, as a new vector."""

    @abstractmethod
    def support(self, theta: Vector) -> float:
        """max_{u∈S} ⟨u, θ⟩, or inf."""

    @abstractmethod
    def reach(self, q: float, d: int) -> float:
        """max_{u∈S} ‖u‖_q in dimension d."""

    @abstractmethod
    def diameter(self, d: int) -> float:
        """max ‖u − v‖₂ over u, v ∈ S in dimension d."""

    def contains(self, w: Vector, tolerance: float = TOLERANCE) -> bool:
        """Whether w lies in S up to the tolerance, relative to S and w, whichever is smaller, and to rounding."""
        w = np.asarray(w, float)
        self.fits(w.size)
        nearest = self.projection(w)
        size = max(norm(w), norm(nearest))
        return norm(w - nearest) <= tolerance * min(size, self.diameter(w.size)) + rounded(w.size) * size

    def bounds(self, d: int) -> tuple[Any, Any]:
        """(low, high), numbers or vectors, with low ≤ u ≤ high for all u ∈ S."""
        r = self.reach(math.inf, d)
        return -r, r

    def covers(self, other: Domain, d: int) -> bool:
        """Whether `other` surely lies in S, in dimension d. False where that is not known."""
        self.fits(d)
        other.fits(d)
        return self == other or self.surrounds(other, d) or other.lies_in(self, d)

    def surrounds(self, other: Domain, d: int) -> bool:
        """Whether the size of `other` shows that S covers it."""
        return False

    def lies_in(self, other: Domain, d: int) -> bool:
        """Whether the points of S show that `other` covers it."""
        return False

    facts: ClassVar[dict[str, Any]] = {
        "support": lambda self, theta: math.inf,
        "reach": lambda self, q, d: math.inf,
        "diameter": lambda self, d: math.inf,
        "bounds": bounds,
        "surrounds": surrounds,
        "lies_in": lies_in,
    }

    def fits(self, d: int) -> None:
        """Refuse a dimension in which the set does not exist."""

    def describe(self) -> dict[str, Any]:
        """The set's name and its size, for reports."""
        return {"set": self.name, **self.parameters}

    # ---- compiled: how a rule keeps w in S; the defaults leave w alone -------------------------------------------

    def whole(self) -> bool:
        """Whether projecting needs all coordinates."""
        return False

    def radial(self) -> bool:
        """Whether only the length of a vector is bounded, so that single coordinates move freely."""
        return False

    def shrink(self, norm: float) -> float:
        """The factor by which projecting scales a vector of this norm."""
        return 1.0

    def clip(self, j: Index, v: float) -> float:
        """Coordinate j of a projected point."""
        return v

    def project(self, v: Vector) -> None:
        """v ← Π_S(v), in place."""

    def rated(self) -> bool:
        """Whether `lazy_raw` depends on η."""
        return False

    def lazy_raw(self, j: Index, theta: float, eta: float) -> float:
        """Coordinate j of Π_S(ηθ), up to `lazy_scale`."""
        return theta

    def lazy_scale(self, eta: float, norm: float) -> float:
        """The common factor of Π_S(ηθ), from η and ‖θ‖."""
        return eta


class Radial(Domain):
    """Sets whose projection scales the vector."""

    playable: ClassVar[bool] = True

    def radial(self) -> bool:
        return True

    def lazy_scale(self, eta: float, norm: float) -> float:
        return eta * self.shrink(eta * norm)


class Separable(Domain):
    """Sets whose projection acts on each coordinate alone."""

    playable: ClassVar[bool] = True

    def rated(self) -> bool:
        return True

    def lazy_raw(self, j: Index, theta: float, eta: float) -> float:
        return self.clip(j, eta * theta)

    def lazy_scale(self, eta: float, norm: float) -> float:
        return 1.0


class Whole(Domain):
    """Sets whose projection looks at all coordinates: O(d) or more per round."""

    playable: ClassVar[bool] = True

    def whole(self) -> bool:
        return True

    def lazy_scale(self, eta: float, norm: float) -> float:
        return 1.0

    def projection(self, v: Vector) -> Vector:
        w = np.array(v, float)
        self.project(w)
        return w


def rounded(d: int) -> float:
    """By how much, relative to its length, a projected point of d coordinates may be off."""
    return 8 * EPSILON * math.sqrt(d)


def require_size(domain: Domain, name: str, value: float) -> None:
    """A radius must be a positive number."""
    domain.require(0 < value < math.inf, f"{name} must be a positive number, got {value}")


def constant_vector(part: Part, name: str, value: Any) -> Vector:
    """A private copy of a parameter that is a vector of finite numbers: parts are immutable."""
    try:
        vector = np.array(value, float, ndmin=1)
    except (TypeError, ValueError):
        vector = np.array([math.nan])
    part.require(
        vector.ndim == 1 and vector.size > 0 and bool(np.isfinite(vector).all()),
        f"{name} must be a finite number or a vector of them, got {value!r}",
    )
    vector.flags.writeable = False
    return vector
