"""The objective minimised in hindsight, with the bound from below that proves how near a point is.

    F(u) = Σ c_i ℓ(⟨u, x_i⟩, y_i) + (κ/2)‖u‖²  on a set U

For any slopes a_i, since ℓ(p) ≥ a·p − ℓ*(a) (Fenchel–Young), with b = Σ c_i a_i x_i:

    min_U F ≥ D(a) = −Σ c_i ℓ*(a_i, y_i) + min_{u∈U} [⟨b, u⟩ + (κ/2)‖u‖²].

The inner minimum is a support function or a projection. However the slopes were found, F(u) − D(a) bounds the error.

Rounding is part of the gap. A sum of n doubles is off by n·2⁻⁵³ of what is summed at worst, and by a few √n·2⁻⁵³ as
roundings fall (Higham and Mary 2019); of scores and of b that is, by Cauchy and Schwarz, at most

    (1e-15)·√(n + d)·Σ c_i|a_i|‖x_i‖·max_U ‖u‖,

more than the worst case up to 80 terms. Losses subtract numbers, too, that may be far larger than what is left, labels
from scores for one: `Loss.offsets` says how large these are. The value that is told of a point is off by what a score
is off times the steepest slope there, `hidden`, and that is part of its gap.

A projection need not be exact either: q(v) = ⟨b, v⟩ + (κ/2)‖v‖² is at least q(u) + ⟨g, v − u⟩ + (κ/2)‖v − u‖² for its
gradient g at any u, so at least q(u) − min(max_{v∈U} ⟨g, u − v⟩, ‖g‖²/(2κ)).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import norm
from lowregret.domain import Domain
from lowregret.loss import Loss
from lowregret.rows import Rows
from lowregret.types import Cells, Vector

Report = Callable[[float, float, float], None]  # is told steps or epochs, the best value and the gap, now and then

FAR = 1e6  # scores at which a loss that is straight but for kinks has its outer slopes
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
    until: float = math.inf  # what time.monotonic() says when the time is over

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        return time.monotonic() > self.until

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
        return float(call(total_loss, self.compiled, self.loss, p, self.y, self.c)) + self.ridge(u)

    def hidden(self, u: Vector, p: Vector) -> float:
        """By how much F(u) as computed from these scores may be off: O(nnz)."""
        off = float(call(total_rounding, self.compiled, self.loss, self.x, u, p, self.y, self.c))
        return off + ROUNDING * self.ridge(u) if off < math.inf else math.inf

    def ridge(self, u: Vector) -> float:
        """(κ/2)‖u‖², where ‖u‖² alone may be too small or too large for a number."""
        return self.kappa * norm(u) / 2 * norm(u) if self.kappa > 0 else 0.0

    def bound(self, a: Vector, b: Vector) -> float:
        """D(a), given b = `gather(a)`, less what rounding may have added: O(n + d)."""
        conjugates, size = call(total_conjugate, self.compiled, self.loss, a, self.y, self.c)
        if not math.isfinite(conjugates):
            return -math.inf
        least = self.least(b)
        return least - conjugates - ROUNDING * (abs(least) + size) - self.blur(a, b)

    def blur(self, a: Vector, b: Vector) -> float:
        """The most that rounding of b may add to the bound, or that of scores to the value."""
        off = ROUNDING * math.sqrt(self.rows + self.dimension) * float(np.abs(self.c * a) @ self.lengths)
        return off * self.reach(norm(b) + off) if off else 0.0

    def least(self, b: Vector) -> float:
        """min_{u∈U} ⟨b, u⟩ + (κ/2)‖u‖², or a little less: O(d), and a projection if κ > 0."""
        if self.kappa == 0.0:
            return -self.domain.support(-b)
        u = self.domain.projection(-b / self.kappa)
        g = b + self.kappa * u
        off = min(float(g @ u) + self.domain.support(-g), norm(g) / self.kappa * norm(g) / 2)
        least = float(b @ u) + self.ridge(u) - max(off, 0.0)
        return least if math.isfinite(least) else -self.domain.support(-b)

    def reach(self, size: float) -> float:
        """A length that no minimiser in U of ⟨b, u⟩ + (κ/2)‖u‖² exceeds, for b of this size: Π_U moves none apart."""
        if self.kappa == 0.0:
            return self.radius
        return min(self.radius, size / self.kappa + 2 * norm(self.domain.projection(np.zeros(self.dimension))))

    def excess(self, b: Vector, u: Vector) -> float:
        """⟨b, u⟩ + (κ/2)‖u‖² above its minimum over U: 0 if u is the best reply to b."""
        return float(b @ u) + self.ridge(u) - self.least(b)

    @cached_property
    def squares(self) -> Vector:
        """‖x_i‖² of all rows."""
        q = np.empty(self.rows)
        call(square, self.compiled, self.x, q)
        return q

    @cached_property
    def lengths(self) -> Vector:
        """‖x_i‖ of all rows."""
        return np.sqrt(self.squares)

    @cached_property
    def steepest(self) -> float:
        """Σ c_i|a_i|‖x_i‖ of the steepest slopes a, which no gradient of the losses exceeds."""
        ends = [abs(self.loss.at(side, y)[1]) for y in self.y.tolist() for side in (y - FAR, y + FAR)]
        return float(self.c * np.max(np.reshape(ends, (-1, 2)), axis=1) @ self.lengths)

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
    until: float = math.inf  # what time.monotonic() says when the time is over
    one: float = 1.0  # a loss of 1 in the units of the values

    def see(self, point: Vector, value: float, bound: float) -> None:
        """Keep what is better; what is not a number is not."""
        if -math.inf < value < self.value and np.all(np.isfinite(point)):
            self.point, self.value = point.copy(), value
        if self.bound < bound < math.inf:
            self.bound = bound

    def afresh(self, point: Vector) -> Incumbent:
        """A point, and nothing known of it."""
        return replace(self, point=point, value=math.inf, bound=-math.inf)

    @property
    def gap(self) -> float:
        return float(max(self.value - self.bound, 0.0))

    def near(self, tolerance: float) -> bool:
        """Whether the gap is at most the tolerance, relative to 1 + |F|, or the time is over."""
        close = math.isfinite(self.value) and self.gap <= tolerance * (self.one + abs(self.value))
        return close or time.monotonic() > self.until


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
    """Σ c_i ℓ*(a_i, y_i), and the sizes of what is summed."""
    total = rest = size = 0.0
    for i in range(a.size):
        value = c[i] * loss.conjugate(a[i], y[i])
        total, rest = add(total, rest, value)
        size += abs(value) + lost(loss, a[i], y[i], c[i])
    return total + rest, size


@kernel
def total_rounding(loss: Loss, x: Rows, u: Cells, p: Vector, y: Vector, c: Vector) -> float:
    """By how much Σ c_i ℓ(p_i, y_i) may be off, where p_i is ⟨u, x_i⟩ as computed."""
    total = 0.0
    for i in range(p.size):
        size = 0.0
        for k in range(x.begin(i), x.end(i)):
            size += abs(x.value(i, k) * u[x.column(i, k)])
        total += off_by(loss, p[i], y[i], c[i], size, float(x.end(i) - x.begin(i)))
    return total


def off_by(loss: Loss, p: float, y: float, c: float, size: float, terms: float) -> float:
    """By how much c·ℓ(p, y) may be off, p a sum of this many terms, of `size` without their signs.

    A score is off by δ at most, and a convex loss then by δ times its steepest slope there.
    """
    off = ROUNDING * math.sqrt(terms + 1.0) * (size + loss.offsets(y)[0])
    value, slope = loss.at(p, y)
    steepest = max(abs(loss.at(p - off, y)[1]), abs(loss.at(p + off, y)[1])) if off > 0.0 else 0.0
    return c * steepest * off + ROUNDING * (lost(loss, slope, y, c) + abs(c * value))


def lost(loss: Loss, a: float, y: float, c: float) -> float:
    """The size of the numbers that cancel in c·ℓ*(a, y), and in c·ℓ where its slope is a."""
    compared, added = loss.offsets(y)
    return c * (abs(a) * compared + added)


def add(total: float, rest: float, term: float) -> tuple[float, float]:
    """Compensated summation (Neumaier): the sum is total + rest."""
    new = total + term
    if abs(total) >= abs(term):
        return new, rest + ((total - new) + term)
    return new, rest + ((term - new) + total)
