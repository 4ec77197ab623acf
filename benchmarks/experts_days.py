"""Mixtures of many series from day to day: outcomes, series and experts that come later, tables that grow or do not.

The history is learnt, then the tables of some days, each with the rows of its origins, without outcomes that are not
known yet or without a column of them; a later table has the rows again with their outcomes. At the end the forecasts,
rounds and weights are those of one table in which all this is known.
"""

from __future__ import annotations

import csv
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.command_runs import run, strict
from benchmarks.experts_tables import ENDINGS, Row, write

LATE = ("hedge", "ml-poly", "squint")  # who joins is, to the weights of these, one that was asleep before
Key = tuple[Any, ...]


def days_judged(r: random.Random) -> tuple[Any, list[str]]:
    """A loop from day to day in the present folder; its last exit code, and what is wrong."""
    experts, dated = ["ets", "theta", "naive"][: r.choice((1, 2, 3))], r.random() < 0.5
    rows = _rows(r, experts)
    how = r.choice((["auto"], ["ml-poly"], ["squint"], ["hedge", "--eta", "0.1"], ["adahedge"]))
    whose = r.choice(("pooled", "series", "horizon", "shrunk"))
    joins = (
        r.choice(experts) if whose != "shrunk" and how[0] in LATE and len(experts) > 1 and r.random() < 0.5 else None
    )
    origins = sorted({row["cutoff"] for row in rows})
    cuts = sorted({r.choice(origins) for _ in range(r.choice((1, 2, 3)))} | {origins[-1]})
    if joins:
        rows = [row | ({joins: None} if row["cutoff"] <= cuts[0] else {}) for row in rows]
    mixing = ["--algorithm", *how, "--weights", whose, "--loss", r.choice(("square", "mae", "mape", "rmse"))]
    ending, grows = r.choice(ENDINGS), r.random() < 0.5
    order = [name for name in experts if name != joins] + ([joins] if joins else [])
    table = write(Path(f"whole.{ending}"), [_shown(row, dated, math.inf) for row in rows])
    words = ["experts", table, *mixing, "--target", "y", "--experts", ",".join(order), "--json", "-o", "whole.lr"]
    whole = run([*words, "--predictions", "told.csv"])
    if whole.code != 0:
        return whole.code, [] if whole.code == 2 else [f"{words}: {whole.err}"]
    wrong = list(_days(rows, cuts, (mixing, order, joins), (ending, grows, dated), strict(whole.out)))
    return 0, [f"{what}\nwords: {words}\ncuts {cuts}, joins {joins}, grows {grows}" for what in wrong]


def _rows(r: random.Random, experts: list[str]) -> list[Row]:
    """A row for each series, origin and step ahead; a series may begin late, and outcomes may never come."""
    rows, steps, level = list[Row](), r.choice((1, 2, 3)), r.choice((10.0, 1000.0))
    for series in "abc"[: r.choice((1, 2, 3))]:
        begin = r.choice((1, 1, 3))
        for time in range(begin, r.choice((5, 8))):
            for h in range(1, steps + 1):
                row: Row = {"unique_id": series, "ds": time + h, "cutoff": time, "y": None}
                rows.append(row | {name: round(level + r.gauss(0, 2), 3) for name in experts})
    came = {(row["unique_id"], row["ds"]): round(level + r.gauss(0, 1), 3) for row in rows}
    if r.random() < 0.3:
        came |= {key: None for key in came if r.random() < 0.1}
    rows = [row | {"y": came[row["unique_id"], row["ds"]]} for row in rows]
    for row in rows:
        row |= {name: None for name in experts if r.random() < 0.1 * (len(experts) > 1)}
    return rows


def _shown(row: Row, dated: bool, now: float) -> Row:
    """A row as the table of a day has it: with the outcome if that is known by now."""
    shown = row | {"y": row["y"] if row["ds"] <= now else None}
    return shown | ({key: f"2024-01-{shown[key]:02d}" for key in ("ds", "cutoff")} if dated else {})


def _days(
    rows: list[Row], cuts: list[int], mixing: tuple[list[str], list[str], str | None], form: Any, told: dict[str, Any]
) -> Iterator[str]:
    """What differs from the unbroken run if each day has a table of its own."""
    (words, order, joins), (ending, grows, dated) = mixing, form
    before, given = 0, dict[Key, str]()
    for day, cut in enumerate([*cuts, math.inf]):  # the last day has outcomes alone
        again = [row for row in rows if row["cutoff"] <= before and (grows or row["ds"] > before)]
        fresh = [row for row in rows if before < row["cutoff"] <= cut]
        there = order if day or not joins else order[:-1]
        shown = [_shown(row, dated, cut) for row in [*again, *fresh]]
        shown = [{key: value for key, value in row.items() if key in there or key not in order} for row in shown]
        said = ["experts", write(Path(f"day{day}.{ending}"), shown), "--experts", ",".join(there), "--target", "y"]
        said += words if day == 0 else ["--resume", "m.lr"]
        found = run([*said, "-o", "m.lr", "--json", "--predictions", "p.csv"])
        if found.code != 0:
            yield f"day {day}: exit code {found.code}: {found.err}"
            return
        before = int(min(cut, cuts[-1]))
        given |= dict(_forecasts("p.csv")[len(again) :])
    yield from _differences(told, strict(found.out), given, joins)


def _forecasts(name: str) -> list[tuple[Key, str]]:
    """The keys and forecasts in a file."""
    lines = csv.DictReader(Path(name).read_text().splitlines())
    return [((line["unique_id"], line["ds"], line["cutoff"]), line["forecast"]) for line in lines]


def _differences(told: dict[str, Any], now: dict[str, Any], given: dict[Key, str], joins: str | None) -> Iterator[str]:
    """What is otherwise than of one table."""
    wanted = dict(_forecasts("told.csv"))
    differ = [(key, given[key], wanted[key]) for key in wanted if not _alike(given[key], wanted[key], joins)]
    if differ:
        yield f"{len(differ)} forecasts differ from those of one table: {differ[0]}"
    for name in ("rounds", "series", *(() if joins else ("drift", "best"))):
        if told[name] != now[name]:
            yield f"{name} {now[name]}, of one table {told[name]}"
    pairs = zip(told["experts"]["weights"], now["experts"]["weights"], strict=True)
    if any(abs(a - b) > (1e-6 if joins else 0.0) for a, b in pairs):
        yield f"weights {now['experts']['weights']}, of one table {told['experts']['weights']}"


def _alike(a: str, b: str, joins: str | None) -> bool:
    """Whether forecasts are the same, to the last bit unless somebody joins."""
    return a == b or bool(joins and abs(float(a) - float(b)) <= 1e-7 * abs(float(b)))
