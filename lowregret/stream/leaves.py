"""The plain columns of an Arrow table: structs and lists taken apart, buffers as NumPy arrays. Needs pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError
from lowregret.stream.columns import column_number
from lowregret.stream.unpack import codes, elements, fields_of, is_list, is_text, plain, value_kind

ALL = slice(None)
MOST_ELEMENTS = 1 << 16  # columns that lists become, in all columns together
MOST_LETTERS = 1 << 24  # characters of the names of all columns in structs and lists

_2000 = 10_957  # days from 1970 to 2000
_PER_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}


class Leaf:
    """A column without inner structure. `rows` are those that its elements belong to, in ascending order."""

    def __init__(self, name: str, array: Any, rows: Any = ALL) -> None:
        self.name, self.array, self.rows = name, plain(array), rows

    @cached_property
    def is_number(self) -> bool:
        from pyarrow import types

        kind = self.array.type
        return any(
            test(kind)
            for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_duration)
        )

    def present(self) -> NDArray[np.bool_]:
        """A mask of the elements that are not null, nor NaN, nor empty text."""
        absent = np.isnan(self.numbers()) if self.is_number else self.equals(b"")
        return self.valid() & ~absent

    def valid(self) -> NDArray[np.bool_]:
        """A mask of the elements that are not null."""
        return np.asarray(self.array.is_valid())

    def numbers(self) -> NDArray[np.float64]:
        """The elements as doubles, NaN for null."""
        return self._numbers

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        import pyarrow as pa

        array = self.array
        if pa.types.is_duration(array.type):
            array = array.cast(pa.int64())
        elif pa.types.is_decimal(array.type):
            array = array.cast(pa.string())  # whose digits are read exactly
        return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)

    def seconds(self) -> NDArray[np.float64]:
        """The elements as doubles, those of durations in seconds."""
        from pyarrow import types

        kind = self.array.type
        return self.numbers() / (_PER_DAY[kind.unit] // _PER_DAY["s"]) if types.is_duration(kind) else self.numbers()

    @cached_property
    def is_date(self) -> bool:
        """Whether it is of dates, with a time of day or without."""
        from pyarrow import types

        return bool(types.is_timestamp(self.array.type) or types.is_date(self.array.type))

    def moments(self) -> NDArray[np.float64]:
        """Dates as four rows as `dates.moment` has them: weekday, month, hour, days since 2000; null as any other."""
        import pyarrow as pa

        array, timed = self.array, pa.types.is_timestamp(self.array.type)
        if not timed:
            array = array.cast(pa.date32(), safe=False).cast(pa.timestamp("s"))
        local = pa.compute.local_timestamp(array) if array.type.tz else array
        ticks, utc = (t.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False) for t in (local, array))
        unit = _PER_DAY[array.type.unit]
        day = ticks // unit
        month = day.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64) % 12
        hour = ticks % unit // (unit // 24) if timed else np.full(day.size, -1)
        return np.array([(day - _2000 + 5) % 7, month, hour, (utc // unit - _2000) + (utc % unit) / unit])

    def texts(self) -> tuple[NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64] | None]:
        """Texts as (offsets, bytes), and which of them each element has (None: the i-th has the i-th)."""
        import pyarrow as pa

        if not pa.types.is_dictionary(self.array.type):
            return *_buffers(self.array), None
        if not len(self.array.dictionary):
            return np.zeros(2, np.int64), np.empty(0, np.uint8), np.zeros(len(self.array), np.int64)
        return *_buffers(self.array.dictionary), codes(self.array)

    def equals(self, text: bytes) -> NDArray[np.bool_]:
        """A mask of the elements that have this text."""
        import pyarrow as pa

        coded = pa.types.is_dictionary(self.array.type)
        texts = _as_text(self.array.dictionary if coded else self.array).cast(pa.large_binary())
        same = pa.compute.equal(texts, pa.scalar(text, pa.large_binary()))
        found = same.take(self.array.indices) if coded else same
        return found.fill_null(False).to_numpy(zero_copy_only=False)

    def rows_where(self, holds: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The rows of the elements for which this holds."""
        return np.flatnonzero(holds) if self.rows is ALL else self.rows[holds]

    def text(self, row: int) -> str:
        """The value of this row, which has one, as text."""
        at = row if self.rows is ALL else int(np.searchsorted(self.rows, row))
        return str(_as_text(self.array.slice(at, 1))[0].as_py())

    def shown(self, row: int) -> str:
        """The value of this row as text, cut to a line."""
        from pyarrow import types

        at = row if self.rows is ALL else int(np.searchsorted(self.rows, row))
        inside = at < len(self.array) and (self.rows is ALL or self.rows[at] == row)
        held = self.array.slice(at, 1)
        if not inside or not held[0].is_valid:
            return "nothing"
        if not (self.is_number or is_text(self.array.type)) or types.is_duration(self.array.type):
            held = _as_text(held)  # Python has no dates as late, and no times as fine, as Arrow
        return repr(held[0].as_py())[:60]


def cells(array: Any) -> Any:
    """The elements as NumPy has them: numbers, truth values or texts, and times as texts; None if they are no such."""
    from pyarrow import types

    if not _is_readable(value_kind(array.type)):
        return None
    leaf = Leaf("", array)
    kind = leaf.array.type
    if types.is_duration(kind):
        return leaf.numbers()
    if types.is_dictionary(kind):  # a text that many cells have is one object
        texts = np.array([*cells(leaf.array.dictionary), None], object)
        return texts[np.where(leaf.valid(), codes(leaf.array), -1)]
    found = leaf.array if leaf.is_number or is_text(kind) else _as_text(leaf.array)
    return found.to_numpy(zero_copy_only=False)


def leaves(table: Any, drop: Sequence[str], named: Sequence[str], file: str, whole: bool = True) -> list[Leaf]:
    """All columns of a record batch but those to drop, which must be there if it is to be `whole`.

    Elements that lists do not have here are absent columns.
    """
    import pyarrow as pa

    apart = _TakenApart(frozenset(drop), file)
    found: list[Leaf] = []
    for name, array in zip(table.schema.names, table.columns, strict=True):
        found += apart.leaves(name, array, ALL, name)
    met = apart.met
    lists = tuple(f"{name}." for name in met)
    known = {leaf.name for leaf in found}
    for name in dict.fromkeys(named):
        if name not in known and name.startswith(lists):
            found.append(Leaf(name, pa.nulls(table.num_rows)))
    for name in drop if whole else ():
        if not name.startswith(lists):
            column_number(name, met, file)
    return found


class _TakenApart:
    """Columns that are taken apart, and what they have become so far.

    A list of equal numbers takes a few bytes of a file, however long it is, and a long name is in those of all that its
    column has inside: so both are counted before anything is made of them.
    """

    def __init__(self, drop: frozenset[str], file: str) -> None:
        self.drop, self.file = drop, file
        self.met: dict[str, int] = {}  # the names of all columns, also of those that are not plain, in order
        self.elements = self.letters = 0

    def leaves(self, name: str, array: Any, rows: Any, column: str) -> Iterator[Leaf]:
        """The plain columns within an array of these rows, which is, or is within, this column of the table."""
        import pyarrow as pa

        self.met[name] = len(self.met)
        if name in self.drop:
            return
        array = plain(array)
        kind = array.type
        if pa.types.is_struct(kind):
            inner = [f".{field.name}" for field in kind]
            self._count(column, 0, len(inner) * len(name) + sum(map(len, inner)))
            for suffix, values in zip(inner, fields_of(array), strict=True):
                yield from self.leaves(name + suffix, values, rows, column)
        elif is_list(kind):
            yield from self._elements(name, array, rows, column)
        elif _is_readable(kind):
            yield Leaf(name, array, rows)
        else:
            raise DataError(
                f"{self.file}: columns of type {kind} cannot be read: drop {name!r}, or make it text or a number"
            )

    def _elements(self, name: str, array: Any, rows: Any, column: str) -> Iterator[Leaf]:
        """The plain columns within the lists of an array, element by element."""
        import pyarrow as pa

        values, begins, lengths = elements(array)
        longest = int(lengths.max(initial=0))
        self._count(column, longest * _width(array.type.value_type), longest * len(f"{name}.{longest}"))
        values = plain(values)
        alive = np.flatnonzero(lengths > 0)
        for element in range(longest):
            inner = values.take(pa.array(begins[alive] + element))
            yield from self.leaves(f"{name}.{element}", inner, alive if rows is ALL else rows[alive], column)
            alive = alive[lengths[alive] > element + 1]

    def _count(self, column: str, elements: int, letters: int) -> None:
        """Count what a struct or list is about to become, and refuse too much."""
        self.elements += elements
        self.letters += letters
        shown = f"{self.file}: the column {column[:60]!r}"
        if self.elements > MOST_ELEMENTS:
            raise DataError(
                f"{shown} has lists of {elements:,} elements, each of which is a feature: of all columns together, at "
                f"most {MOST_ELEMENTS:,} can be read; drop it, or write rows as index:value pairs (LIBSVM)"
            )
        if self.letters > MOST_LETTERS:
            raise DataError(
                f"{shown} has too long a name for all that is in it, at most {MOST_LETTERS:,} characters together: "
                "rename or drop it"
            )


def _is_readable(kind: Any) -> bool:
    from pyarrow import types

    number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_duration)
    moment = (types.is_timestamp, types.is_date, types.is_time, types.is_null, types.is_dictionary)
    return is_text(kind) or any(test(kind) for test in (*number, *moment))


def _as_text(array: Any) -> Any:
    """An array as texts, as Arrow writes it to CSV; text and bytes as they are."""
    import pyarrow as pa

    kind = array.type
    if pa.types.is_dictionary(kind):
        return _as_text(array.dictionary_decode())
    if pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    plain = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return array if any(test(kind) for test in plain) else array.cast(pa.large_string())


def _buffers(array: Any) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets and bytes of texts."""
    import pyarrow as pa

    text = _as_text(array)
    wide = pa.types.is_large_string(text.type) or pa.types.is_large_binary(text.type)
    _, offsets, data = text.buffers()
    if offsets is None or not len(text):
        return np.zeros(len(text) + 1, np.int64), np.empty(0, np.uint8)
    end = text.offset + len(text) + 1  # behind it there may be anything, and part of a number
    numbers = np.frombuffer(offsets, np.int64 if wide else np.int32, end)[text.offset :]
    return numbers.astype(np.int64), np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _width(kind: Any) -> int:
    """How many columns values of this type become, a list counted as one: its own elements are counted later."""
    import pyarrow as pa

    kind = value_kind(kind)
    return max(1, sum(_width(field.type) for field in kind)) if pa.types.is_struct(kind) else 1
