"""Right-hand sides of projected gradient descent, and the premises that they alone have."""

from __future__ import annotations

import math

import numpy as np

from lowregret.certificate.certificate import Premise
from lowregret.certificate.evidence import Evidence
from lowregret.compile.numerics import squared_over
from lowregret.learner.linear import Learner
from lowregret.rule.projected_gradient import WON
from lowregret.state import ENERGY, LARGEST, STEPPED, TOTAL
from lowregret.step import InverseSqrt, InverseTime, PassiveAggressive, WeightedInverseTime


def constant_rate(e: Evidence) -> float:
    return squared_over(e.from_start, 2 * e.rate) + e.rate / 2 * float(e.sums[ENERGY])


def falling_rate(e: Evidence) -> float:
    return squared_over(e.spread, 2 * e.rate) + float(e.sums[STEPPED]) / 2


def sqrt_observed(e: Evidence) -> float:
    radius = e.learner.rule.domain.reach(2, e.dimension)
    growth = 1 / e.rate - 1 / e.first_rate
    away = e.from_start if np.any(e.start) else radius
    return squared_over(away, 2 * e.first_rate) + 2 * radius * (radius * growth) + float(e.sums[STEPPED]) / 2


def _sqrt_scale(e: Evidence) -> tuple[float, float]:
    """U, and the G for which η = √2·U/G."""
    step = e.learner.rule.schedule()
    assert isinstance(step, InverseSqrt)
    radius = e.learner.rule.domain.reach(2, e.dimension)
    return radius, math.sqrt(2) * radius / step.eta


_SLACK = 1 + 1e-12  # by which observed lengths may exceed G for having been rounded


def sqrt_tuned(e: Evidence) -> float:
    """UG√(8T), which ‖z_t‖ ≤ sG, s ≥ 1, makes s² times as much at most: so much as the premise lets rounding pass."""
    radius, lipschitz = _sqrt_scale(e)
    beyond = min(max(math.sqrt(e.sums[LARGEST]) / lipschitz, 1.0), _SLACK)
    return radius * lipschitz * math.sqrt(8 * e.rounds) * (beyond * beyond)


def sqrt_premise(e: Evidence) -> tuple[Premise, ...]:
    lipschitz, seen = _sqrt_scale(e)[1], math.sqrt(e.sums[LARGEST])
    return (Premise(f"‖z_t‖ ≤ G = √2·U/η = {lipschitz:.6g}", seen <= lipschitz * _SLACK, seen),)


def sqrt_printed(e: Evidence) -> float:
    step, root = e.learner.rule.schedule(), math.sqrt(max(e.rounds, 1))
    assert isinstance(step, InverseSqrt)
    across = e.learner.rule.domain.diameter(e.dimension)
    return across * root * (across / (2 * step.eta)) + step.eta * float(e.sums[LARGEST]) * (root - 0.5)


def is_bounded(e: Evidence) -> tuple[Premise, ...]:
    across = e.learner.rule.domain.diameter(e.dimension)
    return (Premise("the domain is bounded", across < math.inf, across),)


def curves(e: Evidence) -> tuple[Premise, ...]:
    step = e.learner.rule.schedule()
    needed = step.sigma if isinstance(step, InverseTime) else step.lam if isinstance(step, WeightedInverseTime) else 0.0
    curved = math.fsum([e.learner.ridge, e.curvature, -needed]) >= 0  # its sign is exact
    return (Premise(f"losses are {needed:.6g}-strongly convex", curved, e.learner.ridge + e.curvature),)


def weighted(e: Evidence) -> float:
    step = e.learner.rule.schedule()
    assert isinstance(step, WeightedInverseTime)
    return 2 * float(e.sums[ENERGY]) / (step.lam * max(e.rounds * (e.rounds + 3), 1))


def aggressive_step(learner: Learner) -> PassiveAggressive:
    step = learner.rule.schedule()
    assert isinstance(step, PassiveAggressive)
    return step


def dual(e: Evidence) -> float:
    c = aggressive_step(e.learner).C
    return squared_over(e.from_start, 2 * c) + float(e.sums[TOTAL]) - float(e.sums[WON]) / (2 * c)
