"""Experts: many forecasts, one mixture, and the proof that it is nearly as good as the best of them."""

from __future__ import annotations

from lowregret.experts.aggregator import AdaHedge, Aggregator, Descent, FixedShare, Hedge, MLPoly, Squint
from lowregret.experts.conformal import ConformalIntervals
from lowregret.experts.continuous import BoxHedge, SampledHedge, grid
from lowregret.experts.draw import Drawing
from lowregret.experts.exponentiated import ExponentiatedGradient, MixedPortfolio
from lowregret.experts.forecast import BinaryLogScore, LogScore, Percentage
from lowregret.experts.layered import Layered
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.portfolio import OnlineNewton, Universal, best_rebalanced
from lowregret.experts.quantiles import Quantiles
from lowregret.experts.review import Review
from lowregret.experts.specialists import Specialists
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.experts.wealth import rebalanced

__all__ = [
    "AdaHedge",
    "Aggregator",
    "BinaryLogScore",
    "BoxHedge",
    "BrierSimplex",
    "ConformalIntervals",
    "Descent",
    "Drawing",
    "ExpertMixture",
    "ExponentiatedGradient",
    "FixedShare",
    "Hedge",
    "Layered",
    "LogScore",
    "MLPoly",
    "Mean",
    "MixedPortfolio",
    "OnlineNewton",
    "Percentage",
    "Quantiles",
    "Review",
    "SampledHedge",
    "Specialists",
    "SquareOn",
    "Squint",
    "Substitution",
    "Universal",
    "best_rebalanced",
    "grid",
    "rebalanced",
]
