"""Pictures of what a kept model goes by: bars of important features, and curves of partial dependence."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lowregret.show.plot import LOSS, NAMED, REGRET, finish, new_figure
from lowregret.show.text import describe_importance
from lowregret.words import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from lowregret.show.subjects import Depending, Weighty

SHOWN = 15  # features with a bar; the others share one
LONGEST = 40  # letters of a name


def plot_importance(found: Weighty, path: str | os.PathLike[str] | None) -> Figure:
    """Bars of the most important features, each with its standard error."""
    figure, (axes,) = new_figure(1, "Importance of features")
    figure.set_size_inches(7, 1.6 + 0.26 * min(len(found.names), SHOWN + 1))
    axes.set_title(describe_importance(found), fontsize="small")
    scale = found.total if found.tells else 1.0
    values, errors, names = found.gains[:SHOWN] / scale, found.errors[:SHOWN] / scale, list(found.names[:SHOWN])
    others = len(found.names) - SHOWN
    if others > 0:
        values, errors = np.append(values, found.gains[SHOWN:].sum() / scale), np.append(errors, 0.0)
        names.append(found.names[-1] if others == 1 else f"{others:,} others")
    places = np.arange(len(names))[::-1]
    axes.barh(places, values, xerr=errors, color=REGRET, ecolor=LOSS, height=0.7)
    axes.set_yticks(places, [short(name) for name in names], parse_math=False)
    axes.axvline(0.0, color=LOSS, linewidth=0.8)
    axes.set_xlabel("share of the fall of the loss, ± its standard error" if found.tells else "fall of the loss")
    if found.tells:
        axes.xaxis.set_major_formatter("{x:.0%}")
    return finish(figure, path)


def plot_dependence(found: Sequence[Depending], path: str | os.PathLike[str] | None) -> Figure:
    """Curves of partial dependence, a panel for each feature, all of one height; marks show where the rows are."""
    figure, panels = new_figure(len(found), "Partial dependence of the kept model", apart=True)
    figure.set_size_inches(7, 0.8 + 2.4 * len(found))
    for axes, one in zip(panels, found, strict=True):
        dependence_curves(axes, one)
    low, high = (choose(axes.get_ylim()[k] for axes in panels) for k, choose in enumerate((min, max)))
    for axes, one in zip(panels, found, strict=True):
        axes.plot(one.grid, np.full(one.grid.size, low), "|", color=LOSS, markersize=6, clip_on=False)
        axes.set_ylim(low, high)
    return finish(figure, path)


def dependence_curves(axes: Axes, found: Depending) -> None:
    """The mean prediction by the value of a feature; of many classes those whose chance moves most."""
    axes.set_xlabel(short(found.name))
    axes.set_ylabel(f"mean {found.what}")
    marker = "o" if found.grid.size < 3 else None
    if not found.classes:
        axes.plot(found.grid, found.means, color=REGRET, marker=marker)
    else:
        moving = np.argsort(-np.ptp(found.means, axis=0), kind="stable")[:NAMED]
        for k in sorted(moving.tolist()):
            axes.plot(found.grid, found.means[:, k], label=short(found.classes[k]), marker=marker)
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)


def short(name: str) -> str:
    """A name that leaves room for the picture."""
    name = visible(name)
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
