"""Dual coordinate ascent: one slope after the other, O(nnz of its row) each (Hsieh et al. 2008; Shalev-Shwartz & Zhang 2013).

With v = Σ c_i a_i x_i the dual in a ball of radius B is D(a) = −Σ c_i ℓ*(a_i) − B‖v‖ (κ = 0), and
B‖v‖ = min_λ ‖v‖²/(2λ) + λB²/2 at λ = ‖v‖/B. For this λ, kept up to date, the best new slope of row i is that of the
envelope of ℓ, μ = c_i‖x_i‖²/λ, around the score of u = −v/λ; and D never falls. With κ > 0, λ = max(κ, ‖v‖/B).
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.check import call
from lowregret.hindsight.newton import Report
from lowregret.hindsight.objective import Best, Objective
from lowregret.kernel import kernel
from lowregret.loss import Loss
from lowregret.rows import Rows
from lowregret.state import Vector

SEED = 1
EPOCHS = 10  # between two looks at the gap, at most
IDLE = 3  # epochs in which a slope did not change, after which it is left alone until the next look
LEAST = 1e-12  # λ stays above this share of its first value


def ascend(o: Objective, best: Best, a: Vector, tolerance: float, epochs: int, report: Report) -> Vector:
    """Improve `best` by so many epochs at most, or until it is near, from the slopes a; returns the last ones."""
    rng = np.random.default_rng(SEED)
    v = o.gather(a)
    floor = max(float(np.mean(o.c * o.squares)), o.kappa)
    done = 0
    idle, order = np.zeros(o.rows, np.int8), np.arange(o.rows)
    while True:
        active, first = o.rows, 0.0
        idle[:] = 0
        for _ in range(EPOCHS):
            rng.shuffle(order[:active])
            active, moved = call(
                sweep, o.compiled, o.loss, o.x, o.y, o.c, o.squares, a, v, order, active, idle, o.kappa, o.radius, floor
            )
            done += 1
            first = max(first, moved)
            if active == 0 or moved <= 0.1 * first:
                break
        v = o.gather(a)
        size = float(np.linalg.norm(v))
        lam = max(o.kappa, size / o.radius, floor)
        u = o.domain.projection(-v / lam)
        p = o.scores(u)
        value = o.value(u, p)
        bound = o.bound(a, v)
        best.see(u, value, bound)
        report(done, best.value, best.gap)
        if DEBUG: print(done, lam, floor, size/lam, value, bound, value-bound, active)
        if best.near(tolerance) or done >= epochs:
            return a
        if lam == floor > o.kappa:
            slack = size / lam * (o.radius*lam - size)
            if slack > 0.3 * (value - bound):
                floor /= FALL
                slopes, bends = np.empty(o.rows), np.empty(o.rows)
                q = p + o.c * o.squares / lam * a
                call(inside, o.compiled, o.loss, q, o.y, o.c * o.squares / lam, bends)
                a[bends > 0] /= FALL
                v = o.gather(a)


DEBUG = False
FALL = 4.0


@kernel
def inside(loss: Loss, q: Vector, y: Vector, mu: Vector, bends: Vector) -> None:
    for i in range(y.size):
        _, bends[i] = loss.envelope(q[i], y[i], mu[i])


@kernel
def sweep(
    loss: Loss,
    x: Rows,
    y: Vector,
    c: Vector,
    squares: Vector,
    a: Vector,
    v: Vector,
    order: Vector,
    active: int,
    idle: Vector,
    kappa: float,
    radius: float,
    floor: float,
) -> tuple[int, float]:
    """One epoch over the first `active` rows of `order`: how many stay active, and the largest change of a score."""
    size = 0.0
    for j in range(v.size):
        size += v[j] * v[j]
    moved, k = 0.0, 0
    lam = max(max(kappa, math.sqrt(size) / radius), floor)
    while k < active:
        i = order[k]
        dot = 0.0
        for m in range(x.begin(i), x.end(i)):
            dot += x.value(i, m) * v[x.column(i, m)]
        mu = c[i] * squares[i] / lam
        slope, _ = loss.envelope(mu * a[i] - dot / lam, y[i], mu)
        change = slope - a[i]
        if change == 0.0:
            idle[i] += 1
            if idle[i] >= IDLE:
                active -= 1
                order[k], order[active] = order[active], order[k]
                continue
        else:
            idle[i] = 0
            a[i] = slope
            step = c[i] * change
            for m in range(x.begin(i), x.end(i)):
                v[x.column(i, m)] += step * x.value(i, m)
            size += step * (2.0 * dot + step * squares[i])
            lam = max(max(kappa, math.sqrt(max(size, 0.0)) / radius), floor)
            moved = max(moved, abs(change) * mu)
        k += 1
    return active, moved
