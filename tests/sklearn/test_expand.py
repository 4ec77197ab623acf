"""Estimators whose rows get further columns."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from lowregret import Square, train, zoo
from lowregret.errors import PartError
from lowregret.features import Partitions, Products
from lowregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sklearn.problems import ADAGRAD, MANY, signs

pandas = pytest.importorskip("pandas")

_made = np.random.default_rng(8)
X = np.round(_made.normal(size=(1200, 3)), 2)
Y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
FEW = Partitions(trees=4)


def test_the_run_is_that_of_train() -> None:
    model = OnlineClassifier(ADAGRAD, expand=FEW).fit(X, Y)
    run = train(ADAGRAD, X, signs(Y, "out"), expand=FEW)
    assert np.array_equal(model.run_.weights, run.weights)
    assert np.array_equal(model.decision_function(X), run.decision_function(X))
    for copied in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, Y)):
        assert np.array_equal(copied.predict(X), model.predict(X))
    with pytest.raises(AttributeError, match="columns are added"):
        _ = model.coef_


def test_parts_are_the_whole() -> None:
    whole = OnlineClassifier(MANY, expand=FEW).fit(X, Y)
    parts = OnlineClassifier(MANY, expand=FEW)
    for begin in range(0, 1200, 300):
        parts.partial_fit(X[begin : begin + 300], Y[begin : begin + 300], classes=["in", "out"])
    assert np.array_equal(whole.run_.weights, parts.run_.weights)


def test_numbers_and_tables() -> None:
    products = OnlineRegressor(zoo.adagrad(Square()), expand=Products()).fit(X, X[:, 0] * X[:, 1])
    plain = OnlineRegressor(zoo.adagrad(Square())).fit(X, X[:, 0] * X[:, 1])
    assert products.progressive_loss_ < 0.2 * plain.progressive_loss_
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "k": np.where(X[:, 2] > 0, "p", "q")})
    celled = OnlineClassifier(ADAGRAD, expand=FEW).fit(table, Y)
    assert celled.run_.expansion.forest.features == 4
    assert celled.progressive_error_ < OnlineClassifier(ADAGRAD).fit(table, Y).progressive_error_
    with pytest.raises(PartError, match="products"):
        OnlineClassifier(ADAGRAD, expand=Products()).fit(table, Y)


def test_auto_says_what_it_has_instead() -> None:
    with pytest.raises(PartError, match="features="):
        OnlineClassifier(expand=FEW).fit(X, Y)
