"""Followers: closed forms against the textbook, the solver against cvxpy, and the worked examples."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Absolute,
    Box,
    Entropy,
    Euclidean,
    FollowTheLeader,
    FollowTheRegularisedLeader,
    Hinge,
    L1Ball,
    L2Ball,
    Logistic,
    PartError,
    Reals,
    Simplex,
    play,
)
from lowregret.convex import LinearFunction, QuadraticFunction, ScoreFunction
from lowregret.convex.functions import Sum

cp: Any = cvxpy  # its annotations lack most of its names
RNG = np.random.default_rng(11)
X = RNG.normal(size=(12, 3))
Y = np.sign(RNG.normal(size=12))


def test_worked_example_of_the_quadratic_game() -> None:
    """z = (1, −1): w = (0, 1), losses .5 + 2, regret 1.5; bounds 6.77 / 1.5; LEM-2.1 gives 2."""
    game = play(FollowTheLeader(Reals()), [QuadraticFunction([1.0]), QuadraticFunction([-1.0])])
    np.testing.assert_allclose(game.points.ravel(), [0, 1])
    assert game.regret == pytest.approx(1.5)
    bounds = {c.id: c.bound for c in game.certificates}
    assert bounds["FTL-QUAD-ID"] == pytest.approx(1.5)
    assert bounds["COR-2.2+"] == pytest.approx(1.5)
    assert bounds["COR-2.2"] == pytest.approx(6.77, abs=0.005)
    assert bounds["LEM-2.1"] == pytest.approx(2.0)


def test_quadratic_identity_says_when_it_does_not_apply() -> None:
    mixed = play(FollowTheLeader(L2Ball(1.0)), [QuadraticFunction([1.0]), QuadraticFunction([1.0], 2.0)])
    assert not next(c for c in mixed.certificates if c.id == "FTL-QUAD-ID").premises_hold
    bounded = play(FollowTheLeader(L2Ball(0.1)), [QuadraticFunction([1.0])] * 2)
    assert not next(c for c in bounded.certificates if c.id == "COR-2.2").premises_hold


@pytest.mark.parametrize("domain", [L2Ball(2.0), L1Ball(2.0), Simplex(2.0), Box(-1.0, 2.0)])
@given(z=st.lists(st.floats(-5, 5), min_size=3, max_size=3))
@settings(deadline=None, max_examples=30)
def test_the_leader_of_linear_costs_is_where_the_support_function_is_attained(domain: Any, z: list[float]) -> None:
    w, value, gap, _ = FollowTheLeader(domain).follow(Sum(3, [LinearFunction(z)]), np.zeros(3))
    assert domain.contains(w, 1e-9)
    assert value == pytest.approx(-domain.support(-np.array(z)), abs=1e-9)
    assert gap <= 1e-9


def test_ties_go_to_the_projection_of_zero() -> None:
    np.testing.assert_allclose(FollowTheLeader(Simplex()).first(4), 0.25)
    game = play(FollowTheLeader(Simplex()), [np.ones(4), np.array([1.0, 0, 0, 0])])
    np.testing.assert_allclose(game.points, 0.25)


def test_linear_costs_have_no_leader_on_all_of_space() -> None:
    with pytest.raises(PartError, match="bounded set"):
        play(FollowTheLeader(Reals()), [[1.0], [1.0]])


def _cvx_loss(loss: Any, w: Any) -> Any:
    margin = cp.multiply(Y, X @ w)
    match loss:
        case Hinge():
            return cp.sum(cp.pos(1 - margin))
        case Logistic():
            return cp.sum(cp.logistic(-margin))
    return cp.sum(cp.abs(X @ w - Y))


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Absolute()], ids=["hinge", "logistic", "absolute"])
@pytest.mark.parametrize("name", ["ball", "simplex", "entropy", "leader"])
def test_the_solver_finds_the_minimum_and_its_gap_is_true(name: str, loss: Any) -> None:
    eta, w = 0.5, cp.Variable(3)
    objective = _cvx_loss(loss, w)
    player: Any = {
        "ball": FollowTheRegularisedLeader(Euclidean(L2Ball(0.8)), eta),
        "simplex": FollowTheRegularisedLeader(Euclidean(Simplex()), eta),
        "entropy": FollowTheRegularisedLeader(Entropy(), eta),
        "leader": FollowTheLeader(L2Ball(0.8)),
    }[name]
    constraints = [cp.norm(w, 2) <= 0.8] if name in ("ball", "leader") else [w >= 0, cp.sum(w) == 1]
    if name in ("ball", "simplex"):
        objective = objective + cp.sum_squares(w) / (2 * eta)
    if name == "entropy":
        objective = objective - cp.sum(cp.entr(w)) / eta
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve()
    total = Sum(3, [ScoreFunction(loss, x, y) for x, y in zip(X, Y, strict=True)])
    found = player.follow(total, player.first(3))
    assert player.domain.contains(found.w, 1e-7)
    assert 0 <= found.gap <= 1e-6
    assert found.value == pytest.approx(problem.value, abs=1e-5)
    assert found.value - found.gap <= problem.value + 1e-6


@pytest.mark.parametrize("loss", [Hinge(), Logistic()], ids=["hinge", "logistic"])
def test_certificates_of_a_solved_game_hold(loss: Any) -> None:
    game = play(
        FollowTheRegularisedLeader(Euclidean(L2Ball(1.0)), 0.5),
        [ScoreFunction(loss, x, y) for x, y in zip(X, Y, strict=True)],
    )
    assert {"FTRL-ID", "LEM-2.3", "THM-2.11+", "THM-2.11", "COR-2.13"} == {c.id for c in game.certificates}
    assert all(c.holds for c in game.certificates)


@given(st.integers(0, 2**31), st.integers(1, 8))
@settings(deadline=None, max_examples=40)
def test_ftrl_identity_holds_for_arbitrary_points(seed: int, rounds: int) -> None:
    """Σf_t(w_t) − Σf_t(u) = R(u) − R(w_1) + Σ[F_{t+1}(w_t) − F_{t+1}(w_{t+1})] + [F_{T+1}(w_{T+1}) − F_{T+1}(u)]."""
    rng = np.random.default_rng(seed)
    w, u = rng.normal(size=(rounds + 1, 3)), rng.normal(size=3)
    functions = [QuadraticFunction(rng.normal(size=3)) for _ in range(rounds)]
    player = FollowTheRegularisedLeader(Euclidean(), 0.3)
    total, steps = Sum(3), 0.0
    for t, f in enumerate(functions):
        total.add(f)
        steps += player.penalty(w[t]) + total.value(w[t]) - player.penalty(w[t + 1]) - total.value(w[t + 1])
    regret = sum(f.value(x) - f.value(u) for f, x in zip(functions, w, strict=False))
    last = player.penalty(w[-1]) + total.value(w[-1]) - player.penalty(u) - total.value(u)
    assert regret == pytest.approx(player.penalty(u) - player.penalty(w[0]) + steps + last, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda x: FollowTheLeader(x), "Domain"),
        (lambda x: FollowTheRegularisedLeader(x, 0.1), "Mirror"),
        (lambda _: FollowTheRegularisedLeader(Euclidean(), 0.0), "eta"),
    ],
)
def test_nonsense_is_refused(make: Any, match: str) -> None:
    with pytest.raises(PartError, match=match):
        make("nonsense")
