"""The estimators are runs of `train` to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from lowregret import L2Ball, Softmax, Square, train, zoo
from lowregret.errors import DataError
from lowregret.learner.linear import learn_rows
from lowregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sklearn.problems import ADAGRAD, Problem, bits, bits_of, signs


def test_two_classes_are_a_run_on_signs(two: Problem) -> None:
    X, y = two
    for learner in (None, ADAGRAD):
        model = OnlineClassifier(learner).fit(X, y)
        run = train(learner or zoo.auto(), X, signs(y, "yes"))
        assert bits(model) == bits_of(run)
        assert model.progressive_error_ == run.error
        assert model.progressive_loss_ == run.loss / 400
        assert np.array_equal(model.decision_function(X), run.decision_function(X))
        assert np.array_equal(model.predict(X), np.where(run.decision_function(X) >= 0, "yes", "no"))
        assert str(model.certificate_) == str(run.certificate)


def test_many_classes_are_a_run_on_their_names(three: Problem) -> None:
    X, y = three
    model = OnlineClassifier().fit(X, y)
    run = train(zoo.auto(Softmax()), X, y, classes=[3, 5, 7])
    assert bits(model) == bits_of(run)
    assert model.run_.classes.names == model.classes_.tolist() == [3, 5, 7]
    assert np.array_equal(model.predict_proba(X), run.predict_proba(X))
    assert np.array_equal(model.predict(X), run.predict(X))


def test_numbers_are_a_run_on_numbers(numbers: Problem) -> None:
    X, y = numbers
    model = OnlineRegressor(comparator=L2Ball(20.0)).fit(X, y)
    run = train(zoo.auto(Square()), X, y, comparator=L2Ball(20.0))
    assert bits(model) == bits_of(run)
    assert model.progressive_loss_ == run.loss / 400
    assert np.array_equal(model.predict(X), run.predict(X))
    assert model.run_.fixed_certificate == run.fixed_certificate


@pytest.mark.parametrize("cuts", [[1], [7, 8, 200], list(range(50, 400, 50))])
def test_parts_are_the_whole(two: Problem, three: Problem, numbers: Problem, cuts: list[int]) -> None:
    for model, (X, y) in ((OnlineClassifier(), two), (OnlineClassifier(), three), (OnlineRegressor(), numbers)):
        whole, parts = clone(model).fit(X, y), clone(model)
        named = {} if isinstance(model, OnlineRegressor) else {"classes": np.unique(y)}
        for rows, labels in zip(np.split(X, cuts), np.split(y, cuts), strict=True):
            parts.partial_fit(rows, labels, **named)
            named = {}
        assert bits(parts) == bits(whole)


def test_fitting_twice_begins_anew_and_partial_fit_goes_on(two: Problem) -> None:
    X, y = two
    model = OnlineClassifier(ADAGRAD).fit(X[:100], y[:100])
    once = bits(model)
    model.partial_fit(X[100:], y[100:])
    assert bits(model) == bits(OnlineClassifier(ADAGRAD).fit(X, y))
    assert bits(model.fit(X[:100], y[:100])) == once


def test_sparse_rows_and_small_numbers_are_the_same_rows(two: Problem) -> None:
    X, y = two
    X = X.astype(np.float32)
    dense = OnlineClassifier(ADAGRAD).fit(X, y)
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    for rows in (X.astype(np.float64), sp.csr_matrix(X), sp.csc_array(X), sp.coo_array(X), wide):
        model = OnlineClassifier(ADAGRAD).fit(rows, y)
        assert bits(model) == bits(dense)
        assert np.array_equal(model.predict(rows), dense.predict(X))


def test_read_only_rows_need_no_other_code(two: Problem) -> None:
    X, y = two
    run = train(ADAGRAD, X, signs(y, "yes"))
    compiled: Any = learn_rows
    before = len(compiled.signatures)
    kept = [np.array(a) for a in (X, signs(y, "yes"), np.ones(400))]
    for array in kept:
        array.flags.writeable = False
    again = train(ADAGRAD, kept[0], kept[1])
    assert bits_of(again) == bits_of(run)
    assert bits_of(train(ADAGRAD, *kept)) == bits_of(run)
    assert len(compiled.signatures) == before


# ---- weights --------------------------------------------------------------------------------------------------------


def test_weights_are_importances(three: Problem, numbers: Problem) -> None:
    weights = np.random.default_rng(0).integers(0, 3, 400).astype(float)
    X, y = three
    assert bits(OnlineClassifier().fit(X, y, weights)) == bits_of(
        train(zoo.auto(Softmax()), X, y, weights, classes=[3, 5, 7])
    )
    X, y = numbers
    model = OnlineRegressor().fit(X, y, sample_weight=weights)
    assert bits(model) == bits_of(train(zoo.auto(Square()), X, y, weights))
    kept = weights > 0  # rows of weight 0 might as well not be there
    without = OnlineRegressor().fit(X[kept], y[kept], weights[kept])
    assert [name for name, array in bits(without).items() if array != bits(model)[name]] == ["tally.counts"]  # prints
    assert model.run_.rounds == np.count_nonzero(kept)
    assert model.progressive_loss_ == model.run_.loss / weights.sum()


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        (np.zeros(400), "zero for every row"),
        (np.ones(399), "sample_weight must be a vector of 400 numbers"),
        (np.r_[np.ones(9), -1, np.ones(390)], "row 9: weight -1"),
        (["much"] * 400, "sample_weight must be numbers"),
    ],
)
def test_weights_that_are_none(two: Problem, weights: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        OnlineClassifier(ADAGRAD).fit(*two, weights)
