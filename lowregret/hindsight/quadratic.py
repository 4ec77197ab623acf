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
from scipy.linalg import lapack

from lowregret.compile.numerics import norm
from lowregret.domain import Domain
from lowregret.types import Vector

BASIS = 8  # directions kept
PRODUCTS = 300  # and tried, at most
DAMPING, TINY = 1e-14, 1e-200  # added to the diagonal of H: the first relative to its trace
ROOTS = 60  # steps to the multiplier, at most
NEAR = 1e-10  # what may be missing from the radius, relative to it
PROJECTIONS = 2000


class Minimum(NamedTuple):
    """The minimiser, and H times it."""

    u: Vector
    hu: Vector
    multiplier: float


def in_ball(hessian: Vector, h: Vector, radius: float, guess: float = 0.0) -> Minimum:
    """argmin of q in the ball; `radius` may be inf. H is bent a little more where it is nearly singular.

    u = −(H + λI)⁻¹h with λ ≥ damping the least that makes ‖u‖ ≤ radius: Newton's method for 1/‖u‖, which is concave, so
    that all steps from below stay there, and the first one from a guess above leads there.
    """
    trace, diagonal = float(np.trace(hessian)), np.diag_indices_from(hessian)
    damping = max(DAMPING * trace, norm(h) / radius - trace, TINY)  # ‖u‖ ≥ ‖h‖/(λ + trace)
    lam = max(guess, damping)
    u, far = np.zeros_like(h), 0.01  # one more try before the multiplier falls as far as it may
    for _ in range(ROOTS):
        shifted = hessian.copy()
        shifted[diagonal] += lam
        factor, failed = lapack.dpotrf(shifted.T, overwrite_a=1)
        if failed:
            lam, damping = 10.0 * lam, 10.0 * lam
            continue
        u, _ = lapack.dpotrs(factor, -h)
        size = math.sqrt(float(u @ u))
        if abs(size - radius) <= NEAR * radius or (size < radius and lam <= damping):
            break
        half, _ = lapack.dtrtrs(factor, u, trans=1)  # ‖half‖², the slope of −‖u‖²/2 in λ
        bend = float(half @ half)
        step = size * size / bend * (size - radius) / radius if bend > 0 else -lam  # u is next to 0
        lam = max(lam + step, far * lam, damping)
        far = 0.0
    u = u * min(1.0, radius / max(norm(u), TINY))
    return Minimum(u, hessian @ u, lam)


def in_subspace(
    apply: Callable[[Vector], Vector],
    diagonal: Vector,
    h: Vector,
    start: Vector,
    radius: float,
    near: Callable[[Minimum], bool],
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
        inner = in_ball(small[:kept, :kept], q @ h, radius)
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
            if not float(away @ (hu - image)) > lipschitz * float(away @ away) * (1 + 1e-12):  # nor if it overflows
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
