"""The rows of JSON lines, in compiled code: what they are is said in `formats/jsonl.py`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    EXTRA,
    FULL,
    HARD,
    LINE,
    ROW,
    SPOT,
    Buffers,
    add,
    close_row,
    known_value,
    record,
)
from lowregret.stream.column_rows import (
    BAD_DATE,
    ESCAPED,
    MISSING,
    NO_LABEL,
    NO_LAG,
    NO_TIME,
    NO_WEIGHT,
    NUMBER,
    PLAIN,
    TOO_LARGE,
    ColumnRows,
)
from lowregret.stream.columns import (
    CATEGORICAL,
    DATE,
    DROPPED,
    FEATURE,
    LAG,
    OTHER,
    TARGET,
    WEIGHT,
    hash_byte,
    hash_end,
    hash_more,
    is_same,
)
from lowregret.stream.cross import NO_ROOM, append_products, begin_group, begin_row, has_room
from lowregret.stream.json_faults import (
    FAULTS,
    MORE,
    NO_COLON,
    NO_COMMA,
    NO_NAME,
    NO_OBJECT,
    NO_TEXT,
    NO_VALUE,
    TOO_DEEP,
    TOO_LONG,
)
from lowregret.stream.json_name import (
    DEEPEST,
    LONGEST_NAME,
    NAME,
    OBJECT,
    append_number,
    append_point,
    append_text,
    begin_level,
    level,
    plain_number,
)
from lowregret.stream.json_plain import spelt_in, text_at, texts_in
from lowregret.stream.json_text import blank, character, is_number, is_positive, literal, text_end
from lowregret.stream.lags import begin_lag
from lowregret.stream.names import DATES
from lowregret.stream.number import READ, number

_LAST_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:[^":]*$')
_REST_OF_TEXT, _NO_TEXT = re.compile(rb'(?:[^"\\]|\\.)*'), re.compile(rb"[^,\]}\s]*")
_U = np.uint64
_ZERO, _ONE, _EIGHT = _U(0), _U(1), _U(8)
_FEED, _QUOTE, _COLON, _COMMA, _MINUS = (np.uint8(ord(c)) for c in '\n":,-')
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = (np.uint8(ord(c)) for c in "{}[]")
_EQUALS = _U(ord("="))

SEVERAL = -5  # it became cursor[EXTRA] entries


class JsonRows(ColumnRows):
    """How to read rows of JSON objects; `columns` are those that are more than features."""

    weighted: bool  # rows must have a weight

    @property
    def faults(self) -> dict[int, str]:  # type: ignore[override]
        return FAULTS | self.date_faults

    def entries(self, size: int) -> int:
        """An element of an array takes two bytes, and so does a word."""
        return self.most(size)

    def fault(self, status: int, before: bytes) -> str:
        name = _LAST_NAME.search(before) if status == TOO_LARGE else None
        return (f"{name[1].decode(errors='replace')!r}: " if name else "") + self.faults[status]

    def offending(self, status: int, before: bytes, rest: bytes) -> bytes:
        lacking = not before  # the whole line lacks something
        if lacking or (status < BAD_DATE and status not in (TOO_LARGE, NO_LABEL, NO_WEIGHT, NO_LAG, NO_TIME)):
            return rest
        value = (_REST_OF_TEXT if before.endswith(b'"') else _NO_TEXT).match(rest)
        return value[0] if value else rest

    def class_in(self, line: str) -> str:
        """The text in the target column of a line."""
        target = int(np.flatnonzero(self.columns.kinds == TARGET)[0])
        name = self.names[self.ends[target] : self.ends[target + 1]].tobytes().decode(errors="surrogateescape")
        return text_at(line, name)

    def texts(self, lines: Sequence[str]) -> dict[str, list[str]]:
        return {name: texts for name, texts in texts_in(lines).items() if self.kind(name) == FEATURE}

    def spelt(self, lines: Sequence[str]) -> dict[str, str]:
        found = ((name, what, self.kind(name)) for name, what in spelt_in(lines).items())
        return {name: DATES if kind == DATE else what for name, what, kind in found if kind in (FEATURE, DATE)}

    def kind(self, name: str) -> int:
        """The role of a column: FEATURE unless it is known."""
        return next((kind for known, kind in self.kinds if known == name), FEATURE)

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The columns that are more than features, and what they are for."""
        return [(self.column_name(column), kind) for column, kind in enumerate(self.columns.kinds.tolist())]

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        """Read lines from cursor[AT] to `end`; stops at the first fault."""
        while out.cursor[AT] < end:
            k = blank(text, _U(out.cursor[AT]))
            if text[k] != _FEED:
                if not has_room(self.columns.crossing, out, self.most(end - out.cursor[AT])):
                    return FULL
                status = self.row(text, k, out)
                if status != DONE:
                    return status
                k = _U(out.cursor[SPOT])
            out.cursor[AT] = k + _ONE
            out.cursor[LINE] += 1
        return DONE

    def most(self, size: Any) -> int:
        """`entries`, compiled."""
        return (size // 2 + 1) * self.columns.ngrams

    def row(self, text: Any, k: Any, out: Buffers) -> int:
        """Read the object that begins at k, and close its row; cursor[SPOT] is the line feed, or the fault."""
        out.cursor[SPOT] = k
        if text[k] != _OPEN_OBJECT:
            return NO_OBJECT
        begin_row(out)
        row = out.cursor[ROW]
        out.labels[row], out.weights[row] = math.nan, -1.0 if self.weighted else 1.0
        if self.columns.lagged:
            begin_lag(out)
        entry, status = self.members(text, k + _ONE, out)
        if status == DONE and self.columns.lagged:
            after = out.cursor[SPOT]
            status = self.settle_lag(out)
            out.cursor[SPOT] = after if status == DONE else out.cursor[AT]
        if status != DONE:
            return status
        if out.weights[row] < 0.0:
            out.cursor[SPOT] = out.cursor[AT]
            return NO_WEIGHT
        entry = append_products(self.columns.crossing, out, entry, self.columns.mask())
        if entry == NO_ROOM:
            return FULL
        close_row(out, out.labels[row], out.weights[row], entry)
        return DONE

    def members(self, text: Any, k: Any, out: Buffers) -> tuple[Any, int]:
        """Take in all values of the object opened before k, and the end of its line; returns the end of the row's
        entries, and DONE or why not.
        """
        entry, depth, first = out.cursor[ENTRY], _ONE, True
        begin_level(out, depth, _ZERO, OBJECT)
        while depth > _ZERO:
            k = blank(text, k)
            if text[k] == (_CLOSE_OBJECT if level(out, depth)[1] == OBJECT else _CLOSE_ARRAY):
                first, depth, k = False, depth - _ONE, k + _ONE
                continue
            out.cursor[SPOT] = k
            if not first:
                if text[k] != _COMMA:
                    return entry, NO_COMMA
                k = blank(text, k + _ONE)
            k, size, name, name_end, status = self.name(text, k, depth, out)
            if status != DONE:
                return entry, status
            first = text[k] == _OPEN_OBJECT or text[k] == _OPEN_ARRAY
            if first:
                if depth == DEEPEST:
                    return entry, TOO_DEEP
                depth += _ONE
                begin_level(out, depth, append_point(out, size), OBJECT if text[k] == _OPEN_OBJECT else 0)
                k += _ONE
                continue
            status = self.value(text, k, size, entry, out)
            if status > DONE:
                return entry, status
            if status == SEVERAL:
                entry += out.cursor[EXTRA]
            elif status != DONE:
                if name_end > _ZERO:
                    note(out, entry, name, name_end, text, k, status)
                entry += 1
            k = _U(out.cursor[SPOT])
        k = blank(text, k)
        out.cursor[SPOT] = k
        return entry, DONE if text[k] == _FEED else MORE

    def name(self, text: Any, k: Any, depth: Any, out: Buffers) -> tuple[Any, Any, Any, Any, int]:
        """Take in the name at k of a value, or count it if it is in an array: where the value is, the size of its whole
        name, where the name begins and ends in the text if it is to be noted (else 0), and DONE or why not.
        """
        out.cursor[SPOT] = k
        size, index = level(out, depth)
        if size > LONGEST_NAME:
            return k, size, _ZERO, _ZERO, TOO_LONG
        if index != OBJECT:
            begin_level(out, depth, size, index + 1)
            size = append_number(out, size, _U(index))
            return k, size, _ZERO, _ZERO, TOO_LONG if size > LONGEST_NAME else DONE
        if text[k] != _QUOTE:
            return k, size, _ZERO, _ZERO, NO_NAME
        begin = k + _ONE
        end, plain = text_end(text, begin)
        if end == _ZERO:
            return k, size, _ZERO, _ZERO, NO_TEXT
        size = append_text(out, size, text, begin, end)
        k = blank(text, end + _ONE)
        out.cursor[SPOT] = k
        if text[k] != _COLON:
            return k, size, _ZERO, _ZERO, NO_COLON
        k = blank(text, k + _ONE)
        out.cursor[SPOT] = k
        noted = plain and depth == _ONE and out.names.size > 0
        return k, size, begin, end if noted else _ZERO, TOO_LONG if size > LONGEST_NAME else DONE

    def value(self, text: Any, k: Any, size: Any, entry: Any, out: Buffers) -> int:
        """Take in the value at k; cursor[SPOT] becomes its end. Returns why not, or as `take_value`."""
        value, begin, end, what = 0.0, k, k, MISSING
        if text[k] == _QUOTE:
            begin = k + _ONE
            end, plain = text_end(text, begin)
            if end == _ZERO:
                return NO_TEXT
            out.cursor[SPOT] = end + _ONE
            if end > begin:
                what = PLAIN if plain else ESCAPED
        elif is_number(text, k):
            value, end, status = number(text, k)
            if status != READ:
                value, found = known_value(out, k)
                if not found:
                    return HARD
            what = NUMBER
            out.cursor[SPOT] = end
        else:
            value, end = literal(text, k)
            if end == k:
                return NO_VALUE
            if value == value:
                what = NUMBER
            out.cursor[SPOT] = end
        if what == NUMBER and value - value != 0.0:
            what = TOO_LARGE
        return self.take_value(text, begin, end, what, value, size, entry, out)

    def take_value(
        self, text: Any, begin: Any, end: Any, what: int, value: float, size: Any, entry: Any, out: Buffers
    ) -> int:
        """Make of a value what its column is for.

        Returns NUMBER or PLAIN for an entry, SEVERAL for any number, DONE for none, or why not.
        """
        column = self.find(out, size)
        kind = FEATURE if column < 0 else self.columns.kinds[_U(column)]
        if kind in (TARGET, WEIGHT) or kind >= LAG:
            status = self.take_role(kind, text, begin, end, what, value, out)
        elif what == TOO_LARGE:
            status = TOO_LARGE
        elif kind == DROPPED or what == MISSING or (what == NUMBER and value == 0.0 and kind == FEATURE):
            return DONE
        else:
            if self.columns.crossing.keys.size > 0:
                begin_group(out, OTHER if column < 0 else self.columns.keys[column], entry)
            if kind in (FEATURE, CATEGORICAL):
                return self.feature(kind, text, begin, end, what, value, size, entry, out)
            status = self.several(column, kind, text, begin, end, what == ESCAPED, entry, out)
        if status > DONE:
            out.cursor[SPOT] = begin
        return status

    def several(
        self, column: Any, kind: Any, text: Any, begin: Any, end: Any, escaped: bool, entry: Any, out: Buffers
    ) -> int:
        """Add the features of a text or a date from this entry on; returns SEVERAL, or why not."""
        last, status = self.add_parts(column, kind, text, begin, end, escaped, entry, out)
        if status != DONE:
            return status
        out.cursor[EXTRA] = last - entry
        return SEVERAL

    def feature(
        self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, size: Any, entry: Any, out: Buffers
    ) -> int:
        """Add a feature as this entry; returns NUMBER or PLAIN."""
        name = _U(NAME)
        h, pending, length = hash_more(_ZERO, _ZERO, _ZERO, out.scratch, name, name + size)
        if what == NUMBER and kind != CATEGORICAL:
            add(out, entry, plain_number(out, size, hash_end(h, pending, length)) & self.columns.mask(), value)
            return NUMBER
        h, pending, length = hash_byte(h, pending, length, _EQUALS)
        if what != ESCAPED:
            h, pending, length = hash_more(h, pending, length, text, begin, end)
        else:
            k = begin
            while k < end:
                packed, count, k = character(text, k)
                for _ in range(count):
                    h, pending, length = hash_byte(h, pending, length, packed & _U(255))
                    packed >>= _EIGHT
        add(out, entry, hash_end(h, pending, length) & self.columns.mask(), 1.0)
        return PLAIN

    def find(self, out: Buffers, size: Any) -> int:
        """The number of the column with the current name among those that are more than features, or −1."""
        for column in range(self.columns.kinds.size):
            begin, end = _U(self.ends[column]), _U(self.ends[column + 1])
            if is_same(self.names, begin, end, out.scratch, _U(NAME), _U(NAME) + size):
                return column
        return -1

    def is_positive(self, text: Any, begin: Any, end: Any, escaped: bool) -> bool:
        return is_positive(self.columns.positive, text, begin, end, escaped)


def note(out: Buffers, entry: Any, name: Any, name_end: Any, text: Any, k: Any, what: int) -> None:
    """Note the name of an entry, of the value from k to cursor[SPOT] in the column text[name:name_end]."""
    if what == NUMBER:
        record(out, out.columns[entry], name, name_end, -1, -1)
    else:
        quotes = _ONE if text[k] == _QUOTE else _ZERO
        record(out, out.columns[entry], name, name_end, k + quotes, _U(out.cursor[SPOT]) - quotes)
