"""The name of a JSON value, put together while it is read: the names and numbers of all levels, with points between.

It stands in Buffers.scratch from byte NAME on. Before it are two numbers for each level: how many bytes of the name
all values of the object or array share, and OBJECT or the number of the array's next element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.stream.buffers import Buffers
from lowregret.stream.json_text import character

_U = np.uint64
_ZERO, _ONE, _TWO, _EIGHT, _TEN = _U(0), _U(1), _U(2), _U(8), _U(10)
_NOUGHT, _POINT = _U(ord("0")), _U(ord("."))

DEEPEST = 64  # objects and arrays within each other
LONGEST_NAME = 16_000  # bytes of a name
NAME = 2 * DEEPEST + 2
OBJECT = -1


def begin_level(out: Buffers, depth: Any, size: Any, index: int) -> None:
    """Enter an object (then `index` is OBJECT) or array, whose values' names begin with the first `size` bytes."""
    out.scratch[_TWO * depth], out.scratch[_TWO * depth + _ONE] = size, index


def level(out: Buffers, depth: Any) -> tuple[Any, int]:
    """How many bytes names at this depth begin with, and OBJECT or the number of the next element."""
    return _U(out.scratch[_TWO * depth]), out.scratch[_TWO * depth + _ONE]


def append_point(out: Buffers, size: Any) -> Any:
    """Append what stands between levels; returns the new size."""
    out.scratch[_U(NAME) + size] = _POINT
    return size + _ONE


def append_text(out: Buffers, size: Any, text: Any, begin: Any, end: Any) -> Any:
    """Append text[begin:end], unescaped, to the name of this size; returns its size, LONGEST_NAME + 1 if too long."""
    k, at = begin, _U(NAME) + size
    while k < end:
        packed, count, k = character(text, k)
        for _ in range(count):
            if at > NAME + LONGEST_NAME:
                return _U(LONGEST_NAME + 1)
            out.scratch[at] = packed & _U(255)
            packed >>= _EIGHT
            at += _ONE
    return at - _U(NAME)


def append_number(out: Buffers, size: Any, index: Any) -> Any:
    """Append a number in decimal digits; returns the new size."""
    digits, rest = _ONE, index
    while rest >= _TEN:
        rest //= _TEN
        digits += _ONE
    at = _U(NAME) + size + digits
    for _ in range(digits):
        at -= _ONE
        out.scratch[at] = _NOUGHT + index % _TEN
        index //= _TEN
    return size + digits


def plain_number(out: Buffers, size: Any, otherwise: Any) -> Any:
    """The number that the current name is if it is all digits, as `name_hash` has it; else `otherwise`."""
    value = _ZERO
    for k in range(size):
        digit = _U(out.scratch[_U(NAME) + _U(k)]) - _NOUGHT
        if digit >= _TEN:
            return otherwise
        value = value * _TEN + digit
    return value
