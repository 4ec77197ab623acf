"""A picture of a panel: who was trusted when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from lowregret.plot import EXACT, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.panel import Panel

NAMED = 8  # experts with a colour of their own; the others share one


def plot_panel(panel: Panel, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, stacked, the most trusted by name and all others in grey; below, the regret."""
    rounds, weights = panel.history
    figure, (above, below) = new_figure(2, f"{len(panel.names)} experts, {panel.rounds:,} rounds")
    if len(weights):
        order = np.argsort(-weights.mean(0), kind="stable")
        named, others = order[:NAMED], order[NAMED:]
        layers = [*(weights[:, i] for i in named), weights[:, others].sum(1)]
        labels = [*(panel.names[i] for i in named), f"{others.size} others"]
        shown = len(layers) if others.size else len(layers) - 1
        colours = [*(f"C{i}" for i in range(len(named))), "#dddddd"]
        above.stackplot(rounds, layers[:shown], labels=labels[:shown], colors=colours)
        above.legend(loc="upper left", fontsize="small", ncols=3)
        below.plot(rounds, panel.regrets, color=EXACT)
    above.set_ylabel("weight")
    above.set_ylim(0, 1)
    below.set_xlabel("round")
    below.set_ylabel("regret to the best expert so far")
    return finish(figure, path)
