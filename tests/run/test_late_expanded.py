"""Rows that get further columns and wait for their labels: by a fixed map, and by partitions that settle meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import AdaGrad, Linear, Logistic, Multiclass, PartError, Partitions, Products, Softmax, load, zoo
from lowregret.domain import Point
from lowregret.run.begin import begin
from lowregret.run.expansion import SETTLED
from tests.running import bits

N, D = SETTLED + 300, 3
RNG = np.random.default_rng(12)
X = RNG.normal(size=(N, D))
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.3 * RNG.normal(size=N) > 0, 1.0, -1.0)
NAMES = np.array(list("abc"))[np.digitize(X[:, 0] * X[:, 1], [-0.4, 0.4])]
DELAYS = RNG.integers(0, 60, N)
FOREST = Partitions(trees=4, cells=8)


def products() -> Any:
    """Rows with the products of their columns, by hand."""
    run: Any = begin(zoo.ogd_eager(Logistic(), 0.1), D, expand=Products(), compiled=False)
    return run.expansion.located(run._rows(X[:400]), False)


def test_a_fixed_map_is_the_run_on_expanded_rows() -> None:
    learner = zoo.ogd_eager(Logistic(), 0.1)
    run: Any = begin(learner, D, delay=0, expand=Products(), compiled=False)
    run.learn(X[:400], SIGNS[:400], delay=DELAYS[:400])
    rows = products()
    dense = np.zeros((400, run.expansion.columns))
    dense[np.repeat(np.arange(400), np.diff(rows.indptr)), rows.indices] = rows.data
    plain = begin(learner, dense.shape[1], delay=0, compiled=False).learn(dense, SIGNS[:400], delay=DELAYS[:400])
    assert run.scores == pytest.approx(plain.scores)
    assert run.late.drift == pytest.approx(plain.late.drift)
    assert {c.id: c.bound for c in run.certificates} == pytest.approx({c.id: c.bound for c in plain.certificates})


@pytest.mark.parametrize("name", ["two", "many"])
def test_partitions_settle_while_rows_wait(name: str, tmp_path: Path) -> None:
    """Split and saved before and after; regret is at most what is told, the vectors of rows being those learnt."""
    learner: Any = zoo.adagrad(Logistic()) if name == "two" else Multiclass(Softmax(), AdaGrad(0.5), bias=1.0)
    y: Any = SIGNS if name == "two" else NAMES
    whole = begin(learner, D, delay=0, expand=FOREST).learn(X, y, delay=DELAYS)
    run = begin(learner, D, delay=0, expand=FOREST)
    for rows in (slice(0, 700), slice(700, 701), slice(701, SETTLED + 20), slice(SETTLED + 20, N)):
        run.learn(X[rows], y[rows], delay=DELAYS[rows])
        run.save(tmp_path / "run.lr")
        run = load(tmp_path / "run.lr")
    assert whole.expansion is not None
    assert "cells" in whole.expansion.summary
    assert bits(whole.state) == bits(run.state)
    assert (whole.loss, whole.rounds, whole.error) == (run.loss, run.rounds, run.error)
    assert bits(whole.deliver().state) == bits(run.deliver().state)
    assert whole.rounds == N
    assert whole.certificate.linear_regret <= whole.certificate.bound + 1e-9 * abs(whole.certificate.bound)


def test_exact_regret_is_below_the_linearised() -> None:
    learner = Linear(Logistic(), AdaGrad(0.5))
    run = begin(learner, D, delay=0, expand=FOREST)
    scores = run.learn(X, SIGNS, delay=DELAYS).scores.copy()
    run.deliver()
    made = float(np.logaddexp(0, -SIGNS * scores).sum())
    assert run.loss == pytest.approx(made)
    order = sorted(range(N), key=lambda s: (s + DELAYS[s], s))
    bare, celled = order[:SETTLED], order[SETTLED:]
    assert run.expansion is not None
    cells, dense = run.expansion.located(run._rows(X), False), np.zeros((N, run.expansion.columns))
    dense[np.repeat(np.arange(N), np.diff(cells.indptr)), cells.indices] = cells.data
    dense[bare, D:] = 0.0
    assert len(celled) == N - SETTLED
    for _ in range(20):
        u = RNG.normal(size=dense.shape[1])
        u *= 3 / np.linalg.norm(u)
        regret = made - float(np.logaddexp(0, -SIGNS * (dense @ u)).sum())
        assert regret <= run.linear_regret(Point(u)) + 1e-6 * made
    with pytest.raises(PartError, match="linear_regret"):
        run.regret(np.zeros(dense.shape[1]), X, SIGNS)
