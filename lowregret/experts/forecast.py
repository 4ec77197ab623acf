"""Losses of forecasts. A forecast is one number, or one for each class; its loss is the sum over these.

The losses of scores serve as they are: `Square()` of one number is the squared error, of the probabilities of classes,
with the outcome as 0s and a 1, it is the Brier score; likewise `Absolute()`, `Quantile(0.9)` or one of your own.
"""

from __future__ import annotations

import math
from typing import ClassVar

from lowregret.loss import Loss


class Percentage(Loss):
    """ℓ = 100·|p − y|/|y|, whose mean is the MAPE"""

    labels: ClassVar[str] = "a finite number other than 0"

    def accepts(self, y: float) -> bool:
        return y != 0.0 and math.isfinite(y)

    def at(self, p: float, y: float) -> tuple[float, float]:
        r, unit = p - y, 100.0 / abs(y)
        return abs(r) * unit, unit if r > 0.0 else (-unit if r < 0.0 else 0.0)


class SymmetricPercentage(Loss):
    """ℓ = 200·|p − y|/(|p| + |y|), 0 if both are 0, whose mean is the sMAPE: not convex in p, so nothing is proved

    Beyond y it bends down: where 1 comes, the forecasts 2 and 8 lose 66.7 and 155.6, 111.1 in the mean, and their mean,
    5, loses 133.3. So a mixture may owe its experts any amount. `Drawing`, which follows one of them, may not.
    """

    def at(self, p: float, y: float) -> tuple[float, float]:
        size = abs(p) + abs(y)
        if size == 0.0:
            return 0.0, 0.0
        apart = abs(p - y)
        if p * y <= 0.0:
            return 200.0 * apart / size, 0.0
        bend = 400.0 * abs(y) / (size * size)
        return 200.0 * apart / size, bend if p > y else (-bend if p < y else 0.0)

    @property
    def convex(self) -> bool:
        return False


class LogScore(Loss):
    """ℓ = −y ln p, for the probability p of a class that came (y = 1) or not (0): summed over classes, the log loss"""

    labels: ClassVar[str] = "0 or 1"

    def accepts(self, y: float) -> bool:
        return y in (0.0, 1.0)

    def at(self, p: float, y: float) -> tuple[float, float]:
        if y == 0.0:
            return 0.0, 0.0
        return (-math.log(p), -1.0 / p) if p > 0.0 else (math.inf, -math.inf)


class BinaryLogScore(Loss):
    """ℓ = −y ln p − (1 − y) ln(1 − p): the log loss of one probability of a yes (1) or no (0)"""

    labels: ClassVar[str] = "0 or 1"

    def accepts(self, y: float) -> bool:
        return y in (0.0, 1.0)

    def at(self, p: float, y: float) -> tuple[float, float]:
        likely = p if y == 1.0 else 1.0 - p
        if likely <= 0.0:
            return math.inf, -math.inf if y == 1.0 else math.inf
        return (-math.log(p), -1.0 / p) if y == 1.0 else (-math.log1p(-p), 1.0 / likely)
