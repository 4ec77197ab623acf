"""`lowregret experts`: mix the forecasts in a table, show whom to trust, and the proof."""

from __future__ import annotations

import json
import sys
import time
from argparse import Namespace
from html import escape
from typing import Any

import numpy as np

from lowregret.cli.clock import Clock
from lowregret.cli.forecast_losses import forecast_loss, loss_json
from lowregret.cli.forecasts import Forecasts, read_forecasts
from lowregret.cli.html_report import page, picture, proof, table, write_page
from lowregret.cli.json_output import print_json
from lowregret.cli.mixing import make_panel
from lowregret.cli.overwrite import require_second
from lowregret.cli.portfolios import portfolio_json, wealth_lines
from lowregret.cli.work.going_on import go_on, resumed_mixture, write_predictions, write_weights
from lowregret.cli.work.long_table import is_long, long_roles, mix_long
from lowregret.cli.work.uncertainty import Uncertainty, around, refuse_apart, refuse_or_drop
from lowregret.compile.spec import to_json
from lowregret.errors import DataError
from lowregret.experts.layered import Layered
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.portfolio import Portfolio
from lowregret.experts.review import Review
from lowregret.experts.state import behind_each
from lowregret.store.replacing import require_place
from lowregret.store.watched import Watched
from lowregret.stream.source import CACHE
from lowregret.stream.table import Table, read_table
from lowregret.words import counted

LISTED = 12  # columns that are named


def experts(args: Namespace) -> int:
    """Read, mix, tell."""
    with Clock() as clock:
        return _mix(args, clock)


def _mix(args: Namespace, clock: Clock) -> int:
    _require_places(args)
    resumed = resumed_mixture(args)
    columns = read_table(args.table, header=not args.no_header, delimiter=args.delimiter)
    roles = long_roles(args, columns)
    late = is_long(args, roles, resumed)
    refuse_apart(args, late)
    if late:
        return mix_long(args, clock, columns, roles, resumed)
    if resumed is not None:
        return go_on(args, clock, columns, resumed)
    return _mix_plain(args, clock, columns)


def _require_places(args: Namespace) -> None:
    """Refuse files that cannot be written, and tables in which columns have no names."""
    args.place = Watched(args.model) if args.model else None  # what is there before it is read
    for path in (args.report, args.plot, args.predictions, args.model, args.weights_over_time):
        if path is not None:
            require_place(path)
    if args.report or args.plot:
        from lowregret.show.plot import require_picture

        require_picture(args.plot)
    if args.plot and args.coverage:
        require_second(args.plot)
    if args.table.lower().endswith(f".{CACHE}"):
        raise DataError(
            f"{args.table} is a cache of sparse rows, in which columns have no names: experts mix the columns of a "
            "table, so name the CSV, Parquet or Arrow file"
        )


def _mix_plain(args: Namespace, clock: Clock, columns: Table) -> int:
    """Mix a table row by row: each outcome is known before the next forecast."""
    bounds = refuse_or_drop(args, columns)
    found = read_forecasts(args, columns)
    panel = make_panel(args, found)
    panel.called = args.loss
    if args.promise is not None and not args.quiet:
        print(f"lowregret: {args.promise}", file=sys.stderr)
    learning = time.perf_counter()
    try:
        p = panel.learn(found.x, found.y).forecasts
    except DataError as error:
        raise DataError(f"{found.place(panel.asked)}: {error}") from None
    learnt = time.perf_counter() - learning
    if not panel.rounds:
        raise DataError(f"{args.table} has no row with a forecast and an outcome: nothing was learnt")
    if args.model:
        panel.save(args.place)
    beside = around(args, found, p, bounds)
    if args.predictions:
        write_predictions(args.predictions, np.column_stack([found.unscaled(p), *beside.columns]))
    if args.weights_over_time:
        write_weights(args.weights_over_time, panel)
    review = Review.of(panel, found.x, found.y, p, root=forecast_loss(args.loss).root)
    seconds = clock.read().to_json() | {"learn": learnt}
    _tell(args, found, review, beside, seconds)
    return 0


def _tell(args: Namespace, found: Forecasts, review: Review, beside: Uncertainty, seconds: dict[str, float]) -> None:
    """Show what came out, in the forms that were asked for."""
    panel = review.mixture
    if args.plot:
        review.plot(args.plot, times=found.times)
        beside.plot(args.plot)
    summary = "\n".join([_summary(args, found, review), *beside.lines()])
    if args.report:
        sections = [
            ("What came out", f"<pre>{escape(summary)}</pre>"),
            ("Weights, losses and regret over time", picture(review.plot(times=found.times))),
            *beside.sections(),
            ("The proof", proof(review.certificate)),
            ("The experts", _ranking(review)),
            ("Columns that are left out", table((), found.left_out.items()) if found.left_out else ""),
            ("The aggregator, to the letter", f"<pre>{escape(json.dumps(_spec(panel), indent=1))}</pre>"),
        ]
        write_page(args.report, page(f"{args.algorithm} on {args.table}", sections))
    if args.json:
        told = {
            "algorithm": args.algorithm,
            "spec": _spec(panel),
            "rounds": panel.rounds,
            "loss": loss_json(args.loss, panel.loss, panel.rounds),
            **review.to_json(),
            **beside.to_json(),
            **(portfolio_json(args, found, review) if isinstance(panel, Portfolio) else {}),
            **({} if args.promise is None else {"promise": args.promise.to_json()}),
            "left_out": found.left_out,
            "warnings": found.warnings,
            "seconds": seconds,
        }
        print_json(told)
    elif not args.quiet:
        print(summary)


def _spec(panel: ExpertMixture) -> Any:
    if isinstance(panel, Layered):
        return {"lanes": [to_json(lane.aggregator) for lane in panel.lanes], "loss": to_json(panel.loss_function)}
    parts = {"aggregator": panel.aggregator, "substitution": panel.substitution, "loss": panel.loss_function}
    return {name: to_json(part) for name, part in parts.items()} | {"linearised": panel.linearised}


def _summary(args: Namespace, found: Forecasts, review: Review) -> str:
    panel = review.mixture
    lines = [f"experts          {len(panel.names)}, mixed by {args.algorithm}; loss: {args.loss}"]
    if found.left_out:
        lines.append(f"left out         {_shortened([f'{name} ({why})' for name, why in found.left_out.items()])}")
    if found.unknown:
        scaled = "" if found.scale is None else ", or before the naive forecast was wrong once"
        rows = counted(found.unknown, "row")
        lines.append(f"unknown          {rows} without an outcome{scaled}: forecast, not learnt")
    if found.scale is not None:
        lines.append(
            "scaled           by the mean error of the naive forecast over the rows before, as known in each row"
        )
    if found.naps:
        lines.append(f"asleep           {counted(found.naps, 'row')} in which some expert has no forecast")
    lines += [f"careful          {warning}" for warning in found.warnings]
    lines.append(str(review))
    if isinstance(panel, Portfolio):
        lines += wealth_lines(args, found, review)
    return "\n".join(lines)


def _shortened(words: list[str]) -> str:
    """The first few words of a list, and how many there are more."""
    return ", ".join(words[:LISTED]) + (f" and {len(words) - LISTED} more" if len(words) > LISTED else "")


def _ranking(review: Review) -> str:
    panel = review.mixture
    book, weights, best, losses = panel.book, panel.weights, review.combination, review.of_each()
    rows = [
        (
            panel.names[i],
            f"{losses[i]:.6g}",
            f"{int(book.awake[i]):,}",
            f"{weights[i]:.4g}",
            "–" if best is None else f"{best.w[i]:.4g}",
        )
        for i in np.argsort(-behind_each(book), kind="stable").tolist()
    ]
    return table(("expert", "loss a round", "rounds awake", "weight now", "weight in hindsight"), rows)
