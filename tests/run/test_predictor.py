"""Predictors: what is left of a run predicts as the run did, says how good it was, and does nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret import zoo
from lowregret.auto.view import COLUMNS
from lowregret.errors import DataError
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Logistic, Softmax, Square
from lowregret.output import Average
from lowregret.rule import AdaGrad, ProjectedGradient
from lowregret.run import models
from lowregret.run.begin import begin
from lowregret.run.contract import Run
from lowregret.run.delayed import delayed
from lowregret.run.doubling import doubling
from lowregret.run.predictor import Predictor
from lowregret.step import Constant

PLAIN: dict[str, Any] = {"compiled": False}
RNG = np.random.default_rng(3)
X = RNG.normal(size=(160, 4)) * (RNG.random((160, 4)) < 0.8)
SIGNS = np.where(X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=160) > 0, 1.0, -1.0)
NUMBERS = X @ [1.0, -2.0, 0.5, 3.0] + 0.1 * RNG.normal(size=160)
NAMES = np.where(X[:, 2] > 0.5, "cat", np.where(SIGNS > 0, "dog", "mouse"))
WIDER = np.hstack([X, X[:, :2]])  # with features that were never learnt

LEARNERS: dict[str, tuple[Any, Any]] = {
    "linear": (zoo.ogd(Hinge()), SIGNS),
    "averaged": (Linear(Logistic(), ProjectedGradient(lowregret.L2Ball(), Constant(0.1)), Average(), bias=1.0), SIGNS),
    "classes": (Multiclass(Softmax(), AdaGrad(0.5), bias=1.0), NAMES),
    "auto": (zoo.auto(), SIGNS),
    "auto of numbers": (zoo.auto(Square()), NUMBERS),
    "auto of classes": (zoo.auto(Softmax()), NAMES),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def learnt(name: str, features: int | None = None) -> Any:
    learner, y = LEARNERS[name]
    return begin(learner, features, compiled=name.startswith("auto")).learn(X, y)  # these are compiled elsewhere, too


def loaded(predictor: Predictor, folder: Path) -> Predictor:
    again = lowregret.load(predictor.save(folder / "p.lr"))
    assert isinstance(again, Predictor)
    return again


@every_learner
@pytest.mark.parametrize("features", [None, 4])
def test_small_models_predict_to_the_last_bit(name: str, features: int | None, tmp_path: Path) -> None:
    run = learnt(name, features)
    x = WIDER if features is None else X
    for predictor in (run.predictor(), loaded(run.predictor(), tmp_path)):
        assert predictor.decision_function(x).tobytes() == run.decision_function(x).tobytes()
        assert np.array_equal(predictor.predict(x), run.predict(x))
        assert predictor.rounds == run.rounds
        assert predictor.features == run.features
        assert repr(predictor.kept) == repr(run.kept)
        if name not in ("linear", "auto of numbers"):
            assert np.array_equal(predictor.predict_proba(x), run.predict_proba(x))


@every_learner
def test_what_the_run_learns_later_is_not_known_to_it(name: str) -> None:
    run = learnt(name)
    predictor = run.predictor()
    before, kept = predictor.decision_function(X), repr(predictor.kept)
    run.learn(-X[::-1], LEARNERS[name][1])
    assert predictor.decision_function(X).tobytes() == before.tobytes()
    assert repr(predictor.kept) == kept
    assert not np.array_equal(run.decision_function(X), before)


@every_learner
def test_saving_again_changes_no_byte(name: str, tmp_path: Path) -> None:
    path = learnt(name).predictor().save(tmp_path / "one.lr")
    assert lowregret.load(path).save(tmp_path / "two.lr").read_bytes() == path.read_bytes()


def test_runs_that_wait_or_restart_leave_one_too() -> None:
    late = delayed(zoo.ogd_eager(Hinge(), 0.1), 4, **PLAIN).learn(X, SIGNS, delay=3)
    again = doubling(zoo.ogd_eager(Hinge(), eta=1.0), **PLAIN).learn(X, SIGNS)
    for run in (late, again):
        assert run.predictor().decision_function(X).tobytes() == run.decision_function(X).tobytes()


def test_it_is_no_run() -> None:
    predictor = learnt("auto").predictor()
    assert not isinstance(predictor, Run)
    for verb in ("learn", "certificate", "certificates", "trace", "regret"):
        assert not hasattr(predictor, verb)


def test_it_shows_itself() -> None:
    assert repr(begin(zoo.ogd(Hinge()), 4, **PLAIN).predictor()) == "<Predictor of Linear: 0 rounds learnt>"
    run = learnt("auto")
    line = repr(run.predictor())
    assert line.startswith("<Predictor of AutoClassifier: 160 rounds learnt, Logistic loss ")
    assert f"{run.kept.loss:.4g}, error {run.kept.error:.2%} of the kept model>" in line


def test_no_class_was_met() -> None:
    for name in ("classes", "auto of classes"):
        with pytest.raises(DataError, match="there is no class to predict: learn some"):
            begin(LEARNERS[name][0], None, **PLAIN).predictor()


# ---- rounding -------------------------------------------------------------------------------------------------------


def rounded(w: Any) -> Any:
    found = w.copy()
    models.round_weights(found)
    return found


def test_numbers_are_rounded_to_the_nearest() -> None:
    w = np.concatenate([RNG.normal(size=2000), 10 ** RNG.uniform(-37, 38, 2000), [0.0, 1.0, -1.0]]).astype(np.float32)
    found, exact = rounded(w).astype(float), w.astype(float)
    mantissa, exponent = np.frexp(exact)
    steps = 2.0 ** (models.MANTISSA + 1)
    assert np.array_equal(np.abs(found), np.ldexp(np.floor(np.abs(mantissa) * steps + 0.5) / steps, exponent))
    assert np.all(np.abs(found - exact) <= 2.0 ** -(models.MANTISSA + 1) * np.abs(exact))
    assert rounded(found.astype(np.float32)).tobytes() == found.astype(np.float32).tobytes()


def test_the_largest_numbers_stay_numbers() -> None:
    largest = np.finfo(np.float32).max
    w = np.array([largest, -largest, np.nextafter(largest, np.float32(0))], np.float32)
    found = rounded(w)
    assert np.all(np.isfinite(found))
    assert np.allclose(found.astype(float), w.astype(float), rtol=2.0**-models.MANTISSA)


@pytest.mark.parametrize("name", ["auto", "auto of numbers", "auto of classes"])
def test_scores_of_many_weights_move_little(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each lane's score moves by at most 2⁻¹³ Σ|w z|; the stacks make of it what the lanes' scores are worth."""
    monkeypatch.setattr(models, "WHOLE", 0)
    run = learnt(name)
    predictor = loaded(run.predictor(), tmp_path)
    scores, found = run.decision_function(WIDER), predictor.decision_function(WIDER)
    assert 0 < np.abs(found - scores).max() < 2.0**-9 * np.abs(scores).max()
    assert predictor.save(tmp_path / "again.lr").read_bytes() == (tmp_path / "p.lr").read_bytes()
    lanes = predictor.contents()[1]
    for bank in ("lanes", "means"):
        assert not np.any(lanes[bank].view(np.uint32) & np.uint32((1 << 23 - models.MANTISSA) - 1))
    assert np.any(lanes["lanes.bias"].view(np.uint32) & np.uint32(1))


def test_wide_models_are_rounded_and_a_fraction_of_the_run(tmp_path: Path) -> None:
    wide = RNG.normal(size=(40, 1 + models.WHOLE // 8)).astype(np.float32)
    run = begin(zoo.auto(), wide.shape[1]).learn(wide, SIGNS[:40])
    lanes = run.predictor().contents()[1]["lanes"]
    assert not np.any(lanes.view(np.uint32) & np.uint32((1 << 23 - models.MANTISSA) - 1))
    sizes = [thing.save(tmp_path / "file").stat().st_size for thing in (run, run.predictor())]
    assert sizes[1] < sizes[0] / 3


# ---- files ----------------------------------------------------------------------------------------------------------


def test_what_only_learning_needs_is_not_kept() -> None:
    run = learnt("auto")
    arrays = run.predictor().contents()[1]
    names = "columns lanes lanes.bias means means.bias measures pace past stacks trial trust"
    assert " ".join(sorted(arrays)) == names
    assert arrays["measures"].shape == (4, COLUMNS - 1)
    assert arrays["lanes"].shape == (4, 8)
    assert sorted(learnt("classes").predictor().contents()[1]) == ["columns", "trial", "weights", "weights.bias"]
