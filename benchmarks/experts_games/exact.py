"""Losses, regrets and wealth of forecasts in exact arithmetic: fractions, and logarithms to sixty digits."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

from lowregret import Absolute, Quantile, Square
from lowregret.experts import BinaryLogScore, LogScore, Percentage, SymmetricPercentage
from lowregret.loss import LogWealth, Loss

EPSILON = 2.0**-52
DIGITS = Context(prec=60, Emin=-999999, Emax=999999)
NEAR = Fraction(1, 10**20)  # to 1: there ln(1 + x) is x − x²/2, but for a share of x²/2


def exact(value: Any) -> Fraction:
    """A float as the fraction that it is."""
    return value if isinstance(value, Fraction) else Fraction(float(value))


def logarithm(value: Fraction) -> Fraction:
    """ln of a fraction above 0."""
    if abs(value - 1) < NEAR:  # which has more digits than a quotient keeps
        return (value - 1) - (value - 1) ** 2 / 2
    quotient = DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))
    return Fraction(DIGITS.ln(quotient))


def loss_of(loss: Loss, p: Any, y: Any) -> Fraction:
    """ℓ(p, y) of one number; `OverflowError` where it is infinite."""
    p, y = exact(p), exact(y)
    apart = p - y
    match loss:
        case Square():
            return apart * apart
        case Absolute():
            return abs(apart)
        case Quantile(tau):
            return exact(tau) * -apart if apart < 0 else (1 - exact(tau)) * apart
        case Percentage():
            return 100 * abs(apart) / abs(y)
        case SymmetricPercentage():
            return 200 * abs(apart) / (abs(p) + abs(y)) if p or y else Fraction(0)
        case LogWealth():
            return _surprise(p)
        case LogScore():
            return _surprise(p) if y else Fraction(0)
        case BinaryLogScore():
            return _surprise(p if y else 1 - p)
    raise TypeError(f"no exact form of {loss!r}")


def _surprise(chance: Fraction) -> Fraction:
    if chance <= 0:
        raise OverflowError("the loss is infinite")
    return -logarithm(chance)


def total_of(loss: Loss, p: Sequence[Any], y: Sequence[Any]) -> Fraction:
    """Σ_k ℓ(p[k], y[k]) over the parts of a forecast."""
    return sum((loss_of(loss, a, b) for a, b in zip(p, y, strict=True)), Fraction(0))


def near(shown: float, wanted: Fraction, size: Fraction, terms: int) -> bool:
    """Whether a sum of so many terms, whose absolute values sum to `size`, is shown but for its rounding."""
    if not math.isfinite(shown):
        return False
    return abs(exact(shown) - wanted) <= 8 * exact(EPSILON) * (terms + 16) * size


def remaining(weights: Sequence[Any], holdings: Sequence[Any], cost: Any) -> Fraction:
    """μ with μ + cΣ|μw − h| = 1, by bisection among the places where a term turns."""
    w, h, c = [exact(v) for v in weights], [exact(v) for v in holdings], exact(cost)

    def rest(mu: Fraction) -> Fraction:
        return mu - 1 + c * sum((abs(mu * a - b) for a, b in zip(w, h, strict=True)), Fraction(0))

    ends = sorted({Fraction(0), Fraction(1), *(b / a for a, b in zip(w, h, strict=True) if a and 0 < b / a < 1)})
    for low, high in itertools.pairwise(ends):
        if rest(low) <= 0 <= rest(high):
            return low - rest(low) * (high - low) / (rest(high) - rest(low)) if rest(high) != rest(low) else low
    raise ArithmeticError("no share of wealth remains")
