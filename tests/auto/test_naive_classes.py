"""Compiled `auto` for many classes beside its transcription, and its bound beside experts' losses found by it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lowregret import zoo
from lowregret.loss import Softmax
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.begin import begin
from lowregret.train import train
from tests.auto.naive_classes import Made, classify_many
from tests.auto.real import PROBLEMS, Find
from tests.auto.test_naive import mixed_rows
from tests.naive import Matrix, Vector

NEAR = 3e-3  # lanes are kept in single precision
ROWS = 90  # of real sets, for the transcription


def class_rows(seed: int, n: int = 120) -> tuple[Matrix, Any]:
    """Four classes; the last is met in the middle first, and half of the features come later than that."""
    X, score = mixed_rows(seed, n)
    y = np.digitize(score, np.quantile(score, [0.3, 0.6, 0.85]))
    y[: n // 2] = np.minimum(y[: n // 2], 2)
    X[: n * 2 // 3, ::2] *= np.arange(X.shape[1])[::2] < 4
    return X, y


def coded(y: Any) -> Any:
    """Classes numbered as they are met."""
    names, first = np.unique(y, return_index=True)
    order = names[np.argsort(first)].tolist()
    return np.array([order.index(label) for label in y.tolist()])


def learnt(X: Any, y: Any, weights: Vector | None = None, classes: Sequence[Any] | None = None) -> AutoMulticlassRun:
    run = begin(zoo.auto(Softmax(), "raw"), X.shape[1], classes)
    run.keep_scores = True
    return run.learn(X, y, weights)


def require_near(run: AutoMulticlassRun, made: Made, near: float = NEAR) -> None:
    """Losses to NEAR; chances to `near`, and guesses where that decides them."""
    np.testing.assert_allclose(run.contest.losses, made.losses, rtol=NEAR)
    assert run.loss == pytest.approx(made.total, rel=NEAR)
    for t, chances in enumerate(made.chances):
        np.testing.assert_allclose(np.exp(run.scores[t, : chances.size]), chances, atol=near)
        if chances.size < 2 or np.diff(np.sort(chances)[-2:]) > 2 * near:  # else the likeliest is a matter of rounding
            assert run.guesses[t] == made.guesses[t]


@pytest.mark.parametrize("seed", range(3))
def test_classes_met_on_the_way(seed: int) -> None:
    X, y = class_rows(seed)
    require_near(learnt(X, y), classify_many(X, coded(y)))


@pytest.mark.parametrize("delay", [0, 9])
def test_experts_are_judged_as_the_mixture_is(delay: int) -> None:
    """While no class is met all say the same: nobody loses to anybody, in whatever rows that is known."""
    X, y = class_rows(8, 2 * delay + 1)
    run = train(zoo.auto(Softmax(), "raw"), X, y, delay=delay or None)
    assert run.rounds == delay + 1
    np.testing.assert_allclose(run.contest.losses, run.loss, rtol=1e-12)


def test_weights() -> None:
    X, y = class_rows(5)
    weights = np.random.default_rng(5).choice([0.25, 1.0, 3.0], y.size)
    require_near(learnt(X, y, weights), classify_many(X, coded(y), weights))


def test_classes_named_beforehand() -> None:
    """Of six classes two never come; in the first row all are alike, and the first of them is said."""
    X, y = class_rows(6)
    run = learnt(X, y, classes=[0, 1, 2, 3, 4, 5])
    require_near(run, classify_many(X, y, known=6))
    assert run.guesses[0] == 0
    np.testing.assert_allclose(np.exp(run.scores[0]), np.full(6, 1 / 6), atol=1e-6)


def test_ties() -> None:
    """Rows that say nothing: frequencies and the labels before decide, and of equals the class met first."""
    y = np.tile([2, 7, 7, 2, 5], 20)
    X = np.zeros((y.size, 3))
    run, made = learnt(X, y), classify_many(X, coded(y))
    require_near(run, made)
    twins = np.tile([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], (40, 1))
    labels = np.tile(["b", "a"], 40)
    require_near(learnt(twins, labels), classify_many(twins, coded(labels)))


def test_rows_without_weight_are_not_there() -> None:
    X, y = class_rows(8)
    weights = np.where(np.arange(y.size) % 4 == 2, 0.0, 1.0)
    kept = weights > 0
    np.testing.assert_allclose(
        learnt(X, y, weights).contest.losses, classify_many(X[kept], coded(y[kept])).losses, rtol=NEAR
    )


def test_another_prior_is_noticed() -> None:
    """The comparison can fail: one row less, or a label changed, is seen."""
    X, y = class_rows(0)
    run = learnt(X, y)
    other = coded(y).copy()
    other[-1] = (other[-1] + 1) % 3
    for made in (classify_many(X[1:], coded(y[1:])), classify_many(X, other)):
        assert not np.allclose(run.contest.losses, made.losses, rtol=NEAR)


# ---- the bound, on real rows ----------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["letter", "news20", "ocr_letters"])
def test_the_mixture_is_near_the_best_expert_of_real_rows(name: str, data_file: Find) -> None:
    """Losses of experts are found by the transcription, on the first rows; on more rows the run's own are taken."""
    p = PROBLEMS[name](data_file)
    few = p.x[:ROWS][:, np.unique(p.x[:ROWS].indices)]
    run, made = learnt(few, p.y[:ROWS]), classify_many(few.toarray(), coded(p.y[:ROWS]))
    require_near(run, made, near=0.01)  # a text of a thousand words adds as many errors of rounding
    best = made.each.sum(axis=0).min()
    assert made.total <= best + math.log(11) + math.log(ROWS)
    assert run.loss <= best + math.log(11) + math.log(ROWS)
    assert run.certificate.holds
    assert run.certificate.regret == pytest.approx(made.total - best, abs=2 * NEAR * best)
    whole = train(zoo.auto(Softmax()), p.x, p.y)
    assert whole.certificate.holds
    assert np.all(whole.eras(5).mixture - whole.eras(5).least <= whole.eras(5).bounds)
