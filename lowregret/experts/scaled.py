"""Exponential weights at a rate that is a number without units."""

from __future__ import annotations

import math

from lowregret.experts.aggregator import Aggregator, book_gap, exponential_weights
from lowregret.experts.state import LARGEST, Book


class ScaledHedge(Aggregator):
    """w[i] ∝ π[i]·e^{ηR[i]}, η_t = `rate`/B_{t−1}, B the largest |r| so far: exponential weights, whatever the units

    The rate falls, so with Δ the sum of the mixability gaps of `AdaHedge` R[k] ≤ Δ_T + B_T·ln(1/π[k])/rate.
    """

    rate: float

    def check(self) -> None:
        self.require(0 < self.rate < math.inf, f"rate must be a positive number, got {self.rate}")

    def weigh(self, s: Book) -> None:
        exponential_weights(s, self.eta(s))

    def eta(self, s: Book) -> float:
        """η of the coming round; infinite as long as all have said the same."""
        return self.rate / s.sums[LARGEST] if s.sums[LARGEST] > 0.0 else math.inf

    def absorb(self, s: Book) -> None:
        book_gap(s, self.eta(s))
        for i in range(s.mass.size):
            if s.instant[i] > -math.inf:
                s.sums[LARGEST] = max(s.sums[LARGEST], abs(s.instant[i]))
