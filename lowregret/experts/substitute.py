"""From weights and forecasts to one forecast: their mean, or for mixable losses Vovk's sharper substitution.

A loss is η-mixable if for all weights some p has ℓ(p, y) ≤ −(1/η) ln Σ w e^{−ηℓ(x[i], y)} for every y. Then exponential
weights with that η have R[k] ≤ ln(1/π[k])/η, whatever happens, for ever (Vovk, "A game of prediction with expert
advice", JCSS 56, 1998). For log loss the mean does it, η = 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from lowregret.compile.part import Part
from lowregret.experts.state import Book

ALIKE = 1e-9  # of a forecast: far more than rounding of a mean, far less than forecasts usually differ by


class Substitution(Part):
    """p_t from w_t and x_t."""

    @abstractmethod
    def forecast(self, s: Book, x: Any, t: int, p: Any) -> None:
        """Write p[t], given normalised weights s.mass, 0 for those asleep: O(N·K)."""

    def size(self) -> float:
        """The range of numbers that a forecast is made of by logarithms, whose rounding it has; 0 if there are none."""
        return 0.0


class Mean(Substitution):
    """p = Σ w[i] x[i], between the least and the largest x[i], which rounding would leave where all are alike."""

    def forecast(self, s: Book, x: Any, t: int, p: Any) -> None:
        parts = p.shape[1]
        for k in range(parts):
            total, last = 0.0, 0.0
            for i in range(s.mass.size):
                if s.mass[i] > 0.0:
                    last = x[t, k, i]
                    total += s.mass[i] * last
            if abs(total - last) <= ALIKE * abs(last):
                least, most = last, last
                for i in range(s.mass.size):
                    if s.mass[i] > 0.0:
                        least, most = min(least, x[t, k, i]), max(most, x[t, k, i])
                total = min(max(total, least), most)
            p[t, k] = total


class SquareOn(Substitution):
    """For (p − y)² with forecasts and outcomes in [low, high], η = 2/(high − low)²:

    p = (low + high)/2 − (G(high) − G(low))/(2(high − low)), G(y) = −(1/η) ln Σ w e^{−η(x − y)²}
    """

    low: float
    high: float

    def check(self) -> None:
        self.require(
            -math.inf < self.low < self.high < math.inf, f"low must be below high, got [{self.low}, {self.high}]"
        )

    def generalised(self, s: Book, x: Any, t: int, y: float) -> float:
        """G(y)"""
        eta, nearest, total = self.eta(), math.inf, 0.0
        for i in range(s.mass.size):
            if s.mass[i] > 0.0:
                nearest = min(nearest, (x[t, 0, i] - y) ** 2)
        for i in range(s.mass.size):
            if s.mass[i] > 0.0:
                total += s.mass[i] * math.exp(-eta * ((x[t, 0, i] - y) ** 2 - nearest))
        return nearest - math.log(total) / eta

    def eta(self) -> float:
        """The largest η for which the loss is mixable."""
        return 2.0 / (self.high - self.low) ** 2

    def size(self) -> float:
        return self.high - self.low + max(abs(self.low), abs(self.high))

    def forecast(self, s: Book, x: Any, t: int, p: Any) -> None:
        apart = self.generalised(s, x, t, self.high) - self.generalised(s, x, t, self.low)
        middle = (self.low + self.high) / 2 - apart / (2 * (self.high - self.low))
        p[t, 0] = min(max(middle, self.low), self.high)


class BrierSimplex(Substitution):
    """For Σ_k (p[k] − 1[k = y])², probabilities of K classes, η = 1: p[k] = [s − G(k)]₊/2 with s such that Σp = 1

    (Vovk, Zhdanov, "Prediction with expert advice for the Brier game", JMLR 10, 2009)
    """

    def forecast(self, s: Book, x: Any, t: int, p: Any) -> None:
        parts = p.shape[1]
        for k in range(parts):
            p[t, k] = self.generalised(s, x, t, k, parts)
        lowest, highest = p[t, 0], p[t, 0]
        for k in range(parts):
            lowest, highest = min(lowest, p[t, k]), max(highest, p[t, k])
        low, high = lowest, highest + 2.0
        for _ in range(64):  # Σ[s − G]₊/2 grows with s; bisection to the last bit
            middle, total = (low + high) / 2, 0.0
            for k in range(parts):
                total += max(middle - p[t, k], 0.0) / 2
            low, high = (middle, high) if total < 1.0 else (low, middle)
        total = 0.0
        for k in range(parts):
            p[t, k] = max(high - p[t, k], 0.0) / 2
            total += p[t, k]
        for k in range(parts):
            p[t, k] /= total

    def size(self) -> float:
        return 2.0

    def generalised(self, s: Book, x: Any, t: int, y: int, parts: int) -> float:
        """G(y) = −ln Σ w e^{−λ(x, y)}; losses lie in [0, 2], so nothing underflows."""
        total = 0.0
        for i in range(s.mass.size):
            if s.mass[i] > 0.0:
                loss = 0.0
                for k in range(parts):
                    off = x[t, k, i] - (1.0 if k == y else 0.0)
                    loss += off * off
                total += s.mass[i] * math.exp(-loss)
        return -math.log(total)
