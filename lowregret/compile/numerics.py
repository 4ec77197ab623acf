"""Elementary functions that never raise and never lose their range: out of it they are 0 or inf, and the interpreted
and the compiled result are the same to the last bit."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.types import Vector

_LOG_MAX = math.log(sys.float_info.max) - 1e-9
ROOT_STEPS = 60  # far more than Newton's method needs
TOLERANCE = 1e-9  # of what is compared, never of 1: nobody knows the units
EPSILON = 2.0**-53  # by how much a number may be off, relative to it, after one operation
FAINT = 1e-142  # a length whose square, though 1e20 such are summed, is known to ten digits
_SPLIT = 2.0**27 + 1.0  # times a number, less what that adds: its upper 26 bits
_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


@kernel
def exp(x: float) -> float:
    """e^x"""
    return math.exp(x) if x <= _LOG_MAX else math.inf


@kernel
def power(x: float, exponent: float) -> float:
    """x^exponent for x ≥ 0, exponent > 0."""
    if exponent * (x - 1.0) < _LOG_MAX or exponent * math.log(x) < _LOG_MAX:  # ln x ≤ x − 1 spares most logarithms
        return x**exponent
    return math.inf


def log_factorial(y: float) -> float:
    """ln y! = ln Γ(y + 1), y ≥ 0: Stirling's series at x ≥ 12, where it is exact to rounding.

    (`math.lgamma` is not the same function interpreted and compiled.)
    """
    x, product = y + 1.0, 1.0
    while x < 12.0:
        product *= x
        x += 1.0
    r = 1.0 / (x * x)
    series = (1.0 / 12.0 - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r / 1188.0)))) / x
    return (x - 0.5) * math.log(x) - x + _HALF_LOG_TWO_PI + series - math.log(product)


@kernel
def difference_error(a: float, b: float, r: float) -> float:
    """The exact difference (a − b) − r, where r is a − b rounded (Knuth); 0 where that overflows."""
    moved = r - a
    error = (a - (r - moved)) - (b + moved)
    return error if abs(error) < math.inf else 0.0


@kernel
def sum_error(a: float, b: float, r: float) -> float:
    """The exact difference (a + b) − r, where r is a + b rounded (Knuth); 0 where that overflows."""
    return difference_error(a, -b, r)


@kernel
def product_error(a: float, b: float, r: float) -> float:
    """The exact difference a·b − r, where r is a·b rounded (Dekker); 0 where that overflows or underflows."""
    a_high, b_high = _SPLIT * a, _SPLIT * b
    a_high, b_high = a_high - (a_high - a), b_high - (b_high - b)
    a_low, b_low = a - a_high, b - b_high
    error = a_low * b_low - (((r - a_high * b_high) - a_low * b_high) - a_high * b_low)
    return error if abs(error) < math.inf else 0.0


@kernel
def margin_gap(cost: float, own: float, other: float) -> float:
    """cost − (own − other), of the right sign however large the two scores are."""
    r = other - own
    return (cost + r) + difference_error(other, own, r)


@kernel
def xlogx(x: float) -> float:
    """x·ln x for x ≥ 0, 0 at 0."""
    return x * math.log(x) if x > 0.0 else 0.0


@kernel
def logistic(x: float) -> float:
    """1/(1 + e^{−x})"""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


@kernel
def logit_root(m: float, mu: float) -> float:
    """The root z of z = m + μ/(1 + e^z), μ ≥ 0, in [m, m + μ]: Newton's method, halving where it leaves the bracket."""
    low, high = m, m + mu
    z = m + mu * logistic(-m) / (1.0 + mu * 0.25) if mu > 0.0 else m
    for _ in range(ROOT_STEPS):
        if not low < high:
            break
        s = logistic(-z)
        excess = z - m - mu * s
        if excess > 0.0:
            high = z
        else:
            low = z
        step = excess / (1.0 + mu * s * (1.0 - s))
        if abs(step) <= 1e-15 * (abs(z) + 1.0):
            break
        z = z - step if low < z - step < high else 0.5 * (low + high)
    return z


@kernel
def poisson_root(v: float, mu: float) -> float:
    """The root q of q + μe^q = v, μ ≥ 0: Newton's method from above, where it descends to the root."""
    if mu == 0.0:
        return v
    q = min(v, math.log(v / mu) if v > mu else 0.0)
    for _ in range(ROOT_STEPS):
        mean = mu * exp(q)
        step = (q + mean - v) / (1.0 + mean)
        q -= step
        if abs(step) <= 1e-15 * (abs(q) + 1.0):
            break
    return q


def at_most(a: float, b: float, *terms: float) -> bool:
    """Whether a ≤ b but for rounding: a billionth of the largest of these numbers and the terms they are made of."""
    return a <= b or (-math.inf < b and a - b <= TOLERANCE * max(abs(a), abs(b), *map(abs, terms)) < math.inf)


def summed(values: Sequence[float] | Vector) -> float:
    """The sum of numbers, rounded once; as NumPy adds them where one of them, or their sum, is not finite."""
    try:
        return math.fsum(values)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return float(np.sum(values))


def raised(value: float, more: float) -> float:
    """value + more ≥ value, rounded up: the sum of the two numbers is not above it."""
    return math.nextafter(value + more, math.inf) if more else value


def norm(v: Vector, q: float = 2.0) -> float:
    """‖v‖_q without overflow or underflow on the way."""
    sizes = np.abs(v)
    size = float(sizes.max(initial=0.0))
    if size == 0.0 or q == math.inf or not math.isfinite(size):
        return size
    return size * float(np.linalg.norm(sizes / size, q))


def norms(rows: Vector) -> Vector:
    """‖v‖₂ of each row without overflow or underflow on the way: units are powers of two, which round nothing."""
    sizes = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.ldexp(1.0, np.clip(np.frexp(sizes)[1], -1000, 1000))
    return np.asarray(unit * np.linalg.norm(rows / unit[:, None], axis=1))


def squared_over(x: float, y: float) -> float:
    """x²/y for y > 0, also where x² alone is no number, or too small to be one."""
    return x * (x / y)


def squared(x: float) -> float:
    """x², infinite where that is no number: x**2 of Python's own numbers is an `OverflowError` there."""
    return x * x
