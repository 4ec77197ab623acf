"""What must hold for `auto` on any rows: reproducibility, invariance, and regret ≤ linearised regret ≤ bound."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from sklearn.datasets import load_svmlight_file

from lowregret import zoo
from lowregret.auto.learner import LOSSES as LOST
from lowregret.auto.learner import PARTITIONS
from lowregret.domain import L2Ball
from lowregret.errors import LowRegretError
from lowregret.loss import Logistic, Softmax, Square
from lowregret.run.auto import AutoRun
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.begin import begin
from lowregret.state import TOTAL
from lowregret.store.kinds import load
from lowregret.stream.read import read
from lowregret.train import train
from tests.auto.test_naive import mixed_rows
from tests.naive import Matrix, Vector

LOSSES = [Logistic(), Square(), Softmax()]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)


def rows_for(loss: Any, seed: int = 0, n: int = 150) -> tuple[Matrix, Any]:
    X, score = mixed_rows(seed, n)
    if isinstance(loss, Logistic):
        return X, np.where(score > np.median(score), 1.0, -1.0)
    return (X, score) if isinstance(loss, Square) else (X, np.digitize(score, np.quantile(score, [0.3, 0.6, 0.8])))


def begun(loss: Any, features: int | None) -> AutoRun | AutoMulticlassRun:
    return begin(zoo.auto(loss), features)


def same(one: Any, other: Any) -> bool:
    """Whether two runs agree to the last bit, in all that their files hold but the rows' own prints."""
    prints = {"tally.counts", "tally.prints", "tally.sampled", "tally.order"}
    mine, theirs = ({k: v for k, v in run.contents()[1].items() if k not in prints} for run in (one, other))
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[k], theirs[k], equal_nan=True) for k in mine)


@every_loss
def test_compiled_is_interpreted(loss: Any) -> None:
    X, y = rows_for(loss, n=60)
    assert same(train(zoo.auto(loss), X, y), train(zoo.auto(loss), X, y, compiled=False))


@every_loss
def test_sparse_is_dense(loss: Any) -> None:
    X, y = rows_for(loss)
    assert same(train(zoo.auto(loss), X, y), train(zoo.auto(loss), csr_array(X), y))


@every_loss
def test_batches_single_rows_and_resuming_change_nothing(loss: Any, tmp_path: Path) -> None:
    X, y = rows_for(loss)
    whole, pieces = train(zoo.auto(loss), X, y), begun(loss, X.shape[1])
    for i in range(40):
        pieces.learn(X[i : i + 1], y[i : i + 1])
    pieces.save(tmp_path / "run")
    resumed = load(tmp_path / "run")
    assert isinstance(resumed, AutoRun | AutoMulticlassRun)
    resumed.learn(X[40:101], y[40:101]).learn(X[101:], y[101:])
    assert same(whole, resumed)
    assert np.array_equal(whole.trace.bound, resumed.trace.bound)
    assert np.array_equal(whole.trace.linear_regret, resumed.trace.linear_regret)


@every_loss
def test_growing_with_features_and_classes(loss: Any) -> None:
    X, y = rows_for(loss)
    far = csr_array(X)
    far = csr_array((far.data, far.indices * 300, far.indptr), shape=(far.shape[0], 3001))
    known, grown = train(zoo.auto(loss), far, y), begun(loss, None)
    for i in range(0, 150, 7):
        grown.learn(far[i : i + 7], y[i : i + 7])
    assert known.loss == grown.loss
    assert np.array_equal(known.contest.losses, grown.contest.losses)
    assert np.array_equal(known.decision_function(far), grown.decision_function(far))


@every_loss
def test_powers_of_two_change_no_bit(loss: Any) -> None:
    X, y = rows_for(loss)
    factors = 2.0 ** np.random.default_rng(0).integers(-40, 40, X.shape[1])
    assert np.array_equal(
        train(zoo.auto(loss), X, y).contest.losses, train(zoo.auto(loss), X * factors, y).contest.losses
    )


@every_loss
def test_constant_features_change_no_bit(loss: Any) -> None:
    X, y = rows_for(loss)
    wider = np.hstack([X, np.full((len(X), 2), [0.1, -7e9])])
    assert np.array_equal(train(zoo.auto(loss), X, y).contest.losses, train(zoo.auto(loss), wider, y).contest.losses)


@every_loss
def test_order_of_features_is_a_matter_of_rounding(loss: Any) -> None:
    """On features as they are; random partitions of others are others."""
    X, y = rows_for(loss, n=300)
    order = np.random.default_rng(0).permutation(X.shape[1])
    one, other = (train(zoo.auto(loss, "raw"), rows, y).loss for rows in (X, X[:, order]))
    assert one == pytest.approx(other, rel=1e-3)


def test_units_and_origin_of_labels_do_not_matter() -> None:
    X, y = rows_for(Square())
    run = train(zoo.auto(Square()), X, y)
    scaled = train(zoo.auto(Square()), X, y * 2.0**30)
    assert np.array_equal(run.scores * 2.0**30, scaled.scores)
    moved = train(zoo.auto(Square()), X, y + 1e6)
    np.testing.assert_allclose(moved.scores[1:] - 1e6, run.scores[1:], atol=1e-3 * y.std())


@every_loss
def test_rows_of_weight_0_change_nothing(loss: Any) -> None:
    X, y = rows_for(loss)
    weights = np.where(np.arange(len(X)) % 3 == 1, 0.0, 1.0)
    kept = weights > 0
    assert same(train(zoo.auto(loss), X, y, weights), train(zoo.auto(loss), X[kept], y[kept]))


@every_loss
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_rows_that_are_no_numbers_are_refused_and_leave_no_trace(loss: Any, value: float) -> None:
    X, y = rows_for(loss)
    broken = X.copy()
    broken[100, 3] = value
    run = begun(loss, X.shape[1])
    with pytest.raises(LowRegretError, match="row 100"):
        run.learn(broken, y)
    assert same(run, train(zoo.auto(loss), X[:100], y[:100]))


@every_loss
def test_predicting_changes_nothing(loss: Any) -> None:
    X, y = rows_for(loss)
    run = train(zoo.auto(loss), X[:100], y[:100])
    before = deepcopy(run)
    run.decision_function(X[100:])
    assert same(run, before)


# ---- certificates ---------------------------------------------------------------------------------------------------


def adversary(learner: Any, features: int) -> AutoRun:
    """Labels against every score, which a copy of the run tells beforehand."""
    run, rng = begin(learner, features), np.random.default_rng(0)
    for _ in range(150):
        x = rng.normal(size=(1, features))
        run.learn(x, [1.0 if deepcopy(run).learn(x, [1.0]).scores[0] < 0 else -1.0])
    return run


def nested(run: Any) -> None:
    for c in run.certificates:
        assert c.holds
    told = run.certificate
    assert told.regret == pytest.approx(run.loss - run.contest.losses.min())
    assert told.regret <= told.linear_regret + 1e-9 * abs(told.linear_regret) + 1e-9
    assert told.linear_regret <= told.bound + 1e-9 * abs(told.bound) + 1e-9
    trace = run.trace
    assert np.all(trace.linear_regret <= trace.bound + 1e-9 * (1 + np.abs(trace.bound)))


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_certificates_hold(loss: Any, seed: int) -> None:
    X, y = rows_for(loss, seed, 400)
    nested(train(zoo.auto(loss), X, y))
    nested(train(zoo.auto(loss), X, y, np.random.default_rng(seed).exponential(2.0, len(X))))
    noise = np.random.default_rng(seed).permutation(y)
    nested(train(zoo.auto(loss), X, noise))


def test_certificates_hold_against_an_adversary() -> None:
    run = adversary(zoo.auto(), 3)
    assert run.error is not None
    assert run.error == 1.0
    nested(run)
    nested(adversary(zoo.auto(Square()), 3))


@every_loss
def test_no_fixed_predictor_is_better_than_the_linearised_regret_says(loss: Any) -> None:
    X, y = rows_for(loss)
    run, rng = train(zoo.auto(loss), X, y), np.random.default_rng(0)
    shape = (X.shape[1] + 1, 4) if isinstance(loss, Softmax) else (X.shape[1] + 1,)
    for radius in (0.1, 3.0):
        for _ in range(20):
            u = rng.normal(size=shape)
            u *= radius / np.linalg.norm(u)
            assert run.regret(u, X, y) <= run.linear_regret(L2Ball(radius)) + 1e-6


def test_a_wrong_ledger_is_noticed() -> None:
    X, y = rows_for(Logistic())
    run = train(zoo.auto(), X, y)
    run.state.sums[TOTAL] += 20.0
    assert not run.certificate.holds


@pytest.mark.parametrize(
    ("name", "most"), [("a9a.svm.gz", 0.1552 * 1.03), ("farm_ads.svm.gz", 0.1175 * 1.03), ("rcv1_sample.svm.gz", 0.145)]
)
def test_real_texts_and_tables(name: str, most: float, data_file: Callable[[str], Path]) -> None:
    run = train("auto", read(data_file(name)))
    nested(run)
    assert run.error is not None
    assert run.error <= most


def test_labels_decide_the_loss() -> None:
    X, y = rows_for(Logistic())
    assert train("auto", X, y).learner.loss.classifies
    assert not train("auto", X, y * 2).learner.loss.classifies


def weights_say(run: AutoRun, X: Matrix) -> Vector:
    return X @ run.weights[:-1] + run.weights[-1]


def test_the_linear_model_for_the_eye_is_near_the_mixture() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(5.0, 2.0, (2000, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] - 2.5 + rng.normal(size=2000) > 0, 1.0, -1.0)
    run = train(zoo.auto(), X, y)
    assert np.corrcoef(weights_say(run, X), run.decision_function(X))[0, 1] > 0.98


@every_loss
@pytest.mark.parametrize("seed", range(4))
def test_extreme_numbers(loss: Any, seed: int) -> None:
    """Units from 1e-120 to 1e120, heavy tails, labels that never change, weights far from 1."""
    rng = np.random.default_rng(seed)
    n, d = 80, 4
    X = rng.standard_cauchy((n, d)) * 10.0 ** rng.integers(-120, 120, d) * (rng.random((n, d)) < 0.6)
    y = rows_for(loss, seed, n)[1]
    if isinstance(loss, Square):
        y = np.full(n, 1e9) if seed == 0 else rng.standard_cauchy(n) * 10.0 ** rng.integers(-90, 60)
    run = train(zoo.auto(loss), X, y, rng.exponential(size=n) * 10.0 ** rng.integers(-6, 6))
    assert run.certificate.holds
    run.record.mind.trust[LOST + PARTITIONS] = 0.0  # ∞: no partitions after so few rows
    assert all(np.isfinite(array).all() for array in run.record.mind)


def test_order_and_constants_on_real_rows(data_file: Callable[[str], Path]) -> None:
    rows, labels = load_svmlight_file(str(data_file("a9a.svm.gz")))
    x, y = csr_array(rows)[:8000], labels[:8000]
    known = train(zoo.auto(features="raw"), x, y).error
    order = np.random.default_rng(0).permutation(x.shape[1])
    assert known is not None
    assert train(zoo.auto(features="raw"), csr_array(x[:, order]), y).error == pytest.approx(known, rel=1e-3)
    constant = csr_array(np.full((8000, 1), 0.1))
    assert train(zoo.auto(features="raw"), hstack([x, constant], format="csr"), y).error == known
