"""Losses made of other losses."""

from __future__ import annotations

import math

import numpy as np

from lowregret.compile.numerics import difference_error, product_error
from lowregret.loss.base import Margin
from lowregret.loss.margin import Hinge
from lowregret.types import Vector

__all__ = ["Affine", "OnMistakes"]

MOST_LEVELS = 4  # each may ask the one inside it three times


class Affine(Margin):
    """ℓ(slope·p + offset, y) for another loss of the margin: the score is scaled and shifted before it is judged"""

    loss: Margin
    slope: float = 1.0
    offset: float = 0.0

    def check(self) -> None:
        _require_margin(self, self.loss)
        self.require(
            self.slope != 0 and math.isfinite(self.slope), f"slope must be a number other than 0, got {self.slope}"
        )
        self.require(math.isfinite(self.offset), f"offset must be finite, got {self.offset}")

    def shifted(self, p: float) -> float:
        """The score that the inner loss judges."""
        return self.slope * p + self.offset

    def at(self, p: float, y: float) -> tuple[float, float]:
        value, slope = self.loss.at(self.shifted(p), y)
        if slope == 0.0:
            value, slope = self.unrounded(p, y)
        return value, self.slope * slope

    def unrounded(self, p: float, y: float) -> tuple[float, float]:
        """Value and slope of the inner loss at slope·p + offset, which rounding may have moved to where it is flat."""
        scaled, shifted = self.slope * p, self.shifted(p)
        error = product_error(self.slope, p, scaled) + difference_error(scaled, -self.offset, shifted)
        near = shifted + error
        rest = difference_error(shifted, -error, near)
        value, slope = self.loss.at(near, y)
        if slope == 0.0 and rest != 0.0:
            _, slope = self.loss.at(float(np.nextafter(near, math.copysign(math.inf, rest))), y)
        return value + slope * rest, slope

    def conjugate(self, a: float, y: float) -> float:
        """ℓ*(a/slope) − offset·a/slope"""
        inner = a / self.slope
        return self.loss.conjugate(inner, y) - self.offset * inner

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        slope, bend = self.loss.envelope(self.shifted(p), y, self.slope * self.slope * mu)
        if slope == 0.0 and mu == 0.0:
            slope = self.unrounded(p, y)[1]
        return self.slope * slope, self.slope * self.slope * bend

    def offsets(self, y: float) -> tuple[float, float]:
        compared, added = self.loss.offsets(y)
        return (compared + abs(self.offset)) / abs(self.slope), added

    @property
    def dual(self) -> bool:
        return self.loss.dual

    @property
    def kinked(self) -> bool:
        return self.loss.kinked

    @property
    def convex_in_label(self) -> bool:
        return self.loss.convex_in_label

    @property
    def error_per_loss(self) -> float | None:
        return self.loss.error_per_loss

    def decision(self, p: float) -> float:
        return self.loss.decision(self.shifted(p))

    def probabilities(self, scores: Vector) -> Vector:
        return self.loss.probabilities(self.slope * scores + self.offset)

    def wrong(self, p: float, y: float) -> bool:
        return self.loss.wrong(self.shifted(p), y)

    @property
    def lipschitz(self) -> float:
        return abs(self.slope) * self.loss.lipschitz

    @property
    def curvature(self) -> float:
        return self.slope * self.slope * self.loss.curvature

    @property
    def smoothness(self) -> float:
        return self.slope * self.slope * self.loss.smoothness


class OnMistakes(Margin):
    """ℓ on the rounds that are mistakes, else 0: what makes the Perceptron and Winnow conservative.

    A zero decision counts as a mistake, whatever the label: the start w₁ = 0 needs it. Which rounds are mistakes is
    settled at w_t, so f_t is either ℓ or 0 throughout, and convex both times.
    """

    loss: Margin

    def check(self) -> None:
        _require_margin(self, self.loss)
        inner = self.loss
        while isinstance(inner, Affine):
            inner = inner.loss
        self.require(
            inner != Hinge(0.0),
            "Hinge(0) is flat at a zero decision, so nothing would ever be learnt: use a margin above 0",
        )

    def at(self, p: float, y: float) -> tuple[float, float]:
        return self.loss.at(p, y) if self.wrong(p, y) else (0.0, 0.0)

    def decision(self, p: float) -> float:
        return self.loss.decision(p)

    def wrong(self, p: float, y: float) -> bool:
        return y * self.decision(p) <= 0.0

    @property
    def lipschitz(self) -> float:
        return self.loss.lipschitz


def _require_margin(outer: Margin, inner: Margin) -> None:
    outer.require(isinstance(inner, Margin), f"loss must be a loss of the margin such as Hinge(), got {inner!r}")
    levels = 1
    while isinstance(inner, Affine | OnMistakes):
        levels, inner = levels + 1, inner.loss
    outer.require(levels <= MOST_LEVELS, f"a loss is made of another at most {MOST_LEVELS} times, one inside the other")
