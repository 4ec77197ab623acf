"""A bound from below on all of R^d, where no ball and no ridge keeps the minimum from running away.

For slopes a_i with Σ c_i a_i x_i = 0, F(u) ≥ −Σ c_i ℓ*(a_i, y_i) for every u whatsoever. At a minimum such slopes
exist: away from kinks they are those of the losses, and at kinks, between the slopes on both sides, they balance the
others. They are found by least squares within these bounds; but their sum b is then 0 only up to rounding. Let K be the
rows whose slope is not at an end of where ℓ* is finite, and s > 0 the least singular value of (c_i x_i)_{i∈K}. Then
slopes a'' exist with Σ c_i a''_i x_i = 0 *exactly* that differ from a by δ on K alone, ‖δ‖ ≤ ‖b‖/s =: e, and as ℓ* is
convex

    F(u) ≥ −Σ c_i ℓ*(a_i) − Σ_K c_i [max(ℓ*(a_i − e), ℓ*(a_i + e)) − ℓ*(a_i)]₊   for every u ∈ R^d.

If the rows of K do not span all columns that are not 0 throughout, s is 0 or rounding, and nothing is claimed.
O(n·d²) for d ≤ 600 columns, a few times.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import norm
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.newton import gram
from lowregret.hindsight.objective import ROUNDING, Incumbent, Objective, total_conjugate
from lowregret.loss import Loss
from lowregret.types import Vector

NEARBY = (1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 1e-2)  # how near a kink a score is taken to be at it, relative to the largest
NULL = 1e-12  # of the largest eigenvalue: smaller ones may be rounding
SHARE = 1e-3  # of the widest range of slopes: narrower ones are no kinks, and left as they are
MOST = 4000  # rows at kinks
FEW = 400  # rows up to which active sets find the slopes
MARGIN = 1e-9  # of the steepest slope: how far from where ℓ* ends


def level(o: Objective, best: Incumbent, tolerance: float) -> None:
    """Improve the bound of `best`, whose point is about the minimiser, until it is near."""
    p = o.scores(best.point)
    scale = float(np.max(np.abs(p), initial=0.0)) + float(np.max(np.abs(o.y), initial=0.0))
    for share in NEARBY if 0 < scale < math.inf else ():
        best.see(best.point, math.inf, _from_slopes(o, balanced(o, p, share * scale)))
        if best.near(tolerance):
            return


def balanced(o: Objective, p: Vector, nearby: float) -> Vector:
    """Slopes of the losses at these scores, those at kinks between the slopes on both sides, that nearly balance."""
    low, a, high = (_slopes(o, p + side * nearby) for side in (-1.0, 0.0, 1.0))
    width = high - low
    free = np.flatnonzero(width > SHARE * float(np.max(width, initial=0.0)))
    if 0 < free.size <= MOST:
        a[free] = 0.0
        rows = as_matrix(o.x)[free]
        columns = (rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, np.float64)).T * o.c[free]
        size = float(np.abs(columns).max()) or 1.0
        system, ends = (columns / size, -o.gather(a) / size), (low[free], high[free])
        found = lsq_linear(*system, ends, method="bvls") if free.size <= FEW else lsq_linear(*system, ends)
        a[free] = np.clip(found.x, low[free], high[free])
    return _corrected(o, a)


def _corrected(o: Objective, a: Vector) -> Vector:
    """Slopes moved as little as can be so that they balance, where ℓ* is finite all around; twice, for rounding."""
    for _ in range(2):
        inside = _inside(o, a)
        values, vectors = np.linalg.eigh(gram(o, np.where(inside, o.c**2, 0.0)))
        kept = values > NULL * float(values[-1])
        along = vectors[:, kept]
        pull = along @ ((along.T @ o.gather(a)) / values[kept])
        moved = np.where(inside, a - o.c * o.scores(pull), a)
        if not np.all(np.isfinite(_conjugates(o, moved))):
            return a
        a = moved
    return a


def _from_slopes(o: Objective, a: Vector) -> float:
    """The bound of the module's formula, or −inf if slopes that balance exactly need not exist nearby."""
    inside = _inside(o, a)
    products = gram(o, np.where(inside, o.c**2, 0.0))
    used = _used(o)
    values = np.linalg.eigvalsh(products[np.ix_(used, used)])
    least = float(values[0]) - NULL * float(values[-1])
    if not least > 0:
        return -math.inf
    off = ROUNDING * math.sqrt(o.rows + o.dimension) * float(np.abs(o.c * a) @ o.lengths)
    e = (norm(o.gather(a)) + off) / math.sqrt(least)
    highest = _conjugates(o, a)
    for side in (-e, e):
        highest = np.where(inside, np.maximum(highest, _conjugates(o, a + side)), highest)
    terms = o.c * highest
    total = math.fsum(terms.tolist()) if np.all(np.isfinite(terms)) else math.inf
    _, size = call(total_conjugate, o.compiled, o.loss, a, o.y, o.c)
    return -total - ROUNDING * (float(np.sum(np.abs(terms))) + size) if total < math.inf else -math.inf


def _used(o: Objective) -> NDArray[np.int64]:
    """Columns that are not 0 throughout the rows that count; squares would be 0 of numbers below 1e-162."""
    rows = as_matrix(o.x)[o.c > 0]
    if hasattr(rows, "indices"):
        return np.unique(rows.indices[rows.data != 0]).astype(np.int64)
    return np.flatnonzero(np.any(rows != 0, axis=0))


def _inside(o: Objective, a: Vector) -> NDArray[np.bool_]:
    """Rows whose slope lies strictly within where ℓ* is finite."""
    far = MARGIN * float(np.max(np.abs(a), initial=0.0))
    return np.isfinite(_conjugates(o, a - far)) & np.isfinite(_conjugates(o, a + far)) & (o.c > 0) & (far > 0)


def _slopes(o: Objective, p: Vector) -> Vector:
    a = np.empty(o.rows)
    call(slopes_at, o.compiled, o.loss, p, o.y, a)
    return a


def _conjugates(o: Objective, a: Vector) -> Vector:
    found = np.empty(o.rows)
    call(conjugates_at, o.compiled, o.loss, a, o.y, found)
    return found


@kernel
def slopes_at(loss: Loss, p: Vector, y: Vector, a: Vector) -> None:
    """a_i = ℓ'(p_i, y_i)"""
    for i in range(p.size):
        a[i] = loss.at(p[i], y[i])[1]


@kernel
def conjugates_at(loss: Loss, a: Vector, y: Vector, found: Vector) -> None:
    """ℓ*(a_i, y_i)"""
    for i in range(a.size):
        found[i] = loss.conjugate(a[i], y[i])
