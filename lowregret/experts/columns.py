"""Which columns of a table are forecasts: not timestamps, names of rows, horizons, origins or bounds of intervals.

By their names and by their numbers, with the reason in words; whoever knows better names the experts.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from lowregret.types import Vector

TIMES = frozenset(["ds", "date", "timestamp", "datetime", "date_time", "valid_time", "target_date"])
CALENDAR = frozenset(["year", "quarter", "month", "week", "weekday", "dow", "doy", "day", "hour", "minute", "second"])
CALENDAR |= {"time", "period"}
IDS = frozenset(["id", "uid", "unique_id"])
COUNTS = frozenset(["index", "row", "rowid", "series", "item", "key"])
HORIZONS = frozenset(["h", "horizon", "fh", "step", "steps", "steps_ahead", "lead", "lead_time"])
ORIGINS = frozenset(["cutoff", "origin", "forecast_origin", "origin_date", "origin_time", "issue_date", "issue_time"])
ORIGINS |= {"forecast_date", "reference_date"}
SIDES = {"lo": "hi", "lower": "upper", "low": "high", "lwr": "upr"}
SIDES |= {high: low for low, high in SIDES.items()}
BOUND = re.compile(rf"(?:^|[-_. ])({'|'.join(SIDES)})(?:[-_. ]?(\d+(?:\.\d+)?)%?)?$", re.IGNORECASE)
QUANTILE = re.compile(r"(?:^|[-_. ])(?:q|quantile)[-_. ]?(?:0?\.\d+|\d\d(?:\.\d+)?)$", re.IGNORECASE)
EPOCH = 1e8, 5e9  # seconds since 1970, from 1973 to 2128; also in thousandths, millionths and billionths
MANY = 20  # rows in which whole numbers that always grow are no chance
FAR = 100.0  # times as large, or small, as what comes: in other units


def why_by_name(name: str, names: Collection[str], kind: str = "") -> str | None:
    """The reason why a column of this name is nobody's forecasts, whatever is in it; None if there is none.

    `names` are those of all columns, `kind` is the type of the column if its file knows it.
    """
    word = plain(name)
    if kind.startswith(("timestamp", "date", "time", "duration")) or word in TIMES:
        return "a time"
    if kind == "bool":
        return "truth values"
    if word in IDS or word.endswith("_id"):
        return "names of rows"
    if word in ORIGINS:
        return "an origin"
    if is_bound(name, names):
        return "a bound of an interval"
    return "a quantile" if QUANTILE.search(name) else None


def why_by_numbers(name: str, cells: Vector, outcomes: Vector | None) -> str | None:
    """The reason why these numbers are nobody's forecasts; None if they may be somebody's: O(T)."""
    known = cells[~np.isnan(cells)]
    if not known.size or np.any(known != np.round(known)):
        return None
    for words, reason in ((CALENDAR, "a part of a date"), (HORIZONS, "a horizon"), (COUNTS, "names of rows")):
        if plain(name) in words:
            return reason
    return _of_whole(known, None if outcomes is None else outcomes[~np.isnan(outcomes)])


def plain(name: str) -> str:
    """A name in small letters, its words joined by underscores."""
    return re.sub(r"[-\s.]+", "_", name.strip()).lower()


def is_bound(name: str, names: Collection[str]) -> bool:
    """Whether a name is that of a side of an interval: with its level, or beside one of the other side."""
    found = BOUND.search(name)
    if found is None:
        return False
    side = found.group(1)
    other = SIDES[side.lower()]
    turned = other.upper() if side.isupper() else other.capitalize() if side[0].isupper() else other
    return found.group(2) is not None or name[: found.start(1)] + turned + name[found.end(1) :] in names


def _of_whole(known: Vector, outcomes: Vector | None) -> str | None:
    """The reason why whole numbers are no forecasts of these outcomes."""
    if outcomes is not None and outcomes.size and outcomes.max() > 1 and set(known.tolist()) == {0.0, 1.0}:
        return "truth values"
    size = float(np.median(np.abs(outcomes))) if outcomes is not None and outcomes.size else 1.0
    middle, ahead = float(np.median(np.abs(known))), np.diff(known)
    if not middle / 10 <= size <= middle * 10:
        if are_dates(known):
            return "dates as whole numbers"
        if np.all(ahead >= 0) and any(
            np.all((EPOCH[0] * u <= known) & (known <= EPOCH[1] * u)) for u in (1, 1e3, 1e6, 1e9)
        ):
            return "time since 1970"
    if known.size < 3 or not np.all(ahead > 0) or (outcomes is not None and np.all(np.diff(outcomes) > 0)):
        return None
    if known[0] in (0.0, 1.0) and np.all(ahead == 1):
        return "a count of rows"
    inside = outcomes is not None and outcomes.size and _inside(known, outcomes) > 0.5
    return "whole numbers that grow from row to row" if known.size >= MANY and not inside else None


def _inside(known: Vector, outcomes: Vector) -> float:
    """The share of numbers between the least and the largest outcome, or as far beyond as these are apart."""
    low, high = float(outcomes.min()), float(outcomes.max())
    return float(np.mean((known >= 2 * low - high) & (known <= 2 * high - low)))


def are_dates(known: Vector) -> bool:
    """Whether whole numbers can be read as 20240131, or in ascending order as 202401."""
    if known.size and known.min() >= 19000101 and known.max() <= 21001231:
        months, days = known // 100 % 100, known % 100
        return bool(np.all((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)))
    if known.size >= 3 and known.min() >= 190001 and known.max() <= 210012 and np.all(np.diff(known) >= 0):
        return bool(np.all((known % 100 >= 1) & (known % 100 <= 12)))
    return False


def unused_origin(name: str, cells: Any) -> str | None:
    """A warning if a column of horizons or origins says that forecasts of several rows were made at once."""
    word = plain(name)
    if word in HORIZONS:
        several = any(str(cell).strip() not in ("", "1", "1.0") for cell in cells)
    else:
        several = word in ORIGINS and len(set(map(str, cells))) < len(cells)
    if not several:
        return None
    return (
        f"the column {name!r} is not used: each row is forecast knowing the outcome of the one before, which those who "
        "forecast several rows at one origin did not; a table with --series, --time and --cutoff is learnt by origins"
    )


def off_scale(name: str, cells: Vector, outcomes: Vector) -> str | None:
    """A warning if all that an expert says is in other units than what comes."""
    said, came = np.abs(cells[~np.isnan(cells)]), np.abs(outcomes[~np.isnan(outcomes)])
    if not said.size or not came.size or not came.max() > 0:
        return None
    usual, middle = float(np.median(said)), float(np.median(came))
    if usual > FAR * came.max() or said.max() < middle / FAR:
        return f"the expert {name!r} says {usual:.4g} where {middle:.4g} comes: is it a forecast, in the same units?"
    return None


def times(cells: Any) -> Any:
    """Dates as `datetime64`, from texts such as 2024-01-31 12:00 or whole numbers such as 20240131; None if not."""
    try:
        numbers = np.asarray(cells, np.float64)
    except (TypeError, ValueError):
        numbers = None
    if numbers is not None:
        if not (
            numbers.size and np.all(numbers == np.round(numbers)) and numbers.min() >= 19000101 and are_dates(numbers)
        ):
            return None
        cells = [f"{v // 10000:04d}-{v // 100 % 100:02d}-{v % 100:02d}" for v in numbers.astype(int).tolist()]
    try:
        return np.array([_bare(str(cell)) for cell in cells], "datetime64[s]")
    except ValueError:
        return None


def _bare(cell: str) -> str:
    """A date without its zone: the axis is that of the place."""
    return re.sub(r"(Z|[+-]\d\d:?\d\d)$", "", cell.strip()) if "T" in cell or " " in cell.strip() else cell.strip()
