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
from lowregret.cli.forecast_losses import forecast_loss
from lowregret.cli.forecasts import Forecasts, read_forecasts
from lowregret.cli.html_report import page, picture, proof, table, write_page
from lowregret.cli.mixing import make_panel
from lowregret.compile.spec import to_json
from lowregret.errors import DataError
from lowregret.experts.layered import Layered
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.review import Review
from lowregret.store.replacing import require_place, write_result
from lowregret.stream.read import CACHE
from lowregret.stream.table import read_table
from lowregret.words import counted


def experts(args: Namespace) -> int:
    """Read, mix, tell."""
    with Clock() as clock:
        return _mix(args, clock)


def _mix(args: Namespace, clock: Clock) -> int:
    for path in (args.report, args.plot, args.predictions):
        if path is not None:
            require_place(path)
    if args.table.lower().endswith(f".{CACHE}"):
        raise DataError(
            f"{args.table} is a cache of sparse rows, in which columns have no names: experts mix the columns of a "
            "table, so name the CSV, Parquet or Arrow file"
        )
    found = read_forecasts(args, read_table(args.table, header=not args.no_header, delimiter=args.delimiter))
    panel = make_panel(args, found)
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
    if args.predictions:
        _write_predictions(args.predictions, p)
    review = Review.of(panel, found.x, found.y)
    seconds = clock.read().to_json() | {"learn": learnt}
    _tell(args, found, review, seconds)
    return 0


def _tell(args: Namespace, found: Forecasts, review: Review, seconds: dict[str, float]) -> None:
    """Show what came out, in the forms that were asked for."""
    panel = review.mixture
    if args.plot:
        panel.plot(args.plot)
    summary = _summary(args, found, review)
    if args.report:
        sections = [
            ("What came out", f"<pre>{escape(summary)}</pre>"),
            ("Weights and regret over the rounds", picture(panel.plot())),
            ("The proof", proof(review.certificate)),
            ("The experts", _ranking(panel)),
            ("The aggregator, to the letter", f"<pre>{escape(json.dumps(_spec(panel), indent=1))}</pre>"),
        ]
        write_page(args.report, page(f"{args.algorithm} on {args.table}", sections))
    if args.json:
        told = {
            "algorithm": args.algorithm,
            "spec": _spec(panel),
            "rounds": panel.rounds,
            "loss": {"name": args.loss, "total": panel.loss, "mean": panel.loss / panel.rounds},
            **review.to_json(),
            **({} if args.promise is None else {"promise": args.promise.to_json()}),
            "left_out": found.left_out,
            "seconds": seconds,
        }
        print(json.dumps(told, ensure_ascii=False))
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
        lines.append(f"left out         {', '.join(found.left_out)}: not forecasts")
    if found.unknown:
        lines.append(f"unknown          {counted(found.unknown, 'row')} without an outcome: forecast, not learnt")
    if found.naps:
        lines.append(f"asleep           {counted(found.naps, 'row')} in which some expert has no forecast")
    lines.append(str(review))
    if forecast_loss(args.loss).is_portfolio:
        lines.append(f"wealth           1 has become {np.exp(-panel.loss):.6g}")
        others = {"evenly spread": review.uniform, f"all in {panel.best.name}": panel.best.loss}
        if review.combination is not None:
            others["with the best fixed weights"] = review.combination.value
        lines += [f"                 {np.exp(-loss):.6g} {how}" for how, loss in others.items()]
    return "\n".join(lines)


def _ranking(panel: ExpertMixture) -> str:
    weights, order = panel.weights, np.argsort(panel.book.losses - panel.book.owed, kind="stable")
    rows = [
        (panel.names[i], f"{panel.book.losses[i]:.6g}", f"{int(panel.book.awake[i]):,}", f"{weights[i]:.4g}")
        for i in order.tolist()
    ]
    return table(("expert", "loss", "rounds awake", "weight now"), rows)


def _write_predictions(path: str, p: Any) -> None:
    """One line a row, the parts of a forecast side by side; nan where nobody had one."""
    lines = ("\t".join(map(repr, row)) + "\n" for row in p.reshape(len(p), -1).tolist())
    write_result(path, "".join(lines).encode())
