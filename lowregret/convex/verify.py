"""Functions of a user's own, put to the test: f_t(v) ≥ f_t(w_t) + ⟨z_t, v − w_t⟩ + (σ_t/2)‖v − w_t‖² at points v?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.numerics import norm, norms
from lowregret.convex.functions import Convex, Function, Regularised
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.types import Vector

PREMISE = "every function is convex, its sub-gradient one, and as strongly convex as it says"
CLOSE = 1e-9  # what may be missing, of the numbers compared
POINTS = 8  # that were played, at which each function is tried
SHARES = (*np.geomspace(1e-6, 1.0, 17).tolist(), 0.75)  # of the way to a comparator, to both sides
AXES = 3  # coordinates along which comparators are tried, if there are no more
ROUNDS, VALUES = 16, 100_000  # that are tried for an averaged point, and values that this takes


def is_doubtful(f: Convex) -> bool:
    """Whether it is a user's word that f is convex."""
    return isinstance(f, Function) or is_own(f) or (isinstance(f, Regularised) and is_doubtful(f.f))


def tried_points(points: Vector, gradients: Vector, comparator: Domain) -> list[Vector]:
    """Comparators along the sum of the sub-gradients, a random vector and few axes, and some of the points played."""
    d = points.shape[1]
    reach, longest = comparator.reach(2, d), float(np.max(norms(points), initial=0.0))
    far = reach if reach < math.inf else 10 * longest or 1.0
    ways: list[Any] = [
        gradients.sum(axis=0),
        np.random.default_rng(0).normal(size=d),
        *(np.eye(d) if d <= AXES else ()),
    ]
    ways = ways if d > 1 else ways[-1:]
    lines = [way * (far / (norm(way) or 1.0)) for way in ways]
    played = points[np.unique(np.linspace(0, len(points) - 1, POINTS).astype(int))]
    try:
        found = [comparator.projection(share * line) for line in lines for s in SHARES for share in (-s, s)]
        return list(np.unique([comparator.projection(np.zeros(d)), *found, *played], axis=0))
    except PartError:  # a set that nothing is projected on
        return list(played)


def counterexample(
    functions: Sequence[Convex], points: Vector, gradients: Any, losses: Any, tried: Sequence[Vector]
) -> str | None:
    """A round whose function is not what certificates take it for, in words; None if that was not found."""
    for t, f in enumerate(functions):
        for v in tried if is_doubtful(f) else ():
            found = _fault(f, points[t], gradients[t], float(losses[t]), v)
            if found is not None:
                return f"round {t + 1}: {found}"
    return None


def strayed(functions: Sequence[Convex], points: Vector, gradients: Any, losses: Any, path: Any) -> str | None:
    """A round whose function lies below its tangent at the point of a path for that round, in words."""
    for t, f in enumerate(functions):
        found = _fault(f, points[t], gradients[t], float(losses[t]), path[t]) if is_doubtful(f) else None
        if found is not None:
            return f"round {t + 1}: {found}"
    return None


def unaveraged(functions: Sequence[Convex], points: Vector, shares: Vector, mean: Vector) -> str | None:
    """A round whose function is more at the average of the points than on average, in words: Σc_s·f(w_s)/Σc."""
    doubtful = [t for t, f in enumerate(functions) if is_doubtful(f)]
    few = max(1, min(ROUNDS, VALUES // max(len(points), 1)))
    spread = shares / shares.sum() if len(points) else shares
    for t in np.unique(np.array(doubtful)[np.linspace(0, len(doubtful) - 1, few).astype(int)]) if doubtful else ():
        f = functions[t]
        values = np.array([_value(f, w) for w in points])
        there, usual, size = _value(f, mean), float(spread @ values), float(spread @ abs(values))
        steep = f.steepness(mean, f.subgradient(mean.copy()))
        if not there <= usual + CLOSE * (abs(there) + size + float(steep @ (spread @ abs(points)))):
            return (
                f"round {t + 1}: the function is {there:.6g} at the average {_shown(mean)} of the points played, "
                f"and {usual:.6g} on average"
            )
    return None


def _fault(f: Convex, w: Vector, z: Any, value: float, v: Vector) -> str | None:
    away = v - w
    with np.errstate(over="ignore", invalid="ignore"):
        rise = float(z @ away) + f.curvature / 2 * float(away @ away)
        there, size = _value(f, v), float(np.abs(z) @ np.abs(away))
        if there >= value + rise - CLOSE * (abs(value) + abs(there) + size) or there == math.inf:
            return None
    return (
        f"the function is {value:.6g} at the point played and {there:.6g} at {_shown(v)}, "
        f"where its sub-gradient {_shown(z)} promised at least {value + rise:.6g}"
    )


def _value(f: Convex, v: Vector) -> float:
    try:
        with np.errstate(all="ignore"):
            return float(f.value(v.copy()))
    except (OverflowError, ZeroDivisionError, ValueError):  # too far out to be a number
        return math.inf


def _shown(v: Vector) -> str:
    return np.array2string(v[:4], precision=4) + ("…" if v.size > 4 else "")
