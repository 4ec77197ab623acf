"""The objective minimised in hindsight, with the bound from below that proves how near a point is.

    F(u) = Σ c_i ℓ(⟨u, x_i⟩, y_i) + (κ/2)‖u‖²  on a set U

For any slopes a_i, since ℓ(p) ≥ a·p − ℓ*(a) (Fenchel–Young), with b = Σ c_i a_i x_i:

    min_U F ≥ D(a) = −Σ c_i ℓ*(a_i, y_i) + min_{u∈U} [⟨b, u⟩ + (κ/2)‖u‖²].

The inner minimum is a support function or a projection. However the slopes were found, F(u) − D(a) bounds the error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.domain import Domain
from lowregret.loss import Loss
from lowregret.rows import Rows
from lowregret.types import Cells, Vector

Report = Callable[[float, float, float], None]  # is told steps or epochs, the best value and the gap, now and then

ROUNDING = 1e-15  # of the sums, relative to what is summed; it is added to every gap


@dataclass(eq=False)
class Objective:
    """F on U, its rows in memory."""

    loss: Loss
    x: Rows
    y: Vector
    c: Vector
    domain: Domain
    kappa: float = 0.0
    compiled: bool = True

    @property
    def rows(self) -> int:
        return self.x.shape[0]

    @property
    def dimension(self) -> int:
        return self.x.shape[1]

    def scores(self, u: Vector) -> Vector:
        """⟨u, x_i⟩ of all rows: O(nnz)."""
        p = np.empty(self.rows)
        call(score, self.compiled, self.x, u, p)
        return p

    def gather(self, a: Vector) -> Vector:
        """Σ c_i a_i x_i: O(nnz)."""
        b = np.zeros(self.dimension)
        call(scatter, self.compiled, self.x, self.c, a, b)
        return b

    def value(self, u: Vector, p: Vector) -> float:
        """F(u), given the scores of u: O(n + d)."""
        return float(call(total_loss, self.compiled, self.loss, p, self.y, self.c)) + self.kappa / 2 * float(u @ u)

    def bound(self, a: Vector, b: Vector) -> float:
        """D(a), given b = `gather(a)`, less what rounding may have added: O(n + d)."""
        conjugates, size = call(total_conjugate, self.compiled, self.loss, a, self.y, self.c)
        if not math.isfinite(conjugates):
            return -math.inf
        least = self.least(b)
        return least - conjugates - ROUNDING * (abs(least) + size)

    def least(self, b: Vector) -> float:
        """min_{u∈U} ⟨b, u⟩ + (κ/2)‖u‖²: O(d), and a projection if κ > 0."""
        if self.kappa == 0.0:
            return -self.domain.support(-b)
        u = self.domain.projection(-b / self.kappa)
        return float(b @ u) + self.kappa / 2 * float(u @ u)

    def excess(self, b: Vector, u: Vector) -> float:
        """⟨b, u⟩ + (κ/2)‖u‖² above its minimum over U: 0 if u is the best reply to b."""
        return float(b @ u) + self.kappa / 2 * float(u @ u) - self.least(b)

    @cached_property
    def squares(self) -> Vector:
        """‖x_i‖² of all rows."""
        q = np.empty(self.rows)
        call(square, self.compiled, self.x, q)
        return q

    @cached_property
    def radius(self) -> float:
        """max ‖u‖ over U."""
        return self.domain.reach(2, self.dimension)


@dataclass
class Incumbent:
    """The best point and the best bound so far."""

    point: Vector
    value: float = math.inf
    bound: float = -math.inf

    def see(self, point: Vector, value: float, bound: float) -> None:
        """Keep what is better."""
        if value < self.value:
            self.point, self.value = point.copy(), value
        self.bound = max(self.bound, bound)

    @property
    def gap(self) -> float:
        return float(max(self.value - self.bound, 0.0))

    def near(self, tolerance: float) -> bool:
        """Whether the gap is at most the tolerance, relative to 1 + |F|."""
        return math.isfinite(self.value) and self.gap <= tolerance * (1 + abs(self.value))


def dot_row(x: Rows, i: int, v: Cells) -> float:
    """⟨x_i, v⟩. Two sums: fast, in an order of addition that never changes."""
    one, two = np.uint64(1), np.uint64(2)
    k, end = x.begin(i), x.end(i)
    even = odd = 0.0
    while k + two <= end:
        even += x.value(i, k) * v[x.column(i, k)]
        odd += x.value(i, k + one) * v[x.column(i, k + one)]
        k += two
    if k < end:
        even += x.value(i, k) * v[x.column(i, k)]
    return even + odd


def add_row(x: Rows, i: int, step: float, v: Cells) -> None:
    """v += step·x_i"""
    for k in range(x.begin(i), x.end(i)):
        v[x.column(i, k)] += step * x.value(i, k)


@kernel
def score(x: Rows, u: Cells, p: Vector) -> None:
    """p_i = ⟨u, x_i⟩"""
    for i in range(p.size):
        p[i] = dot_row(x, i, u)


@kernel
def scatter(x: Rows, c: Vector, a: Vector, b: Cells) -> None:
    """b += Σ c_i a_i x_i"""
    for i in range(a.size):
        weight = c[i] * a[i]
        if weight != 0.0:
            add_row(x, i, weight, b)


@kernel
def square(x: Rows, q: Vector) -> None:
    """q_i = ‖x_i‖²"""
    for i in range(q.size):
        total = 0.0
        for k in range(x.begin(i), x.end(i)):
            total += x.value(i, k) * x.value(i, k)
        q[i] = total


@kernel
def total_loss(loss: Loss, p: Vector, y: Vector, c: Vector) -> float:
    """Σ c_i ℓ(p_i, y_i)"""
    total = rest = 0.0
    for i in range(p.size):
        value, _ = loss.at(p[i], y[i])
        total, rest = add(total, rest, c[i] * value)
    return total + rest


@kernel
def total_conjugate(loss: Loss, a: Vector, y: Vector, c: Vector) -> tuple[float, float]:
    """Σ c_i ℓ*(a_i, y_i), and the same of absolute values."""
    total = rest = size = 0.0
    for i in range(a.size):
        value = c[i] * loss.conjugate(a[i], y[i])
        total, rest = add(total, rest, value)
        size += abs(value)
    return total + rest, size


def add(total: float, rest: float, term: float) -> tuple[float, float]:
    """Compensated summation (Neumaier): the sum is total + rest."""
    new = total + term
    if abs(total) >= abs(term):
        return new, rest + ((total - new) + term)
    return new, rest + ((term - new) + total)
