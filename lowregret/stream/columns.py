"""The meaning of a table's columns, for every format that has columns.

Each field is judged by itself, so nothing depends on how rows are split into files: a number is a feature named after
its column, any other text a category, the feature `column=value` with the value 1. In columns of text each word is a
category (`tokens.py`), in columns of dates each part (`dates.py`). A feature whose value is 0 is left out: it changes
nothing that is learnt, and many tables consist mostly of such. A feature's slot is the hash of its name modulo 2^bits,
which is the same in every format.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.stream.cross import Crossing
from lowregret.stream.hashing import finish, mix_word, name_hash
from lowregret.stream.names import POSITIVE

_U = np.uint64
_ZERO, _ONE, _THREE, _FOUR = _U(0), _U(1), _U(3), _U(4)
_LOW = _U(0xFFFFFFFF)
_OTHER_SEED, _TWENTY_BITS = _U(0x9E3779B9), _U(0xFFFFF)
_BEYOND, _TEXTS = 2.0**32, 2.0**52  # labels that stand for texts lie below −2^52

FEATURE, CATEGORICAL, TEXT, DATE, TARGET, WEIGHT, DROPPED, LAG, TIME = range(9)  # up to DATE, features
STATE = 3  # numbers that a hash under way consists of

OTHER = -2  # the key of columns that are not multiplied

BITS = 18
HASHED_INTERPRETED = 100  # columns whose names are hashed before a loop for it would be compiled
MOST_WORDS = 5  # of an n-gram

OPTIONS = (  # of `read` that fit every format with columns
    *("target", "weight", "drop", "categorical", "text", "ngrams", "date"),
    *("positive", "interactions", "bits", "classes", "delay_column", "time_column"),
)
MEANING = "a field that is a number is a value, any other text a category"

# The features of a date: where each kind begins among those of its column.
HOURS, WEEKDAYS, MONTHS, DAYS = 0, 24, 31, 43
_DATE_PARTS = (
    *(f"hour={hour}" for hour in range(24)),
    *(f"weekday={day}" for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")),
    *(f"month={month}" for month in range(1, 13)),
    "days",
)

_NUMBER = re.compile(r"[ \t]*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[ \t]*", re.ASCII)


class Columns(Part):
    """The columns of one file as compiled code needs them, in the order of the file."""

    kinds: NDArray[np.uint8]
    slots: NDArray[np.uint64]  # of the column's name
    states: NDArray[np.uint64]  # per column STATE numbers: the hash under way after `name=`
    positive: NDArray[np.uint8]  # the class that counts as +1; empty if labels are numbers
    positive_number: float  # its value; infinite if it is no number
    bits: int
    keys: NDArray[np.int64]  # of each column, for products; the same in every file
    crossing: Crossing
    labelled: bool  # else a field in the target column that is no label is none, and no fault
    classed: bool  # labels are classes: numbers as they are, texts by their hash
    ngrams: int  # the most words of a feature
    date_at: NDArray[np.int64]  # per column: where its features are among those of all dates
    date_slots: NDArray[np.uint64]
    lagged: bool  # rows say how late their labels come
    timed: bool  # in seconds after a time of their own

    @property
    def wide(self) -> bool:
        """Whether a field may be more than a feature, a label or a weight, as texts, dates and lags are."""
        return self.lagged or bool(np.any((self.kinds == TEXT) | (self.kinds == DATE)))

    def mask(self) -> Any:
        """The bits that a slot keeps of a hash."""
        return (_ONE << _U(self.bits)) - _ONE

    def category(self, column: Any, text: Any, begin: Any, end: Any) -> Any:
        """The slot of the feature `column=text[begin:end]`: O(length)."""
        at = _U(column) * _THREE
        h, pending, length = hash_more(
            self.states[at], self.states[at + _ONE], self.states[at + _U(2)], text, _U(begin), _U(end)
        )
        return hash_end(h, pending, length) & self.mask()

    def has_classes(self) -> bool:
        """Whether labels are classes, of which one is positive."""
        return self.positive.size > 0

    def is_positive(self, text: Any, begin: Any, end: Any) -> bool:
        """Whether text[begin:end] is the positive class, letter by letter."""
        return is_same(self.positive, _ZERO, _U(self.positive.size), text, _U(begin), _U(end))

    def label(self, value: float) -> float:
        """The label that a number in the target column stands for (unless `is_positive` holds for its text)."""
        return POSITIVE if self.has_classes() and value == self.positive_number else value

    def text_label(self, text: Any, begin: Any, end: Any) -> float:
        """The number that stands for a class named text[begin:end]: 52 bits of hashes, between −2^53 and −2^52."""
        h, pending, length = hash_more(_ZERO, _ZERO, _ZERO, text, _U(begin), _U(end))
        low = hash_end(h, pending, length)
        h, pending, length = hash_more(_OTHER_SEED, _ZERO, _ZERO, text, _U(begin), _U(end))
        high = hash_end(h, pending, length) & _TWENTY_BITS
        return -_TEXTS - (np.float64(high) * _BEYOND + np.float64(low))

    def other_label(self, text: Any, begin: Any, end: Any) -> float:
        """The label of a text in the target column that is not the positive class: a class, or none."""
        return self.text_label(text, begin, end) if self.classed or self.has_classes() else self.no_label()

    def no_label(self) -> float:
        """The number for a label that cannot be read: infinite for a fault, NaN if that is none."""
        return math.inf if self.labelled else math.nan


class Tabular(Part):
    """The options of formats with named columns. `interactions` are pairs or triples of columns to be multiplied."""

    target: str = ""  # the column with the label; none: rows have no label
    weight: str = ""
    positive: str = ""  # the class that counts as +1; none: labels are numbers
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    interactions: tuple[tuple[str, ...], ...] = ()
    bits: int = BITS
    labelled: bool = True  # else the columns with the label and the weight may be lacking: rows to be scored
    classes: bool = False  # the target is a class, a number or a text
    text: tuple[str, ...] = ()  # columns whose words are features
    ngrams: int = 1  # up to this many words in a row are one feature
    date: tuple[str, ...] = ()  # columns of dates, whose parts are features
    whole: bool = True  # else columns may be lacking, but for those that `labelled` speaks of: a model knows them
    delay_column: str = ""  # the column that says how late labels come, in rows or, if rows have a time, in seconds
    time_column: str = ""

    def check(self) -> None:
        check_bits(self, self.bits)
        check_interactions(self, self.interactions)
        few = isinstance(self.ngrams, (int, np.integer)) and 1 <= self.ngrams <= MOST_WORDS
        self.require(few, f"ngrams must be from 1 to {MOST_WORDS}, got {self.ngrams!r}")
        self.require(self.ngrams == 1 or bool(self.text), "ngrams are of words: name a column of text")
        self.roles()
        self.require(
            bool(self.delay_column or not self.time_column),
            "a time column (--time-column) says since when labels are late: name the delay's too (--delay-column)",
        )
        self.require(not (self.classes and self.positive), "a positive label makes two classes of many: leave it out")

    def roles(self) -> list[tuple[str, int]]:
        """(column, kind) of all columns that are more than features."""
        lateness = self.delay_column, self.time_column
        return roles(self.target, self.weight, self.drop, self.categorical, self.text, self.date, lateness)

    def columns(self, names: Sequence[str], file: str) -> Columns:
        """The columns of a file with these names, and what each is for."""
        known = names, file, self.target, self.weight, self.drop, self.categorical, self.positive, self.bits
        features, lateness = (self.text, self.ngrams, self.date), (self.delay_column, self.time_column)
        return columns(*known, self.interactions, self.labelled, self.classes, *features, self.whole, lateness)


def has_lags(form: Part) -> bool:
    """Whether the rows of a format say how late their labels come."""
    return bool(form.parameters.get("delay_column"))


def columns(
    names: Sequence[str],
    file: str,
    target: str = "",
    weight: str = "",
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    positive: str = "",
    bits: int = BITS,
    interactions: Sequence[Sequence[str]] = (),
    labelled: bool = True,
    classed: bool = False,
    text: Sequence[str] = (),
    ngrams: int = 1,
    date: Sequence[str] = (),
    whole: bool = True,
    lateness: tuple[str, str] = ("", ""),
) -> Columns:
    """The columns of a file with this header; refuses one that lacks a column asked for, or has two of a name.

    Unless `labelled`, it may lack the target and the weight, and those of `lateness`, which are left out then; unless
    `whole`, all others.
    """
    first: dict[str, int] = {}
    for column, name in enumerate(names):
        if first.setdefault(name, column) != column:
            raise DataError(f"{file} has two columns {name!r}, {first[name] + 1} and {column + 1}: rename one")
    kinds = np.full(len(names), FEATURE, np.uint8)
    for name, kind in roles(target, weight, drop, categorical, text, date, lateness):
        if name in first or (labelled if kind in _JUDGED else whole):
            kinds[column_number(name, first, file)] = DROPPED if kind >= LAG and not labelled else kind
    slots, states = _hash(names, bits)
    date_at = np.cumsum(kinds == DATE) * len(_DATE_PARTS) - len(_DATE_PARTS)
    keys, crossing = _products(interactions, kinds, first, file, whole)
    value = np.frombuffer(encode(positive), np.uint8)
    labels = value, number_of(positive)
    dates = date_at, _hash(_date_names(names, kinds), bits)[0]
    late = labelled and bool(lateness[0]), labelled and bool(lateness[1])
    return Columns(kinds, slots, states, *labels, bits, keys, crossing, labelled, classed, ngrams, *dates, *late)


def header(names: Sequence[str], chosen: Columns) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All names that entries may be recorded under: of the columns, then of the features of their dates."""
    return join_names([*names, *_date_names(names, chosen.kinds)])


def _date_names(names: Sequence[str], kinds: NDArray[np.uint8]) -> list[str]:
    return [f"{name}.{part}" for name, kind in zip(names, kinds, strict=True) if kind == DATE for part in _DATE_PARTS]


def _hash(names: Sequence[str], bits: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The slots of names, and the hashes under way after `name=`."""
    slots, states = np.empty(len(names), np.uint64), np.empty(STATE * len(names), np.uint64)
    text, ends = join_names([f"{name}=" for name in names])
    hashing = hash_names if len(names) > HASHED_INTERPRETED else hash_names.py_func  # type: ignore[attr-defined]
    with np.errstate(over="ignore"):
        hashing(np.append(text, np.zeros(8, np.uint8)), ends, slots, states)
    return slots & _U((1 << bits) - 1), states


def _products(
    interactions: Sequence[Sequence[str]], kinds: NDArray[np.uint8], numbers: Mapping[str, int], file: str, whole: bool
) -> tuple[NDArray[np.int64], Crossing]:
    """The keys of columns and what to multiply; refuses columns that are no features."""
    crossed = sorted({name for group in interactions for name in group})  # keys must not depend on the file
    keys = np.full(kinds.size, OTHER, np.int64)
    for key, name in enumerate(crossed):
        if not whole and name not in numbers:
            continue
        column = column_number(name, numbers, file)
        if kinds[column] > DATE:
            raise DataError(
                f"the column {name!r} cannot be both {_ROLES[int(kinds[column])]} and multiplied: choose one"
            )
        keys[column] = key
    return keys, Crossing.of([crossed.index(name) for name in group] for group in interactions)


def roles(
    target: str,
    weight: str,
    drop: Sequence[str] = (),
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    date: Sequence[str] = (),
    lateness: tuple[str, str] = ("", ""),
) -> list[tuple[str, int]]:
    """(column, kind) of all columns that are more than features; refuses one that has two roles."""
    found = [(target, TARGET)] if target else []
    found += [(weight, WEIGHT)] if weight else []
    found += [(name, kind) for name, kind in zip(lateness, (LAG, TIME), strict=True) if name]
    for kind, named in ((DROPPED, drop), (CATEGORICAL, categorical), (TEXT, text), (DATE, date)):
        found += [(name, kind) for name in dict.fromkeys(named)]
    seen: dict[str, int] = {}
    for name, kind in found:
        if seen.setdefault(name, kind) != kind:
            one, other = _ROLES[seen[name]], _ROLES[kind]
            raise DataError(f"the column {name!r} cannot be both {one} and {other}: choose one")
    return found


_ROLES = {
    TARGET: "the target",
    WEIGHT: "the weight",
    DROPPED: "dropped",
    CATEGORICAL: "categorical",
    TEXT: "text",
    DATE: "a date",
    LAG: "the delay",
    TIME: "the time",
}
_JUDGED = (TARGET, WEIGHT, LAG, TIME)  # columns that rows to be scored may lack


def column_number(name: str, numbers: Mapping[str, int], file: str) -> int:
    """Where a column is, given where all are; an error names those that look like it."""
    if name in numbers:
        return numbers[name]
    close = difflib.get_close_matches(name, numbers, 3) or list(numbers)[:8]
    more = "" if len(close) == len(numbers) else ", …"
    raise DataError(f"{file} has no column {name!r}; it has {', '.join(map(repr, close))}{more}")


def encode(text: str) -> bytes:
    """UTF-8, or the bytes as they were if they were none."""
    return text.encode(errors="surrogateescape")


def join_names(names: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All names in one text, and where they end: the i-th is text[ends[i]:ends[i + 1]]."""
    texts = [encode(name) for name in names]
    return np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])


def number_of(text: str) -> float:
    """The number that a field with this text would be; infinite if it is none."""
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found else math.inf


def check_bits(part: Part, bits: int) -> None:
    """Refuse a number of slots that makes no sense."""
    part.require(1 <= bits <= 31, f"bits must be from 1 to 31, got {bits}")


def check_interactions(part: Part, interactions: Sequence[Sequence[str]]) -> None:
    """Refuse products of one column, or of more than three."""
    for group in interactions:
        part.require(2 <= len(group) <= 3, f"interactions must name two or three columns each, got {group!r}")


# ---- compiled: hashes under way --------------------------------------------------------------------------------------
# `murmur` of what was fed so far, in three numbers: the hash of whole words, the bytes after them, and how many bytes
# there were in all.


def hash_byte(h: Any, pending: Any, length: Any, byte: Any) -> tuple[Any, Any, Any]:
    """Feed one more byte to a hash under way."""
    pending |= _U(byte) << ((length & _THREE) << _THREE)
    length += _ONE
    if length & _THREE == _ZERO:
        return mix_word(h, pending), _ZERO, length
    return h, pending, length


def hash_more(h: Any, pending: Any, length: Any, text: Any, begin: Any, end: Any) -> tuple[Any, Any, Any]:
    """Feed text[begin:end] to a hash under way, four bytes at a time; looks at no others."""
    shift = (length & _THREE) << _THREE
    k = begin
    while k + _FOUR <= end:
        word = _U(text[k]) | _U(text[k + _ONE]) << _U(8) | _U(text[k + _U(2)]) << _U(16) | _U(text[k + _U(3)]) << _U(24)
        pending |= word << shift
        h = mix_word(h, pending & _LOW)
        pending >>= _U(32)
        k += _FOUR
    length += k - begin
    while k < end:
        h, pending, length = hash_byte(h, pending, length, text[k])
        k += _ONE
    return h, pending, length


def hash_end(h: Any, pending: Any, length: Any) -> Any:
    """The hash of all bytes that were fed."""
    return finish(h, pending, (length & _THREE) << _THREE, length)


@kernel
def hash_names(text: Any, ends: Any, slots: Any, states: Any) -> None:
    """The hash of each name, and the state after `name=`; text[ends[i]:ends[i+1]] is the i-th `name=`."""
    for i in range(slots.size):
        begin, end = _U(ends[i]), _U(ends[i + 1])
        slots[i] = name_hash(text, begin, end - _ONE, _ZERO)
        h, pending, length = hash_more(_ZERO, _ZERO, _ZERO, text, begin, end)
        states[STATE * i], states[STATE * i + 1], states[STATE * i + 2] = h, pending, length


def is_same(one: Any, begin: Any, end: Any, other: Any, first: Any, last: Any) -> bool:
    """Whether one[begin:end] equals other[first:last]."""
    if end - begin != last - first:
        return False
    while begin < end and one[begin] == other[first]:
        begin += _ONE
        first += _ONE
    return begin == end


def stands_for_text(labels: Any) -> Any:
    """A mask of the labels that are hashes of texts (`Columns.text_label`)."""
    return (labels <= -_TEXTS) & (labels > -2 * _TEXTS)
