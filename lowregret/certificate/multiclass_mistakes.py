"""Mistake bounds of the Perceptron of many classes, against a given u, on the rows that were learnt.

M are the rounds with an update, δ_t = ψ(x_t,y_t) − ψ(x_t,ŷ_t) is what is learnt then, ψ(x,ℓ) = x ⊗ e_ℓ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.mistakes import best_first, mistake_certificate
from lowregret.domain import Point
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

    def hinge(self, margin: float) -> Vector:
        """[1 − γ⁻¹min_{ℓ≠y}⟨u,ψ(x,y)−ψ(x,ℓ)⟩]₊ of every row."""
        return np.maximum(1 - self.least / margin, 0.0)


def class_mistake_bounds(told: Margins, energy: float, largest: float, margin: float) -> list[Certificate]:
    """MC-OBS, PERC-ROOT with δ_t and THM-14.2, tightest first.

    `energy` is Σ_M‖δ_t‖², `largest` R = max_M‖δ_t‖, `margin` γ; b = R‖u‖, F(u) = Σ_M[1 − ⟨u,δ_t⟩]₊.
    """
    f, b = float(np.sum(np.maximum(1 - told.own, 0.0))), largest * told.norm
    wide = 2 * float(np.sum(told.hinge(margin))) + (told.norm * told.widest / margin) ** 2
    positive = Premise("γ > 0", margin > 0, margin)
    formula = "2Σ_t[1 − γ⁻¹min_{ℓ≠y}⟨u,ψ(x,y)−ψ(x,ℓ)⟩]₊ + ‖u‖²B²/γ²"
    rows: list[tuple[str, str, float, tuple[Premise, ...]]] = [
        ("MC-OBS", "F(u) + ‖u‖√(Σ_M‖δ_t‖²)", f + told.norm * math.sqrt(energy), ()),
        ("PERC-ROOT", "F + b²/2 + b√(F + b²/4)", f + b * b / 2 + b * math.sqrt(f + b * b / 4), ()),
        ("THM-14.2", formula, wide, (positive,)),
    ]
    u = {"set": Point.name, "radius": told.norm}
    return best_first([mistake_certificate(*row, u, float(told.own.size), f) for row in rows])
