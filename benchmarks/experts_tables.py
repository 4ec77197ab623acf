"""Small tables of forecasts, as users of `lowregret experts` have them, and the plain Python that says what is so.

A table is one series row by row, with forecasts that are numbers or probabilities, or many series with origins and
horizons. Forecasts and outcomes are missing now and then; one expert may be exact, and two the same.
"""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

SIZES = (1, 2, 3, 7, 25, 60, 130)
ENDINGS = ("csv", "csv", "csv", "tsv", "csv.gz", "parquet", "arrow")
NUMBERS = (
    "square", "absolute", "mae", "mse", "rmse", "mape", "smape", "quantile:0.8", "pinball:0.1", "huber:1.5", "mase:1",
    "mase:3", "epsilon-insensitive:0.2",
)  # fmt: skip
CHANCES = ("log", "brier")
FREE = ("adahedge", "ml-poly", "squint", "boa", "calibrated")
PLACES = 1e-8  # relative; sums of floats in another order
Row = dict[str, Any]
Forecast = list[float | None]


class Case(NamedTuple):
    """A table in a file, the words that mix it, and what is known of it."""

    rows: list[Row]  # as they are in the file, None where a cell is empty
    experts: list[str]
    ending: str
    words: list[str]  # without the command, the file and what is to be written
    loss: str
    options: dict[str, str]

    @property
    def x(self) -> list[Forecast]:
        """Forecasts, row by row."""
        return [[row[name] for name in self.experts] for row in self.rows]

    @property
    def y(self) -> list[float | None]:
        """Outcomes."""
        return [row["y"] for row in self.rows]


# ---- drawing --------------------------------------------------------------------------------------------------------


def plain_case(r: random.Random) -> Case:
    """A table of one series."""
    loss = r.choice(NUMBERS + CHANCES)
    experts = [f"m{i}" for i in range(r.choice((1, 2, 2, 3, 5)))]
    level, size = r.choice(((0.0, 1.0), (50.0, 3.0), (1e6, 1e5), (0.01, 0.001)))
    asleep, unknown = r.choice((0, 0, 0.1, 0.5)), r.choice((0, 0, 0.1))
    rows = [_row(r, experts, loss in CHANCES, level, size) for _ in range(r.choice(SIZES))]
    _thin(r, rows, experts, asleep, unknown)
    options = mixing(r, loss) | more(r, loss)
    if "--eta" in options and "--delay" not in options and r.random() < 0.3:
        options["--eta"] = "theory"
    return _case(r, rows, experts, loss, options)


def long_case(r: random.Random) -> Case:
    """A table of several series, origins and horizons."""
    loss = r.choice([name for name in NUMBERS if not name.startswith("mase")])
    experts, rows = [f"m{i}" for i in range(r.choice((1, 2, 3)))], list[Row]()
    level, size = r.choice(((0.0, 1.0), (50.0, 3.0), (1e6, 1e5)))
    step = r.choice((1, 1, 2, 3))
    for series in "abcd"[: r.choice((1, 2, 4))]:
        for origin in range(1, r.choice((2, 4, 9))):
            for h in range(1, r.choice((1, 2, 3)) + 1):
                key = {"unique_id": series, "ds": step * origin + h, "cutoff": step * origin}
                rows.append(key | _row(r, experts, False, level, size))
    if r.random() < 0.5:  # an outcome is that of its series and time, whenever it was forecast
        came = {(row["unique_id"], row["ds"]): row["y"] for row in rows}
        rows = [row | {"y": came[row["unique_id"], row["ds"]]} for row in rows]
    _thin(r, rows, experts, r.choice((0, 0, 0.1, 0.5)), r.choice((0, 0, 0.1)))
    if r.random() < 0.5:
        r.shuffle(rows)
    if r.random() < 0.3:
        rows = [row | {"h": row["ds"] - row["cutoff"]} for row in rows]
    options = mixing(r, loss) | {"--weights": r.choice(("pooled", "series", "horizon", "shrunk"))}
    options |= {"--coverage": "0.8"} if r.random() < 0.2 else {}
    return _case(r, rows, experts, loss, options)


def _case(r: random.Random, rows: list[Row], experts: list[str], loss: str, options: dict[str, str]) -> Case:
    ending = r.choice(ENDINGS)
    if r.random() < 0.3:
        weights = [r.choice((1.0, 2.0, 0.5, 1e-6)) for _ in experts]
        Path("prior.txt").write_text("".join(f"{name} {w}\n" for name, w in zip(experts, weights, strict=True)))
        options |= {"--prior": "prior.txt"}
    words = ["--target", "y", "--loss", loss]
    if r.random() < 0.4 and all(any(row[name] is not None for row in rows) for name in experts):
        rows = [row | others(row, t) for t, row in enumerate(rows)]
    else:
        words += ["--experts", ",".join(experts)]
    words += [word for name, value in options.items() for word in (name, value) if word]
    return Case(rows, experts, ending, words, loss, options)


def others(row: Row, t: int) -> Row:
    """What else stands in tables of forecasts: dates, names, ends of intervals, none of them an expert."""
    found: Row = {"station": f"s{t % 3}", "m0-lo-80": -1.5, "m0-hi-80": 1e7, "note": None}
    return found | ({} if "ds" in row else {"date": f"2024-{t // 28 % 12 + 1:02d}-{t % 28 + 1:02d}"})


def _row(r: random.Random, experts: Sequence[str], chances: bool, level: float, size: float) -> Row:
    """A row of forecasts and what came, some of it exact."""
    if chances:
        p = r.random()
        near = {name: round(min(max(p + r.gauss(0, 0.1), 0.01), 0.99), 3) for name in experts}
        return {"y": float(r.random() < p), **near}
    y = level + size * r.gauss(0, 1)
    y = round(y, 3) if level != 0.01 else y
    return {"y": y or 1.0} | {
        name: y if r.random() < 0.1 else round(y + (i + 1) * size * r.gauss(0.1, 0.3), 4)
        for i, name in enumerate(experts)
    }


def _thin(r: random.Random, rows: list[Row], experts: Sequence[str], asleep: float, unknown: float) -> None:
    """Empty some cells; an expert may come late, or leave."""
    late = r.choice(experts) if r.random() < 0.15 else None
    turned = r.random() < 0.5
    for t, row in enumerate(rows):
        for name in experts:
            if r.random() < asleep or (name == late and (t < len(rows) // 2) == turned):
                row[name] = None
        if r.random() < unknown:
            row["y"] = None


def mixing(r: random.Random, loss: str) -> dict[str, str]:
    """How to mix: an algorithm with what it needs."""
    name = r.choice(("auto", "auto", "auto", *FREE, "hedge", "wm", "eg", "ogd", "fixed-share", "bayes"))
    if name == "auto":
        return {}
    if name == "bayes" and loss not in CHANCES:
        return {"--algorithm": "ml-poly"}
    given = {"--algorithm": name}
    if name in ("hedge", "wm", "eg", "ogd", "fixed-share"):
        given["--eta"] = r.choice(("0.1", "0.5", "1e-3", "1e-10"))
    return given | ({"--share": "0.05"} if name == "fixed-share" else {})


def more(r: random.Random, loss: str) -> dict[str, str]:
    """Further options of a plain table."""
    kinds = (("--coverage", ("0.8", "0.5")), ("--levels", ("0.5", "0.1,0.5,0.9")), ("--delay", ("1", "1", "5")))
    said = {name: r.choice(values) for name, values in r.sample(kinds, r.choice((0, 0, 1, 1, 2)))}
    if loss in CHANCES:
        said.pop("--coverage", None), said.pop("--levels", None)
    if "--delay" in said:
        said.pop("--levels", None)
    return said


# ---- files ----------------------------------------------------------------------------------------------------------


def write(path: Path, rows: Sequence[Row]) -> str:
    """Write rows into a table of the format that the ending names; returns its name."""
    if path.suffix in (".parquet", ".arrow"):
        import pyarrow
        import pyarrow.feather
        import pyarrow.parquet

        made = pyarrow.Table.from_pylist(list(rows))
        (pyarrow.parquet.write_table if path.suffix == ".parquet" else pyarrow.feather.write_feather)(made, str(path))
        return path.name
    by = "\t" if path.suffix == ".tsv" else ","
    cells = [list(rows[0]), *(["" if cell is None else str(cell) for cell in row.values()] for row in rows)]
    text = "".join(by.join(line) + "\n" for line in cells).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path.name


# ---- definitions ----------------------------------------------------------------------------------------------------


def near(a: float | None, b: float | None, room: float = 0.0) -> bool:
    """Whether two figures are one, up to the order of sums."""
    if a is None or b is None:
        return a is b
    return abs(a - b) <= room + PLACES * max(abs(a), abs(b)) + 1e-12


def loss_at(words: str, p: float, y: float) -> tuple[float, float]:
    """The loss of a forecast and its slope, by definition."""
    name, _, value = words.partition(":")
    at, off = float(value or 0), p - y
    side = math.copysign(1.0, off) if off else 0.0
    if name in ("square", "mse", "rmse", "brier"):
        return off * off, 2 * off
    if name in ("absolute", "mae", "mase"):
        return abs(off), side
    if name in ("quantile", "pinball"):
        return max(-at * off, (1 - at) * off), 1 - at if off > 0 else -at if off < 0 else 0.0
    if name == "huber":
        return (off * off / 2, off) if abs(off) <= at else (at * (abs(off) - at / 2), at * side)
    if name == "epsilon-insensitive":
        return max(abs(off) - at, 0.0), side if abs(off) > at else 0.0
    if name == "mape":
        return 100 * abs(off) / abs(y), 100 * side / abs(y)
    if name == "smape":
        whole = abs(p) + abs(y)
        return (200 * abs(off) / whole if whole else 0.0), math.nan
    assert name == "log", words
    return (-math.log(p), -1 / p) if y else (-math.log1p(-p), 1 / (1 - p))


def naive_scales(y: Sequence[float | None], season: int) -> list[float | None]:
    """What mase divides each row by: the mean of |y_s − y_{s−m}| over the rows before, None before there is one."""
    found, total, count = list[float | None](), 0.0, 0
    for t, now in enumerate(y):
        found.append(total / count if total else None)
        before = y[t - season] if t >= season else None
        if now is not None and before is not None:
            total, count = total + abs(now - before), count + 1
    return found


def mean_of(x: Forecast, weights: Sequence[float]) -> float | None:
    """The mean of those awake under weights; None if there is nobody."""
    awake = [(w, v) for w, v in zip(weights, x, strict=True) if v is not None]
    whole = math.fsum(w for w, _ in awake)
    return math.fsum(w / whole * v for w, v in awake) if whole > 0 else None


class Trust:
    """Exponential weights, by their definition, with sleepers that say what the mixture says."""

    def __init__(self, prior: Sequence[float], eta: float, loss: str, linearised: bool) -> None:
        self.prior, self.eta, self.loss, self.linearised = prior, eta, loss, linearised
        self.owed = [0.0] * len(prior)

    def mix(self, x: Forecast) -> float | None:
        """The forecast: the mean of those awake, by π e^{ηR}."""
        top = max((self.eta * owed for owed, v in zip(self.owed, x, strict=True) if v is not None), default=0.0)
        raised = [min(self.eta * owed - top, 0.0) for owed in self.owed]  # those asleep do not matter
        return mean_of(x, [p * math.exp(high) for p, high in zip(self.prior, raised, strict=True)])

    def learn(self, x: Forecast, y: float) -> None:
        """Add up by how much each was better."""
        p = self.mix(x)
        if p is None:
            return
        own, slope = loss_at(self.loss, p, y)
        for i, said in enumerate(x):
            if said is not None:
                self.owed[i] += slope * (p - said) if self.linearised else own - loss_at(self.loss, said, y)[0]
