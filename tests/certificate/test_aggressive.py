"""Passive-aggressive steps and AROW: loss and mistake bounds against any u, and what must not be certified."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.certificate import Certificate
from lowregret.domain import L2Ball
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import EpsilonInsensitive, Hinge, Logistic
from lowregret.rule import ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import PassiveAggressive
from lowregret.train import train
from tests.laws import classifiers, sequences
from tests.naive import Matrix, Vector

LEARNERS: dict[str, Linear] = {
    "PA": zoo.pa(),
    "PA-I": zoo.pa(C=0.2),
    "PA-II": zoo.pa_ii(C=0.5),
    "AROW": zoo.arow(r=0.7),
}
EACH = pytest.mark.parametrize("name", LEARNERS)


def learnt(learner: Linear, X: Any, y: Vector) -> LinearRun:
    return train(learner, X, y, compiled=False)


def check(run: LinearRun, X: Matrix, y: Vector, u: Vector) -> dict[str, Certificate]:
    found = run.mistake_certificates(u, X, y)
    for c in found:
        assert c.holds == c.premises_hold, c
    return {c.id: c for c in found}


def streams(d: int = 4) -> list[sequences.Stream]:
    return [
        *sequences.labelled(60, d, 5),
        classifiers.always_wrong(60, d, 6),
        classifiers.separable(60, d, 7),
        classifiers.orthonormal(60, d),
    ]


@EACH
def test_bounds_hold_against_every_u(name: str) -> None:
    rng = np.random.default_rng(0)
    for stream in streams():
        run = learnt(LEARNERS[name], stream.x, stream.y)
        directions = [rng.normal(size=4), run.point, np.linalg.pinv(stream.x) @ stream.y, np.zeros(4)]
        for direction in directions:
            for size in (0.1, 1.0, 10.0):
                check(run, stream.x, stream.y, size * direction)


@EACH
@given(
    rows=st.lists(st.tuples(st.lists(st.floats(-3, 3), min_size=2, max_size=2), st.booleans()), min_size=1, max_size=8)
)
@settings(max_examples=40)
def test_bounds_hold_on_any_rows(name: str, rows: list[tuple[list[float], bool]]) -> None:
    X, y = np.array([x for x, _ in rows]), np.array([1.0 if positive else -1.0 for _, positive in rows])
    X[np.abs(X) < 1e-3] = 0.0
    run = learnt(LEARNERS[name], X, y)
    for u in ([1.0, -0.5], [0.0, 0.0], list(run.point)):
        check(run, X, y, np.array(u))


def test_a_perfect_u_bounds_the_squared_losses() -> None:
    """Theorem 2: Σℓ² ≤ R²‖u‖², equality on an orthonormal basis of rows with u = 1."""
    eye = classifiers.orthonormal(4, 4)
    found = check(learnt(zoo.pa(), eye.x, eye.y), eye.x, eye.y, np.ones(4))
    assert found["PA"].regret == found["PA"].bound == 4.0
    assert found["PA+"].regret == found["PA+"].bound == 4.0
    noisy = sequences.labelled(60, 4, 5)[3]
    assert not check(learnt(zoo.pa(), noisy.x, noisy.y), noisy.x, noisy.y, np.ones(4))["PA"].premises_hold


def test_regression_has_the_same_bounds() -> None:
    stream = sequences.measured(60, 4, 2)[0]
    loss = EpsilonInsensitive(0.2)
    for learner in (zoo.pa(loss), zoo.pa(loss, 0.3), zoo.pa_ii(loss, 0.5), zoo.arow(loss)):
        found = check(learnt(learner, stream.x, stream.y), stream.x, stream.y, np.linspace(-1, 1, 4))
        assert any(c.premises_hold for c in found.values())
    assert "PA-I" not in check(learnt(zoo.pa(loss, 0.3), stream.x, stream.y), stream.x, stream.y, np.zeros(4))


def test_the_row_is_learnt_at_once() -> None:
    """PA without a limit ends every round with no loss on its row; PA-II and AROW with a share of it."""
    X, y = sequences.labelled(40, 4, 1)[0][1:]
    for name, learner in LEARNERS.items():
        run = LinearRun(learner, learner.start(4), compiled=False)
        for x, label in zip(X, y, strict=True):
            before = max(1 - label * float(x @ run.point), 0.0)
            run.learn(x[None], [label])
            after = max(1 - label * float(x @ run.point), 0.0)
            assert after <= (1e-9 if name == "PA" else before + 1e-9)


def test_rates_need_not_fall_so_the_theorems_of_falling_rates_are_silent() -> None:
    X, y = sequences.labelled(40, 4, 1)[0][1:]
    run = learnt(zoo.pa(C=0.5), X, y)
    assert [c.id for c in run.certificates] == ["LEM-2.5", "DUAL"]  # no premise of DUAL is about rates
    assert run.certificate.linear_regret is not None
    ball = learnt(Linear(Hinge(), ProjectedGradient(L2Ball(1.0), PassiveAggressive(0.5))), X, y)
    assert [c.id for c in ball.certificates] == ["LEM-2.5"]


def test_other_losses_and_weighted_rows_are_refused() -> None:
    X, y = sequences.labelled(40, 4, 1)[0][1:]
    with pytest.raises(PartError, match="mistake bounds speak of"):
        learnt(zoo.arow(Logistic()), X, y).mistake_certificates(np.ones(4), X, y)
    weighted = train(zoo.pa(), X, y, np.full(40, 2.0), compiled=False)
    with pytest.raises(PartError, match="weights of 1"):
        weighted.mistake_certificates(np.ones(4), X, y)
    with pytest.raises(PartError, match="C must be"):
        zoo.pa(C=0.0)
    with pytest.raises(PartError, match="squared needs a finite C"):
        zoo.pa_ii(C=math.inf)


def test_bounds_hold_on_real_rows(data_file: Callable[[str], Path]) -> None:
    stream = sequences.read_svm(data_file("a9a.svm.gz"), 400)
    u = np.linalg.lstsq(stream.x.toarray(), stream.y, rcond=None)[0]
    for learner in LEARNERS.values():
        run = learnt(learner, stream.x, stream.y)
        for size in (0.5, 1.0, 2.0):
            assert all(c.holds == c.premises_hold for c in run.mistake_certificates(size * u, stream.x, stream.y))
