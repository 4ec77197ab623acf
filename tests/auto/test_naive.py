"""Compiled `auto` beside its transcription."""

from __future__ import annotations

import numpy as np
import pytest

from lowregret import zoo
from lowregret.loss import Square
from lowregret.train import train
from tests.auto import naive
from tests.naive import Matrix, Vector


def mixed_rows(seed: int, n: int = 150) -> tuple[Matrix, Vector]:
    """Dense columns, rare ones, counts, one that never changes, and a score to be found."""
    rng = np.random.default_rng(seed)
    dense = rng.normal(3.0, 2.0, (n, 2))
    rare = rng.integers(0, 2, (n, 4)) * (rng.random((n, 4)) < 0.3)
    counts = rng.poisson(0.4, (n, 3)) * 7.0
    X = np.hstack([dense, rare, counts, np.full((n, 1), 2.5)])
    return X, X @ rng.normal(size=X.shape[1]) - 4.0 + rng.normal(size=n)


@pytest.mark.parametrize("seed", range(3))
def test_classification(seed: int) -> None:
    X, score = mixed_rows(seed)
    y = np.where(score > np.median(score), 1.0, -1.0)
    run = train(zoo.auto(features="raw"), X, y)
    scores, losses = naive.classify(X, y)
    np.testing.assert_allclose(run.scores, scores, atol=2e-3, rtol=2e-3)
    np.testing.assert_allclose(run.contest.losses, losses, rtol=1e-3)


def test_classification_with_weights() -> None:
    X, score = mixed_rows(7)
    y, weights = np.where(score > 0, 1.0, -1.0), np.random.default_rng(1).choice([0.5, 1.0, 3.0], score.size)
    run = train(zoo.auto(features="raw"), X, y, weights)
    scores, losses = naive.classify(X, y, weights)
    np.testing.assert_allclose(run.scores, scores, atol=5e-3, rtol=5e-3)
    np.testing.assert_allclose(run.contest.losses, losses, rtol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_regression(seed: int) -> None:
    X, y = mixed_rows(seed)
    if seed == 3:
        y[90] = 3e5  # a label that is not believed
    run = train(zoo.auto(Square(), "raw"), X, 100.0 + y)
    scores, losses = naive.regress(X, 100.0 + y)
    np.testing.assert_allclose(run.scores, scores, atol=1e-3 * y[:90].std())
    np.testing.assert_allclose(run.contest.losses, losses, rtol=2e-3)
