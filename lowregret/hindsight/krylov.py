"""The square loss in many coordinates, in an L2 ball or with a ridge: one Krylov space serves every multiplier.

With rows and labels scaled by the roots of their weights, F(u) = ‖Xu − y‖² + (κ/2)‖u‖². For μ ≥ κ/2 let α solve
(XXᵀ + μI)α = y but for a residual ρ, and u = Xᵀα. The slopes −2μα then have b = −2μu exactly, so that the gap is

    F(u) − D = ‖ρ‖² + e,   e = (v − s)(2μs − (κ/2)(s + v)),   s = ‖u‖,   v = min(2μs/κ, B)  (B if κ = 0),

second order in ρ. e is at most 0 where u leaves the ball of radius B and grows with μ: the largest μ whose e is half of
the gap allowed makes the system as easy as it may be, whether or not the ball is in reach. Golub and Kahan's process
from y (1965) reduces the system to a tridiagonal one for all μ at once: two products with X a step, O(nnz + n + d).
"""

from __future__ import annotations

import math

import numpy as np

from lowregret.check import call
from lowregret.hindsight.objective import Best, Objective, Report
from lowregret.kernel import kernel
from lowregret.state import Vector

MEMORY = 600e6  # bytes of the vectors kept
STEPS = 4000  # at most
LOOK = 1.05  # growth of the space between two looks at the gap
HALVINGS = 60  # to the multiplier
WIDEST = 1e30  # range of the multiplier, about the mean square of L's diagonal


class Space:
    """Orthonormal left vectors (n) and right vectors (d) with XᵀP = QLᵀ, L lower bidiagonal; the shorter ones kept."""

    def __init__(self, o: Objective) -> None:
        self.o, self.roots = o, np.sqrt(o.c)
        self.inverse = np.divide(1.0, self.roots, out=np.zeros(o.rows), where=o.c > 0)
        self.tall = o.rows > o.dimension
        width = min(o.rows, o.dimension)
        self.most = int(min(STEPS, width, max(2.0, MEMORY / 8 / width)))
        self.kept, self.steps = np.empty((self.most, width)), 0
        self.diagonal, self.below = np.empty(self.most), np.empty(self.most)
        self.left, self.right = self.roots * o.y, np.zeros(o.dimension)
        self.size = self._unit(self.left)

    @staticmethod
    def _unit(vector: Vector) -> float:
        """Scale to length 1; returns what it was."""
        size = float(np.linalg.norm(vector))
        if size > 0:
            vector /= size
        return size

    def gather(self, a: Vector) -> Vector:
        """Xᵀa"""
        return self.o.gather(a * self.inverse)

    def grow(self) -> bool:
        """One more pair of vectors; False if there is none, or no room for it."""
        k = self.steps
        if k == self.most or (k and self.below[k - 1] <= 1e-14 * self.diagonal[0]):
            return False
        self.right *= -(self.below[k - 1] if k else 0.0)
        self.right += self.gather(self.left)
        self.diagonal[k] = self._unit(self.right)
        if self.diagonal[k] <= 1e-14 * self.diagonal[0]:
            return False
        self.kept[k] = self.right if self.tall else self.left
        self.left *= -self.diagonal[k]
        self.left += self.roots * self.o.scores(self.right)
        self.below[k] = self._unit(self.left)
        self.steps = k + 1
        return True

    def answer(self, c: Vector) -> tuple[Vector, Vector]:
        """α and u = Xᵀα of the coefficients c, but for rounding μα is known as y − Xu − ρ where the right are kept."""
        k = self.steps
        if not self.tall:
            alpha = c @ self.kept[:k]
            return alpha, self.gather(alpha)
        inner = self.diagonal[:k] * c
        inner[:-1] += self.below[: k - 1] * c[1:]
        return np.empty(0), inner @ self.kept[:k]

    def residual(self, c: Vector) -> Vector:
        """ρ of the coefficients c."""
        k = self.steps - 1
        return -self.diagonal[k] * self.below[k] * c[k] * self.left


def in_krylov_space(o: Objective, best: Best, tolerance: float, report: Report) -> None:
    """Improve `best` for the square loss until it is near, or the vectors fill the memory."""
    space, due = Space(o), 4.0
    growing = space.size > 0
    while growing:
        growing = space.grow()
        if not space.steps or (growing and space.steps < due):
            continue
        due, c = space.steps * LOOK, np.empty(space.steps)
        mu, near = multiplier(space, tolerance, c)
        if near or not growing:
            _see(space, best, mu, c)
        report(space.steps, best.value, best.gap)
        if best.near(tolerance):
            return


def _see(space: Space, best: Best, mu: float, c: Vector) -> None:
    """The true value and the true bound, by true products."""
    o = space.o
    alpha, u = space.answer(c)
    slopes = space.roots * (o.y - o.scores(u)) - space.residual(c) if space.tall else mu * alpha
    slopes *= -2.0 * space.inverse
    u = o.domain.projection(u)
    best.see(u, o.value(u, o.scores(u)), o.bound(slopes, o.gather(slopes)))


def multiplier(space: Space, tolerance: float, c: Vector) -> tuple[float, bool]:
    """The largest μ that costs half of the gap allowed, with its c, and whether all of the gap should be allowed."""
    o, k, pivots = space.o, space.steps, np.empty(space.steps)

    def at(mu: float) -> tuple[float, float, float]:
        squares = call(small, o.compiled, space.diagonal, space.below, space.size, mu, pivots, c)
        s, rho = math.sqrt(squares[0]), space.diagonal[k - 1] * space.below[k - 1] * c[-1]
        v = min(2 * mu * s / o.kappa, o.radius) if o.kappa > 0 else o.radius
        cost = (v - s) * (2 * mu * s - o.kappa / 2 * (s + v))
        return cost, rho * rho, tolerance * (1 + rho * rho + mu * mu * squares[1] + o.kappa / 2 * s * s)

    mean = float(np.mean(space.diagonal[:k] ** 2))
    low, high = max(o.kappa / 2, mean / WIDEST), max(o.kappa, mean) * WIDEST
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        cost, _, allowed = at(middle)
        low, high = (low, middle) if cost > allowed / 2 else (middle, high)
    cost, residual, allowed = at(low)
    return low, cost + residual <= allowed


@kernel
def small(diagonal: Vector, below: Vector, size: float, mu: float, pivots: Vector, c: Vector) -> tuple[float, float]:
    """c = size·(LLᵀ + μI)⁻¹e₁, where nothing cancels; returns ‖Lᵀc‖² and ‖c‖²: O(k)."""
    last = c.size - 1
    rest = mu
    for j in range(c.size):
        if j > 0:
            rest = mu + below[j - 1] * below[j - 1] * (rest / pivots[j - 1])
        pivots[j] = rest + diagonal[j] * diagonal[j]
        c[j] = size if j == 0 else -c[j - 1] * diagonal[j - 1] * below[j - 1] / pivots[j - 1]
    c[last] /= pivots[last]
    image, length = diagonal[last] * c[last], c[last] * c[last]
    image *= image
    for j in range(last - 1, -1, -1):
        c[j] = (c[j] - diagonal[j] * below[j] * c[j + 1]) / pivots[j]
        part = diagonal[j] * c[j] + below[j] * c[j + 1]
        image += part * part
        length += c[j] * c[j]
    return image, length
