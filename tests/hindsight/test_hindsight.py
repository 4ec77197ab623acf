"""The best fixed choice lies between loss − gap and loss: against cvxpy, and against every point tried."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowregret.domain import Box, Domain, L1Ball, L2Ball, Reals, Simplex
from lowregret.hindsight import best_fixed
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Hinge, Logistic, Loss, Square
from lowregret.rows import Rows, as_rows
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant
from lowregret.types import Vector

cp: Any = pytest.importorskip("cvxpy")

D, ROWS = 6, 60
SETS: dict[str, tuple[Domain, Any]] = {
    "l2": (L2Ball(1.5), lambda u: [cp.norm(u) <= 1.5]),
    "l1": (L1Ball(1.0), lambda u: [cp.norm1(u) <= 1.0]),
    "simplex": (Simplex(2.0), lambda u: [u >= 0, cp.sum(u) == 2.0]),
    "box": (Box(-0.5, 0.7), lambda u: [u >= -0.5, u <= 0.7]),
}
LOSSES: dict[str, tuple[Loss, Any]] = {
    "hinge": (Hinge(), lambda m, p, y: cp.pos(1 - m)),
    "logistic": (Logistic(), lambda m, p, y: cp.logistic(-m)),
    "square": (Square(), lambda m, p, y: cp.square(p - y)),
    "absolute": (Absolute(), lambda m, p, y: cp.abs(p - y)),
}


def data() -> tuple[Vector, Vector, Vector]:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, D))
    y = np.where(x @ rng.normal(size=D) + rng.normal(size=ROWS) > 0, 1.0, -1.0)
    return x, y, rng.integers(0, 3, ROWS).astype(float)


@pytest.mark.parametrize("losses", LOSSES.values(), ids=LOSSES.keys())
@pytest.mark.parametrize("sets", SETS.values(), ids=SETS.keys())
def test_the_truth_lies_in_the_interval(losses: tuple[Loss, Any], sets: tuple[Domain, Any]) -> None:
    x, y, weights = data()
    (loss, formula), (domain, constraints) = losses, sets
    learner = Linear(loss, ProjectedGradient(Reals(), Constant(1.0)))
    found = best_fixed(learner, domain, lambda: [(as_rows(x), y, weights)], np.zeros(D), compiled=False)
    u = cp.Variable(D)
    p = x @ u
    problem = cp.Problem(cp.Minimize(weights @ formula(cp.multiply(y, p), p, y)), constraints(u))
    truth = float(problem.solve(solver=cp.CLARABEL))
    assert found.value - found.gap - 1e-5 <= truth <= found.value + 1e-5
    assert found.gap <= 2e-4 * (1 + abs(truth))
    assert domain.contains(found.w)


def test_a_ridge_is_part_of_the_loss() -> None:
    x, y, weights = data()
    learner = Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)), bias=1.0)
    found = best_fixed(learner, Reals(), lambda: [(as_rows(x), y, weights)], np.zeros(D + 1), 3.0, compiled=False)
    u = cp.Variable(D + 1)
    margins = cp.multiply(y, np.hstack([x, np.ones((ROWS, 1))]) @ u)
    truth = float(
        cp.Problem(cp.Minimize(weights @ cp.pos(1 - margins) + 1.5 * cp.sum_squares(u))).solve(solver=cp.CLARABEL)
    )
    assert found.value - found.gap - 1e-5 <= truth <= found.value + 1e-5


def test_rows_may_come_in_pieces() -> None:
    x, y, _ = data()
    learner = Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)))
    none = np.empty(0)

    def pieces() -> list[tuple[Rows, Vector, Vector]]:
        return [(as_rows(x[:20]), y[:20], none), (as_rows(x[20:]), y[20:], none)]

    parts = best_fixed(learner, L2Ball(1.0), pieces, np.zeros(D), compiled=False)
    whole = best_fixed(learner, L2Ball(1.0), lambda: [(as_rows(x), y, none)], np.zeros(D), compiled=False)
    assert parts.value == pytest.approx(whole.value, rel=1e-4)
