"""How late the labels of rows come, as columns of a table say it, in compiled code.

A number in the delay's column is a lag: in rows or, if there is a column with the rows' times, in seconds. A date there
is when the label is known, which needs a time of the row. Times are dates, or numbers of seconds, since 1970 if there
are dates too. A row without a label needs no lag.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.stream.buffers import LATENESS, ROW, Buffers
from lowregret.stream.dates import moment

MOST = float(1 << 53)  # rows or seconds: as far as doubles count

_LAG, _KNOWN, _TIME = range(LATENESS)  # in rows or seconds; when the label is known; when the row came
_1970, _DAY, _MICROS = 10_957, 86_400, 1e6  # days before 2000, seconds, microseconds

NO_DELAY = (
    "expected how late the label comes in the delay's column: a whole number of rows, 0 or more; with --time-column "
    "seconds, or the date when the label is known"
)
NO_MOMENT = "expected a date or a number of seconds in the time column"
EARLY = "expected a label that is known no earlier than its row comes, by the columns of delay and time"


def since_1970(days: Any) -> Any:
    """Seconds since 1970 of days since 2000, to the microsecond, as far as doubles go with dates."""
    return np.floor((days + _1970) * _DAY * _MICROS + 0.5) / _MICROS


def seconds(text: Any, begin: Any, end: Any) -> float:
    """The seconds since 1970 of the date in text[begin:end]; NaN if there is none."""
    found = moment(text, begin, end)
    return since_1970(found[3]) if found[4] else math.nan


def is_lag(value: Any, timed: bool) -> Any:
    """Whether a number is a lag: not negative and, in rows, whole."""
    return (value >= 0.0) & (value <= MOST) & (timed | (value == np.floor(value)))


def are_lags(lags: Any, times: Any, labels: Any) -> bool:
    """Whether each row has a lag, or neither that nor a label, and a time if some have."""
    known = is_lag(lags, times.size > 0) | (np.isnan(lags) & np.isnan(labels))
    return bool(np.all(known) and np.all(np.abs(times) <= MOST))


def begin_lag(out: Buffers) -> None:
    """Forget what the row before said of its lag."""
    for at in range(LATENESS * out.cursor[ROW], LATENESS * (out.cursor[ROW] + 1)):
        out.lateness[at] = math.nan


def note_lag(out: Buffers, is_time: bool, timed: bool, is_number: bool, value: float, when: float) -> bool:
    """Note a number, or a date (NaN if the field is missing) in the column of the delay or the time; False: no lag."""
    at = LATENESS * out.cursor[ROW]
    if is_time:
        out.lateness[at + _TIME] = value if is_number else when
    elif is_number:
        out.lateness[at + _LAG] = value
        return bool(is_lag(value, timed))
    else:
        out.lateness[at + _KNOWN] = when
    return True


def settle_lag(out: Buffers, timed: bool) -> int:
    """Find the lag of a row; returns 0, or why there is none: 1 no time, 2 known before the row, 3 nothing said."""
    row = out.cursor[ROW]
    at = LATENESS * row
    time, known = out.lateness[at + _TIME], out.lateness[at + _KNOWN]
    if timed and not abs(time) <= MOST:
        return 1
    if known == known:
        out.lateness[at + _LAG] = known - time
    lag = out.lateness[at + _LAG]
    if lag < 0.0:
        return 2
    return 0 if lag == lag or out.labels[row] != out.labels[row] else 3


def lags_in(out: Buffers, rows: int, lagged: bool, timed: bool) -> tuple[Any, Any]:
    """The lags of the rows read, and their times; empty if rows do not say."""
    found = out.lateness[: LATENESS * rows if lagged else 0]
    return found[_LAG::LATENESS], found[_TIME::LATENESS][: rows if timed else 0]
