"""On real rows: the values that independent solvers find, for any radius."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.agreement import ROWS, TOLERANCE, ours, peer, penalised, prefix
from benchmarks.hindsight import LOSSES, RADII
from lowregret import L2Ball, Loss, Reals
from lowregret.hindsight import best_in_hindsight

AGREE = 1e-6
KAPPA = 10.0
NARROW = [(name, title, radius) for name in ("elec2", "a9a") for title in LOSSES for radius in RADII]
FEWER = 400  # rows, where the peer costs their cube
WIDE = [  # the others are in benchmarks/agreement.py: their peers, or ours on farm_ads with the hinge loss, take long
    ("farm_ads", "hinge", 1.0),
    ("farm_ads", "square", 10.0),
    ("enron_spam", "hinge", 1.0),
    ("enron_spam", "hinge", 10.0),
    ("enron_spam", "hinge", 100.0),
    ("farm_ads", "logistic", 10.0),
    ("enron_spam", "logistic", 1.0),
    ("enron_spam", "logistic", 100.0),
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "title", "radius"), NARROW + WIDE)
def test_as_others_find(data_folder: Path, name: str, title: str, radius: float) -> None:
    x, y = prefix(data_folder, name, FEWER if title == "logistic" and (name, title, radius) in WIDE else ROWS)
    value, gap, multiplier = ours(LOSSES[title], x, y, radius)
    assert gap <= TOLERANCE
    assert value == pytest.approx(peer(title, x, y, radius, value, multiplier), rel=AGREE)


@pytest.mark.parametrize("title", LOSSES)
@pytest.mark.parametrize("name", ["elec2", "a9a", "farm_ads", "enron_spam"])
def test_a_ridge_as_scikit_learn_has_it(data_folder: Path, name: str, title: str) -> None:
    """min Σℓ + (κ/2)‖w‖²"""
    x, y = prefix(data_folder, name, FEWER)
    found = best_in_hindsight(LOSSES[title], x, y, Reals(), ridge=KAPPA, tolerance=TOLERANCE)
    w, theirs = penalised(title, x, y)(KAPPA)
    assert found.gap <= TOLERANCE * (1 + found.value)
    assert found.value == pytest.approx(theirs + KAPPA / 2 * float(w @ w), rel=AGREE)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=repr)
@pytest.mark.parametrize("name", ["elec2", "a9a", "enron_spam"])
def test_a_ridge_and_the_ball_through_its_answer(data_folder: Path, name: str, loss: Loss) -> None:
    """Both have the same minimiser, found by different means."""
    x, y = prefix(data_folder, name)
    penalised = best_in_hindsight(loss, x, y, Reals(), ridge=10.0, tolerance=1e-8)
    size = float(np.linalg.norm(penalised.w))
    ball = best_in_hindsight(loss, x, y, L2Ball(size), tolerance=1e-7)
    assert penalised.gap <= 1e-8 * (1 + penalised.value)
    assert ball.gap <= 1e-7 * (1 + ball.value)
    assert ball.value + 5.0 * size**2 == pytest.approx(penalised.value, rel=AGREE)
