"""Classes of the estimators: of any kind, met on the way, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.multiclass import OneVsRestClassifier

from lowregret import Logistic, Square, zoo
from lowregret.errors import DataError, PartError
from lowregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sklearn.problems import ADAGRAD, MANY, Problem, bits, bits_of, spell


@pytest.mark.sampled(3)
@pytest.mark.parametrize("names", [("no", "yes"), (0, 1), (False, True), (-1, 1), (3, 7), (0.0, 2.0)], ids=repr)
@pytest.mark.parametrize("learner", [ADAGRAD, MANY], ids=["two", "many"])
@pytest.mark.usefixtures("interpreted")
def test_two_classes_of_any_kind(two: Problem, names: tuple[Any, Any], learner: Any) -> None:
    X, y = two
    labels = np.array(names)[(y == "yes").astype(int)]
    model, known = OnlineClassifier(learner).fit(X, labels), OnlineClassifier(learner).fit(X, y)
    assert bits(model) == bits(known)
    assert np.array_equal(model.classes_, names)
    assert model.classes_.dtype == labels.dtype
    assert np.array_equal(model.predict(X), np.array(names)[(known.predict(X) == "yes").astype(int)])
    assert model.decision_function(X).shape == (400,)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == labels.dtype.type(names[1]))


def test_classes_that_are_objects(two: Problem) -> None:
    X, y = two
    model = OnlineClassifier(ADAGRAD).fit(X, y.astype(object))
    assert model.predict(X[:2]).tolist() == OnlineClassifier(ADAGRAD).fit(X, y).predict(X[:2]).tolist()


def test_rows_sorted_by_class_are_noticed(two: Problem, recwarn: pytest.WarningsRecorder) -> None:
    X, y = two
    order = np.argsort(y, kind="stable")
    with pytest.warns(UserWarning, match="sorted by class"):
        OnlineClassifier(ADAGRAD).fit(X[order], y[order])
    recwarn.clear()
    OnlineClassifier(ADAGRAD).fit(X, y)
    OnlineClassifier(ADAGRAD).partial_fit(X[order], y[order], classes=["no", "yes"])
    assert not recwarn


@pytest.mark.usefixtures("interpreted")
def test_classes_met_on_the_way(three: Problem) -> None:
    X, y = three
    order = np.argsort(y != 7, kind="stable")  # 7 first, which is the last in the order of classes
    X, y = X[order], y[order]
    model = OnlineClassifier(MANY).partial_fit(X[:20], y[:20])
    assert model.classes_.tolist() == [7]
    assert model.predict(X).tolist() == [7] * 400
    with pytest.raises(DataError, match="row 380: weight -1"):  # the rows before it were learnt
        model.partial_fit(np.r_[X[20:], X[:1]], np.r_[y[20:], 9], sample_weight=[*[1] * 380, -1])
    run = spell(MANY, X, y)
    assert bits(model) == bits_of(run)
    assert model.classes_.tolist() == [3, 5, 7]
    assert run.classes.names[0] == 7
    assert np.array_equal(model.predict(X), run.predict(X))
    assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], run.predict(X))
    assert np.allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_)


def test_what_is_no_problem_of_classes(two: Problem, three: Problem) -> None:
    X, y = two
    with pytest.raises(DataError, match=r"name all classes in the first call: partial_fit\(X, y, classes"):
        OnlineClassifier().partial_fit(X, y)
    with pytest.raises(DataError, match="name all classes"):
        OnlineClassifier(ADAGRAD).partial_fit(X, y)
    with pytest.raises(DataError, match="only one class, 'yes'"):
        OnlineClassifier().fit(X, ["yes"] * 400)
    with pytest.raises(DataError, match="row 0: class 0 is not among those named at first: '0', '1'"):
        OnlineClassifier().partial_fit(X[:2], [0, 1], classes=["0", "1"])
    with pytest.raises(DataError, match="row 2: class 'perhaps' is not among those named at first: 'no', 'yes'"):
        OnlineClassifier(ADAGRAD).partial_fit(X[:3], ["yes", "no", "perhaps"], classes=["yes", "no"])
    model = OnlineClassifier(ADAGRAD).partial_fit(X[:9], ["yes"] * 9, classes=["yes", "no"])
    before = bits(model)
    with pytest.raises(DataError, match="row 1: class 'perhaps'"):
        model.partial_fit(X[:2], ["yes", "perhaps"])
    with pytest.raises(DataError, match="the classes 'perhaps', 'yes' are not those of the first call: 'no', 'yes'"):
        model.partial_fit(X, y, classes=["yes", "perhaps"])
    assert bits(model) == before
    with pytest.raises(PartError, match=r"There are 3 classes, but .* tells two apart"):
        OnlineClassifier(ADAGRAD).fit(*three)
    assert OneVsRestClassifier(OnlineClassifier(ADAGRAD)).fit(*three).score(*three) > 0.8


@pytest.mark.parametrize("learner", [zoo.adagrad(Square()), Logistic(), "adagrad"], ids=repr)
def test_learners_that_do_not_fit(two: Problem, numbers: Problem, learner: Any) -> None:
    with pytest.raises(PartError, match="needs a learner with a loss of classes"):
        OnlineClassifier(learner).fit(*two)
    with pytest.raises(PartError, match="needs a learner with a loss of numbers"):
        OnlineRegressor(ADAGRAD).fit(*numbers)


@pytest.mark.parametrize("kind", [OnlineClassifier, OnlineRegressor])
def test_what_is_missing_masked_or_a_date_is_refused_in_words(kind: Any) -> None:
    """scikit-learn takes what is behind a mask and the seconds of dates for numbers."""
    X, y = np.arange(8.0).reshape(4, 2), [1.0, 2.0, 1.0, 2.0]
    dates = X.astype("datetime64[s]")
    missing: list[Any] = [["a", None, "b", "a"], pd.array(["a", pd.NA, "b", "a"], dtype="string"), dates[:, 0].copy()]
    missing[2][1] = "NaT"
    for labels in missing:
        with pytest.raises(DataError, match="row 1: the label is missing"):
            kind().fit(X, labels)
    with pytest.raises(DataError, match="some labels are masked"):
        kind().fit(X, np.ma.masked_equal(y, 2.0))
    with pytest.raises(DataError, match="some features are masked"):
        kind().fit(np.ma.array(X, mask=X > 3), y)
    with pytest.raises(DataError, match="features must be numbers, got datetime64"):
        kind().fit(dates, y)
    with pytest.raises(DataError, match="some features are masked"):
        kind().fit(X, y).predict(np.ma.array(X, mask=X > 3))


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("names", [("a", "a\0"), ("1", 1)], ids=repr)
def test_names_that_numpy_takes_for_one_are_two_classes(two: Problem, names: tuple[Any, Any]) -> None:
    """Predictions of the second were an IndexError."""
    X, y = two
    model = OnlineClassifier(MANY)
    for name, known in zip(names, ("no", "yes"), strict=True):
        model.partial_fit(X[y == known], np.array([name] * np.count_nonzero(y == known), object if name != 1 else int))
    assert set(model.classes_.tolist()) == set(model.predict(X).tolist()) == set(names)
    assert model.predict(X[y == "yes"]).tolist().count(names[1]) > np.count_nonzero(y == "yes") / 2
