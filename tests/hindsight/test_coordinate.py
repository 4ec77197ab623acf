"""Dual coordinate ascent, step by step."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import Absolute, Hinge, L2Ball, Logistic, Loss
from lowregret.hindsight.coordinate import MOST_REST, RESTLESS, Ascent, Piece
from lowregret.hindsight.objective import Objective
from lowregret.rows import as_rows
from lowregret.types import Vector

LOSSES: list[Loss] = [Hinge(), Logistic(), Absolute()]


def ascent(loss: Loss, rng: np.random.Generator, radius: float = 1.0) -> Ascent:
    """A problem of some rows, a few of them heavy."""
    x = rng.normal(size=(30, 5)) * np.where(rng.random((30, 1)) < 0.2, 10.0, 0.1)
    y, c = np.where(rng.random(30) < 0.5, 1.0, -1.0), rng.random(30) + 0.5
    found = Ascent(Objective(loss, as_rows(x), y, c, L2Ball(radius), compiled=False), np.zeros(30))
    found.least = 0.5
    return found


def dual(o: Objective, a: Vector, least: float) -> float:
    """D(a) of the largest λ allowed: the most that −‖v‖²/(2λ) − λB²/2 is for λ ≥ least."""
    v = o.gather(a)
    lam = max(float(np.linalg.norm(v)) / o.radius, least)
    conjugates = sum(c * o.loss.conjugate(s, y) for s, y, c in zip(a, o.y, o.c, strict=True))
    return -conjugates - float(v @ v) / (2 * lam) - lam * o.radius**2 / 2


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_sweep_never_loses_and_keeps_v(loss: Loss) -> None:
    here = ascent(loss, np.random.default_rng(1))
    o, piece, last = here.o, Piece(here, here.moving), -math.inf
    for _ in range(30):
        piece.sweep()
        piece.put_back()
        now = dual(o, here.a, here.least)
        assert now >= last - 1e-12
        np.testing.assert_allclose(here.v, o.gather(here.a), rtol=1e-9, atol=1e-12)
        last = now


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_that_gain_little_rest(loss: Loss) -> None:
    """For √(usual/gain) sweeps; meanwhile nothing of theirs changes."""
    here = ascent(loss, np.random.default_rng(2))
    piece = Piece(here, here.moving)
    piece.sweep()
    assert piece.usual == 0  # not yet
    here.climbs = RESTLESS + 1
    piece.sweep()
    assert piece.visited == 30
    assert not np.any(piece.dual.rest)
    assert piece.usual > 0
    a = here.a.copy()
    for _ in range(3):
        before, resting = piece.dual.a.copy(), piece.dual.rest.copy()
        usual = piece.usual
        lam = max(float(np.linalg.norm(piece.dual.v)) / here.o.radius, here.least)
        piece.sweep()
        asleep = resting > 0
        np.testing.assert_array_equal(piece.dual.a[asleep], before[asleep])
        np.testing.assert_array_equal(piece.dual.rest[asleep], resting[asleep] - 1)
        change = piece.dual.a - before
        gains = here.o.c**2 * here.o.squares * change**2 / lam
        awake = ~asleep & (change != 0)
        # λ moves by less than half within these sweeps, so rests are known up to a factor
        waits = np.sqrt(usual / np.maximum(gains, 1e-300))
        assert np.all(piece.dual.rest[awake & (waits < 0.7)] == 0)
        assert np.all(piece.dual.rest[awake & (waits > 2 * MOST_REST)] == MOST_REST - 1)
        assert np.all(piece.dual.rest < MOST_REST)
    assert np.any(piece.dual.rest > 0)
    assert np.any(piece.dual.a != a)


def test_rest_does_not_change_the_answer() -> None:
    """Looks in between make all rows move again that would: ascent ends at the maximum of D."""
    here = ascent(Hinge(), np.random.default_rng(3))
    for _ in range(100):
        here.climb(20)
        here.respond(here.o.scores(-here.v / here.lam))
    best = dual(here.o, here.a, here.least)
    rng = np.random.default_rng(4)
    for scale in np.geomspace(1e-6, 1.0, 200):
        other = -here.o.y * np.clip(np.abs(here.a) + scale * rng.normal(size=30), 0.0, 1.0)
        assert dual(here.o, other, here.least) <= best + 1e-9
