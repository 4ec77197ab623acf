"""The judgement of frozen models: what is counted, of which rows, and that it is what `predict` would have done."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import zoo
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Logistic, Loss, Softmax, Square
from lowregret.output import Average
from lowregret.risk.kept_trial import FIRST, HEADLINE, PARTS, ROWS, WEIGHT, Foretold, Trial, next_freeze
from lowregret.store.kinds import load
from lowregret.train import train
from tests.naive import Matrix, Vector

EMPTY = np.empty(0)


def rows(n: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.where(X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=n) > 0, 1.0, -1.0)


def trial_after(freezes: int) -> Trial:
    trial = Trial()
    for _ in range(freezes):
        trial.freeze()
    return trial


def test_models_are_frozen_after_powers_of_two() -> None:
    assert [next_freeze(t) for t in (0, 1, 15, 16, 17, 31, 32, 1000)] == [16, 16, 16, 32, 32, 32, 64, 1024]


def test_all_rows_are_judged_at_first_then_a_share_that_no_batch_changes() -> None:
    for freezes in range(1, 16):
        trial = trial_after(freezes)
        n = trial.frozen
        picked, t = trial.picked(EMPTY, 0, n, n)
        assert np.array_equal(t, picked + n + 1)
        assert abs(picked.size - n * trial.share) <= 1
        assert trial.share == 1 or np.unique(np.diff(picked)).size > 2  # not in step with any period of the rows
        split = [trial.picked(EMPTY, a, b, n + a)[0] for a, b in ((0, n // 3), (n // 3, n))]
        assert np.array_equal(picked, np.concatenate(split))
    assert [trial_after(k).share for k in (9, 10, 11, 12, 13, 14, 15, 17, 20)] == [
        1.0,
        0.5,
        0.25,
        1 / 8,
        1 / 16,
        1 / 32,
        1 / 64,
        1 / 256,
        1 / 256,
    ]


def test_rows_of_weight_0_are_not_judged() -> None:
    weights = np.array([1.0, 0.0, 2.0, 0.0, 1.0])
    picked, t = trial_after(1).picked(weights, 0, 5, 16)
    assert picked.tolist() == [0, 2, 4]
    assert t.tolist() == [17, 18, 19]


def test_nothing_is_judged_before_the_first_model_or_after_the_end() -> None:
    assert Trial().picked(EMPTY, 0, 10, 0)[0].size == 0
    trial = trial_after(1)
    trial.end(20)
    trial.end(30)
    assert trial.ended == 20
    assert trial.picked(EMPTY, 0, 10, 20)[0].size == 0


def test_figures_are_weighted_means_over_the_latter_half() -> None:
    rng, trial = np.random.default_rng(0), Trial()
    seen: list[tuple[Any, ...]] = []
    for t in range(FIRST + 1, 101):
        if t - 1 == next_freeze(t - 2):
            trial.freeze()
        row = (t, *rng.uniform(0.5, 2.0, 2), bool(rng.integers(2)), float(rng.uniform()), bool(rng.integers(2)))
        told = Foretold(*(np.array([value]) for value in row[2:]))
        trial.see(np.array([t]), np.array([row[1]]), told)
        seen.append(row)
    kept = trial.kept(100, classifies=True)
    assert kept is not None
    for share, figures in kept.horizons:
        # parts are judged whole: those of (32, 64] from the one that holds round 50 on, and all of (64, 128]
        held = [row for row in seen if row[0] > 48 and _age(row[0]) <= share]
        weight = sum(row[1] for row in held)
        assert figures.rows == len(held)
        assert figures.loss == pytest.approx(sum(row[1] * row[2] for row in held) / weight)
        assert figures.error == pytest.approx(sum(row[1] * row[3] for row in held) / weight)
        assert figures.live_loss == pytest.approx(sum(row[1] * row[4] for row in held) / weight)
        assert figures.live_error == pytest.approx(sum(row[1] * row[5] for row in held) / weight)
    assert kept.figures == dict(kept.horizons)[HEADLINE / PARTS]
    assert kept.frozen == (64,)  # of the rows up to half as many as were learnt
    assert trial.kept(100, classifies=False).error is None  # type: ignore[union-attr]


def _age(t: int) -> float:
    """How long after its model was frozen round t came, as a share of the rounds before that, in eighths."""
    frozen = next_freeze(t - 1) // 2
    return math.ceil((t - frozen) * PARTS / frozen) / PARTS


LEARNERS: dict[str, Any] = {
    "ogd": zoo.ogd(Hinge()),
    "average": zoo.adagrad(Logistic(), output=Average()),
    "square": zoo.adagrad(Square()),
    "classes": Multiclass.like(zoo.adagrad(Hinge()), Softmax()),
    "auto": zoo.auto(Logistic()),
    "auto-square": zoo.auto(Square()),
    "auto-classes": zoo.auto(Softmax()),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_judged_is_what_predict_would_have_done(name: str) -> None:
    """A run stopped where the model was frozen predicts the rows that followed with the same loss."""
    n = 150
    X, signs = rows(n)
    y: Any = signs
    if "classes" in name:
        y = np.digitize(X[:, 0], [-0.5, 0.5, 1.5])
    weights = np.random.default_rng(1).uniform(0.5, 2.0, n)
    run = train(LEARNERS[name], X, y, weights, compiled=False)
    for k, start in enumerate((16, 32, 64)):
        model = train(LEARNERS[name], X[:start], y[:start], weights[:start], compiled=False)
        end = min(2 * start, n)
        values, wrong = judged(model, X[start:end], y[start:end])
        block = run.trial.records[k].sum(axis=0)
        assert block[ROWS] == end - start
        told = [weights[start:end].sum(), weights[start:end] @ values, weights[start:end] @ wrong]
        np.testing.assert_allclose(block[WEIGHT : WEIGHT + 3], told, rtol=1e-9)


def judged(model: Any, X: Matrix, y: Any) -> tuple[Vector, Vector]:
    """Losses and errors of a model's predictions, from what the public methods give."""
    if model.classes is not None:
        codes = [model.classes.names.index(name) for name in y.tolist()]
        made = model.decision_function(X)
        likely = made - np.log(np.exp(made).sum(axis=1, keepdims=True)) * (not hasattr(model, "contest"))
        return -likely[np.arange(len(y)), codes], (made.argmax(axis=1) != codes).astype(float)
    made, loss = model.decision_function(X), model.learner.loss
    pairs = list(zip(made.tolist(), y.tolist(), strict=True))
    return np.array([loss.at(p, label)[0] for p, label in pairs]), np.array(
        [loss.wrong(p, label) for p, label in pairs]
    )


def test_a_class_that_was_not_met_when_the_model_was_frozen_is_missed() -> None:
    X, _ = rows(40)
    y = np.where(np.arange(40) < 20, np.arange(40) % 2, 2)
    for learner in (LEARNERS["classes"], LEARNERS["auto-classes"]):
        run = train(learner, X, y, compiled=False)
        block = run.trial.records[0].sum(axis=0)
        assert block[ROWS] == 16
        assert block[WEIGHT + 2] >= 12  # rows 20 … 31 are of the new class


def test_rows_that_come_again_end_the_trial() -> None:
    X, y = rows(100)
    run = train(LEARNERS["ogd"], X, y, compiled=False)
    before = run.kept
    run.learn(X, y)
    assert run.trial.ended == 100
    assert before is not None
    assert run.kept == replace(before, repeated=True)


@pytest.mark.parametrize("name", ["ogd", "classes"])
def test_a_resumed_run_has_the_same_figures(name: str, tmp_path: Path) -> None:
    X, y = rows(120)
    whole: Any = train(LEARNERS[name], X, y, compiled=False)
    train(LEARNERS[name], X[:50], y[:50], compiled=False).save(tmp_path / "run")
    resumed: Any = load(tmp_path / "run")
    resumed.learn(X[50:], y[50:])
    assert np.array_equal(whole.trial.records, resumed.trial.records, equal_nan=True)
    assert whole.kept is not None
    assert whole.kept.to_json() == resumed.kept.to_json()


def test_few_rows_say_nothing_and_more_are_told_with_their_number() -> None:
    X, y = rows(200)
    assert all(train(LEARNERS["ogd"], X[:n], y[:n], compiled=False).kept is None for n in (1, 17, 40, 90))
    run = train(LEARNERS["ogd"], X, y, compiled=False)
    kept = run.kept
    assert kept is not None
    assert kept.figures.rows >= 32
    assert f"kept       {kept.error:.2%} wrong once the model learns no more" in str(run)
    assert f"{kept.figures.rows} rows judged, by models kept after {kept.models})" in str(run)
    assert "on the rows that follow in about the latter half of the run,\n" in str(run)
    assert "in about the latter half of the run" in kept.horizon
    weighed = str(train(LEARNERS["ogd"], X, y, np.full(200, 0.5), compiled=False))
    assert "% of the weight wrong once the model learns no more" in weighed
    run.learn(X, y)
    assert f"kept       {kept.error:.2%} wrong once the first pass is done and the model learns no more" in str(run)
    assert run.kept is not None
    assert run.kept.to_json()["first_pass_only"] is True


def test_without_certificates_plain_learners_keep_no_figures() -> None:
    X, y = rows(100)
    assert train(LEARNERS["ogd"], X, y, certify=False, compiled=False).kept is None


def test_labels_in_runs_are_worth_much_and_said_so() -> None:
    """Features that say nothing, labels that come in runs: live the last label tells the next, kept nothing does."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 2)), np.repeat(rng.choice([-1.0, 1.0], 100), 20)
    run = train(zoo.auto(Logistic()), X, y)
    kept = run.kept
    assert kept is not None
    assert kept.error is not None
    assert run.error is not None
    assert run.error < 0.12
    assert kept.error > 0.35
    assert kept.worth is not None
    assert kept.worth > 0.25
    assert "labels that come at once are worth" in str(run)
    again = train(zoo.auto(Logistic()), *rows(2000))
    assert again.kept is not None
    assert again.kept.worth is None
    assert "labels that come at once" not in str(again)


class Below(Loss):
    """(p − y)² − 3"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (p - y) * (p - y) - 3.0, 2.0 * (p - y)


def test_a_part_of_a_negative_loss_is_no_share_of_it() -> None:
    """Labels in runs: they save as much of a loss that is lower by 3, which has no share of 100%."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(1.0, 0.01, size=(600, 1)), np.repeat(rng.choice([-1.0, 1.0], 30), 20)
    high, low = (train(zoo.ogd(loss, 0.2), X, y, compiled=False) for loss in (Square(), Below()))
    assert high.kept is not None
    assert low.kept is not None
    assert low.kept.loss < 0
    assert high.kept.worth is not None
    assert low.kept.worth == pytest.approx(high.kept.worth)
    assert f"are worth {high.kept.worth / high.kept.loss:.0%} of the loss here" in str(high)
    assert f"are worth {low.kept.worth:.4g} of the loss a row here" in str(low)


def test_weights_that_sum_to_next_to_nothing() -> None:
    """Sums were divided by 1e-300 where weights summed to less: an error of 49 % was told as 0.05 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    found = [train(zoo.ogd(Logistic(), 1e-9), X, y, np.full(200, c), compiled=False).kept for c in (1e-9, 1e-305)]
    assert [k.loss for k in found if k is not None] == pytest.approx([math.log(2)] * 2)


def test_errors_whose_squares_are_no_numbers_are_not_told_as_none() -> None:
    """Labels near 1e-200 were told as met exactly: 0 root mean square."""
    x = np.random.default_rng(1).normal(size=(200, 1))
    run = train(zoo.ogd(Square(), 0.1), x, 1e-200 * x[:, 0], compiled=False)
    assert "kept       below 1e-155 root mean square" in str(run)
    assert "kept       0" not in str(run)
