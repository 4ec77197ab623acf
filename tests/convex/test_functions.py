"""Functions for games: values, sub-gradients, curvature, and sums folded as far as they go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Absolute, DataError, Hinge, Logistic, PartError, Square
from lowregret.convex import (
    Convex,
    Function,
    LinearFunction,
    NegativeLog,
    QuadraticFunction,
    Regularised,
    ScoreFunction,
)
from lowregret.convex.functions import Sum

D = 3
NONSENSE: Any = 1.0


def functions(seed: int) -> list[Convex]:
    """One of each kind."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=D)
    return [
        LinearFunction(z),
        QuadraticFunction(z, 2.5),
        ScoreFunction(Hinge(), z, -1.0),
        ScoreFunction(Logistic(), z, 1.0),
        ScoreFunction(Absolute(), z, 0.3),
        ScoreFunction(Square(), z, 0.3),
        NegativeLog(np.abs(z) + 0.1),
        Regularised(ScoreFunction(Hinge(), z, 1.0), 0.7),
        Function(lambda w: float(np.max(w)), lambda w: np.eye(D)[int(np.argmax(w))]),
    ]


@given(st.integers(0, 2**31))
@settings(deadline=None, max_examples=60)
def test_subgradients_support_from_below_with_the_stated_curvature(seed: int) -> None:
    rng = np.random.default_rng(seed)
    w, u = rng.dirichlet(np.ones(D)), rng.dirichlet(np.ones(D))  # positive, as NegativeLog needs
    for f in functions(seed):
        below = f.value(w) + f.subgradient(w) @ (u - w) + f.curvature / 2 * np.sum((u - w) ** 2)
        assert f.value(u) >= below - 1e-9 * (1 + abs(below)), f


@given(st.integers(0, 2**31), st.lists(st.integers(0, 8), min_size=1, max_size=12))
@settings(deadline=None, max_examples=40)
def test_sums_are_the_sum(seed: int, kinds: list[int]) -> None:
    chosen = [functions(seed + i)[k] for i, k in enumerate(kinds)]
    total = Sum(D, chosen)
    w = np.random.default_rng(seed).dirichlet(np.ones(D))
    assert total.value(w) == pytest.approx(sum(f.value(w) for f in chosen), rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(total.subgradient(w), sum(f.subgradient(w) for f in chosen), rtol=1e-9, atol=1e-9)
    assert total.curvature == pytest.approx(sum(f.curvature for f in chosen))


def test_linear_and_quadratic_functions_fold_away() -> None:
    total = Sum(
        D, [LinearFunction(np.ones(D)), QuadraticFunction(np.ones(D)), Regularised(LinearFunction(np.ones(D)), 1.0)]
    )
    assert total.rest == []
    assert total.sigma == 2.0


def test_negative_log_is_infinite_where_wealth_ends() -> None:
    assert NegativeLog([1.0, 2.0]).value(np.array([-1.0, 0.0])) == math.inf
    with pytest.raises(DataError, match="⟨w, x⟩ > 0"):
        NegativeLog([1.0, 2.0]).subgradient(np.zeros(2))


@pytest.mark.parametrize(
    ("make", "error", "match"),
    [
        (lambda: LinearFunction([1.0, math.nan]), DataError, r"z\[1\] = nan"),
        (lambda: LinearFunction([]), DataError, "vector"),
        (lambda: LinearFunction([[1.0]]), DataError, "vector"),
        (lambda: LinearFunction("text"), DataError, "numbers"),
        (lambda: QuadraticFunction([1.0], 0.0), PartError, "sigma"),
        (lambda: ScoreFunction(Hinge(), [1.0], 0.5), DataError, "-1 or"),
        (lambda: ScoreFunction(NONSENSE, [1.0]), PartError, "Loss"),
        (lambda: Regularised(LinearFunction([1.0]), -1.0), PartError, "lam"),
        (lambda: Function(NONSENSE, NONSENSE), PartError, "two functions"),
    ],
)
def test_nonsense_is_refused(make: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()


def test_vectors_are_copied_and_frozen() -> None:
    z = np.ones(2)
    f = LinearFunction(z)
    z[0] = 5.0
    assert f.value(np.ones(2)) == 2.0
    with pytest.raises(ValueError, match="read-only"):
        f.z[0] = 5.0
