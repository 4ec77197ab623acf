"""Pictures of docs/scale.md: loss, staleness and throughput of runs that were played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from benchmarks.gallery.pages import SETTINGS

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # distinguishable by colour-blind eyes and in print


def draw(out: Path, docs: Path) -> None:
    """Draw docs/scale-*.svg of curves.json."""
    found = [each for kind in ("curves", "rounds") for each in json.loads((out / f"{kind}.json").read_text())]
    with mpl.rc_context(SETTINGS):
        for name, picture in (("loss", loss), ("staleness", staleness), ("throughput", throughput)):
            figure = Figure(figsize=(7, 3.6), layout="constrained")
            picture(figure.subplots(), found)
            figure.savefig(docs / f"scale-{name}.svg", format="svg", metadata={"Date": None, "Creator": None})


def sets(found: list[dict[str, Any]]) -> list[str]:
    """Names of the sets of rows, as they come."""
    return list(dict.fromkeys(each["data"] for each in found))


def loss(axes: Any, found: list[dict[str, Any]]) -> None:
    """Progressive loss over that of row by row, servers and rounds of averaging."""
    for data, colour in zip(sets(found), COLOURS, strict=False):
        for kind, line in (("servers", "-o"), ("averaging", "--s")):
            points = [
                (each["workers"], each["loss"] / each["alone"])
                for each in found
                if (each["data"], each["kind"]) == (data, kind)
            ]
            label = data if kind == "servers" else None
            axes.plot(*zip(*points, strict=True), line, color=colour, label=label, markersize=4)
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="loss / loss row by row")
    axes.set_title("Progressive loss: servers (lines), rounds of averaging (dashed)")
    axes.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)


def staleness(axes: Any, found: list[dict[str, Any]]) -> None:
    """Rows that batches lacked, over virtual time."""
    runs = [each for each in found if each["kind"] == "servers" and each["data"] == sets(found)[0]]
    for each, colour in zip([each for each in runs if each["workers"] > 1], COLOURS, strict=False):
        times, lags, _ = zip(*each["timeline"], strict=True)
        share = [time / each["seconds"] for time in times]
        shown = [max(lag, 1) for lag in lags]
        axes.plot(share, shown, ".", color=colour, markersize=3, label=f"{each['workers']:,} workers")
        axes.axhline((each["workers"] - 1) * each["batch"], color=colour, linewidth=0.8, linestyle=":")
    axes.set(yscale="log", xlabel="share of the virtual time", ylabel="rows that a batch lacked")
    axes.set_title("Staleness over virtual time; dotted: (workers − 1) × batch")
    axes.legend(frameon=False, loc="lower right", markerscale=4)
    axes.grid(alpha=0.3)


def throughput(axes: Any, found: list[dict[str, Any]]) -> None:
    """Rows per second, with who held the others up, and the formulas."""
    runs = [each for each in found if each["kind"] == "servers" and each["data"] == sets(found)[0]]
    workers = [each["workers"] for each in runs]
    axes.plot(workers, [each["rows per second"] for each in runs], "-o", color=COLOURS[0], markersize=4, label="played")
    axes.plot(workers, [each["formula"] for each in runs], "x", color=COLOURS[1], label="formulas")
    for name, line in (("workers", ":"), ("servers", "--"), ("register", "-.")):
        most = [each["formulas"][name] for each in runs]
        axes.plot(workers, most, line, color="#888888", linewidth=0.9, label=f"bound by {name}")
    for each in runs:
        at = each["workers"], each["rows per second"]
        axes.annotate(each["bottleneck"], at, (0, -12), textcoords="offset points", ha="center")
    axes.set(xscale="log", yscale="log", xlabel="workers", ylabel="rows per second")
    axes.set_title("Throughput, and who holds the others up")
    axes.margins(0.15)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
