"""What the wealth of a bettor says about his regret: sup_x (|u|x − F(x)), coordinate by coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammaln, psi

from lowregret.certificate.certificate import Premise
from lowregret.certificate.coordinates import columns, highest
from lowregret.certificate.evidence import Evidence
from lowregret.rule.betting import (
    COUNT,
    EXCESS,
    FIRST,
    HIGHEST,
    KT,
    SQUARES,
    STEEPEST,
    FreeGrad,
)
from lowregret.state import Vector

HALVINGS = 60
Potential = Callable[[Vector], tuple[Vector, Vector]]  # x ≥ 0 ↦ (ln F(x), its derivative), F convex


def conjugate(u: Vector, log_potential: Potential, end: Vector) -> Vector:
    """sup of |u|x − F(x) over 0 ≤ x ≤ end, F convex and growing: O(d)."""
    with np.errstate(divide="ignore"):
        target = np.log(np.abs(u))
        low, high = np.zeros_like(end), end.copy()
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            value, slope = log_potential(middle)
            short = value + np.log(slope) < target
            low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.maximum(_height(u, log_potential, low), _height(u, log_potential, high))


def _height(u: Vector, log_potential: Potential, x: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return np.abs(u) * x - np.exp(log_potential(x)[0])


# ---- Krichevsky–Trofimov -------------------------------------------------------------------------------------------


def kt_conjugate(u: Vector, n: Vector, wealth: float) -> Vector:
    """sup of |u|x − F(x), F(x) = ε·2ⁿ·Γ((n+1+x)/2)·Γ((n+1−x)/2)/(π·n!), |x| ≤ n"""
    flat = math.log(wealth / math.pi) + n * math.log(2.0) - gammaln(n + 1.0)

    def log_potential(x: Vector) -> tuple[Vector, Vector]:
        up, down = (n + 1.0 + x) / 2, (n + 1.0 - x) / 2
        return flat + gammaln(up) + gammaln(down), (psi(up) - psi(down)) / 2

    return conjugate(u, log_potential, n)


def _kt(e: Evidence) -> KT:
    assert isinstance(e.learner.rule, KT)
    return e.learner.rule


def kt_exact(e: Evidence) -> float:
    """L·Σ_j(ε + F*(u))"""
    rule, n = _kt(e), np.ascontiguousarray(columns(e)[:, int(COUNT)])
    return rule.limit * highest(e, lambda u: rule.wealth + kt_conjugate(u, n, rule.wealth))


def kt_closed(e: Evidence) -> float:
    """L·Σ_j(|u|√(n·ln(1 + 24n²u²/ε²)) + ε(1 − 1/(e√(πn)))), coordinates without a coin left out"""
    rule, n = _kt(e), columns(e)[:, int(COUNT)]
    rest = rule.wealth * np.where(n > 0, 1 - 1 / (math.e * np.sqrt(math.pi * np.maximum(n, 1.0))), 0.0)

    def phi(u: Vector) -> Vector:
        return np.abs(u) * np.sqrt(n * np.log1p(24 * (n * u / rule.wealth) ** 2)) + rest

    return rule.limit * highest(e, phi)


def kt_premise(e: Evidence) -> tuple[Premise, ...]:
    """The coins are in [−1, 1]."""
    limit, seen = _kt(e).limit, float(e.sums[STEEPEST])
    return (Premise(f"|z_t[j]| ≤ L = {limit:.6g}", seen <= limit, seen),)


# ---- FreeGrad ------------------------------------------------------------------------------------------------------


def freegrad_conjugate(u: Vector, v: Vector, h: Vector, wealth: float) -> Vector:
    """sup of |u|x − (ε/√v)·exp(x²/(2v + 2hx)), x ≥ 0, in units of h₁"""

    def log_potential(x: Vector) -> tuple[Vector, Vector]:
        far = v + h * x
        return math.log(wealth) - 0.5 * np.log(v) + 0.5 * x * x / far, x * (2 * v + h * x) / (2 * far * far)

    # beyond `end` the derivative exceeds |u|: there x²/(2v + 2hx) ≥ ln(|u|√v·…) with room to spare
    room = 2 * (np.log1p(np.abs(u) * v / wealth) + np.log1p(h * np.sqrt(v)) + 10.0)
    return conjugate(u, log_potential, np.sqrt(2 * v * room) + 2 * h * room)


def freegrad(e: Evidence) -> float:
    """Σ_j[εh₁ + h₁·F*(u) + |u|(h − h₁)] + Σ⟨w_t, z_t − ẑ_t⟩, coordinates without a sub-gradient left out"""
    rule, table = e.learner.rule, columns(e)
    assert isinstance(rule, FreeGrad)
    first = table[:, int(FIRST)]
    seen = first > 0
    unit = np.where(seen, first, 1.0)
    h, v = np.where(seen, table[:, int(HIGHEST)] / unit, 1.0), np.where(seen, table[:, int(SQUARES)] / unit**2, 1.0)

    def phi(u: Vector) -> Vector:
        found = rule.wealth + freegrad_conjugate(u, v, h, rule.wealth) + np.abs(u) * (h - 1.0)
        return np.where(seen, unit * found, 0.0)

    return highest(e, phi) + float(e.sums[EXCESS])
