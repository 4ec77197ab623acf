"""Names, values and words behind the bar of Vowpal Wabbit's text, in compiled code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.stream.buffers import FIRST_FAULT, HARD, SPOT, Buffers, known_value
from lowregret.stream.hashing import finish, mix_word, name_hash
from lowregret.stream.number import ABSENT, READ, number
from lowregret.stream.word import digits, trailing_zeros, word

_U = np.uint64
_ZERO, _ONE = _U(0), _U(1)
_SPACE, _TAB, _RETURN, _FEED, _UPRIGHT, _PAGE, _BAR, _COLON = (np.uint8(ord(c)) for c in " \t\r\n\v\f|:")
_MINUS, _POINT, _PLUS, _LOWER, _E, _I, _N, _A, _F = (np.uint8(ord(c)) for c in "-.+ einaf")
_NOUGHT, _TEN = _U(ord("0")), _U(10)
_EACH, _HIGH = _U(0x0101010101010101), _U(0x8080808080808080)
_COLONS, _BARS, _ABOVE_SPACE = _EACH * _U(ord(":")), _EACH * _U(ord("|")), _EACH * _U(ord(" ") + 1)
_WRONG = FIRST_FAULT  # neither a number nor a word


def name_at(text: Any, k: Any, seed: Any) -> tuple[Any, Any]:
    """The hash of the name that begins here, and its end: a blank, a colon, a bar or the end of the line."""
    if _U(text[k]) - _NOUGHT < _TEN:
        value, count = digits(text, k)
        if count < _U(8) and _stops(text[k + count]):
            return value + seed, k + count
        return _long_name(text, k, seed)
    h, at = seed & _U(0xFFFFFFFF), k
    while True:
        here = word(text, at)
        colons, bars = here ^ _COLONS, here ^ _BARS
        stops = ((here - _ABOVE_SPACE) & ~here) | ((colons - _EACH) & ~colons) | ((bars - _EACH) & ~bars)
        stops &= _HIGH
        if stops != _ZERO:
            break
        h = mix_word(mix_word(h, here & _U(0xFFFFFFFF)), here >> _U(32))
        at += _U(8)
    bits = trailing_zeros(stops) & _U(0x38)
    end = at + (bits >> _U(3))
    if not _stops(text[end]):
        return _long_name(text, k, seed)
    if end == k:
        return seed, k
    return finish(h, here & ((_ONE << bits) - _ONE), bits, end - k), end


def _long_name(text: Any, k: Any, seed: Any) -> tuple[Any, Any]:
    """The hash and the end of any name that begins at k, with many digits or control characters too."""
    end = k
    while not _stops(text[end]):
        end += _ONE
    return trimmed_hash(text, k, end, seed), end


def trimmed_hash(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """The hash of text[begin:end] without the control characters at either end."""
    while begin < end and text[begin] <= _SPACE:
        begin += _ONE
    while begin < end and text[end - _ONE] <= _SPACE:
        end -= _ONE
    return name_hash(text, begin, end, seed)


def value_at(text: Any, k: Any, out: Buffers) -> tuple[float, Any, int]:
    """The number behind a colon: its value, its end, and READ, ABSENT (a word), HARD or _WRONG.

    Blanks before it are skipped, and all that has the shape of a number is one: `-`, `.` and `e5` are 0, `1e` is 1.
    """
    at = k
    while text[at] == _SPACE:
        at += _ONE
    value, after, status = number(text, at)
    if status == READ and ends(text[after]) and math.isfinite(value):
        return value, after, READ
    return _odd_value(text, k, at, value, after, status, out)


def _odd_value(
    text: Any, k: Any, at: Any, value: float, after: Any, status: int, out: Buffers
) -> tuple[float, Any, int]:
    """The number behind a colon, as `value_at` returns it, where `number` at `at` is not all there is."""
    out.cursor[SPOT] = at
    if status == HARD:
        value, found = known_value(out, at)
        if not found:
            return 0.0, after, HARD
        status = READ
    if status == READ:
        if not math.isfinite(value):
            return 0.0, after, _WRONG
        if ends(text[after]):
            return value, after, READ
    shape = after
    if status == ABSENT:
        shape += _U(text[shape] == _MINUS)
        shape += _U(text[shape] == _POINT)
    if text[shape] | _LOWER == _E and not _has_power(text, at, shape):
        shape += _ONE
        shape += _U(text[shape] == _MINUS)
        while _U(text[shape]) - _NOUGHT < _TEN:
            shape += _ONE
    over = text[shape] == _SPACE or text[shape] == _TAB or text[line_end(text, shape)] == _FEED
    if over and shape > k and text[at] != _PLUS:
        return value, shape, READ
    if status == READ or _is_neither(text, at):
        return 0.0, after, _WRONG
    return 0.0, k, ABSENT


def _has_power(text: Any, k: Any, end: Any) -> bool:
    """Whether the number in text[k:end] has an exponent already."""
    while k < end:
        if text[k] | _LOWER == _E:
            return True
        k += _ONE
    return False


def _is_neither(text: Any, k: Any) -> bool:
    """Whether there is `inf` or `nan`, signed or not, in either case, or a rare blank, whatever follows."""
    if text[k] == _UPRIGHT or text[k] == _PAGE:
        return True
    k += _U(text[k] == _MINUS or text[k] == _PLUS)
    a, b, c = text[k] | _LOWER, text[k + _ONE] | _LOWER, text[k + _U(2)] | _LOWER
    return (a == _I and b == _N and c == _F) or (a == _N and b == _A and c == _N)


def word_at(text: Any, k: Any) -> tuple[Any, Any]:
    """Begin and end of the word behind a colon, blanks before it skipped; the same if there is none in the line."""
    begin = k
    while text[begin] in (_SPACE, _TAB):
        begin += _ONE
    if text[begin] == _FEED:
        return k, k
    end = begin
    while text[end] not in (_SPACE, _TAB, _RETURN, _FEED):
        end += _ONE
    return begin, end


def after_blanks(text: Any, k: Any) -> Any:
    """The first byte from k on that is no blank."""
    while text[k] == _SPACE or text[k] == _TAB:
        k += _ONE
    return k


def line_end(text: Any, k: Any) -> Any:
    """The first byte from k on that is no carriage return: at the end of a line, its line feed."""
    while text[k] == _RETURN:
        k += _ONE
    return k


def ends(byte: Any) -> bool:
    """Whether a value ends here."""
    return byte in (_SPACE, _TAB, _BAR, _RETURN, _FEED)


def _stops(byte: Any) -> bool:
    """Whether a name ends here."""
    return byte == _COLON or ends(byte)
