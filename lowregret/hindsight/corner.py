"""Losses that are straight but for kinks, in a box, a simplex or an L1 ball: one interior-point method for all of it.

A loss is a sum of pieces max(low·(p − k), high·(p − k)) = max β·(p − k) over low ≤ β ≤ high. With β_i times weights,

    Xu − k = above − below,   Xᵀβ + κu + the set's multipliers = 0,

where `below` and `above` are the multipliers of β's bounds. Steps as in `polytope.py`, where β has rooms, too; without
it each is a system with κI + XᵀD⁻¹X + T, D and T positive diagonals. Some 15 to 40 steps, however rows are scaled,
where rounding off the kinks needs to know how far from them scores will be. The β are slopes, so each yields a bound.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from lowregret.compile.numerics import norm
from lowregret.domain import Box
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.newton import DENSE, FEW_ROWS, gram
from lowregret.hindsight.objective import Incumbent, Objective, Report
from lowregret.hindsight.polytope import REFINED, TINY, Bent, Factored, Matrix, Rooms, System, interior, rooms
from lowregret.loss import Hinge, Loss
from lowregret.loss.regression import Residual
from lowregret.loss.wrapped import Affine
from lowregret.types import Vector

HALVINGS = 60  # of the ball's multiplier, of its logarithm
FURTHEST = 1e-20  # share of the largest multiplier below which it is not looked for


def pieces(loss: Loss, y: Vector) -> tuple[Vector, Vector, Vector] | None:
    """(k, low, high) of the pieces, one row of the arrays each; None if the loss is not straight between kinks."""
    slope, offset = 1.0, 0.0
    while isinstance(loss, Affine):
        slope, offset, loss = slope * loss.slope, loss.slope * offset + loss.offset, loss.loss
    if isinstance(loss, Hinge):
        ends = -slope * y, np.zeros_like(y)
        return ((loss.margin * y - offset) / slope)[None], np.minimum(*ends)[None], np.maximum(*ends)[None]
    if not (isinstance(loss, Residual) and loss.kinked):
        return None
    low, high, flat, _ = loss.wedge()
    if flat == 0:
        return y[None], np.full((1, y.size), low), np.full((1, y.size), high)
    none = np.zeros_like(y)
    return np.stack([y - flat, y + flat]), np.stack([none + low, none]), np.stack([none, none + high])


class Corner:
    """F in a set: the set's rooms, then β − low and high − β."""

    def __init__(self, o: Objective, best: Incumbent, tolerance: float, report: Report, inside: Rooms) -> None:
        self.o, self.best, self.tolerance, self.report, self.inside = o, best, tolerance, report, inside
        found = pieces(o.loss, o.y)
        assert found is not None
        self.kinks, low, high = found
        self.low, self.high = o.c * low, o.c * high
        self.first, self.steps = inside.start().size, 0

    def start(self) -> tuple[Vector, Vector]:
        room = self.inside.start()
        half = (self.high - self.low) / 2
        far = np.abs(self.o.scores(self.inside.point(room)) - self.kinks)
        room = np.concatenate([room, half.ravel(), half.ravel()])
        return room, max(float(np.mean(far * half)), TINY) / room

    def slopes(self, room: Vector) -> Vector:
        """β, from the nearer of its bounds."""
        under, over = room[self.first :].reshape(2, *self.low.shape)
        return np.where(under < over, self.low + under, self.high - over)

    def look(self, room: Vector, push: Vector, nu: float) -> tuple[Vector, bool]:
        o, best = self.o, self.best
        u = o.domain.projection(self.inside.point(room[: self.first]))
        p = o.scores(u)
        slopes = np.clip(self.slopes(room), self.low, self.high).sum(axis=0) / o.c
        b = o.gather(slopes)
        best.see(u, o.value(u, p), o.bound(slopes, b))
        self.tell(u, slopes, b)
        self.report(self.steps, best.value, best.gap)
        self.steps += 1
        below, above = push[self.first :].reshape(2, *self.low.shape)
        missed = self.inside.residual(b + o.kappa * u, push[: self.first], nu)
        self.count = missed.size
        return np.concatenate([missed, (p - self.kinks - above + below).ravel()]), best.near(self.tolerance)

    def tell(self, u: Vector, slopes: Vector, b: Vector) -> None:
        """Tell others who can use a point and slopes."""

    def system(self, theta: Vector) -> System:
        o, shape = self.o, self.low.shape
        d = theta[self.first :].reshape(2, *shape).sum(axis=0)
        solve = self.inside.system(self.bent(np.sum(1.0 / d, axis=0)), theta[: self.first])

        def both(residual: Vector, pull: Vector) -> tuple[Vector, float]:
            under, over = pull[self.first :].reshape(2, *shape)
            missed, missing = residual[: self.count], residual[self.count :].reshape(shape) + under - over
            held = pull[: self.first]
            change, nu = solve(missed + self.inside.spread(self.gathered(missing / d)), held)
            beta = (o.scores(self.inside.point_change(change)) + missing) / d
            for _ in range(REFINED):  # what is left of two large numbers is divided by a small d
                gradient = self.gathered(beta) + o.kappa * self.inside.point_change(change)
                wrong = missed + self.inside.residual(gradient, held - theta[: self.first] * change, nu)
                more, turned = solve(wrong, np.zeros(self.first))
                change, nu = change + more, nu + turned
                beta = beta + o.scores(self.inside.point_change(more)) / d
            return np.concatenate([change, beta.ravel(), -beta.ravel()]), nu

        return both

    def gathered(self, beta: Vector) -> Vector:
        """Xᵀβ"""
        return self.o.gather(np.sum(beta, axis=0) / self.o.c)

    def bent(self, weights: Vector) -> Bent:
        """κI + Σ weight_i x_i x_iᵀ"""
        o = self.o
        if o.dimension <= DENSE:
            return Matrix(gram(o, weights) + o.kappa * np.eye(o.dimension))
        rows = sp.csr_array(as_matrix(o.x), dtype=np.float64)
        return Factored(sp.csr_array(sp.diags_array(np.sqrt(weights)) @ rows), o.kappa)


def is_corner(o: Objective) -> bool:
    """Whether this is the method for it."""
    small = o.dimension <= DENSE or o.rows <= FEW_ROWS
    return small and pieces(o.loss, o.y) is not None and rooms(o.domain, o.dimension) is not None


def corner(o: Objective, best: Incumbent, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, or rounding has the last word."""
    inside = rooms(o.domain, o.dimension)
    assert inside is not None
    interior(Corner(o, best, tolerance, report, inside))


class Rounded(Corner):
    """F with a larger ridge in a box, whose points and slopes serve for `whole`, F in a ball or on all of R^d."""

    whole: Objective
    best_of_whole: Incumbent

    def tell(self, u: Vector, slopes: Vector, b: Vector) -> None:
        o = self.whole
        u = o.domain.projection(u)
        self.best_of_whole.see(u, o.value(u, o.scores(u)), o.bound(slopes, b))


def rounded(o: Objective, best: Incumbent, tolerance: float, report: Report) -> None:
    """Improve `best` in an L2 ball, or with κ > 0 on all of R^d, where other methods ended early.

    The minimiser in a ball of radius B is that of F + (λ/2)‖u‖² on all of R^d for some λ ≥ 0, which is looked for by
    halving, and on all of R^d it lies in a box: its length is √(2F(0)/κ) at most, for losses of 0 or more.
    """
    least, most = 0.0, o.steepest / o.radius
    size = o.radius if o.radius < math.inf else 2 * math.sqrt(max(best.value, 0.0) / o.kappa)
    if not (0 < size < math.inf and is_corner(replace(o, domain=Box(-size, size)))):
        return
    lam = 0.0
    for _ in range(HALVINGS):
        boxed = replace(o, domain=Box(-size, size), kappa=o.kappa + lam)
        inside = rooms(boxed.domain, o.dimension)
        assert inside is not None
        found = Rounded(boxed, best.afresh(best.point), tolerance, report, inside)
        found.whole, found.best_of_whole = o, best
        interior(found)
        if best.near(tolerance) or most == 0:
            return
        outside = norm(found.best.point) > o.radius
        least, most = (lam, most) if outside else (least, lam)
        lam = math.sqrt(max(least, most * FURTHEST) * most)
        if not least < lam < most:
            return
