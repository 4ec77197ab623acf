"""Mistake bounds of the structured Perceptron, and what they say of new data.

δ_t = ψ(x,y) − ψ(x,ŷ) takes the place of the Perceptron's y_t x_t in the rounds M with a mistake.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.multiclass_mistakes import Margins, class_mistake_bounds, require_margin
from lowregret.compile.numerics import norm
from lowregret.domain import Reals
from lowregret.errors import DataError, PartError
from lowregret.mirror import Euclidean
from lowregret.risk.drawn import independence
from lowregret.risk.online_to_batch import RiskCertificate, prop_3
from lowregret.rule import MirrorDescent
from lowregret.state import ENERGY, LARGEST, MISTAKES, State
from lowregret.step import Constant
from lowregret.structured.learner import Structured
from lowregret.types import Vector


def structured_certificates(
    learner: Structured, state: State, products: Vector, margins: Vector | None, wrong: Any, u: Any
) -> list[Certificate]:
    """Tightest first. `products` are ⟨u, δ_t⟩, `margins` those of u in all rounds, `wrong` marks the mistakes."""
    _require_perceptron(learner)
    made = int(state.counts[MISTAKES])
    if wrong.size != state.rounds or np.count_nonzero(wrong) != made:
        raise DataError(f"give the {state.rounds} rounds of the run, {made} of them mistakes, learnt in one call")
    size, widest = norm(np.asarray(u, float).ravel()), math.sqrt(state.sums[LARGEST])
    gamma = 1.0 if margins is None else best_margin(margins, size * widest)
    told = Margins(products[wrong], np.zeros(0) if margins is None else margins, size, widest, np.size(u))
    found = class_mistake_bounds(told, float(state.sums[ENERGY]), widest, gamma)
    return [replace(c, details=c.details | {"γ": gamma}) for c in found if margins is not None or c.id != "THM-14.2"]


def _require_perceptron(learner: Structured) -> None:
    match learner:
        case Structured(_, MirrorDescent(Euclidean(Reals()), Constant()), 0.0):
            return
    raise PartError(f"mistake bounds speak of the structured Perceptron, not of {learner}: use `certificates`")


def best_margin(margins: Vector, size: float) -> float:
    """The γ > 0 with the least 2Σ[1 − m_t/γ]₊ + (size/γ)², which is convex in s = 1/γ: halve on its slope."""

    def slope(s: float) -> float:
        return 2 * s * size * size - 2 * float(np.sum(margins, where=s * margins < 1))

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e12:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return 1 / high


def drawn_error(
    learner: Structured, state: State, margins: Vector, u: Vector, margin: float, independent: bool
) -> RiskCertificate:
    """PROP-3, its expectation taken over the sample whose margins are given, and B as observed in the run."""
    _require_perceptron(learner)
    require_margin(margin)
    hinge = float(np.mean(np.maximum(1 - margins / margin, 0.0)))
    radius = math.sqrt(state.sums[LARGEST])
    found = prop_3(hinge, norm(np.asarray(u, float).ravel()), radius, margin, max(state.rounds, 1))
    observed = Premise("B ≥ ‖ψ(x,y) − ψ(x,ŷ)‖ in every run, as it was in this one", True, radius)
    return replace(found, premises=(independence(independent), *found.premises, observed))
