"""The loss of a portfolio: the logarithm of what its wealth is multiplied by, negated."""

from __future__ import annotations

import math

from lowregret.loss.base import Loss

__all__ = ["LogWealth"]


class LogWealth(Loss):
    """ℓ = −ln p: the row holds price relatives, w a portfolio; p must be positive, the label is ignored"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (-math.log(p), -1.0 / p) if p > 0.0 else (math.inf, -math.inf)

    def conjugate(self, a: float, y: float) -> float:
        """−1 − ln(−a) for a < 0"""
        return -1.0 - math.log(-a) if a < 0.0 else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        """The envelope's slope and bend, at q = p + μ/q > 0."""
        root = math.sqrt(p * p + 4.0 * mu)
        q = 0.5 * (p + root) if p > 0.0 else 2.0 * mu / (root - p)
        return (-1.0 / q, 1.0 / (q * q + mu)) if q > 0.0 else (-math.inf, math.inf)

    @property
    def kinked(self) -> bool:
        """True: the wall at 0 is worse than a kink."""
        return True
