"""Mirror maps of a user's own, put to the test: are R, its conjugate, its link and its strength what they should be?"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.numerics import at_most, norm
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.mirror.base import Mirror
from lowregret.types import Vector

PREMISE = "the mirror map's conjugate, link and strength are those of its regulariser"

NEAR = (0.5, 0.9, 1.1, 2.0)  # shares of a θ whose links are compared with its own


PATH = (1.0, 0.75, 0.5, 0.25)  # shares of the θ of a run that are tried too


def counterexample(mirror: Mirror, comparator: Domain, d: int, met: Vector | None = None) -> str | None:
    """Where a mirror map of the user's own is not what it says, in words; None if that was not found.

    It is tried at random θ, and on the way to `met`, the θ that a run came to.
    """
    return next(_faults(mirror, comparator, d, met), None) if is_own(mirror) else None


def _faults(mirror: Mirror, comparator: Domain, d: int, met: Vector | None) -> Iterator[str]:
    rng = np.random.default_rng(0)
    thetas = [rng.normal(size=d) * size for size in (0.0, 0.01, 1.0, 10.0) for _ in range(4)]
    if met is not None and np.all(np.isfinite(met)):
        thetas += [share * met for share in PATH]
    points = [mirror.link(theta) for theta in thetas]
    values = [mirror.value(w) for w in points]
    q, sigma = mirror.exponent, mirror.strength()
    for theta, w, value in zip(thetas, points, values, strict=True):
        height = float(w @ theta) - value
        terms = norm(w) * norm(theta), value
        if not at_most(height, mirror.conjugate(theta), *terms):
            yield f"R*({theta[:3]}) is {mirror.conjugate(theta):.6g}, less than {height:.6g} = ⟨w,θ⟩ − R(w)"
        near = [mirror.link(share * theta) for share in NEAR]
        for u, there in [*zip(points, values, strict=True), *((u, mirror.value(u)) for u in near)]:
            away = 0.0 if math.isnan(q) else norm(u - w, q)
            least = value + float((u - w) @ theta) + sigma / 2 * away * away
            if not at_most(least, there, *terms, norm(u) * norm(theta), sigma * away * away):
                yield f"R is {there:.6g} at {u[:3]}, less than the {least:.6g} of link and strength {sigma:g}"
    for u in _comparators(comparator, thetas):
        if not at_most(mirror.value(u), mirror.highest(comparator, d)):
            yield f"R is {mirror.value(u):.6g} at the comparator {u[:3]}, more than `highest` says"


def _comparators(comparator: Domain, thetas: list[Vector]) -> list[Vector]:
    try:
        return [comparator.projection(1e3 * theta) for theta in thetas]
    except PartError:  # a set that nothing is projected on
        return []
