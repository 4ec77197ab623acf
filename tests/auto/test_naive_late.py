"""Compiled `auto` with late answers beside its transcription: random delays, bursts, rows in pieces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowregret import zoo
from lowregret.loss import Softmax, Square
from lowregret.run.begin import begin
from tests.auto import naive_late
from tests.auto.test_naive import mixed_rows
from tests.auto.test_naive_classes import class_rows

N = 130
RNG = np.random.default_rng(4)
DELAYS: dict[str, Any] = {
    "fixed": np.full(N, 5),
    "random": RNG.integers(0, 30, N),
    "bursts": 25 - np.arange(N) % 25,
    "more and more": np.arange(N) // 4,  # so that trust fades again and again
}
every_schedule = pytest.mark.parametrize("schedule", DELAYS)


def in_pieces(learner: Any, X: Any, y: Any, delays: Any, weights: Any = None) -> tuple[Any, list[Any]]:
    """A run that is given rows bit by bit, and the scores that it gave."""
    run, made = begin(learner, X.shape[1], delay=0), list[Any]()
    if hasattr(run, "keep_scores"):
        run.keep_scores = True
    for begin_, end in ((0, 1), (1, 47), (47, 48), (48, N)):
        rows = slice(begin_, end)
        run.learn(X[rows], y[rows], None if weights is None else weights[rows], delay=delays[rows])
        made += list(run.scores)
    return run, made


@every_schedule
def test_classification(schedule: str) -> None:
    X, score = mixed_rows(1, N)
    y, weights = np.where(score > np.median(score), 1.0, -1.0), RNG.choice([0.5, 1.0, 3.0], N)
    run, scores = in_pieces(zoo.auto(features="raw"), X, y, DELAYS[schedule], weights)
    heard = naive_late.classify(X, y, DELAYS[schedule], weights)
    np.testing.assert_allclose(scores, heard.scores, atol=5e-3, rtol=5e-3)
    np.testing.assert_allclose(run.contest.losses, heard.losses, rtol=1e-3)
    assert run.late.drift == pytest.approx(heard.drift, abs=0.02)


@every_schedule
def test_regression(schedule: str) -> None:
    X, y = mixed_rows(2, N)
    run, scores = in_pieces(zoo.auto(Square(), "raw"), X, 100.0 + y, DELAYS[schedule])
    heard = naive_late.regress(X, 100.0 + y, DELAYS[schedule])
    np.testing.assert_allclose(scores, heard.scores, atol=2e-3 * y.std())
    np.testing.assert_allclose(run.contest.losses, heard.losses, rtol=2e-3)
    assert run.late.drift == pytest.approx(heard.drift, rel=2e-3)


@every_schedule
def test_classes(schedule: str) -> None:
    X, y = class_rows(3, N)
    run, scores = in_pieces(zoo.auto(Softmax(), "raw"), X, y, DELAYS[schedule])
    heard = naive_late.classify_many(X, y.tolist(), DELAYS[schedule])
    np.testing.assert_allclose(run.contest.losses, heard.losses, rtol=3e-3)
    for made, chances in zip(scores, heard.scores, strict=True):
        np.testing.assert_allclose(np.exp(made[: chances.size]), chances, atol=5e-3)
    assert run.late.drift == pytest.approx(heard.drift, abs=0.1)


def test_another_delay_is_noticed() -> None:
    X, score = mixed_rows(1, N)
    y = np.where(score > np.median(score), 1.0, -1.0)
    run, _ = in_pieces(zoo.auto(features="raw"), X, y, DELAYS["fixed"])
    other = naive_late.classify(X, y, DELAYS["fixed"] + 1, np.ones(N))
    assert not np.allclose(run.contest.losses, other.losses, rtol=3e-3)
