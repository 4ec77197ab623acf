"""The smallest pieces of CSV and TSV in compiled code: blanks, the ends of fields, and texts with doubled quotes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from lowregret.stream.word import word

_U = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR, _EIGHT = (_U(k) for k in (0, 1, 2, 3, 4, 8))
_SPACE, _TAB, _RETURN, _FEED, _QUOTE, _PLUS, _MINUS = (np.uint8(ord(c)) for c in ' \t\r\n"+-')
_NA, _NAN, _NAN_SMALL, _NULL, _NONE = (  # with their lengths, for a text may have noughts in it
    _U(int.from_bytes(text, "little") | len(text) << 32) for text in (b"NA", b"NaN", b"nan", b"null", b"None")
)
_INF, _INFINITY = (_U(int.from_bytes(text, "little")) for text in (b"inf", b"infinity"))
_SMALL = _U(0x2020202020202020)  # makes letters lower-case


def fields_of(line: str, delimiter: str) -> list[str]:
    """The fields of a line, or of its beginning, without their quotes."""
    field, found, at = re.compile(rf'"((?:[^"]|"")*)"|([^{re.escape(delimiter)}]*)'), list[str](), 0
    while at <= len(line) and (match := field.match(line, at)):
        found.append(match[2] if match[1] is None else match[1].replace('""', '"'))
        at = match.end() + 1
    return found


def cell_of(before: bytes, rest: bytes, delimiter: str) -> bytes:
    """The field that a text begins with, or goes on with if the text before it ends with its opening quote."""
    quote = b'"' if before.rstrip(b" ").endswith(b'"') else b""
    return fields_of((quote + rest).decode(errors="surrogateescape"), delimiter)[0].encode(errors="surrogateescape")


def blank(text: Any, k: Any, delimiter: Any) -> Any:
    """The first byte from k on that is no blank."""
    while text[k] == _SPACE or (text[k] == _TAB and delimiter != _TAB):
        k += _ONE
    return k


def ending(text: Any, k: Any, delimiter: Any) -> Any:
    """Where the delimiter or line feed is, if a field ends at k; else 0."""
    if text[k] == delimiter or text[k] == _FEED:
        return k
    return k + _ONE if text[k] == _RETURN and text[k + _ONE] == _FEED else _ZERO


def is_missing(text: Any, begin: Any, end: Any) -> bool:
    """Whether text[begin:end], blanks at its end aside, says that there is no value."""
    end = _trimmed(text, begin, end)
    if begin >= end:
        return True
    size = end - begin
    if size > _FOUR:
        return False
    letters = word(text, begin) & ((_ONE << (size << _THREE)) - _ONE) | size << _U(32)
    return letters in (_NA, _NAN, _NAN_SMALL, _NULL, _NONE)


def is_infinite(text: Any, begin: Any, end: Any) -> bool:
    """Whether text[begin:end], blanks at its end aside, is inf or infinity, in any case and with any sign."""
    end = _trimmed(text, begin, end)
    if text[begin] == _PLUS or text[begin] == _MINUS:
        begin += _ONE
    size, letters = end - begin, word(text, begin) | _SMALL
    return bool((size == _THREE and letters & _U(0xFFFFFF) == _INF) or (size == _EIGHT and letters == _INFINITY))


def _trimmed(text: Any, begin: Any, end: Any) -> Any:
    """Where text[begin:end] ends without the blanks behind it."""
    while end > begin and (text[end - _ONE] == _SPACE or text[end - _ONE] == _TAB):
        end -= _ONE
    return end


def is_same_doubled(one: Any, text: Any, begin: Any, end: Any) -> bool:
    """Whether text[begin:end], its doubled quotes halved, is these bytes."""
    at, size = _ZERO, _U(one.size)
    while begin < end and at < size and text[begin] == one[at]:
        begin += _TWO if text[begin] == _QUOTE else _ONE
        at += _ONE
    return bool(begin == end and at == size)
