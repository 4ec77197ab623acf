"""The unit of labels in `auto`: no first difference, however small, and no label, however large, ends learning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Logistic, Softmax, Square, train, zoo
from lowregret.auto import regression
from lowregret.auto.learner import UNIT
from lowregret.errors import DataError, LowRegretError
from lowregret.run.auto import AutoRun
from lowregret.run.begin import begin
from tests.running import FEW_TREES

AUTO = zoo.auto(Square())


def source(rows: int = 400) -> tuple[Any, Any]:
    X = np.random.default_rng(0).normal(size=(rows, 4))
    return X, X @ [1000.0, 2000.0, 3000.0, 4000.0] + 5000.0


def late_error(run: AutoRun, y: Any) -> float:
    """Mean square error of the last hundred scores, in the variance of all labels."""
    return float(np.mean((run.scores[-100:] - y[-100:]) ** 2) / np.var(y))


@pytest.mark.parametrize(
    ("name", "first", "factor"),
    [
        ("nearly the same", [0.3, 0.1 + 0.2], 1.0),
        ("the least difference", [0.0, 5e-324], 1.0),
        ("labels 1e19 times the first difference", [0.0, 1.0], 1e16),
        ("labels 1e100 times the first difference", [0.0, 1e-10], 1e90),
        ("after the same label three times", [0.3, 0.3, 0.3, 0.1 + 0.2], 1e3),
    ],
)
def test_labels_far_beyond_their_first_difference(name: str, first: list[float], factor: float) -> None:
    X, y = source()
    y = np.array([*first, *(y[len(first) :] * factor)])
    run = train(AUTO, X, y)
    assert np.isfinite(run.scores).all()
    assert np.isfinite(run.decision_function(X)).all()
    assert late_error(run, y) < 1e-3


def test_labels_that_grow_by_steps_of_1e14() -> None:
    X, y = source(600)
    y = y * np.repeat([1.0, 1e14, 1e28], 200)
    run = train(AUTO, X, y)
    assert np.isfinite(run.scores).all()
    assert late_error(run, y[400:]) < 1e-2


def test_the_certificate_holds_across_units() -> None:
    X, y = source()
    y[:2] = 0.3, 0.1 + 0.2
    run = train(AUTO, X, y)
    c = run.certificate
    assert c.premises_hold
    assert c.linear_regret is not None
    assert c.linear_regret <= c.bound
    assert run.loss == pytest.approx(np.sum((run.scores - y) ** 2))


@pytest.mark.parametrize("cut", [1, 2, 3, 150, 200, 201])
def test_split_is_whole_and_saved_is_unbroken_across_units(cut: int, tmp_path: Path) -> None:
    X, y = source(300)
    y[:2] = 0.3, 0.1 + 0.2
    y[200:] *= 1e15
    whole = train(AUTO, X, y)
    first = train(AUTO, X[:cut], y[:cut])
    second = AutoRun.load(first.save(tmp_path / "first")).learn(X[cut:], y[cut:])
    for run in (first.learn(X[cut:], y[cut:]), second):
        assert run.save(tmp_path / "run").read_bytes() == whole.save(tmp_path / "whole").read_bytes()


def test_compiled_is_interpreted_across_units() -> None:
    X, y = source(80)
    y[:2] = 0.3, 0.1 + 0.2
    one, other = train(AUTO, X, y), train(AUTO, X, y, compiled=False)
    assert one.scores.tobytes() == other.scores.tobytes()


def test_a_larger_unit_costs_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a unit may be exceeded four times only, it changes on ordinary labels: losses stay what they are, nearly."""
    X, y = source(300)
    y += np.random.default_rng(1).normal(size=300) * 500
    learner = replace(AUTO, partitions=FEW_TREES)
    usual = train(learner, X, y, compiled=False)
    monkeypatch.setattr(regression, "FINEST", 4.0)
    scaled = train(learner, X, y, compiled=False)
    assert scaled.record.mind.past[UNIT] > usual.record.mind.past[UNIT]
    assert scaled.mean_loss == pytest.approx(usual.mean_loss, rel=0.1)


def test_a_row_that_is_refused_changes_no_unit() -> None:
    X, y = source(50)
    run = train(AUTO, X, y)
    before = run.record.mind.past.copy()
    for row, label, weight in ((np.full(4, 1e200), 1e30, 1.0), (X[0], np.nan, 1.0), (X[0], 1e30, 1e18)):
        with pytest.raises(LowRegretError):
            run.learn(row[None, :], [label], [weight])
        assert np.array_equal(run.record.mind.past, before)


@pytest.mark.parametrize("loss", [Square(), Logistic(), Softmax()], ids=repr)
def test_weights_beyond_single_precision_are_refused_before_they_are_learnt(loss: Any) -> None:
    X, y = source(60)
    y = y if isinstance(loss, Square) else np.sign(y - 5000.0)
    run = begin(zoo.auto(loss), 4)
    with pytest.raises(DataError, match=r"row 3: weight 1e\+18 is above 1e\+12.*divide all weights"):
        run.learn(X, y, np.where(np.arange(60) < 3, 1.0, 1e18))
    assert run.rounds == 3
    run = train(zoo.auto(loss), X, y, np.full(60, 1e12))
    assert np.isfinite(run.decision_function(X)).all()


def test_a_far_label_of_a_row_that_hardly_counts_is_seen_in_its_unit() -> None:
    """Lanes meet the label whatever its weight: 10³³ units beside others made steps of ∞ times 0."""
    X, y = source(140)
    y = 1e8 + y / 1e4
    y[62] = 1e30
    run = begin(zoo.auto(Square(), "raw"), 4)
    for rows in (slice(0, 64), slice(64, 140)):
        run.learn(X[rows], y[rows], np.full(140, 1e-290)[rows])
        assert np.isfinite(run.decision_function(X)).all()


@pytest.mark.parametrize("wrong", [1e6, -1e10, 1e30])
def test_one_label_that_is_wrong_by_orders_of_magnitude(wrong: float) -> None:
    """Lanes do not believe it, and go on learning; the certificate counts it as it came."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1500, 3))
    y = x @ [1.0, 2.0, -1.0] + 0.1 * rng.normal(size=1500)
    run = train(zoo.auto(Square(), "raw"), x, np.where(np.arange(1500) == 300, wrong, y))
    assert np.mean((run.scores - y)[1000:] ** 2) < 0.5 * np.var(y)
    assert np.mean((run.predict(x) - y) ** 2) < 0.5 * np.var(y)
    assert run.loss > 0.9 * wrong**2
    assert run.certificate.holds


def test_labels_of_another_size_are_soon_believed() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1500, 3))
    y = x @ [1.0, 2.0, -1.0] * np.where(np.arange(1500) < 300, 1.0, 1e9)
    run = train(zoo.auto(Square(), "raw"), x, y)
    assert np.mean((run.scores - y)[1000:] ** 2) < 0.1 * np.mean(y[1000:] ** 2)


@pytest.mark.parametrize("late", [None, 7, 80])
@pytest.mark.parametrize("wild", [1e10, -1e6])
@pytest.mark.parametrize("row", [0, 1, 40, 61])
def test_one_wild_label_among_the_first_is_not_all_that_is_learnt(row: int, wild: float, late: int | None) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 3))
    y = x @ [1.0, 2.0, 3.0] + rng.normal(size=1200)
    told = y.copy()
    told[row] = wild
    run = train(zoo.auto(Square(), "raw"), x, told, delay=late)
    assert np.mean((run.scores[600:] - y[600:]) ** 2) < 1.5
    assert np.mean((run.predict(x[600:]) - y[600:]) ** 2) < 1.5
    assert run.certificate.holds


def test_a_beginning_anew_is_the_same_in_pieces_and_from_files(tmp_path: Path) -> None:
    x, y = source(100)
    y[3] = 1e15
    for late in (None, 9):
        whole, run = (begin(zoo.auto(Square(), "raw"), 4, delay=late) for _ in range(2))
        whole.learn(x, y)
        for i in range(len(y)):
            run.learn(x[i : i + 1], y[i : i + 1])
            run.save(tmp_path / "now")
            run = AutoRun.load(tmp_path / "now")
        (_, arrays), (_, others) = run.contents(), whole.contents()
        for name, array in arrays.items():
            assert np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f"), (late, name)


def test_labels_that_differ_by_their_scatter_are_kept() -> None:
    x, y = source(100)
    run = train(zoo.auto(Square(), "raw"), x[:64], y[:64])
    assert not run.learner.misled(run.record.mind)


@pytest.mark.parametrize("weight", [1e-290, 1e-300, 1e-310, 5e-324])
def test_weights_near_the_least_number_are_learnt(weight: float) -> None:
    """ln N/Δ exceeded all numbers, and ∞·0 made the experts' weights NaN."""
    x, y = source(200)
    run = train(zoo.auto(Square(), "raw"), x, y, np.full(200, weight))
    assert run.rounds == 200
    assert np.isfinite(run.predict(x)).all()
    assert run.certificate.holds
