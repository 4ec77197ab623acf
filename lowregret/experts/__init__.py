"""Experts: many forecasts, one mixture, and the proof that it is nearly as good as the best of them."""

from __future__ import annotations

from lowregret.experts.aggregator import AdaHedge, Aggregator, Descent, FixedShare, Hedge, MLPoly, Squint
from lowregret.experts.forecast import BinaryLogScore, LogScore, Percentage
from lowregret.experts.layered import Layered
from lowregret.experts.panel import Panel
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution

__all__ = [
    "AdaHedge",
    "Aggregator",
    "BinaryLogScore",
    "BrierSimplex",
    "Descent",
    "FixedShare",
    "Hedge",
    "Layered",
    "LogScore",
    "MLPoly",
    "Mean",
    "Panel",
    "Percentage",
    "SquareOn",
    "Squint",
    "Substitution",
]
