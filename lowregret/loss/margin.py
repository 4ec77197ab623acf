"""Losses of the margin y·p: hinge, squared hinge, logistic."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.compile.numerics import logistic, logit_root, xlogx
from lowregret.loss.base import Falling
from lowregret.types import Vector

__all__ = ["Hinge", "Logistic", "SquaredHinge"]


class Hinge(Falling):
    """ℓ = [margin − y·p]₊"""

    name: ClassVar[str] = "hinge"
    purpose: ClassVar[str] = "two classes; no loss beyond the margin, as in support vector machines"
    margin: float = 1.0

    def check(self) -> None:
        self.require(self.margin >= 0 and math.isfinite(self.margin), f"margin must be ≥ 0, got {self.margin}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        gap = self.margin - y * p
        return (gap, -y) if gap > 0.0 else (0.0, 0.0)

    def conjugate(self, a: float, y: float) -> float:
        """−margin·s for s = −y·a ∈ [0, 1]"""
        return self.margin * y * a if 0.0 <= -y * a <= 1.0 else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        gap = self.margin - y * p
        if gap <= 0.0:
            return 0.0, 0.0
        return (-y * gap / mu, 1.0 / mu) if gap < mu else (-y, 0.0)

    def offsets(self, y: float) -> tuple[float, float]:
        return self.margin, 0.0

    @property
    def kinked(self) -> bool:
        return True

    @property
    def lipschitz(self) -> float:
        return 1.0


class SquaredHinge(Falling):
    """ℓ = [1 − y·p]₊²"""

    name: ClassVar[str] = "squared-hinge"
    purpose: ClassVar[str] = "as hinge, smooth"

    def at(self, p: float, y: float) -> tuple[float, float]:
        gap = 1.0 - y * p
        return (gap * gap, -2.0 * y * gap) if gap > 0.0 else (0.0, 0.0)

    def conjugate(self, a: float, y: float) -> float:
        """s²/4 − s for s = −y·a ≥ 0"""
        return 0.25 * a * a + y * a if y * a <= 0.0 else math.inf

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        gap = 1.0 - y * p
        return (-y * gap / (0.5 + mu), 1.0 / (0.5 + mu)) if gap > 0.0 else (0.0, 0.0)

    def offsets(self, y: float) -> tuple[float, float]:
        return 1.0, 0.0

    @property
    def smoothness(self) -> float:
        return 2.0


class Logistic(Falling):
    """ℓ = ln(1 + e^{−y·p}), in nats"""

    name: ClassVar[str] = "logistic"
    purpose: ClassVar[str] = "two classes with their chances"

    def at(self, p: float, y: float) -> tuple[float, float]:
        m = y * p
        if m > 0.0:  # whichever exponential is small, so neither overflows
            e = math.exp(-m)
            return math.log1p(e), -y * e / (1.0 + e)
        e = math.exp(m)
        return math.log1p(e) - m, -y / (1.0 + e)

    def probabilities(self, scores: Vector) -> Vector:
        """1/(1 + e^p) and 1/(1 + e^{−p})"""
        return np.exp(-np.logaddexp(0.0, np.stack([scores, -scores], axis=-1)))

    def conjugate(self, a: float, y: float) -> float:
        """s·ln s + (1 − s)·ln(1 − s) for s = −y·a ∈ [0, 1]"""
        s = -y * a
        if not 0.0 <= s <= 1.0:
            return math.inf
        rest = xlogx(1.0 - s) if s >= 0.5 else (1.0 - s) * math.log1p(-s)  # 1 − s rounds where s is small
        return xlogx(s) + rest

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        s = logistic(-logit_root(y * p, mu))
        bend = s * (1.0 - s)
        return -y * s, bend / (1.0 + mu * bend)

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 0.25
