"""Every search ends, whatever the scales: by its tolerance, by its steps or by the clock, with a gap that is true."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

from lowregret import (
    Absolute,
    Box,
    EpsilonInsensitive,
    Hinge,
    Huber,
    L1Ball,
    L2Ball,
    Logistic,
    Loss,
    PartError,
    Poisson,
    Quantile,
    Reals,
    Simplex,
    Square,
    SquaredHinge,
)
from lowregret.compile.numerics import norm
from lowregret.convex.minimise import Solution
from lowregret.domain import Domain, Orthant
from lowregret.errors import LowRegretError
from lowregret.hindsight import best_in_hindsight
from lowregret.loss import Cost, LogWealth, Margin
from lowregret.types import Vector

SCALES = [1.0, 1.0, 1.0, 10.0, 0.1, 1e6, 1e-6, 1e100, 1e-100, 1e150, 1e-150, 1e200, 1e-200]
LOSSES: list[Loss] = [
    Hinge(), SquaredHinge(), Logistic(), Square(), Absolute(), Quantile(0.2), Huber(0.5), EpsilonInsensitive(0.3),
    Poisson(), Cost(), LogWealth(),
]  # fmt: skip
LIMIT = 20.0  # seconds for a problem of a few numbers, on a machine that has other things to do


def total(loss: Loss, x: Vector, y: Vector, u: Vector, kappa: float) -> float:
    """F(u), naively; infinite where it overflows."""
    with np.errstate(all="ignore"):
        value = sum(loss.at(float(p), float(label))[0] for p, label in zip(x @ u, y, strict=True))
        value += kappa * norm(u) / 2 * norm(u) if kappa > 0 else 0.0
    return math.inf if math.isnan(value) else value


def is_true(found: Solution, loss: Loss, x: Vector, y: Vector, domain: Domain, kappa: float, rng: object) -> None:
    """The value and the gap are numbers, the point is in the set, and no other point beats the interval."""
    assert math.isfinite(found.value)
    assert found.gap >= 0
    assert domain.contains(found.w)
    assert isinstance(rng, np.random.Generator)
    for size in (0.0, 1e-3, 1.0, 1e3, 1e100):
        with np.errstate(all="ignore"):
            there = found.w + size * max(float(np.max(np.abs(found.w))), 1e-200) * rng.normal(size=found.w.size)
            u = domain.projection(there)
        assert total(loss, x, y, u, kappa) >= found.value - found.gap - 1e-12 * abs(found.value)


def test_scores_that_overflow_end() -> None:
    x = np.array([[1e5, 0.0], [0.0, 1e5]])
    with pytest.raises(PartError, match="not finite at any point"):
        best_in_hindsight(Poisson(), x, [1.0, 1.0], Simplex(1.0), seconds=LIMIT)
    found = best_in_hindsight(Poisson(), x / 1e3, [1.0, 1.0], Simplex(1.0))
    assert found.gap <= 1e-6 * (1 + found.value)


def test_losses_below_0_end_with_a_ridge() -> None:
    x = np.array([[9.7, 7.2, 2.4, 8.4], [4.9, 11.7, 1.4, 5.4], [0.8, 5.2, 10.0, 12.4]]) * 1e149
    found = best_in_hindsight(LogWealth(), x, np.zeros(3), Reals(), None, 1e-15, tolerance=1e-9, seconds=LIMIT)
    assert found.value < 0 <= found.gap


def test_a_ridge_counts_where_squares_are_too_small_for_numbers() -> None:
    found = best_in_hindsight(Cost(), [[1e-10]], [1.0], L2Ball(1e100), None, 2e150)
    assert found.w == pytest.approx(-5e-161, abs=0)
    assert found.value == pytest.approx(-2.5e-171, rel=1e-14, abs=0)
    assert found.gap < 1e-13 * abs(found.value)


def test_a_loss_that_is_no_number_is_refused() -> None:
    with pytest.raises(PartError, match="not finite at any point"):
        best_in_hindsight(Cost(), [[-1e150]], [9e142], Orthant(), [3e-100], 7e150)


def test_a_ball_that_is_far_divides_nothing_by_zero() -> None:
    found = best_in_hindsight(Hinge(), [[1.0], [0.05]], [1, 1], L2Ball(1000.0), None, 1e-6)
    assert found.value == pytest.approx(1e-6 / 2 * 20**2, abs=1e-6)
    assert found.gap <= 1e-6 * (1 + found.value)


@pytest.mark.parametrize("domain", [L2Ball(1e200), L1Ball(1e250), Simplex(1e200), Box(-1e300, 1e300)], ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), Square(), Absolute(), Logistic()], ids=repr)
def test_sets_of_any_size(loss: Loss, domain: Domain) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 3)), rng.choice([-1.0, 1.0], 8)
    if isinstance(loss, Square) and isinstance(domain, Simplex):  # every point of it is far out
        with pytest.raises(PartError, match="not finite at any point"):
            best_in_hindsight(loss, x, y, domain, compiled=False)
        return
    is_true(best_in_hindsight(loss, x, y, domain, compiled=False), loss, x, y, domain, 0.0, rng)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(150))
def test_any_scales(seed: int) -> None:
    """An answer whose interval no point beats, or an error that says what to do; in bounded time, without a warning."""
    rng = np.random.default_rng(seed)
    loss, n, d = LOSSES[seed % len(LOSSES)], int(rng.integers(1, 9)), int(rng.integers(1, 5))
    x = rng.normal(size=(n, d)) * rng.choice(SCALES)
    y = rng.normal(size=n) * rng.choice(SCALES)
    if isinstance(loss, Margin):
        y = rng.choice([-1.0, 1.0], n)
    if isinstance(loss, Poisson | LogWealth):
        x, y = np.abs(x), np.abs(y)
    size, kappa = float(rng.choice(SCALES)), float(rng.choice([0.0, 0.0, *SCALES]))
    sets: list[Domain] = [L2Ball(size), L1Ball(size), Simplex(size), Box(-size, size), Box(0, size)]
    domain = sets[int(rng.integers(5))] if kappa == 0 or rng.random() < 0.8 else Reals()
    begin = time.monotonic()
    try:
        found = best_in_hindsight(loss, x, y, domain, ridge=kappa, seconds=LIMIT / 2, compiled=False)
    except LowRegretError:
        return
    finally:
        assert time.monotonic() - begin < LIMIT
    is_true(found, loss, x, y, domain, kappa, rng)


@pytest.mark.parametrize("power", [-900, -400, 400, 900])
@pytest.mark.parametrize("loss", [Hinge(), Square(), Logistic(), Huber(0.5)], ids=repr)
@pytest.mark.parametrize("domain", [L2Ball, L1Ball, Simplex], ids=lambda kind: str(kind.__name__))
def test_units_do_not_matter(loss: Loss, domain: type, power: int) -> None:
    """Features 2ᵏ times as large in a set 2⁻ᵏ times as large are the same problem."""
    rng = np.random.default_rng(1)
    x, y, factor = rng.normal(size=(12, 3)), rng.choice([-1.0, 1.0], 12), 2.0**power
    one = best_in_hindsight(loss, x, y, domain(2.0), compiled=False)
    other = best_in_hindsight(loss, x * factor, y, domain(2.0 / factor), compiled=False)
    assert other.value == pytest.approx(one.value, rel=3e-6)
    assert other.gap <= 1e-6 * (1 + other.value)
    heavy = best_in_hindsight(loss, x, y, domain(2.0), np.full(12, factor), compiled=False)
    assert heavy.value == pytest.approx(one.value * factor, rel=3e-6)
    assert heavy.gap <= 1e-6 * (1 + heavy.value)


def test_the_gap_knows_what_rounding_hides() -> None:
    """1e16 + 1 − 1e16 is 0 in doubles, and the least cost −1, not 0."""
    x = np.array([[1e16], [1.0], [-1e16]])
    found = best_in_hindsight(Cost(), x, np.ones(3), L2Ball(1.0))
    assert found.value - found.gap <= -1.0
    near = best_in_hindsight(Absolute(), x, np.array([-1e16, 0.0, -1e16]), L2Ball(1.0))
    assert near.value - near.gap <= 2e16


def test_the_clock_ends_a_search() -> None:
    rng = np.random.default_rng(119)
    x = 1e14 * rng.normal(size=(400, 60)) * 10.0 ** rng.integers(-6, 7, size=60)
    y = rng.normal(size=400)
    begin = time.monotonic()
    found = best_in_hindsight(Absolute(), x, y, L1Ball(1e6), tolerance=1e-9, seconds=0.5)
    assert time.monotonic() - begin < 0.5 + LIMIT / 2  # compiling included
    is_true(found, Absolute(), x, y, L1Ball(1e6), 0.0, rng)
    rows: list[tuple[float, float]] = []
    best_in_hindsight(Logistic(), x[:, :3], np.sign(y), L2Ball(1.0), seconds=1e-9, report=lambda *s: rows.append(s[:2]))
    assert len(rows) <= 1


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan])
def test_seconds_are_positive(seconds: float) -> None:
    with pytest.raises(PartError, match="seconds must be positive"):
        best_in_hindsight(Hinge(), np.eye(2), np.ones(2), L2Ball(1.0), seconds=seconds)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("domain", [Reals(), L2Ball(46.0), L1Ball(380.0), Box(-2.3, 2.3), Box(0.0, 147.0)], ids=repr)
def test_counts_that_are_large_are_found_down_powers_of_e(domain: Domain, seed: int) -> None:
    """Newton's step from 0 leads to scores of hundreds, from where a search must come back at once."""
    rng = np.random.default_rng(seed)
    x = np.abs(rng.normal(size=(12, 1 + seed % 5))) * 10.0 ** rng.uniform(-1, 2)
    y = np.abs(rng.normal(size=12)) * 10.0 ** rng.uniform(1, 3)
    found = best_in_hindsight(Poisson(), x, y, domain, ridge=0.05, compiled=False)
    assert found.gap <= 1e-5 * (1 + abs(found.value))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("domain", "kappa"), [(L2Ball(900.0), 0.0), (L2Ball(2.0), 1e-5), (Reals(), 1e-5)], ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), Absolute()], ids=repr)
def test_features_and_weights_of_all_sizes_at_once(loss: Loss, domain: Domain, kappa: float, seed: int) -> None:
    """Where Newton's method ends early, others go on."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(20, 8)) * 10.0 ** rng.uniform(-5, 5, size=8)
    y, c = rng.choice([-1.0, 1.0], 20), 10.0 ** rng.uniform(-5, 5, size=20)
    found = best_in_hindsight(loss, x, y, domain, c, kappa, seconds=LIMIT, compiled=False)
    assert found.gap <= 1e-3 * (1e-3 + found.value)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [1e8, 1e10, 1e12])
def test_rows_too_steep_for_newton_steps_are_answered_with_a_gap(size: float) -> None:
    x = size * np.array([[1.0, -2.0], [2.0, 1.0]])
    found = best_in_hindsight(Logistic(), x, [1.0, 1.0], Orthant(), ridge=0.001, seconds=5)
    assert np.all(found.w >= 0)
    assert 0 <= found.value <= 2 * math.log(2)
    assert found.value - found.gap <= 0.001 / 2 * (40 / size) ** 2  # of a point that tells both rows apart


@pytest.mark.parametrize("loss", [Quantile(0.9), Absolute()], ids=str)
@pytest.mark.parametrize("size", [1e5, 1e6])
def test_the_gap_knows_of_rounding_where_slopes_are_steep(loss: Loss, size: float) -> None:
    """A row can be met nearly for nothing: bounds are sums of numbers near size²/ridge, and may not say otherwise."""
    x = size * np.abs(np.sin(np.arange(1.0, 13.0)))[None]
    found = best_in_hindsight(loss, x, [0.01], Orthant(), ridge=1e-4, seconds=2)
    u = 0.01 * x[0] / (x[0] @ x[0])
    score = float(x[0] @ u)
    assert found.value - found.gap <= loss.at(score, 0.01)[0] + 1e-4 / 2 * float(u @ u)
