"""Problems of features or weights that are far from 1, in units in which their squares are numbers.

With X = 2ᵏX′, u = 2⁻ᵏu′ and c = 2ʲc′ the scores stay as they are, F = 2ʲF′ for κ′ = 2⁻²ᵏ⁻ʲκ, and powers of two round
nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.domain import Box, Domain, Reals, Simplex
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.objective import Incumbent, Objective
from lowregret.rows import as_rows
from lowregret.types import Vector

FAR = 200  # powers of two: the largest feature and the largest weight are left as they are up to here


def in_units(o: Objective) -> tuple[Objective, int, int]:
    """An equal problem with features and weights of at most 1 if they are far from it, and k and j."""
    matrix: Any = as_matrix(o.x)
    k = _far(matrix.data if hasattr(matrix, "indptr") else matrix)
    j = _far(o.c)
    kappa = _times(o.kappa, -2 * k - j)
    domain = _scaled(o.domain, k) if k else o.domain
    if not (k or j) or domain is None or not math.isfinite(kappa) or (kappa == 0) != (o.kappa == 0):
        return o, 0, 0
    x = as_rows(matrix.astype(np.float64) * math.ldexp(1.0, -k)) if k else o.x
    if isinstance(domain, Reals) and kappa == 0 and k > 0 and not _kept(matrix, as_matrix(x)):
        return o, 0, 0  # on all of R^d a weight may be so large that a number next to 0 is not nothing
    return replace(o, x=x, c=np.ldexp(o.c, -j), domain=domain, kappa=kappa), k, j


def out_of_units(o: Objective, found: Incumbent, k: int, j: int) -> Incumbent:
    """An answer in the units of o; its value is that of the point as it is rounded there."""
    point = o.domain.projection(np.ldexp(found.point, -k))
    own = Incumbent(point, bound=_times(found.bound, j))
    own.see(point, o.value(point, o.scores(point)), -math.inf)
    return own


def _far(numbers: Vector) -> int:
    """The power of two next to the largest number, 0 if it is not far from 1."""
    largest = float(np.max(np.abs(numbers), initial=0.0))
    power = math.frexp(largest)[1] if 0 < largest < math.inf else 0
    return power if abs(power) > FAR else 0


def _kept(before: Any, after: Any) -> bool:
    """Whether no number became 0, or so small that digits are lost."""
    old, new = (matrix.data if hasattr(matrix, "indptr") else matrix for matrix in (before, after))
    return bool(np.all((old == 0) | (np.abs(new) >= np.finfo(np.float64).tiny)))


def _times(number: float, power: int) -> float:
    """number·2^power, infinite if it is too large."""
    return float(np.ldexp(number, power))


def _scaled(domain: Domain, power: int) -> Domain | None:
    """The set, 2^power times as large; None if it is then of no size or of no end."""
    sizes = ("low", "high") if isinstance(domain, Box) else ("total",) if isinstance(domain, Simplex) else ("radius",)
    if isinstance(domain, Reals):
        return domain
    made = {}
    for name in sizes:
        before = np.asarray(getattr(domain, name))
        made[name] = np.ldexp(before, power)
        if not np.all(np.isfinite(made[name]) & ((made[name] == 0) == (before == 0))):
            return None
    return replace(domain, **{name: size if size.ndim else float(size) for name, size in made.items()})
