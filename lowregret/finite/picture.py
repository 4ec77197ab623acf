"""The shattered tree as a picture."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from lowregret.finite.witness import depth_of, leaves
from lowregret.plot import BOUND, LOSS, REGRET, finish, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from lowregret.finite.dimension import Dimensions

NAMED = 5  # depth up to which points and hypotheses are named


def plot_tree(found: Dimensions, path: str | os.PathLike[str] | None) -> Figure:
    """Points at their depth, label 0 to the left, label 1 to the right; at a leaf, a hypothesis realised there."""
    h, tree = found.hypotheses, found.tree
    depth = depth_of(tree)
    low, high = found.littlestone
    value = f"= {low}" if low == high else f"between {low} and {high}"
    figure, (axes,) = new_figure(1, f"Littlestone dimension {value}: {len(h):,} hypotheses, {h.points:,} points")
    figure.set_size_inches(max(7.0, min(depth, NAMED) * 2.4), max(3.0, 0.9 * (depth + 1)))
    for i in range(len(tree)):
        (x, y), ends = _place(i), [_place(2 * i + 1), _place(2 * i + 2)]
        for (to_x, to_y), colour in zip(ends, (REGRET, BOUND), strict=True):
            axes.plot([x, to_x], [y, to_y], color=colour, linewidth=1.2 if depth <= NAMED else 0.5, zorder=1)
    box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": LOSS}
    if depth <= NAMED:
        for i, point in enumerate(tree):
            axes.annotate(f"x{h.names[point]}", _place(i), ha="center", va="center", bbox=box, fontsize="small")
        for i, rows in enumerate(leaves(h, tree), len(tree)):
            axes.annotate(f"h{h.numbers[rows[0]]}", _place(i), ha="center", va="top", fontsize="x-small")
    axes.plot([], [], color=REGRET, label="label 0")
    axes.plot([], [], color=BOUND, label="label 1")
    axes.legend(loc="upper left", fontsize="small", frameon=False)
    axes.margins(y=0.1)
    axes.set_axis_off()
    return finish(figure, path)


def _place(i: int) -> tuple[float, float]:
    """Where node i of the heap is drawn: across between 0 and 1, and down by its depth."""
    level = (i + 1).bit_length() - 1
    return (i + 1.5 - (1 << level)) / (1 << level), -float(level)
