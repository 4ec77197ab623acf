"""Mixtures of `lowregret experts` that are broken off and resumed, with rows, outcomes and experts that come later."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.command_runs import Told, run, strict
from benchmarks.experts_tables import Case, Row, write

JOINING = ("hedge", "wm", "eg", "ml-poly", "squint")  # who joins counts as one that was asleep before


def resumed(case: Case, told: dict[str, Any], r: random.Random) -> Iterator[str]:
    """What differs from the unbroken run once it is broken off and resumed."""
    long = "cutoff" in case.rows[0]
    cut = r.choice(sorted({row["cutoff"] for row in case.rows})) if long else r.randrange(len(case.rows) + 1)
    parts = [
        [row for t, row in enumerate(case.rows) if ((row["cutoff"] > cut) if long else (t >= cut)) == later]
        for later in (False, True)
    ]
    if not all(parts):
        return
    lines = _lines("p.txt", long)
    if long and r.random() < 0.5:  # the table of the next day has grown, and outcomes are in it
        first = [row | {"y": row["y"] if row["ds"] <= cut else None} for row in parts[0]]
        parts = [first, case.rows]
    begun, then = _both(case, parts)
    if begun.code not in (0, 2) or (begun.code == 0 and then.code != 0):
        yield f"resumed after {len(parts[0])} rows: {begun} {then}"
    if begun.code != 0 or then.code != 0:
        return
    pieces = [_lines("p1.txt", long), _lines("p2.txt", long)]
    found, whole = pieces[0] + pieces[1], lines
    if len(parts[1]) == len(case.rows):  # forecasts of rows that are learnt are not made again
        cells = list(zip(pieces[1], lines, strict=True))
        found, whole = [a for a, _ in cells if not a.endswith(",nan")], [b for a, b in cells if not a.endswith(",nan")]
    if (sorted(found) if long else found) != (sorted(whole) if long else whole):
        yield f"resumed after {len(parts[0])} rows of {cut}, --predictions differ"
    yield from _same(told, strict(then.out), f"{len(parts[0])} rows, {cut}, then {len(parts[1])}")
    if not long and "--experts" in case.words and set(case.options) <= {"--algorithm", "--eta"}:
        yield from _joined(case, cut, r)


def _both(case: Case, parts: list[list[Row]]) -> tuple[Told, Told]:
    """Learn a table, and go on with another."""
    head, tail = (write(Path(f"rows{k}.{case.ending}"), part) for k, part in enumerate(parts))
    named = [] if "--experts" in case.words else ["--experts", ",".join(case.experts)]
    begun = run(["experts", head, *case.words, *named, "-o", "h.lr", "--quiet", "--predictions", "p1.txt"])
    if begun.code != 0:
        return begun, begun
    said = ["experts", tail, "--target", "y", "--experts", ",".join(case.experts), "--resume", "h.lr"]
    shown = run(said)
    then = run([*said, "-o", "h.lr", "--json", "--predictions", "p2.txt"])
    return begun, shown if shown.code else then


def _lines(name: str, long: bool) -> list[str]:
    """The lines of `--predictions`, without the names of columns."""
    lines = Path(name).read_text().splitlines()
    return lines[1:] if long or lines[0] == "forecast" else lines


def _same(told: dict[str, Any], now: dict[str, Any], where: str) -> Iterator[str]:
    """What a resumed run tells otherwise of all rounds."""
    pairs: list[tuple[str, Any, Any]] = [(name, told[name], now[name]) for name in ("rounds", "drift") if name in told]
    pairs += [("weights", told["experts"]["weights"], now["experts"]["weights"])]
    if "layout" not in told:
        pairs += [("loss", told["loss"], now["loss"])]
        pairs += [("bound", told["certificates"][0]["bound"], now["certificate"]["bound"])]
    else:
        pairs += [(name, told[name], now[name]) for name in ("best", "certificates", "waiting", "series")]
    yield from (f"resumed after {where}: {name} {b}, unbroken {a}" for name, a, b in pairs if a != b)


def _joined(case: Case, cut: int, r: random.Random) -> Iterator[str]:
    """What differs if an expert that joins had been asleep in the rows before."""
    if case.options.get("--algorithm") not in JOINING or len(case.experts) < 2:
        return
    late = r.choice(case.experts)
    others = [name for name in case.experts if name != late]
    asleep = [row | {late: None} if t < cut else row for t, row in enumerate(case.rows)]
    head = write(Path(f"rows0.{case.ending}"), [{k: v for k, v in row.items() if k != late} for row in asleep[:cut]])
    tail = write(Path(f"rows1.{case.ending}"), asleep[cut:])
    table = write(Path(f"rows2.{case.ending}"), asleep)
    place = case.words.index("--experts")
    plain = case.words[:place] + case.words[place + 2 :]
    order = ",".join([*others, late])
    one = run(["experts", table, *plain, "--experts", order, "--json"])
    two = run(["experts", head, *plain, "--experts", ",".join(others), "-o", "j.lr", "--quiet"])
    if one.code or two.code:
        return
    then = run(["experts", tail, "--target", "y", "--experts", order, "--resume", "j.lr", "--json"])
    if then.code:
        yield f"{late} joins after {cut} rows: {then.err}"
        return
    a, b = (strict(told.out)["experts"]["weights"] for told in (one, then))
    if any(abs(u - v) > 1e-6 for u, v in zip(a, b, strict=True)):
        yield f"{late} joins after {cut} rows: weights {b}, had it slept {a}"
