"""Pictures of contests: the measured curve under its bound."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.show.plot import BOUND, EXACT, REGRET, finish, new_figure
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowregret.game.contest import Contest


def plot_contest(played: Contest, path: str | os.PathLike[str] | None) -> Figure:
    """Regret, linearised regret where there is one, and bound, over the rounds."""
    figure, (axes,) = new_figure(1, f"{played.algorithm} plays {played.game}, {counted(played.rounds, 'round')}")
    rounds = [row.round for row in played.rows]
    measure = played.certificate.measure
    linear = [row.linear_regret for row in played.rows]
    same = all(b is not None and np.isclose(a.regret, b) for a, b in zip(played.rows, linear, strict=True))
    curve(axes, rounds, [row.regret for row in played.rows], EXACT, measure + (" = linearised regret" if same else ""))
    curve(axes, rounds, [] if same else linear, REGRET, "linearised regret", "-.")
    curve(axes, rounds, [row.bound for row in played.rows], BOUND, f"bound ({played.certificate.id})", "--")
    settle(axes, measure)
    return finish(figure, path)


def curve(
    axes: Axes, rounds: Sequence[int], values: Sequence[float | None], colour: str, label: str, style: str = "-"
) -> None:
    """One line, with gaps where a value is missing; nothing if all are, or if there are none."""
    numbers = np.array([np.nan if value is None else value for value in values], float)
    if np.any(np.isfinite(numbers)):
        mark: Any = "o" if style == "-" else None
        axes.plot(rounds, numbers, style, color=colour, label=label, marker=mark, markersize=3.5)


def settle(axes: Axes, measure: str) -> None:
    """Logarithmic rounds; logarithmic values where all are positive, or where 0 is but few are: then linear near 0."""
    shown = np.concatenate([line.get_ydata() for line in axes.lines] or [np.empty(0)])
    shown = shown[np.isfinite(shown)]
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else "")
    if shown.size and shown.min() > 0 and shown.max() > 5 * shown.min():
        axes.set_yscale("log")
    axes.set_xlabel("round")
    axes.set_ylabel(measure)
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(fontsize="small")
