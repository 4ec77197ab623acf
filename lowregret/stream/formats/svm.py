"""LIBSVM text: `label index:value index:value … # comment`, one row a line.

`qid:n` is skipped. Indices are columns as they stand (or one less, if `one_based`); they may come in any order, and
values of equal indices are added up. Lines without a label (empty, or only a comment) are no rows.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.kernel import apart
from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    FIRST_FAULT,
    HARD,
    LINE,
    SPOT,
    Buffers,
    add,
    close_row,
    known_value,
)
from lowregret.stream.formats import NUMBER, Format
from lowregret.stream.number import ABSENT, READ, number, plain_number
from lowregret.stream.text_format import TextFormat
from lowregret.stream.word import TENS, blank_within, digits

_U = np.uint64
_ONE = _U(1)
_SPACE, _TAB, _RETURN, _FEED, _HASH, _COLON, _Q, _I, _D = (np.uint8(ord(c)) for c in " \t\r\n#:qid")
_ENDS = _U(sum(1 << ord(c) for c in " \n\t\r#"))  # a bit for each byte that ends a token
_WIDEST = _U(2**31)
_ROW = re.compile(rb"\s*%b((?:\s+(?:qid|\d+):\S+)*)\s*(?:#.*)?" % NUMBER)

NO_LABEL, NO_INDEX, NO_COLON, NO_VALUE, TOO_WIDE, ZERO = range(FIRST_FAULT, FIRST_FAULT + 6)


class SvmText(TextFormat):
    """How to read LIBSVM text. `bits` > 0 takes columns modulo 2^bits."""

    faults: ClassVar[dict[int, str]] = {
        NO_LABEL: "expected a finite number as label",
        NO_INDEX: "expected index:value, the index a whole number",
        NO_COLON: "expected a colon between index and value",
        NO_VALUE: "expected a finite number as value",
        TOO_WIDE: "an index of 2³¹ or more needs --bits, which takes indices modulo 2^bits",
        ZERO: "index 0, although indices are to begin with 1 (--zero-based says that they begin with 0)",
    }
    bits: int = 0
    one_based: bool = False

    def check(self) -> None:
        self.require(
            0 <= self.bits <= 31, f"bits must be from 1 to 31, or 0 for columns as they stand; got {self.bits}"
        )

    def entries(self, size: int) -> int:
        """The most entries that a text of this many bytes can hold: `1:1 ` takes four."""
        return size // 4 + 1

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        """Read lines from cursor[AT] to `end`, after which there must be a line feed; stops at the first fault."""
        while out.cursor[AT] < end:
            k = _blank(text, _U(out.cursor[AT]))
            if text[k] != _FEED and text[k] != _HASH:
                begin = k
                label, k, status = _value(text, k, out)
                if status != READ:
                    return HARD if status == HARD else NO_LABEL
                if not _ends(text[k]) or not np.isfinite(label):
                    out.cursor[SPOT] = begin
                    return NO_LABEL
                status = self.features(text, k, label, out)
                if status != DONE:
                    return status
                k = _U(out.cursor[SPOT])
            while text[k] != _FEED:
                k += _ONE
            out.cursor[AT] = k + _ONE
            out.cursor[LINE] += 1
        return DONE

    def features(self, text: Any, k: Any, label: float, out: Buffers) -> int:
        """Read the entries of a row, and close it; cursor[SPOT] is where it ends, or the fault."""
        entry = out.cursor[ENTRY]
        k = _blank(text, k)
        while text[k] != _FEED and text[k] != _HASH:
            stop = k + blank_within(text, k)
            index, count = digits(text, k)
            at = k + count
            if count - _ONE >= _U(7) or text[at] != _COLON:  # seldom: no or a long index, qid, or a fault
                index, at, status = self.index(text, k)
                if status != DONE:
                    out.cursor[SPOT] = k
                    return status
            if at == k:  # qid
                while not _ends(text[k]):
                    k += _ONE
                k = _blank(text, k)
                continue
            if self.one_based and index == _U(0):
                out.cursor[SPOT] = k
                return ZERO
            value, plain = plain_number(text, at + _ONE, stop)  # where it ends is known: the next need not wait for it
            if not plain or not _ends(text[stop]):
                value, stop, status = _value(text, at + _ONE, out)
                if status != READ:
                    return HARD if status == HARD else NO_VALUE
                if not np.isfinite(value) or not _ends(text[stop]):
                    out.cursor[SPOT] = k
                    return NO_VALUE
                out.cursor[SPOT] = stop  # a store, else the compiler would wait for both
            add(out, entry, self.column(index), value)
            entry += 1
            k = stop + _ONE
            if text[stop] != _SPACE or text[k] <= _HASH:  # else another entry begins, as it mostly does
                k = _blank(text, stop)
        close_row(out, label, 1.0, entry)
        out.cursor[SPOT] = k
        return DONE

    def column(self, index: Any) -> Any:
        """The column of an index."""
        if self.one_based:
            index -= _ONE
        return index & ((_ONE << _U(self.bits)) - _ONE) if self.bits > 0 else index

    @apart
    def index(self, text: Any, k: Any) -> tuple[Any, Any, int]:
        """The index at k, where its colon is (k itself if this is a qid), and DONE or the fault."""
        if text[k] == _Q and text[k + _ONE] == _I and text[k + _U(2)] == _D and text[k + _U(3)] == _COLON:
            return _U(0), k, DONE
        index, count = digits(text, k)
        if count == _U(0):
            return index, k, NO_INDEX
        k += count
        while count == _U(8) and (self.bits > 0 or index < _WIDEST):  # else it stays too wide
            more, count = digits(text, k)
            index = index * TENS[count] + more
            k += count
        if index >= _WIDEST and self.bits == 0:
            return index, k, TOO_WIDE
        return index, k, DONE if text[k] == _COLON else NO_COLON


def _value(text: Any, k: Any, out: Buffers) -> tuple[float, Any, int]:
    """The number at k; cursor[SPOT] says where it begins."""
    value, after, status = number(text, k)
    if status != READ:
        if status != ABSENT:
            value, found = known_value(out, k)
            if found:
                return value, after, READ
            out.cursor[SPOT] = k
            return 0.0, after, HARD
        out.cursor[SPOT] = k
    return value, after, status


def _blank(text: Any, k: Any) -> Any:
    """The first byte from k on that is no blank."""
    while text[k] == _SPACE or text[k] == _TAB or text[k] == _RETURN:
        k += _ONE
    return k


def _ends(byte: Any) -> bool:
    """Whether a token ends here."""
    return bool(byte <= _HASH and _ENDS >> _U(byte) & _ONE)


def _begins(line: bytes) -> bool:
    """Whether a line is a label and at least one entry; a bar would make it Vowpal Wabbit's."""
    found = None if b"|" in line else _ROW.fullmatch(line)
    return bool(found and found[1])


FORMAT = Format(
    "svm",
    ("svm", "libsvm", "svmlight"),
    SvmText,
    ("positive", "bits", "one_based", "classes"),
    "LIBSVM text: `label index:value … # comment`; `qid:n` is skipped",
    "the index is the weight's number as it stands; in any order, equal ones added up",
    begins=_begins,
    numbered=True,
    sample="+1 1:0.5 2:1\n-1 2:1\n",
)
