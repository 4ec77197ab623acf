"""Smooth losses in many coordinates where the ball's multiplier λ is small: Newton's method while λ falls.

Where most rows can be told apart, the minimiser u(λ) of Σ c_i ℓ + (λ/2)‖u‖² grows like ln(1/λ), and a row's bend h_i is
about λ/‖x_i‖² times its score: λI + Σ h_i x_i x_iᵀ would be easy to invert but for some rows that contradict others,
whose bends are up to 10⁷ times as large. Conjugate gradients, preconditioned by the rows of the largest h_i‖x_i‖² as
they are and by the diagonal E of λI and the others,

    (E + UᵀU)⁻¹ = E⁻¹ − E⁻¹Uᵀ(I + UE⁻¹Uᵀ)⁻¹UE⁻¹   (Woodbury),   rows of U: √h_i·x_i,

then need some 10 products, O(nnz) each, where the diagonal alone needs hundreds. The path is almost straight in ln λ:
from where it leads on, a step or two for each λ are enough, as a residual r of the gradient costs ‖r‖²/(2λ) of the gap.
λ falls until ‖u(λ)‖ is the radius B (a secant in ln λ) or, where B is out of reach, until λ‖u‖(B − ‖u‖) is nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.compile.call import call
from lowregret.compile.numerics import norm
from lowregret.domain import Reals
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.newton import Smooth, add_diagonal
from lowregret.hindsight.objective import Incumbent, Objective, Report
from lowregret.types import Vector

STEPS = 100  # of Newton's method and of λ, at most
PRODUCTS = 200  # of one step, at most
HEAVY = 200  # rows taken as they are
SHIFT = 1e-12  # added to the diagonal of their products, relative to it: rows may be equal
FORCING = 0.2  # share of the gradient that a step may leave
FOLLOWS = 1.0  # times λ‖u‖: the gradient up to which u is on the path, so that λ moves
FALL = 8.0  # how far at most
TINY = 1e-200

Map = Callable[[Vector], Vector]


class PathPoint(NamedTuple):
    """u, its scores, and the ln λ for which it is about the minimiser."""

    u: Vector
    p: Vector
    place: float


class Multiplier:
    """λ, by how much ‖u(λ)‖ grows when ln λ falls by 1, as far as is known, and where the path came from."""

    def __init__(self, o: Objective, start: float) -> None:
        self.o, self.lam, self.rate = o, max(start, o.kappa), 0.0
        self.last: PathPoint | None = None

    def follow(self, u: Vector, p: Vector) -> tuple[Vector, Vector]:
        """Move towards the λ with ‖u(λ)‖ = B, given u and scores of the present one; returns a guess of the next."""
        size, now, last = norm(u), PathPoint(u, p, math.log(self.lam)), self.last
        known = last is not None and now.place != last.place
        if last is not None and known:
            rate = (size - norm(last.u)) / (last.place - now.place)
            self.rate = rate if rate > 0 else self.rate
        missing, self.last = size - self.o.radius, now
        change = missing / self.rate if self.rate > 0 else math.copysign(math.inf, missing)
        self.lam = max(self.lam * FALL ** max(-1.0, min(change / math.log(FALL), 1.0)), self.o.kappa, TINY)
        if last is None or not known:
            return u, p
        share = (math.log(self.lam) - now.place) / (now.place - last.place)
        ahead = u + share * (u - last.u), p + share * (p - last.p)
        ridged = replace(self.o, kappa=self.lam)
        return ahead if ridged.value(*ahead) < ridged.value(u, p) else (u, p)


def follow(o: Objective, best: Incumbent, a: Vector, tolerance: float, report: Report) -> None:
    """Improve `best` until it is near, from its point and the slopes a; or until there is no progress."""
    u, none, corrected = best.point, np.zeros(o.rows), False
    p = o.scores(u)
    start = norm(o.gather(a)) / max(norm(u), TINY)
    multiplier = Multiplier(o, start if np.any(u) and start > 0 else float(np.median(o.c * o.squares)))
    for step in range(STEPS):
        slopes = Smooth(o, u, p, none, 0.0).slopes
        b, size = o.gather(slopes), norm(u)
        share = min(1.0, o.radius / max(size, TINY))
        best.see(share * u, o.value(share * u, share * p), o.bound(slopes, b))
        report(step, best.value, best.gap)
        if best.near(tolerance):
            return
        if corrected and norm(b + multiplier.lam * u) <= FOLLOWS * multiplier.lam * size:
            u, p = multiplier.follow(u, p)
            corrected = False
            continue
        here = Smooth(replace(o, domain=Reals(), kappa=multiplier.lam), u, p, none, 0.0)
        gradient = b + multiplier.lam * u
        target = u + conjugate(here.product, preconditioner(o, here.bends, multiplier.lam), -gradient)
        u, p, corrected = here.search(target, gradient)
        if not corrected:
            return


def preconditioner(o: Objective, bends: Vector, lam: float) -> Map:
    """r ↦ nearly (λI + Σ bend_i x_i x_iᵀ)⁻¹r: with k rows as they are O(nnz + k³/3) once, O(k² + d) each time."""
    weights = bends * o.squares
    heavy = np.sort(np.argsort(-weights, kind="stable")[:HEAVY])
    others, diagonal = bends.copy(), np.full(o.dimension, lam)
    others[heavy] = 0.0
    call(add_diagonal, o.compiled, o.x, others, diagonal)
    rows = sp.csr_array(as_matrix(o.x)[heavy], dtype=np.float64)
    scaled = sp.csr_array(sp.diags_array(np.sqrt(bends[heavy])) @ rows)
    turned = sp.csr_array(sp.diags_array(1.0 / diagonal) @ scaled.T)
    inner = (scaled @ turned).toarray()
    inner[np.diag_indices_from(inner)] += 1.0 + SHIFT * np.diagonal(inner)
    factor = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

    def apply(r: Vector) -> Vector:
        share = la.cho_solve(factor, turned.T @ r, check_finite=False)
        return np.asarray(r / diagonal - turned @ share)

    return apply


def conjugate(product: Map, inverse: Map, r: Vector) -> Vector:
    """Nearly the s with H·s = r, given products with H and nearly with its inverse (Hestenes & Stiefel 1952)."""
    s, enough = np.zeros_like(r), FORCING * norm(r)
    direction = preconditioned = inverse(r)
    length = float(r @ preconditioned)
    for _ in range(PRODUCTS):
        image = product(direction)
        bend = float(direction @ image)
        if not bend > 0:
            break
        share = length / bend
        s, r = s + share * direction, r - share * image
        if norm(r) <= enough:
            break
        preconditioned = inverse(r)
        length, before = float(r @ preconditioned), length
        direction = preconditioned + length / before * direction
    return s
