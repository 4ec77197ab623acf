"""Pictures of intervals and portfolios: coverage over time, wealth and drawdown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from lowregret.show.plot import BOUND, EXACT, LOSS, REGRET, finish, new_figure, stacked_weights
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.conformal import ConformalIntervals
    from lowregret.experts.portfolio import Portfolio


def plot_coverage(intervals: ConformalIntervals, path: str | os.PathLike[str] | None) -> Figure:
    """Coverage so far and of the latest rounds, the share wanted and the least one proved; below, the radius."""
    told = intervals.coverage
    figure, (above, below) = new_figure(2, f"intervals of coverage {told.wanted:g}, {counted(told.rounds, 'round')}")
    rounds, so_far, latest, radius = intervals.coverage_over_time.T
    above.axhline(told.wanted, color=BOUND, linestyle="--", label="wanted")
    above.plot(rounds, latest, color=LOSS, linewidth=0.8, label=f"of the latest {told.window} rounds")
    above.plot(rounds, so_far, color=EXACT, label="so far")
    above.plot([told.rounds] * 2, [told.low, told.high], color=REGRET, marker="_", label="proved in the end")
    above.set_ylabel("share of outcomes inside")
    above.legend(fontsize="small")
    below.plot(rounds, radius, color=LOSS, linewidth=0.8)
    below.set_ylabel("half the width")
    below.set_ylim(bottom=0)
    below.set_xlabel("round")
    below.xaxis.set_major_formatter("{x:,.0f}")
    return finish(figure, path)


def plot_portfolio(portfolio: Portfolio, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, the wealth after costs, and by how much it lay below its highest so far."""
    assets, played = counted(len(portfolio.names), "asset"), counted(portfolio.rounds, "round")
    figure, (above, middle, below) = new_figure(3, f"{assets}, {played}")
    rounds, weights = portfolio.weights_over_time
    at, wealth = portfolio.wealth_over_time
    if len(weights):
        stacked_weights(above, rounds, weights, portfolio.names)
    middle.plot(at, wealth, color=EXACT)
    middle.set_yscale("log")
    middle.set_ylabel("wealth, from 1")
    below.fill_between(at, wealth / np.fmax.accumulate(wealth) - 1, color=BOUND, alpha=0.6)
    below.set_ylabel("below the highest so far")
    below.set_xlabel("round")
    return finish(figure, path)
