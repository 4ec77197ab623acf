"""Certificates of the online Newton step, for losses that curve along their gradients and for those that do not."""

from __future__ import annotations

import math

import numpy as np

from lowregret.certificate.certificate import Premise
from lowregret.certificate.coordinates import MOVES, columns
from lowregret.certificate.evidence import Evidence
from lowregret.certificate.rounding import over_rounds
from lowregret.compile.numerics import squared
from lowregret.domain import Point
from lowregret.loss import Logistic, Loss
from lowregret.rule.base import WIDEST
from lowregret.rule.newton import (
    BROADEST,
    DETERMINED,
    FARTHEST,
    HEAVIEST,
    MATRIX,
    PULL,
    RENEWAL,
    SQUARED,
    STEEPEST_LOSS,
    Newton,
)
from lowregret.state import ENERGY, LINEAR
from lowregret.types import Vector

HALVINGS = 200


def _rule(e: Evidence) -> Newton:
    assert isinstance(e.learner.rule, Newton)
    return e.learner.rule


def curved_bound(e: Evidence) -> float:
    """(γε/2)‖u‖² + (1/2γ)Σz_t'A_t⁻¹z_t"""
    rule = _rule(e)
    return rule.gamma * rule.epsilon / 2 * squared(e.reach) + float(e.sums[DETERMINED]) / (2 * rule.gamma)


def plain_bound(e: Evidence) -> float:
    """`curved_bound` + (γ/2)Σ⟨z_t, w_t − u⟩²: exact for one comparator, else by the largest eigenvalue of Σz_tz_t'."""
    gamma, matrix, pull = _matrices(e)
    match e.comparator:
        case Point(u):
            tilt = float(u @ matrix @ u - 2 * pull @ u)
        case _:
            if not np.all(np.isfinite(matrix)):
                return math.inf
            largest = float(_eigen(matrix)[0][-1])
            tilt = largest * squared(e.reach) + 2 * e.reach * float(np.linalg.norm(pull))
    return curved_bound(e) + gamma / 2 * (tilt + float(e.sums[SQUARED]))


def newton_terms(e: Evidence) -> float:
    """The size of what bounds are a difference of, by Σ‖z_t‖²(‖w_t‖ + ‖u‖)², and what rounding weights and A⁻¹ adds.

    A⁻¹ is off by MOVES·(d + 16)·2⁻⁵³/ε, of its length 1/ε at most, so ⟨AA⁻¹z_t − z_t, w_t − u⟩ by ‖A‖ ≤ ε + Σ‖z_t‖²
    times that, where ‖A‖ hardly exceeds ε once for each row since A was last inverted: what updates by single rows add
    up to is not proved, but was always seen to be less.
    """
    rule, widest = _rule(e), float(e.sums[WIDEST]) * math.sqrt(e.dimension)
    energy = float(e.sums[ENERGY])
    across, since = widest + e.reach, min(e.rounds, max(RENEWAL, e.dimension))
    steps = math.sqrt(e.rounds * energy) * (since + energy / rule.epsilon) * (MOVES * across)
    tilts = rule.gamma * (energy + rule.epsilon) * (MOVES * across * across)
    return steps + over_rounds(e, tilts + float(e.sums[DETERMINED]) / rule.gamma)


def curved_regret(e: Evidence) -> float | None:
    """max_u Σ⟨z_t, w_t − u⟩ − (γ/2)⟨z_t, w_t − u⟩², u in the ball around the comparators: between regret and bound."""
    if e.theta is None:
        return None
    gamma, matrix, pull = _matrices(e)
    lift = e.theta + gamma * pull
    match e.comparator:
        case Point(u):
            height = float(lift @ u - gamma / 2 * (u @ matrix @ u))
        case _:
            height = highest_on_ball(lift, gamma * matrix, e.reach)
    return float(e.sums[LINEAR] - gamma / 2 * e.sums[SQUARED]) + height


def highest_on_ball(b: Vector, q: Vector, radius: float) -> float:
    """max of ⟨b,u⟩ − ½u'Qu over ‖u‖ ≤ radius, Q ≥ 0: at u = (Q + μI)⁻¹b, by its eigenvectors: O(d³)."""
    scale = float(np.max(np.abs(b)))
    if not (math.isfinite(radius * scale) and np.all(np.isfinite(q))):
        return math.inf
    if scale == 0.0:
        return 0.0
    values, vectors = _eigen(q)
    with np.errstate(over="ignore"):
        return radius * scale * _highest(vectors.T @ (b / scale), values * (radius / scale))


def _eigen(q: Vector) -> tuple[Vector, Vector]:
    """The eigenvalues of Q ≥ 0, and the eigenvectors, whatever its units."""
    unit = float(np.max(np.abs(q))) or 1.0
    values, vectors = np.linalg.eigh(q / unit)
    return np.maximum(values, 0.0) * unit, vectors


def _highest(b: Vector, values: Vector) -> float:
    """max of ⟨b,u⟩ − ½Σλu² over ‖u‖ ≤ 1"""
    low, high = 0.0, float(np.linalg.norm(b))
    for _ in range(HALVINGS):
        mu = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            length = float(np.linalg.norm(np.where(b == 0, 0.0, b / (values + mu))))
        low, high = (mu, high) if length > 1.0 else (low, mu)
    # by duality every μ > 0 gives an upper bound, ½Σb²/(λ + μ) + ½μ
    return 0.5 * float(np.sum(b * b / (values + high))) + 0.5 * high


def _matrices(e: Evidence) -> tuple[float, Vector, Vector]:
    """γ, Σz_tz_t' and Σ⟨w_t,z_t⟩z_t"""
    table = columns(e)
    return _rule(e).gamma, table[:, MATRIX : MATRIX + e.dimension], table[:, PULL]


def curved_premise(e: Evidence) -> tuple[Premise, ...]:
    """f_t(u) ≥ f_t(w_t) + ⟨z_t, u − w_t⟩ + (γ/2)⟨z_t, u − w_t⟩² for all u and t."""
    gamma, most = _rule(e).gamma, curvature(e)
    return (Premise(f"losses curve along their gradients, γ = {gamma:.6g} times", gamma <= most, most),)


def curvature(e: Evidence) -> float:
    """The largest γ that the run proves.

    Losses c·ℓ with ℓ σ-strongly convex in the score: σ/max(c·ℓ'²). The logistic loss with margins not below −M is
    α-exp-concave, α = e^{−M}/c, so f(u) ≥ f(w) − ln(1 − αx)/α with x = ⟨z, u − w⟩ ≥ −X, and since (y − ln(1 + y))/y²
    falls with y, γ = 2(αX − ln(1 + αX))/(αX²) will do.
    """
    if not isinstance(e.learner.loss, Loss):  # of structures: a maximum of linear functions
        return 0.0
    if e.learner.loss.curvature > 0:
        steepest = float(e.sums[STEEPEST_LOSS])
        return e.learner.loss.curvature / steepest if steepest > 0 else math.inf
    if not isinstance(e.learner.loss, Logistic):
        return 0.0
    own, theirs = float(e.sums[FARTHEST]), e.reach * math.sqrt(e.sums[BROADEST])
    heaviest = float(columns(e)[0, HEAVIEST])
    if heaviest == 0:
        return math.inf
    alpha = math.exp(-max(own, theirs)) / heaviest
    y = alpha * heaviest * (own + theirs)
    return alpha * (2 * (y - math.log1p(y)) / y**2 if y > 1e-4 else 1 - 2 * y / 3)
