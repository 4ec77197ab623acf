"""Dual coordinate ascent (Hsieh et al. 2008; Shalev-Shwartz & Zhang 2013): slope by slope, O(nnz of its row) each.

With v = Σ c_i a_i x_i the dual in a ball of radius B is D(a) = −Σ c_i ℓ*(a_i) − B‖v‖ (κ = 0), and
B‖v‖ = min_λ ‖v‖²/(2λ) + λB²/2 at λ = ‖v‖/B. For this λ, kept up to date, the best new slope of row i is that of the
envelope of ℓ, μ = c_i‖x_i‖²/λ, around the score of u = −v/λ; and D never falls. With κ > 0, λ = max(κ, ‖v‖/B).
Any larger λ is allowed, too; where the ball is out of reach λ falls step by step, as what it costs becomes visible.
Slopes that no longer move are left alone; the rows of the others are copied side by side, which spares the cache. Near
the end a few rows make most of the gain. The possible gain of a slope grows like the square of the time it was left
alone, so one that gained a k-th of what is usual is visited again after √k sweeps.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.hindsight.cluster import Numbers
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.objective import Incumbent, Objective, Report, add_row, dot_row
from lowregret.loss import Loss
from lowregret.rows import Dense, Rows, Sparse
from lowregret.types import Cells, Vector

SEED = 1
EPOCHS = 5  # times as many rows as there are that are visited between two looks at the gap, at most
PAYS = 0.01  # share of the gap that a look may leave if it is to go on beyond the epochs asked for
IDLE = 2  # visits in which a slope did not change, after which it is left alone until the next look
CALM = 0.1  # share of the largest change at which a look is worth its time
COPIED = 0.25  # share of the rows up to which those that move are copied
RESTLESS = 2  # looks before any row may rest
MOST_REST = 10.0  # sweeps from one visit to the next
FALL = 64.0  # how fast λ falls while the ball is out of reach
SLACK = 0.3  # and the share of the gap that must be due to that
FACTOR, PRIME = 48_271, 2**31 - 1  # of Lehmer's random numbers


class Ascent:
    """Slopes a, their v, and which of them still move."""

    def __init__(self, o: Objective, a: Vector) -> None:
        self.o, self.a, self.v = o, a, o.gather(a)
        self.rng, self.climbs = np.random.default_rng(SEED), 0
        self.idle, self.moving = np.zeros(o.rows, np.int8), np.arange(o.rows)
        self.least = max(float(np.median(o.c * o.squares)), o.kappa)  # λ stays above; it falls if that keeps u short

    @property
    def lam(self) -> float:
        return max(self.o.kappa, float(np.linalg.norm(self.v)) / self.o.radius, self.least)

    @cached_property
    def matrix(self) -> Any:
        return as_matrix(self.o.x)

    def climb(self, most: float) -> float:
        """Some epochs; returns how many they were in all, counted in rows visited."""
        o, visited, largest, self.climbs = self.o, 0, 0.0, self.climbs + 1
        self.idle[:] = np.where(self.idle >= IDLE, IDLE - 1, 0)
        piece = Piece(self, self.moving)
        while visited < most * o.rows:
            moved = piece.sweep()
            visited += piece.visited + o.rows // 50 + 1
            largest = max(largest, moved)
            if piece.active == 0 or moved <= CALM * largest:
                break
            if piece.active <= COPIED * piece.dual.order.size:
                piece = Piece(self, piece.put_back())
        piece.put_back()
        self.v = o.gather(self.a)
        return visited / o.rows

    def respond(self, p: Vector) -> NDArray[np.bool_]:
        """Note which slopes would change now, and return which are free to; p are the scores of −v/λ."""
        o, slopes, bends = self.o, np.empty(self.o.rows), np.empty(self.o.rows)
        mu = o.c * o.squares / self.lam
        call(envelopes, o.compiled, o.loss, p + mu * self.a, o.y, mu, slopes, bends)
        self.moving = np.flatnonzero(slopes != self.a)
        return bends > 0

    def relax(self, free: NDArray[np.bool_]) -> None:
        """Let λ fall; slopes that are free to move are about proportional to it."""
        self.least /= FALL
        self.a[free] /= FALL
        self.v = self.o.gather(self.a)
        self.respond(self.o.scores(-self.v / self.lam))


class Dual(Part):
    """Rows, their slopes a, and v = Σ c_i a_i x_i, as the compiled loop reads and changes them."""

    x: Rows
    y: Vector
    c: Vector
    squares: Vector  # ‖x_i‖²
    a: Cells
    v: Cells
    order: Cells  # row numbers: those that still move first
    idle: Cells  # visits in a row that changed nothing
    rest: Cells  # sweeps to wait until the next visit


class Piece:
    """Some rows and of v the columns they have, copied side by side unless the rows are many."""

    def __init__(self, ascent: Ascent, rows: Numbers) -> None:
        self.ascent, self.active, o = ascent, rows.size, ascent.o
        few = rows.size <= COPIED * o.rows
        self.rows: Any = rows if few else slice(None)
        whole: tuple[Rows, Any] = o.x, slice(None)
        x, self.columns = side_by_side(o.x, ascent.matrix, rows) if few else whole
        y, c, squares, a = (column[self.rows] for column in (o.y, o.c, o.squares, ascent.a))
        order = np.arange(rows.size) if few else rows.copy()
        idle, rest = ascent.idle[self.rows], np.zeros(y.size, np.int8)
        self.dual = Dual(x, y, c, squares, a, ascent.v[self.columns], order, idle, rest)
        self.usual, self.visited = 0.0, 0
        self.others = max(float(ascent.v @ ascent.v - self.dual.v @ self.dual.v), 0.0)  # of ‖v‖²

    def sweep(self) -> float:
        """One epoch over the active rows; returns the largest change of a score."""
        ascent, o = self.ascent, self.ascent.o
        bounds = max(o.kappa, ascent.least), o.radius, self.others
        seed = int(ascent.rng.integers(1, PRIME))
        found = call(sweep, o.compiled, o.loss, self.dual, self.active, self.usual, bounds, seed)
        self.active, self.visited, gain, moved = found
        self.usual = gain if ascent.climbs > RESTLESS else 0.0
        return float(moved)

    def put_back(self) -> Numbers:
        """Make the copies' changes known; returns the rows that still move."""
        ascent, dual = self.ascent, self.dual
        ascent.a[self.rows], ascent.idle[self.rows], ascent.v[self.columns] = dual.a, dual.idle, dual.v
        numbers = np.arange(ascent.o.rows)[self.rows]
        return np.sort(numbers[dual.order[: self.active]])


def side_by_side(x: Rows, matrix: Any, rows: Numbers) -> tuple[Rows, Any]:
    """Copies of some rows, without the columns that all of them lack; and the columns kept."""
    if not isinstance(x, Sparse):
        return Dense(matrix[rows]), slice(None)
    part = matrix[rows]
    kept = np.zeros(x.columns, np.bool_)
    kept[part.indices] = True
    numbers = np.cumsum(kept) - 1
    indptr, indices = part.indptr.astype(x.indptr.dtype), numbers[part.indices].astype(x.indices.dtype)
    return Sparse(indptr, indices, part.data, int(numbers[-1]) + 1), np.flatnonzero(kept)


def ascend(o: Objective, best: Incumbent, tolerance: float, epochs: int, report: Report, fall: float = 0.0) -> Vector:
    """Improve `best` until it is near, in `epochs` or, while that pays, in more; returns the slopes.

    Ends as well where λ would have to fall below the share `fall` of what it was at first: the smaller, the slower.
    """
    ascent, done = Ascent(o, np.zeros(o.rows)), 0.0
    lowest = fall * ascent.least
    while True:
        before = best.gap
        done += ascent.climb(min(EPOCHS, epochs)) + 1  # a look is a pass, too
        lam = ascent.lam
        u = o.domain.projection(-ascent.v / lam)
        p = o.scores(u)
        value, bound = o.value(u, p), o.bound(ascent.a, ascent.v)
        best.see(u, value, bound)
        report(done, best.value, best.gap)
        if best.near(tolerance) or (done >= epochs and not best.gap < PAYS * before):
            return ascent.a
        free = ascent.respond(p)
        if lam == ascent.least > o.kappa and o.excess(ascent.v, u) > SLACK * (value - bound):
            if ascent.least <= lowest:
                return ascent.a
            ascent.relax(free)


@kernel
def envelopes(loss: Loss, p: Vector, y: Vector, mu: Vector, slopes: Vector, bends: Vector) -> None:
    """The slopes and bends of the envelopes."""
    for i in range(p.size):
        slopes[i], bends[i] = loss.envelope(p[i], y[i], mu[i])


@kernel
def sweep(
    loss: Loss, dual: Dual, active: int, usual: float, bounds: tuple[float, float, float], seed: int
) -> tuple[int, int, float, float]:
    """One epoch over the first `active` rows of `order`, in random order, but for those at rest.

    `bounds` are the least λ, the radius and the part of ‖v‖² that other rows have. Returns how many rows stay active,
    how many were visited, their mean gain and the largest change of a score.
    """
    least, radius, size = bounds
    for cell in dual.v:
        size += cell * cell
    lam, moved, gains, visited, k = max(math.sqrt(size) / radius, least), 0.0, 0.0, 0, 0
    while k < active:
        seed = seed * FACTOR % PRIME
        i = swap(dual.order, k, k + (seed * (active - k) >> 31))
        if dual.rest[i] > 0:
            dual.rest[i] -= 1
            k += 1
            continue
        visited += 1
        mu = dual.c[i] * dual.squares[i] / lam
        change, growth = climb(loss, dual, i, mu, lam)
        if dual.idle[i] >= IDLE:
            active -= 1
            swap(dual.order, k, active)
            continue
        if change != 0.0:
            size += growth
            lam = max(math.sqrt(max(size, 0.0)) / radius, least)
            moved, gain = max(moved, abs(change) * mu), abs(change * (dual.c[i] * change)) * mu
            gains += gain
            if gain < usual:
                dual.rest[i] = int(min(math.sqrt(usual / gain), MOST_REST)) - 1
        k += 1
    return active, visited, gains / max(visited, 1), moved


def swap(order: Cells, k: int, j: int) -> Any:
    """Exchange two entries; returns the one that is now the k-th."""
    i = order[j]
    order[j], order[k] = order[k], i
    return i


def climb(loss: Loss, dual: Dual, i: int, mu: float, lam: float) -> tuple[float, float]:
    """Give row i its best slope; returns by how much the slope and ‖v‖² grew."""
    dot = dot_row(dual.x, i, dual.v)
    slope, _ = loss.envelope(mu * dual.a[i] - dot / lam, dual.y[i], mu)
    change = slope - dual.a[i]
    if change == 0.0:
        dual.idle[i] += 1
        return 0.0, 0.0
    dual.idle[i], dual.a[i], step = 0, slope, dual.c[i] * change
    add_row(dual.x, i, step, dual.v)
    return change, step * (2.0 * dot + step * dual.squares[i])
