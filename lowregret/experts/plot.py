"""A picture of a panel: who was trusted when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lowregret.show.plot import EXACT, finish, new_figure, stacked_weights
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.panel import ExpertMixture


def plot_panel(panel: ExpertMixture, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, stacked, the most trusted by name and all others in grey; below, the regret."""
    rounds, weights = panel.history
    figure, (above, below) = new_figure(2, f"{counted(len(panel.names), 'expert')}, {counted(panel.rounds, 'round')}")
    if len(weights):
        stacked_weights(above, rounds, weights, panel.names)
        below.plot(rounds, panel.regrets, color=EXACT)
    below.set_xlabel("round")
    below.set_ylabel("regret to the best expert so far")
    return finish(figure, path)
