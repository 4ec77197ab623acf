"""Elementary functions that never raise and never lose their range: out of it they are 0 or inf, and the interpreted
and the compiled result are the same to the last bit."""

from __future__ import annotations

import math
import sys

import numpy as np

from lowregret.kernel import kernel
from lowregret.state import Vector

_LOG_MAX = math.log(sys.float_info.max) - 1e-9
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


@kernel
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


def norm(v: Vector, q: float = 2.0) -> float:
    """‖v‖_q without overflow or underflow on the way."""
    size = float(np.max(np.abs(v), initial=0.0))
    if size == 0.0 or not math.isfinite(size):
        return size
    return size * float(np.linalg.norm(np.asarray(v) / size, q))
