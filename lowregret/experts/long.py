"""Long tables of forecasts: a row for each series, origin and time, as backtests and competitions have them.

    unique_id, ds, cutoff, y, model, model, …

Which columns say series, time, cutoff, horizon and outcome is recognised by their names (`LAYOUTS`) or told.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError, PartError
from lowregret.experts.by_name import column_names
from lowregret.experts.columns import are_dates
from lowregret.learner.labels import is_missing
from lowregret.learner.validate import require_unmasked
from lowregret.types import Vector
from lowregret.words import listed

Matrix = NDArray[np.float64]
Place = Callable[[int], str]  # where a row is, for people

BOUND = re.compile(r"-(lo|hi)-\d+(\.\d+)?$")  # a column with an end of an interval, as Nixtla names it
QUARTER = re.compile(r"(\d{4})-?Q([1-4])")
MONTH = re.compile(r"\d{4}-\d\d")
MICRO = 10**6
MOST = 2**53  # a number of steps that is a whole number as a float
LAST = 200_000  # years around 1970 that microseconds count
NUMBERS, DATES, MOMENTS = "numbers", "dates", "dates that say their offset from UTC"


class Layout(NamedTuple):
    """The names by which a family of tools calls its columns, the usual one first."""

    name: str
    series: tuple[str, ...]
    time: tuple[str, ...]
    cutoff: tuple[str, ...]
    horizon: tuple[str, ...]
    outcome: tuple[str, ...]


LAYOUTS = (
    Layout("Nixtla", ("unique_id",), ("ds",), ("cutoff",), ("h", "horizon"), ("y",)),
    Layout(
        "sktime", ("instances", "instance", "h0"), ("timepoints", "timepoint", "time"), ("cutoff",), ("fh",),
        ("y_test", "y_true", "y"),
    ),
    Layout(
        "Darts", ("component", "series_id", "series"), ("time",), ("forecast_start", "cutoff", "origin"),
        ("horizon_step", "horizon", "step"), ("actual", "y"),
    ),
    Layout(
        "M-competition", ("series", "series_id", "id"), ("period", "time", "ds"), ("origin", "cutoff"),
        ("h", "horizon", "fh"), ("actual", "y"),
    ),
)  # fmt: skip
ROLES = ("series", "time", "cutoff", "horizon", "outcome")


class Roles(NamedTuple):
    """The columns that are no forecasts, by what they say; empty where there is none."""

    series: str = ""
    time: str = ""
    cutoff: str = ""
    horizon: str = ""
    outcome: str = ""
    layout: str = ""  # whose names they have, if they were recognised

    @property
    def is_long(self) -> bool:
        """Whether they make a table a long one: with two of time, cutoff and horizon, or a series and a time."""
        return bool(self.time and (self.series or self.cutoff or self.horizon)) or bool(self.cutoff and self.horizon)

    @property
    def taken(self) -> list[str]:
        """All columns with a role."""
        return [name for name in self[: len(ROLES)] if name]

    def __str__(self) -> str:
        told = [f"{role} {name}" for role, name in zip(ROLES, self, strict=False) if name]
        return ", ".join(told) + (f" (recognised: {self.layout}'s layout)" if self.layout else "")


def roles_of(columns: Collection[str], told: Mapping[str, str | None], dropped: Collection[str] = ()) -> Roles:
    """The roles of columns: as told, and where nothing is told as the layout has them that knows most of them."""
    known = [name for name in columns if name not in dropped]
    said = {role: name for role, name in told.items() if name}
    for role, name in said.items():
        if name not in columns:
            there = listed(list(columns))
            raise DataError(f"the table has no column {name!r}, said to be the {role}; its columns are {there}")
    left, fitting = [name for name in known if name not in said.values()], [Roles(**said)]
    for layout in LAYOUTS:
        found = {role: next((n for n in getattr(layout, role) if n in left), "") for role in ROLES if role not in said}
        roles = Roles(**found | said, layout=layout.name if any(found.values()) else "")
        if roles.is_long and (roles.series or roles.cutoff or roles.horizon):
            fitting.append(roles)
    return max(fitting, key=lambda roles: len(roles.taken) if roles.layout else 0)


def counts_of_rows(columns: Mapping[str, Any]) -> list[str]:
    """The columns called id that count rows, from whatever number on: each row would be a series of its own."""
    found = [name for name in columns if name == "id"]
    return [name for name in found if len(columns[name]) > 1 and _counts(columns[name])]


def _counts(cells: Any) -> bool:
    try:
        return bool(np.all(np.diff(np.array([float(cell) for cell in cells])) == 1))
    except (TypeError, ValueError):
        return False


@dataclass
class LongTable:
    """Forecasts x[t, i] of experts, and outcomes y[t], of rows that say for which series and time and of when they are.

    NaN is a forecast or an outcome that is not there.
    """

    names: list[str]
    x: Matrix
    y: Vector
    series: Any  # the name of each row's
    time: Vector  # a number, or microseconds since 1970
    cutoff: Vector | None  # None: each time is forecast at the time before
    horizon: Any  # whole numbers, or None: counted
    dated: bool  # whether times are dates
    place: Place = "row {}".format
    zoned: bool = False  # whether dates say their offset from UTC

    def __post_init__(self) -> None:
        if self.cutoff is None:
            return
        late = np.flatnonzero(~(self.time > self.cutoff))
        if late.size:
            raise DataError(
                f"{self.place(int(late[0]))}: a forecast for a time that is not after its cutoff: are time and cutoff "
                "each other's, or of different kinds?"
            )


def long_table(
    frame: Any,
    *,
    series: str | None = None,
    time: str | None = None,
    cutoff: str | None = None,
    horizon: str | None = None,
    target: str | None = None,
    experts: Sequence[str] = (),
    drop: Collection[str] = (),
    expected: Collection[str] = (),
) -> LongTable:
    """A long table from a frame of pandas or polars, an Arrow table or a mapping; pandas' index counts as columns.

    Experts are the columns of numbers that say nothing else, without ends of intervals such as NAME-lo-80, and those
    `expected`, which must be numbers if they are there.
    """
    if isinstance(frame, LongTable):
        return frame
    if hasattr(frame, "reset_index") and any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    columns = {str(name): _plain(_cells(frame[name])) for name in column_names(frame) or frame}
    odd = [name for name, cells in columns.items() if cells.shape != next(iter(columns.values())).shape[:1]]
    if odd:
        raise DataError(f"the column {odd[0]!r} has the shape {columns[odd[0]].shape}: expected a cell for each row")
    told = {"series": series, "time": time, "cutoff": cutoff, "horizon": horizon, "outcome": target}
    roles = roles_of(columns, told, [*drop, *counts_of_rows(columns)])
    names = list(experts) or [
        name
        for name, cells in columns.items()
        if name not in (*roles.taken, *drop)
        and (name in expected or (cells.dtype.kind in "iuf" and not BOUND.search(name)))
    ]
    if not names:
        raise DataError(f"there is no column of forecasts besides {listed(roles.taken) or 'none'}: name experts=")
    x = np.column_stack([_numbers(columns, name) for name in names])
    y = _numbers(columns, roles.outcome) if roles.outcome else np.full(len(x), math.nan)
    return keyed(roles, columns, names, x, y)


def _numbers(columns: Mapping[str, Any], name: str) -> Vector:
    """The numbers of a column, NaN where they are missing."""
    if name not in columns:
        raise DataError(f"the table has no column {name!r}; its columns are {listed(list(columns))}")
    cells = columns[name]
    if cells.dtype.kind in "iufb" or not _there(cells).any():
        return np.asarray(cells, np.float64) if cells.dtype.kind in "iufb" else np.full(len(cells), math.nan)
    odd = cells[_there(cells)][0]
    raise DataError(f"the column {name!r} holds no numbers but cells such as {odd!r}: repair it, or drop it")


def _there(cells: Any) -> Any:
    """Which cells of a column of objects are not missing."""
    return np.array([type(cell).__name__ not in ("NoneType", "NAType") for cell in cells], bool)


def _cells(column: Any) -> Any:
    """The cells of a column as an array: moments whose type has a time zone as objects, which say it as well."""
    require_unmasked(column, "cells of the table")
    kind = getattr(column, "type", getattr(column, "dtype", None))
    listed_by = getattr(column, "to_pylist", getattr(column, "to_list", None))
    zone = getattr(kind, "tz", getattr(kind, "time_zone", None))
    return np.array(listed_by(), object) if zone and listed_by else np.asarray(column)


def _plain(cells: Any) -> Any:
    """Numbers as such where some are missing, as frames of other types hold them; all else as it is."""
    if cells.dtype.kind != "O" or cells.ndim != 1:
        return cells
    there = _there(cells)
    if not there.any() or not all(isinstance(cell, (int, float, np.number)) for cell in cells[there]):
        return cells
    found = np.full(len(cells), math.nan)
    found[there] = cells[there].astype(np.float64)
    return found


def keyed(
    roles: Roles, columns: Mapping[str, Any], names: list[str], x: Matrix, y: Vector, place: Place = "row {}".format
) -> LongTable:
    """Forecasts and outcomes with the keys that columns in these roles say."""
    if not roles.is_long:
        raise PartError(
            "say which columns hold the time that is forecast and the cutoff at which it was: they are not recognised "
            "by their names"
        )
    count = len(y)
    series = _names(columns[roles.series], roles.series, place) if roles.series else [""] * count
    steps = _steps(columns[roles.horizon], roles.horizon, place) if roles.horizon else None
    read = {
        role: times_of(columns[name], name, place)
        for role in ("time", "cutoff")
        if (name := getattr(roles, role)) and not (role == "cutoff" and roles.time and not roles.cutoff)
    }
    kinds = [kind for _, kind in read.values()]
    if len(set(kinds)) > 1:
        one, other = kinds
        raise DataError(f"{roles.time!r} has {one}, {roles.cutoff!r} {other}: they are not of a kind")
    dated = {kind != NUMBERS for kind in kinds}
    time, cutoff = (read[role][0] if role in read else None for role in ("time", "cutoff"))
    if (time is None or (cutoff is None and steps is not None)) and dated == {True}:
        raise PartError(
            f"how long a step is cannot be known of dates: give the {'time' if time is None else 'cutoff'} too"
        )
    if steps is not None and (time is None or cutoff is None):
        time, cutoff = (cutoff + steps, cutoff) if cutoff is not None else (time, time - steps)
    assert time is not None
    return LongTable(names, x, y, np.array(series, object), time, cutoff, steps, True in dated, place, MOMENTS in kinds)


def _names(cells: Any, column: str, place: Place) -> list[str]:
    """Names of series, one for each row."""
    absent = next((row for row, cell in enumerate(cells) if is_missing(cell) or str(cell) == ""), None)
    if absent is not None:
        raise DataError(
            f"{place(absent)}: there is no name of a series in column {column!r}: name it, or leave out the row"
        )
    return [str(cell) for cell in cells]


def numbered(words: Collection[str]) -> tuple[list[str], Any]:
    """The different words in order, and which of them each is: in arrays of NumPy, NULs at their ends would be lost."""
    found = sorted(set(words))
    place = {word: k for k, word in enumerate(found)}
    return found, np.fromiter((place[word] for word in words), np.int64, len(words))


def _steps(cells: Any, column: str, place: Place) -> Any:
    """Horizons as whole numbers."""
    try:
        found = np.array([float(cell) for cell in cells])
    except (TypeError, ValueError):
        found = np.full(len(cells), math.nan)
    bad = np.flatnonzero(~((found == np.round(found)) & (np.abs(found) < MOST)))
    if bad.size:
        row = int(bad[0])
        raise DataError(f"{place(row)}: {str(cells[row])!r} in column {column!r} is not a number of steps")
    return found.astype(np.int64)


# ---- times ----------------------------------------------------------------------------------------------------------


def times_of(cells: Any, column: str, place: Place) -> tuple[Vector, str]:
    """Times as numbers that ascend, dates as microseconds since 1970; and which of `NUMBERS`, `DATES`, `MOMENTS`."""
    found = np.asarray(cells)
    if found.dtype.kind == "M":
        beyond = np.isnat(found) | (np.abs(found.astype("datetime64[Y]").astype(np.int64)) > LAST)
        bad, times, kind = np.flatnonzero(beyond), np.full(found.shape, np.nan), DATES
        times[~beyond] = found[~beyond].astype("datetime64[us]").astype(np.float64)
    elif found.dtype.kind in "iuf":
        times = found.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(times))
        if not bad.size:
            return _numbers_or_dates(times)
        kind = NUMBERS
    else:
        return _read_times([str(cell).strip() for cell in cells], column, place)
    if bad.size:
        raise DataError(f"{place(int(bad[0]))}: there is no time in column {column!r}")
    return times, kind


def _read_times(texts: list[str], column: str, place: Place) -> tuple[Vector, str]:
    words, which = numbered(texts)
    for dated, reader in ((False, float), (True, _microseconds)):
        read = [_try(reader, word) for word in words]
        if all(map(math.isfinite, read)):
            times = np.array(read)[which]
            return (times, _kind_of_dates(words, column)) if dated else _numbers_or_dates(times)
    row = next(t for t in range(len(texts)) if not math.isfinite(read[which[t]]))
    raise DataError(
        f"{place(row)}: {texts[row]!r} in column {column!r} is no time: expected a number, or a date as 2024-01-31, "
        "2024-01-31 18:00, 2024-01 or 2024Q1"
    )


def _kind_of_dates(words: list[str], column: str) -> str:
    """Whether dates say their offset from UTC: all of them or none, for what is known when hangs on it."""
    zoned = [_moment(word).tzinfo is not None for word in words]
    if any(zoned) and not all(zoned):
        one, other = words[zoned.index(True)], words[zoned.index(False)]
        raise DataError(
            f"in column {column!r} {one!r} says its offset from UTC and {other!r} does not: say it in all, or in none"
        )
    return MOMENTS if any(zoned) else DATES


def _numbers_or_dates(times: Vector) -> tuple[Vector, str]:
    """Whole numbers such as 20240131 and 202401 are dates: counted on from 31 there would be a 32nd."""
    known, which = np.unique(times, return_inverse=True)
    if np.any(known != np.round(known)) or not are_dates(np.repeat(known, 3)):  # few are enough in a column of times
        return times, NUMBERS
    texts = [f"{day:d}" for day in known.astype(int).tolist()]
    read = np.array([_try(_microseconds, f"{t[:4]}-{t[4:6]}-{t[6:] or '01'}") for t in texts])
    return (read[which], DATES) if np.isfinite(read).all() else (times, NUMBERS)


def _try(reader: Callable[[str], float], word: str) -> float:
    try:
        return reader(word)
    except (ValueError, OverflowError):
        return math.nan


def _moment(word: str) -> datetime:
    """A date, with a zone if it says an offset."""
    quarter = QUARTER.fullmatch(word)
    if quarter:
        word = f"{quarter[1]}-{3 * int(quarter[2]) - 2:02d}"
    if MONTH.fullmatch(word):
        word += "-01"
    return datetime.fromisoformat(word)


def _microseconds(word: str) -> float:
    """A date as microseconds since 1970, local unless it says an offset."""
    moment = _moment(word)
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return float((since.days * 86_400 + since.seconds) * MICRO + since.microseconds)


def time_text(time: float, dated: bool) -> str:
    """A time as people write it: the date without a time of day where that is midnight."""
    if not dated or not math.isfinite(time):
        return f"{time:.15g}" if math.isfinite(time) else ""
    text = str(np.datetime64(int(time), "us"))
    return text.removesuffix(".000000").removesuffix("T00:00:00").replace("T", " ")
