"""A bettor's regret, bounded by his wealth: sup_x (|u|x − F(x)), coordinate by coordinate."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

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
from lowregret.types import Vector

HALVINGS = 60
Potential = Callable[[Vector], tuple[Vector, Vector]]  # x ≥ 0 ↦ (ln F(x), its derivative), F convex


def conjugate(u: Any, log_potential: Potential, end: Vector) -> Vector:
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


def _height(u: Any, log_potential: Potential, x: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return np.abs(u) * x - np.exp(log_potential(x)[0])


# ---- Krichevsky–Trofimov -------------------------------------------------------------------------------------------


def kt_conjugate(u: Any, n: Vector, wealth: float) -> Vector:
    """sup of |u|x − F(x), F(x) = ε·2ⁿ·Γ((n+1+x)/2)·Γ((n+1−x)/2)/(π·n!), |x| ≤ n: once for all that have the same."""
    from scipy.special import gammaln, psi  # a quarter of a second

    pairs, which = np.unique(n + 1j * np.abs(u), return_inverse=True)
    n, u = pairs.real.copy(), pairs.imag.copy()
    flat = math.log(wealth / math.pi) + n * math.log(2.0) - gammaln(n + 1.0)

    def log_potential(x: Vector) -> tuple[Vector, Vector]:
        up, down = (n + 1.0 + x) / 2, (n + 1.0 - x) / 2
        return flat + gammaln(up) + gammaln(down), (psi(up) - psi(down)) / 2

    return conjugate(u, log_potential, n)[which]


def _kt(e: Evidence) -> KT:
    assert isinstance(e.learner.rule, KT)
    return e.learner.rule


def kt_exact(e: Evidence) -> float:
    """L·Σ_j(ε + F*(u))"""
    rule, n = _kt(e), np.ascontiguousarray(columns(e)[:, int(COUNT)])
    return rule.clip * highest(e, lambda u: rule.wealth + kt_conjugate(u, n, rule.wealth))


def kt_terms(e: Evidence) -> float:
    """The size of what L·Σ_j(ε + F*(u)) is a difference of, by logarithms of up to ln ε + n·ln n: L·Σ_j(ε + |u|n)"""
    rule, n = _kt(e), columns(e)[:, int(COUNT)]
    most = e.comparator.reach(math.inf, e.dimension)
    coins, log = n[n > 0], 1 + abs(math.log(rule.wealth / math.pi))
    tossed = np.sum((rule.wealth + most * coins) * (log + coins * np.log(coins + 2)))
    return rule.clip * (rule.wealth * log * (n.size - coins.size) + float(tossed))


def kt_closed(e: Evidence) -> float:
    """L·Σ_j(|u|√(n·ln(1 + 24n²u²/ε²)) + ε(1 − 1/(e√(πn)))), coordinates without a coin left out"""
    rule, n = _kt(e), columns(e)[:, int(COUNT)]
    rest = rule.wealth * np.where(n > 0, 1 - 1 / (math.e * np.sqrt(math.pi * np.maximum(n, 1.0))), 0.0)

    def phi(u: Any) -> Vector:
        return np.abs(u) * np.sqrt(n * np.log1p(24 * (n * u / rule.wealth) ** 2)) + rest

    return rule.clip * highest(e, phi)


def kt_premise(e: Evidence) -> tuple[Premise, ...]:
    """The coins are in [−1, 1]."""
    clip, seen = _kt(e).clip, float(e.sums[STEEPEST])
    return (Premise(f"|z_t[j]| ≤ L = {clip:.6g}", seen <= clip, seen),)


# ---- FreeGrad ------------------------------------------------------------------------------------------------------


def freegrad_conjugate(u: Any, share: Vector, root: Vector, wealth: float) -> Vector:
    """sup of |u|x − F(x), ln F(x) = ln ε + 2·share − root + x²/(2V + 2x), x ≥ 0, in units of h: V = e^{2·root}.

    `share` is ln(h₁/h), `root` is ln(√V/h): logarithms, because h may exceed h₁ by many orders of magnitude.
    """
    v = np.maximum(np.exp(2 * root), 1e-300)
    flat = math.log(wealth) + 2 * share - root

    def log_potential(x: Vector) -> tuple[Vector, Vector]:
        far = v + x
        return flat + 0.5 * x * (x / far), 0.5 * (x / far) * (v / far + 1.0)  # far² may be less than any number

    # x²/(2V + 2x) ≥ enough at `end`, so that the derivative exceeds |u| there
    enough = np.maximum(np.log(np.maximum(np.abs(u), 1e-300)) - flat + np.abs(root) + 3.0, 1.0)
    return conjugate(u, log_potential, np.maximum(4 * enough, 2 * np.exp(root) * np.sqrt(enough)))


def freegrad(e: Evidence) -> float:
    """Σ_j[εh₁ + h·F*(u) + |u|(h − h₁)] + Σ⟨w_t, z_t − ẑ_t⟩, coordinates without a sub-gradient left out"""
    rule, table = e.learner.rule, columns(e)
    assert isinstance(rule, FreeGrad)
    seen = table[:, int(FIRST)] > 0
    first, h = (np.where(seen, table[:, int(k)], 1.0) for k in (FIRST, HIGHEST))
    squares = np.where(seen, np.maximum(table[:, int(SQUARES)], 1e-300), 1.0)
    share, root = np.log(first) - np.log(h), 0.5 * np.log(squares) - np.log(h)

    def phi(u: Any) -> Vector:
        found = rule.wealth * first + h * freegrad_conjugate(u, share, root, rule.wealth) + np.abs(u) * (h - first)
        return np.where(seen, found, 0.0)

    return highest(e, phi) + float(e.sums[EXCESS])


def freegrad_terms(e: Evidence) -> float:
    """The size of what it is a difference of, by logarithms: Σ_j εh₁(1 + |ln(h₁/h)| + |ln(√V/h)|) and the excess"""
    rule, table = e.learner.rule, columns(e)
    assert isinstance(rule, FreeGrad)
    seen = table[table[:, int(FIRST)] > 0]
    first, h, v = seen[:, int(FIRST)], seen[:, int(HIGHEST)], np.maximum(seen[:, int(SQUARES)], 1e-300)
    logs = 1 + abs(math.log(rule.wealth)) + abs(np.log(first) - np.log(h)) + abs(0.5 * np.log(v) - np.log(h))
    return 2 * rule.wealth * float(np.sum(first * logs)) + abs(float(e.sums[EXCESS]))
