"""Losses and sets of comparators in exact arithmetic, for fuzzers: rational numbers throughout.

Exponentials and logarithms are taken to 150 digits, far more than any certificate depends on.
"""

from __future__ import annotations

import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Orthant, Point, Simplex
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
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
DIGITS = 150
FAR = 10**4  # where e^−x is less than anything that is compared


def inner(a: Exact, b: Exact) -> Fraction:
    """⟨a, b⟩"""
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def exp(x: Fraction) -> Fraction:
    """e^x, 0 where it is too small to matter, and no more than e^FAR."""
    if x < -FAR:
        return Fraction(0)
    x = min(x, Fraction(FAR))
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def log(x: Fraction) -> Fraction:
    """ln x"""
    with localcontext() as context:
        context.prec = DIGITS
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).ln())


def softplus(x: Fraction) -> Fraction:
    """ln(1 + e^x)"""
    return max(x, Fraction(0)) + log(1 + exp(-abs(x)))


def exact_loss(loss: Any, p: Fraction, y: Fraction, played: Fraction) -> Fraction:
    """ℓ(p, y); `played` is the score of the run, which settles whether the round is one that counts."""
    gap = abs(p - y)
    match loss:
        case Square():
            return gap * gap
        case Absolute():
            return gap
        case Quantile(tau):
            return (y - p) * Fraction(tau) if p < y else (p - y) * Fraction(1.0 - tau)
        case Huber(delta):
            wide = Fraction(delta)
            return gap * gap / 2 if gap <= wide else wide * (gap - wide / 2)
        case EpsilonInsensitive(epsilon):
            return max(gap - Fraction(epsilon), Fraction(0))
        case Poisson():  # without ln y!, which no difference sees
            return exp(p) - y * p
        case Cost():
            return p * y
    return _of_margin(loss, p, y, played)


def _of_margin(loss: Any, p: Fraction, y: Fraction, played: Fraction) -> Fraction:
    match loss:
        case Hinge(margin):
            return max(Fraction(margin) - y * p, Fraction(0))
        case SquaredHinge():
            return max(1 - y * p, Fraction(0)) ** 2
        case Logistic():
            return softplus(-y * p)
        case Affine(within, slope, offset):
            moved = (Fraction(slope) * q + Fraction(offset) for q in (p, played))
            return exact_loss(within, next(moved), y, next(moved))
        case OnMistakes(within):
            return exact_loss(within, p, y, played) if loss.wrong(float(played), float(y)) else Fraction(0)
    raise NotImplementedError(f"{loss} in exact arithmetic")


def exact_multi_loss(loss: Any, s: Exact, y: int, played: Exact) -> Fraction:
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


def points_of(r: random.Random, where: Domain, d: int, theta: Any) -> list[Exact]:
    """Points that surely lie in a set: towards θ, towards corners, and at random."""
    ways = [] if theta is None or not all(map(math.isfinite, theta)) else [theta.tolist()]
    ways += [[r.choice([-1.0, 1.0]) * (j == k) for j in range(d)] for k in range(d)]
    ways += [[r.gauss(0, 1) for _ in range(d)] for _ in range(6)]
    shares = [Fraction(1) if k < 1 + d else Fraction(r.random()) for k in range(len(ways))]
    return [_towards(where, [Fraction(v) for v in way], share) for way, share in zip(ways, shares, strict=True)]


def _towards(where: Domain, way: Exact, share: Fraction) -> Exact:
    """A point of the set in this direction, on its border if `share` is 1."""
    match where:
        case L2Ball(radius):
            return _scaled(way, share * Fraction(radius), 2.0)
        case L1Ball(radius):
            top = max(way, key=abs)
            corner = [Fraction((1 if v > 0 else -1) * (j == way.index(top))) for j, v in enumerate(way)]
            return _scaled(corner if share == 1 else way, share * Fraction(radius), 1.0)
        case LqBall(radius, q):
            return _scaled(way, share * Fraction(radius), q)
        case Simplex(total):
            ends: Exact = [Fraction(j == way.index(max(way))) for j in range(len(way))]
            mixed: Exact = [share * c + (1 - share) / len(way) for c in ends]
            return [Fraction(total) * v for v in mixed]
        case Box(low, high):
            sides = [high if v > 0 else low for v in way]
            return [Fraction(float(side[j % side.size])) for j, side in enumerate(sides)]
        case Point(u):
            return [Fraction(float(v)) for v in u]
        case Orthant():
            return [max(v, Fraction(0)) for v in way]
    return [v * 3 * share for v in way]


def _scaled(way: Exact, radius: Fraction, q: float) -> Exact:
    """The way at a norm ‖·‖_q of at most this radius."""
    top = max(map(abs, way))
    if top == 0:
        return way
    unit = [v / top for v in way]
    if q == 1:
        return [radius * v / sum(map(abs, unit), Fraction(0)) for v in unit]
    length = sum(float(abs(v)) ** q for v in unit) ** (1 / q) * (1 + 1e-14)
    return [radius * v / Fraction(length) for v in unit]
