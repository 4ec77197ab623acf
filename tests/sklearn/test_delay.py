"""Estimators whose labels come late: the run is that of `train`, and what waits goes on."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, Logistic, PartError, train, zoo
from lowregret.sklearn import OnlineClassifier, OnlineRegressor

RNG = np.random.default_rng(2)
X = RNG.normal(size=(150, 3))
NAMES = np.where(X[:, 0] + RNG.normal(size=150) > 0, "yes", "no")
LEARNER = zoo.ogd_eager(Logistic(), 0.3)


def test_it_is_the_run_of_train() -> None:
    model = OnlineClassifier(LEARNER, delay=7).fit(X, NAMES)
    run = train(LEARNER, X, np.where(NAMES == "yes", 1.0, -1.0), delay=7)
    assert model.progressive_loss_ == run.mean_loss
    assert model.run_.pending == 7
    assert model.decision_function(X).tolist() == run.decision_function(X).tolist()
    parts: Any = OnlineClassifier(LEARNER, delay=7)
    for rows in (slice(0, 3), slice(3, 80), slice(80, 150)):
        parts = pickle.loads(pickle.dumps(parts.partial_fit(X[rows], NAMES[rows], classes=["no", "yes"])))
    assert parts.progressive_loss_ == model.progressive_loss_
    assert parts.run_.deliver().rounds == 150


def test_numbers_and_defaults() -> None:
    learner = zoo.ogd_eager(zoo.auto().loss, 0.3)
    assert OnlineRegressor(delay=3).get_params()["delay"] == 3
    assert OnlineClassifier(learner).fit(X, NAMES).run_.late is None


def test_what_cannot_wait_is_refused() -> None:
    with pytest.raises(DataError, match="more rows than delay=150"):
        OnlineClassifier(LEARNER, delay=150).fit(X, NAMES)
    with pytest.raises(PartError, match="delay must be"):
        OnlineClassifier(LEARNER, delay=-1).fit(X, NAMES)
