"""The fields of a record batch, column by column: slots and values, the words of texts, the parts of dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.stream.buffers import Buffers
from lowregret.stream.columns import CATEGORICAL, DATE, DAYS, FEATURE, HOURS, LAG, MONTHS, TEXT, TIME, WEEKDAYS, Columns
from lowregret.stream.dates import NO_DATE, moment
from lowregret.stream.lags import EARLY, MOST, NO_DELAY, NO_MOMENT, is_lag, since_1970
from lowregret.stream.leaves import Leaf
from lowregret.stream.names import DATES, NAMES, NUMBERS
from lowregret.stream.notice import LOOKED
from lowregret.stream.tokens import add_words
from lowregret.types import Vector

HOLE = np.uint32(2**32 - 1)  # instead of a slot: the field is absent
_U = np.uint64
_PARTS = 4  # of a date: weekday, month, hour, days
FIRST_PARTS = np.array([[WEEKDAYS], [MONTHS], [HOURS]])


class Fields(NamedTuple):
    """The features of some rows: slots[at, row] with its value, and the words from begins[at, row] to ends[at, row]."""

    slots: Any
    values: Any
    keys: Any  # of the columns of slots, for products
    begins: Any
    ends: Any
    text_keys: Any
    words: Any


class Faults:
    """Faults by row; of several faults of a row the first counts."""

    def __init__(self, rows: int) -> None:
        self.bad = np.zeros(rows, bool)
        self._what: dict[int, str] = {}

    def note(self, rows: Any, expected: str, leaf: Leaf) -> None:
        for row in np.atleast_1d(rows).tolist():
            self._what.setdefault(row, f"{expected} in the column {leaf.name!r}, but found {leaf.shown(row)}")
        self.bad[rows] = True

    @property
    def first(self) -> int:
        """The first row with a fault, or the number of rows."""
        return min(self._what, default=self.bad.size)

    def in_order(self) -> list[tuple[int, str]]:
        """(row, fault), by row."""
        return sorted(self._what.items())


def fields_of(chosen: Columns, found: list[Leaf], rows: int, faults: Faults) -> Fields:
    """The features of all columns. Those of one feature come in the order of their slots unless there are products."""
    single, dates, texts = (np.flatnonzero(holds) for holds in _by_kind(chosen.kinds))
    if not chosen.crossing.keys.size:
        single = single[np.argsort(chosen.slots[single], kind="stable")]  # rows need less sorting then
    columns = np.concatenate([single, np.repeat(dates, _PARTS)])
    slots, values = np.full((columns.size, rows), HOLE), np.empty((columns.size, rows))
    for at, column in enumerate(single.tolist()):
        _set_feature(chosen, column, found[column], slots[at], values[at], faults)
    for k, column in enumerate(dates.tolist()):
        here = slice(single.size + _PARTS * k, single.size + _PARTS * (k + 1))
        _set_date(chosen, column, found[column], slots[here], values[here], faults)
    begins, ends = np.zeros((2, texts.size, rows), np.int64)
    words = [np.empty(0, np.uint32)]
    for at, column in enumerate(texts.tolist()):
        words.append(_set_words(chosen, column, found[column], begins[at], ends[at], sum(map(len, words))))
    return Fields(slots, values, chosen.keys[columns], begins, ends, chosen.keys[texts], np.concatenate(words))


def texts_of(chosen: Columns, found: list[Leaf]) -> dict[str, list[str]]:
    """The first texts of columns of which nothing was said."""
    plain = [leaf for kind, leaf in zip(chosen.kinds, found, strict=True) if kind == FEATURE and not leaf.is_number]
    firsts = {leaf.name: leaf.array.slice(0, LOOKED).to_pylist() for leaf in plain}
    return {name: [text for text in texts if isinstance(text, str) and text] for name, texts in firsts.items()}


def spelt_in(chosen: Columns, found: Sequence[Leaf]) -> dict[str, str]:
    """The kind of values of each column that has some and no role, and of columns of dates."""
    told: dict[str, str] = {}
    for kind, leaf in zip(chosen.kinds, found, strict=True):
        if kind in (FEATURE, DATE) and leaf.array.null_count < len(leaf.array):
            told[leaf.name] = DATES if kind == DATE or leaf.is_date else NUMBERS if leaf.is_number else NAMES
    return told


def _by_kind(kinds: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], ...]:
    """Columns of one feature, columns of dates, and columns of text."""
    return kinds <= CATEGORICAL, kinds == DATE, kinds == TEXT


def _set_feature(
    chosen: Columns, column: int, leaf: Leaf, slots: NDArray[np.uint32], values: NDArray[np.float64], faults: Faults
) -> None:
    """Slot and value of a column in each row that has it."""
    if leaf.is_number and chosen.kinds[column] != CATEGORICAL:
        numbers = leaf.numbers()
        values[leaf.rows] = numbers
        slots[leaf.rows] = chosen.slots[column]
        faults.note(leaf.rows_where(np.isinf(numbers)), "expected a finite number", leaf)
        return
    offsets, data, codes = leaf.texts()
    hashed = np.empty(offsets.size - 1, np.uint32)
    hash_texts(chosen, column, offsets, data, hashed)
    values[leaf.rows] = 1.0
    slots[leaf.rows] = np.where(leaf.valid(), hashed if codes is None else hashed[codes], HOLE)


def _set_words(
    chosen: Columns, column: int, leaf: Leaf, begins: NDArray[np.int64], ends: NDArray[np.int64], before: int
) -> NDArray[np.uint32]:
    """The slots of all words of a column, and where those of each row are, if `before` others come first."""
    offsets, data, codes = leaf.texts()
    out, starts = words_of(chosen, column, offsets, data)
    at = np.arange(starts.size - 1) if codes is None else codes
    begins[leaf.rows], ends[leaf.rows] = (np.where(leaf.valid(), before + starts[at + k], 0) for k in (0, 1))
    return out.columns[: starts[-1]]


def words_of(
    chosen: Columns, column: int, offsets: Any, data: Any, name: tuple[int, int] | None = None
) -> tuple[Buffers, NDArray[np.int64]]:
    """The words of texts, and where those of each begin; with records of them if the column's `name` is told."""
    texts = offsets.size - 1
    most = (int(offsets[-1] - offsets[0]) + texts) // 2 * chosen.ngrams + 1  # a word and a blank each
    out, starts = Buffers.sized(0, most, name is not None), np.zeros(texts + 1, np.int64)
    hash_words(chosen, column, offsets, data, out, starts, *(name or (-1, -1)))
    return out, starts


def leaf_dates(leaf: Leaf) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The parts of dates, as `dates.moment` has them, and which elements are some."""
    if leaf.is_date:
        return leaf.moments(), leaf.valid()
    offsets, data, codes = leaf.texts()
    parts = np.empty((_PARTS + 1, offsets.size - 1))
    read_dates(offsets, data, parts)
    parts = parts if codes is None else parts[:, codes]
    return parts, leaf.present() & (parts[_PARTS] > 0)


def _set_date(
    chosen: Columns, column: int, leaf: Leaf, slots: NDArray[np.uint32], values: NDArray[np.float64], faults: Faults
) -> None:
    """Slots and values of the parts of dates in each row that has one."""
    parts, read = leaf_dates(leaf)
    faults.note(leaf.rows_where((leaf.valid() if leaf.is_date else leaf.present()) & ~read), NO_DATE, leaf)
    places = np.where(read, parts[:3] + FIRST_PARTS, -1).astype(np.int64)
    hashed = chosen.date_slots[chosen.date_at[column] :]
    values[:3, leaf.rows] = 1.0
    values[3, leaf.rows] = np.where(read, parts[3], 0.0)
    slots[:3, leaf.rows] = np.where(places >= 0, hashed[places], HOLE)
    slots[3, leaf.rows] = hashed[DAYS]


def lags_of(chosen: Columns, found: list[Leaf], labels: Vector, faults: Faults) -> tuple[Vector, Vector]:
    """How late the labels of rows come, and the rows' times, as `lags.py` says; empty if rows do not say."""
    by_kind = {kind: leaf for kind, leaf in zip(chosen.kinds.tolist(), found, strict=True) if kind >= LAG}
    if not by_kind:
        return np.empty(0), np.empty(0)
    times = np.empty(0)
    if chosen.timed:
        times, _ = _moments(by_kind[TIME], labels.size)
        faults.note(np.flatnonzero(~(np.abs(times) <= MOST)), NO_MOMENT, by_kind[TIME])
    leaf = by_kind[LAG]
    read, dated = _moments(leaf, labels.size)
    lags = np.subtract(read, times, out=read.copy(), where=dated) if chosen.timed else np.where(dated, np.nan, read)
    given = np.zeros(labels.size, bool)
    given[leaf.rows_where(leaf.present())] = True
    faults.note(np.flatnonzero(dated & (lags < 0)), EARLY, leaf)
    faults.note(np.flatnonzero((given | ~np.isnan(labels)) & ~is_lag(lags, chosen.timed)), NO_DELAY, leaf)
    return lags, times


def _moments(leaf: Leaf, rows: int) -> tuple[Vector, Any]:
    """A column of numbers or dates as numbers, dates as seconds since 1970; NaN if it has neither. Which are dates."""
    found, dated = np.full(rows, np.nan), np.zeros(rows, bool)
    if leaf.is_number:
        found[leaf.rows] = leaf.seconds()
        return found, dated
    dates, read = leaf_dates(leaf)
    found[leaf.rows] = np.where(read, since_1970(dates[3]), np.nan)
    dated[leaf.rows_where(read)] = True
    return found, dated


# ---- compiled -------------------------------------------------------------------------------------------------------


@kernel
def hash_texts(chosen: Columns, column: int, offsets: Any, data: Any, slots: Any) -> None:
    """The slot of each category data[offsets[i]:offsets[i+1]] of a column; none if it is empty."""
    for i in range(slots.size):
        if offsets[i] == offsets[i + 1]:
            slots[i] = HOLE
        else:
            slots[i] = chosen.category(_U(column), data, _U(offsets[i]), _U(offsets[i + 1]))


@kernel
def hash_words(
    chosen: Columns, column: int, offsets: Any, data: Any, out: Buffers, starts: Any, name: int, end_of_name: int
) -> None:
    """The slots of the words of each text data[offsets[i]:offsets[i+1]], from entry starts[i] to starts[i+1]."""
    for i in range(offsets.size - 1):
        begin, end = _U(offsets[i]), _U(offsets[i + 1])
        starts[i + 1] = add_words(chosen, column, data, begin, end, False, out, starts[i], name, end_of_name)


@kernel
def read_dates(offsets: Any, data: Any, parts: Any) -> None:
    """`moment` of each text data[offsets[i]:offsets[i+1]], a column for each of its results."""
    for i in range(offsets.size - 1):
        weekday, month, hour, days, read = moment(data, _U(offsets[i]), _U(offsets[i + 1]))
        parts[0, i], parts[1, i], parts[2, i], parts[3, i], parts[4, i] = weekday, month, hour, days, read
