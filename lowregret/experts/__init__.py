"""Experts: many forecasts, one mixture, and the proof that it is nearly as good as the best of them."""

from __future__ import annotations

from lowregret.experts.aggregator import AdaHedge, Aggregator, FixedShare, Hedge, Polynomial, Squint
from lowregret.experts.forecast import BinaryLogScore, LogScore, Percentage
from lowregret.experts.panel import Panel
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution

__all__ = [
    "AdaHedge",
    "Aggregator",
    "BinaryLogScore",
    "BrierSimplex",
    "FixedShare",
    "Hedge",
    "LogScore",
    "Mean",
    "Panel",
    "Percentage",
    "Polynomial",
    "SquareOn",
    "Squint",
    "Substitution",
]
