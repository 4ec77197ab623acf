"""The smallest pieces of CSV and TSV in compiled code: blanks, the ends of fields, and texts with doubled quotes."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.stream.word import word

_U = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR = (_U(k) for k in range(5))
_SPACE, _TAB, _RETURN, _FEED, _QUOTE = (np.uint8(ord(c)) for c in ' \t\r\n"')
_NA, _NAN, _NULL, _NONE = (  # with their lengths, for a text may have noughts in it
    _U(int.from_bytes(text, "little") | len(text) << 32) for text in (b"NA", b"NaN", b"null", b"None")
)


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
    while end > begin and (text[end - _ONE] == _SPACE or text[end - _ONE] == _TAB):
        end -= _ONE
    if begin >= end:
        return True
    size = end - begin
    if size > _FOUR:
        return False
    letters = word(text, begin) & ((_ONE << (size << _THREE)) - _ONE) | size << _U(32)
    return letters in (_NA, _NAN, _NULL, _NONE)


def is_same_doubled(one: Any, text: Any, begin: Any, end: Any) -> bool:
    """Whether text[begin:end], its doubled quotes halved, is these bytes."""
    at, size = _ZERO, _U(one.size)
    while begin < end and at < size and text[begin] == one[at]:
        begin += _TWO if text[begin] == _QUOTE else _ONE
        at += _ONE
    return bool(begin == end and at == size)
