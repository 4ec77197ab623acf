"""Minimising a quadratic function over a set: q(u) = ½uᵀHu + ⟨h, u⟩, H positive semi-definite.

In an L2 ball the minimiser is u = −(H + λI)⁻¹h with λ = 0 or ‖u‖ = radius: one eigendecomposition and a root in λ,
O(d³) (Moré & Sorensen 1983). In many dimensions the same is done in a subspace that grows by the preconditioned
residual of its own answer (Davidson 1975), so that a ball stays a ball.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lowregret.check import call
from lowregret.domain import Domain
from lowregret.kernel import kernel
from lowregret.real import norm
from lowregret.state import Vector

BASIS = 8  # directions kept
PRODUCTS = 300  # and tried, at most
DAMPING, TINY = 1e-14, 1e-200  # added to the diagonal of H: the first relative to its trace
ROOTS = 60  # steps to the multiplier, at most
PROJECTIONS = 2000


class Minimum(NamedTuple):
    """The minimiser, and H times it."""

    u: Vector
    hu: Vector
    multiplier: float


def in_ball(hessian: Vector, h: Vector, radius: float, compiled: bool = True) -> Minimum:
    """argmin of q in the ball; `radius` may be inf. H is bent a little more where it is nearly singular."""
    lower, u, half = np.empty_like(hessian), np.empty_like(h), np.empty_like(h)
    trace = float(np.trace(hessian))
    damping = max(DAMPING * trace, norm(h) / radius - trace, TINY)  # ‖u‖ ≥ ‖h‖/(λ + trace)
    multiplier = call(solve_in_ball, compiled, hessian, h, radius, damping, lower, u, half)
    size = norm(u)
    if size > radius:
        u *= radius / size
    return Minimum(u, hessian @ u, float(multiplier))


@kernel
def solve_in_ball(
    hessian: Vector, h: Vector, radius: float, damping: float, lower: Vector, u: Vector, half: Vector
) -> float:
    """u = −(H + λI)⁻¹h with λ ≥ damping the least that makes ‖u‖ ≤ radius: Newton's method for 1/‖u‖, from below."""
    lam = damping
    for _ in range(ROOTS):
        if not factor(hessian, lam, lower):
            lam = 10.0 * lam
            continue
        size = slope = 0.0
        for i in range(h.size):  # L·half = −h, then Lᵀu = half
            half[i] = (-h[i] - row_dot(lower, i, half)) / lower[i, i]
        for i in range(h.size - 1, -1, -1):
            u[i] = half[i] / lower[i, i]
            for j in range(i):
                half[j] -= lower[i, j] * u[i]
            size += u[i] * u[i]
        if size <= radius * radius * (1.0 + 1e-14):
            break
        for i in range(h.size):  # ‖L⁻¹u‖², the slope of −‖u‖²/2 in λ
            half[i] = (u[i] - row_dot(lower, i, half)) / lower[i, i]
            slope += half[i] * half[i]
        size = math.sqrt(size)
        lam += size * size / slope * (size - radius) / radius
    return lam


def factor(matrix: Vector, shift: float, lower: Vector) -> bool:
    """The Cholesky factor of matrix + shift·I; False if there is none."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            lower[i, j] = (matrix[i, j] - rows_dot(lower, i, j)) / lower[j, j]
        rest = matrix[i, i] + shift - rows_dot(lower, i, i)
        if not rest > 0.0:
            return False
        lower[i, i] = math.sqrt(rest)
    return True


def rows_dot(lower: Vector, i: int, j: int) -> float:
    """Σ_{k<j} L_ik L_jk. Four sums: fast, in an order of addition that never changes."""
    one = two = three = four = 0.0
    k = 0
    while k + 4 <= j:
        one += lower[i, k] * lower[j, k]
        two += lower[i, k + 1] * lower[j, k + 1]
        three += lower[i, k + 2] * lower[j, k + 2]
        four += lower[i, k + 3] * lower[j, k + 3]
        k += 4
    while k < j:
        one += lower[i, k] * lower[j, k]
        k += 1
    return (one + two) + (three + four)


def row_dot(lower: Vector, i: int, v: Vector) -> float:
    """Σ_{k<i} L_ik v_k"""
    total = 0.0
    for k in range(i):
        total += lower[i, k] * v[k]
    return total


def in_subspace(
    apply: Callable[[Vector], Vector],
    diagonal: Vector,
    h: Vector,
    start: Vector,
    radius: float,
    near: Callable[[Minimum], bool],
    compiled: bool = True,
) -> Minimum:
    """Nearly the same, given u ↦ Hu, H's diagonal, a point to start from, and when an answer is near enough.

    Costs a product with H and O(d) for each direction tried. When there is no room for more, the answer and the latest
    change of it stay, which is what conjugate gradients remember.
    """
    basis, images, small = np.empty((BASIS, h.size)), np.empty((BASIS, h.size)), np.empty((BASIS, BASIS))
    kept, new = 0, start if np.any(start) else -h
    found = old = Minimum(np.zeros_like(h), np.zeros_like(h), 0.0)
    for _ in range(PRODUCTS):
        if kept == BASIS:
            kept = _restart(basis, images, small, found, old)
        fresh = orthonormal(new, basis[:kept])
        if fresh is None:
            break
        basis[kept], images[kept] = fresh, apply(fresh)
        kept += 1
        q, hq = basis[:kept], images[:kept]
        small[kept - 1, :kept] = small[:kept, kept - 1] = q @ hq[-1]
        inner = in_ball(small[:kept, :kept].copy(), q @ h, radius, compiled)
        old, found = found, Minimum(inner.u @ q, inner.u @ hq, inner.multiplier)
        if near(found):
            break
        new = found.hu + h + found.multiplier * found.u
        new /= diagonal + found.multiplier + 1e-12 * float(np.max(diagonal))
    return found


def in_set(
    apply: Callable[[Vector], Vector], h: Vector, start: Vector, domain: Domain, near: Callable[[Minimum], bool]
) -> Minimum:
    """Nearly the same in any set that can be projected on: accelerated projected gradients, started afresh where they
    turn back (Beck & Teboulle 2009; O'Donoghue & Candès 2015). A product with H and a projection each.
    """
    lipschitz, momentum = TINY, 1.0
    found = old = Minimum(start, apply(start), 0.0)
    for _ in range(PROJECTIONS):
        following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
        share = (momentum - 1) / following
        at, image = found.u + share * (found.u - old.u), found.hu + share * (found.hu - old.hu)
        gradient = image + h
        lipschitz = max(lipschitz / 1.1, TINY, 1e-12 * norm(gradient) / (1.0 + norm(at)))
        while True:
            u = domain.projection(at - gradient / lipschitz)
            hu, away = apply(u), u - at
            if float(away @ (hu - image)) <= lipschitz * float(away @ away) * (1 + 1e-12) or not np.any(away):
                break
            lipschitz *= 2 if lipschitz > 1e-100 else 1e50
        turned = float((at - u) @ (u - found.u)) > 0
        old, found, momentum = found, Minimum(u, hu, 0.0), 1.0 if turned else following
        if near(found):
            break
    return found


def _restart(basis: Vector, images: Vector, small: Vector, found: Minimum, old: Minimum) -> int:
    """Keep the answer and its latest change, orthonormal."""
    pairs = [(found.u, found.hu), (found.u - old.u, found.hu - old.hu)]
    kept = 0
    for vector, image in pairs:
        for k in range(kept):
            share = float(basis[k] @ vector)
            vector, image = vector - share * basis[k], image - share * images[k]
        size = norm(vector)
        if size > 0.0:
            basis[kept], images[kept] = vector / size, image / size
            kept += 1
    small[:kept, :kept] = basis[:kept] @ images[:kept].T
    return kept


def orthonormal(v: Vector, basis: Vector) -> Vector | None:
    """v's part orthogonal to the basis, of length 1 (twice is enough); None if there is none."""
    for _ in range(2):
        size = norm(v)
        if size == 0.0:
            return None
        v = v / size
        v = v - (basis @ v) @ basis
    size = norm(v)
    return v / size if size > 0.5 else None  # the second time next to nothing is left to take away
