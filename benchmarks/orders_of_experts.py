"""Forecasts in two ways, for `fuzz_orders`: one table or several, whatever their format, columns in any order."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks.command_runs import run as run_command
from benchmarks.fuzzing import require
from benchmarks.nasty import Draw
from benchmarks.same_rows import Table, write
from lowregret.cli import mixing
from lowregret.experts import Calibrated, ExpertMixture, Layered
from lowregret.store import file as store

MIXTURES: list[Any] = [ExpertMixture, Layered, Calibrated]
FORMATS = ("csv", "tsv", "parquet", "arrow")
LOSSES = ["square", "absolute", "quantile:0.9", "mape", "huber:1", "log", "brier"]
RATES = {"wm": ["--eta", "0.3"], "hedge": ["--eta", "0.3"], "fixed-share": ["--eta", "0.3", "--share", "0.01"]}
RATES |= {"ogd": ["--eta", "0.1"], "eg": ["--eta", "0.1"]}
ALGORITHMS = ["auto", "auto", "adahedge", "ml-poly", "squint", "boa", "calibrated", "bayes", *RATES]


def some_forecasts(r: Draw, count: int, loss: str) -> Table:
    """A table of forecasts, some of which lack now and then or from some row on."""
    names = [f"e{k}" for k in range(r.randint(1, 5))]
    ends = {name: r.choice([count, count, count, r.randrange(count)]) for name in names}
    gaps, rows = r.choice([0.0, 0.0, 0.2]), []
    for at in range(count):
        came = float(r.random() < 0.5) if loss in ("log", "brier") else round(r.gauss(5, 2), 3)

        def forecast(came: float = came) -> float:
            return r.random() if loss in ("log", "brier") else round(came + r.gauss(0, 1), r.choice([1, 17]))

        awake = [name for name in names if at == 0 or (at < ends[name] and r.random() >= gaps)]
        told: dict[str, float | None] = {"y": came}
        rows.append(told | {name: forecast() if name in awake else None for name in names})
    return Table(dict.fromkeys(("y", *names), "number"), rows)


def mixed(folder: Path, table: str, words: list[str]) -> tuple[Any, str] | str:
    """The model's description and arrays, and the forecasts that were written; what is said if it refuses."""
    model, scores = folder / "e.lr", folder / "p.tsv"
    interpreted: dict[str, Any] = {kind.__name__: partial(kind, compiled=False) for kind in MIXTURES}
    with mock.patch.multiple(mixing, **interpreted):
        told = run_command(["experts", table, *words, "-o", str(model), "--predictions", str(scores), "--json"])
    require(told.code in (0, 2), f"exit code {told.code}: {words} {told.err}")
    if told.code:
        return told.err
    description, arrays = store.read(model, store.kind_of(model))
    return (description, {k: (a.shape, a.tobytes()) for k, a in arrays.items()}), scores.read_text()


def fuzz_forecasts(r: Draw, folder: Path, told: list[Any]) -> int:
    """A table of forecasts in other formats, and in parts that go on with the mixture."""
    loss, algorithm, count = r.choice(LOSSES), r.choice(ALGORITHMS), r.choice([2, 10, 40])
    table = some_forecasts(r, count, loss)
    words = ["--loss", loss, "--algorithm", algorithm, *RATES.get(algorithm, []), "--target", "y"]
    words += ["--experts", ",".join(list(table.kinds)[1:])] if r.random() < 0.5 else []
    told += [words, table]
    base = mixed(folder, write(r, table, folder, "whole", r.choice(FORMATS)), words)
    if isinstance(base, str):
        told.append(base)
        return 0
    form = r.choice(FORMATS)
    other = mixed(folder, write(r, table, folder, "other", form, packed=r.random() < 0.5), words)
    require(not isinstance(other, str) and base == other, f"another format, {form}: {_unlike(base, other)}")
    resume, scores, found = words, "", base
    cuts = sorted({r.randrange(1, count) for _ in range(r.choice([1, 2]))})
    for k, (begin, end) in enumerate(zip([0, *cuts], [*cuts, count], strict=True)):
        path = write(r, table.part(begin, end), folder, f"part{k}", r.choice(FORMATS))
        part = mixed(folder, path, resume)
        if isinstance(part, str):
            told.append(part)
            return 1
        found, scores = part, scores + part[1]
        resume = ["--resume", str(folder / "e.lr"), "--target", "y"]
        resume += words[words.index("--experts") :] if "--experts" in words and r.random() < 0.5 else []
    require(base == (found[0], scores), f"parts at {cuts}: {_unlike(base, (found[0], scores))}")
    return 2


def _unlike(one: Any, other: Any) -> str:
    """Where two mixtures differ."""
    if isinstance(other, str):
        return other
    told = [f"{k}: {one[0][0][k]} and {v}" for k, v in other[0][0].items() if one[0][0].get(k) != v]
    told += [f"the array {k}" for k in {*one[0][1], *other[0][1]} if one[0][1].get(k) != other[0][1].get(k)]
    return "\n".join(told + (["forecasts"] if one[1] != other[1] else []))
