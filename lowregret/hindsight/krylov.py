"""The square loss in many coordinates, in an L2 ball or with a ridge: one subspace serves every multiplier.

With rows and labels scaled by the roots of their weights, F(u) = ‖Xu − y‖² + (κ/2)‖u‖². For μ ≥ κ/2 let α solve
(XXᵀ + μI)α = y but for a residual ρ, and u = Xᵀα. The slopes −2μα then have b = −2μu exactly, so that the gap is

    F(u) − D = ‖ρ‖² + e,   e = (v − s)(2μs − (κ/2)(s + v)),   s = ‖u‖,   v = min(2μs/κ, B)  (B if κ = 0),

second order in ρ. e is at most 0 where u leaves the ball of radius B and grows with μ: the largest μ whose e is half of
the gap allowed makes the system as easy as it may be, whether or not the ball is in reach.

Golub and Kahan's process from y (1965) reduces the system to a tridiagonal one for all μ at once: two products with X
a step in one pass over the rows, O(nnz + n + d). The best u and the best bound of its space are each found by itself.
Where that is slow, its answer is the first direction of a subspace that grows by the preconditioned residual of its own
answer (Davidson 1975): two products, O(nk + k³) in its k dimensions; now and then O(nk²) for its best u. Where that is
slow as well, the preconditioner is refined: rows that are alike in blocks. The bound is only
μρᵀ(XXᵀ + μI)⁻¹ρ below the best for its μ, F(u) about ‖ρ‖² above: where μ is small the bound is there long before a u.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.hindsight.objective import Incumbent, Objective, Report, add_row, dot_row
from lowregret.hindsight.precondition import SHIFT, Preconditioner
from lowregret.hindsight.quadratic import orthonormal
from lowregret.rows import Rows
from lowregret.types import Cells, Vector

STEPS = 100  # of the process, at most
MEMORY, LARGEST = 600e6, 600  # bytes and dimensions of the subspace at most
PEEK, LOOK = 1.02, 1.1  # growth of the space between two looks at the gap: of the process, and where they cost more
HALVINGS = 60  # to the multiplier
SINGULAR = 1e-14  # eigenvalues that are nothing, relative to the largest
NOT_FAR = 1e4  # times the room left: where the best u of a space may be near enough though that of its α is not
PATIENCE = 75  # steps before the preconditioner is refined
WIDEST = 1e30  # range of the multiplier, about the mean square of rows
STALE, STAYS = 30.0, 8  # change of μ that needs a new preconditioner, and the steps each is used for at least


class ScaledRows:
    """X and y, and what a multiplier costs."""

    def __init__(self, o: Objective) -> None:
        self.o, self.roots = o, np.sqrt(o.c)
        self.inverse = np.divide(1.0, self.roots, out=np.zeros(o.rows), where=o.c > 0)
        self.y = self.roots * o.y
        self.mean = float(np.mean(o.c * o.squares))

    def forth(self, v: Vector) -> Vector:
        """Xv"""
        return self.roots * self.o.scores(v)

    def back(self, a: Vector) -> Vector:
        """Xᵀa"""
        return self.o.gather(a * self.inverse)

    def there_and_back(self, v: Vector, a: Vector, share: float) -> Vector:
        """a becomes Xv − share·a; returns Xᵀ times that."""
        product = np.zeros(v.size)
        call(through, self.o.compiled, self.o.x, self.roots, v, a, share, product)
        return product

    def cost(self, mu: float, s: float) -> float:
        """e of a u of length s."""
        kappa, radius = self.o.kappa, self.o.radius
        v = min(2 * mu * s / kappa, radius) if kappa > 0 else radius
        return (v - s) * (2 * mu * s - kappa / 2 * (s + v))

    def dual(self, mu: float, s: float, length: float, product: float) -> float:
        """D of the slopes −2μα, given ‖u‖ = s, ‖α‖² and ⟨α, y⟩."""
        return mu * (2 * product - mu * length) - 2 * mu * s * s + self.o.kappa / 2 * s * s - self.cost(mu, s)

    def multiplier(self, squares: Callable[[float], tuple[float, float]], tolerance: float) -> tuple[float, float]:
        """The largest μ that costs half of the gap allowed, and what it leaves for ‖ρ‖²; μ ↦ ‖u‖², ‖α‖² is given."""

        def left(mu: float) -> tuple[float, float]:
            image, length = squares(mu)
            cost = self.cost(mu, math.sqrt(image))
            allowed = tolerance * (1 + mu * mu * length + self.o.kappa / 2 * image)
            return allowed / 2 - cost, allowed - cost

        low, high = max(self.o.kappa / 2, self.mean / WIDEST), max(self.o.kappa, self.mean) * WIDEST
        for _ in range(HALVINGS):
            middle = math.sqrt(low) * math.sqrt(high)
            low, high = (low, middle) if left(middle)[0] < 0 else (middle, high)
        return low, left(low)[1]

    def see(self, best: Incumbent, mu: float, alpha: Vector, primal: Vector) -> None:
        """The true value of Xᵀ times `primal` and the true bound of a dual point, by true products."""
        o = self.o
        u, slopes = o.domain.projection(self.back(primal)), -2.0 * mu * alpha * self.inverse
        best.see(u, o.value(u, o.scores(u)), o.bound(slopes, o.gather(slopes)))


def in_subspaces(o: Objective, best: Incumbent, tolerance: float, report: Report) -> None:
    """Improve `best` for the square loss until it is near, or the subspace is as large as it may be."""
    system = ScaledRows(o)
    if np.any(system.y):
        alpha = process(system, best, tolerance, report)
        if not best.near(tolerance) and alpha is not None:
            expand(system, best, alpha, tolerance, report)


def process(system: ScaledRows, best: Incumbent, tolerance: float, report: Report) -> Vector | None:
    """Golub and Kahan's process: XᵀP = QLᵀ with orthonormal P, Q and a lower bidiagonal L. Returns its last α."""
    most = min(STEPS, system.y.size, system.o.dimension)
    kept, diagonal, below = np.empty((most, system.y.size)), np.empty(most), np.empty(most)
    size = float(np.linalg.norm(system.y))
    left, alpha, due = system.y / size, None, 4.0
    right = system.back(left)
    for k in range(most):
        kept[k] = left
        diagonal[k] = np.linalg.norm(right)
        if diagonal[k] == 0.0:
            return alpha
        right /= diagonal[k]
        image = system.there_and_back(right, left, diagonal[k])
        below[k] = np.linalg.norm(left)
        ended = k + 1 == most or below[k] <= 1e-14 * diagonal[0]
        if not ended:
            left, right = left / below[k], image / below[k] - below[k] * right
        if not ended and k + 1 < due:
            continue
        due, c, pivots = (k + 1) * PEEK, np.empty(k + 1), np.empty(k + 1)

        def squares(mu: float, c: Vector = c, pivots: Vector = pivots) -> tuple[float, float]:
            image, length = call(small, system.o.compiled, diagonal, below, size, mu, pivots, c)
            return float(image), float(length)

        mu, _ = system.multiplier(squares, tolerance)
        square, length = squares(mu)
        value, primal = lowest(diagonal[: k + 1], below[: k + 1], size, system.o.kappa, system.o.radius)
        if ended or value - system.dual(mu, math.sqrt(square), length, size * c[0]) <= tolerance * (1 + value):
            alpha = c @ kept[: k + 1]
            system.see(best, mu, alpha, primal @ kept[: k + 1])
        report(k + 1, best.value, best.gap)
        if ended or best.near(tolerance):
            break
    return alpha


def lowest(diagonal: Vector, below: Vector, size: float, kappa: float, radius: float) -> tuple[float, Vector]:
    """The least F in the space of the process, and the p with Xᵀ(p₁P₁ + p₂P₂ + …) its minimiser: O(k³).

    u = Qz has Xu = PBz, B = L with one more row. The u of the best bound's α is not the best u in the same space, by
    far where the space is small.
    """
    k = diagonal.size
    lower = np.diag(diagonal) + np.diag(below[:-1], -1)
    value, z = shortest(np.vstack([lower, below[-1] * np.eye(1, k, k - 1)]), size * np.eye(1, k + 1)[0], kappa, radius)
    return value, np.asarray(solve_triangular(lower.T, z, lower=False))


def shortest(matrix: Vector, target: Vector, kappa: float, radius: float) -> tuple[float, Vector]:
    """The least ‖Bz − target‖² + (κ/2)‖z‖² with ‖z‖ ≤ radius, and its z."""
    rotated, values, turned = np.linalg.svd(matrix, full_matrices=False)
    parts, square = target @ rotated, float(target @ target)
    low, high = kappa / 2, max(math.sqrt(square) * float(values[0]) / radius, kappa)  # ‖z‖ ≤ ‖Bᵀ target‖/μ

    def shares(mu: float) -> Vector:
        return np.asarray(values * parts / np.maximum(values * values + mu, 1e-300))

    if float(np.linalg.norm(shares(low))) > radius:
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if float(np.linalg.norm(shares(middle))) > radius else (low, middle)
        low = high
    z = shares(low)
    value = square - float(parts @ parts) + float(np.sum((parts - values * z) ** 2)) + kappa / 2 * float(z @ z)
    return value, z @ turned


def expand(system: ScaledRows, best: Incumbent, first: Vector, tolerance: float, report: Report) -> None:
    """The growing subspace, from one direction."""
    space, new = Subspace(system, first.size), first
    preconditioner, inverse, shift, used = Preconditioner(system.o), None, 0.0, 0
    while not space.full and space.add(new):
        mu, alpha, residual, looked = space.answer(tolerance)
        square = float(residual @ residual)
        if square <= space.room:
            system.see(best, mu, alpha, alpha)
        elif space.full or (looked and square <= NOT_FAR * space.room):
            system.see(best, mu, alpha, space.lowest())
        report(space.size, best.value, best.gap)
        if best.near(tolerance):
            return
        used += 1
        slow = space.size >= PATIENCE and preconditioner.refine()
        if inverse is None or slow or (used >= STAYS and not shift / STALE <= mu <= shift * STALE):
            inverse, shift, used = preconditioner.inverse(mu), mu, 0
        new = inverse(residual)


class Subspace:
    """A space of α with an orthonormal basis, XXᵀ times it, and the products of both with it and y."""

    def __init__(self, system: ScaledRows, n: int) -> None:
        self.system, self.size, self.due = system, 0, 0.0
        self.most = int(min(LARGEST, n, max(2.0, MEMORY / 16 / n)))
        self.basis, self.images = np.empty((self.most, n)), np.empty((self.most, n))
        self.inner, self.y = np.empty((self.most, self.most)), np.empty(self.most)
        self.mu = self.room = 0.0

    @property
    def full(self) -> bool:
        return self.size == self.most

    def add(self, new: Vector) -> bool:
        """Add a direction: O(nnz + nk). False if there is nothing new in it."""
        k = self.size
        fresh = orthonormal(new, self.basis[:k])
        if fresh is None:
            return False
        self.basis[k], self.images[k] = fresh, self.system.forth(self.system.back(fresh))
        self.inner[k, : k + 1] = self.inner[: k + 1, k] = self.basis[: k + 1] @ self.images[k]
        self.y[k] = fresh @ self.system.y
        self.size += 1
        return True

    def answer(self, tolerance: float) -> tuple[float, Vector, Vector, bool]:
        """μ, the α of the space, its residual, and whether μ and the room left for ‖ρ‖² are new: now and then."""
        k = self.size
        inner, y = self.inner[:k, :k], self.y[:k]
        singular = self.mu <= SHIFT * float(np.trace(inner))
        looked = singular or k >= self.due or self.full
        if looked:
            self.due = k * LOOK
            self.mu, c, self.room = solve_inner(self.system, inner, y, tolerance)
        else:
            c = cho_solve(cho_factor(inner + self.mu * np.eye(k), check_finite=False), y, check_finite=False)
        alpha = c @ self.basis[:k]
        return self.mu, alpha, self.system.y - c @ self.images[:k] - self.mu * alpha, looked

    def lowest(self) -> Vector:
        """The α of the least F in the space: O(nk² + k³)."""
        k, o = self.size, self.system.o
        values, vectors = np.linalg.eigh(self.inner[:k, :k])
        kept = values > SINGULAR * values[-1]
        turn = vectors[:, kept] / np.sqrt(values[kept])  # Xᵀ times the basis so turned is orthonormal
        triangle: Any = np.linalg.qr(np.column_stack([self.images[:k].T @ turn, self.system.y]), mode="r")
        _, z = shortest(triangle[:, :-1], triangle[:, -1], o.kappa, o.radius)
        return np.asarray((turn @ z) @ self.basis[:k])


def solve_inner(system: ScaledRows, inner: Vector, y: Vector, tolerance: float) -> tuple[float, Vector, float]:
    """μ, (inner + μI)⁻¹y, and the room left for ‖ρ‖²."""
    values, vectors = np.linalg.eigh(inner)
    values, parts = np.maximum(values, 0.0), y @ vectors

    def squares(mu: float) -> tuple[float, float]:
        c = parts / (values + mu)
        return float(values @ (c * c)), float(c @ c)

    mu, room = system.multiplier(squares, tolerance)
    return mu, vectors @ (parts / (values + mu)), room


@kernel
def through(x: Rows, roots: Vector, v: Cells, a: Vector, share: float, product: Cells) -> None:
    """a_i = root_i·⟨x_i, v⟩ − share·a_i, product += Σ root_i a_i x_i: a row is read once for both."""
    for i in range(a.size):
        a[i] = roots[i] * dot_row(x, i, v) - share * a[i]
        add_row(x, i, roots[i] * a[i], product)


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
