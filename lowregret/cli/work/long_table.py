"""`lowregret experts` on tables with series, origins and horizons, or whose outcomes come late."""

from __future__ import annotations

import csv
import io
import math
from argparse import Namespace
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.cli.arguments import THEORY
from lowregret.cli.clock import Clock
from lowregret.cli.forecast_losses import forecast_loss, loss_words
from lowregret.cli.forecasts import Forecasts, read_forecasts
from lowregret.cli.html_report import write_page
from lowregret.cli.json_output import print_json
from lowregret.cli.long_summary import TableReview, Telling
from lowregret.cli.mixing import make_panel
from lowregret.errors import DataError, PartError, StoreError
from lowregret.experts.late_cover import OriginIntervals
from lowregret.experts.layered import Layered
from lowregret.experts.long import LongTable, Roles, counts_of_rows, keyed, roles_of, time_text
from lowregret.experts.series import SeriesMixture
from lowregret.experts.substitute import Mean
from lowregret.store.replacing import write_result
from lowregret.stream.table import Table
from lowregret.words import listed

TO_COME = "(outcomes to come)"  # the column of outcomes, if none is named


def long_roles(args: Namespace, table: Table) -> Roles:
    """The roles of a table's columns: as the options say, or recognised."""
    told = {"series": args.series, "time": args.time, "cutoff": args.cutoff, "horizon": args.horizon}
    told |= {"outcome": args.target}
    for name in filter(None, told.values()):
        table.column(name)  # which says what there is, if not this
    return roles_of(table.columns, told, (*args.drop, *args.experts, *counts_of_rows(table.columns)))


def is_long(args: Namespace, roles: Roles, resumed: Any) -> bool:
    """Whether a table is mixed as one of many series and origins."""
    said = [name for name in ("series", "time", "cutoff", "horizon", "weighing") if getattr(args, name)]
    if args.delay and (roles.is_long or said):
        raise PartError("--delay is of plain tables: in long ones, cutoffs say which outcomes are known")
    if isinstance(resumed, SeriesMixture) or args.delay:
        return True
    if said and not roles.is_long:
        raise PartError(
            f"--{said[0].replace('weighing', 'weights')} needs --time and --cutoff: which columns are they?"
        )
    return roles.is_long and not args.classes and not forecast_loss(args.loss).is_portfolio


def mix_long(args: Namespace, clock: Clock, table: Table, roles: Roles, resumed: Any) -> int:
    """Mix, keep, tell."""
    args.target = args.target or roles.outcome
    _require_series(args, resumed)
    if resumed is not None:
        args.loss, table = loss_words(resumed.way.loss, called=resumed.called), with_outcomes(args, table)
    args.drop = (*args.drop, *(name for name in roles.taken if name != args.target))
    found = read_forecasts(args, table)
    mixture = resumed or _made(args, found, roles)
    require_outcomes(args, found.names, mixture.names)
    given = _given(args, table, roles, found, mixture)
    mixture.called, mixture.recording = args.loss, bool(args.weights_over_time)
    before = mixture.rounds
    mixture.learn(given)
    learnt = clock.read().total
    if args.model:
        mixture.save(args.place)
    waiting = int(np.count_nonzero(~np.isnan(mixture.waiting.y)))
    x = aligned(given.x, given.names, mixture.names)
    review = TableReview.of(mixture.way.loss, mixture.way.compiled, x, given.y, mixture.forecasts, given.series)
    review.root = forecast_loss(args.loss).root
    inside = None
    if args.coverage is not None:
        inside = OriginIntervals.of(args.coverage, given, mixture.forecasts, mixture.keys.weighing)
    if args.predictions:
        _write_predictions(args.predictions, table, roles, mixture.forecasts, inside)
    if args.weights_over_time:
        _write_weights(args.weights_over_time, mixture)
    told = Telling(args, found, roles, mixture.deliver(), review, waiting, before, inside)
    if args.plot:
        mixture.plot(args.plot)
    if args.report:
        write_page(args.report, told.page())
    if args.json:
        seconds = clock.read().to_json() | {"learn": learnt}
        print_json(told.to_json() | {"seconds": seconds})
    elif not args.quiet:
        print(told)
    return 0


def _require_series(args: Namespace, resumed: Any) -> None:
    """Refuse to go on with a mixture of one series whose outcomes were known at once."""
    if resumed is not None and not isinstance(resumed, SeriesMixture):
        raise StoreError(
            f"{args.resume} holds a mixture of one series whose outcomes are known at once, but those of {args.table} "
            "are known late or of several: begin anew, without --resume"
        )


def _made(args: Namespace, found: Forecasts, roles: Roles) -> SeriesMixture:
    """The mixture that the options describe."""
    if not roles.outcome and not args.target:
        raise PartError("say which column holds the outcome: --target COL")
    if args.eta == THEORY:
        raise PartError("--eta theory promises what holds for outcomes known at once: give --eta a number")
    plain = make_panel(args, found)
    layers = isinstance(plain, Layered) or not isinstance(plain.substitution, Mean)
    if layers and args.algorithm not in ("auto", "calibrated"):
        raise PartError(
            f"--algorithm {args.algorithm} is not for long or late tables with --loss {args.loss}: use auto"
        )
    weighing = args.weighing or ("shrunk" if roles.series else "pooled")
    aggregator, linearised = (None, True) if layers else (plain.aggregator, plain.linearised)
    prior, loss = plain.book.prior, plain.loss_function
    return SeriesMixture(found.names, loss, weights=weighing, aggregator=aggregator, linearised=linearised, prior=prior)


def with_outcomes(args: Namespace, table: Table) -> Table:
    """A table with a column of outcomes, all of them yet to come if none is named."""
    if args.target:
        return table
    args.target = TO_COME
    return replace(table, columns=table.columns | {args.target: np.full(len(table), math.nan)})


def require_outcomes(args: Namespace, names: list[str], experts: list[str]) -> None:
    """Refuse columns that are none of a mixture's experts if no outcome is named: what came would be the best."""
    others = [name for name in names if name not in experts]
    if args.target == TO_COME and others and not args.experts and len(others) < len(names):
        raise DataError(
            f"{args.table} has columns that are none of the experts of {args.resume}: {listed(others)}. If one holds "
            "what came, name it: --target COL; if they are further experts, name all with --experts; else --drop them"
        )


def aligned(x: Any, names: list[str], experts: list[str]) -> Any:
    """Forecasts of named columns in the order of the experts, NaN for those that have none."""
    found = np.full((len(x), len(experts), *x.shape[2:]), math.nan)
    places = {name: k for k, name in enumerate(experts)}
    found[:, [places[name] for name in names]] = x
    return found


def _given(args: Namespace, table: Table, roles: Roles, found: Forecasts, mixture: SeriesMixture) -> LongTable:
    """The table with its keys; those of a plain one are the numbers of its rows."""
    if roles.is_long:
        columns = {name: table.words(name) if name == roles.series else table.column(name) for name in roles.taken}
        return keyed(roles, columns, found.names, found.x, found.y, found.place)
    latest, clock = mixture.keys.latest, mixture.keys.clock
    delay = args.delay if latest == -math.inf else int(latest - clock) - 1
    if delay is None or mixture.keys.dated or mixture.keys.series not in ([], [""]) or args.delay not in (None, delay):
        raise PartError(
            f"{args.resume} holds a mixture of long tables, or of another delay: give --time and --cutoff, "
            "which are not recognised in this table"
        )
    time = max(latest, -1.0) + 1 + np.arange(len(found.y), dtype=np.float64)
    names = np.full(len(found.y), "")
    return LongTable(found.names, found.x, found.y, names, time, time - delay - 1, None, False, found.place)


def _write_predictions(path: str, table: Table, roles: Roles, forecasts: Any, inside: OriginIntervals | None) -> None:
    """A line for each row of the table: its keys as they are there, the forecast, and the ends of its interval."""
    keys = [name for name in (roles.series, roles.time, roles.cutoff, roles.horizon) if name]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    numbers = {"forecast": forecasts} | ({} if inside is None else {"lower": inside.lower, "upper": inside.upper})
    writer.writerow([*keys, *numbers])
    columns = [table.words(name) for name in keys]
    writer.writerows(zip(*columns, *(map(repr, column.tolist()) for column in numbers.values()), strict=True))
    write_result(path, out.getvalue().encode())


def _write_weights(path: str, mixture: SeriesMixture) -> None:
    """A line for each origin and set of weights."""
    cutoffs, groups, weights = mixture.weights_over_time
    which = {"pooled": [], "horizon": ["horizon"]}.get(mixture.keys.weighing, ["series"])
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["cutoff", *which, *mixture.names])
    for cutoff, group, row in zip(cutoffs.tolist(), groups, weights.tolist(), strict=True):
        origin = time_text(cutoff, bool(mixture.keys.dated))
        writer.writerow([origin, *([group] if which else []), *map(repr, row)])
    write_result(path, out.getvalue().encode())
