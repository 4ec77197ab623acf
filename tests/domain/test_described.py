"""Sets described to cvxpy: bounds that hold in all units, and sizes that are not believed against the evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowregret import play
from lowregret.convex.functions import QuadraticFunction
from lowregret.domain import CvxSet, L2Ball
from lowregret.domain.described import PREMISE
from lowregret.errors import PartError
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant

cp: Any = pytest.importorskip("cvxpy")
RNG = np.random.default_rng(4)
CORRELATIONS = CvxSet(
    lambda w: [cp.bmat([[1, w[0], w[1]], [w[0], 1, w[2]], [w[1], w[2], 1]]) >> 0],
    reach2=3**0.5,
)


def sets(r: float) -> list[tuple[CvxSet, Any]]:
    """Sets of size r with their support functions."""
    return [
        (CvxSet(lambda w: [cp.norm(w, 2) <= r], r), lambda t: r * np.linalg.norm(t)),
        (CvxSet(lambda w: [w <= r, w >= -r], 2 * r), lambda t: r * abs(t).sum()),
        (CvxSet(lambda w: [cp.sum(w) == r, w >= 0], r), lambda t: r * t.max()),
        (CvxSet(lambda w: [cp.norm1(w) <= r], r), lambda t: r * abs(t).max()),
    ]


@pytest.mark.parametrize("r", [1e-8, 1e-5, 1e-3, 1.0, 1e4, 1e9])
def test_the_support_is_never_less(r: float) -> None:
    for domain, exact in sets(r):
        for theta in RNG.normal(size=(3, 4)):
            told, true = domain.support(theta), exact(theta)
            assert true * (1 - 1e-14) <= told <= r * 2 * np.linalg.norm(theta)
            if 1e-5 < r < 1e4:
                assert told <= true + 1e-4 * r * np.linalg.norm(theta)


@pytest.mark.parametrize("r", [1e-8, 1e-5, 1e-3])
def test_small_balls_are_certified(r: float) -> None:
    ball, costs = CvxSet(lambda w: [cp.norm(w, 2) <= r], reach2=r), [np.array([3.0, -4.0])] * 20
    u = np.array([-0.6, 0.8]) * r * (1 - 1e-11)
    for domain in (L2Ball(r), ball):
        game = play(ProjectedGradient(domain, Constant(r / 20)), costs, comparator=ball)
        assert game.certificate.holds
        assert game.regret_to(u) <= game.certificate.proved
        assert any(p.name == PREMISE for p in game.certificate.premises)


def test_correlation_matrices_are_certified() -> None:
    theta = np.array([0.60048911, 0.41083616, -0.56932886])
    V = np.random.default_rng(0).normal(size=(3, 3))
    signs = np.array([[0, theta[0], theta[1]], [theta[0], 0, theta[2]], [theta[1], theta[2], 0]])
    for _ in range(2000):
        for i in range(3):
            V[i] = signs[i] @ V
            V[i] /= np.linalg.norm(V[i])
    u = np.array([V[0] @ V[1], V[0] @ V[2], V[1] @ V[2]]) * (1 - 1e-9)  # inside
    game = play(ProjectedGradient(L2Ball(2.0), Constant(1e-3)), [-theta] * 10, comparator=CORRELATIONS)
    assert game.certificate.holds
    assert game.regret_to(u) <= game.certificate.proved <= game.regret_to(u) + 1e-4
    assert not CORRELATIONS.trusted(theta)


def test_what_multipliers_do_not_prove_is_trusted() -> None:
    corner = CvxSet(lambda w: [cp.norm1(w) <= 1.0], reach2=1.0)
    assert corner.trusted(np.array([3.0, 1.0]))
    game = play(ProjectedGradient(L2Ball(2.0), Constant(0.1)), [np.array([3.0, 1.0])] * 5, comparator=corner)
    assert any(p.name == PREMISE and "trusted" in p.observed for p in game.certificate.premises)


def test_a_reach_that_a_point_refutes_is_refused() -> None:
    false = CvxSet(lambda w: [cp.norm(w, 2) <= 10], reach2=1.0)
    for domain, comparator in ((false, None), (L2Ball(20.0), false)):
        with pytest.raises(PartError, match="reach2 = 1 is false: a point of the set is"):
            print(play(ProjectedGradient(domain, Constant(1.0)), [np.ones(2)] * 200, comparator=comparator).certificate)
    aside = CvxSet(lambda w: [cp.abs(w[0]) <= 10, cp.abs(w[1]) <= 0.1], reach2=1.0)
    with pytest.raises(PartError, match="reach2 = 1 is false"):
        aside.support(np.array([0.0, 1.0]))


@pytest.mark.parametrize("r", [1e-4, 1.0, 1e3])
def test_strongly_convex_functions_are_certified_beside_a_solver(r: float) -> None:
    """A projection that is a little off falls short of the maximum by its first order."""
    ball = CvxSet(lambda w: [cp.norm(w, 2) <= r], reach2=r)
    functions = [QuadraticFunction(z) for z in RNG.normal(size=(30, 3)) * 3 * r]
    found, exact = (
        play(ProjectedGradient(L2Ball(r), Constant(0.1)), functions, comparator=domain) for domain in (ball, L2Ball(r))
    )
    assert exact.linear_regret() * (1 - 1e-14) <= found.linear_regret() <= exact.linear_regret() * (1 + 1e-4)
    assert exact.regret * (1 - 1e-13) <= found.regret <= exact.regret + 1e-4 * exact.linear_regret()
