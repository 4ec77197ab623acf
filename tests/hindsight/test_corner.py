"""Boxes, simplices and L1 balls where rows are badly scaled: kinked losses and quadratic models, by interior points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

from lowregret import (
    Absolute,
    Box,
    EpsilonInsensitive,
    Hinge,
    Huber,
    L1Ball,
    L2Ball,
    Logistic,
    Loss,
    Quantile,
    Reals,
    Simplex,
    Square,
    SquaredHinge,
)
from lowregret.domain import Domain
from lowregret.errors import DataError, PartError
from lowregret.hindsight import best_in_hindsight
from lowregret.hindsight.corner import pieces
from lowregret.hindsight.polytope import Factored, Matrix, in_polytope, rooms
from lowregret.hindsight.quadratic import Minimum
from lowregret.loss import Affine, Margin
from lowregret.types import Vector

KINKED: list[Loss] = [
    Hinge(), Hinge(0.0), Affine(Hinge(), -2.0, 0.3), Absolute(), Quantile(0.1), EpsilonInsensitive(0.1),
]  # fmt: skip
SETS: list[Domain] = [Simplex(500.0), L1Ball(300.0), Box(-50.0, 70.0), Box(0.0, np.array([1.0, 0.0, 30.0, 7.0]))]


def badly_scaled(loss: Loss, n: int = 40, d: int = 4, seed: int = 0) -> tuple[Vector, Vector]:
    """Columns whose sizes differ by 10⁴."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * np.logspace(-2, 2, d)
    scores = x @ rng.normal(size=d) + rng.normal(size=n)
    return x, np.where(scores > 0, 1.0, -1.0) if isinstance(loss, Margin) else scores


def by_linear_programme(loss: Loss, x: Vector, y: Vector, c: Vector, domain: Domain) -> float:
    """min Σ c_i t_i, t_i above both sides of every piece: HiGHS."""
    (n, d), found = x.shape, pieces(loss, y)
    assert found is not None
    signs = [1.0, -1.0] if isinstance(domain, L1Ball) else [1.0]
    spread = np.hstack([sign * x for sign in signs])
    k, low, high = found
    count = k.shape[0]
    sides = [(piece, slope[piece]) for piece in range(count) for slope in (low, high)]
    above = [np.hstack([s[:, None] * spread, -np.eye(count * n)[piece * n : piece * n + n]]) for piece, s in sides]
    limits = [s * k[piece] for piece, s in sides]
    ones, none = np.ones(len(signs) * d), np.zeros(count * n)
    if isinstance(domain, Box):
        within = list(zip(np.broadcast_to(domain.low, d), np.broadcast_to(domain.high, d), strict=True))
    else:
        within = [(0.0, None)] * (len(signs) * d)
    budget = np.append(ones, none)[None]
    if isinstance(domain, L1Ball):
        above, limits = [*above, budget], [*limits, np.array([domain.radius])]
    shares, total = (budget, [domain.total]) if isinstance(domain, Simplex) else (None, None)
    weights = np.append(0 * ones, np.tile(c, count))
    bounds = [*within, *[(None, None)] * (count * n)]
    answer = linprog(weights, np.vstack(above), np.concatenate(limits), shares, total, bounds)
    assert answer.status == 0
    assert answer.fun is not None
    return float(answer.fun)


@pytest.mark.parametrize("domain", SETS, ids=repr)
@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_agrees_with_linear_programming(loss: Loss, domain: Domain) -> None:
    x, y = badly_scaled(loss)
    c = np.random.default_rng(1).exponential(size=y.size)
    found = best_in_hindsight(loss, x, y, domain, c, tolerance=1e-6, compiled=False)
    least = by_linear_programme(loss, x, y, c, domain)
    assert found.gap <= 1e-6 * (1 + found.value)
    assert found.value - found.gap <= least + 1e-9 * (1 + least)
    assert least <= found.value + 1e-9 * (1 + least)
    assert domain.contains(found.w, 1e-12)


@pytest.mark.parametrize("loss", [Hinge(0.0), EpsilonInsensitive(0.1)], ids=repr)
def test_few_steps_are_enough(loss: Loss) -> None:
    """Where the loss at 0 says nothing of how far scores are from the kinks."""
    x, y = badly_scaled(loss, 60, 25)
    steps: list[float] = []
    found = best_in_hindsight(loss, x, y, Simplex(500.0), report=lambda step, *_: steps.append(step), compiled=False)
    assert found.gap <= 1e-6 * (1 + found.value)
    assert len(steps) <= 60


@pytest.mark.sampled(3)
@pytest.mark.parametrize("domain", [Simplex(3.0), L1Ball(2.0), Box(-0.3, 0.2)], ids=repr)
@pytest.mark.parametrize("loss", [Absolute(), Hinge(), Square(), Logistic(), Huber(0.1)], ids=repr)
def test_many_coordinates(loss: Loss, domain: Domain) -> None:
    """Few rows, so that systems are solved in the rows."""
    x, y = badly_scaled(loss, 12, 601)
    x /= 100
    for rows in (x, sp.csr_array(x)):
        found = best_in_hindsight(loss, rows, y, domain)
        assert found.gap <= 1e-6 * (1 + found.value)
        assert domain.contains(found.w, 1e-12)


@pytest.mark.parametrize("domain", [Simplex(3.0), L1Ball(2.0), Box(-0.3, np.array([0.2, -0.3, 5.0]))], ids=repr)
def test_quadratic_in_a_polytope(domain: Domain) -> None:
    """A badly scaled and singular H: the answer's gradient proves that it is the minimiser."""
    rng = np.random.default_rng(2)
    half = rng.normal(size=(2, 3)) * np.array([1e-2, 1.0, 1e3])
    h = 100.0 * rng.normal(size=3)
    inside = rooms(domain, 3)
    assert inside is not None
    answers = []
    for bent in (Matrix(half.T @ half + 0.1 * np.eye(3)), Factored(sp.csr_array(half), 0.1)):

        def near(found: Minimum) -> bool:
            gradient = found.hu + h
            return float(gradient @ found.u) + domain.support(-gradient) <= 1e-9

        found = in_polytope(bent, h, domain, inside, near)
        assert near(found)
        assert domain.contains(found.u, 1e-12)
        answers.append(found.u)
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-4)


@pytest.mark.parametrize("loss", [Square(), SquaredHinge()], ids=repr)
def test_a_ridge_and_a_bias_of_another_size(loss: Loss) -> None:
    """Features of a millionth beside a bias of 100: the same as features of 1 with all else scaled along."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(40, 3))
    y = np.where(x[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    found = best_in_hindsight(loss, 1e-6 * x, y, Reals(), ridge=1e-13, bias=100.0, compiled=False)
    assert found.gap <= 1e-6 * (1 + found.value)
    free = best_in_hindsight(loss, x, y, L2Ball(50.0), ridge=0.0, bias=1.0, compiled=False)
    assert found.value <= free.value + 0.5 * 1e-13 * float(1e12 * free.w @ free.w) + 1e-6


def test_bias_in_single_precision() -> None:
    """A bias of 0.1 is 0.1, whatever the features are stored as."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(30, 3)).astype(np.float32)
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    single = best_in_hindsight(Square(), x, y, Box(-1.0, 9.0), bias=0.1, compiled=False)
    wide = np.column_stack([x.astype(float), np.full(30, 0.1)])
    residuals = wide @ single.w - y
    assert single.value == pytest.approx(float(residuals @ residuals), rel=1e-14)


@pytest.mark.parametrize("domain", [Simplex(), L1Ball(), Box()], ids=repr)
def test_no_features(domain: Domain) -> None:
    with pytest.raises(DataError, match="no features"):
        best_in_hindsight(Hinge(), np.zeros((3, 0)), np.ones(3), domain, compiled=False)


@pytest.mark.parametrize("domain", [Simplex, 3.0])
def test_no_set(domain: Any) -> None:
    with pytest.raises(PartError, match=r"must be a set such as L2Ball"):
        best_in_hindsight(Hinge(), np.eye(3), np.ones(3), domain, compiled=False)
