"""The linear loss of a cost vector."""

from __future__ import annotations

import math

from lowregret.loss.base import Loss

__all__ = ["Cost"]


class Cost(Loss):
    """ℓ = y·p: the row is a cost vector z, and with label 1 the loss is ⟨w, z⟩"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return y * p, y

    def conjugate(self, a: float, y: float) -> float:
        """0 at a = y"""
        return 0.0 if a == y else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        return y, 0.0
