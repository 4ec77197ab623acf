"""Pictures of mixtures: who was trusted when, and what that was worth."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.show.plot import BOUND, EXACT, LOSS, REGRET, finish, new_figure, stacked_weights
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.experts.mixture import ExpertMixture
    from lowregret.experts.review import Review
    from lowregret.types import Vector

DRAWN = 2000  # points of a curve
COLOURS = (LOSS, "#999999", REGRET, EXACT, BOUND)


def plot_mixture(mixture: ExpertMixture, path: str | os.PathLike[str] | None) -> Figure:
    """Weights over the rounds, stacked, the most trusted by name and all others in grey; below, the regret."""
    figure, (above, below) = new_figure(2, _title(mixture))
    _weights_and_regret(mixture, np.arange(mixture.asked + 1), above, below)
    return finish(figure, path)


def plot_review(review: Review, times: Any, path: str | os.PathLike[str] | None) -> Figure:
    """The picture of a mixture with, between its two panels, mean losses so far, over rows or their dates."""
    mixture = review.mixture
    figure, (above, between, below) = new_figure(3, _title(mixture))
    known = times is not None and len(times) >= mixture.asked
    when = np.asarray(times) if known else np.arange(max(mixture.asked, int(review.rows.max(initial=-1)) + 1) + 1)
    for (name, losses), colour in zip(review.curves.items(), COLOURS, strict=False):
        shown = np.unique(np.linspace(0, losses.size - 1, min(losses.size, DRAWN)).astype(int))
        between.plot(when[review.rows][shown], mean_so_far(losses, review.root)[shown], color=colour, label=name)
    between.set_ylabel("loss a round, so far")
    if review.curves:
        between.legend(fontsize="small")
    _weights_and_regret(mixture, when, above, below)
    if known:
        below.set_xlabel("")
        figure.autofmt_xdate()
    return finish(figure, path)


def mean_so_far(losses: Vector, root: bool) -> Vector:
    """The mean of the losses up to each round, of those that are known, or its root."""
    known = ~np.isnan(losses)
    count = np.cumsum(known)
    total = np.cumsum(np.where(known, losses, 0.0))
    mean = np.divide(total, count, out=np.full(losses.size, np.nan), where=count > 0)
    return np.sqrt(mean) if root else mean


def _weights_and_regret(mixture: ExpertMixture, when: Any, above: Any, below: Any) -> None:
    rounds, weights = mixture.weights_over_time
    if len(weights):
        stacked_weights(above, when[rounds], weights, mixture.names)
        now = min(mixture.asked, len(when) - 1)  # regrets are those before each round, and the present one
        below.plot(when[np.append(rounds, now)], np.append(mixture.regrets, mixture.regret), color=EXACT)
    below.set_xlabel("round")
    below.set_ylabel("regret to the best expert so far")


def _title(mixture: ExpertMixture) -> str:
    return f"{counted(len(mixture.names), 'expert')}, {counted(mixture.rounds, 'round')}"
