"""Losses with one kink on few rows with many coordinates: a primal-dual interior-point method in the rows' products.

ℓ(p) = max(lo·(p − k), hi·(p − k)). With β_i = c_i a_i in [L, H] and v = Σ β_i x_i the dual for a ridge λ is

    D = −⟨k, β⟩ − ‖v‖²/(2λ),   and at its maximum   Xu − k = above − below,   u = −v/λ,

where `below` and `above` are the multipliers of β ≥ L and β ≤ H. Mehrotra's steps (1992) drive (β − L)·below and
(H − β)·above to 0, O(n³/3) each, some 10 to 40 in all, however nearly the rows are separable. If a ball of radius B is
out of reach, λ is what costs a quarter of the gap allowed at most. Else λ moves, too: −B‖v‖ is the largest
−‖v‖²/(2λ) − λB²/2, concave in β and λ together.

Most rows are often beyond their kink, where they lose nothing, and would have slope 0: those far beyond are left out as
long as they stay there. No loss is negative, so a bound without them is a bound with them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.compile.numerics import norm
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.objective import FAR, Incumbent, Objective, Report
from lowregret.hindsight.polytope import longest_step
from lowregret.rows import as_rows
from lowregret.types import Vector

ROWS = 5000  # at most
STEPS = 80
SHORT = 0.995  # of the way to the boundary, of an allowed step or of the ball
SHIFT = 1e-12  # added to the diagonal, relative to it: rows may be equal
WITHIN = 2.0  # times the length of the best point so far: where the minimiser is expected
HALVINGS = 60  # to the best multiple of a point
IDLE = 30  # steps without progress
TINY = 1e-200
SPARE, MANY = 2.0, 0.8  # times as many rows as lose are used, or all beyond this share of them


class Kinks:
    """Where the losses bend, and the slopes on either side, times weights."""

    def __init__(self, o: Objective) -> None:
        labels = o.y.tolist()
        slopes = np.array([(o.loss.at(y - FAR, y)[1], o.loss.at(y + FAR, y)[1]) for y in labels])
        steep = np.where(np.abs(slopes[:, 0]) > np.abs(slopes[:, 1]), slopes[:, 0], slopes[:, 1])
        self.at = np.array([o.loss.conjugate(a, y) / a for a, y in zip(steep.tolist(), labels, strict=True)])
        self.low, self.high = o.c * slopes[:, 0], o.c * slopes[:, 1]

    def beyond(self, p: Vector) -> Vector:
        """How far scores are on the side where nothing is lost; −inf where there is none."""
        return np.where(self.high == 0, p - self.at, np.where(self.low == 0, self.at - p, -math.inf))

    def multiple(self, p: Vector, bend: float, most: float) -> float:
        """The t up to `most` and 2 with the least Σ ℓ(t·p_i) + bend·t²/2: many scores are a rounding before a kink."""
        low, high = 0.0, min(most, 2.0)
        for _ in range(HALVINGS):
            t = (low + high) / 2
            slope = float(np.where(t * p < self.at, self.low, self.high) @ p) + bend * t
            low, high = (t, high) if slope < 0 else (low, t)
        return high


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
    """A point strictly inside: slopes β and a multiplier λ above its least, each with the multipliers of its bounds."""

    def __init__(self, o: Objective, least: float, moves: bool) -> None:
        self.o, self.least, self.kinks, self.moves = o, least, Kinks(o), moves
        matrix = sp.csr_array(as_matrix(o.x), dtype=np.float64)
        self.products = (matrix @ matrix.T).toarray()
        self.shift = SHIFT * np.diagonal(self.products)
        self.beta = (self.kinks.low + self.kinks.high) / 2
        length = math.sqrt(max(float(self.beta @ self.products @ self.beta), 0.0))
        spread = float((self.kinks.high - self.kinks.low) ** 2 @ np.diagonal(self.products)) / 4  # ‖v‖² of random β
        self.lam = max(max(length, math.sqrt(spread)) / o.radius, 2 * least) if self.moves else least
        self.spare = self.lam - least
        if not self.moves and length > 0:
            self.beta *= min(1.0, least / length)
        self.room = self.beta - self.kinks.low, self.kinks.high - self.beta
        self.update()
        product = float(np.median(np.minimum(*self.room)))
        self.below, self.above = product / self.room[0], product / self.room[1]
        self.push = product / self.spare if self.moves else 0.0

    def lower(self, least: float) -> None:
        """Let λ fall to another least."""
        self.lam = self.lam if self.moves else least
        self.least, self.spare = least, self.lam - least

    def update(self) -> None:
        """Bring all that depends on β up to date."""
        self.image = self.products @ self.beta
        self.square = max(float(self.beta @ self.image), 0.0)

    def system(self) -> Callable[[Vector, float], tuple[Vector, float]]:
        """(r, t) ↦ the inverse of the bends of ‖v‖²/(2λ) and of the barrier, in β and λ, times them."""
        bends = self.below / self.room[0] + self.above / self.room[1]
        inner = self.products.copy()
        inner[np.diag_indices_from(inner)] += self.lam * bends + self.shift
        whole = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve(r: Vector) -> Vector:
            return np.asarray(la.cho_solve(whole, self.lam * r, check_finite=False))

        if not self.moves:
            return lambda r, t: (solve(r), 0.0)
        border = self.image / self.lam**2
        bordered = solve(border)
        bend = float((bends * self.beta) @ bordered) / self.lam  # ‖v‖²/λ³ − ⟨border, bordered⟩, which would cancel
        bend = max(bend, 0.0) + self.push / self.spare

        def both(r: Vector, t: float) -> tuple[Vector, float]:
            beta = solve(r)
            lam = (t + float(border @ beta)) / bend
            return beta + lam * bordered, lam

        return both

    def residual(self) -> Vector:
        """The difference of Xu − k and its multipliers, 0 at the maximum."""
        return np.asarray(self.image / self.lam + self.kinks.at - self.below + self.above)

    def is_solved(self, allowed: float) -> bool:
        """Whether D is at its maximum, nearly."""
        error = float(np.sum(np.abs(self.residual()) * (self.kinks.high - self.kinks.low)))
        if self.moves:
            error += self.lam * abs((self.o.radius * self.o.radius - self.square / self.lam**2) / 2 - self.push)
            error += self.push * self.spare
        return float(self.room[0] @ self.below + self.room[1] @ self.above) + error <= allowed

    def step(self) -> None:
        """A predictor, a corrector, and the longest way inside."""
        (under, over), n = self.room, 2 * self.beta.size + self.moves
        residual, solve = self.residual(), self.system()
        slack = (self.o.radius * self.o.radius - self.square / self.lam**2) / 2 if self.moves else 0.0

        def direction(
            low: Vector | float, high: Vector | float, up: float
        ) -> tuple[Vector, Vector, Vector, float, float]:
            one, two = low / under - self.below, high / over - self.above
            pull = up / self.spare if self.moves else 0.0
            beta, lam = solve(-residual + one - two, pull - slack)
            push = pull - self.push - self.push / self.spare * lam if self.moves else 0.0
            return beta, one - self.below / under * beta, two + self.above / over * beta, lam, push

        beta, below, above, lam, push = direction(0.0, 0.0, 0.0)
        share = self.longest(beta, below, above, lam, push)
        now = float(under @ self.below + over @ self.above) + self.spare * self.push
        then = float((under + share * beta) @ (self.below + share * below))
        then += float((over - share * beta) @ (self.above + share * above))
        then += (self.spare + share * lam) * (self.push + share * push)
        target = (then / now) ** 3 * now / n
        beta, below, above, lam, push = direction(target - beta * below, target + beta * above, target - lam * push)
        share = SHORT * self.longest(beta, below, above, lam, push)
        self.beta += share * beta
        self.room = under + share * beta, over - share * beta  # differences of β and its bounds would be rounded to 0
        self.below += share * below
        self.above += share * above
        self.spare += share * lam
        self.lam = self.least + self.spare
        self.push += share * push
        self.update()

    def longest(self, beta: Vector, below: Vector, above: Vector, lam: float, push: float) -> float:
        """The longest step that stays inside, 1 at most."""
        scalars = np.array([self.spare, self.push]), np.array([lam, push])
        slopes = (self.room[0], beta), (self.room[1], -beta), (self.below, below), (self.above, above)
        return min(1.0, *(longest_step(room, change) for room, change in (*slopes, scalars)))


def inside(o: Objective, best: Incumbent, slopes: Vector, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, or as near as it gets: on the rows that matter, as the slopes say."""
    matrix, kinks, used = as_matrix(o.x), Kinks(o), slopes != 0
    beyond = np.where(used, math.inf, kinks.beyond(o.scores(best.point)))
    while not best.near(tolerance):
        more = min(int(SPARE * np.count_nonzero(beyond < 0)), np.count_nonzero(used) or o.rows)
        used[np.argsort(beyond, kind="stable")[:more]] = True
        if np.count_nonzero(used) > MANY * o.rows:
            on_all(o, best, tolerance, report)
            return
        part = replace(o, x=as_rows(matrix[used]), y=o.y[used], c=o.c[used])
        found = best.afresh(best.point)
        on_all(part, found, tolerance / 2, lambda step, *_: report(step, best.value, best.gap))
        p = o.scores(found.point)
        best.see(found.point, o.value(found.point, p), found.bound)
        beyond = np.where(used, math.inf, kinks.beyond(p))
        if not np.any(beyond < 0):
            return


def on_all(o: Objective, best: Incumbent, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, or as near as it gets: without the ball unless that is where the point lies."""
    if norm(best.point) < SHORT * o.radius:
        to_the_end(o, best, tolerance, report, moves=False)
    if not best.near(tolerance) and math.isfinite(o.radius):
        to_the_end(o, best, tolerance, report, moves=True)


def to_the_end(o: Objective, best: Incumbent, tolerance: float, report: Report, moves: bool) -> None:
    """Improve `best` until it is near, or as near as it gets."""
    allowed = tolerance * (1 + max(best.bound, 0.0))
    least = max(o.kappa, allowed / (o.radius * o.radius))  # λ‖u‖(B − ‖u‖) ≤ λB²/4, which is what the bound loses
    reach = min(o.radius, WITHIN * norm(best.point)) if np.any(best.point) else o.radius
    # the value needs less than the bound, and −v/λ is rounding where λ is tiny
    point = Interior(o, max(least, allowed / (reach * reach)), moves)
    gap, idle = math.inf, 0
    for step in range(STEPS):
        slopes = np.clip(point.beta, point.kinks.low, point.kinks.high) / o.c
        v = o.gather(slopes)
        u = o.domain.projection(-v / point.lam)
        p = o.scores(u)
        multiple = point.kinks.multiple(p, o.kappa * float(u @ u), o.radius / max(norm(u), TINY))
        best.see(multiple * u, o.value(multiple * u, multiple * p), o.bound(slopes, v))
        report(step, best.value, best.gap)
        gap, idle = best.gap, 0 if best.gap < gap else idle + 1
        if best.near(tolerance) or idle >= IDLE:
            return
        if point.is_solved(0.01 * allowed):
            if point.least == least:
                return
            point.lower(least)
        try:
            point.step()
        except la.LinAlgError:  # rounding has the last word
            return
