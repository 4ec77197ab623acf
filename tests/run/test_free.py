"""Learning by threads that do not wait for each other: whatever they did, the certificate holds for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import DataError, Logistic, PartError, load, train, zoo
from lowregret.run.begin import begin
from lowregret.run.free import ENOUGH, FreeRun
from tests.naive import onto_l2_ball
from tests.run.test_blocks import LEARNERS, LONG, SIGNS, bits, eager, matrix

__all__ = ["eager"]  # a fixture

RNG = np.random.default_rng(8)
W = RNG.integers(0, 3, len(SIGNS)).astype(float)
ROWS = sp.csr_array(LONG)


def free(name: str, learners: int = 4, **how: Any) -> FreeRun:
    run = begin(LEARNERS[name], 40, learners=learners, block="free", **how)
    assert isinstance(run, FreeRun)
    return run


@pytest.mark.parametrize("name", ["adaptive", "adagrad", "sqrt"])
def test_nothing_is_lost_of_what_the_certificate_reads(name: str, eager: list[int]) -> None:
    """θ is −Σz at the scores that were used, so that exact regret is below the linearised one, whatever u."""
    run, scores = free(name), []
    for part in (slice(0, 50), slice(50, 2000), slice(2000, 3000)):
        run.learn(ROWS[part], SIGNS[part], W[part])
        scores.append(run.scores)
    assert len(eager) > 6
    learner, p = run.learner, np.concatenate(scores)
    values, slopes = np.array([learner.loss.at(float(s), float(y)) for s, y in zip(p, SIGNS, strict=True)]).T
    bias = np.full((len(p), 1), learner.bias)[:, : int(learner.bias > 0)]
    theta = -((W * slopes) @ np.hstack([LONG, bias]))
    np.testing.assert_allclose(run.state.theta, theta, rtol=1e-9, atol=1e-9)
    assert run.loss == pytest.approx(float(W @ values))
    assert run.rounds == np.count_nonzero(W)
    wrong = [learner.loss.wrong(float(s), float(y)) for s, y in zip(p, SIGNS, strict=True)]
    assert run.mistakes == np.count_nonzero(np.array(wrong) & (W > 0))
    exact = float((W * slopes) @ p) + float(np.linalg.norm(theta))
    assert run.linear_regret() == pytest.approx(exact)
    for found in run.certificates:
        assert found.id in ("LEM-2.5", "LEM-2.20")
        assert found.premises_hold
        assert run.linear_regret() <= found.bound + 1e-9
    own = float(W @ values)
    for u in (theta / np.linalg.norm(theta), *(onto_l2_ball(1.0)(RNG.normal(size=theta.size)) for _ in range(20))):
        scored = np.hstack([LONG, bias]) @ u
        theirs = sum(w * learner.loss.at(float(s), float(y))[0] for w, s, y in zip(W, scored, SIGNS, strict=True))
        assert own - theirs <= run.linear_regret() + 1e-9
    assert run.lag is not None
    assert 0 <= run.lag[0] <= run.lag[1]


def test_an_unfit_row_ends_it_where_it_is(eager: list[int]) -> None:
    wrong = SIGNS.copy()
    wrong[1234] = 7.0
    run = free("adagrad")
    with pytest.raises(DataError, match="row 1234"):
        run.learn(ROWS, wrong)
    assert eager
    assert run.rounds == 1234
    assert np.isfinite(run.learn(ROWS[1234:], SIGNS[1234:]).weights).all()
    assert run.rounds == len(SIGNS)


def test_risk_is_claimed_of_one_alone(eager: list[int]) -> None:
    """A long row is scored while others learn, so that its weights depend on it."""
    assert free("adagrad").learn(ROWS, SIGNS).risks() == []
    assert free("adagrad", 1).learn(ROWS, SIGNS).risks()


def test_one_alone_learns_row_by_row(tmp_path: Path) -> None:
    plain = begin(LEARNERS["adagrad"], 40).learn(LONG, SIGNS)
    alone = free("adagrad", learners=1).learn(LONG, SIGNS)
    few = free("adagrad", learners=8, compiled=False).learn(LONG[:300], SIGNS[:300])
    assert bits(alone.weights) == bits(plain.weights)
    assert alone.lag is None
    again = load(few.save(tmp_path / "run.lr"))
    assert isinstance(again, FreeRun)
    assert bits(again.weights) == bits(few.weights)
    assert bits(again.learn(LONG[300:], SIGNS[300:]).weights) == bits(plain.weights)


def test_weights_are_not_gone_over_for_a_few_rows(eager: list[int]) -> None:
    wide = sp.csr_array((ROWS.data, ROWS.indices, ROWS.indptr), shape=(3000, ROWS.nnz // (ENOUGH * 2) + 1))
    begin(LEARNERS["adagrad"], wide.shape[1], learners=2, block="free").learn(wide, SIGNS)
    assert not eager


def test_real_rows(eager: list[int], data_file: Callable[[str], Path]) -> None:
    x, y = matrix(data_file("a9a.svm.gz"))
    learner = zoo.adagrad(Logistic(), 0.1)
    plain, run = train(learner, x, y), train(learner, x, y, learners=2, block="free")
    assert run.loss == pytest.approx(plain.loss, rel=0.05)
    for u in (plain.weights, run.weights):
        u = onto_l2_ball(1.0)(u)
        assert run.regret(u, x, y) <= run.linear_regret() + 1e-6


def test_another_word_is_refused() -> None:
    with pytest.raises(PartError, match="whole number from 1 to 65536, or 'free', got 'wild'"):
        train(LEARNERS["adagrad"], LONG, SIGNS, learners=2, block="wild")  # type: ignore[call-overload]
    with pytest.raises(PartError, match="say how many"):
        train(LEARNERS["adagrad"], LONG, SIGNS, block="free")
