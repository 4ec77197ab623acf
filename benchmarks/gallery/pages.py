"""Pages and pictures: markdown and small SVG files, the same to the last byte whenever they are made."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.gallery.exhibit import BOUND, FALSE, MEASURED, Curves, Exhibit
from lowregret.show.plot import BOUND as ORANGE
from lowregret.show.plot import EXACT, LOSS, REGRET

COLOURS = {MEASURED: (EXACT, REGRET, LOSS), BOUND: (ORANGE, "#e69f00", "#cc79a7", "#56b4e9"), FALSE: ("#b00020",)}
STYLES = {MEASURED: "-", BOUND: "--", FALSE: ":"}
SETTINGS: Any = {"svg.hashsalt": "lowregret", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
DIGITS = 6  # of measured numbers in pages: rounding errors of other machines must not show


def picture(title: str, found: Curves, file: Any, form: str = "svg") -> None:
    """Draw the curves into a file."""
    with mpl.rc_context(SETTINGS):
        figure = Figure(figsize=(6, 3.4), layout="constrained")
        axes = figure.subplots()
        axes.set_title(title, fontsize=10)
        for kind, colours in COLOURS.items():
            for k, line in enumerate(found.of(kind)):
                label = f"{line.label}: exceeded" if kind == FALSE else line.label
                axes.plot(
                    found.rounds, np.array([float(f"{v:.{DIGITS}g}") for v in line.values]), STYLES[kind],
                    color=colours[k % len(colours)], label=label, linewidth=1.6 if kind == MEASURED else 1.3,
                    marker="o" if kind == MEASURED else None, markersize=3,
                )  # fmt: skip
        _scale(axes, found)
        figure.savefig(file, format=form, metadata={"Date": None, "Creator": None} if form == "svg" else None)


def _scale(axes: mpl.axes.Axes, found: Curves) -> None:
    shown = np.array([v for line in found.lines for v in line.values])
    shown = shown[np.isfinite(shown)]
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:,.0f}" if x >= 1 else "")
    if shown.min() > 0 and shown.max() > 5 * shown.min():
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(found.x)
    axes.set_ylabel(found.y)
    axes.grid(True, color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8)


def page(e: Exhibit, found: Curves) -> str:
    """The page of an exhibit."""
    rows = [
        f"| {label} | {line.kind} | {_number(line.values[-1])} | {_ratio(found, label)} |"
        for line in found.lines
        for label in [line.label]
    ]
    parts = [
        f"# {e.title}",
        f"**{', '.join(e.ids)}**",
        f"    {e.statement}",
        f"Premises: {e.premises}.",
        f"Played: {e.played}." + (f" Play it yourself: `lowregret play {e.command}`." if e.command else ""),
        f"![{e.title}]({e.name}.svg)",
        "\n".join([f"| | | at {found.rounds[-1]:,} | largest measured ÷ bound |", "|---|---|---|---|", *rows]),
    ]
    if found.failures is not None:
        failed, runs, delta = found.failures
        parts.append(f"The bound failed in {failed} of {runs} runs; it may in {delta:.0%} of them.")
    if e.remark:
        parts.append(e.remark)
    return "\n\n".join(parts) + "\n"


def _ratio(found: Curves, label: str) -> str:
    return f"{found.ratios[label]:.3f}" if label in found.ratios else "–"


def _number(value: float) -> str:
    return f"{value:.{DIGITS}g}" if math.isfinite(value) else "–"


HEAD = """# The gallery

Every theorem of the certificate table as a game that was played: the measured curve, and the bound it may not exceed.
At the end, what must fail, failing: statements as the source texts print them, and learners that cannot learn.

Written by `python -m benchmarks.gallery`, which fails if a bound is exceeded or a false statement is not refuted. The
number is the largest measured ÷ bound over the horizons played; 1 means that the bound was met.
"""


def index(shown: list[tuple[Exhibit, Curves]]) -> str:
    """The table of all pages."""
    sections = {"Theorems": [], "What must fail": []}  # type: dict[str, list[str]]
    for e, found in shown:
        ratios = "; ".join(f"{label}: {ratio:.2f}" for label, ratio in found.ratios.items())
        row = f'| [{e.title}]({e.name}.md) | {", ".join(e.ids)} | {ratios} | <img src="{e.name}.svg" width="180"> |'
        sections["What must fail" if found.of(FALSE) else "Theorems"].append(row)
    head = "| page | | largest measured ÷ bound | |\n|---|---|---|---|"
    return HEAD + "".join(f"\n## {name}\n\n{head}\n" + "\n".join(rows) + "\n" for name, rows in sections.items())


def write(folder: Path, e: Exhibit, found: Curves) -> None:
    """A page and its picture."""
    (folder / f"{e.name}.md").write_text(page(e, found), encoding="utf-8")
    picture(e.title, found, folder / f"{e.name}.svg")
