"""Newton's method over a set, with kinks rounded off less and less.

A kinked loss is replaced by its envelope around the slopes a found so far,

    ℓ_a(p) = max_s [s·p − ℓ*(s) − (μ/2)(s − a)²],

which is smooth, and the slopes at its minimiser are the next a (the proximal point method on the dual; Rockafellar
1976). They are always feasible, so every step yields a bound. Smooth losses need one round with μ = 0.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import LinAlgError

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import norm
from lowregret.domain import L2Ball, Reals
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.objective import Incumbent, Objective, Report, add_row, dot_row
from lowregret.hindsight.polytope import Bent, Factored, Matrix, in_polytope, in_space, rooms
from lowregret.hindsight.quadratic import Minimum, in_ball, in_set, in_subspace
from lowregret.loss import Loss
from lowregret.rows import Dense, Rows, as_rows
from lowregret.types import Cells, Vector

DENSE = 600  # coordinates up to which the Hessian is a matrix
FEW_ROWS = 2000  # and rows that bend up to which it is one in the rows
STEPS, WIDE_STEPS = 300, 40  # Newton steps at most, where the Hessian is a matrix and where it is not
CLOSER = 1e-3  # share of the error allowed that is left inside a polytope: half-way answers are far from its faces
SOLVED = 0.1  # share of the gap that a round may leave unsolved before μ falls
QUICK, SOME = 6, 12  # steps of a round after which μ falls fast, or slowly
GAIN, FALL = 1e-12, 0.01  # shares of the value and of the gap: a step that gains less than both is idle
IDLE = 10  # such steps in a row are the last
PATIENCE, BLURRED, CRAWL = 25, 5, 0.9  # steps after which less than a share of the gap must be left; if it is rounding
SEARCH, STRAIGHT = 60, 0.1  # points tried along a step, and the share of its slope that may remain
GUESSED = 30  # of them by Newton, then each other halves what is left: down a power of e guesses go but one at a time
BLOCK = 1 << 20  # numbers of a dense block
SAMPLE, SAMPLE_GAP, SEED = 1 / 16, 1e-2, 1  # share of the rows that are tried first, and up to which gap
ENOUGH = 10  # times as many of them as coordinates: what is learnt from fewer is not worth its time


class Smooth:
    """The smoothed objective at a point: value, slopes and bends in the scores."""

    def __init__(self, o: Objective, u: Vector, p: Vector, a: Vector, mu: float) -> None:
        self.o, self.u, self.p, self.a, self.mu = o, u, p, a, mu
        self.slopes, self.bends = np.empty(o.rows), np.empty(o.rows)
        call(smooth, o.compiled, o.loss, p, o.y, o.c, a, mu, self.slopes, self.bends)

    def target(self, gradient: Vector, allowed: float) -> Minimum:
        """The minimiser of the quadratic model in the set; where it is sought step by step, up to the error allowed."""
        o, u = self.o, self.u
        radial = isinstance(o.domain, L2Ball | Reals)
        if o.dimension <= DENSE:
            hessian = gram(o, self.bends)
            hessian[np.diag_indices(o.dimension)] += o.kappa
            if o.kappa > 0 and isinstance(o.domain, Reals):
                with suppress(LinAlgError):
                    return in_space(hessian, gradient, u)
            if radial:
                return in_ball(hessian, gradient - hessian @ u, o.radius, norm(gradient) / o.radius)

            bent: Bent | None = Matrix(hessian)
        else:
            bent = None if radial else self.factored()
        apply = self.product if bent is None else bent
        h = gradient - apply(u)

        def wrong(found: Minimum) -> float:
            return o.excess(found.hu + h - o.kappa * found.u, found.u)

        def near(found: Minimum) -> bool:
            return wrong(found) <= allowed or o.late

        inside = None if radial or bent is None else rooms(o.domain, o.dimension)
        if bent is not None and inside is not None:
            found = in_polytope(bent, h, o.domain, inside, lambda m: self.closer(m, wrong(m), gradient, allowed))
            if wrong(found) <= -float(gradient @ (found.u - u)):
                return found
            return min(found, in_set(apply, h, u, o.domain, near), key=wrong)
        if not radial:
            return in_set(apply, h, u, o.domain, near)
        diagonal = np.full(o.dimension, o.kappa)
        call(add_diagonal, o.compiled, o.x, self.bends, diagonal)
        return in_subspace(apply, diagonal, h, u, o.radius, near)

    def closer(self, found: Minimum, wrong: float, gradient: Vector, allowed: float) -> bool:
        """Whether the model falls by more than is wrong with its minimiser, which in a large set may be little."""
        near = wrong <= CLOSER * allowed and wrong <= -float(gradient @ (found.u - self.u))
        return near or self.o.late

    def factored(self) -> Factored | None:
        """The Hessian, if few rows bend."""
        bent = np.flatnonzero(self.bends)
        if bent.size > FEW_ROWS:
            return None
        rows = sp.csr_array(as_matrix(self.o.x)[bent], dtype=np.float64)
        return Factored(sp.csr_array(sp.diags_array(np.sqrt(self.bends[bent])) @ rows), self.o.kappa)

    def product(self, v: Vector) -> Vector:
        """The Hessian times v: a row is read once for both products with it."""
        product = self.o.kappa * v
        call(add_product, self.o.compiled, self.o.x, self.bends, v, product)
        return product

    def search(self, target: Vector, gradient: Vector) -> tuple[Vector, Vector, bool]:
        """The lowest point on the way to the target, nearly: where little is left of the slope; its scores; if any."""
        o, away = self.o, target - self.u
        q = o.scores(target) - self.p
        flat, bend = o.kappa * float(self.u @ away), o.kappa * float(away @ away)

        def slope(share: float) -> tuple[float, float]:
            first, second = call(along, o.compiled, o.loss, self.p, q, o.y, o.c, self.a, self.mu, share)
            return first + flat + share * bend, second + bend

        low, high, share = 0.0, 1.0, 1.0
        first = float(gradient @ away)  # what is left of many slopes, so less is lost to rounding than with q
        if not first < 0:
            return self.u, self.p, False
        for tried in range(1, SEARCH + 1):
            now, bent = slope(share)
            if abs(now) <= STRAIGHT * abs(first) or (now < 0 and share == 1.0):
                break
            low, high = (share, high) if now < 0 else (low, share)
            if tried == SEARCH:
                share = low or share  # F falls up to there
                break
            guess = share - now / bent if 0 < bent < math.inf and (tried < GUESSED or tried % 2) else math.nan
            share = guess if low + 0.01 * (high - low) < guess < high - 0.01 * (high - low) else (low + high) / 2
        there = self.u + share * away
        return there, self.p + share * q, bool(np.any(there != self.u))


def newton(
    o: Objective, best: Incumbent, a: Vector, tolerance: float, report: Report, start: Vector | None = None
) -> None:
    """Improve `best` until it is near, from a point, its own unless another is given, and the slopes a."""
    u = best.point if start is None else start
    p = o.scores(u) if np.any(u) else np.zeros(o.rows)
    mu = first_smoothing(o, best.gap) if o.loss.kinked else 0.0
    since, idle, looked = 0, 0, math.nan
    for step in range(STEPS if o.dimension <= DENSE else WIDE_STEPS):
        here = Smooth(o, u, p, a, mu)
        b = o.gather(here.slopes)
        value, bound, unsolved = o.value(u, p), o.bound(here.slopes, b), o.excess(b, u)
        enough, less = best.value - GAIN * abs(best.value), (1 - FALL) * best.gap
        best.see(u, value, bound)
        report(step, best.value, best.gap)
        idle = 0 if mu > 0 or value < enough or best.gap < less else idle + 1
        look = step % (PATIENCE if o.blur(here.slopes, b) < best.gap else BLURRED) == 0
        if best.near(tolerance) or idle >= IDLE or (look and best.gap >= CRAWL * looked):
            return
        looked = best.gap if look else looked
        since += 1
        moved = False
        missing = value - bound if math.isfinite(value) else 0.0
        if mu == 0 or unsolved > SOLVED * missing:
            gradient = b + o.kappa * u
            size = abs(best.value) if math.isfinite(best.value) else 0.0
            model = here.target(gradient, max(0.1 * unsolved, 0.3 * tolerance * (1 + size)))
            u, p, moved = here.search(model.u, gradient)
        if not moved:
            if mu == 0:
                return
            a, mu, since = here.slopes, mu / (4 if since <= QUICK else 2 if since <= SOME else 1), 0


def start_on_sample(o: Objective, start: Vector) -> Vector:
    """Where the method comes to on a few of the rows, which cost a few steps less on all of them; or the start."""
    chosen = np.flatnonzero(np.random.default_rng(SEED).random(o.rows) < SAMPLE)
    if chosen.size < ENOUGH * o.dimension:
        return start
    x = as_rows(as_matrix(o.x)[chosen])
    part = replace(o, x=x, y=o.y[chosen], c=o.c[chosen], kappa=SAMPLE * o.kappa)
    found = Incumbent(start, until=o.until)
    newton(part, found, np.zeros(chosen.size), SAMPLE_GAP, lambda *_: None)
    return found.point


def first_smoothing(o: Objective, gap: float) -> float:
    """How far scores are from kinks: about the mean loss at 0, if there is one; a tenth of it where a is near."""
    total = float(np.sum(o.c))
    zero = o.value(np.zeros(o.dimension), np.zeros(o.rows)) / total
    return max(min(zero, max(10 * gap / total, 0.1 * zero)), 1e-6) if math.isfinite(zero) else 1.0


@kernel
def smooth(loss: Loss, p: Vector, y: Vector, c: Vector, a: Vector, mu: float, slopes: Vector, bends: Vector) -> None:
    """Slopes and bends in p_i of Σ c_i ℓ_a(p_i), the bends times c_i."""
    for i in range(p.size):
        slopes[i], bend = loss.envelope(p[i] + mu * a[i], y[i], mu)
        bends[i] = c[i] * bend


@kernel
def along(
    loss: Loss, p: Vector, q: Vector, y: Vector, c: Vector, a: Vector, mu: float, share: float
) -> tuple[float, float]:
    """The first two derivatives in `share` of the smoothed loss at the scores p + share·q."""
    first = second = 0.0
    for i in range(p.size):
        slope, bend = loss.envelope(p[i] + share * q[i] + mu * a[i], y[i], mu)
        first += c[i] * slope * q[i]
        second += c[i] * bend * q[i] * q[i]
    return first, second


def gram(o: Objective, weights: Vector) -> Vector:
    """Σ weight_i x_i x_iᵀ: O(Σ nnz_i²)."""
    total = np.zeros((o.dimension, o.dimension))
    if isinstance(o.x, Dense):
        block = max(1, BLOCK // o.dimension)
        for i in range(0, o.rows, block):
            part = o.x.data[i : i + block].astype(np.float64)
            total += (part * weights[i : i + block, None]).T @ part
        return total
    call(add_gram, o.compiled, o.x, weights, total)
    return np.tril(total) + np.tril(total, -1).T


@kernel
def add_gram(x: Rows, weights: Vector, total: Vector) -> None:
    """total += Σ weight_i x_i x_iᵀ, below the diagonal and on it; the columns of a row ascend."""
    for i in range(weights.size):
        if weights[i] != 0.0:
            for k in range(x.begin(i), x.end(i)):
                scaled, row = weights[i] * x.value(i, k), x.column(i, k)
                for m in range(x.begin(i), k + np.uint64(1)):
                    total[row, x.column(i, m)] += scaled * x.value(i, m)


@kernel
def add_product(x: Rows, weights: Vector, v: Cells, product: Cells) -> None:
    """product += Σ weight_i ⟨x_i, v⟩ x_i"""
    for i in range(weights.size):
        if weights[i] != 0.0:
            add_row(x, i, weights[i] * dot_row(x, i, v), product)


@kernel
def add_diagonal(x: Rows, weights: Vector, diagonal: Vector) -> None:
    """diagonal += Σ weight_i x_i²"""
    for i in range(weights.size):
        if weights[i] != 0.0:
            for k in range(x.begin(i), x.end(i)):
                diagonal[x.column(i, k)] += weights[i] * x.value(i, k) * x.value(i, k)
