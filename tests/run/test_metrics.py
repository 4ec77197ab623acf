"""Figures in one pass equal those of scikit-learn on all rows at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as peer

from lowregret import AdaGrad, DataError, Multiclass, Softmax
from lowregret.loss import Absolute, Hinge, Logistic, Poisson, Square
from lowregret.run.begin import begin
from lowregret.run.confusion import Confusion
from lowregret.run.metrics import BINS, Metrics, bin_of
from lowregret.run.outcome import NOTHING
from lowregret.types import Vector

NONE = np.empty(0)


def scored(rows: int, seed: int) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(rows) < 0.3, 1.0, -1.0)
    return y, rng.normal(size=rows) * 3 + y


def test_classification_against_the_peer() -> None:
    y, p = scored(2000, 1)
    found = Metrics(Logistic())
    found.see(y, NONE, p)
    assert found.rows == 2000
    assert found.error == np.mean((p >= 0) != (y > 0))
    told = found.to_json()
    negative_right, negative_wrong, positive_wrong, positive_right = peer.confusion_matrix(
        y, np.where(p >= 0, 1, -1)
    ).ravel()
    assert told["confusion"] == {
        "+1": {"+1": positive_right, "-1": positive_wrong},
        "-1": {"+1": negative_wrong, "-1": negative_right},
    }
    assert abs(told["auc"] - peer.roc_auc_score(y, p)) <= told["auc_resolution"] < 0.002
    assert told["log_loss"] == pytest.approx(peer.log_loss(y, 1 / (1 + np.exp(-p))))


def test_regression_against_the_peer() -> None:
    rng = np.random.default_rng(2)
    y, p = rng.normal(size=500) * 40 + 7, rng.normal(size=500)
    found = Metrics(Square())
    found.see(y, NONE, p)
    assert found.error is None
    assert found.auc is None
    assert found.to_json()["mae"] == pytest.approx(peer.mean_absolute_error(y, p))
    assert found.to_json()["rmse"] == pytest.approx(math.sqrt(peer.mean_squared_error(y, p)))
    assert found.spread == pytest.approx(np.std(y))


def test_counts_are_judged_by_their_means() -> None:
    """The score of the Poisson loss is the logarithm of what is predicted."""
    rng = np.random.default_rng(3)
    p = rng.normal(size=300)
    y = rng.poisson(np.exp(p)).astype(float)
    found = Metrics(Poisson())
    found.see(y, NONE, p)
    assert found.to_json()["mae"] == pytest.approx(peer.mean_absolute_error(y, np.exp(p)))
    assert found.to_json()["rmse"] == pytest.approx(math.sqrt(peer.mean_squared_error(y, np.exp(p))))


@pytest.mark.parametrize("unit", [1e-170, 1e-310, 1e170])
def test_units_far_from_1(unit: float) -> None:
    """Squares are then no numbers: what is not known is not told, and labels that differ are not the same."""
    rng = np.random.default_rng(2)
    y, p = rng.normal(size=(2, 50))
    found, same = Metrics(Absolute()), Metrics(Absolute())
    found.see(y * unit, NONE, p * unit)
    assert found.constant is None
    assert found.spread is None
    assert found.to_json()["rmse"] is None
    assert found.to_json()["mae"] == pytest.approx(np.mean(np.abs(y - p)) * unit)
    same.see(np.full(50, unit), np.full(50, 1e200), np.full(50, unit))
    assert same.constant == unit
    assert same.spread == same.to_json()["rmse"] == 0.0


def test_labels_that_differ_are_not_the_same_whatever_their_weights() -> None:
    found = Metrics(Square())
    found.see(np.array([1.0, 2.0]), np.array([1e-30, 1.0]), np.zeros(2))
    assert found.constant is None


@given(st.integers(0, 60))
def test_batches_change_no_bit(cut: int) -> None:
    y, p = scored(60, 3)
    whole, parts = Metrics(Hinge()), Metrics(Hinge())
    whole.see(y, NONE, p)
    parts.see(y[:cut], NONE, p[:cut])
    parts.see(y[cut:], NONE, p[cut:])
    assert whole.sums.tobytes() == parts.sums.tobytes()
    assert whole.bins.tobytes() == parts.bins.tobytes()


def test_rows_without_weight_do_not_count() -> None:
    y, p = scored(50, 4)
    weights = np.where(np.arange(50) % 5 == 0, 0.0, 1.0)
    found, expected = Metrics(Hinge()), Metrics(Hinge())
    found.see(y, weights, p)
    expected.see(y[weights > 0], NONE, p[weights > 0])
    assert found.rows == 40
    assert found.sums.tobytes() == expected.sums.tobytes()


@given(st.integers(0, 99))
def test_a_whole_weight_is_as_many_rows(seed: int) -> None:
    """In every mean and share; only counts are of rows."""
    y, p = scored(40, seed)
    c = np.random.default_rng(seed).integers(0, 4, 40)
    for loss, labels in ((Logistic(), y), (Square(), 3 * y + p / 2)):
        weighed, repeated = Metrics(loss), Metrics(loss)
        weighed.see(labels, c.astype(float), p)
        repeated.see(np.repeat(labels, c), NONE, np.repeat(p, c))
        a, b = weighed.to_json(), repeated.to_json()
        assert a.pop("confusion", None) is None or a.pop("auc") == pytest.approx(b.pop("auc"))
        b.pop("confusion", None)
        assert a == pytest.approx(b)
        assert weighed.error == pytest.approx(repeated.error)
        assert weighed.mean_loss == pytest.approx(repeated.mean_loss)
        assert weighed.positives == pytest.approx(repeated.positives)
        assert weighed.spread == pytest.approx(repeated.spread)
        assert weighed.rows == np.count_nonzero(c)
        assert weighed.alike == bool(np.all(c <= 1))
    codes, guesses = np.random.default_rng(seed).integers(-1, 3, (2, 40))
    many, those = Confusion(), Confusion()
    many.see(3, codes, guesses, c.astype(float), np.exp(p))
    those.see(3, np.repeat(codes, c), np.repeat(guesses, c), NONE, np.repeat(np.exp(p), c))
    assert many.error == pytest.approx(those.error)
    assert many.mean_loss == pytest.approx(those.mean_loss)
    assert many.commonest == pytest.approx(those.commonest)


def test_counting_goes_on_where_it_stopped() -> None:
    y, p = scored(80, 5)
    whole, first = Metrics(Hinge()), Metrics(Hinge())
    whole.see(y, NONE, p)
    first.see(y[:30], NONE, p[:30])
    again = Metrics(Hinge(), **first.arrays())
    again.see(y[30:], NONE, p[30:])
    assert again.sums.tobytes() == whole.sums.tobytes()
    assert again.auc == whole.auc


def test_one_class_has_no_ranking() -> None:
    found = Metrics(Hinge())
    found.see(np.ones(3), NONE, np.zeros(3))
    assert found.auc is None
    assert "auc" not in found.to_json()


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_bins_follow_the_order_of_scores(a: float, b: float) -> None:
    low, high = sorted((bin_of(a), bin_of(b)))
    assert low >= 0
    assert high < BINS
    if a < b:
        assert bin_of(a) <= bin_of(b)
    if 1e-30 < a < 1e30 and b > a * 1.005:
        assert bin_of(a) < bin_of(max(b, a * 1.005))


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_the_ranking_does_not_hang_on_the_unit_of_weights(size: float) -> None:
    y, p = scored(300, 2)
    found, weights = Metrics(Logistic()), np.linspace(0.5, 2.0, 300)
    found.see(y, size * weights, p)
    assert found.auc is not None
    area, off = found.auc
    assert abs(area - peer.roc_auc_score(y, p, sample_weight=weights)) <= off + 1e-12


@pytest.mark.parametrize(("up", "down"), [(1e300, 1e-24), (1e-300, 1e300), (5e-324, 1e290), (1.0, 1.0)])
def test_ranking_does_not_depend_on_the_weight_of_a_class(up: float, down: float) -> None:
    """Weights of one class were rounded to 0 beside the other's, or to a digit: no area was told, or a wrong one."""
    found = Metrics(Hinge())
    found.see(np.array([1.0, 1.0, -1.0, -1.0]), np.array([up, up, 3 * down, down]), np.array([1.0, 0.3, 0.5, 2.0]))
    assert found.auc == pytest.approx((3 / 8, 0.0), rel=1e-14)


def test_classes_that_cannot_be_counted_are_not_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows were learnt, and then there was no room to count them: figures were of the rows after them alone."""
    x, rows = np.eye(3), slice(0, 2)
    run, unbroken = (begin(Multiclass(Softmax(), AdaGrad(0.5)), 3, compiled=False) for _ in range(2))
    run.learn(x[rows], ["a", "b"])
    with monkeypatch.context() as short:
        short.setattr("lowregret.compile.memory.free_memory", lambda: 3 * 8 * 3**2)
        run.learn(x[rows], ["a", "b"])
        with pytest.raises(DataError, match="no room in memory to count which of 3 classes"):
            run.learn(x, ["a", "b", "c"])
    run.confusion.see(2, *NOTHING[1:3], np.empty(0))  # as sessions do then
    assert run.rounds == run.confusion.rows == 4
    assert run.classes.names == ["a", "b"]
    run.learn(x, ["a", "b", "c"])
    unbroken.learn(x[[0, 1, 0, 1, 0, 1, 2]], ["a", "b", "a", "b", "a", "b", "c"])
    np.testing.assert_array_equal(run.confusion.counts, unbroken.confusion.counts)
    np.testing.assert_array_equal(run.weights, unbroken.weights)
