"""Dual coordinate ascent (Hsieh et al. 2008; Shalev-Shwartz & Zhang 2013): slope by slope, O(nnz of its row) each.

With v = Σ c_i a_i x_i the dual in a ball of radius B is D(a) = −Σ c_i ℓ*(a_i) − B‖v‖ (κ = 0), and
B‖v‖ = min_λ ‖v‖²/(2λ) + λB²/2 at λ = ‖v‖/B. For this λ, kept up to date, the best new slope of row i is that of the
envelope of ℓ, μ = c_i‖x_i‖²/λ, around the score of u = −v/λ; and D never falls. With κ > 0, λ = max(κ, ‖v‖/B).
Any larger λ is allowed, too; where the ball is out of reach λ falls step by step, as what it costs becomes visible.
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.check import call
from lowregret.hindsight.objective import Best, Objective, Report, add_row, dot_row
from lowregret.kernel import kernel
from lowregret.loss import Loss
from lowregret.rows import Rows
from lowregret.state import Cells, Vector

SEED = 1
EPOCHS = 5  # times as many rows as there are that are visited between two looks at the gap, at most
IDLE = 2  # visits in which a slope did not change, after which it is left alone until the next look
CALM = 0.1  # share of the largest change at which a look is worth its time
FALL = 4.0  # how fast λ falls while the ball is out of reach
SLACK = 0.3  # and the share of the gap that must be due to that


class Ascent:
    """Slopes a, their v, and which of them still move."""

    def __init__(self, o: Objective, a: Vector) -> None:
        self.o, self.a, self.v = o, a, o.gather(a)
        self.rng = np.random.default_rng(SEED)
        self.idle, self.order = np.zeros(o.rows, np.int8), np.arange(o.rows)
        self.least = max(float(np.median(o.c * o.squares)), o.kappa)  # λ stays above; it falls if that keeps u short

    @property
    def lam(self) -> float:
        return max(self.o.kappa, float(np.linalg.norm(self.v)) / self.o.radius, self.least)

    def climb(self) -> float:
        """Some epochs; returns how many they were in all, counted in rows visited."""
        o, visited, largest = self.o, 0, 0.0
        self.idle[:] = np.where(self.idle >= IDLE, IDLE - 1, 0)
        active = o.rows
        while visited < EPOCHS * o.rows:
            visited += active + o.rows // 50 + 1
            self.rng.shuffle(self.order[:active])
            bounds = o.kappa, o.radius, self.least
            active, moved = call(
                sweep,
                o.compiled,
                o.loss,
                o.x,
                o.y,
                o.c,
                o.squares,
                self.a,
                self.v,
                self.order,
                active,
                self.idle,
                bounds,
            )
            largest = max(largest, moved)
            if active == 0 or moved <= CALM * largest:
                break
        self.v = o.gather(self.a)
        return visited / o.rows

    def relax(self, p: Vector) -> None:
        """Let λ fall; slopes that are free to move are about proportional to it. p are the scores of −v/λ."""
        o, bends = self.o, np.empty(self.o.rows)
        mu = o.c * o.squares / self.lam
        call(bend_at, o.compiled, o.loss, p + mu * self.a, o.y, mu, bends)
        self.least /= FALL
        self.a[bends > 0] /= FALL
        self.v = o.gather(self.a)


def ascend(o: Objective, best: Best, tolerance: float, epochs: int, report: Report) -> Vector:
    """Improve `best` by so many epochs at most, or until it is near; returns the slopes."""
    ascent, done = Ascent(o, np.zeros(o.rows)), 0.0
    while True:
        done += ascent.climb()
        lam = ascent.lam
        u = o.domain.projection(-ascent.v / lam)
        p = o.scores(u)
        value, bound = o.value(u, p), o.bound(ascent.a, ascent.v)
        best.see(u, value, bound)
        report(done, best.value, best.gap)
        if best.near(tolerance) or done >= epochs:
            return ascent.a
        if lam == ascent.least > o.kappa and o.excess(ascent.v, u) > SLACK * (value - bound):
            ascent.relax(p)


@kernel
def bend_at(loss: Loss, p: Vector, y: Vector, mu: Vector, bends: Vector) -> None:
    """The bends of the envelopes."""
    for i in range(p.size):
        _, bends[i] = loss.envelope(p[i], y[i], mu[i])


@kernel
def sweep(
    loss: Loss, x: Rows, y: Vector, c: Vector, squares: Vector, a: Vector, v: Cells,
    order: Vector, active: int, idle: Vector, bounds: tuple[float, float, float],
) -> tuple[int, float]:  # fmt: skip
    """One epoch over the first `active` rows of `order`: how many stay active, and the largest change of a score."""
    kappa, radius, least = bounds
    least, size, moved, k = max(kappa, least), 0.0, 0.0, 0
    for j in range(v.size):
        size += v[j] * v[j]
    lam = max(math.sqrt(size) / radius, least)
    while k < active:
        i = order[k]
        dot = dot_row(x, i, v)
        mu = c[i] * squares[i] / lam
        slope, _ = loss.envelope(mu * a[i] - dot / lam, y[i], mu)
        change = slope - a[i]
        idle[i] = idle[i] + 1 if change == 0.0 else 0
        if idle[i] >= IDLE:
            active -= 1
            order[k], order[active] = order[active], order[k]
            continue
        if change != 0.0:
            a[i], step = slope, c[i] * change
            add_row(x, i, step, v)
            size += step * (2.0 * dot + step * squares[i])
            lam = max(math.sqrt(max(size, 0.0)) / radius, least)
            moved = max(moved, abs(change) * mu)
        k += 1
    return active, moved
