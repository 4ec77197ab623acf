"""The best in hindsight, against brute force, a general solver, and its own gap."""

from __future__ import annotations

import math
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Absolute, Hinge, Quantile, Square
from lowregret.experts import BinaryLogScore, ExpertMixture, FixedShare, Layered, LogScore, MLPoly, Percentage, Review
from lowregret.experts.best import best_combination, best_switching, quadratic_on_simplex
from lowregret.loss import LogWealth, Loss
from tests.experts.cases import random_rounds


def total(loss: Loss, x: Any, y: Any, u: Any) -> float:
    p = x @ u
    return sum(loss.at(a, b)[0] for a, b in zip(p.ravel(), y.ravel(), strict=True))


@pytest.mark.parametrize("loss", [Square(), Absolute(), Quantile(0.8), Percentage(), LogWealth(), BinaryLogScore()])
def test_no_point_of_a_fine_grid_is_better_than_the_gap_allows(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    y: Any = rng.uniform(1, 2, (40, 1)) if not isinstance(loss, BinaryLogScore) else (rng.random((40, 1)) < 0.5) * 1.0
    x = rng.uniform(0.05, 0.95, (40, 3)) if isinstance(loss, BinaryLogScore) else y + rng.normal(size=(40, 3)) * 0.3
    x = np.maximum(x, 0.01)
    x = x[:, None]
    found = best_combination(loss, x, y)
    assert found is not None
    assert found.w.min() >= 0
    assert found.w.sum() == pytest.approx(1)
    assert found.value == pytest.approx(total(loss, x, y, found.w))
    assert found.gap <= 1e-8 * (1 + abs(found.value))
    steps = np.linspace(0, 1, 21)
    for a, b in product(steps, steps):
        if a + b <= 1:
            assert total(loss, x, y, np.array([a, b, 1 - a - b])) >= found.value - found.gap - 1e-9


def test_classes() -> None:
    rng = np.random.default_rng(2)
    x = rng.dirichlet(np.ones(3), (60, 4)).transpose(0, 2, 1)
    y = np.eye(3)[rng.integers(0, 3, 60)]
    for loss in (LogScore(), Square()):
        found = best_combination(loss, x, y)
        assert found is not None
        assert found.value == pytest.approx(total(loss, x, y, found.w))
        assert found.gap <= 1e-8 * found.value
        for u in rng.dirichlet(np.ones(4), 100):
            assert total(loss, x, y, u) >= found.value - 1e-9


def test_a_loss_without_solver() -> None:
    assert best_combination(Hinge(), np.ones((2, 1, 2)), np.ones((2, 1))) is None


@settings(max_examples=60)
@given(st.integers(1, 12), st.integers(1, 15), st.integers(0, 10**6))
def test_quadratic_programmes(n: int, rank: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    d = rng.normal(size=(rank, n)) * 10.0 ** rng.uniform(-2, 2)
    a, b = d.T @ d, rng.normal(size=n)
    if rank < n:
        b = a @ rng.normal(size=n)  # else along a flat direction, the vertices decide
    u = quadratic_on_simplex(a, b, np.full(n, 1 / n))
    slope = a @ u - b
    scale = float(np.abs(a).max() + np.abs(b).max())
    assert u.sum() == pytest.approx(1)
    assert u.min() >= 0
    assert float(slope @ u - slope.min()) <= 1e-7 * scale


@pytest.mark.parametrize("loss", [Square(), BinaryLogScore()])
def test_far_more_experts_than_rounds(loss: Loss) -> None:
    """A matrix of experts × experts took all memory, and where there was enough of it, thousands of solutions of it."""
    rng = np.random.default_rng(4)
    x, y = rng.uniform(0.1, 0.9, (5, 1, 100_000)), np.array([[1.0], [0.0], [1.0], [1.0], [0.0]])
    found = best_combination(loss, x, y)
    assert found is not None
    assert found.gap <= 1e-6
    assert found.value == pytest.approx(total(loss, x, y, found.w), abs=1e-6)


def test_switching_is_brute_force() -> None:
    losses = np.random.default_rng(3).random((6, 3))
    for allowed, path in enumerate(best_switching(losses, 4, compiled=False)):
        sums = [
            sum(losses[t, i] for t, i in enumerate(way))
            for way in product(range(3), repeat=6)
            if sum(a != b for a, b in pairwise(way)) <= allowed
        ]
        assert path.switches == allowed
        assert path.loss == pytest.approx(min(sums))


def test_sleepers_cannot_be_followed() -> None:
    paths = best_switching(np.array([[1.0, math.inf], [math.inf, 1.0]]), 1, compiled=False)
    assert [path.loss for path in paths] == [math.inf, 2.0]


def test_a_review_tells_all_and_holds() -> None:
    x, y = random_rounds(120, 4, 5)
    panel = Layered(4, compiled=False)
    panel.learn(x, y)
    review = Review.of(panel, x, y)
    assert review.uniform == pytest.approx(((x.mean(1) - y) ** 2).sum())
    assert review.certificate.holds
    assert review.certificate.regret is not None
    assert review.certificate.regret >= panel.regret
    text = str(review)
    for words in ("the best expert", "5 switches", "the best weights", "theory promised at most"):
        assert words in text


def test_a_review_with_sleepers_and_shares() -> None:
    x, y = random_rounds(120, 4, 6, 0.3)
    y[7] = math.nan
    panel = ExpertMixture(4, FixedShare(0.1, 0.05), Absolute(), linearised=False, compiled=False)
    panel.learn(x, y)
    review = Review.of(panel, x, y)
    assert review.combination is not None
    told = review.to_json()
    assert all(path["regret"] is None or path["regret"] <= path["bound"] for path in told["switching"])
    silent = ExpertMixture(4, MLPoly(0.9), compiled=False).learn(x, y)
    assert "nothing was promised" in str(Review.of(silent, x, y))
