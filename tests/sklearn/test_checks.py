"""What scikit-learn asks of the estimators, and that they work in its hands."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowregret import Logistic, load, zoo
from lowregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sklearn.problems import ADAGRAD, Problem, bits, bits_of

_STEPS = "a row of weight 2 is one step for twice its loss, two equal rows are two steps, and the order of rows matters"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": _STEPS for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [OnlineClassifier(), OnlineRegressor(), OnlineClassifier(ADAGRAD)], expected_failed_checks=lambda _: EXPECTED
)
@pytest.mark.filterwarnings("ignore:the rows are sorted by class")
def test_scikit_learn_accepts_it(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- travelling -----------------------------------------------------------------------------------------------------


def test_copies_go_on_to_the_last_bit(two: Problem, three: Problem, numbers: Problem, tmp_path: Path) -> None:
    for model, (X, y) in ((OnlineClassifier(), two), (OnlineClassifier(), three), (OnlineRegressor(), numbers)):
        whole = clone(model).fit(X, y)
        half = model.fit(X[:200], y[:200])
        joblib.dump(half, tmp_path / "half")
        copies = [pickle.loads(pickle.dumps(half)), copy.deepcopy(half), joblib.load(tmp_path / "half", mmap_mode="r")]
        for other in copies:
            assert np.array_equal(other.predict(X), half.predict(X))
            assert bits(other.partial_fit(X[200:], y[200:])) == bits(whole)
        half.run_.save(tmp_path / "half.lr")
        assert bits_of(load(tmp_path / "half.lr")) == bits(half)
        unlearnt = clone(half)
        assert not hasattr(unlearnt, "run_")


def test_in_scikit_learns_hands(two: Problem, three: Problem) -> None:
    X, y = two
    pipe = make_pipeline(StandardScaler(), OnlineClassifier(ADAGRAD))
    rates = [zoo.adagrad(Logistic(), eta) for eta in (1e-6, 0.5)]
    search = GridSearchCV(pipe, {"onlineclassifier__learner": rates}, cv=3).fit(X, y)
    assert search.best_params_ == {"onlineclassifier__learner": rates[1]}
    sure = CalibratedClassifierCV(OnlineClassifier(ADAGRAD), cv=3).fit(X, y)
    assert sure.predict_proba(X).shape == (400, 2)
    for problem in (two, three):
        assert cross_val_score(OnlineClassifier(), *problem, cv=3).min() > 0.85


def test_in_processes_of_their_own(two: Problem) -> None:
    alone = cross_val_score(OnlineClassifier(ADAGRAD), *two, cv=3)
    assert np.array_equal(cross_val_score(OnlineClassifier(ADAGRAD), *two, cv=3, n_jobs=2), alone)


def test_without_scikit_learn_it_says_what_to_do() -> None:
    script = "import sys; sys.modules['sklearn'] = None; import lowregret.sklearn"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "AbsentError: lowregret.sklearn needs scikit-learn 1.6 or later: pip install" in done.stderr


# ---- real data ------------------------------------------------------------------------------------------------------


def test_fewer_mistakes_on_the_way_than_gradient_descent(data_file: Callable[[str], Path]) -> None:
    X, y = load_svmlight_file(str(data_file("a9a.svm.gz")))
    X, y = X[:2000], y[:2000]
    model = OnlineClassifier().fit(X, y)
    theirs, rows = SGDClassifier(loss="log_loss", random_state=0), X.toarray()
    wrong = 1  # it cannot predict the first row
    theirs.partial_fit(rows[:1], y[:1], classes=[-1, 1])
    for i in range(1, 2000):
        wrong += theirs.predict(rows[i : i + 1])[0] != y[i]
        theirs.partial_fit(rows[i : i + 1], y[i : i + 1])
    assert model.progressive_error_ < 0.19 < 0.22 < wrong / 2000
