"""Newton's method over a set, with kinks rounded off less and less.

A kinked loss is replaced by its envelope around the slopes a found so far,

    ℓ_a(p) = max_s [s·p − ℓ*(s) − (μ/2)(s − a)²],

which is smooth, and the slopes of its minimiser are the next a (the proximal point method on the dual; Rockafellar
1976). They are always feasible, so every step yields a bound. Smooth losses need one round with μ = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lowregret.check import call
from lowregret.hindsight.objective import Best, Objective, envelope
from lowregret.hindsight.quadratic import Minimum, in_ball, in_subspace
from lowregret.kernel import kernel
from lowregret.loss import Loss
from lowregret.real import norm
from lowregret.rows import Dense, Rows
from lowregret.state import Vector

DENSE = 600  # coordinates up to which the Hessian is a matrix
STEPS = 500  # Newton steps at most
SOLVED = 0.1
SEARCH, STRAIGHT = 30, 0.1
BLOCK = 1 << 20

Report = Callable[[int, float, float], None]  # steps, value, gap


class Smooth:
    """The smoothed objective at a point: value, slopes, gradient."""

    def __init__(self, o: Objective, u: Vector, p: Vector, a: Vector, mu: float) -> None:
        self.o, self.u, self.p = o, u, p
        self.slopes, self.bends = np.empty(o.rows), np.empty(o.rows)
        total = call(envelope, o.compiled, o.loss, p, o.y, o.c, a, mu, self.slopes, self.bends)
        self.value = float(total) + o.kappa / 2 * float(u @ u)

    def target(self, gradient: Vector, accuracy: float) -> Minimum:
        """The minimiser of the quadratic model in the set."""
        o, u = self.o, self.u
        if o.dimension <= DENSE:
            hessian = gram(o, self.bends)
            hessian[np.diag_indices(o.dimension)] += o.kappa
            return in_ball(hessian, gradient - hessian @ u, o.radius, o.compiled)
        diagonal = np.full(o.dimension, o.kappa)
        call(add_diagonal, o.compiled, o.x, self.bends, diagonal)

        def apply(v: Vector) -> Vector:
            product = o.kappa * v
            call(add_product, o.compiled, o.x, self.bends, v, product)
            return product

        return in_subspace(apply, diagonal, gradient - apply(u), u, o.radius, accuracy, compiled=o.compiled)


def newton(o: Objective, best: Best, a: Vector, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, from its point and the slopes a."""
    u = best.point
    p = o.scores(u)
    global WARM
    WARM = best.gap if math.isfinite(best.gap) else 0
    mu = first_smoothing(o, p) if o.loss.kinked else 0.0
    since, accuracy = 0, 0.1
    for step in range(STEPS):
        here = Smooth(o, u, p, a, mu)
        b = o.gather(here.slopes)
        value, bound = o.value(u, p), o.bound(here.slopes, b)
        best.see(u, value, bound)
        unsolved = float(b @ u) + o.kappa / 2 * float(u @ u) - o.least(b)
        report(step, best.value, best.gap)
        if best.near(tolerance):
            return
        gradient = b + o.kappa * u
        since += 1
        if mu > 0 and unsolved <= SOLVED * (value - bound):
            a, mu = here.slopes, mu / (4 if since <= 6 else 2 if since <= 12 else 1)
            since = 0
            continue
        model = here.target(gradient, accuracy)
        u, p, moved = search(here, model.u, a, mu)
        if moved == 0 and mu == 0:
            return


def search(here: Smooth, target: Vector, a: Vector, mu: float) -> tuple[Vector, Vector, float]:
    """The lowest point on the way to the target, nearly: where the slope along the way has lost most of its size."""
    o, away = here.o, target - here.u
    q = o.scores(target) - here.p
    flat, bend = o.kappa * float(here.u @ away), o.kappa * float(away @ away)

    def slope(share: float) -> tuple[float, float]:
        first, second = call(along, o.compiled, o.loss, here.p, q, o.y, o.c, a, mu, share)
        return first + flat + share * bend, second + bend

    low, high, share = 0.0, 1.0, 1.0
    first, _ = slope(0.0)
    for _ in range(SEARCH):
        now, bent = slope(share)
        if abs(now) <= STRAIGHT * abs(first) or (now < 0 and share == 1.0):
            break
        low, high = (share, high) if now < 0 else (low, share)
        guess = share - now / bent if bent > 0 else math.nan
        share = guess if low + 0.01 * (high - low) < guess < high - 0.01 * (high - low) else (low + high) / 2
    return here.u + share * away, here.p + share * q, share if first < 0 else 0.0


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


def first_smoothing(o: Objective, p: Vector) -> float:
    """The mean loss: as scores go, far enough to see across most kinks."""
    return max(o.value(np.zeros(o.dimension), np.zeros(o.rows)) / float(np.sum(o.c)), 1e-6) if not WARM else WARM/ float(np.sum(o.c))


def gram(o: Objective, weights: Vector) -> Vector:
    """Σ weight_i x_i x_iᵀ: O(Σ nnz_i²)."""
    if isinstance(o.x, Dense):
        total = np.zeros((o.dimension, o.dimension))
        block = max(1, BLOCK // o.dimension)
        for i in range(0, o.rows, block):
            part = o.x.data[i : i + block].astype(np.float64)
            total += (part * weights[i : i + block, None]).T @ part
        return total
    total = np.zeros((o.dimension, o.dimension))
    call(add_gram, o.compiled, o.x, weights, total)
    return np.tril(total) + np.tril(total, -1).T


@kernel
def add_gram(x: Rows, weights: Vector, total: Vector) -> None:
    """total += Σ weight_i x_i x_iᵀ, below the diagonal and on it."""
    for i in range(weights.size):
        if weights[i] != 0.0:
            for k in range(x.begin(i), x.end(i)):
                scaled, row = weights[i] * x.value(i, k), x.column(i, k)
                for m in range(x.begin(i), k + np.uint64(1)):
                    total[row, x.column(i, m)] += scaled * x.value(i, m)


@kernel
def add_product(x: Rows, weights: Vector, v: Vector, product: Vector) -> None:
    """product += Σ weight_i ⟨x_i, v⟩ x_i"""
    for i in range(weights.size):
        if weights[i] != 0.0:
            dot = 0.0
            for k in range(x.begin(i), x.end(i)):
                dot += x.value(i, k) * v[x.column(i, k)]
            dot *= weights[i]
            for k in range(x.begin(i), x.end(i)):
                product[x.column(i, k)] += dot * x.value(i, k)


@kernel
def add_diagonal(x: Rows, weights: Vector, diagonal: Vector) -> None:
    """diagonal += Σ weight_i x_i²"""
    for i in range(weights.size):
        if weights[i] != 0.0:
            for k in range(x.begin(i), x.end(i)):
                diagonal[x.column(i, k)] += weights[i] * x.value(i, k) * x.value(i, k)
