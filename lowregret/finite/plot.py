"""The shattered tree as a picture."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from lowregret.finite.witness import depth_of, leaves
from lowregret.show.plot import BOUND, LOSS, REGRET, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.finite.dimension import Dimensions

DRAWN = 8  # levels: below, lines would merge
NAMED = 5  # levels whose points are named; hypotheses are named below no more than that


def plot_tree(found: Dimensions, path: str | os.PathLike[str] | None) -> Figure:
    """Points at their depth, label 0 to the left, label 1 to the right; at a leaf, a hypothesis realised there."""
    h, tree = found.hypotheses, found.tree[: (1 << DRAWN) - 1]
    depth = depth_of(tree)
    low, high = found.littlestone
    value = f"= {low}" if low == high else f"between {low} and {high}"
    cut = f" (the first {depth} levels)" if len(tree) < len(found.tree) else ""
    figure, (axes,) = new_figure(1, f"Littlestone dimension {value}: {len(h):,} hypotheses, {h.points:,} points{cut}")
    figure.set_size_inches(max(7.0, min(depth, NAMED) * 2.4), max(3.0, 0.9 * (depth + 1)))
    for label, colour in enumerate((REGRET, BOUND)):
        ends = [(_place(i), _place(2 * i + 1 + label), (math.nan, math.nan)) for i in range(len(tree))]
        line = np.reshape(ends, (-1, 2))
        width = 1.2 if depth <= NAMED else 0.5
        axes.plot(line[:, 0], line[:, 1], color=colour, linewidth=width, zorder=1, label=f"label {label}")
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": LOSS}
    for i, point in enumerate(tree[: (1 << NAMED) - 1]):
        axes.annotate(f"x{h.names[point]}", _place(i), ha="center", va="center", bbox=box, fontsize="small")
    for i, rows in enumerate(leaves(h, tree) if depth <= NAMED else [], len(tree)):
        name = f"h{h.numbers[rows[0]]}"
        axes.annotate(name, _place(i), (0, -3), textcoords="offset points", ha="center", va="top", fontsize="x-small")
    axes.legend(loc="upper left", fontsize="small", frameon=False)
    axes.margins(y=0.1)
    axes.set_axis_off()
    return finish(figure, path)


def _place(i: int) -> tuple[float, float]:
    """Where node i of the heap is drawn: across between 0 and 1, and down by its depth."""
    level = (i + 1).bit_length() - 1
    return (i + 1.5 - (1 << level)) / (1 << level), -float(level)
