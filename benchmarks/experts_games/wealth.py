"""Portfolios: wealth, costs, drawdown and Sharpe's ratio as fractions and logarithms give them, and certificates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.exact import exact, log, near
from benchmarks.experts_games.mixtures import demand, saved
from benchmarks.experts_games.tables import Dice, aggregator
from lowregret.experts import ExponentiatedGradient, MixedPortfolio, OnlineNewton, Universal
from lowregret.experts.portfolio import Portfolio

HUGE = exact(1e300)  # beyond which squares of returns are no numbers
CLOSE = exact(1e-9)  # of shares of wealth


def wealth_game(dice: Dice, folder: str) -> None:
    """Invest in relatives that may be absurd, in parts, with files between."""
    x = _relatives(dice)
    make = _maker(dice, *x.shape)
    whole, parts, wealth = make(), make(), list[Any]()
    used = []
    for t in range(len(x)):
        parts = saved(parts, folder) if dice.often(0.1) else parts
        used.append(parts.weights)
        parts.learn(x[t : t + 1])
        wealth.append(parts.forecasts[0])
    whole.learn(x)
    demand(np.array_equal(wealth, whole.forecasts), "one by one is not the whole")
    demand(parts.loss == whole.loss and parts.drawdown == whole.drawdown, "one by one is not the whole: wealth")
    _check_wealth(whole, x, used)
    _check_regret(dice, whole, x)


def _relatives(dice: Dice) -> Any:
    rounds, assets = dice.choice([1, 2, 5, 20]), dice.choice([1, 2, 3])
    x = np.exp(dice.arrays.normal(size=(rounds, assets)) * dice.choice([0.01, 1.0, 20.0]))
    if dice.often(0.2):
        x = np.ones(x.shape)
    if dice.often(0.3) and assets > 1:
        x[dice.arrays.random(x.shape) < 0.2] = dice.choice([0.0, 1e-300, 1e200])
    if dice.often(0.3):
        x[dice.arrays.random(x.shape) < 0.3] = math.nan
    return x


def _maker(dice: Dice, rounds: int, assets: int) -> Callable[[], Portfolio]:
    cost, mixed = dice.choice([0.0, 0.0, 0.001, 0.9]), aggregator(dice)
    linearised = dice.often(0.6)
    return dice.choice(
        [
            lambda: ExponentiatedGradient(assets, 0.05, cost=cost, compiled=False),
            lambda: MixedPortfolio(assets, mixed, linearised=linearised, cost=cost, compiled=False),
            lambda: OnlineNewton(assets, cost=cost, compiled=False),
            lambda: Universal(assets, rounds, cost=cost, compiled=False),
        ]
    )


def _check_wealth(found: Portfolio, x: Any, used: list[Any]) -> None:
    """Wealth from the weights that were shown before each round."""
    holdings, factors = [Fraction(0)] * x.shape[1], list[Fraction]()
    for row, weights in zip(x, used, strict=True):
        listed = [not math.isnan(v) for v in row]
        w = [exact(a) if there else Fraction(0) for a, there in zip(weights, listed, strict=True)]
        if not sum(w):
            return  # whom nobody trusted is held by another rule
        w = [a / sum(w) for a in w]
        earned = [a * exact(v) if a else Fraction(0) for a, v in zip(w, row, strict=True)]
        if not sum(earned):
            return
        mu = remaining(w, holdings, found.ledger.cost) if found.ledger.cost else Fraction(1)
        holdings = [v / sum(earned) for v in earned]
        factors.append(mu * sum(earned))
    logs = [log(factor) for factor in factors]
    size = sum(map(abs, logs), Fraction(0)) + len(logs)
    demand(near(found.loss, -sum(logs, Fraction(0)), 64 * size, len(logs)), "loss", found.loss, -float(sum(logs)))
    peak = fall = total = Fraction(0)
    for step in logs:
        total += step
        peak = max(peak, total)
        fall = max(fall, peak - total)
    demand(abs(found.drawdown + math.expm1(-float(fall))) < 1e-9, "drawdown", found.drawdown, -math.expm1(-float(fall)))
    returns = [factor - 1 for factor in factors]
    mean = sum(returns, Fraction(0)) / len(returns)
    spread = sum(((v - mean) ** 2 for v in returns), Fraction(0)) / max(len(returns) - 1, 1)
    if spread > (CLOSE * max(map(abs, returns))) ** 2 and not (spread > HUGE and math.isnan(found.sharpe())):
        wanted = float(mean * mean / spread) ** 0.5 * math.sqrt(252) * (1 if mean > 0 else -1)
        demand(math.isclose(found.sharpe(), wanted, rel_tol=1e-6, abs_tol=1e-6), "Sharpe", found.sharpe(), wanted)


def _check_regret(dice: Dice, found: Portfolio, x: Any) -> None:
    """−ln wealth against that of fixed weights that pay nothing, whose share of assets not listed is our own."""
    own = [exact(p) for p in found.forecasts]
    loss = -sum((log(p) for p in own), Fraction(0))
    rivals = [*np.eye(x.shape[1]), *dice.arrays.dirichlet(np.ones(x.shape[1]), 3)]
    for c in found.certificates:
        if not c.premises_hold:
            continue
        demand(c.holds, c.id, "does not hold:", c.regret, c.linear_regret, c.bound, c.rounding)
        corners = c.comparator.get("set") != "simplex"
        if not getattr(found, "exact", True):
            continue  # against portfolios that were drawn
        for u in rivals[: x.shape[1]] if corners else rivals:
            shares = [exact(v) / sum(map(exact, u)) for v in u]
            terms = [
                sum((a * (p if math.isnan(v) else exact(v)) for a, v in zip(shares, row, strict=True)), Fraction(0))
                for row, p in zip(x, own, strict=True)
            ]
            if all(terms):
                regret = loss + exact(found.ledger.paid) + sum((log(v) for v in terms), Fraction(0))
                said = min(v for v in (c.linear_regret, c.bound) if v is not None)
                fine = not math.isfinite(said) or regret <= exact(said) + exact(c.rounding)
                demand(fine, c.id, "regret", float(regret), "above", said, "rounding", c.rounding)


def remaining(weights: Sequence[Any], holdings: Sequence[Any], cost: Any) -> Fraction:
    """μ with μ + cΣ|μw − h| = 1, by bisection among the places where a term turns."""
    w, h, c = [exact(v) for v in weights], [exact(v) for v in holdings], exact(cost)

    def rest(mu: Fraction) -> Fraction:
        return mu - 1 + c * sum((abs(mu * a - b) for a, b in zip(w, h, strict=True)), Fraction(0))

    ends = sorted({Fraction(0), Fraction(1), *(b / a for a, b in zip(w, h, strict=True) if a and 0 < b / a < 1)})
    for low, high in itertools.pairwise(ends):
        if rest(low) <= 0 <= rest(high):
            return low - rest(low) * (high - low) / (rest(high) - rest(low)) if rest(high) != rest(low) else low
    raise ArithmeticError("no share of wealth remains")
