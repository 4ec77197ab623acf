"""What fitted estimators tell: coefficients, chances, certificates."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from lowregret import AdaGrad, Hinge, L2Ball, Linear, Logistic, Multiclass, OneAgainstAll, Poisson, Softmax, Square, zoo
from lowregret.errors import PartError
from lowregret.learner import InnerProduct
from lowregret.sklearn import OnlineClassifier, OnlineRegressor
from tests.sklearn.problems import ADAGRAD, MANY, Problem, signs, spell


@pytest.mark.parametrize(
    "learner",
    [Linear(Logistic(), AdaGrad(0.5), bias=2.0), zoo.winnow(4), MANY],
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
    line = OnlineRegressor(Linear(Square(), AdaGrad(2.0), bias=1.0)).fit(X, y)
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
    model = OnlineClassifier(Multiclass(loss, AdaGrad(0.5))).fit(X, y)
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
    assert np.array_equal(again.decision_function(X), run.decision_function(X))
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


@pytest.mark.usefixtures("interpreted")
def test_chances_are_those_of_the_run_whatever_the_next_learner(two: Problem) -> None:
    """Scores of a hinge were told as chances once the parameter was another loss."""
    X, y = two
    chances, margins = (OnlineClassifier(learner).fit(X, y) for learner in (ADAGRAD, zoo.adagrad(Hinge())))
    told = chances.predict_proba(X)
    assert np.array_equal(chances.set_params(learner=margins.learner).predict_proba(X), told)
    assert not hasattr(margins.set_params(learner=ADAGRAD), "predict_proba")
