"""Pictures of runs. Needs the extra `plot` (matplotlib), which is imported only here."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.error import LowRegretError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowregret.ledger import Proof
    from lowregret.play import Game
    from lowregret.regret.result import Regret

EXACT, REGRET, BOUND, LOSS = (
    "#009e73",
    "#0072b2",
    "#d55e00",
    "#444444",
)  # distinguishable by colour-blind eyes and in print


def new_figure(rows: int, title: str) -> tuple[Figure, Any]:
    """An empty figure of this many panels above each other, sharing the rounds' axis."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LowRegretError("plots need matplotlib: pip install 'lowregret[plot]'") from None
    figure = Figure(figsize=(7, 3 * rows), layout="constrained")
    figure.suptitle(title)
    return figure, figure.subplots(rows, sharex=True, squeeze=False)[:, 0]


def plot_run(run: Proof, path: str | os.PathLike[str] | None, theirs: Any = None) -> Figure:
    """Mean progressive loss above; linearised regret under the theorem's bound below.

    `theirs`, the losses of a fixed choice, adds its mean loss above, and the regret against it below.
    """
    t = run.trace
    loss = type(run.learner.loss).__name__
    figure, (above, below) = new_figure(2, f"{loss} loss, {run.state.rounds:,} rounds")
    rounds = np.maximum(t.rounds, 1)
    above.plot(t.rounds, t.loss / rounds, color=LOSS, label="learner")
    above.set_ylabel("mean loss so far")
    if theirs is not None:
        above.plot(t.rounds, theirs / rounds, color=EXACT, label="best fixed choice in hindsight")
        above.legend()
        below.plot(t.rounds, t.loss - theirs, color=EXACT, label="regret")
    nested_curves(below, t.rounds, t.linear_regret, t.bound, t.theorem)
    return finish(figure, path)


def plot_game(game: Game, path: str | os.PathLike[str] | None) -> Figure:
    """Regret under linearised regret under the bound."""
    t = game.trace
    figure, (axes,) = new_figure(1, f"{type(game.player).__name__}, {game.rounds:,} rounds")
    axes.plot(t.rounds, t.regret, color=EXACT, label="regret")
    nested_curves(axes, t.rounds, t.linear_regret, t.bound, t.theorem)
    return finish(figure, path)


def plot_regret(found: Regret, path: str | os.PathLike[str] | None) -> Figure:
    """Cumulative loss, mine and the comparator's; the regret so far below, under its bound."""
    mine, theirs = np.cumsum(found.mine), np.cumsum(found.theirs)
    rounds = np.arange(1, mine.size + 1) + found.details.get("first", 1) - 1
    figure, (above, below) = new_figure(2, f"{found.kind} regret, {mine.size:,} rounds")
    above.plot(rounds, mine, color=LOSS, label="mine")
    above.plot(rounds, theirs, color=EXACT, label="comparator")
    above.set_ylabel("loss so far")
    above.legend()
    below.plot(rounds, mine - theirs, color=EXACT, label="regret")
    if found.bound is not None and found.certificate is not None:
        below.axhline(found.bound, color=BOUND, linestyle="--", label=f"bound ({found.certificate.id})")
    below.set_xlabel("round")
    below.set_ylabel("regret so far")
    below.legend()
    return finish(figure, path)


def nested_curves(axes: Axes, rounds: Any, linear_regret: Any, bound: Any, name: str) -> None:
    """The linearised regret and the bound above it, on logarithmic axes where the numbers are positive."""
    axes.plot(rounds, bound, color=BOUND, linestyle="--", label=f"bound ({name})")
    axes.plot(rounds, linear_regret, color=REGRET, label="linearised regret")
    axes.set_xlabel("round")
    axes.set_ylabel("regret, at most")
    if np.any(np.asarray(rounds) > 0):
        axes.set_xscale("log")
    shown = np.concatenate([line.get_ydata() for line in axes.lines])
    if np.all(shown[np.isfinite(shown)] > 0):
        axes.set_yscale("log")
    axes.legend()


def finish(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """Write the figure if a path is given."""
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure
