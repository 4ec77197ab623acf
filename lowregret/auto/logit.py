"""A step of eight lanes on the logistic loss."""

from __future__ import annotations

import math

import numpy as np

from lowregret.compile.simd import Eight, between, larger, smaller, spread, total

CERTAIN = 30.0  # scores are kept within ±this: no expert is surer than 1 − 10⁻¹³
FLAT = 1e-4  # least curvature that the filters believe in
CLOSE = np.float32(0.03)  # the last step of Halley's method: what is left is a cube of that

_NIL, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)
_HALF, _SIXTH, _TWENTY_FOURTH = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_HUNDRED_TWENTIETH = np.float32(1 / 120)
_SHRINK = np.float32(1 / 128)
_C = tuple(1 / math.factorial(n) for n in range(12))


def logistic(u: Eight) -> Eight:
    """1/(1 + e^u), to 10⁻⁴ for |u| ≤ 30: e^u is a polynomial at u/128, squared seven times."""
    y = u * _SHRINK
    square = y * y
    e = (_ONE + y) + square * (_HALF + y * _SIXTH) + square * square * (_TWENTY_FOURTH + y * _HUNDRED_TWENTIETH)
    for _ in range(7):
        e = e * e
    return _ONE / (_ONE + e)


def exponential(u: Eight) -> Eight:
    """e^u for −40 ≤ u ≤ 0 in double precision, to 10⁻¹²: a polynomial at u/128, squared seven times."""
    y = u / 128.0
    y2 = y * y
    y4 = y2 * y2
    high = (_C[8] + y * _C[9]) + y2 * (_C[10] + y * _C[11])
    middle = (_C[4] + y * _C[5]) + y2 * (_C[6] + y * _C[7])
    e = (1.0 + y) + y2 * (_C[2] + y * _C[3]) + y4 * (middle + y4 * high)
    for _ in range(7):
        e = e * e
    return e


def implicit(m: Eight, mu: Eight) -> Eight:
    """σ(−z) at the root z of z = m + μσ(−z), μ ≥ 0, by Halley's method, to a thousandth for μ ≤ 10⁴."""
    z = beginning(m, mu)
    s = logistic(z)
    for _ in range(12):
        step = halley(m, mu, z, s)
        z = z - step
        s = logistic(z)
        if total(abs(step)) < CLOSE:
            break
    return s


def both_implicit(m: Eight, mu: Eight, n: Eight, nu: Eight) -> tuple[Eight, Eight]:
    """`implicit(m, mu)` and `implicit(n, nu)`, side by side in the time of one."""
    z, v = beginning(m, mu), beginning(n, nu)
    s, r = logistic(z), logistic(v)
    for _ in range(12):
        step, other = halley(m, mu, z, s), halley(n, nu, v, r)
        z, v = z - step, v - other
        s, r = logistic(z), logistic(v)
        if total(abs(step) + abs(other)) < CLOSE:
            break
    return s, r


def beginning(m: Eight, mu: Eight) -> Eight:
    """A point that z is not below, since σ(−z) ≥ ½ up to 0."""
    return larger(m, smaller(m + mu * _HALF, spread(_NIL)))


def halley(m: Eight, mu: Eight, z: Eight, s: Eight) -> Eight:
    """A step for z − m − μσ(−z) = 0, to be taken off z."""
    excess, bend = z - m - mu * s, mu * (s * (_ONE - s))
    slope = _ONE + bend
    return _TWO * (excess * slope) / (_TWO * (slope * slope) + excess * bend * (_ONE - _TWO * s))


def margins(p: Eight, y: float) -> Eight:
    """y·p, kept within ±CERTAIN."""
    return between(p * np.float32(y), spread(np.float32(CERTAIN)))


def slopes(p: Eight, y: float, weight: float) -> Eight:
    """The slopes of the loss at the lanes' scores, negated by the label."""
    return logistic(margins(p, y)) * np.float32(weight)


def bends(s: Eight, weight: float) -> Eight:
    """The curvature of the loss where σ(−z) = s."""
    return larger(s * (_ONE - s), spread(np.float32(FLAT))) * np.float32(weight)
