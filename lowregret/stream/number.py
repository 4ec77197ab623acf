"""Decimal numbers in text, read exactly and in compiled code.

m·10^e with m < 2⁵³ and |e| ≤ 22 is one exact multiplication or division. Everything else goes through the algorithm of
Eisel and Lemire ("Number parsing at a gigabyte per second", 2021): a product with a 128-bit power of five, whose upper
bits decide the rounding unless they are undecided themselves. The few undecided numbers are left to Python's `float`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.kernel import apart, kernel
from lowregret.stream.word import TENS, digits, digits_until, double, leading_zeros

SMALLEST, LARGEST = -342, 308  # exponents of ten beyond which a number of 19 digits is 0 or infinite
READ, ABSENT, HARD = 0, 1, 2  # what became of a number: read; there is none; only `float` can tell

_U = np.uint64
_ZERO, _ONE, _TWO, _EIGHT, _TEN = _U(0), _U(1), _U(2), _U(8), _U(10)
_MANY = _U(10**18)  # below this another digit fits
_EXACT = _U(2**53)
_LOW = _U(0xFFFFFFFF)
_POINT, _PLUS, _MINUS, _E, _LOWER = (np.uint8(ord(c)) for c in ".+-e ")  # a blank's bit makes letters lower-case
_NOUGHT = _U(ord("0"))
_FAR = 1 << 40  # an exponent that no number of digits makes up for

_TENS = np.array([float(10**k) for k in range(23)])


def _fives() -> np.ndarray[Any, np.dtype[np.uint64]]:
    """5^q for all q as 128 leading bits, rounded down (up for q < 0): upper and lower halves side by side."""
    table = np.empty((LARGEST - SMALLEST + 1, 2), np.uint64)
    for q in range(SMALLEST, LARGEST + 1):
        if q >= 0:
            power = 5**q
            length = power.bit_length()
            bits = power << (128 - length) if length <= 128 else power >> (length - 128)
        else:
            power = 5**-q
            bits = (1 << (power.bit_length() + 127)) // power + 1
        table[q - SMALLEST] = bits >> 64, bits & (2**64 - 1)
    return table.ravel()


_FIVES = _fives()


def number(text: Any, k: Any, point: Any = _POINT) -> tuple[float, Any, int]:
    """The number that begins at text[k]: its value, where it ends, and READ, ABSENT or HARD.

    The text must go on for at least nine bytes, among them one that belongs to no number, such as a line feed. `point`
    is what stands before the fraction.
    """
    first = _U(text[k]) - _NOUGHT
    if first < _TEN and text[k + _ONE] == point:  # as most are; the processor need not wait to learn how it begins
        part, fraction = digits(text, k + _TWO)
        after = k + _TWO + fraction
        if fraction < _EIGHT and text[after] | _LOWER != _E:
            return float(first * TENS[fraction] + part) / _TENS[fraction], after, READ
    return _short_number(text, k, point)


def plain_number(text: Any, k: Any, stop: Any) -> tuple[float, bool]:
    """The value of text[k:stop] if that is a digit, or a digit, the point and one to seven more; and whether it is."""
    first, size = _U(text[k]) - _NOUGHT, stop - k
    fraction = size - _TWO
    if first < _TEN and text[k + _ONE] == _POINT and fraction - _ONE < _U(7):
        part, valid = digits_until(text, k + _TWO, fraction)
        return float(first * TENS[fraction] + part) / _TENS[fraction], valid
    return float(first), bool(first < _TEN and size == _ONE)


def _short_number(text: Any, begin: Any, point: Any) -> tuple[float, Any, int]:
    """`number` for a sign and up to seven digits before and after the point; all others go to `_long_number`."""
    k = begin
    negative = text[k] == _MINUS
    if negative or text[k] == _PLUS:
        k += _ONE
    mantissa, whole = digits(text, k)
    fraction = _ZERO
    k += whole
    if whole < _EIGHT and text[k] == point:
        part, fraction = digits(text, k + _ONE)
        mantissa = mantissa * TENS[fraction] + part
        k += _ONE + fraction
        if whole + fraction == _ZERO:
            return 0.0, begin, ABSENT
    elif whole == _ZERO:
        return 0.0, begin, ABSENT
    letter = text[k] | _LOWER
    if whole < _EIGHT and fraction < _EIGHT and letter != _E:  # at most 14 digits: exact
        value = float(mantissa) / _TENS[fraction]
        return -value if negative else value, k, READ
    return _long_number(text, begin, point)


@apart
def _long_number(text: Any, begin: Any, point: Any) -> tuple[float, Any, int]:
    """`number` for any number of digits and an exponent."""
    k = begin
    negative = text[k] == _MINUS
    if negative or text[k] == _PLUS:
        k += _ONE
    mantissa, exponent, inexact = _ZERO, 0, False
    after_point = False
    while True:
        digit = _U(text[k]) - _NOUGHT
        if digit < _TEN:
            if mantissa < _MANY:
                mantissa = mantissa * _TEN + digit
                exponent -= after_point
            else:
                exponent += not after_point
                inexact |= digit != _ZERO
        elif text[k] == point and not after_point:
            after_point = True
        else:
            break
        k += _ONE
    if text[k] | _LOWER == _E:
        k, power = _power(text, k)
        exponent += power
    if mantissa < _EXACT and not inexact and -22 <= exponent <= 22:
        value = float(mantissa)
        value = value * _TENS[exponent] if exponent >= 0 else value / _TENS[-exponent]
    else:
        value = _round(mantissa, exponent)
        if inexact and value != _round(mantissa + _ONE, exponent):
            value = math.nan
        if value != value:
            return 0.0, k, HARD
    return -value if negative else value, k, READ


def _power(text: Any, k: Any) -> tuple[Any, int]:
    """The exponent after the letter e at text[k]; without digits the e does not belong to the number."""
    at = k + _ONE
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _ONE
    digit = _U(text[at]) - _NOUGHT
    if digit >= _TEN:
        return k, 0
    power = 0
    while digit < _TEN:
        power = min(power * 10 + int(digit), _FAR)
        at += _ONE
        digit = _U(text[at]) - _NOUGHT
    return at, -power if negative else power


@apart
def _round(mantissa: Any, exponent: int) -> float:
    """m·10^e rounded to nearest, ties to even; NaN where 128 bits of 5^e do not decide."""
    if mantissa == _ZERO or exponent < SMALLEST:
        return 0.0
    if exponent > LARGEST:
        return math.inf
    zeros = leading_zeros(mantissa)
    shifted = mantissa << zeros
    at = 2 * (exponent - SMALLEST)
    high, low = _product(shifted, _FIVES[at])
    if (high & _U(0x1FF)) == _U(0x1FF):  # the lower half of the power may still carry
        second, _ = _product(shifted, _FIVES[at + 1])
        before = low
        low = low + second
        if low < before:
            high += _ONE
        if (high & _U(0x1FF)) == _U(0x1FF) and low + _ONE == _ZERO:
            return math.nan
    top = high >> _U(63)
    bits = high >> (top + _U(9))
    power = ((217706 * exponent) >> 16) + 1086 + int(top) - int(zeros)
    if power <= 0:  # subnormal, or 0: no such number is exactly half way
        if power <= -63:
            return 0.0
        bits >>= _U(1 - power)
        return double((bits + (bits & _ONE)) >> _ONE)
    if low <= _ONE and -4 <= exponent <= 23 and (bits & _U(3)) == _ONE and bits << (top + _U(9)) == high:
        bits -= _ONE  # exactly half way: down to the even one
    bits = (bits + (bits & _ONE)) >> _ONE
    if bits == _EXACT:
        bits = _EXACT >> _ONE
        power += 1
    if power >= 2047:
        return math.inf
    return double((_U(power) << _U(52)) | (bits & (_U(2**52) - _ONE)))


def _product(a: Any, b: Any) -> tuple[Any, Any]:
    """a·b as 128 bits: upper and lower half."""
    half = _U(32)
    a0, a1, b0, b1 = a & _LOW, a >> half, b & _LOW, b >> half
    low, cross, other = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> half) + (cross & _LOW) + (other & _LOW)
    return a1 * b1 + (cross >> half) + (other >> half) + (middle >> half), (middle << half) | (low & _LOW)


@kernel
def read_number(text: Any, value: Any) -> int:
    """`number` by itself, for tests: value[0] becomes the number at the beginning of the text."""
    found, _, status = number(text, _ZERO)
    value[0] = found
    return status
