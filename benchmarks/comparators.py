"""Points that surely lie in a set of comparators, as fractions, for fuzzers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

from benchmarks.exact import Exact
from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Orthant, Point, Simplex


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
