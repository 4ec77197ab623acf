"""The scikit-learn estimators: what scikit-learn asks of them, and that they are runs of `train` to the last bit."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from lowregret import (
    Diagonal,
    Hinge,
    InnerProduct,
    L2Ball,
    Linear,
    Logistic,
    Multiclass,
    OneAgainstAll,
    Poisson,
    Root,
    Softmax,
    Square,
    load,
    train,
    zoo,
)
from lowregret.error import DataError, PartError
from lowregret.learner import learn_rows
from lowregret.sklearn import OnlineClassifier, OnlineRegressor

ADAGRAD = zoo.adagrad(Logistic())
MANY = Multiclass(Softmax(), Diagonal(Root(0.5)), bias=1.0)

Problem = tuple[Any, Any]

spell: Callable[..., Any] = partial(train, compiled=False)  # the same, without waiting for a compiler


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimators do without the compiler, too."""
    monkeypatch.setattr("lowregret.sklearn.train", spell)


@pytest.fixture(scope="module")
def two() -> Problem:
    """Two classes, named."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    return X, np.where(X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=400) > 0.5, "yes", "no")


@pytest.fixture(scope="module")
def three() -> Problem:
    """Three classes, numbered."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 4))
    return X, np.array([7, 3, 5])[np.argmax(X @ rng.normal(size=(4, 3)), axis=1)]


@pytest.fixture(scope="module")
def numbers() -> Problem:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    return X, X @ [1.0, -2.0, 0.0, 3.0] + 5 + 0.1 * rng.normal(size=400)


def bits(model: Any) -> dict[str, bytes]:
    """All that the run carries."""
    return bits_of(model.run_)


def bits_of(run: Any) -> dict[str, bytes]:
    return {name: np.asarray(array).tobytes() for name, array in run.contents()[1].items()}


def signs(y: Any, positive: Any) -> Any:
    return np.where(y == positive, 1.0, -1.0)


# ---- what scikit-learn asks -----------------------------------------------------------------------------------------

_STEPS = "a row of weight 2 is one step for twice its loss, two equal rows are two steps, and the order of rows matters"
EXPECTED = {f"check_sample_weight_equivalence_on_{kind}_data": _STEPS for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [OnlineClassifier(), OnlineRegressor(), OnlineClassifier(ADAGRAD)], expected_failed_checks=lambda _: EXPECTED
)
@pytest.mark.filterwarnings("ignore:the rows are sorted by class")
def test_scikit_learn_accepts_it(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


# ---- a run, to the last bit -----------------------------------------------------------------------------------------


def test_two_classes_are_a_run_on_signs(two: Problem) -> None:
    X, y = two
    for learner in (None, ADAGRAD):
        model = OnlineClassifier(learner).fit(X, y)
        run = train(learner or zoo.auto(), X, signs(y, "yes"))
        assert bits(model) == bits_of(run)
        assert model.progressive_error_ == run.error
        assert model.progressive_loss_ == run.loss / 400
        assert np.array_equal(model.decision_function(X), run.predict(X))
        assert np.array_equal(model.predict(X), np.where(run.predict(X) >= 0, "yes", "no"))
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
    assert model.progressive_loss_ == model.run_.loss / model.run_.rounds


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


# ---- classes --------------------------------------------------------------------------------------------------------


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
    with pytest.raises(DataError, match="row 2: class 'perhaps' is not among those named at first"):
        OnlineClassifier(ADAGRAD).partial_fit(X[:3], ["yes", "no", "perhaps"], classes=["yes", "no"])
    model = OnlineClassifier(ADAGRAD).partial_fit(X[:9], ["yes"] * 9, classes=["yes", "no"])
    before = bits(model)
    with pytest.raises(DataError, match="row 1: class 'perhaps'"):
        model.partial_fit(X[:2], ["yes", "perhaps"])
    with pytest.raises(DataError, match="not those of the first call"):
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


# ---- models ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "learner",
    [Linear(Logistic(), Diagonal(Root(0.5)), bias=2.0), zoo.winnow(4), MANY],
    ids=["bias", "affine", "two of many"],
)
@pytest.mark.usefixtures("interpreted")
def test_coefficients_make_the_decisions(two: Problem, learner: Any) -> None:
    X, y = two
    model = OnlineClassifier(learner).fit(np.abs(X), y)
    assert model.coef_.shape == (1, 4)
    assert model.intercept_.shape == (1,)
    assert np.allclose(model.decision_function(np.abs(X)), (np.abs(X) @ model.coef_.T + model.intercept_)[:, 0])
    assert model.run_.error == model.progressive_error_ < 0.5


@pytest.mark.usefixtures("interpreted")
def test_coefficients_of_many_classes_and_of_numbers(three: Problem, numbers: Problem) -> None:
    X, y = three
    model = OnlineClassifier(MANY).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert np.allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_)
    X, y = numbers
    line = OnlineRegressor(Linear(Square(), Diagonal(Root(2.0)), bias=1.0)).fit(X, y)
    assert np.allclose(line.predict(X), X @ line.coef_ + line.intercept_)
    assert np.allclose(line.coef_, [1, -2, 0, 3], atol=0.2)


def test_what_has_no_coefficients(two: Problem) -> None:
    X, y = two
    with pytest.raises(AttributeError, match="not linear"):
        _ = OnlineClassifier().fit(X, y).coef_
    assert not hasattr(OnlineClassifier(), "coef_")
    with pytest.raises(NotFittedError):
        OnlineClassifier().predict(X)


@pytest.mark.parametrize("loss", [Softmax(), OneAgainstAll(Logistic())], ids=repr)
@pytest.mark.usefixtures("interpreted")
def test_chances_where_the_loss_gives_them(three: Problem, loss: Any) -> None:
    X, y = three
    model = OnlineClassifier(Multiclass(loss, Diagonal(Root(0.5)))).fit(X, y)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert np.array_equal(model.classes_[np.argmax(model.predict_proba(X), axis=1)], model.predict(X))


def test_no_chances_where_it_does_not() -> None:
    for learner in (zoo.adagrad(Hinge()), zoo.mc_perceptron(), zoo.kernel_perceptron(InnerProduct())):
        assert not hasattr(OnlineClassifier(learner), "predict_proba")
    with pytest.raises(AttributeError) as caught:
        _ = OnlineClassifier(zoo.mc_perceptron()).predict_proba
    assert "PerceptronLoss gives scores, not probabilities: use Softmax()" in str(caught.value.__cause__)


@pytest.mark.usefixtures("interpreted")
def test_a_kernel(two: Problem) -> None:
    X, y = two
    model = OnlineClassifier(zoo.kernel_perceptron(InnerProduct())).fit(X, y)
    run = spell(zoo.kernel_perceptron(InnerProduct()), X, signs(y, "yes"))
    assert model.progressive_error_ == run.error
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), run.predict(X))
    with pytest.raises(PartError, match="leave sample_weight out"):
        model.partial_fit(X, y, sample_weight=np.ones(400))


@pytest.mark.usefixtures("interpreted")
def test_counts_are_predicted_as_counts() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = rng.poisson(np.exp(0.5 * X[:, 0]))
    model = OnlineRegressor(zoo.adagrad(Poisson(), eta=0.2)).fit(X, y)
    assert model.predict(X).min() > 0
    assert abs(model.predict(X).mean() - y.mean()) < 0.1


def test_regret_is_below_what_the_certificate_says(two: Problem) -> None:
    X, y = two
    model = OnlineClassifier(ADAGRAD, comparator=L2Ball(2.0)).fit(X, y)
    u = L2Ball(2.0).projection(np.array([2.0, 0.1, 1.0, 0.0]))
    proof = model.certificate_
    assert proof.linear_regret is not None
    assert model.run_.regret(u, X, signs(y, "yes")) <= proof.linear_regret <= proof.bound
    assert OnlineClassifier().fit(X, y).certificate_.holds


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
