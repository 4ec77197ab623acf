"""One row too large leaves no trace, whoever learns; rows that are only large are learnt as all others are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import zoo
from lowregret.errors import DataError
from lowregret.learner.kernel_perceptron import KernelPerceptron, Polynomial
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Logistic, Softmax, Square
from lowregret.run import careful
from lowregret.run.begin import begin
from lowregret.state import LONGEST
from lowregret.train import train
from tests.compositions import COMPOSITIONS, Composition, rows_for

EVERY = pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: c.name)
TOO_LARGE = pytest.mark.parametrize("value", [1e200, -1e200, 1e154, -1e308])
D, N, AT, FEATURE = 6, 40, 20, 2


def bits(run: Any) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in run.contents()[1].items()}


def sound(run: Any) -> bool:
    """Whether all numbers that are carried along are some, as far as they are known."""
    sums = np.delete(run.state.sums, LONGEST)
    return all(np.isfinite(array).all() for array in (*run._carried()[:2], sums))


@pytest.mark.sampled(3)
@TOO_LARGE
@EVERY
def test_a_row_that_overflows_leaves_no_trace(composition: Composition, value: float) -> None:
    rows, learner = rows_for(composition.task, N, D, 3), composition.learner(D)
    X, y = rows.X.copy(), rows.y
    X[AT, FEATURE] = value
    before, run = (begin(learner, D, compiled=False) for _ in range(2))
    before.learn(X[:AT], y[:AT])
    told = ""
    try:
        run.learn(X, y)
    except DataError as error:
        told = str(error)
    if run.rounds < N:
        assert told.startswith(f"row {AT}: feature {FEATURE} is {value:g}")
        assert bits(run) == bits(before)
        run.learn(X[AT + 1 :], y[AT + 1 :])
    assert sound(run)


@EVERY
def test_rows_learnt_alone_are_learnt_as_all_others(composition: Composition, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, learner = rows_for(composition.task, N, D, 4), composition.learner(D)
    plain = train(learner, rows.X, rows.y, rows.weights, compiled=False)
    monkeypatch.setattr(careful, "REACH", 0.0)
    assert bits(train(learner, rows.X, rows.y, rows.weights, compiled=False)) == bits(plain)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("learner", "classes"),
    [
        (zoo.ogd(Hinge()), None),
        (zoo.adagrad(Square()), None),
        (zoo.auto(Logistic()), None),
        (zoo.auto(Square()), None),
        (zoo.auto(Softmax()), [-1, 1]),
        (Multiclass.like(zoo.adagrad(Hinge()), Softmax()), [-1, 1]),
        (Multiclass.like(zoo.ogd(Hinge()), Softmax()), [-1, 1]),
    ],
    ids=lambda value: type(value).__name__ if value is not None else "",
)
@pytest.mark.parametrize("sparse", [True, False])
def test_compiled_runs_of_all_kinds(learner: Any, classes: Any, sparse: bool) -> None:
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(N, D)), np.where(rng.random(N) < 0.5, 1, -1)
    X[AT, FEATURE] = -1e200
    given = sp.csr_array(X) if sparse else X
    before, run = (begin(learner, D, classes) for _ in range(2))
    before.learn(given[:AT], y[:AT])
    with pytest.raises(DataError, match=rf"^row {AT}: feature {FEATURE} is -1e\+200"):
        run.learn(given, y)
    assert bits(run) == bits(before)
    assert sound(run.learn(given[AT + 1 :], y[AT + 1 :]))


@pytest.mark.parametrize(("label", "weight"), [(1e200, 1.0), (1.0, 1e300)])
@pytest.mark.parametrize("learner", [zoo.ogd(Square()), zoo.adagrad(Square()), zoo.auto(Square())], ids=repr)
def test_labels_and_weights_too_large(learner: Any, label: float, weight: float) -> None:
    rng = np.random.default_rng(6)
    X, y, w = rng.normal(size=(N, D)), rng.normal(size=N), np.ones(N)
    y[AT], w[AT] = label, weight
    before, run = (begin(learner, D) for _ in range(2))
    before.learn(X[:AT], y[:AT], w[:AT])
    told = f"label {label:g}" if label > 1 else f"weight {weight:g}"
    with pytest.raises(DataError, match=rf"^row {AT}: {told}".replace("+", r"\+")):
        run.learn(X, y, w)
    assert bits(run) == bits(before)


def test_kernel_sums_do_not_overflow() -> None:
    learner = KernelPerceptron(Polynomial(1, 0.0))
    run = train(learner, [[1e150], [-1e150]], [1, -1], compiled=False)
    before = bits(run)
    rows = [[1.3e154 * 0.5 ** (k % 3)] for k in range(12)]
    with pytest.raises(DataError, match=r"^row \d+: feature 0 is "):
        run.learn([[1e200]], [-1])
    assert bits(run) == before
    with pytest.raises(DataError, match=r"^row \d+: feature 0 is "):
        run.learn(rows, [(-1) ** k for k in range(12)])
    assert np.isfinite(run.support.sums).all()
