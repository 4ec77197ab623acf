"""The rows of CSV and TSV, in compiled code.

Fields mean what `columns.py` says. Those that are empty, or NA, NaN, nan, null or None without quotes, are absent.
Numbers may have blanks and quotes around them; a category is taken as it stands; in TSV an unclosed quote is text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    EXTRA,
    FULL,
    HARD,
    LINE,
    NAMED,
    ROW,
    SPOT,
    Buffers,
    close_row,
    known_value,
    record,
)
from lowregret.stream.column_rows import (
    ESCAPED,
    MISSING,
    NUMBER,
    PLAIN,
    TOO_LARGE,
    ColumnRows,
)
from lowregret.stream.columns import (
    CATEGORICAL,
    DATE,
    FEATURE,
    LAG,
    TARGET,
    WEIGHT,
    Columns,
    hash_byte,
    hash_end,
    header,
)
from lowregret.stream.cross import NO_ROOM, begin_row
from lowregret.stream.delimited_faults import AFTER_QUOTE, TOO_FEW, TOO_MANY, UNCLOSED, WHOLE, faults_of_lines
from lowregret.stream.delimited_text import blank, cell_of, ending, fields_of, is_infinite, is_missing, is_same_doubled
from lowregret.stream.lags import begin_lag
from lowregret.stream.names import DATES
from lowregret.stream.notice import categories, rows_of, spell_columns
from lowregret.stream.number import ABSENT, READ, number
from lowregret.stream.word import word

_U = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR, _EIGHT, _TEN = (_U(k) for k in (0, 1, 2, 3, 4, 8, 10))
_RETURN, _FEED, _QUOTE, _NINE, _TAB = (np.uint8(ord(c)) for c in '\r\n"9\t')
_NO_POINT = -1  # no byte: numbers without quotes have no fraction where the delimiter is what would stand before it
_NOUGHT, _FOUR_NOUGHTS, _BETWEEN = _U(ord("0")), _U(0x0030003000300030), _U(0x0100010001000100)  # 0, then 0,0,0,0,


class DelimitedRows(ColumnRows):
    """How to read the rows of one file whose features are numbers and categories; `WideRows` knows more kinds.

    Features are put where sorting will find them in order, or side by side by column if they are to be multiplied:
    feature p belongs to column order[p]. `ESCAPED` fields are those with doubled quotes.
    """

    delimiter: int
    point: int  # what stands before the fraction of a number
    order: NDArray[np.int64]
    places: NDArray[np.uint64]
    wide: bool  # some columns are of text or dates
    skippable: NDArray[np.bool_]  # per column, whether it and the next three have features, and another follows

    @classmethod
    def of(cls, chosen: Columns, names: list[str], delimiter: int, point: int) -> Self:
        features = np.flatnonzero(chosen.kinds <= CATEGORICAL)
        order = features if chosen.crossing.keys.size else features[np.argsort(chosen.slots[features])]
        places = np.zeros(chosen.kinds.size, np.uint64)
        places[order] = np.arange(order.size)
        text, ends = header(names, chosen)
        plain = np.append(chosen.kinds == FEATURE, np.zeros(4, bool))
        skippable = plain[:-4] & plain[1:-3] & plain[2:-2] & plain[3:-1]
        skippable[-4:] = False
        return cls(chosen, text, ends, delimiter, point, order, places, chosen.wide, skippable)

    @property
    def mark(self) -> bytes:
        return bytes([self.point])

    @property
    def faults(self) -> dict[int, str]:  # type: ignore[override]
        return faults_of_lines(self.places.size) | self.date_faults

    def entries(self, size: int) -> int:
        """A field takes a byte, a word with its blank two; a row cut short may have left room for all columns."""
        return self.most(size)

    def most(self, size: Any) -> int:
        """`entries`, compiled."""
        return (size + self.order.size + 1) * ((self.columns.ngrams + 1) // 2)

    @property
    def feature_columns(self) -> tuple[str, ...]:
        return tuple(self.column_name(column) for column in np.flatnonzero(self.columns.kinds <= DATE).tolist())

    def fault(self, status: int, before: bytes) -> str:
        if status != TOO_LARGE:
            return self.faults[status]
        last = len(fields_of(before.decode(errors="replace"), chr(self.delimiter))) - 1
        return f"column {self.column_name(last)!r}: {self.faults[status]}"

    def offending(self, status: int, before: bytes, rest: bytes) -> bytes:
        return rest if status in WHOLE else cell_of(before, rest, chr(self.delimiter))

    def class_in(self, line: str) -> str:
        """The text in the target column of a line."""
        return fields_of(line, chr(self.delimiter))[int(np.flatnonzero(self.columns.kinds == TARGET)[0])]

    def texts(self, lines: Sequence[str]) -> dict[str, list[str]]:
        return {name: categories(fields, chr(self.point)) for name, fields in self.plain(lines).items()}

    def spelt(self, lines: Sequence[str]) -> dict[str, str]:
        dates = (self.column_name(column) for column in np.flatnonzero(self.columns.kinds == DATE).tolist())
        return spell_columns(self.plain(lines), chr(self.point)) | dict.fromkeys(dates, DATES)

    def plain(self, lines: Sequence[str]) -> dict[str, list[str]]:
        """The fields of columns without a role."""
        rows = rows_of(lines, chr(self.delimiter), self.places.size)
        columns = np.flatnonzero(self.columns.kinds == FEATURE).tolist()
        return {self.column_name(column): [fields[column] for fields in rows] for column in columns}

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        """Read lines from cursor[AT] to `end`; stops at the first fault."""
        if out.cursor[NAMED] == 0:
            for column in range(out.scratch.size if out.names.size > 0 else 0):
                out.scratch[column] = 0
        while out.cursor[AT] < end:
            k = _U(out.cursor[AT])
            if text[k] == _RETURN and text[k + _ONE] == _FEED:
                k += _ONE
            if text[k] != _FEED:
                status = self.row(text, k, end, out)
                if status != DONE:
                    return status
                k = _U(out.cursor[SPOT])
            out.cursor[AT] = k + _ONE
            out.cursor[LINE] += 1
        return DONE

    def row(self, text: Any, k: Any, end: Any, out: Buffers) -> int:
        """Read the row that begins at k, and close it; cursor[SPOT] is the line feed, or the fault."""
        if not self.has_room(end - out.cursor[AT], out):
            return FULL
        begin_row(out)
        out.cursor[EXTRA] = 0
        row = out.cursor[ROW]
        out.labels[row], out.weights[row] = math.nan, 1.0
        if self.columns.lagged:
            begin_lag(out)
        status, gaps = self.fields(text, k, out)
        if status == DONE and self.columns.lagged:
            after = out.cursor[SPOT]
            status = self.settle_lag(out)
            out.cursor[SPOT] = after if status == DONE else out.cursor[AT]
        if status != DONE:
            return status
        stop = out.cursor[ENTRY] + self.order.size + out.cursor[EXTRA]
        if gaps or self.columns.crossing.keys.size > 0:
            stop = self.close_gaps(out)
            if stop == NO_ROOM:
                return FULL
        close_row(out, out.labels[row], out.weights[row], stop)
        return DONE

    def has_room(self, size: Any, out: Buffers) -> bool:
        """Whether a row still fits where this many bytes are left: always, as room is made for all fields there are."""
        return True

    def fields(self, text: Any, k: Any, out: Buffers) -> tuple[int, bool]:
        """Take in the fields of the row that begins at k; returns DONE or why not, and whether some are 0 or absent."""
        gaps, column, count, entry = False, _ZERO, _U(self.columns.kinds.size), _U(out.cursor[ENTRY])
        noughts = _FOUR_NOUGHTS | _BETWEEN * _U(self.delimiter)
        while True:
            kind = self.columns.kinds[column]
            digit = _U(text[k]) - _NOUGHT
            if digit < _TEN and text[k + _ONE] == self.delimiter:
                if word(text, k) == noughts and self.skippable[column]:
                    self.skip(column, entry, out)
                    gaps, column, k = True, column + _FOUR, k + _EIGHT
                    continue
                value, begin, end, after, what = float(digit), k, k + _ONE, k + _ONE, NUMBER
            else:
                value, begin, end, after, what = self.field(text, k, kind, out)
            if what > DONE:
                return what, gaps
            if kind <= CATEGORICAL:
                gaps |= self.feature(column, kind, text, begin, end, what, value, entry, out)
            else:
                if kind <= DATE:
                    status = self.several(column, kind, text, begin, end, what, out)
                else:
                    status = self.take_role(kind, text, begin, end, what, value, out)
                if status != DONE:
                    out.cursor[SPOT] = k
                    return status, gaps
            column += _ONE
            if text[after] != self.delimiter or column == count:
                break
            k = after + _ONE
        if column < count:
            out.cursor[SPOT] = out.cursor[AT]
            return TOO_FEW, gaps
        out.cursor[SPOT] = after
        return DONE if text[after] == _FEED else TOO_MANY, gaps

    def skip(self, column: Any, entry: Any, out: Buffers) -> None:
        """Four features from this column on are 0: many tables consist mostly of such."""
        for more in range(4):
            out.values[entry + self.places[column + _U(more)]] = 0.0

    def feature(
        self, column: Any, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, entry: Any, out: Buffers
    ) -> bool:
        """Put a feature into its place; returns whether it is 0, as what is absent is too."""
        at = entry + self.places[column]
        if what == MISSING:
            out.values[at] = 0.0
            return True
        if what == NUMBER and kind != CATEGORICAL:
            out.columns[at], out.values[at] = self.columns.slots[column], value
            if out.names.size > 0 and value != 0.0:
                self.note_number(column, out)
            return value == 0.0
        out.columns[at], out.values[at] = self.category(column, text, begin, end, what), 1.0
        if out.names.size > 0:
            name, name_end = self.name_at(column)
            record(out, out.columns[at], name, name_end, begin, end)
        return False

    def take_lag(self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, out: Buffers) -> int:
        """Take in how late a label comes; here none does, as `WideRows` are for that."""
        return DONE

    def several(self, column: Any, kind: Any, text: Any, begin: Any, end: Any, what: int, out: Buffers) -> int:
        """Put what becomes several features behind the others; returns DONE or why not. Here nothing does."""
        return DONE

    def field(self, text: Any, k: Any, kind: Any, out: Buffers) -> tuple[float, Any, Any, Any, int]:
        """The field at k: its value, where its text begins and ends, where it ends, and what it is or why not."""
        quoted = text[k] == _QUOTE
        begin = k + _ONE if quoted else k
        inner = blank(text, begin, self.delimiter)
        if (kind in (FEATURE, TARGET, WEIGHT) or kind >= LAG) and text[inner] <= _NINE:  # all that numbers begin with
            point = self.point if quoted or self.point != self.delimiter else _NO_POINT
            value, end, status = number(text, inner, point)
            end = blank(text, end, self.delimiter)
            after = ending(text, end + _ONE if quoted else end, self.delimiter)
            if status != ABSENT and after != _ZERO and (not quoted or text[end] == _QUOTE):
                found = status == READ
                if not found:
                    value, found = known_value(out, inner)
                if found and value - value == 0.0:
                    return value, begin, end, after, NUMBER
                if found and kind == TARGET and not self.columns.labelled:
                    return 0.0, begin, end, after, MISSING
                out.cursor[SPOT] = inner
                return 0.0, begin, end, after, TOO_LARGE if found else HARD
        if quoted:
            value, begin, end, after, what = self.quoted_field(text, begin, out)
            if what == PLAIN and kind == FEATURE and is_infinite(text, inner, end):
                what = TOO_LARGE
            if self.delimiter != _TAB or what not in (UNCLOSED, AFTER_QUOTE):
                return value, begin, end, after, what
            begin -= _ONE
        end = begin
        while text[end] != self.delimiter and text[end] != _FEED:
            end += _ONE
        after = end
        if text[end] == _FEED and end > begin and text[end - _ONE] == _RETURN:
            end -= _ONE
        if kind == FEATURE and is_infinite(text, inner, end):
            out.cursor[SPOT] = begin
            return 0.0, begin, end, after, TOO_LARGE
        return 0.0, begin, end, after, MISSING if is_missing(text, inner, end) else PLAIN

    def quoted_field(self, text: Any, begin: Any, out: Buffers) -> tuple[float, Any, Any, Any, int]:
        """The field whose opening quote is before `begin`, as `field` returns it."""
        end, what = begin, PLAIN
        while text[end] != _FEED:
            if text[end] == _QUOTE:
                if text[end + _ONE] != _QUOTE:
                    break
                end += _ONE
                what = ESCAPED
            end += _ONE
        after = ending(text, end + _ONE, self.delimiter)
        out.cursor[SPOT] = begin - _ONE
        if text[end] == _FEED:
            what = UNCLOSED
        elif after == _ZERO:
            what = AFTER_QUOTE
        elif end == begin:
            what = MISSING
        return 0.0, begin, end, after, what

    def category(self, column: Any, text: Any, begin: Any, end: Any, what: int) -> Any:
        """The slot of a category."""
        if what != ESCAPED:
            return self.columns.category(column, text, begin, end)
        at = column * _THREE
        h, pending, length = self.columns.states[at], self.columns.states[at + _ONE], self.columns.states[at + _TWO]
        while begin < end:
            h, pending, length = hash_byte(h, pending, length, text[begin])
            begin += _TWO if text[begin] == _QUOTE else _ONE
        return hash_end(h, pending, length) & self.columns.mask()

    def note_number(self, column: Any, out: Buffers) -> None:
        """Note the name of a column with numbers, once a block if there are not very many."""
        if column < out.scratch.size:
            if 0 < out.scratch[column] <= out.cursor[ROW]:  # noted with a row that was kept
                return
            out.scratch[column] = out.cursor[ROW] + 1
        begin, end = self.name_at(column)
        record(out, self.columns.slots[column], begin, end, -1, -1)

    def is_positive(self, text: Any, begin: Any, end: Any, escaped: bool) -> bool:
        if escaped:
            return is_same_doubled(self.columns.positive, text, begin, end)
        return self.columns.is_positive(text, begin, end)

    def close_gaps(self, out: Buffers) -> int:
        """Close the gaps that features of 0 leave; returns the end of the row."""
        first: int = out.cursor[ENTRY]
        last = first
        for place in range(self.order.size):
            column, value = out.columns[_U(first + place)], out.values[_U(first + place)]
            out.columns[_U(last)], out.values[_U(last)] = column, value
            last += value != 0.0
        return last
