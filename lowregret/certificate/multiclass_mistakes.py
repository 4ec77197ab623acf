"""Mistake bounds of the Perceptron of many classes, against a given u, on the rows that were learnt.

M are the rounds with an update, δ_t = ψ(x_t,y_t) − ψ(x_t,ŷ_t) is what is learnt then, ψ(x,ℓ) = x ⊗ e_ℓ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.mistakes import PERCEPTRON, Told, best_first, mistake_certificate, share_of, shortfall
from lowregret.domain import Point
from lowregret.errors import PartError
from lowregret.learner.validate import is_positive
from lowregret.types import Vector


@dataclass(frozen=True)
class Margins:
    """Margins of u on the rows: `own` is ⟨u,δ_t⟩ in the rounds of M, `least` min_{ℓ≠y}⟨u,ψ(x,y)−ψ(x,ℓ)⟩ in every row.

    ℓ are the classes met up to then (∞ if there is no other). `norm` is ‖u‖, `widest` B = max‖ψ(x,y)−ψ(x,ℓ)‖, which is
    √2·max‖x‖.
    """

    own: Vector
    least: Vector
    norm: float
    widest: float
    dimension: int  # of u

    def hinge(self, margin: float) -> Vector:
        """[1 − γ⁻¹min_{ℓ≠y}⟨u,ψ(x,y)−ψ(x,ℓ)⟩]₊ of every row."""
        return np.maximum(1 - self.least / margin, 0.0)


def require_margin(margin: Any) -> None:
    """Refuse a γ that is no number above 0."""
    if not is_positive(margin):
        raise PartError(f"margin must be positive and finite, got {margin!r}")


def class_mistake_bounds(told: Margins, energy: float, largest: float, margin: float) -> list[Certificate]:
    """MC-OBS, PERC-ROOT with δ_t and THM-14.2, tightest first.

    `energy` is Σ_M‖δ_t‖², `largest` R = max_M‖δ_t‖, `margin` γ; b = R‖u‖, F(u) = Σ_M[1 − ⟨u,δ_t⟩]₊.
    """
    made, rounds, d = told.own.size, max(told.least.size, told.own.size), told.dimension
    f = float(np.sum(np.maximum(1 - told.own, 0.0)))
    seen = Told(made, f, told.norm, energy, largest, math.inf, told.norm)
    hinges, across = float(np.sum(told.hinge(margin))), told.norm * told.widest / margin
    off = 2 * share_of(rounds, d) * (hinges + rounds * (1 + across)) + 8 * share_of(rounds, d) * across * across
    found = list(zip(seen.bounds()[:2], seen.worst(rounds, d).bounds()[:2], strict=True))
    wide = 2 * hinges + across * across
    positive = Premise("γ > 0", margin > 0, margin)
    formula = "2Σ_t[1 − γ⁻¹min_{ℓ≠y}⟨u,ψ(x,y)−ψ(x,ℓ)⟩]₊ + ‖u‖²B²/γ²"
    rows: list[tuple[str, str, float, float, tuple[Premise, ...]]] = [
        ("MC-OBS", "F(u) + ‖u‖√(Σ_M‖δ_t‖²)", *found[0], ()),
        ("PERC-ROOT", PERCEPTRON["PERC-ROOT"], *found[1], ()),
        ("THM-14.2", formula, wide, wide + off * math.sqrt(made + 1), (positive,)),
    ]
    u = {"set": Point.name, "radius": told.norm}
    return best_first(
        [
            mistake_certificate(name, words, bound, premises, u, float(made), f, shortfall(bound, worst))
            for name, words, bound, worst, premises in rows
        ]
    )
