"""Averaging of `auto`: one run stays what it is, sums add up, and the proof speaks of the predictions made."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import L2Ball, Logistic, PartError, Square, load, train, zoo
from lowregret.auto.learner import expert_losses
from lowregret.run.averaged import AveragedRun
from lowregret.spread.averaging import merge, require_averageable
from lowregret.types import Vector
from tests.spread.team import batches

RNG = np.random.default_rng(8)
D, ROWS = 7, 900
X = RNG.normal(size=(ROWS, D)) * (RNG.random((ROWS, D)) < 0.6)
X[:, 3] = 1.0  # the same value in every row
X[:, 5] *= 1000.0
Y = np.where(X[:, :3] @ [1.0, -2.0, 0.5] + RNG.normal(size=ROWS) > 0, 1.0, -1.0)
LEARNER = zoo.auto(features="raw")


def averaged(size: int, workers: int) -> tuple[AveragedRun, Vector]:
    """A run in rounds of `size` rows for each worker, and the scores that rows were given."""
    run, rest, scores = AveragedRun.begun(LEARNER, 1024, seen=0), batches(X, Y, size), np.zeros(ROWS)
    while True:
        runs: list[AveragedRun] = []
        for _ in range(workers):
            found = next(rest, None)
            if found is not None:
                mine: AveragedRun = pickle.loads(pickle.dumps(run))
                scores[found[0]] = mine.learn_batch(found[1]).scores
                runs.append(mine)
        if not runs:
            return run, scores
        run = merge(run, runs)


def by_column(run: Any) -> Vector:
    cells = run.state.table.reshape(run.state.dimension, -1)
    return cells[[*np.argsort(run.places.columns), -1]]


def test_one_worker_is_row_by_row() -> None:
    run, scores = averaged(100, 1)
    here = train(LEARNER, X, Y)
    np.testing.assert_allclose(scores, here.scores, rtol=1e-4, atol=1e-4)  # lanes are in single precision
    assert run.loss == pytest.approx(here.loss, rel=1e-5)
    np.testing.assert_allclose(expert_losses(run.record.mind.trust)[:11], here.contest.losses, rtol=1e-4)


@pytest.mark.parametrize(("size", "workers"), [(50, 3), (7, 4), (400, 2)])
def test_sums_add_up_and_the_proof_holds(size: int, workers: int, tmp_path: Path) -> None:
    run, scores = averaged(size, workers)
    slopes = -Y / (1 + np.exp(Y * scores))
    table, losses = by_column(run), np.logaddexp(0, -Y * scores)
    assert run.rounds == ROWS
    assert run.loss == pytest.approx(float(losses.sum()), rel=1e-12)
    rows = np.hstack([X, np.ones((ROWS, 1))])
    np.testing.assert_allclose(table[:, 0], -slopes @ rows, rtol=1e-9, atol=1e-9)  # each row once
    present = X != 0
    counts = present.sum(axis=0)
    means = X.sum(axis=0) / counts
    np.testing.assert_allclose(table[:D, 1], counts)
    np.testing.assert_allclose(table[:D, 2], means, rtol=1e-5)  # shares are in single precision
    deviations = (np.where(present, X - means, 0) ** 2).sum(axis=0)
    np.testing.assert_allclose(table[:D, 3], deviations, rtol=1e-5, atol=1e-9)
    assert table[3, 3] == 0.0  # no rounding makes a constant look like a feature
    for radius in (1.0, 10.0):
        u = radius * table[:, 0] / np.linalg.norm(table[:, 0])
        theirs = float(np.logaddexp(0, -Y * (rows @ u)).sum())
        assert run.loss - theirs <= run.linear_regret(L2Ball(radius)) + 1e-9
    assert run.certificate.regret == pytest.approx(run.loss - expert_losses(run.record.mind.trust).min())
    assert [c.id for c in run.certificates] == ["EXPERTS", "LINEARISED"]
    assert all(0 < c.rounding < 1e-6 for c in run.certificates)  # sums of sums are rounded, too
    run.save(tmp_path / "run.lr")
    again = load(tmp_path / "run.lr")
    np.testing.assert_array_equal(again.predict(X), run.predict(X))
    assert again.learn(X, Y).rounds == 2 * ROWS


def test_averaged_experts_stay_near_those_of_row_by_row() -> None:
    run, _ = averaged(50, 3)
    assert run.loss <= 1.1 * train(LEARNER, X, Y).loss
    assert np.mean(run.predict(X) != Y) <= np.mean(train(LEARNER, X, Y).predict(X) != Y) + 0.03


@pytest.mark.parametrize(
    ("learner", "told"),
    [
        (zoo.auto(), "random partitions"),
        (zoo.auto(Square(), features="raw"), "AutoRegressor cannot be averaged"),
        (zoo.svm_online(), "use staleness 0"),
        (zoo.ogd(Logistic()), "use staleness 0"),
    ],
)
def test_what_cannot_be_averaged_is_refused(learner: Any, told: str) -> None:
    with pytest.raises(PartError, match=told):
        require_averageable(learner)
