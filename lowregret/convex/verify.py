"""Functions of a user's own, put to the test: f_t(v) ≥ f_t(w_t) + ⟨z_t, v − w_t⟩ + (σ_t/2)‖v − w_t‖² at points v?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.convex.functions import Convex, Function, Regularised
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.types import Vector

PREMISE = "every function is convex, its sub-gradient one, and as strongly convex as it says"
CLOSE = 1e-9  # what may be missing, of the numbers compared
POINTS = 8  # that were played, at which each function is tried
SHARES = (-1.0, -0.3, 0.0, 0.3, 1.0)  # of the way to a comparator, likewise


def is_doubtful(f: Convex) -> bool:
    """Whether it is a user's word that f is convex."""
    return isinstance(f, Function) or is_own(f) or (isinstance(f, Regularised) and is_doubtful(f.f))


def tried_points(points: Vector, gradients: Vector, comparator: Domain) -> list[Vector]:
    """Comparators along the sum of the sub-gradients and a random vector, and some of the points that were played."""
    d = points.shape[1]
    far = min(comparator.reach(2, d), float(np.max(np.linalg.norm(points, axis=1), initial=1.0)))
    ways: list[Any] = [gradients.sum(axis=0), np.random.default_rng(0).normal(size=d)]
    lines = [way * (far / (float(np.linalg.norm(way)) or 1.0)) for way in ways]
    played = points[np.unique(np.linspace(0, len(points) - 1, POINTS).astype(int))]
    try:
        return [*(comparator.projection(share * line) for line in lines for share in SHARES), *played]
    except PartError:  # a set that nothing is projected on
        return list(played)


def counterexample(
    functions: Sequence[Convex], points: Vector, gradients: Any, losses: Any, tried: Sequence[Vector]
) -> str | None:
    """A round whose function is not what certificates take it for, in words; None if that was not found."""
    for t, f in enumerate(functions):
        if not is_doubtful(f):
            continue
        w, z, value = points[t], gradients[t], float(losses[t])
        for v in tried:
            away = v - w
            rise = float(z @ away) + f.curvature / 2 * float(away @ away)
            there = f.value(v.copy())
            if not there >= value + rise - CLOSE * (abs(value) + abs(there) + float(np.abs(z) @ np.abs(away))):
                return (
                    f"round {t + 1}: the function is {value:.6g} at the point played and {there:.6g} at {_shown(v)}, "
                    f"where its sub-gradient {_shown(z)} promised at least {value + rise:.6g}"
                )
    return None


def _shown(v: Vector) -> str:
    return np.array2string(v[:4], precision=4) + ("…" if v.size > 4 else "")
