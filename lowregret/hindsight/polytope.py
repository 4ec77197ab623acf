"""Minimising a quadratic function in a box, a simplex or an L1 ball: q(u) = ½uᵀHu + ⟨h, u⟩, H positive semi-definite.

A primal-dual interior-point method (Mehrotra 1992), some 10 to 30 steps however badly H is scaled. Each set is written
with rooms z > 0 and their multipliers w > 0, at the minimum z·w = 0:

    box       z = (u − low, high − u)                           Hu + h − w₁ + w₂ = 0
    simplex   z = u, Σz = total                                 Hu + h + ν − w = 0
    L1 ball   z = (positive part, negative part, rest), u = z₁ − z₂, Σz = radius:   the simplex of twice the size

A step solves two or three systems with H + T, T a positive diagonal: O(d³/3) for a matrix, or O(nnz·n + n³/3) by
Woodbury's identity where H = κI + AᵀA has n rows, n < d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.compile.numerics import norm
from lowregret.domain import Box, Domain, L1Ball, Simplex
from lowregret.hindsight.quadratic import Minimum
from lowregret.types import Vector

STEPS = 60
SHORT = 0.995  # of the way to the boundary
SHIFT = 1e-14  # added to the scaled diagonal: H may be singular
IDLE = 3  # shortest steps in a row after which rounding has the last word
SHORTEST = 1e-6
TINY = 1e-200
REFINED = 2  # times a solution is corrected where much may have cancelled

Map = Callable[[Vector], Vector]
System = Callable[[Vector, Vector], tuple[Vector, float]]  # residuals and pulls ↦ changes of the rooms and of ν


class Bent(Protocol):
    """H, as far as it is needed here."""

    def __call__(self, v: Vector) -> Vector:
        """Hv"""

    def shifted_inverse(self, t: Vector) -> Map:
        """r ↦ (H + diag(t))⁻¹r"""


class Matrix:
    """H as a matrix."""

    def __init__(self, hessian: Vector) -> None:
        self.hessian = hessian

    def __call__(self, v: Vector) -> Vector:
        return np.asarray(self.hessian @ v)

    def shifted_inverse(self, t: Vector) -> Map:
        whole = self.hessian + np.diag(t)
        return _refine(lambda v: np.asarray(whole @ v), _inverse(whole))


class Factored:
    """H = κI + AᵀA with few rows A."""

    def __init__(self, rows: Any, kappa: float) -> None:
        self.rows, self.turned, self.kappa = rows, sp.csr_array(rows.T), kappa

    def __call__(self, v: Vector) -> Vector:
        return np.asarray(self.kappa * v + self.turned @ (self.rows @ v))

    def shifted_inverse(self, t: Vector) -> Map:
        kept, t = t, t + self.kappa
        inner = (self.rows @ sp.csr_array(sp.diags_array(1.0 / t) @ self.turned)).toarray()
        inner[np.diag_indices_from(inner)] += 1.0
        solve = _inverse(inner)
        return _refine(lambda v: self(v) + kept * v, lambda r: (r - self.turned @ solve(self.rows @ (r / t))) / t)


def _refine(product: Map, inverse: Map) -> Map:
    """A more exact inverse of a product, given one that is nearly so."""

    def solve(r: Vector) -> Vector:
        found = inverse(r)
        left = r - product(found)
        for _ in range(REFINED):
            better = found + inverse(left)
            rest = r - product(better)
            if not norm(rest) < norm(left):
                break
            found, left = better, rest
        return found

    return solve


def _inverse(matrix: Vector) -> Map:
    """r ↦ matrix⁻¹r, its diagonal scaled to 1."""
    scale = 1.0 / np.sqrt(np.diagonal(matrix))
    scaled = scale[:, None] * matrix * scale
    scaled[np.diag_indices_from(scaled)] += SHIFT
    factor = la.cho_factor(scaled, lower=True, overwrite_a=True, check_finite=False)
    return lambda r: np.asarray(scale * la.cho_solve(factor, scale * r, check_finite=False))


def in_space(hessian: Vector, gradient: Vector, u: Vector) -> Minimum:
    """argmin of q anywhere, H positive definite, however its coordinates differ in size; given q's gradient at u."""
    found = u + Matrix(hessian).shifted_inverse(np.zeros_like(u))(-gradient)
    return Minimum(found, hessian @ found, 0.0)


class Bounds:
    """The rooms of a box; of coordinates that cannot move there are none."""

    def __init__(self, domain: Box, d: int) -> None:
        self.low, self.high = np.broadcast_to(domain.low, d), np.broadcast_to(domain.high, d)
        self.free = self.high > self.low
        self.width = np.where(self.free, self.high - self.low, 1.0)

    def start(self) -> Vector:
        return np.concatenate([self.width / 2, self.width / 2])

    def point(self, z: Vector) -> Vector:
        low, high = np.split(z, 2)
        return np.where(self.free, np.where(low < high, self.low + low, self.high - high), self.low)

    def point_change(self, change: Vector) -> Vector:
        """The change of u, given that of z."""
        return np.split(change, 2)[0]

    def spread(self, gradient: Vector) -> Vector:
        """A gradient in u where u is free."""
        return np.where(self.free, gradient, 0.0)

    def residual(self, gradient: Vector, w: Vector, nu: float) -> Vector:
        below, above = np.split(w, 2)
        return self.spread(gradient - below + above)

    def system(self, bent: Bent, theta: Vector) -> System:
        below, above = np.split(theta, 2)
        solve = bent.shifted_inverse(np.where(self.free, below + above, 1e200))

        def both(residual: Vector, pull: Vector) -> tuple[Vector, float]:
            low, high = np.split(pull, 2)
            du = self.spread(solve(self.spread(low - high - residual)))
            return np.concatenate([du, -du]), 0.0

        return both


class Shares:
    """The rooms of a simplex, or of an L1 ball if `signed`: parts of a total."""

    def __init__(self, total: float, d: int, signed: bool) -> None:
        self.total, self.d, self.signed = total, d, signed

    def start(self) -> Vector:
        m = 2 * self.d + 1 if self.signed else self.d
        return np.full(m, self.total / m)

    def point(self, z: Vector) -> Vector:
        return z[: self.d] - z[self.d : -1] if self.signed else z

    def point_change(self, change: Vector) -> Vector:
        """The change of u, given that of z."""
        return self.point(change)

    def spread(self, gradient: Vector) -> Vector:
        """The gradient in z that a gradient in u becomes."""
        return np.concatenate([gradient, -gradient, [0.0]]) if self.signed else gradient

    def residual(self, gradient: Vector, w: Vector, nu: float) -> Vector:
        return self.spread(gradient) + nu - w

    def system(self, bent: Bent, theta: Vector) -> System:
        t = 1.0 / (1.0 / theta[: self.d] + 1.0 / theta[self.d : -1]) if self.signed else theta
        solve = bent.shifted_inverse(t)

        def inverse(r: Vector) -> Vector:
            share = self.point(r / theta)
            du = solve(t * share)
            if not self.signed:
                return du
            one, other, rest = np.split(r / theta, [self.d, 2 * self.d])
            pulled = t * (share - du)  # H·du, where less of it is lost to rounding
            one, other = one - pulled / theta[: self.d], other + pulled / theta[self.d : -1]
            first = theta[: self.d] > theta[self.d : -1]  # the larger θ, the less cancels; the other part follows
            return np.concatenate([np.where(first, one, du + other), np.where(first, one - du, other), rest])

        ones = inverse(np.ones_like(theta))

        def both(residual: Vector, pull: Vector) -> tuple[Vector, float]:
            free = inverse(pull - residual)
            nu = np.sum(free) / np.sum(ones)
            return free - nu * ones, float(nu)

        return both


Rooms: TypeAlias = Bounds | Shares


def rooms(domain: Domain, d: int) -> Rooms | None:
    """The rooms of a set that is known here."""
    match domain:
        case Box():
            return Bounds(domain, d)
        case Simplex(total):
            return Shares(total, d, signed=False)
        case L1Ball(radius):
            return Shares(radius, d, signed=True)
    return None


class Model(Protocol):
    """A problem to be minimised, by its rooms and their multipliers, all of them positive."""

    def start(self) -> tuple[Vector, Vector]: ...

    def look(self, room: Vector, push: Vector, nu: float) -> tuple[Vector, bool]:
        """The residual of the conditions of a minimum, and whether it is near enough."""

    def system(self, theta: Vector) -> System:
        """The system to solve in each step, θ the multipliers divided by their rooms."""


class Quadratic:
    """q in a set."""

    def __init__(self, bent: Bent, h: Vector, domain: Domain, inside: Rooms, near: Callable[[Minimum], bool]) -> None:
        self.bent, self.h, self.domain, self.inside, self.near = bent, h, domain, inside, near

    def start(self) -> tuple[Vector, Vector]:
        room = self.inside.start()
        size = float(np.max(np.abs(self.bent(self.inside.point(room)) + self.h)))
        return room, np.full(room.size, max(size, TINY))

    def look(self, room: Vector, push: Vector, nu: float) -> tuple[Vector, bool]:
        u = self.domain.projection(self.inside.point(room))
        self.found = Minimum(u, self.bent(u), 0.0)
        return self.inside.residual(self.found.hu + self.h, push, nu), self.near(self.found)

    def system(self, theta: Vector) -> System:
        return self.inside.system(self.bent, theta)


def in_polytope(bent: Bent, h: Vector, domain: Domain, inside: Rooms, near: Callable[[Minimum], bool]) -> Minimum:
    """argmin of q in the set, until it is near enough or rounding has the last word."""
    model = Quadratic(bent, h, domain, inside, near)
    interior(model)
    return model.found


def interior(model: Model) -> None:
    """Steps inside until the model says that it is near enough, or rounding has the last word."""
    (room, push), nu, idle = model.start(), 0.0, 0
    with np.errstate(all="ignore"):
        residual, near = model.look(room, push, nu)
        for _ in range(STEPS):
            if near or idle >= IDLE:
                return
            try:
                solve = model.system(push / room)
            except la.LinAlgError:
                return
            change, pushed, turned = _direction(solve, room, push, residual)
            share = min(1.0, SHORT * longest_step(room, change), SHORT * longest_step(push, pushed))
            if not share > 0:
                return
            room, push, nu = room + share * change, push + share * pushed, nu + share * turned
            idle = idle + 1 if share < SHORTEST else 0
            residual, near = model.look(room, push, nu)


def _direction(solve: System, room: Vector, push: Vector, residual: Vector) -> tuple[Vector, Vector, float]:
    """A predictor and a corrector: room·push is driven to a target, the lower the further the predictor gets."""

    def towards(target: Vector) -> tuple[Vector, Vector, float]:
        pull = target / room - push
        change, nu = solve(residual, pull)
        return change, pull - push / room * change, nu

    change, pushed, _ = towards(np.zeros_like(room))
    share = min(1.0, longest_step(room, change), longest_step(push, pushed))
    now = float(room @ push)
    then = float((room + share * change) @ (push + share * pushed))
    return towards((then / now) ** 3 * now / room.size - change * pushed)


def longest_step(room: Vector, change: Vector) -> float:
    """The largest t with room + t·change ≥ 0 in every entry; infinite if all grow."""
    return float(np.min(np.divide(room, -change, out=np.full(room.size, np.inf), where=change < 0)))
