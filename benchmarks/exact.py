"""Losses of scores, forecasts and classes as they are defined, for fuzzers: the one oracle of all of them.

Numbers are fractions, exact throughout but for exponentials and logarithms, which have 150 digits, or, where many
points are tried, decimals with as many digits as their context has.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from typing import Any, TypeVar

from lowregret.experts import BinaryLogScore, LogScore, Percentage, SymmetricPercentage
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    LogWealth,
    MultiHinge,
    OnMistakes,
    PerceptronLoss,
    Poisson,
    Quantile,
    Softmax,
    Square,
    SquaredHinge,
)

Exact = list[Fraction]
Decimals = list[Decimal]
Number = TypeVar("Number", Fraction, Decimal)

DIGITS = 150
CONTEXT = Context(prec=DIGITS, Emin=-999_999, Emax=999_999)
EPSILON = 2.0**-52
FAR = 10**4  # beyond it powers of e are 0, or without end, for all that is compared
NEAR = Decimal("1e-40")  # to 0: there ln(1 + x) is x − x²/2, but for a share of x²
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
BERNOULLI = (
    *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)),
    *((854513, 138), (-236364091, 2730)),
)  # B_2, B_4, …


# ---- numbers --------------------------------------------------------------------------------------------------------


def exact(value: Any) -> Fraction:
    """A float as the fraction that it is."""
    return value if isinstance(value, Fraction) else Fraction(float(value))


def decimals(values: Any) -> Decimals:
    """Floats as the decimals that they are."""
    return [Decimal(float(v)) for v in values]


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Σ of decimals"""
    return sum(numbers, Decimal(0))


def inner(a: Exact, b: Exact) -> Fraction:
    """⟨a, b⟩"""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def exp(x: Number) -> Number:
    """e^x, 0 where it is too small to matter, and no more than e^FAR."""
    if x < -FAR:
        return type(x)(0)
    x = min(x, type(x)(FAR))
    return x.exp() if isinstance(x, Decimal) else Fraction(CONTEXT.exp(_decimal(x)))


def log(x: Number) -> Number:
    """ln x, x > 0."""
    return x.ln() if isinstance(x, Decimal) else log_one_and(x - 1)


def log_one_and(x: Number) -> Number:
    """ln(1 + x), x > −1, where 1 + x may be 1 but for more digits than are kept."""
    if abs(x) < type(x)(NEAR):
        return x - x * x / 2
    return (1 + x).ln() if isinstance(x, Decimal) else Fraction(CONTEXT.ln(_decimal(1 + x)))


def _decimal(x: Fraction) -> Decimal:
    return CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))


def softplus(x: Number) -> Number:
    """ln(1 + e^x)"""
    return max(x, type(x)(0)) + log_one_and(exp(-abs(x)))


def log_gamma(x: Number) -> Number:
    """ln Γ(x), x > 0, to some 40 digits, and the same for the same x."""
    if isinstance(x, Decimal):
        return _stirling(x)
    with localcontext(CONTEXT):
        return Fraction(_stirling(_decimal(x)))


def _stirling(x: Decimal) -> Decimal:
    """ln Γ(x), x > 0: Stirling's series beyond 60."""
    product = Decimal(1)
    while x < 60:
        product, x = product * x, x + 1
    series = Decimal(0)
    for k, (top, bottom) in enumerate(BERNOULLI, start=1):
        series += Decimal(top) / bottom / (2 * k * (2 * k - 1) * x ** (2 * k - 1))
    return (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + series - product.ln()


def near(shown: float, wanted: Fraction, size: Fraction, terms: int) -> bool:
    """Whether a sum of so many terms, whose absolute values sum to `size`, is shown but for its rounding."""
    if not math.isfinite(shown):
        return False
    return abs(exact(shown) - wanted) <= 8 * exact(EPSILON) * (terms + 16) * size


# ---- losses ---------------------------------------------------------------------------------------------------------


def loss_at(loss: Any, p: Number, y: Number, played: Number | None = None) -> Number:
    """ℓ(p, y); `played` is the score of the run, if p is not, which settles whether the round is one that counts.

    Where it is infinite it is an infinite decimal, or an `OverflowError` of fractions.
    """
    of, gap = type(p), abs(p - y)
    match loss:
        case Square():
            return gap * gap
        case Absolute():
            return gap
        case Quantile(tau):
            return max(of(tau) * (y - p), (1 - of(tau)) * (p - y))
        case Huber(delta):
            wide = of(delta)
            return gap * gap / 2 if gap <= wide else wide * (gap - wide / 2)
        case EpsilonInsensitive(epsilon):
            return max(gap - of(epsilon), of(0))
        case Poisson():
            return exp(p) - y * p + log_gamma(y + 1)
        case Cost():
            return p * y
    if isinstance(loss, Percentage | SymmetricPercentage | LogWealth | LogScore | BinaryLogScore):
        return _of_forecast(loss, p, y)
    return _of_margin(loss, p, y, p if played is None else played)


def _of_margin(loss: Any, p: Number, y: Number, played: Number) -> Number:
    of = type(p)
    match loss:
        case Hinge(margin):
            return max(of(margin) - y * p, of(0))
        case SquaredHinge():
            return max(1 - y * p, of(0)) ** 2
        case Logistic():
            return softplus(-y * p)
        case Affine(within, slope, offset):
            moved, own = (of(slope) * q + of(offset) for q in (p, played))
            return loss_at(within, moved, y, own)
        case OnMistakes(within):
            return loss_at(within, p, y, played) if loss.wrong(float(played), float(y)) else of(0)
    raise NotImplementedError(f"{loss} in exact arithmetic")


def _of_forecast(loss: Any, p: Number, y: Number) -> Number:
    of, gap = type(p), abs(p - y)
    match loss:
        case Percentage():
            return 100 * gap / abs(y)
        case SymmetricPercentage():
            return 200 * gap / (abs(p) + abs(y)) if p or y else of(0)
        case LogWealth():
            return _surprise(p)
        case LogScore():
            return _surprise(p) if y else of(0)
    return _surprise(p if y else 1 - p)


def _surprise(chance: Number) -> Number:
    return -log(chance) if chance > 0 else type(chance)(math.inf)


def total_loss(loss: Any, p: Sequence[Any], y: Sequence[Any]) -> Fraction:
    """Σ_k ℓ(p[k], y[k]) over the parts of a forecast."""
    return sum((loss_at(loss, exact(a), exact(b)) for a, b in zip(p, y, strict=True)), Fraction(0))


def multi_loss_at(loss: Any, s: Exact, y: int, played: Exact) -> Fraction:
    """φ(s, y) of many scores; those that were played settle which class the Perceptron took for the highest."""
    match loss:
        case MultiHinge():
            return max(v - s[y] + (k != y) for k, v in enumerate(s))
        case PerceptronLoss():
            guess = played.index(max(played))
            return max(1 - s[y] + s[guess], Fraction(0)) if guess != y else Fraction(0)
        case Softmax():
            top = max(s)
            return top - s[y] + log(sum((exp(v - top) for v in s), Fraction(0)))
    raise NotImplementedError(f"{loss} in exact arithmetic")
