"""The page and the picture of `lowregret bandit`."""

from __future__ import annotations

import json
import os
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from lowregret.bandit.value import Estimate
from lowregret.cli.html_report import page, picture, proof, table
from lowregret.cli.work.bandit import Study, ends
from lowregret.compile.spec import to_json
from lowregret.show.plot import BOUND, REGRET, finish, new_figure
from lowregret.words import counted, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def study_page(source: str, study: Study, told: str) -> str:
    """One HTML file that refers to nothing outside itself. Needs matplotlib for the picture."""
    sections = [
        ("What was found", f"<pre>{escape(told)}</pre>"),
        ("Values with 95 % intervals", picture(draw(study, None))),
        (
            "The figures",
            table(("policy", "method", "value", "low", "high", "interval", "rows in effect"), _rows(study)),
        ),
        *((f"The proof: {c.measure}", proof(c)) for c in study.certificates),
    ]
    if study.learned:
        spec = json.dumps(to_json(study.learned[0].algorithm), indent=1)
        sections.append(("The learner, to the letter", f"<pre>{escape(spec)}</pre>"))
    return page(f"{study.algorithm} on {source}", sections)


def estimates(study: Study) -> list[tuple[str, Estimate]]:
    """Every policy that was judged."""
    found = [("logging policy", study.logging)]
    found += [(f"always {study.log.names[arm]}", e) for arm, e in study.best_arms]
    if study.learned:
        found += [("learned policy", e) for e in study.learned[1]]
    if study.replayed and study.replayed.estimate:
        found.append((f"{study.algorithm}, replayed", study.replayed.estimate))
    return found


def _rows(study: Study) -> list[tuple[str, ...]]:
    return [
        (who, e.method, f"{e.value:.4g}", *ends(e), e.interval, f"{e.effective_rows:,.0f}")
        for who, e in estimates(study)
    ]


def draw(study: Study, path: str | os.PathLike[str] | None) -> Figure:
    """A dot and a line per policy."""
    found = estimates(study)
    figure, (axes,) = new_figure(1, f"{counted(len(study.log), 'choice')} among {counted(len(study.log.names), 'arm')}")
    for k, (_, e) in enumerate(found):
        axes.plot([e.low, e.high], [k, k], color=REGRET)
        axes.plot([e.value], [k], "o", color=BOUND)
    axes.set_yticks(np.arange(len(found)), [visible(f"{who} ({e.method})") for who, e in found], parse_math=False)
    axes.invert_yaxis()
    axes.axvline(study.logging.value, color="#999999", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=max(abs(study.logging.value), 1e-6 * study.log.unit))
    axes.set_xlim(left=min(min(e.low, e.value) for _, e in found))
    axes.set_xlabel(f"{study.log.measure} a choice")
    figure.set_size_inches(8, 1.5 + 0.35 * len(found))
    return finish(figure, path)
