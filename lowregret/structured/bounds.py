"""Mistake bounds of the structured Perceptron, and what they say of new data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise, RiskCertificate
from lowregret.certificate.batch import prop_3
from lowregret.certificate.mistakes import multiclass_bounds
from lowregret.domain import Reals
from lowregret.error import DataError, PartError
from lowregret.mirror import Euclidean
from lowregret.rule import Lazy
from lowregret.state import ENERGY, LARGEST, MISTAKES, State, Vector
from lowregret.step import Constant
from lowregret.structured.learner import Structured


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
    return multiclass_bounds(made, f, norm, float(state.sums[ENERGY]), math.sqrt(state.sums[LARGEST]), margins)


def expected_error(state: State, margins: Vector, u: Vector, gamma: float) -> RiskCertificate:
    """PROP-3, its expectation taken over the sample whose margins are given, and B as observed in the run."""
    if gamma <= 0:
        raise PartError(f"gamma must be positive, got {gamma}")
    hinge = float(np.mean(np.maximum(1 - margins / gamma, 0.0)))
    radius = math.sqrt(state.sums[LARGEST])
    found = prop_3(hinge, float(np.linalg.norm(u)), radius, gamma, max(state.rounds, 1))
    observed = Premise("B bounds ‖ψ(x,y) − ψ(x,ŷ)‖, as observed in this run", True, radius)
    return RiskCertificate(**{**found.__dict__, "premises": (*found.premises, observed)})
