"""Finite classes of hypotheses: learners with mistake bounds, and the dimensions that say how hard a class is."""

from __future__ import annotations

from lowregret.finite.agnostic import Agnostic
from lowregret.finite.dimension import Dimensions, dimensions
from lowregret.finite.generate import make_hypotheses
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import Consistent, FiniteLearner, Halving, StandardOptimal
from lowregret.finite.search import Littlestone
from lowregret.finite.surrogate_halving import Restarting, SurrogateHalving
from lowregret.finite.weighted_majority import WeightedMajority

__all__ = [
    "Agnostic",
    "Consistent",
    "Dimensions",
    "FiniteLearner",
    "Halving",
    "Hypotheses",
    "Littlestone",
    "Restarting",
    "StandardOptimal",
    "SurrogateHalving",
    "WeightedMajority",
    "dimensions",
    "make_hypotheses",
]
