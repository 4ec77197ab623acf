"""The best fixed choice on all of R^d without a ridge: near a linear program's, with a gap that is a proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from lowregret.domain import Reals
from lowregret.hindsight.best import best_in_hindsight
from lowregret.hindsight.level import _from_slopes, balanced
from lowregret.hindsight.objective import Objective
from lowregret.loss import Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Loss, Quantile, Square
from lowregret.rows import as_rows

KINKED: list[Loss] = [Hinge(), Absolute(), Quantile(0.9), EpsilonInsensitive(0.2)]


def stream(n: int, d: int, seed: int, signs: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.standard_t(2, size=n)
    return X, np.where(y > 0, 1.0, -1.0) if signs else y


def by_program(loss: Loss, X: Any, y: Any) -> float:
    """min Σ of the losses' excesses over their pieces, as a linear program."""
    n, d = X.shape
    pieces: list[tuple[Any, Any]] = {  # ℓ ≥ slope·p + offset
        "Hinge": [(-y, np.ones(n))],
        "Absolute": [(np.ones(n), -y), (-np.ones(n), y)],
        "Quantile": [(np.full(n, 0.1), -0.1 * y), (np.full(n, -0.9), 0.9 * y)],
        "EpsilonInsensitive": [(np.ones(n), -y - 0.2), (-np.ones(n), y - 0.2)],
    }[type(loss).__name__]
    above = np.vstack([np.c_[s[:, None] * X, -np.eye(n)] for s, _ in pieces])
    found = linprog(
        np.r_[np.zeros(d), np.ones(n)], above, -np.concatenate([b for _, b in pieces]),
        bounds=[(None, None)] * d + [(0, None)] * n,
    )  # fmt: skip
    assert found.fun is not None
    return float(found.fun)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_kinks_without_a_ridge_reach_the_gap(loss: Loss, seed: int) -> None:
    X, y = stream(150, 4, seed, isinstance(loss, Hinge))
    found, exact = best_in_hindsight(loss, X, y, Reals()), by_program(loss, X, y)
    assert found.gap <= 1e-6 * (1 + abs(found.value))
    assert found.value - found.gap <= exact + 1e-7 * (1 + exact)
    assert found.value >= exact - 1e-7 * (1 + exact)


@pytest.mark.parametrize("loss", [Huber(1e-3), Huber(1e-6), Logistic()], ids=repr)
def test_smooth_losses_reach_it_too(loss: Loss) -> None:
    X, y = stream(200, 4, 5, isinstance(loss, Logistic))
    found = best_in_hindsight(loss, X, y, Reals())
    assert found.gap <= 1e-6 * min(1.0, found.value)


@settings(max_examples=40, deadline=None)
@given(st.integers(5, 40), st.integers(1, 4), st.integers(0, 10**6), st.sampled_from(KINKED), st.floats(1e-6, 1.0))
def test_the_bound_holds_wherever_it_is_taken(n: int, d: int, seed: int, loss: Loss, nearby: float) -> None:
    """From slopes at any point, good or bad, no value of the program falls below it."""
    X, y = stream(n, d, seed, isinstance(loss, Hinge))
    o = Objective(loss, as_rows(X), y, np.ones(n), Reals(), compiled=False)
    u = np.random.default_rng(seed).normal(size=d)
    exact = by_program(loss, X, y)
    assert _from_slopes(o, balanced(o, o.scores(u), nearby)) <= exact + 1e-9 * (1 + exact)


def test_nothing_is_claimed_where_rows_do_not_span_the_columns() -> None:
    """Two columns alike: whether to the last bit, eigenvalues cannot tell. A column of zeros does no harm."""
    X, y = stream(80, 3, 6, True)
    alike = best_in_hindsight(Hinge(), np.c_[X, X[:, 0]], y, Reals())
    alone = best_in_hindsight(Hinge(), X, y, Reals())
    assert alike.value == pytest.approx(alone.value, rel=1e-5)
    assert alike.gap == pytest.approx(alike.value)
    empty = best_in_hindsight(Hinge(), np.c_[X, np.zeros(80)], y, Reals())
    assert empty.gap <= 1e-6 * (1 + empty.value)


def test_separable_rows_cost_nothing() -> None:
    X, _ = stream(60, 3, 7, True)
    found = best_in_hindsight(Hinge(), X, np.where(X[:, 0] > 0, 1.0, -1.0), Reals())
    assert (found.value, found.gap) == (0.0, 0.0)


@pytest.mark.parametrize("big", [1.0, 1e150, 1e200])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_column_of_tiny_numbers_is_a_column(big: float, sparse: bool) -> None:
    """Its squares are 0, and beside large numbers itself is; yet a weight of 1e200 makes of it what it likes: 0.3."""
    tiny = 1e-200
    X = np.array([[big, tiny], [big, -tiny], [big, 0.0]])
    y, u = np.array([1.0, -1.0, 0.3]), np.array([0.0, 1 / tiny])
    true = float(np.sum(np.abs(X @ u - y)))
    assert true == pytest.approx(0.3)
    found = best_in_hindsight(Absolute(), sp.csr_array(X) if sparse else X, y, Reals(), compiled=False)
    assert found.value - found.gap <= true


@given(st.integers(2, 20), st.integers(-6, 6), st.sampled_from([0.0, 1e-14, 1e-6]), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_squares_on_all_of_r_never_claim_more_than_the_exact_minimum(
    n: int, scale: int, noise: float, seed: int
) -> None:
    """Σy² − (Σxy)²/Σx² in fractions, where labels are all but met and the rest is rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) * 10.0 ** rng.uniform(-4, 4, size=(n, 1)) * 10.0**scale
    y = X[:, 0] * rng.normal() + noise * np.abs(X).max() * rng.normal(size=n)
    x, label = ([Fraction(float(v)) for v in values] for values in (X[:, 0], y))
    cross = sum(a * b for a, b in zip(x, label, strict=True))
    exact = sum(b * b for b in label) - cross * cross / sum(a * a for a in x)
    found = best_in_hindsight(Square(), X, y, Reals(), compiled=False)
    assert Fraction(found.value - found.gap) <= exact
    assert found.gap <= 1e-6 * (1 + found.value)
