"""A picture of a panel: who was trusted when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from lowregret.plot import finish, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.panel import Panel

NAMED = 8  # experts with a colour of their own; the others share one


def plot_panel(panel: Panel, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, stacked: the most trusted by name, all others together."""
    rounds, weights = panel.history
    figure, (axes,) = new_figure(1, f"{len(panel.names)} experts, {panel.rounds:,} rounds")
    if len(weights):
        order = np.argsort(-weights.mean(0), kind="stable")
        named, others = order[:NAMED], order[NAMED:]
        layers = [weights[:, i] for i in named]
        labels = [panel.names[i] for i in named]
        if others.size:
            layers.append(weights[:, others].sum(1))
            labels.append(f"{others.size} others")
        axes.stackplot(rounds, layers, labels=labels)
        axes.legend(loc="upper left", fontsize="small", ncols=3)
    axes.set_xlabel("round")
    axes.set_ylabel("weight")
    axes.set_ylim(0, 1)
    return finish(figure, path)
