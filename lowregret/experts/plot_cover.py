"""Pictures of intervals and portfolios: coverage over time, wealth and drawdown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lowregret.show.plot import BOUND, EXACT, LOSS, REGRET, finish, new_figure
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.conformal import ConformalIntervals


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
