"""Wealth after costs, assets that start later, EG as a class."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import DataError, PartError
from lowregret.experts import (
    AdaHedge,
    ExpertMixture,
    ExponentiatedGradient,
    FixedShare,
    Hedge,
    MixedPortfolio,
    OnlineNewton,
    Universal,
    best_rebalanced,
    rebalanced,
)
from lowregret.experts.wealth import remaining
from lowregret.loss import LogWealth

PLAIN: dict[str, Any] = {"compiled": False}
MAKE: dict[str, Callable[..., Any]] = {
    "eg": lambda **options: ExponentiatedGradient(4, 0.3, **PLAIN, **options),
    "adahedge": lambda **options: MixedPortfolio(4, AdaHedge(), **PLAIN, **options),
    "newton": lambda **options: OnlineNewton(4, **PLAIN, **options),
    "universal": lambda **options: Universal(4, 10_000, nodes=200, **PLAIN, **options),
}


def relatives(rounds: int = 60, assets: int = 4, seed: int = 0) -> Any:
    return np.exp(np.random.default_rng(seed).normal(0, 0.1, (rounds, assets)))


shares = st.lists(st.floats(0, 1), min_size=5, max_size=5).filter(lambda row: sum(row) > 0.1)


@given(shares, shares, st.floats(1e-4, 0.3), st.booleans())
def test_what_costs_leave_solves_its_equation(w: list[float], h: list[float], cost: float, cash: bool) -> None:
    weights, holdings = np.array([w]) / sum(w), np.zeros(5) if cash else np.array(h) / sum(h)
    mu = remaining(weights, 0, holdings, cost)
    assert (1 - cost) / (1 + cost) - 1e-12 <= mu <= 1
    assert mu + cost * np.abs(mu * weights[0] - holdings).sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("cost", [1 - 2.0**-53, 1 - 2.0**-40])
def test_costs_of_nearly_all_leave_something(cost: float) -> None:
    """The share that is left was rounded to 0, or below: wealth was no number."""
    rng = np.random.default_rng(1)
    for _ in range(100):
        w, h = np.eye(3)[rng.integers(0, 3)][None], rng.dirichlet(np.full(3, 0.3))
        assert (1 - cost) / (1 + cost) <= remaining(w, 0, h, cost) <= 1


def naive_wealth(weights: Any, x: Any, cost: float) -> list[float]:
    """Wealth after each round; what costs leave is found by bisection."""
    wealth, holdings, found = 1.0, np.zeros(x.shape[1]), []
    for w, row in zip(weights, x, strict=True):
        low, high = 0.0, 1.0
        for _ in range(200):
            middle = (low + high) / 2
            spent = middle + cost * np.abs(middle * w - holdings).sum()
            low, high = (middle, high) if spent < 1 else (low, middle)
        value = wealth * low * w * row
        wealth, holdings = value.sum(), value / value.sum()
        found.append(wealth)
    return found


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("cost", [0.0, 0.02])
def test_wealth_drawdown_and_sharpe_by_hand(name: str, cost: float) -> None:
    x = relatives()
    run = MAKE[name](cost=cost).learn(x)
    _, weights = run.weights_over_time
    curve = naive_wealth(weights, x, cost)
    assert run.wealth == pytest.approx(curve[-1]) == pytest.approx(math.exp(-run.loss))
    np.testing.assert_allclose(run.wealth_over_time[1], [1.0, *curve])
    highest = np.maximum.accumulate([1.0, *curve])
    assert run.drawdown == pytest.approx(np.max(1 - np.array([1.0, *curve]) / highest))
    returns = np.diff([1.0, *curve]) / np.array([1.0, *curve[:-1]])
    assert run.sharpe(12) == pytest.approx(returns.mean() / returns.std(ddof=1) * math.sqrt(12))
    assert run.ledger.paid == pytest.approx(-math.log(curve[-1] / naive_wealth(weights, x, 0.0)[-1]), abs=1e-9)


@pytest.mark.parametrize("name", ["eg", "adahedge", "newton"])
def test_the_certificate_holds_after_costs(name: str) -> None:
    x = relatives(60, 4, 5)
    free, run = MAKE[name]().learn(x), MAKE[name](cost=0.02).learn(x)
    best = best_rebalanced(x)
    assert run.loss > free.loss
    assert run.certificate.bound == pytest.approx(free.certificate.bound + run.ledger.paid)
    assert run.certificate.holds
    assert run.loss - best.value <= run.certificate.bound
    theirs = -math.log(rebalanced(best.w, x, 0.02).wealth)
    assert theirs > best.value
    assert run.loss - theirs <= run.certificate.bound
    assert run.regret == pytest.approx(run.loss + np.log(x).sum(0).max())


def test_costs_can_break_the_bound_without_them() -> None:
    """So that adding what they took is needed: to rebalance every day costs more than EG owes."""
    x = np.where(np.arange(400)[:, None] % 2 == np.arange(2), 1.6, 0.7)
    run = ExponentiatedGradient(2, 0.01, cost=0.05, **PLAIN).learn(x)
    gross = ExponentiatedGradient(2, 0.01, **PLAIN).learn(x)
    assert run.loss - best_rebalanced(x).value > gross.certificate.bound
    assert run.certificate.holds


def test_who_never_trades_pays_once() -> None:
    """The Bayes mixture of assets is buy and hold."""
    x = relatives()
    run = MixedPortfolio(4, Hedge(1.0), linearised=False, cost=0.01, **PLAIN).learn(x)
    assert run.ledger.paid == pytest.approx(math.log(1.01))
    assert run.wealth == pytest.approx(np.prod(x, 0).mean() / 1.01)


@pytest.mark.parametrize("name", MAKE)
def test_assets_that_start_later_count_as_the_portfolio_itself(name: str) -> None:
    x = relatives(60, 4, 7)
    x[:25, 3], x[:10, 1], x[50:, 0] = np.nan, np.nan, np.nan
    run, filled = MAKE[name]().learn(x), MAKE[name]()
    for row, own in zip(x, run.forecasts, strict=True):
        filled.learn(np.where(np.isnan(row), own, row)[None])
    np.testing.assert_allclose(filled.forecasts[-1], run.forecasts[-1])
    assert filled.wealth == pytest.approx(run.wealth)
    whole = np.where(np.isnan(x), run.forecasts[:, None], x)
    if name in ("eg", "adahedge", "newton"):
        assert run.certificate.premises_hold
        assert run.loss - best_rebalanced(whole).value <= run.certificate.bound + 1e-9
    first = run.weights_over_time[1][0]
    assert first[[1, 3]].tolist() == [0, 0]
    assert first.sum() == pytest.approx(1)


def test_eg_is_the_mixture_it_was() -> None:
    x = relatives()
    run = ExponentiatedGradient(4, **PLAIN).learn(x)
    mixture = ExpertMixture(4, Hedge(0.05), LogWealth(), **PLAIN)
    assert np.array_equal(run.forecasts, mixture.learn(x, np.ones(60)).forecasts)
    assert run.wealth == pytest.approx(math.exp(-mixture.loss))
    assert run.certificate.bound == mixture.certificate.bound
    assert run.distance < 0.02
    even = np.abs(run.weights_over_time[1] - 0.25).sum(1).max() / 2
    assert run.distance == pytest.approx(even)
    assert ExponentiatedGradient(4, 20.0, **PLAIN).learn(x).distance > 0.2


def test_switches_pay_costs_too() -> None:
    x = relatives()
    free, run = (MixedPortfolio(4, FixedShare(0.5, 0.1), cost=c, **PLAIN).learn(x) for c in (0.0, 0.01))
    assert run.bound(2) == pytest.approx(free.bound(2) + run.ledger.paid)


def test_what_is_wrong_is_said() -> None:
    wrong: list[Any] = [-0.1, 1.0, math.nan, "much"]
    for cost in wrong:
        with pytest.raises(PartError, match="cost is a share"):
            ExponentiatedGradient(2, cost=cost)
    run = ExponentiatedGradient(2, **PLAIN)
    with pytest.raises(DataError, match="round 1: the price relative of expert 0 is nan"):
        run.learn([[1.0, 1.0], [np.nan, np.nan]])
    with pytest.raises(DataError, match="round 1: all that the portfolio held has become worthless"):
        run.learn([[1.0, 1.1], [0.0, 0.0], [1.0, 1.0]])
    assert run.rounds == 1
    assert run.wealth == pytest.approx(1.05)
    with pytest.raises(DataError, match="a weight for each column"):
        rebalanced([0.5, 0.5], np.ones((3, 3)))


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    ExponentiatedGradient(4, **PLAIN).learn(relatives()).plot(tmp_path / "w.png")
    assert (tmp_path / "w.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("weights", "relatives"),
    [
        ([1, 0], [[1, 1], [0, 2]]),
        ([2, -1], [[1, 1], [1, 2]]),
        ([math.nan, 1], [[1, 1], [1, 2]]),
        ([0, 0], [[1, 1], [1, 2]]),
        ([0.5, 0.5], [[1, -1], [1, 2]]),
        ([0.5, 0.5], [[1, math.inf], [1, 2]]),
    ],
)
def test_wealth_that_is_none_is_not_told(weights: list[float], relatives: list[list[float]]) -> None:
    with pytest.raises(DataError):
        rebalanced(weights, relatives, compiled=False)
