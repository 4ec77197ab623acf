"""LEM-2.5 from the record of a game: the linearised regret certifies whatever played, with no theorem about it."""

from __future__ import annotations

import math

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.rounding import EXTRA
from lowregret.certificate.theorems import LINEARISED
from lowregret.compile.numerics import EPSILON, norm
from lowregret.domain import Domain
from lowregret.types import Vector


def linearised(
    points: Vector, gradients: Vector, linear_regret: float, comparator: Domain, premises: tuple[Premise, ...] = ()
) -> Certificate:
    """Σ f_t(w_t) − f_t(u) ≤ Σ⟨w_t − u, z_t⟩ for convex f_t and z_t ∈ ∂f_t(w_t), whatever chose the w_t."""
    rounds, d = points.shape
    reach = comparator.reach(2, d)
    far = reach if reach < math.inf else 0.0
    terms = sum((norm(w) + far) * norm(z) for w, z in zip(points, gradients, strict=True))
    return Certificate(
        id=LINEARISED.id,
        statement=f"regret against every u in {comparator.name} ≤ {LINEARISED.formula}",
        comparator=comparator.describe(),
        linear_regret=linear_regret,
        bound=linear_regret,
        premises=premises,
        rounding=EPSILON * (rounds + d + EXTRA) * terms,
    )
