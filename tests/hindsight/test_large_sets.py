"""Smooth losses in polytopes far larger than their minimiser's surroundings: quadratic models that fall by little."""

from __future__ import annotations

import numpy as np
import pytest

from lowregret import Box, Huber, Logistic, Simplex
from lowregret.hindsight import best_in_hindsight


@pytest.mark.parametrize("seed", range(3))
def test_bends_that_few_rows_have(seed: int) -> None:
    """The set's size times the gradient is some 10⁷, what a step gains some 10²: the former says nothing of it."""
    rng = np.random.default_rng(seed)
    x = np.hstack([1e6 * rng.normal(size=(32, 20)), np.full((32, 1), 100.0)])
    y = x[:, :20] @ rng.dirichlet(np.ones(20)) / 100 + 100 * rng.normal(size=32)
    found = best_in_hindsight(Huber(1.0), x, y, Simplex(60.0), compiled=False)
    assert found.gap <= 1e-6 * (1 + found.value)
    assert found.w.min() >= 0
    assert found.w.sum() == pytest.approx(60.0)
    assert np.sum(loss_of(x @ found.w - y)) == pytest.approx(found.value, rel=1e-9)


def loss_of(r: np.ndarray) -> np.ndarray:
    return np.where(np.abs(r) <= 1, r * r / 2, np.abs(r) - 0.5)


def test_rounding_ends_the_search() -> None:
    """Where no step gains anything, none of the 300 is taken in vain."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 6)) * 10.0 ** np.array([-4, -3, -2, -1, 0, 0.5]), np.sign(rng.random(200) - 0.5)
    steps: list[float] = []
    best_in_hindsight(
        Logistic(), x, y, Box(-1e5, 1e5), tolerance=1e-12, compiled=False, report=lambda step, *_: steps.append(step)
    )
    assert len(steps) < 60
