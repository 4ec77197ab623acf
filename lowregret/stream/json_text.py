"""The smallest pieces of JSON in compiled code: texts with their escapes, and what a number looks like."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.stream.word import trailing_zeros, word

_U = np.uint64
_ZERO, _ONE, _TWO, _THREE, _FOUR, _SIX, _EIGHT, _TEN = (_U(k) for k in (0, 1, 2, 3, 4, 6, 8, 10))
_SPACE, _TAB, _RETURN, _QUOTE, _BACKSLASH, _MINUS, _POINT, _U_LETTER = (np.uint8(ord(c)) for c in ' \t\r"\\-.u')
_NOUGHT = _U(ord("0"))
_ONES, _HIGH = _U(0x0101010101010101), _U(0x8080808080808080)
_QUOTES, _BACKSLASHES, _SPACES = _ONES * _U(0x22), _ONES * _U(0x5C), _ONES * _U(0x20)


def _word_of(text: bytes) -> Any:
    return _U(int.from_bytes(text, "little"))


_TRUE, _NULL, _FALSE, _NAN = map(_word_of, (b"true", b"null", b"false", b"NaN"))
_INFINITY = _word_of(b"Infinity")

# What a letter after a backslash stands for; 0: nothing.
_ESCAPES = np.zeros(256, np.uint8)
for _letter, _meaning in zip(b'"\\/bfnrt', b'"\\/\b\f\n\r\t', strict=True):
    _ESCAPES[_letter] = _meaning

# The value of a hexadecimal digit; 255: none.
_HEX = np.full(256, 255, np.uint8)
for _digit in b"0123456789abcdefABCDEF":
    _HEX[_digit] = int(chr(_digit), 16)


def blank(text: Any, k: Any) -> Any:
    """The first byte from k on that is no blank."""
    while text[k] == _SPACE or text[k] == _TAB or text[k] == _RETURN:
        k += _ONE
    return k


def text_end(text: Any, k: Any) -> tuple[Any, bool]:
    """Where the closing quote is of the text that begins at k, 0 if it is not valid; and whether it has no escapes."""
    plain = True
    while True:
        eight = word(text, k)
        quote, backslash = eight ^ _QUOTES, eight ^ _BACKSLASHES
        special = ((quote - _ONES) & ~quote) | ((backslash - _ONES) & ~backslash) | ((eight - _SPACES) & ~eight) | eight
        special &= _HIGH  # its lowest bit is right; those above may be wrong
        if special == _ZERO:
            k += _EIGHT
            continue
        k += trailing_zeros(special) >> _THREE
        if text[k] == _QUOTE:
            return k, plain
        length = _ZERO
        if text[k] == _BACKSLASH:
            plain = False
            length = _escape_length(text, k)
        elif text[k] >= 128:
            length = _utf8_length(text, k)
        if length == _ZERO:
            return _ZERO, plain
        k += length


def _escape_length(text: Any, k: Any) -> Any:
    """Bytes of the escape whose backslash is at k; 0 if it is not valid."""
    if _ESCAPES[text[k + _ONE]] != 0:
        return _TWO
    return _SIX if text[k + _ONE] == _U_LETTER and _hex(text, k + _TWO) < _U(0x10000) else _ZERO


def _hex(text: Any, k: Any) -> Any:
    """The four hexadecimal digits at k; 2¹⁶ or more if they are none. Stops at the first that is none."""
    value = _ZERO
    for j in range(4):
        digit = _U(_HEX[text[k + _U(j)]])
        if digit > _U(15):
            return _U(0x10000)
        value = value * _U(16) + digit
    return value


def _utf8_length(text: Any, k: Any) -> Any:
    """Bytes of the character of two to four that begins at k; 0 if it is not UTF-8."""
    lead, second = text[k], text[k + _ONE]
    lowest, highest = 0x80, 0xBF
    if 0xC2 <= lead <= 0xDF:
        length = _TWO
    elif 0xE0 <= lead <= 0xEF:
        length = _THREE
        lowest = 0xA0 if lead == 0xE0 else 0x80  # no longer than needed
        highest = 0x9F if lead == 0xED else 0xBF  # no surrogates
    elif 0xF0 <= lead <= 0xF4:
        length = _FOUR
        lowest = 0x90 if lead == 0xF0 else 0x80
        highest = 0x8F if lead == 0xF4 else 0xBF
    else:
        return _ZERO
    if second < lowest or second > highest:
        return _ZERO
    for j in range(2, length):
        if text[k + _U(j)] & 0xC0 != 0x80:
            return _ZERO
    return length


def character(text: Any, k: Any) -> tuple[Any, Any, Any]:
    """The byte or escape at k of a valid text: its bytes in UTF-8, the first lowest; how many; where it ends."""
    if text[k] != _BACKSLASH:
        return _U(text[k]), _ONE, k + _ONE
    if text[k + _ONE] != _U_LETTER:
        return _U(_ESCAPES[text[k + _ONE]]), _ONE, k + _TWO
    code = _hex(text, k + _TWO)
    k += _SIX
    if code >> _TEN == _U(0x36) and text[k] == _BACKSLASH and text[k + _ONE] == _U_LETTER:
        low = _hex(text, k + _TWO)
        if low >> _TEN == _U(0x37):
            code = _U(0x10000) + ((code & _U(0x3FF)) << _TEN | (low & _U(0x3FF)))
            k += _SIX
    packed, count = _utf8(code)
    return packed, count, k


def _utf8(code: Any) -> tuple[Any, Any]:
    """The bytes of a character, the first lowest, and how many; a lone surrogate like any other."""
    last = _U(0x80) | (code & _U(0x3F))
    middle = _U(0x80) | ((code >> _SIX) & _U(0x3F))
    if code < _U(0x80):
        return code, _ONE
    if code < _U(0x800):
        return _U(0xC0) | code >> _SIX | last << _EIGHT, _TWO
    if code < _U(0x10000):
        return _U(0xE0) | code >> _U(12) | middle << _EIGHT | last << _U(16), _THREE
    first = _U(0xF0) | code >> _U(18) | (_U(0x80) | ((code >> _U(12)) & _U(0x3F))) << _EIGHT
    return first | middle << _U(16) | last << _U(24), _FOUR


def is_positive(positive: Any, text: Any, begin: Any, end: Any, escaped: bool) -> bool:
    """Whether text[begin:end], unescaped if need be, is these bytes."""
    at, size, k = _ZERO, _U(positive.size), begin
    while k < end:
        packed, count = _U(text[k]), _ONE
        if escaped:
            packed, count, k = character(text, k)
        else:
            k += _ONE
        for _ in range(count):
            if at >= size or positive[at] != packed & _U(255):
                return False
            packed >>= _EIGHT
            at += _ONE
    return at == size


def is_number(text: Any, k: Any) -> bool:
    """Whether what `number` would read at k is written as JSON wants it: 0 only before a point, digits around it."""
    if text[k] == _MINUS:
        k += _ONE
    digit = _U(text[k]) - _NOUGHT
    if digit >= _TEN:
        return False
    nought = digit == _ZERO
    k += _ONE
    begin = k
    while _U(text[k]) - _NOUGHT < _TEN:
        k += _ONE
    if nought and k > begin:
        return False
    return bool(text[k] != _POINT or _U(text[k + _ONE]) - _NOUGHT < _TEN)


def literal(text: Any, k: Any) -> tuple[float, Any]:
    """The word at k (true, false, null and what Python writes beside): its value, NaN if absent, and where it ends."""
    eight = word(text, k)
    four = eight & _U(0xFFFFFFFF)
    if four == _TRUE:
        return 1.0, k + _FOUR
    if four == _NULL:
        return math.nan, k + _FOUR
    if eight & _U(0xFFFFFFFFFF) == _FALSE:
        return 0.0, k + _U(5)
    if eight & _U(0xFFFFFF) == _NAN:
        return math.nan, k + _THREE
    if eight == _INFINITY:
        return math.inf, k + _EIGHT
    return math.nan, k
