"""A page to keep and to show: what was learnt, how well, the proof, and its picture, all in one HTML file."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable
from html import escape
from typing import TYPE_CHECKING

from lowregret.certificate import Certificate
from lowregret.cli.clock import Seconds
from lowregret.cli.summary import show
from lowregret.compile.spec import to_json
from lowregret.run.importance import Importance
from lowregret.run.named_importance import dependence_by_name
from lowregret.run.named_weights import weights_by_name
from lowregret.run.session import Session
from lowregret.show.drawing import drawn
from lowregret.show.meaning import plot_dependence
from lowregret.store.replacing import write_result
from lowregret.words import nearest, percent, rounded_up, writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAVIEST = 20  # weights shown
CURVES = 3  # of partial dependence


def write_report(
    path: str, session: Session, data: Iterable[str], seconds: Seconds, model: str | None, meaning: Importance | None
) -> None:
    """Write the page, with what the model goes by if that is known. Needs matplotlib for the pictures."""
    write_page(path, report(session, data, seconds, model, meaning))


def write_page(path: str, text: str) -> None:
    """Write a page, or say why not."""
    write_result(path, writable(text).encode())  # names of files may be any bytes


def report(
    session: Session, data: Iterable[str], seconds: Seconds, model: str | None, meaning: Importance | None = None
) -> str:
    """The page as text; it refers to nothing outside itself."""
    run = session.run
    title = f"{session.algorithm} on {', '.join(data)}"
    sections = [
        ("What was learnt", f"<pre>{escape(show(session, seconds, model))}</pre>"),
        ("Live and kept", _deployments(session)),
        ("What the kept model goes by", _meaning(session, meaning)),
        ("Loss and regret over the rows", picture(session.run.plot(theirs=session.theirs))),
        ("The proof", proof(session.certificate)),
        ("Other theorems that speak of this learner", _others(session)),
        ("Predicted and actual labels", _confusion(session)),
        (f"The {HEAVIEST} heaviest weights", _heaviest(session)),
        (
            "The learner, to the letter",
            f"<pre>{escape(json.dumps(to_json(run.learner), indent=1, ensure_ascii=False))}</pre>",
        ),
    ]
    return page(title, sections)


def page(title: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page of named sections, those without content left out."""
    body = "".join(f"<h2>{escape(name)}</h2>\n{content}\n" for name, content in sections if content)
    above, below = _PAGE.split("{body}")  # in one step: what is put in may be called like a place
    return above.replace("{title}", escape(title)) + body + below


def picture(figure: Figure) -> str:
    """A figure drawn into the page."""
    text = drawn(figure, "svg", metadata={"Date": None}).decode()
    return f"<figure>{text[text.index('<svg') :]}</figure>"


def _number(value: float | None, show: Callable[[float], str] = rounded_up) -> str:
    """A figure of a proof; a bound of ∞ in words."""
    return "–" if value is None else "nothing" if value == math.inf else show(value)


def proof(certificate: Certificate) -> str:
    """A certificate as a table."""
    comparators = ", ".join(f"{key} {value}" for key, value in certificate.comparator.items() if key != "exact")
    best = f" to {certificate.rivals(best=True)}" if "exact" in certificate.comparator else ""
    rows = [
        ("theorem", f"{certificate.id}: {certificate.statement}"),
        ("against every fixed choice in", comparators),
        (f"{certificate.measure}{best}, exactly", _number(certificate.regret, nearest)),
        (f"{certificate.measure}, at most", _number(certificate.measured)),
        ("what the theorem promised", _number(certificate.promised)),
        ("it holds on this run", "yes" if certificate.holds else "no"),
    ]
    rows += [
        (
            f"premise: {p.name}",
            f"{'holds' if p.holds else 'fails'}" + ("" if p.observed is None else f" ({p.observed})"),
        )
        for p in certificate.premises
    ]
    return table((), rows)


def _deployments(session: Session) -> str:
    """The model's loss while it learns, and once it is kept, on the same rows."""
    kept = session.run.kept
    if kept is None:
        return ""

    def told(loss: float, error: float | None) -> tuple[str, str]:
        return "–" if loss != loss else f"{loss:.6g}", "–" if error is None else percent(error)

    share = {1 / 8: "up to an eighth as many rows as it had learnt", 1 / 2: "up to half as many", 1.0: "up to as many"}
    rows = [
        (share[part], f"{f.rows:,}", *told(f.loss, f.error), *told(f.live_loss, f.live_error))
        for part, f in kept.horizons
    ]
    head = ("on the rows that follow", "rows judged", "kept: loss", "error", "live: loss", "error")
    note = (
        f"Models kept after {kept.models} rows, which learn no more, on rows {kept.stretch}, beside the learner that "
        "goes on learning. The first is what predict does with the model, the second what it does if labels come "
        "between predictions." + " Rows were learnt again since: this is of models of the first pass." * kept.repeated
    )
    return f"<p>{escape(note)}</p>{table(head, rows)}"


def _meaning(session: Session, found: Importance | None) -> str:
    """Bars of the important columns, and curves of what the model predicts by the most important numbers."""
    if found is None:
        return ""
    note = (
        "A row is judged with the features of another row, and gets its own back one by one, in random order. The "
        "share of a column is its part in the fall of the loss. Rows are new to the model."
    )
    curves = dependence_by_name(session, found, CURVES)
    below = picture(plot_dependence(curves, None)) if curves else ""
    return f"<p>{escape(note)}</p>{picture(found.plot())}{below}"


def _others(session: Session) -> str:
    rows = [
        (c.id, c.statement, _number(c.promised), "yes" if c.premises_hold else "no")
        for c in session.run.certificates
        if c.id != session.certificate.id
    ]
    return table(("theorem", "statement", "bound", "premises hold"), rows) if rows else ""


def _confusion(session: Session) -> str:
    told = session.judged(session.metrics)
    counts = told.get("confusion")
    if not counts or not session.metrics.rows:
        return ""
    if isinstance(counts, list):  # of many classes
        names = told["classes"]
        matrix = [(f"labelled {name}", *(f"{n:,}" for n in row)) for name, row in zip(names, counts, strict=True)]
        return table(("", *(f"predicted {name}" for name in names)), matrix)
    rows = [(f"labelled {label}", *(f"{counts[label][said]:,}" for said in counts)) for label in counts]
    return table(("", *(f"predicted {said}" for said in counts)), rows)


def _heaviest(session: Session) -> str:
    found = itertools.islice(weights_by_name(session), HEAVIEST)
    rows = [(name, f"{weight:.6g}") for name, weight in found]
    return table(("feature", "weight"), rows) if rows else "<p>All weights are 0.</p>"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table, perhaps without a head."""

    def line(cells: Iterable[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>\n"

    names = tuple(head)
    return f"<table>\n{line(names, 'th') if names else ''}{''.join(line(row, 'td') for row in rows)}</table>"


_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.4rem; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
pre { background: #f5f5f2; padding: .8rem; white-space: pre-wrap; font-size: .8rem; }
table { border-collapse: collapse; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid #ddd; }
figure { margin: 0; }
svg { max-width: 100%; height: auto; }
@media (prefers-color-scheme: dark) {
  body { background: #1c1c1c; color: #ddd; }
  pre { background: #2a2a2a; }
  th, td { border-color: #444; }
  figure { background: #fff; }
}
</style>
<h1>{title}</h1>
{body}</html>
"""
