"""Dates and times as ISO 8601 writes them, in compiled code, and the features that they become.

`2024-03-31`, `2024-03-31 14:05` and `2024-03-31T14:05:59.5+02:00` in a column `when` are the categories
`when.hour=14` (if there is a time), `when.weekday=sun` and `when.month=3`, as they are written, and the number
`when.days`: the days since the beginning of 2000, in UTC if an offset is written. Nothing of it depends on other rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.stream.buffers import Buffers, add, record
from lowregret.stream.columns import DATE, DAYS, HOURS, MONTHS, WEEKDAYS, Columns

_U = np.uint64
_ONE, _TWO, _FOUR, _FIVE = _U(1), _U(2), _U(4), _U(5)
_HYPHEN, _COLON, _POINT, _PLUS, _BLANK, _TAB, _T, _Z = (np.uint8(ord(c)) for c in "-:.+ \ttz")
_NOUGHT = ord("0")
_LOWER = np.uint8(32)  # this bit makes letters lower-case
_BEFORE = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])  # days of a year before its months
_MINUTE, _DAY = 60 * 10**9, 86_400 * 10**9  # in nanoseconds

NO_DATE = "expected a date such as 2024-03-31, 2024-03-31 14:05 or 2024-03-31T14:05:59Z"


def moment(text: Any, begin: Any, end: Any) -> tuple[int, int, int, float, bool]:
    """The date in text[begin:end], blanks around it aside: weekday from 0, month from 0, hour, days since 2000-01-01.

    The hour is −1 if there is none. Last, whether there is a date at all; looks at no other bytes.
    """
    while begin < end and (text[begin] == _BLANK or text[begin] == _TAB):
        begin += _ONE
    while begin < end and (text[end - _ONE] == _BLANK or text[end - _ONE] == _TAB):
        end -= _ONE
    year, month = _digits(text, begin, end, 4), _digits(text, begin + _FIVE, end, 2)
    date = _digits(text, begin + _U(8), end, 2)
    if year < 1 or not 1 <= month <= 12 or not 1 <= date <= _length(year, month):
        return 0, 0, 0, 0.0, False
    if text[begin + _FOUR] != _HYPHEN or text[begin + _U(7)] != _HYPHEN:
        return 0, 0, 0, 0.0, False
    leaps = year // 4 - year // 100 + year // 400 - 485  # up to this year, since 2000
    day = 365 * (year - 2000) + leaps + _BEFORE[month - 1] + date - (month <= 2 and _is_leap(year))
    weekday, k = (day + 5) % 7, begin + _U(10)
    if k == end:
        return weekday, month - 1, -1, float(day), True
    hour, ns, read = _time(text, k, end)
    day, ns = day + ns // _DAY, ns % _DAY
    return weekday, month - 1, hour, float(day) + float(ns) / _DAY, read


def _digits(text: Any, k: Any, end: Any, count: int) -> Any:
    """The value of `count` decimal digits at k; −1 if they are not there."""
    if k + _U(count) > end:
        return -1
    value: Any = 0
    for j in range(count):
        digit = np.int64(text[k + _U(j)]) - _NOUGHT
        if not 0 <= digit <= 9:
            return -1
        value = 10 * value + digit
    return value


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _length(year: int, month: int) -> int:
    """The days of a month."""
    return int(_BEFORE[month] - _BEFORE[month - 1]) + (month == 2 and _is_leap(year))


def _time(text: Any, k: Any, end: Any) -> tuple[int, int, bool]:
    """The time of day after the T or blank at k: hour, nanoseconds in UTC, and whether that is all up to `end`."""
    hour, minute = _digits(text, k + _ONE, end, 2), _digits(text, k + _FOUR, end, 2)
    if (text[k] != _BLANK and text[k] | _LOWER != _T) or not 0 <= hour < 24 or not 0 <= minute < 60:
        return 0, 0, False
    if text[k + _U(3)] != _COLON:
        return 0, 0, False
    ns, k = (60 * hour + minute) * _MINUTE, k + _U(6)
    if k < end and text[k] == _COLON:
        second, k = _digits(text, k + _ONE, end, 2), k + _U(3)
        if not 0 <= second <= 60:
            return 0, 0, False
        part, k = _fraction(text, k, end)
        ns += second * 10**9 + part
    shift, k = _offset(text, k, end)
    return hour, ns - shift, bool(k == end)


def _fraction(text: Any, k: Any, end: Any) -> tuple[int, Any]:
    """The nanoseconds that a point and digits at k stand for, and where they end; digits beyond the ninth are cut."""
    if k == end or text[k] != _POINT or _digits(text, k + _ONE, end, 1) < 0:
        return 0, k
    ns, unit, k = 0, 10**8, k + _ONE
    while k < end and _digits(text, k, end, 1) >= 0:
        ns += unit * _digits(text, k, end, 1)
        unit //= 10
        k += _ONE
    return ns, k


def _offset(text: Any, k: Any, end: Any) -> tuple[int, Any]:
    """The nanoseconds by which Z, ±HH, ±HHMM or ±HH:MM at k is ahead of UTC, and where it ends; 0 if it is none."""
    if k < end and text[k] | _LOWER == _Z:
        return 0, k + _ONE
    if k == end or (text[k] != _PLUS and text[k] != _HYPHEN):
        return 0, k
    hours, minutes, at = _digits(text, k + _ONE, end, 2), 0, k + _U(3)
    if at < end:
        at += _ONE if text[at] == _COLON else _U(0)
        minutes, at = _digits(text, at, end, 2), at + _TWO
    if not 0 <= hours < 24 or not 0 <= minutes < 60:
        return 0, k
    shift = (60 * hours + minutes) * _MINUTE
    return shift if text[k] == _PLUS else -shift, at


def add_date(chosen: Columns, column: Any, parts: Any, out: Buffers, entry: Any, ends: Any) -> Any:
    """Add the features of a date (what `moment` gives) in a column; returns the end of the entries.

    `ends`: where the names end in the format's header, those of the columns first (`columns.header`).
    """
    weekday, month, hour, days, _ = parts
    for place in (WEEKDAYS + weekday, MONTHS + month, HOURS + hour, DAYS):
        value = days if place == DAYS else 1.0
        if place >= 0 and value != 0.0:
            at = chosen.date_at[column] + place
            add(out, entry, chosen.date_slots[at], value)
            name = chosen.kinds.size + at
            record(out, out.columns[entry], -1 - ends[name], -1 - ends[name + 1], -1, -1)
            entry += 1
    return entry


def faults_of_dates(chosen: Columns, names: Any, ends: Any, first: int) -> dict[int, str]:
    """Messages for columns of dates that hold none, by `first` + the number of the column."""
    texts = {at: names[ends[at] : ends[at + 1]].tobytes() for at in np.flatnonzero(chosen.kinds == DATE).tolist()}
    return {first + at: f"{NO_DATE} in the column {name.decode(errors='replace')!r}" for at, name in texts.items()}
