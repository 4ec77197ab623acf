"""Sets of a user's own, put to the test: is what certificates believe of them so, at points that they project on?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.numerics import at_most, norm
from lowregret.domain.base import Domain
from lowregret.errors import PartError
from lowregret.types import Vector

PREMISE = "the set is convex, and as large as it says"
WAYS = 8  # directions in which points are sought
FAR = (1e-3, 1.0, 1e3)  # how far out


def sample(domain: Domain, d: int, way: Vector | None = None) -> tuple[list[Vector], list[Vector]]:
    """Some vectors, one `way` among them if it is given, and the points of the set that they are projected on."""
    rng, reach = np.random.default_rng(0), domain.reach(2, d)
    ways = [rng.normal(size=d) for _ in range(WAYS)] + [rng.normal(size=d) * (np.arange(d) == k % d) for k in range(4)]
    ways += [] if way is None or not 0 < norm(way) < math.inf else [way]
    far = [*FAR, *(size * reach for size in FAR if 0 < size * reach < math.inf)]
    vectors = [way * (size / (norm(way) or 1.0)) for way in ways for size in far]
    return vectors, [domain.projection(v.copy()) for v in vectors]


def require_sizes(domain: Domain, d: int) -> None:
    """Raise a `PartError` if a set of the user's own says no numbers of its sizes, or not-a-numbers."""
    if not is_own(domain):
        return
    sizes: dict[str, Any] = {"reach(2, d)": domain.reach(2.0, d), "diameter(d)": domain.diameter(d)}
    for name, found in (sizes | {"support(θ)": domain.support(np.zeros(d))}).items():
        domain.require(
            isinstance(found, Real) and not math.isnan(found),
            f"{name} gave {found!r} for d = {d}: it must be a number, math.inf if none is known",
        )


def counterexample(domain: Domain, d: int, way: Vector | None = None) -> str | None:
    """Where a set of the user's own is not what it says, in words; None if that was not found."""
    return next(_faults(domain, d, way), None) if is_own(domain) else None


def outlier(domain: Domain, other: Domain, d: int) -> str | None:
    """A point of another set that does not lie in this one, in words, if one of the two is the user's own."""
    if not (is_own(domain) or is_own(other)):
        return None
    try:
        points = sample(other, d)[1]
    except PartError:  # a set that nothing is projected on
        return None
    return next((f"{_shown(w)} of the {other.name}" for w in points if not domain.contains(w)), None)


def _faults(domain: Domain, d: int, way: Vector | None) -> Iterator[str]:
    vectors, points = sample(domain, d, way)
    for v in vectors:
        given = v.copy()
        domain.projection(given)
        if not np.array_equal(given, v):
            yield f"projecting changes the vector {_shown(v)} that was given: it must make a new one"
    longest = max(points, key=norm)
    for v, w in zip(vectors, points, strict=True):
        if not at_most(norm(domain.projection(w) - w), 0.0, norm(longest)):
            yield f"projecting moves a point {_shown(w)} that was projected"
        for other in (points[0], points[-1], longest):
            if not at_most(float((v - w) @ (other - w)), 0.0, norm(v - w) * norm(longest)):
                yield f"{_shown(w)} is not nearest to {_shown(v)}, or the set is not convex: see {_shown(other)}"
        if not at_most(float(w @ v), domain.support(v), norm(longest) * norm(v)):
            yield f"support says {domain.support(v):.6g} for a vector whose product with a point is {float(w @ v):.6g}"
        for q in (1.0, 2.0, math.inf):
            if not at_most(norm(w, q), domain.reach(q, d)):
                yield f"reach({q:g}) is {domain.reach(q, d):.6g}, but a point has that norm {norm(w, q):.6g}"
        if not at_most(norm(w - longest), domain.diameter(d), norm(w)):
            yield f"diameter is {domain.diameter(d):.6g}, but two points are {norm(w - longest):.6g} apart"


def _shown(v: Vector) -> str:
    return np.array2string(np.asarray(v)[:3], precision=4) + ("…" if len(v) > 3 else "")
