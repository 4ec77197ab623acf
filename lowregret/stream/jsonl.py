"""JSON lines: one object a line, whose names are columns; what their values mean is said in `columns.py`.

`{"a": {"b": 1, "c": [2, 3]}}` has the columns a.b, a.c.0 and a.c.1. Text is a category even if it looks like a number;
true and false are the numbers 1 and 0; null, NaN and empty text are absent. A name that occurs twice counts twice (of
two labels, the latter counts). Whatever is no JSON object is a fault.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    FIRST_FAULT,
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
from lowregret.stream.columns import (
    BITS,
    CATEGORICAL,
    DROPPED,
    FEATURE,
    OTHER,
    TARGET,
    WEIGHT,
    Columns,
    check_bits,
    check_interactions,
    columns,
    hash_byte,
    hash_end,
    hash_more,
    is_same,
    joined,
    roles,
)
from lowregret.stream.cross import NO_ROOM, begin_group, begin_row, crossed, has_room
from lowregret.stream.json_text import blank, character, is_number, is_positive, literal, text_end
from lowregret.stream.number import READ, number
from lowregret.stream.text import TextFormat

_U = np.uint64
_ZERO, _ONE, _EIGHT, _TEN = _U(0), _U(1), _U(8), _U(10)
_FEED, _QUOTE, _COLON, _COMMA, _MINUS = (np.uint8(ord(c)) for c in '\n":,-')
_OPEN_OBJECT, _CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY = (np.uint8(ord(c)) for c in "{}[]")
_POINT, _EQUALS, _NOUGHT = (_U(ord(c)) for c in ".=0")
_BOM = b"\xef\xbb\xbf"

DEEPEST = 64  # objects and arrays within each other
_NAME = 2 * DEEPEST + 2  # where the name of the current value begins in Buffers.scratch; before it: two numbers a level
LONGEST = 16_000  # bytes of a name, those of the objects around included
_OBJECT = -1  # in place of the number of an array's next element

NUMBER, TEXT, ESCAPED, MISSING = -1, -2, -3, -4  # what a value is; ESCAPED: a text with escapes
NO_OBJECT, NO_NAME, NO_COLON, NO_VALUE, NO_COMMA, NO_TEXT, MORE = range(FIRST_FAULT, FIRST_FAULT + 7)
TOO_LARGE, TOO_DEEP, TOO_LONG, NO_LABEL, NO_WEIGHT = range(FIRST_FAULT + 7, FIRST_FAULT + 12)


class JsonLines(TextFormat):
    """How to read JSON lines. `interactions` are pairs or triples of columns whose features are multiplied."""

    target: str = ""  # the column with the label; none: rows have no label
    weight: str = ""
    positive: str = ""  # the class that counts as +1; none: labels are numbers
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    interactions: tuple[tuple[str, ...], ...] = ()
    bits: int = BITS

    def check(self) -> None:
        check_bits(self, self.bits)
        check_interactions(self, self.interactions)
        roles(self.target, self.weight, self.drop, self.categorical)

    def opened(self, head: bytes, name: str) -> tuple[TextFormat, int]:
        known = [column for column, _ in roles(self.target, self.weight, self.drop, self.categorical)]
        known = list(dict.fromkeys([*known, *(column for group in self.interactions for column in group)]))
        chosen = columns(
            known,
            name,
            self.target,
            self.weight,
            self.drop,
            self.categorical,
            self.positive,
            self.bits,
            self.interactions,
        )
        return JsonRows(chosen, *joined(known), bool(self.weight)), len(_BOM) if head.startswith(_BOM) else 0

    def entries(self, size: int) -> int:
        return size // 2 + 1

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        raise NotImplementedError("what `opened` returns is what parses")


class JsonRows(TextFormat):
    """How to read rows: the columns that are more than features, the i-th named names[ends[i]:ends[i+1]]."""

    faults: ClassVar[dict[int, str]] = {
        NO_OBJECT: "expected a JSON object, {…}",
        NO_NAME: "expected a name in double quotes",
        NO_COLON: "expected a colon after the name",
        NO_VALUE: "expected a value (a number, text in double quotes, true, false, null, {…} or […]) as JSON has it",
        NO_COMMA: "expected a comma or the end of the object or array",
        NO_TEXT: "expected text in double quotes, in UTF-8 and with control characters and backslashes escaped",
        MORE: "expected the end of the line after the object",
        TOO_LARGE: "expected a number below 1.8e308",
        TOO_DEEP: f"expected at most {DEEPEST} objects and arrays within each other",
        TOO_LONG: f"expected a name of at most {LONGEST} bytes, those of the objects around it included",
        NO_LABEL: "expected a number in the target column (if it has classes, say with --positive which counts as +1)",
        NO_WEIGHT: "expected a number, 0 or more, in the weight column",
    }
    columns: Columns
    names: NDArray[np.uint8]
    ends: NDArray[np.int64]
    weighted: bool  # rows must have a weight

    def entries(self, size: int) -> int:
        """An element of an array takes two bytes."""
        return size // 2 + 1

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
        return size // 2 + 1

    def row(self, text: Any, k: Any, out: Buffers) -> int:
        """Read the object that begins at k, and close its row; cursor[SPOT] is the line feed, or the fault."""
        out.cursor[SPOT] = k
        if text[k] != _OPEN_OBJECT:
            return NO_OBJECT
        begin_row(out)
        first, entry, row = True, out.cursor[ENTRY], out.cursor[ROW]
        name, name_end, noted = k, k, False
        out.labels[row], out.weights[row] = math.nan, -1.0 if self.weighted else 1.0
        depth = _ONE
        out.scratch[2], out.scratch[3] = 0, _OBJECT
        k += _ONE
        while depth > _ZERO:
            k = blank(text, k)
            size, index = _U(out.scratch[_U(2) * depth]), out.scratch[_U(2) * depth + _ONE]
            if text[k] == (_CLOSE_OBJECT if index == _OBJECT else _CLOSE_ARRAY):
                first = False
                depth -= _ONE
                k += _ONE
                continue
            out.cursor[SPOT] = k
            if not first:
                if text[k] != _COMMA:
                    return NO_COMMA
                k = blank(text, k + _ONE)
                out.cursor[SPOT] = k
            if size > LONGEST:
                return TOO_LONG
            if index == _OBJECT:
                if text[k] != _QUOTE:
                    return NO_NAME
                end, plain = text_end(text, k + _ONE)
                if end == _ZERO:
                    return NO_TEXT
                name, name_end, noted = k + _ONE, end, plain and depth == _ONE and out.names.size > 0
                size = append_text(out, size, text, name, end)
                k = blank(text, end + _ONE)
                out.cursor[SPOT] = k
                if text[k] != _COLON:
                    return NO_COLON
                k = blank(text, k + _ONE)
                out.cursor[SPOT] = k
            else:
                size = append_number(out, size, _U(index))
                out.scratch[_U(2) * depth + _ONE] = index + 1
            if size > LONGEST:
                return TOO_LONG
            first = text[k] == _OPEN_OBJECT or text[k] == _OPEN_ARRAY
            if first:
                if depth == DEEPEST:
                    return TOO_DEEP
                depth += _ONE
                out.scratch[_U(_NAME) + size] = _POINT
                out.scratch[_U(2) * depth] = size + _ONE
                out.scratch[_U(2) * depth + _ONE] = _OBJECT if text[k] == _OPEN_OBJECT else 0
                k += _ONE
            else:
                status = self.value(text, k, size, entry, out)
                if status > DONE:
                    return status
                end = _U(out.cursor[SPOT])
                if status == NUMBER and noted:
                    record(out, out.columns[entry], name, name_end, -1, -1)
                elif status == TEXT and noted:
                    quotes = _ONE if text[k] == _QUOTE else _ZERO
                    record(out, out.columns[entry], name, name_end, k + quotes, end - quotes)
                entry += status != DONE
                k = end
        k = blank(text, k)
        out.cursor[SPOT] = k
        if text[k] != _FEED:
            return MORE
        if out.weights[row] < 0.0:
            out.cursor[SPOT] = out.cursor[AT]
            return NO_WEIGHT
        entry = crossed(self.columns.crossing, out, entry, self.columns.mask())
        if entry == NO_ROOM:
            return FULL
        close_row(out, out.labels[row], out.weights[row], entry)
        return DONE

    def value(self, text: Any, k: Any, size: Any, entry: Any, out: Buffers) -> int:
        """Take in the value at k; cursor[SPOT] becomes its end. Returns why not, or as `taken`."""
        value, begin, end, what = 0.0, k, k, MISSING
        if text[k] == _QUOTE:
            begin = k + _ONE
            end, plain = text_end(text, begin)
            if end == _ZERO:
                return NO_TEXT
            out.cursor[SPOT] = end + _ONE
            if end > begin:
                what = TEXT if plain else ESCAPED
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
            out.cursor[SPOT] = k
            return TOO_LARGE
        return self.taken(text, begin, end, what, value, size, entry, out)

    def taken(
        self, text: Any, begin: Any, end: Any, what: int, value: float, size: Any, entry: Any, out: Buffers
    ) -> int:
        """Make of a value what its column is for; returns NUMBER or TEXT for an entry, DONE for none, or why not."""
        column = self.find(out, size)
        kind = FEATURE if column < 0 else self.columns.kinds[_U(column)]
        if kind == TARGET:
            label = self.label(text, begin, end, what, value)
            out.labels[out.cursor[ROW]] = label
            if label == math.inf:
                out.cursor[SPOT] = begin
                return NO_LABEL
            return DONE
        if kind == WEIGHT:
            out.weights[out.cursor[ROW]] = value
            if what != NUMBER or value < 0.0:
                out.cursor[SPOT] = begin
                return NO_WEIGHT
            return DONE
        if kind == DROPPED or what == MISSING:
            return DONE
        if self.columns.crossing.keys.size > 0:
            begin_group(out, OTHER if column < 0 else self.columns.keys[column], entry)
        name = _U(_NAME)
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
        return TEXT

    def find(self, out: Buffers, size: Any) -> int:
        """The number of the column with the current name among those that are more than features, or −1."""
        for column in range(self.ends.size - 1):
            begin, end = _U(self.ends[column]), _U(self.ends[column + 1])
            if is_same(self.names, begin, end, out.scratch, _U(_NAME), _U(_NAME) + size):
                return column
        return -1

    def label(self, text: Any, begin: Any, end: Any, what: int, value: float) -> float:
        """The label of a row; infinite if the target should be a number and is none."""
        if self.columns.has_classes() and is_positive(self.columns.positive, text, begin, end, what == ESCAPED):
            return 1.0
        if what == NUMBER:
            return self.columns.label(value)
        if what == MISSING:
            return math.nan
        return -1.0 if self.columns.has_classes() else math.inf


def append_text(out: Buffers, size: Any, text: Any, begin: Any, end: Any) -> Any:
    """Append text[begin:end], unescaped, to the name of this size; returns its new size, LONGEST + 1 if too long."""
    k, at = begin, _U(_NAME) + size
    while k < end:
        packed, count, k = character(text, k)
        for _ in range(count):
            if at > _NAME + LONGEST:
                return _U(LONGEST + 1)
            out.scratch[at] = packed & _U(255)
            packed >>= _EIGHT
            at += _ONE
    return at - _U(_NAME)


def append_number(out: Buffers, size: Any, index: Any) -> Any:
    """Append a number in decimal digits; returns the new size."""
    digits, rest = _ONE, index
    while rest >= _TEN:
        rest //= _TEN
        digits += _ONE
    at = _U(_NAME) + size + digits
    for _ in range(digits):
        at -= _ONE
        out.scratch[at] = _NOUGHT + index % _TEN
        index //= _TEN
    return size + digits


def plain_number(out: Buffers, size: Any, otherwise: Any) -> Any:
    """What the current name is if it is all digits, as `name_hash` has it."""
    value = _ZERO
    for k in range(size):
        digit = _U(out.scratch[_U(_NAME) + _U(k)]) - _NOUGHT
        if digit >= _TEN:
            return otherwise
        value = value * _TEN + digit
    return value
