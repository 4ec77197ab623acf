"""Bounds that are sums over the coordinates, Σ_j φ_j(u[j]) + constant with convex φ_j, for rules that are so too.

Exact for a single comparator and for boxes. For balls and the simplex φ_j is replaced by its chords from 0, whose sum
is a support function; for other sets by its maximum over the box around them. Both only enlarge the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.certificate.certificate import Premise
from lowregret.certificate.evidence import Evidence
from lowregret.certificate.rounding import over_rounds
from lowregret.domain import Box, L1Ball, L2Ball, LqBall, Point, Simplex
from lowregret.learner.linear import Learner
from lowregret.rule.adagrad import CURVED, GROWN, PULL, PULLED, SQUARES, AdaGrad, Diagonal, Metric
from lowregret.rule.base import WIDEST
from lowregret.rule.ftrl_proximal import FTRLProximal
from lowregret.types import Vector

MOVES = 8.0  # operations by which a weight is moved, and the sums that it is computed from
Summand = Callable[[Any], Vector]  # u ↦ (φ_j(u[j]))_j; a number stands for a vector of it, at a fifth of the cost


def highest(e: Evidence, phi: Summand) -> float:
    """At least max_u Σ_j φ_j(u[j]) over the comparators: O(d)."""
    d = e.dimension
    match e.comparator:
        case Point(u):
            return float(np.sum(phi(u)))
        case L1Ball() | L2Ball() | LqBall() | Simplex():
            r = e.comparator.reach(math.inf, d)
            rest = phi(0.0)
            ends = phi(r)
            if not isinstance(e.comparator, Simplex):
                np.maximum(ends, phi(-r), out=ends)
            ends -= rest  # in place: fresh memory costs more than arithmetic
            slopes = np.maximum(ends, 0.0, out=ends)
            slopes /= r
            return float(np.sum(rest)) + e.comparator.support(slopes)
    low, high = (np.broadcast_to(np.asarray(side, float), d) for side in e.comparator.bounds(d))
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high))):
        return math.inf
    return float(np.sum(np.maximum(phi(low.copy()), phi(high.copy()))))


def columns(e: Evidence) -> Vector:
    """The table of a run, a row for each coordinate."""
    assert e.table is not None
    return e.table.reshape(e.dimension, -1)


# ---- precisions: AdaGrad, diagonal Newton, FTRL-Proximal -----------------------------------------------------------


def of_rule(*rules: type[Any]) -> Callable[[Learner], bool]:
    """Learners with one of these rules."""
    return lambda learner: isinstance(learner.rule, rules)


def has_roots(learner: Learner) -> bool:
    """AdaGrad, projected or not."""
    return isinstance(learner.rule, AdaGrad)


def precisions(e: Evidence) -> float:
    """½Σ_jΣ_t(P_t − P_{t−1})(w_t − u)² + ½Σ_j P_0(w_1 − u)² + ½ΣΣz²/(P_t + l2) + ½·l2·‖u‖² + l1·‖u‖₁"""
    rule = e.learner.rule
    assert isinstance(rule, Metric)
    table, start = columns(e), e.start
    first = rule.precision(0.0)
    l1, l2 = (rule.l1, rule.l2) if isinstance(rule, FTRLProximal) else (0.0, 0.0)
    curvature = _final(rule, table) + l2
    pull = table[:, int(PULL)] + first * start if first > 0 else table[:, int(PULL)]

    def phi(u: Any) -> Vector:
        return (0.5 * u * u) * curvature - u * pull + l1 * np.abs(u)

    rest = float(e.sums[PULLED] + e.sums[CURVED]) + first * float(start @ start)
    return highest(e, phi) + rest / 2


def precision_terms(e: Evidence) -> float:
    """The size of what `precisions` is a difference of, and what rounding each weight once a round adds to it.

    A weight that is off by 3·2⁻⁵³·W, W the largest, adds that times P_t|w_t − u| to ½P_t(w_t − u)², and sums from which
    weights are computed, of size P·W + l1, as much times |w_t − u| each.
    """
    rule = e.learner.rule
    assert isinstance(rule, Metric)
    table, start, widest = columns(e), e.start, float(e.sums[WIDEST])
    first = rule.precision(0.0)
    l1, l2 = (rule.l1, rule.l2) if isinstance(rule, FTRLProximal) else (0.0, 0.0)
    curvature = _final(rule, table) + l2
    pull = np.abs(table[:, int(PULL)]) + first * np.abs(start)
    seen = table[:, int(SQUARES)] > 0

    def once(u: Any) -> Vector:
        return (0.5 * u * u) * curvature + np.abs(u) * (pull + l1)

    def often(u: Any) -> Vector:
        return np.where(seen, MOVES * (widest + np.abs(u)) * (widest * curvature + l1), 0.0)

    kept = float(e.sums[PULLED] + e.sums[CURVED]) + highest(e, often)
    return highest(e, once) + first * float(start @ start) + over_rounds(e, kept)


def _final(rule: Metric, table: Vector) -> Vector:
    """P_T, per coordinate"""
    return rule.precisions(table[:, int(SQUARES)])


def gap(e: Evidence) -> float | None:
    """½Σ_j P_T(w_{T+1} − u)²: what the telescoping sum leaves out, exactly on R^d for a single comparator."""
    rule = e.learner.rule
    if not isinstance(e.comparator, Point) or not isinstance(rule, Diagonal) or math.isfinite(_reach(e)):
        return None
    table = columns(e)
    away = table[:, 1] - e.comparator.u
    return 0.5 * float(np.sum(_final(rule, table) * away * away))


def _reach(e: Evidence) -> float:
    return e.learner.rule.domain.reach(math.inf, e.dimension)


def largest_distance(e: Evidence) -> float:
    """D_∞: a number that no |w_t[j] − u[j]| exceeds where z_t[j] is not 0, the domain's or what was seen."""
    seen = float(e.sums[WIDEST]) + e.comparator.reach(math.inf, e.dimension)
    match e.learner.rule.domain:
        case Box(low, high):
            return min(seen, float(np.max(high - low)))
    return seen


def duchi(e: Evidence) -> float:
    """(D_∞²/2)Σ_j P_T + η²Σ_j(P_T − P_0): D_∞²/(2η)Σ√S + ηΣ√S for P = √S/η"""
    rule = e.learner.rule
    assert isinstance(rule, AdaGrad)
    grown = float(e.sums[GROWN])
    total = grown + rule.precision(0.0) * e.dimension
    across = largest_distance(e)
    return across * (across * total) / 2 + rule.eta * (rule.eta * grown)


def duchi_terms(e: Evidence) -> float:
    """The size of what rounding each weight once a round adds to (D_∞²/2)Σ_j P_T: W·D_∞ΣP_T as often."""
    rule = e.learner.rule
    assert isinstance(rule, AdaGrad)
    total = float(e.sums[GROWN]) + rule.precision(0.0) * e.dimension
    return over_rounds(e, MOVES * float(e.sums[WIDEST]) * (largest_distance(e) * total))


def bounded(e: Evidence) -> tuple[Premise, ...]:
    """The largest distance is an observed number, or one that the domain guarantees."""
    return (Premise("|w_t − u|_∞ ≤ D_∞ < ∞", math.isfinite(largest_distance(e)), largest_distance(e)),)
