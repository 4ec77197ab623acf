"""Wealth over time: transaction costs solved exactly, drawdown and the ratio of Sharpe, kept while it goes on.

Weights w are bought with what the holdings h (shares of the present wealth, summing to 1; all 0 at the very beginning,
when wealth is cash) are worth. Buying and selling cost c of the amount. What remains is μ with

    μ + cΣ|μw[i] − h[i]| = 1

whose left-hand side is convex, rises by at least 1 − c and is piecewise linear in μ: Newton's method from 1 falls onto
the root in at most N + 1 steps, exactly. Then wealth grows by ⟨w, x⟩. So ln wealth = Σln⟨w_t, x_t⟩ + Σln μ_t.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON
from lowregret.errors import DataError, PartError
from lowregret.experts.certify import rounding
from lowregret.experts.state import ROUNDS, Book
from lowregret.experts.substitute import Mean
from lowregret.learner.validate import real_numbers
from lowregret.types import Vector

WEALTH_SUM_NAMES = ("wealth", "paid", "peak", "drawdown", "returns", "mean", "squares")
WEALTH = 0  # ln of the present wealth, after costs
PAID = 1  # −Σ ln μ_t: ln of what wealth would be over what it is, as far as costs go
PEAK = 2  # ln of the highest wealth so far
DRAWDOWN = 3  # the largest ln(highest before/present)
RETURNS = 4  # n, returns counted
MEAN = 5  # their mean, (1/n)Σ(W_t/W_{t−1} − 1)
SQUARES = 6  # Σ (return − mean)²
YEAR = 252  # trading days
LARGEST = 709.0  # whose exponential is a number


def remaining(weights: Any, t: int, holdings: Any, cost: float) -> float:
    """μ, the share of wealth that is left once the holdings have become weights[t]: O(N) a step.

    μ = 1 − c·Σ|μw − h| ≥ 1 − c(μ + 1), so it is no less than (1 − c)/(1 + c), whatever is rounded.
    """
    mu, least = 1.0, (1.0 - cost) / (1.0 + cost)
    for _ in range(holdings.size + 2):
        value, slope = mu - 1.0, 1.0
        for i in range(holdings.size):
            away = mu * weights[t, i] - holdings[i]
            value += cost * abs(away)
            slope += cost * weights[t, i] if away > 0.0 else -cost * weights[t, i]
        step = value / max(slope, 1.0 - cost)  # weights sum to 1, but for rounding
        if not step > 0.0:
            break
        mu -= step
        if mu <= least:
            return least
    return mu


@kernel
def settle_rows(weights: Any, x: Any, cost: float, holdings: Any, sums: Any, before: Any) -> None:
    """Rebalance to weights[t], then earn x[t], row by row; ln of the wealth before that goes into before[t]."""
    for t in range(x.shape[0]):
        before[t] = sums[WEALTH]
        mu = remaining(weights, t, holdings, cost) if cost > 0.0 else 1.0
        earned = 0.0
        for i in range(holdings.size):
            holdings[i] = weights[t, i] * x[t, i] if weights[t, i] > 0.0 else 0.0
            earned += holdings[i]
        for i in range(holdings.size):
            holdings[i] /= earned
        sums[PAID] -= math.log(mu)
        note_return(sums, mu * earned)


def note_return(sums: Any, factor: float) -> None:
    """Book that wealth grew by this factor."""
    sums[WEALTH] += math.log(factor)
    if sums[WEALTH] > sums[PEAK]:
        sums[PEAK] = sums[WEALTH]
    if sums[PEAK] - sums[WEALTH] > sums[DRAWDOWN]:
        sums[DRAWDOWN] = sums[PEAK] - sums[WEALTH]
    sums[RETURNS] += 1.0
    away = factor - 1.0 - sums[MEAN]
    sums[MEAN] += away / sums[RETURNS]
    sums[SQUARES] += away * (factor - 1.0 - sums[MEAN])


class WealthLedger:
    """The holdings and the wealth of a portfolio that began with 1 and pays a share of every sale and purchase."""

    def __init__(self, assets: int, cost: float = 0.0) -> None:
        if not (isinstance(cost, (int, float)) and 0 <= cost < 1):
            raise PartError(f"cost is a share of what is bought or sold, from 0 on and below 1, got {cost!r}")
        self.cost, self.holdings, self.sums = float(cost), np.zeros(assets), np.zeros(len(WEALTH_SUM_NAMES))

    def settle(self, weights: Any, x: Any, compiled: bool) -> Vector:
        """Go through rounds with these weights and relatives; returns ln of the wealth before each."""
        before = np.empty(len(x))
        call(settle_rows, compiled, weights, x, self.cost, self.holdings, self.sums, before)
        return before

    @property
    def wealth(self) -> float:
        """The present value of an initial wealth of 1, after costs."""
        return exponential(float(self.sums[WEALTH]))

    @property
    def paid(self) -> float:
        """−Σ ln μ_t, by how much costs lowered ln wealth."""
        return float(self.sums[PAID])

    @property
    def drawdown(self) -> float:
        """The largest fall from a highest wealth, as a share of it."""
        return float(-np.expm1(-self.sums[DRAWDOWN]))

    def sharpe(self, periods: float = YEAR) -> float:
        """Mean return over its standard deviation, times √(periods a year); without a riskless rate taken off.

        NaN where there is no deviation, or one beyond all numbers.
        """
        n = self.sums[RETURNS]
        spread = math.sqrt(self.sums[SQUARES] / (n - 1)) if n > 1 else 0.0
        return float(self.sums[MEAN] / spread * math.sqrt(periods)) if 0 < spread < math.inf else math.nan


def rebalanced(weights: Any, relatives: Any, cost: float = 0.0, *, compiled: bool = True) -> WealthLedger:
    """The wealth of fixed weights, bought anew every round at the same cost; those not listed are left out of a round.

    Weights of assets listed are scaled to sum to 1; where all of them are 0, they are evenly spread.
    """
    x, u = real_numbers(relatives, "relatives"), real_numbers(weights, "weights")
    if x.ndim != 2 or u.shape != x.shape[1:]:
        raise DataError(f"expected a weight for each column of the relatives, got shapes {u.shape} and {x.shape}")
    if not (np.all((u >= 0) & (u < math.inf)) and 0 < u.sum() < math.inf):
        raise DataError(f"weights are numbers from 0 on, not all 0, got {u}")
    _require_relatives(x)
    found, used = WealthLedger(u.size, cost), listed_weights(np.tile(u, (len(x), 1)), x)
    ruined = np.flatnonzero(~(np.einsum("ti,ti->t", used, np.nan_to_num(x)) > 0))
    if ruined.size:
        raise DataError(f"round {ruined[0]}: all that these weights held has become worthless")
    found.settle(used, x, compiled)
    return found


def _require_relatives(x: Any) -> None:
    """Refuse what cannot be price relatives."""
    bad = np.argwhere((x < 0) | (x == math.inf))
    if bad.size:
        t, i = bad[0].tolist()
        raise DataError(f"round {t}: the price relative of asset {i} is {x[t, i]:g}: expected a number from 0 on")


def listed_weights(weights: Any, x: Any) -> Any:
    """Weights of the assets that have a relative, scaled to sum to 1; evenly spread where all of them are 0."""
    there = ~np.isnan(x)
    kept = np.where(there, weights, 0.0)
    total = kept.sum(1, keepdims=True)
    return np.where(
        total > 0, kept / np.where(total > 0, total, 1.0), there / np.maximum(there.sum(1, keepdims=True), 1)
    )


def exponential(log: float) -> float:
    """e^log, infinite where that is beyond all numbers."""
    return math.exp(log) if log < LARGEST else math.inf


def with_rounding(found: Certificate, book: Book, more: float) -> Certificate:
    """A certificate of weights that are computed, with what sums of logarithms, weights and their programmes round.

    Losses are off as those of any mixture. Regrets that make weights, and weights that make relatives, are off by a few
    (T + N)ε of what regrets can be; `more` is what else is known to be off.
    """
    terms = int(book.counts[ROUNDS]) + book.prior.size + 16
    off = 64 * EPSILON * terms * (found.bound + 1) + more if found.bound < math.inf else 0.0
    return replace(found, rounding=rounding(book, Mean()) + off)


def after_costs(found: Certificate, ledger: WealthLedger, rounds: int) -> Certificate:
    """A certificate of wealth before costs as one of wealth after them: everything grows by −Σ ln μ_t.

    The root μ, from (1 − c)/(1 + c) on, of a function that rises by 1 − c is off by 8(N + 8)ε/(1 − c).
    """
    paid, cost = ledger.paid, ledger.cost
    if "exact" in found.comparator:
        found = replace(found, comparator=found.comparator | {"exact": "assets"})
    if not paid:
        return found
    off = 8 * EPSILON * (ledger.holdings.size + 8) * (1 + cost) / (1 - cost) ** 2 + EPSILON * paid
    return replace(
        found,
        statement=f"{found.statement}, + what costs took, −Σ ln μ_t",
        linear_regret=None if found.linear_regret is None else found.linear_regret + paid,
        bound=found.bound + paid,
        regret=None if found.regret is None else found.regret + paid,
        rounding=found.rounding + rounds * off,
    )
