"""`lowregret experts --resume` on plain tables: rows after rows, experts that join and retire."""

from __future__ import annotations

import csv
import io
import math
import os
from argparse import Namespace
from collections.abc import Iterator
from html import escape
from typing import Any

import numpy as np

from lowregret.cli.clock import Clock
from lowregret.cli.forecast_losses import forecast_loss, loss_json, loss_words
from lowregret.cli.forecasts import Forecasts, read_forecasts
from lowregret.cli.html_report import page, picture, proof, write_page
from lowregret.cli.json_output import print_json
from lowregret.cli.long_summary import TableReview
from lowregret.cli.work.long_table import aligned, require_outcomes, with_outcomes
from lowregret.errors import DataError, StoreError
from lowregret.experts.join import join_mixture
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.portfolio import Portfolio
from lowregret.experts.series import SeriesMixture
from lowregret.experts.substitute import Mean
from lowregret.store.kinds import load
from lowregret.store.replacing import write_result
from lowregret.stream.table import Table
from lowregret.words import counted, listed, rounded_up


def resumed_mixture(args: Namespace) -> Any:
    """The mixture that `--resume` names, if any."""
    found = None if args.resume is None else load(args.resume)
    if found is not None and not isinstance(found, ExpertMixture | SeriesMixture):
        raise StoreError(
            f"{args.resume} holds a {type(found).__name__}, not a mixture of experts: see lowregret --help"
        )
    if isinstance(found, Portfolio):
        raise StoreError(
            f"{args.resume} holds a portfolio, and prices from the last row before to the first of a table are in "
            "neither: go on in Python with relatives, portfolio = lowregret.load(path); portfolio.learn(relatives)"
        )
    return found


def go_on(args: Namespace, clock: Clock, table: Table, panel: ExpertMixture) -> int:
    """Learn the rows of a further table, and tell how these went."""
    usual = panel.called if isinstance(panel.substitution, Mean) else "brier"
    args.loss = loss_words(panel.loss_function, panel.parts, usual)
    found = read_forecasts(args, with_outcomes(args, table))
    require_outcomes(args, found.names, panel.names)
    joined = [name for name in found.names if name not in panel.names]
    retired = [name for name in panel.names if name not in found.names]
    if len(joined) == len(found.names):
        raise DataError(f"{args.table} has none of the experts {listed(panel.names)}")
    if joined:
        join_mixture(panel, joined)
    x, before = aligned(found.x, found.names, panel.names), panel.rounds
    try:
        p = panel.learn(x, found.y).forecasts
    except DataError as error:
        raise DataError(f"{found.place(panel.asked)}: {error}") from None
    if args.model:
        panel.save(args.place)
    if args.predictions:
        write_predictions(args.predictions, p)
    if args.weights_over_time:
        write_weights(args.weights_over_time, panel)
    lines = [*_lines(args, found, panel, joined, retired, before), *_figures(args, panel, x, found.y, p)]
    _tell(args, panel, "\n".join([*lines, *_proof(args, panel)]), clock, (joined, retired, before))
    return 0


def _lines(
    args: Namespace, found: Forecasts, panel: ExpertMixture, joined: list[str], retired: list[str], before: int
) -> Iterator[str]:
    yield f"experts          {len(panel.names)}, loss: {args.loss}"
    yield f"resumed          {counted(before, 'round')} before, {counted(panel.rounds - before, 'round')} now"
    if found.left_out:
        yield f"left out         {listed(list(found.left_out))}: not forecasts"
    if joined:
        yield f"joined           {listed(joined)}: as if asleep before"
    if retired:
        yield f"retired          {listed(retired)}: not in this table, asleep in it"
    if found.unknown:
        yield f"future           {counted(found.unknown, 'row')} without an outcome: forecast, not learnt"


def _figures(args: Namespace, panel: ExpertMixture, x: Any, y: Any, p: Any) -> Iterator[str]:
    """How the rows of this table went; of forecasts that are one number each."""
    if panel.parts == 1:
        review = TableReview.of(panel.loss_function, panel.compiled, x, y, p, np.zeros(len(y)))
        review.root = forecast_loss(args.loss).root
        yield from review.lines(panel.names, panel.weights)


def _proof(args: Namespace, panel: ExpertMixture) -> Iterator[str]:
    """The regret over all rounds, and the bound on it."""
    found = panel.certificate
    squares = ", in squares" if forecast_loss(args.loss).root else ""
    yield f"regret           {panel.regret:.6g} to the best expert, {panel.best.name}, over all rounds{squares}"
    if found.premises_hold and math.isfinite(found.promised):
        yield f"                 theory promised at most {rounded_up(found.promised)} ({found.id}: {found.statement})"
    yield from (f"                 nothing was promised because not: {p.name}" for p in found.premises if not p.holds)
    if args.model:
        yield f"model            {args.model}, {os.path.getsize(args.model):,} bytes"


def _tell(
    args: Namespace, panel: ExpertMixture, summary: str, clock: Clock, what: tuple[list[str], list[str], int]
) -> None:
    """Show what came out, in the forms that were asked for."""
    if args.plot:
        panel.plot(args.plot)
    if args.report:
        sections = [("What came out", f"<pre>{escape(summary)}</pre>"), ("Weights and regret", picture(panel.plot()))]
        write_page(args.report, page(args.table, [*sections, ("The proof", proof(panel.certificate))]))
    if args.json:
        joined, retired, before = what
        told = {
            "rounds": panel.rounds,
            "before": before,
            "joined": joined,
            "retired": retired,
            "loss": loss_json(args.loss, panel.loss, panel.rounds),
            "experts": {"names": panel.names, "weights": panel.weights.tolist()},
            "certificate": panel.certificate.to_json(),
            "seconds": clock.read().to_json(),
        }
        print_json(told)
    elif not args.quiet:
        print(summary)


def write_predictions(path: str, p: Any) -> None:
    """One line a row, the parts of a forecast side by side; nan where nobody had one."""
    lines = ("\t".join(map(repr, row)) + "\n" for row in p.reshape(len(p), -1).tolist())
    write_result(path, "".join(lines).encode())


def write_weights(path: str, panel: ExpertMixture) -> None:
    """A line for each of the rounds of which weights are kept, at most 2,000, evenly spaced."""
    rounds, weights = panel.weights_over_time
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["round", *panel.names])
    writer.writerows([t, *map(repr, row)] for t, row in zip(rounds.tolist(), weights.tolist(), strict=True))
    write_result(path, out.getvalue().encode())
