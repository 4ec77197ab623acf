"""A picture of a mixture: who was trusted when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lowregret.show.plot import EXACT, finish, new_figure, stacked_weights
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.mixture import ExpertMixture


def plot_mixture(mixture: ExpertMixture, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, stacked, the most trusted by name and all others in grey; below, the regret."""
    rounds, weights = mixture.weights_over_time
    experts, played = counted(len(mixture.names), "expert"), counted(mixture.rounds, "round")
    figure, (above, below) = new_figure(2, f"{experts}, {played}")
    if len(weights):
        stacked_weights(above, rounds, weights, mixture.names)
        below.plot(rounds, mixture.regrets, color=EXACT)
    below.set_xlabel("round")
    below.set_ylabel("regret to the best expert so far")
    return finish(figure, path)
