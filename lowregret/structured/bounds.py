"""Mistake bounds of the structured Perceptron, and what they say of new data.

δ_t = ψ(x,y) − ψ(x,ŷ) takes the place of the Perceptron's y_t x_t in the rounds M with a mistake.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise, RiskCertificate
from lowregret.certificate.batch import prop_3
from lowregret.certificate.mistakes import perceptron_bounds
from lowregret.domain import Reals
from lowregret.error import DataError, PartError
from lowregret.mirror import Euclidean
from lowregret.rule import Lazy
from lowregret.state import ENERGY, LARGEST, MISTAKES, State, Vector
from lowregret.step import Constant
from lowregret.structured.learner import Structured

_RENAMED = {
    "PERC-OBS": ("MC-OBS", "mistakes ≤ Σ_M[1 − ⟨u,δ_t⟩]₊ + ‖u‖√(Σ_M‖δ_t‖²)"),
    "PERC-MARGIN": ("PERC-MARGIN", "mistakes ≤ (B‖u‖/γ)², γ ≤ ⟨u, ψ(x,y) − ψ(x,ℓ)⟩ for all ℓ ≠ y"),
}


def structured_certificates(
    learner: Structured, state: State, products: Vector, margins: Vector | None, wrong: Any, u: Any
) -> list[Certificate]:
    """Tightest first. `products` are ⟨u, δ_t⟩, `margins` those of u in all rounds, `wrong` marks the mistakes."""
    match learner:
        case Structured(_, Lazy(Euclidean(Reals()), Constant()), 0.0):
            pass
        case _:
            raise PartError(f"mistake bounds speak of the structured Perceptron, not of {learner}: use `certificates`")
    made = int(state.counts[MISTAKES])
    if wrong.size != state.rounds or np.count_nonzero(wrong) != made:
        raise DataError(f"give the {state.rounds} rounds of the run, {made} of them mistakes, learnt in one call")
    norm = float(np.linalg.norm(np.asarray(u, float)))
    f = float(np.sum(np.maximum(1 - products[wrong], 0.0)))
    return structured_bounds(made, f, norm, float(state.sums[ENERGY]), math.sqrt(state.sums[LARGEST]), margins)


def structured_bounds(
    mistakes: int, f: float, norm: float, energy: float, largest: float, margins: Vector | None
) -> list[Certificate]:
    """MC-OBS, THM-14.2, and the Perceptron's other bounds with δ_t, tightest first.

    `f` is Σ_M[1 − ⟨u,δ_t⟩]₊, `energy` Σ_M‖δ_t‖², `largest` B = max_M‖δ_t‖; `margins` are min_{ℓ≠y}⟨u, ψ(x,y) − ψ(x,ℓ)⟩
    in all rounds, without which there is neither THM-14.2 nor PERC-MARGIN.
    """
    margin = math.nan if margins is None else float(np.min(margins, initial=math.inf))
    found = []
    for c in perceptron_bounds(mistakes, f, norm, energy, largest, margin):
        name, statement = _RENAMED.get(c.id, (c.id, c.statement))
        found.append(replace(c, id=name, statement=statement))
    if margins is None:
        return [c for c in found if c.id != "PERC-MARGIN"]
    bound, gamma = best_margin(margins, norm * largest)
    statement = "mistakes ≤ 2Σ_t[1 − min_{ℓ≠y}⟨u, ψ(x,y) − ψ(x,ℓ)⟩/γ]₊ + ‖u‖²B²/γ²"
    textbook = replace(found[0], id="THM-14.2", statement=statement, bound=bound, premises=(), details={"γ": gamma})
    return sorted([*found, textbook], key=lambda c: (not c.premises_hold, c.bound))


def best_margin(margins: Vector, size: float) -> tuple[float, float]:
    """The least 2Σ[1 − s·m_t]₊ + s²·size² over s = 1/γ > 0, and that γ. It is convex in s: halve on its slope."""

    def slope(s: float) -> float:
        return 2 * s * size * size - 2 * float(np.sum(margins, where=s * margins < 1))

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e12:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    bound = 2 * float(np.sum(np.maximum(1 - high * margins, 0.0))) + (high * size) ** 2
    return bound, 1 / high if high > 0 else math.inf


def drawn_error(state: State, margins: Vector, u: Vector, margin: float) -> RiskCertificate:
    """PROP-3, its expectation taken over the sample whose margins are given, and B as observed in the run."""
    if not margin > 0:
        raise PartError(f"margin must be positive, got {margin}")
    hinge = float(np.mean(np.maximum(1 - margins / margin, 0.0)))
    radius = math.sqrt(state.sums[LARGEST])
    found = prop_3(hinge, float(np.linalg.norm(u)), radius, margin, max(state.rounds, 1))
    observed = Premise("B ≥ ‖ψ(x,y) − ψ(x,ŷ)‖ in every run, as it was in this one", True, radius)
    return replace(found, premises=(*found.premises, observed))
