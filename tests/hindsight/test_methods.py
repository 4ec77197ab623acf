"""Each method alone: its bound holds, its answer is that of SciPy, and it is as near as was asked."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

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
    LqBall,
    PartError,
    Poisson,
    Quantile,
    Reals,
    Simplex,
    Square,
    SquaredHinge,
)
from lowregret.domain import Domain
from lowregret.errors import DataError
from lowregret.hindsight import best_in_hindsight
from lowregret.hindsight.coordinate import ascend
from lowregret.hindsight.gather import gather_rows
from lowregret.hindsight.newton import newton, start_on_sample
from lowregret.hindsight.objective import Incumbent, Objective
from lowregret.hindsight.quadratic import Minimum, in_ball, in_set, in_subspace
from lowregret.loss import Affine, Cost, LogWealth, Margin, OnMistakes
from lowregret.rows import as_rows
from lowregret.types import Vector

D, ROWS = 5, 80
LOSSES: list[Loss] = [
    Hinge(), SquaredHinge(), Logistic(), Square(), Absolute(), Quantile(0.2), Huber(0.5), EpsilonInsensitive(0.3),
    Poisson(), Cost(), LogWealth(), Affine(Logistic(), -2.0, 0.3), Affine(Hinge(), 2.0, -0.5),
]  # fmt: skip
SETS: list[tuple[Domain, float]] = [
    (L2Ball(1.5), 0.0), (L2Ball(1e3), 0.0), (L2Ball(1.5), 2.0), (L1Ball(1.0), 0.0), (L1Ball(1.0), 3.0),
    (Simplex(2.0), 0.0), (Box(-0.5, 0.7), 0.0), (Box(-0.5, 0.7), 1.0), (Reals(), 3.0),
]  # fmt: skip


def data(loss: Loss, seed: int = 1) -> tuple[Vector, Vector, Vector]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(ROWS, D))
    scores = x @ rng.normal(size=D) + rng.normal(size=ROWS)
    if isinstance(loss, Margin):
        y = np.where(scores > 0, 1.0, -1.0)
    elif isinstance(loss, Poisson):
        y = rng.poisson(np.exp(np.clip(scores / 3, -2, 2))).astype(float)
    else:
        y = scores
    if isinstance(loss, LogWealth):
        x = np.exp(0.2 * x)
    return x, y, rng.integers(0, 3, ROWS).astype(float)


def total(loss: Loss, x: Vector, y: Vector, c: Vector, u: Vector, kappa: float) -> float:
    """F(u), naively."""
    losses = [k * loss.at(p, label)[0] for k, p, label in zip(c, x @ u, y, strict=True) if k > 0]
    return sum(losses) + kappa / 2 * float(u @ u)


def points_of(domain: Domain, around: Vector, rng: np.random.Generator) -> list[Vector]:
    """Points of the set near a point and far from it."""
    scales = (1e-4, 1e-2, 0.1, 1.0, 10.0)
    return [domain.projection(around + s * rng.normal(size=around.size)) for s in scales for _ in range(20)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("domain", "kappa"), SETS, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_point_beats_the_interval(loss: Loss, domain: Domain, kappa: float) -> None:
    x, y, c = data(loss)
    found = best_in_hindsight(loss, x, y, domain, c, kappa, tolerance=1e-7, compiled=False)
    assert found.value == pytest.approx(total(loss, x, y, c, found.w, kappa), rel=1e-9, abs=1e-9)
    assert found.gap <= 1e-7 * (1 + abs(found.value)) * (1 + 1e-6)
    assert domain.contains(found.w)
    for u in points_of(domain, found.w, np.random.default_rng(2)):
        assert total(loss, x, y, c, u, kappa) >= found.value - found.gap - 1e-12 * (1 + abs(found.value))


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if not loss.kinked and not isinstance(loss, Cost)], ids=repr)
def test_smooth_losses_agree_with_scipy(loss: Loss) -> None:
    x, y, c = data(loss)
    found = best_in_hindsight(loss, x, y, Reals(), c, 3.0, bias=0.5, tolerance=1e-9, compiled=False)
    wide = np.hstack([x, np.full((ROWS, 1), 0.5)])

    def f(u: Vector) -> float:
        return total(loss, wide, y, c, u, 3.0)

    truth = minimize(f, np.zeros(D + 1), tol=1e-12).fun
    assert found.value == pytest.approx(truth, rel=1e-7)
    assert found.value - found.gap <= truth + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("radius", [1.0, 50.0])
def test_coordinates_agree_with_newton(loss: Loss, radius: float) -> None:
    """Dual coordinate ascent is for many coordinates, but must be right with few."""
    x, y, c = data(loss)
    if isinstance(loss, Cost | LogWealth | Poisson):
        return
    x, y, c = x[c > 0], y[c > 0], c[c > 0]
    o = Objective(loss, as_rows(x), y, c, L2Ball(radius), compiled=False)
    one, other = Incumbent(np.zeros(D)), Incumbent(np.zeros(D))
    ascend(o, one, 1e-3, 60, lambda *_: None)
    newton(o, other, np.zeros(y.size), 1e-8, lambda *_: None)
    assert other.near(1e-8)
    assert one.bound <= other.value
    assert other.bound <= one.value
    assert one.near(1e-3) or radius > 1


def test_compiled_is_interpreted() -> None:
    x, y, c = data(Hinge())
    found = [
        best_in_hindsight(Hinge(), rows, y, L2Ball(1.0), c, bias=1.0, tolerance=1e-6, compiled=compiled)
        for rows in (x, sp.csr_matrix(x))
        for compiled in (True, False)
    ]
    for other in found[1:]:
        assert other.value == pytest.approx(found[0].value, rel=1e-6)
    for a, b in ((0, 1), (2, 3)):
        np.testing.assert_allclose(found[a].w, found[b].w, rtol=1e-6, atol=1e-6)


def test_many_sparse_columns() -> None:
    """More coordinates than a Hessian is made for: both methods for them, against few that say the same."""
    rng = np.random.default_rng(3)
    x: Any = sp.random_array((300, 2000), density=0.01, rng=rng, format="csr")
    y = np.where(rng.random(300) < 0.5, 1.0, -1.0)
    basis = np.linalg.qr(np.array(x.todense()).T)[0]
    for loss in (Hinge(), Square()):
        many = best_in_hindsight(loss, x, y, L2Ball(3.0), tolerance=1e-6)
        few = best_in_hindsight(loss, x @ basis, y, L2Ball(3.0), tolerance=1e-6)
        assert many.gap <= 1e-6 * (1 + many.value)
        assert many.value == pytest.approx(few.value, rel=2e-6)


@settings(max_examples=20)
@given(st.integers(0, 10_000), st.integers(1, 4), st.sampled_from([1e-3, 0.1, 1.0, 10.0, math.inf]))
def test_quadratics_in_balls(seed: int, d: int, radius: float) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(d, rng.integers(1, d + 1)))
    hessian = root @ root.T + (1e-3 * np.eye(d) if math.isinf(radius) else 0.0)
    h = rng.normal(size=d)

    def q(u: Vector) -> float:
        return float(u @ hessian @ u / 2 + h @ u)

    found = in_ball(hessian, h, radius)
    assert np.linalg.norm(found.u) <= radius * (1 + 1e-12)
    for _ in range(50):
        u = found.u + rng.normal(size=d) * rng.choice([1e-3, 1.0])
        u *= min(1.0, radius / float(np.linalg.norm(u)))
        assert q(u) >= q(found.u) - 1e-9 * (1 + abs(q(found.u)))

    def near(m: Minimum) -> bool:
        return math.isfinite(radius) and float((m.hu + h) @ m.u) + radius * float(np.linalg.norm(m.hu + h)) <= 1e-7

    sub = in_subspace(lambda v: hessian @ v, np.diag(hessian) + 1e-9, h, np.zeros(d), radius, near)
    assert q(sub.u) <= q(found.u) + 1e-6 * (1 + abs(q(found.u)))
    if math.isfinite(radius):
        any_set = in_set(lambda v: hessian @ v, h, np.zeros(d), L2Ball(radius), near)
        assert q(any_set.u) <= q(found.u) + 1e-6 * (1 + abs(q(found.u)))


def test_a_sample_first() -> None:
    """Of many rows a few lead near the minimiser; few rows are all tried at once."""
    rng = np.random.default_rng(6)
    x, start = rng.normal(size=(1600, 3)), np.zeros(3)
    y = np.where(rng.random(1600) < 1 / (1 + np.exp(-2 * x[:, 0])), 1.0, -1.0)
    o = Objective(Logistic(), as_rows(x), y, rng.integers(1, 4, 1600).astype(float), L2Ball(1.0), 5.0, False)
    u, best = start_on_sample(o, start), Incumbent(start)
    newton(o, best, np.zeros(1600), 1e-9, lambda *_: None)
    assert best.near(1e-9)
    assert o.value(u, x @ u) - best.value <= 0.1 * (o.value(start, x @ start) - best.value)
    few = Objective(Logistic(), as_rows(x[:100]), y[:100], o.c[:100], L2Ball(1.0), 5.0, False)
    assert start_on_sample(few, start) is start


def test_least_squares_on_all_of_space() -> None:
    x, y, _ = data(Square())
    found = best_in_hindsight(Square(), x, y, Reals(), tolerance=1e-9, compiled=False)
    truth = float(np.linalg.lstsq(x, y)[1][0])
    assert found.value == pytest.approx(truth, rel=1e-12)
    assert found.gap <= 1e-9 * truth


def test_no_bound_without_a_reason() -> None:
    """On all of R^d without a ridge slopes must balance; where nobody can say that they do, losses are ≥ 0, no more."""
    x, y, _ = data(Logistic())
    found = best_in_hindsight(Logistic(), x, y, Reals(), compiled=False)
    assert found.gap <= 1e-6 * (1 + found.value)
    alike = best_in_hindsight(Logistic(), np.c_[x, x[:, 0]], y, Reals(), compiled=False)
    assert alike.value == pytest.approx(found.value, rel=1e-5)
    assert alike.gap == pytest.approx(alike.value)
    with pytest.raises(PartError, match="no minimiser"):
        best_in_hindsight(Cost(), x, y, Reals(), compiled=False)


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(0.9), Huber(0.1)], ids=repr)
def test_the_best_point_of_all_of_space(loss: Loss) -> None:
    """It is that of a ball in which it lies well inside, and slopes that balance bound it from below."""
    x, y, _ = data(loss)
    found = best_in_hindsight(loss, x, y, Reals(), compiled=False)
    inside = best_in_hindsight(loss, x, y, L2Ball(1e3), tolerance=1e-9, compiled=False)
    assert np.linalg.norm(inside.w) < 500
    assert found.value == pytest.approx(inside.value, rel=1e-6)
    assert found.gap <= 1e-6 * (1 + found.value)


def test_rows_that_can_be_told_apart_cost_nothing_in_all_of_space() -> None:
    rows = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, 1.0], [0.5, 0.5]])
    found = best_in_hindsight(Hinge(), rows, [1.0, -1.0, 1.0, -1.0], Reals(), compiled=False)
    assert found.value == found.gap == 0


class Cosh(Loss):
    """A loss of one's own, which knows its value and slope only."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return math.cosh(p - y), math.sinh(p - y)


def test_a_loss_of_ones_own_goes_by_passes() -> None:
    x, y, c = data(Square())
    found = best_in_hindsight(Cosh(), x, y / 5, L2Ball(0.5), c, tolerance=1e-4, compiled=False)
    assert not Cosh().dual
    assert found.gap <= 1e-4 * (1 + found.value)
    for u in points_of(L2Ball(0.5), found.w, np.random.default_rng(2)):
        assert total(Cosh(), x, y / 5, c, u, 0.0) >= found.value - found.gap


def test_balls_by_any_name() -> None:
    x, y, c = data(Square())
    for q, domain in ((1.0, L1Ball(0.8)), (2.0, L2Ball(0.8)), (math.inf, Box(-0.8, 0.8))):
        one, other = (best_in_hindsight(Square(), x, y, s, c, compiled=False) for s in (LqBall(0.8, q), domain))
        assert one.value == other.value


def test_rows_that_do_not_fit_go_by_passes() -> None:
    x, y, c = data(Hinge())
    assert gather_rows(Hinge(), lambda: [(as_rows(x), y, c)], 0.0, budget=100) is None
    held = gather_rows(Hinge(), lambda: [(as_rows(sp.csr_matrix(x)), y, c), (as_rows(x), y, np.empty(0))], 2.0)
    assert held is not None
    rows, labels, weights = held
    counted = np.concatenate([np.flatnonzero(c), ROWS + np.arange(ROWS)])
    assert rows.shape == (counted.size, D + 1)
    np.testing.assert_array_equal(labels, np.tile(y, 2)[counted])
    np.testing.assert_array_equal(weights, np.concatenate([c[c > 0], np.ones(ROWS)]))


@pytest.mark.parametrize(
    ("change", "error", "cause"),
    [
        ({"labels": np.full(ROWS, 3.0)}, DataError, "row 0: label 3 does not fit Hinge"),
        ({"labels": np.full(ROWS, math.nan)}, DataError, "labels"),
        ({"labels": np.ones(3)}, DataError, "vector of 80"),
        ({"weights": -np.ones(ROWS)}, DataError, "weight -1"),
        ({"weights": np.zeros(ROWS)}, DataError, "no rows that count"),
        ({"features": np.full((ROWS, D), math.inf)}, DataError, "row 0: feature 0 is inf"),
        ({"loss": OnMistakes(Hinge())}, PartError, "rounds"),
        ({"tolerance": 0.0}, PartError, "tolerance"),
        ({"ridge": -1.0}, PartError, "ridge"),
        ({"domain": Box(np.zeros(3), np.ones(3))}, PartError, "3 entries"),
    ],
)
def test_what_is_refused(change: dict[str, Any], error: type[Exception], cause: str) -> None:
    x, y, _ = data(Hinge())
    said: dict[str, Any] = {
        "loss": Hinge(),
        "features": x,
        "labels": y,
        "domain": L2Ball(1.0),
        "compiled": False,
    } | change
    with pytest.raises(error, match=cause):
        best_in_hindsight(**said)


def test_wealth_that_cannot_be() -> None:
    x = np.zeros((3, 2))
    with pytest.raises(PartError, match="not finite"):
        best_in_hindsight(LogWealth(), x, np.ones(3), Simplex(), compiled=False)


def test_progress_is_reported() -> None:
    x, y, _ = data(Logistic())
    told: list[tuple[float, float, float]] = []
    found = best_in_hindsight(
        Logistic(), x, y, L2Ball(1.0), compiled=False, report=lambda *figures: told.append(figures)
    )
    assert told[-1][1] == found.value
    assert found.gap - 1e-12 * found.value <= told[-1][2] <= found.gap  # the rounding of the value is added at the end
    assert all(a[1] >= b[1] for a, b in pairwise(told))
