"""Experts: many forecasts, one mixture, and the proof that it is nearly as good as the best of them."""

from __future__ import annotations

from lowregret.experts.aggregator import AdaHedge, Aggregator, Descent, FixedShare, Hedge, MLPoly, Squint
from lowregret.experts.boa import BOA
from lowregret.experts.calibrated import Calibrated
from lowregret.experts.conformal import ConformalIntervals
from lowregret.experts.continuous import BoxHedge, SampledHedge, grid
from lowregret.experts.draw import Drawing
from lowregret.experts.exponentiated import ExponentiatedGradient, MixedPortfolio
from lowregret.experts.forecast import BinaryLogScore, LogScore, Percentage, SymmetricPercentage
from lowregret.experts.layered import Layered
from lowregret.experts.long import LongTable, long_table
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.portfolio import OnlineNewton, Universal, best_rebalanced
from lowregret.experts.quantiles import Quantiles
from lowregret.experts.review import Review
from lowregret.experts.scale import naive_scales
from lowregret.experts.scaled import ScaledHedge
from lowregret.experts.series import SeriesMixture
from lowregret.experts.specialists import Specialists
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.experts.wealth import rebalanced

__all__ = [
    "BOA",
    "AdaHedge",
    "Aggregator",
    "BinaryLogScore",
    "BoxHedge",
    "BrierSimplex",
    "Calibrated",
    "ConformalIntervals",
    "Descent",
    "Drawing",
    "ExpertMixture",
    "ExponentiatedGradient",
    "FixedShare",
    "Hedge",
    "Layered",
    "LogScore",
    "LongTable",
    "MLPoly",
    "Mean",
    "MixedPortfolio",
    "OnlineNewton",
    "Percentage",
    "Quantiles",
    "Review",
    "SampledHedge",
    "ScaledHedge",
    "SeriesMixture",
    "Specialists",
    "SquareOn",
    "Squint",
    "Substitution",
    "SymmetricPercentage",
    "Universal",
    "best_rebalanced",
    "grid",
    "long_table",
    "naive_scales",
    "rebalanced",
]
