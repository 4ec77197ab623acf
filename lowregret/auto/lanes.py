"""Arithmetic on eight numbers at once, as tuples: the compiler makes one or two vector instructions of each line."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from lowregret.state import Cells, Index

LANES = 8
Eight: TypeAlias = Any  # a tuple of eight numbers of one kind, float32 for lanes

_ONE, _HALF, _SIXTH, _TWENTY_FOURTH = (np.float32(1 / n) for n in (1, 2, 6, 24))
_SHRINK = np.float32(1 / 128)
_TINY = np.float32(1e-30)  # keeps 1/√0 finite; what it stands for is multiplied by 0


def load(a: Cells, at: Index) -> Eight:
    """a[at], …, a[at+7]"""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    b = at + four
    return (a[at], a[at + one], a[at + two], a[at + three], a[b], a[b + one], a[b + two], a[b + three])


def store(a: Cells, at: Index, v: Eight) -> None:
    """a[at], …, a[at+7] = v"""
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    b = at + four
    a[at], a[at + one], a[at + two], a[at + three] = v[0], v[1], v[2], v[3]
    a[b], a[b + one], a[b + two], a[b + three] = v[4], v[5], v[6], v[7]


def times(u: Eight, v: Eight) -> Eight:
    """u·v"""
    return (u[0] * v[0], u[1] * v[1], u[2] * v[2], u[3] * v[3], u[4] * v[4], u[5] * v[5], u[6] * v[6], u[7] * v[7])


def plus(u: Eight, v: Eight) -> Eight:
    """u + v"""
    return (u[0] + v[0], u[1] + v[1], u[2] + v[2], u[3] + v[3], u[4] + v[4], u[5] + v[5], u[6] + v[6], u[7] + v[7])


def inverse(u: Eight) -> Eight:
    """1/u"""
    i = _ONE
    return (i / u[0], i / u[1], i / u[2], i / u[3], i / u[4], i / u[5], i / u[6], i / u[7])


def half_root(u: Eight) -> Eight:
    """√(u + tiny) of the first four, the others as they are"""
    e = _TINY
    return (np.sqrt(u[0] + e), np.sqrt(u[1] + e), np.sqrt(u[2] + e), np.sqrt(u[3] + e), u[4], u[5], u[6], u[7])


def minus(u: Eight, v: Eight) -> Eight:
    """u − v"""
    return (u[0] - v[0], u[1] - v[1], u[2] - v[2], u[3] - v[3], u[4] - v[4], u[5] - v[5], u[6] - v[6], u[7] - v[7])


def over(u: Eight, v: Eight) -> Eight:
    """u/v"""
    return (u[0] / v[0], u[1] / v[1], u[2] / v[2], u[3] / v[3], u[4] / v[4], u[5] / v[5], u[6] / v[6], u[7] / v[7])


def all_of(a: Any) -> Eight:
    """a, eight times"""
    return (a, a, a, a, a, a, a, a)


def at_least(u: Eight, a: Any) -> Eight:
    """max(u, a)"""
    return (
        u[0] if u[0] > a else a,
        u[1] if u[1] > a else a,
        u[2] if u[2] > a else a,
        u[3] if u[3] > a else a,
        u[4] if u[4] > a else a,
        u[5] if u[5] > a else a,
        u[6] if u[6] > a else a,
        u[7] if u[7] > a else a,
    )


def logistic(u: Eight) -> Eight:
    """1/(1 + e^u), to a thousandth for |u| ≤ 40: e^u is a polynomial at u/128, squared seven times."""
    y = times(u, all_of(_SHRINK))
    square = times(y, y)
    e = plus(plus(all_of(_ONE), y), times(square, plus(all_of(_HALF), times(y, all_of(_SIXTH)))))
    e = plus(e, times(times(square, square), all_of(_TWENTY_FOURTH)))
    for _ in range(7):
        e = times(e, e)
    return inverse(plus(all_of(_ONE), e))


def implicit(m: Eight, mu: Eight) -> Eight:
    """σ(−z) at the root z of z = m + μσ(−z), μ ≥ 0: Halley's method from max(m, 0), to 2·10⁻⁴ for μ ≤ 10⁴."""
    one, two = all_of(_ONE), all_of(np.float32(2))
    z = at_least(m, np.float32(0))
    s = logistic(z)
    for _ in range(5):
        excess = minus(minus(z, m), times(mu, s))
        bend = times(mu, times(s, minus(one, s)))
        slope = plus(one, bend)
        turn = times(times(excess, bend), minus(one, times(two, s)))
        z = minus(z, over(times(two, times(excess, slope)), plus(times(two, times(slope, slope)), turn)))
        s = logistic(z)
    return s


def between(u: Eight, a: Any) -> Eight:
    """u, kept within ±a"""
    return minus(all_of(np.float32(0)), at_least(minus(all_of(np.float32(0)), at_least(u, -a)), -a))


def root(u: Eight) -> Eight:
    """√u"""
    return (
        np.sqrt(u[0]),
        np.sqrt(u[1]),
        np.sqrt(u[2]),
        np.sqrt(u[3]),
        np.sqrt(u[4]),
        np.sqrt(u[5]),
        np.sqrt(u[6]),
        np.sqrt(u[7]),
    )


def size(u: Eight) -> Eight:
    """|u|"""
    return (abs(u[0]), abs(u[1]), abs(u[2]), abs(u[3]), abs(u[4]), abs(u[5]), abs(u[6]), abs(u[7]))


def where_above(a: Eight, b: Eight, u: Eight, v: Eight) -> Eight:
    """u where a > b, else v"""
    return (
        u[0] if a[0] > b[0] else v[0],
        u[1] if a[1] > b[1] else v[1],
        u[2] if a[2] > b[2] else v[2],
        u[3] if a[3] > b[3] else v[3],
        u[4] if a[4] > b[4] else v[4],
        u[5] if a[5] > b[5] else v[5],
        u[6] if a[6] > b[6] else v[6],
        u[7] if a[7] > b[7] else v[7],
    )


def single(u: Eight) -> Eight:
    """u in single precision"""
    one, two, three, four = np.float32(u[0]), np.float32(u[1]), np.float32(u[2]), np.float32(u[3])
    return (one, two, three, four, np.float32(u[4]), np.float32(u[5]), np.float32(u[6]), np.float32(u[7]))


def total(u: Eight) -> float:
    """Their sum, in an order of addition that never changes."""
    return float(((u[0] + u[4]) + (u[2] + u[6])) + ((u[1] + u[5]) + (u[3] + u[7])))
