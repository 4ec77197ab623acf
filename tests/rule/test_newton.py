"""The online Newton step: its inverse, its curvature premise, and logarithmic bounds where losses are curved."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import zoo
from lowregret.certificate import Certificate, certificates, evidence
from lowregret.certificate.second_order import curvature, highest_on_ball
from lowregret.domain import Box, L2Ball, Point
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, Logistic, Square
from lowregret.output import Average
from lowregret.rule import Newton
from lowregret.rule.newton import MATRIX, MOST, RENEWAL
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.step import Constant
from lowregret.train import train
from tests.compositions import rows_for
from tests.laws import sequences
from tests.laws.comparators import hindsight
from tests.naive import Matrix, Vector

GAMMA = 0.05


def named(run: LinearRun, u: object) -> dict[str, Certificate]:
    return {c.id: c for c in certificates(run.learner, run.state, u)}  # type: ignore[arg-type]


def regression(n: int, d: int = 3, seed: int = 0) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, X @ np.linspace(-0.5, 0.5, d) + 0.1 * rng.uniform(-1, 1, n)


def test_the_inverse_stays_the_inverse() -> None:
    """Through rank-one updates and renewals."""
    X, y = regression(RENEWAL * 2 + 500, 5)
    run = train(zoo.newton(Square(), 2.0, 0.01, Average()), sp.csr_matrix(X * [1, 10, 100, 1e-2, 1]), y)
    table = run.state.table.reshape(5, -1)
    a = table[:, MATRIX : MATRIX + 5] + 0.01 * np.eye(5)
    np.testing.assert_allclose(a @ table[:, MATRIX + 5 : MATRIX + 10], np.eye(5), atol=1e-6)


def test_curved_losses_have_a_bound_that_grows_like_a_logarithm() -> None:
    """It grows by about (d/2γ)·ln 4 when T grows fourfold."""
    X, y = regression(1600)
    bounds = []
    for n in (100, 400, 1600):
        run = train(zoo.newton(Square(), 1 / GAMMA, 50.0), X[:n], y[:n], compiled=False)
        found = named(run, L2Ball(1.0))["NEWTON"]
        best = hindsight(Square(), X[:n], y[:n], np.ones(n), L2Ball(1.0))
        assert found.premises_hold
        assert found.linear_regret is not None
        assert run.loss - best.upper <= found.linear_regret + 1e-6
        assert found.linear_regret <= found.bound
        assert found.linear_regret <= run.linear_regret(L2Ball(1.0))
        bounds.append(found.bound)
    assert bounds[2] - bounds[1] <= 3 / (2 * GAMMA) * math.log(4) + 0.5


@pytest.mark.parametrize("loss", [Square(), Logistic()])
def test_what_is_said_to_be_curved_is(loss: Square | Logistic) -> None:
    """f(u) ≥ f(w) + ⟨z,u − w⟩ + (γ/2)⟨z,u − w⟩² at the largest γ that the run proves, with weights."""
    task = "real" if isinstance(loss, Square) else "margin"
    rng = np.random.default_rng(1)
    for seed in range(4):
        rows = rows_for(task, 40, 3, seed)
        learner = Linear(loss, Newton(1.0, 3.0))
        run = train(learner, rows.X, rows.y, rows.weights, compiled=False)
        gamma = curvature(evidence(learner, run.state, L2Ball(1.5)))
        assert gamma > 0
        for p, x, y, c in zip(run.scores, rows.X, rows.y, rows.weights, strict=True):
            value, slope = loss.at(p, y)
            for _ in range(20):
                u = rng.normal(size=3)
                q = float(x @ u) * 1.5 / float(np.linalg.norm(u))
                linear = c * slope * (q - p)
                assert c * loss.at(q, y)[0] >= c * value + linear + gamma / 2 * linear**2 - 1e-12


def test_the_premise_fails_where_losses_are_not_curved_enough() -> None:
    X, y = regression(60)
    assert not named(train(zoo.newton(Square(), 0.01), X, y, compiled=False), L2Ball(1.0))["NEWTON"].premises_hold
    hinge = train(zoo.newton(Hinge()), X, np.sign(y), compiled=False)
    assert not named(hinge, L2Ball(1.0))["NEWTON"].holds
    assert named(hinge, L2Ball(1.0))["NEWTON-ANY"].holds
    assert hinge.certificate.id == "NEWTON-ANY"


def test_equal_at_the_last_iterate() -> None:
    """What telescopes is exact: at u = w_{T+1} nothing is lost."""
    X, y = regression(50)
    run = train(zoo.newton(Square(), 2.0), X, y, compiled=False)
    for found in named(run, Point(run.point)).values():
        assert found.linear_regret == pytest.approx(found.bound, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_highest_point_on_a_ball(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, seed)) if seed else np.zeros((4, 1))
    q, b = root @ root.T, rng.normal(size=4)
    points = rng.normal(size=(200_000, 4))
    points *= (rng.random((200_000, 1)) ** 0.2) * 0.7 / np.linalg.norm(points, axis=1, keepdims=True)
    heights = points @ b - 0.5 * np.sum((points @ q) * points, axis=1)
    found = highest_on_ball(b, q, 0.7)
    assert np.max(heights) <= found <= np.max(heights) + 0.05
    assert highest_on_ball(np.zeros(4), q, 0.7) == 0.0


def test_a_feature_twice_is_the_feature_times_the_root_of_two() -> None:
    X, y = regression(80)
    twice = np.hstack([X, X[:, :1]])
    longer = X * [math.sqrt(2), 1, 1]
    for make in (zoo.newton(Square()), zoo.pa(Hinge(), 0.5), zoo.ogd(Square(), 0.1)):
        labels = np.sign(y) if isinstance(make.loss, Hinge) else y
        one, other = (train(make, x, labels, compiled=False).scores for x in (twice, longer))
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_rotating_the_features_rotates_the_weights() -> None:
    X, y = regression(80)
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    one, other = (train(zoo.newton(Square()), x, y, compiled=False) for x in (X, X @ turn))
    np.testing.assert_allclose(one.scores, other.scores, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.point @ turn, other.point, rtol=1e-9, atol=1e-12)


def test_it_is_refused_where_it_would_cost_too_much() -> None:
    with pytest.raises(PartError, match=r"O\(d²\), too slow for 601 coordinates"):
        zoo.newton(Square()).start(MOST + 1)
    with pytest.raises(PartError, match="depends on the number of features"):
        begin(zoo.newton(Square()), None)
    with pytest.raises(PartError, match="gamma must be"):
        Newton(0.0)
    wide = sp.csr_matrix((3, 20_000))
    with pytest.raises(PartError, match="too slow"):
        train(zoo.newton(Square()), wide, np.ones(3))
    assert not Constant(1.0).needs_loss()


def test_nested_on_the_electricity_market(data_file: Callable[[str], Path]) -> None:
    market = sequences.read_elec2(data_file("elec2.csv.gz"), 400)
    for loss, eta, comparators in ((Square(), 100.0, L2Ball(1.0)), (Logistic(), 20.0, Box(-0.2, 0.2))):
        run = train(zoo.newton(loss, eta), market.x, market.y, comparator=comparators, compiled=False)
        best = hindsight(loss, market.x, market.y, np.ones(400), comparators)
        for found in run.certificates:
            assert found.linear_regret is not None
            if found.premises_hold:
                assert found.holds
                assert run.loss - best.upper <= found.linear_regret + 1e-6
        assert run.certificate.holds
