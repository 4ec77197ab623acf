"""Elementary functions at and beyond the ends of the number range."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import exp, log_factorial, norm, power
from lowregret.types import Vector
from tests.strategies import several, vectors, wild

_compiled_log_factorial = kernel(log_factorial)  # from Python it runs interpreted


def same_bits(function: Any, *args: float) -> float:
    """The value, if compiled and interpreted agree to the last bit."""
    compiled, interpreted = function(*args), function.py_func(*args)
    assert struct.pack("d", compiled) == struct.pack("d", interpreted)
    return float(compiled)


@given(st.floats(-1e308, 1e308))
@example(709.7)
@example(709.79)
def test_exp(x: float) -> None:
    value = same_bits(exp, x)
    assert value == (math.exp(x) if x < 709.78 else math.inf if x > 709.79 else value)


@given(st.floats(0, 1e308), st.floats(1, 60))
@example(0.0, 1.0)
@example(1e10, 30.8)
@example(1e10, 30.9)
@example(math.inf, 2.0)
def test_power(x: float, exponent: float) -> None:
    value = same_bits(power, x, exponent)
    try:
        exact = x**exponent
    except OverflowError:
        exact = math.inf
    assert value == exact or exact > 1e307


@given(st.floats(0, 1e6))
@example(0.0)
@example(1.0)
@example(11.0)
def test_log_factorial(y: float) -> None:
    assert same_bits(_compiled_log_factorial, y) == pytest.approx(math.lgamma(y + 1), rel=1e-12, abs=1e-13)


@given(vectors(), st.sampled_from([1.0, 1.5, 2.0, 30.0, math.inf]))
def test_norm_is_the_norm(v: Vector, q: float) -> None:
    scale = np.abs(v).max()
    exact = scale * float(np.sum((np.abs(v) / scale) ** q)) ** (1 / q) if scale > 0 and q < math.inf else scale
    assert norm(v, q) == pytest.approx(exact, rel=1e-13)


@given(wild(), st.sampled_from([1.0, 1.5, 2.0, 30.0, math.inf]))
@example(np.array([1e300, 1e300]), 2.0)
@example(np.array([1e-300, 1e-300]), 30.0)
@example(np.array([5e-324]), 2.0)
@example(np.array([0.0]), 2.0)
def test_norm_never_leaves_the_range(v: Vector, q: float) -> None:
    largest = float(np.abs(v).max())
    assert largest <= norm(v, q) * (1 + 1e-12)
    assert norm(v, q) <= largest * v.size * (1 + 1e-12)
    assert norm(v / 2, q) == pytest.approx(norm(v, q) / 2, rel=1e-12, abs=1e-320)


def test_norm_of_what_is_not_finite() -> None:
    assert norm(np.array([1.0, math.inf])) == math.inf
    assert math.isnan(norm(np.array([1.0, math.nan])))
    assert norm(np.empty(0)) == 0.0


@given(several(2), st.sampled_from([1.0, 1.7, 2.0, 5.0, math.inf]))
def test_triangle_inequality(both: tuple[Vector, Vector], q: float) -> None:
    u, v = both
    assert norm(u + v, q) <= norm(u, q) + norm(v, q) + 1e-12 * (1 + norm(u, q) + norm(v, q))
