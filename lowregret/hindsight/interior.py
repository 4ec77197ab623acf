"""Losses with one kink on few rows with many coordinates: a primal-dual interior-point method in the rows' products.

ℓ(p) = max(lo·(p − k), hi·(p − k)). With β_i = c_i a_i in [L, H] and v = Σ β_i x_i the dual for a ridge λ is

    D = −⟨k, β⟩ − ‖v‖²/(2λ),   and at its maximum   Xu − k = above − below,   u = −v/λ,

where `below` and `above` are the multipliers of β ≥ L and β ≤ H. Mehrotra's steps (1992) drive (β − L)·below and
(H − β)·above to 0, O(n³/3) each, some 30 in all, however nearly the rows are separable. In a ball that the minimiser
does not reach λ is what costs at most a quarter of the gap allowed; where it would be left, dual ascent does well.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.objective import Best, Objective, Report
from lowregret.state import Vector

ROWS = 5000  # at most
STEPS = 80
INSIDE = 0.1  # share of the interval's middle in the first slopes
SHORT = 0.995  # of the way to the boundary
SHIFT = 1e-12  # added to the diagonal, relative to it: rows may be equal
FAR = 1e6  # scores at which a loss has its outer slopes


class Kinks:
    """Where the losses bend, and the slopes on either side, times weights."""

    def __init__(self, o: Objective) -> None:
        labels = o.y.tolist()
        slopes = np.array([(o.loss.at(y - FAR, y)[1], o.loss.at(y + FAR, y)[1]) for y in labels])
        steep = np.where(np.abs(slopes[:, 0]) > np.abs(slopes[:, 1]), slopes[:, 0], slopes[:, 1])
        self.at = np.array([o.loss.conjugate(a, y) / a for a, y in zip(steep.tolist(), labels, strict=True)])
        self.low, self.high = o.c * slopes[:, 0], o.c * slopes[:, 1]


def has_one_kink(o: Objective) -> bool:
    """Whether all losses are of the form this method is for."""
    if not o.loss.kinked or o.rows > min(ROWS, o.dimension) or not np.all(o.c > 0):
        return False
    for y in np.unique(o.y).tolist():
        low, high = o.loss.at(y - FAR, y)[1], o.loss.at(y + FAR, y)[1]
        steep = low if abs(low) > abs(high) else high
        if not low < high:
            return False
        kink = o.loss.conjugate(steep, y) / steep
        for a in (low, high, 0.7 * low + 0.3 * high):
            if not math.isclose(o.loss.conjugate(a, y), a * kink, rel_tol=1e-9, abs_tol=1e-9):
                return False
    return True


class Interior:
    """A point strictly inside, for one λ."""

    def __init__(self, o: Objective, lam: float) -> None:
        self.o, self.lam, self.kinks = o, lam, Kinks(o)
        matrix = sp.csr_array(as_matrix(o.x), dtype=np.float64)
        self.products = (matrix @ matrix.T).toarray()
        self.shift = SHIFT * np.diagonal(self.products)
        middle = (self.kinks.low + self.kinks.high) / 2
        length = math.sqrt(max(float(middle @ self.products @ middle), 0.0))
        self.beta = middle * min(1.0, lam * min(o.radius, 1.0) / length if length > 0 else 1.0)
        self.update()
        product = float(np.median(np.minimum(*self.room)))
        self.below, self.above = product / self.room[0], product / self.room[1]

    def update(self) -> None:
        """What follows from β."""
        self.image = self.products @ self.beta
        self.room = self.beta - self.kinks.low, self.kinks.high - self.beta

    def system(self) -> Callable[[Vector], Vector]:
        """r ↦ (XXᵀ/λ + the bends of the barrier)⁻¹r"""
        bends = self.below / self.room[0] + self.above / self.room[1]
        inner = self.products.copy()
        inner[np.diag_indices_from(inner)] += self.lam * bends + self.shift
        whole = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)
        return lambda r: np.asarray(la.cho_solve(whole, self.lam * r, check_finite=False))

    def residual(self) -> Vector:
        """What Xu − k and its multipliers differ by."""
        return np.asarray(self.image / self.lam + self.kinks.at - self.below + self.above)

    def solved(self, allowed: float) -> bool:
        """Whether D is at its maximum, nearly, or rounding leaves no room."""
        if float(np.min(self.room)) <= 0.0:
            return True
        error = np.abs(self.residual()) * (self.kinks.high - self.kinks.low)
        return float(self.room[0] @ self.below + self.room[1] @ self.above + np.sum(error)) <= allowed

    def step(self) -> None:
        """A predictor, a corrector, and the longest way inside."""
        (under, over), n = self.room, 2 * self.beta.size
        residual = self.residual()
        solve = self.system()

        def direction(low: Vector | float, high: Vector | float) -> tuple[Vector, Vector, Vector]:
            one, two = low / under - self.below, high / over - self.above
            beta = solve(-residual + one - two)
            return beta, one - self.below / under * beta, two + self.above / over * beta

        beta, below, above = direction(0.0, 0.0)
        share = self.longest(beta, below, above)
        now = float(under @ self.below + over @ self.above)
        then = float((under + share * beta) @ (self.below + share * below))
        then += float((over - share * beta) @ (self.above + share * above))
        target = (then / now) ** 3 * now / n
        beta, below, above = direction(target - beta * below, target + beta * above)
        share = SHORT * self.longest(beta, below, above)
        self.beta += share * beta
        self.below += share * below
        self.above += share * above
        self.update()

    def longest(self, beta: Vector, below: Vector, above: Vector) -> float:
        """The longest step that stays inside, 1 at most."""
        share = 1.0
        for room, change in ((self.room[0], beta), (self.room[1], -beta), (self.below, below), (self.above, above)):
            share = min(share, float(np.min(np.divide(room, -change, out=np.ones(room.size), where=change < 0))))
        return share


def inside(o: Objective, best: Best, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, or as near as it gets without the ball."""
    allowed = tolerance * (1 + max(best.bound, 0.0))
    point = Interior(o, max(o.kappa, allowed / o.radius**2))  # λ‖u‖(B − ‖u‖) ≤ λB²/4
    for step in range(STEPS):
        slopes = np.clip(point.beta, point.kinks.low, point.kinks.high) / o.c
        v = o.gather(slopes)
        u = o.domain.projection(-v / point.lam)
        best.see(u, o.value(u, o.scores(u)), o.bound(slopes, v))
        report(step, best.value, best.gap)
        if best.near(tolerance) or point.solved(0.01 * allowed):
            return
        try:
            point.step()
        except la.LinAlgError:  # rounding has the last word
            return
