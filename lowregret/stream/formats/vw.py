"""Vowpal Wabbit's text: `label importance 'tag |namespace:scale feature:value feature |namespace …`, one row a line.

Slots, values and labels are those that Vowpal Wabbit 9.11 reads, in its oddities too (a word that touches the bar is a
tag; before the bar, all up to the first tab is left out), with these exceptions: what it would mend with a warning is a
fault here, as are hexadecimal and infinite numbers; numbers keep double precision; and there is no constant feature.
A row without a label is scored and not learnt. Blank lines are no rows.
"""

from __future__ import annotations

import math
import re
from typing import Any, ClassVar, Self

import numpy as np

from lowregret.errors import DataError
from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    FIRST_FAULT,
    FULL,
    HARD,
    LINE,
    SPOT,
    Buffers,
    add,
    close_row,
    known_value,
    record,
)
from lowregret.stream.cross import NO_ROOM, NOTHING, Crossing, append_products, begin_group, begin_row, has_room
from lowregret.stream.formats import Format
from lowregret.stream.number import ABSENT, READ, number
from lowregret.stream.text_format import TextFormat
from lowregret.stream.vw_words import after_blanks, ends, line_end, name_at, trimmed_hash, value_at, word_at
from lowregret.stream.word import word

_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_SPACE, _TAB, _RETURN, _FEED, _BAR, _COLON, _QUOTE = (np.uint8(ord(c)) for c in " \t\r\n|:'")
_MARK = _U(0xBFBBEF)  # a byte order mark

NO_LABEL, NO_WEIGHT, BASE, MANY, NO_NAME, NO_SCALE, NO_VALUE, STRAY = range(FIRST_FAULT, FIRST_FAULT + 8)
_NO_ROW = -1


class VwText(TextFormat):
    """How to read Vowpal Wabbit's text: names are hashed to 2^bits slots; the keys of a crossing are first letters."""

    faults: ClassVar[dict[int, str]] = {
        NO_LABEL: "expected a finite number as label",
        NO_WEIGHT: "expected a number from 0 as importance",
        BASE: (
            "expected at most label and importance before the bar (initial predictions are not supported; "
            "a tag touches the bar or begins with ')"
        ),
        MANY: "expected label, importance and tag before the bar",
        NO_NAME: "expected the name of a namespace, or a blank, after the bar",
        NO_SCALE: "expected a finite number, then a blank, after the colon of a namespace",
        NO_VALUE: "expected a finite number, then a blank or a bar, as value",
        STRAY: "expected nothing behind a carriage return",
    }
    joint: ClassVar[bytes] = b"^"
    bits: int = 18
    crossing: Crossing = NOTHING

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Self:
        products = [[_first_byte(name) for name in group] for group in options.get("interactions", ())]
        rest = {name: value for name, value in options.items() if name != "interactions"}
        return cls(**rest, crossing=Crossing.of(products))

    def check(self) -> None:
        self.require(1 <= self.bits <= 31, f"bits must be from 1 to 31, got {self.bits}")

    def lookouts(self) -> dict[str, re.Pattern[bytes]]:
        """A namespace is known by its first letter, the default one by a blank."""
        keys = [int(key) for key in np.unique(self.crossing.keys[self.crossing.keys >= 0])]
        marks = {key: rb"\s" if key == _SPACE else re.escape(bytes([key])) for key in keys}
        return {f"namespace {chr(key)}": re.compile(rb"\|%b" % mark) for key, mark in marks.items()}

    def entries(self, size: int) -> int:
        """The most entries that a text of this many bytes can hold, without products: `a ` takes two."""
        return size // 2 + 1

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        """Read lines from cursor[AT] to `end`, after which there must be a line feed; stops at the first fault."""
        while out.cursor[AT] < end:
            k = _U(out.cursor[AT])
            if not has_room(self.crossing, out, self.entries(end - out.cursor[AT])):
                return FULL
            if word(text, k) & _U(0xFFFFFF) == _MARK:
                k += _U(3)
            begin_row(out)
            label, weight, k, status = _head(text, k, out)
            if status == READ:
                status = self.features(text, k, label, weight, out)
                k = _U(out.cursor[SPOT])
            if status > READ:
                return status
            out.cursor[AT] = k + _ONE
            out.cursor[LINE] += 1
        return DONE

    def features(self, text: Any, k: Any, label: float, weight: float, out: Buffers) -> int:
        """Read a row from its first bar on, and close it; cursor[SPOT] is its line feed, or the fault."""
        entry = out.cursor[ENTRY]
        while text[k] == _BAR:
            k, entry, status = self.namespace(text, k + _ONE, entry, out)
            if status != READ:
                return status
        out.cursor[SPOT] = k
        k = line_end(text, k)
        if text[k] != _FEED:
            return STRAY
        entry = append_products(self.crossing, out, entry, self.mask())
        if entry == NO_ROOM:
            return FULL
        close_row(out, label, weight, entry)
        out.cursor[SPOT] = k
        return DONE

    def namespace(self, text: Any, k: Any, entry: int, out: Buffers) -> tuple[Any, int, int]:
        """Read a namespace from behind its bar on; returns where it and its entries end, and READ or why not."""
        space, seed, scale, key, nameless = k, _ZERO, 1.0, _SPACE, _ZERO
        out.cursor[SPOT] = k
        if text[k] == _COLON:
            return k, entry, NO_NAME
        if not ends(text[k]):
            key = text[k]
            seed, k = name_at(text, k, _ZERO)
        space_end = k
        if text[k] == _COLON:
            scale, k, status = value_at(text, k + _ONE, out)
            if status != READ:
                return k, entry, HARD if status == HARD else NO_SCALE
        if self.crossing.keys.size > 0:
            begin_group(out, key, entry)
        k = after_blanks(text, k)
        while not ends(text[k]):
            name = k
            slot, name_end, value, k, status = _feature(text, k, seed, scale, out)
            if status != READ:
                return k, entry, status
            if name_end == name:
                slot += nameless
                nameless += _ONE
            if value != 0.0:
                add(out, entry, slot & self.mask(), value)
                record(out, slot & self.mask(), space, space_end, name, name_end)
                entry += 1
            k = after_blanks(text, k)
        return k, entry, READ

    def mask(self) -> Any:
        """The bits of a slot."""
        return (_ONE << _U(self.bits)) - _ONE


# ---- before the first bar --------------------------------------------------------------------------------------------


def _head(text: Any, k: Any, out: Buffers) -> tuple[float, float, Any, int]:
    """Label (NaN: none), importance, the first bar (or the end of the line), and READ, _NO_ROW or why not."""
    bar, begin, is_blank = k, k, True
    while text[bar] != _BAR and text[bar] != _FEED:
        if text[bar] == _TAB and begin == k:
            begin = bar + _ONE
        is_blank &= text[bar] in (_SPACE, _TAB, _RETURN)
        bar += _ONE
    end, label, weight = bar, math.nan, 1.0
    if text[bar] == _FEED:
        if is_blank:
            return label, weight, bar, _NO_ROW
        while text[end - _ONE] == _RETURN:
            end -= _ONE
    count, first, second, third = _words(text, begin, end)
    if count > 2:
        out.cursor[SPOT] = third
        return label, weight, bar, BASE if count == 3 else MANY
    for i in range(count):
        at = second if i else first
        out.cursor[SPOT] = at
        value, after, status = number(text, at)
        if status == HARD:
            value, found = known_value(out, at)
            if not found:
                return label, weight, bar, HARD
        if status == ABSENT or text[after] != _SPACE or not math.isfinite(value) or (i and value < 0.0):
            return label, weight, bar, NO_WEIGHT if i else NO_LABEL
        label, weight = (label, value) if i else (value, weight)
    return label, weight, bar, READ


def _words(text: Any, k: Any, end: Any) -> tuple[int, Any, Any, Any]:
    """How many words there are up to `end`, without a tag, and where the first three begin."""
    count, first, second, third, last, touches = 0, k, k, k, k, False
    while True:
        while k < end and text[k] == _SPACE:
            k += _ONE
        if k >= end:
            break
        count += 1
        first, second, third = k if count == 1 else first, k if count == 2 else second, k if count == 3 else third
        last = k
        while k < end and text[k] != _SPACE:
            k += _ONE
        touches = k == end
    tagged = count > 0 and (touches or text[last] == _QUOTE)
    return count - int(tagged), first, second, third


# ---- after it --------------------------------------------------------------------------------------------------------


def _feature(text: Any, k: Any, seed: Any, scale: float, out: Buffers) -> tuple[Any, Any, float, Any, int]:
    """The number and the end of the name that begins here, its value, where that ends, and READ or why not."""
    slot, name_end = name_at(text, k, seed)
    if text[name_end] != _COLON:
        return slot, name_end, scale, name_end, READ
    value, after, status = value_at(text, name_end + _ONE, out)
    if status == READ:
        value *= scale
        if not math.isfinite(value):
            out.cursor[SPOT] = name_end + _ONE
            status = NO_VALUE
    elif status == ABSENT:
        value, status = 1.0, READ
        said, after = word_at(text, name_end + _ONE)
        if said < after:
            slot, name_end = trimmed_hash(text, said, after, slot), after
    elif status != HARD:
        status = NO_VALUE
    return slot, name_end, value, after, status


def _first_byte(namespace: str) -> int:
    """Namespaces are known by their first byte, the default one by a blank."""
    if len(namespace) > 1:
        raise DataError(
            f"vw data know a namespace by its first letter, so that all that begin alike are one: for interactions "
            f"say {namespace[0]}, not {namespace}"
        )
    return (namespace or " ").encode()[0]


def _begins(line: bytes) -> bool:
    """Whether a line has a bar, and is no JSON object, in whose texts there may be some."""
    return b"|" in line and not line.lstrip().startswith(b"{")


FORMAT = Format(
    "vw",
    ("vw",),
    VwText,
    ("positive", "bits", "interactions", "classes"),
    "Vowpal Wabbit text: `label importance 'tag|namespace:scale name:value …`",
    "names hashed as Vowpal Wabbit does",
    begins=_begins,
    numbered=True,
    sample="+1 |a b:0.5 c\n-1 |a c\n",
)
