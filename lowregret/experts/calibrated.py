"""Exponential weights whose rate is calibrated: the rates of a grid, mixed by what they have lost.

Each rate is a lane of a `Layered` mixture. So no rate is chosen afterwards, and what is owed to the best of them is
proved: what the mixture owes to the lane, and the lane to the experts.
"""

from __future__ import annotations

from typing import ClassVar

from lowregret.experts.aggregator import Aggregator
from lowregret.experts.layered import Layered
from lowregret.experts.scaled import ScaledHedge
from lowregret.experts.schema import LayeredSchema

RATES = tuple(4.0**j for j in range(2, -7, -1))  # one of them is within a factor of 2 of any rate from 32 to 0.0001


class Calibrated(Layered):
    """Exponential weights at the rates 16, 4, 1, ¼, …, 4⁻⁶ over the largest |r| so far, mixed by `MLPoly`."""

    kind = "calibrated-experts"
    schema = LayeredSchema(len(RATES))
    aggregators: ClassVar[tuple[Aggregator, ...]] = tuple(ScaledHedge(rate) for rate in RATES)
