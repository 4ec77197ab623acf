"""Eight bytes of text at a time, in compiled code: one load, no branch per digit.

Texts must have eight bytes to spare at their end.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from lowregret.compile.address import address

_U = np.uint64
_NOUGHTS = _U(0x3030303030303030)
_ABOVE_NINE = _U(0x7676767676767676)
_ABOVE_BLANK = _U(0x2121212121212121)
_HIGH = _U(0x8080808080808080)
_PAIRS = _U(0x000000FF000000FF)
_ZERO, _EIGHT = _U(0), _U(8)

TENS = np.array([10**k for k in range(20)], np.uint64)


def word(text: Any, k: Any) -> Any:
    """text[k … k+7] as one number, the first byte lowest."""
    return _U(int.from_bytes(text[int(k) : int(k) + 8].tobytes(), "little"))


def trailing_zeros(x: Any) -> Any:
    """Zero bits below the lowest one; 64 if there is none."""
    return _U((int(x) & -int(x)).bit_length() - 1 if x else 64)


def leading_zeros(x: Any) -> Any:
    """Zero bits above the highest one; 64 if there is none."""
    return _U(64 - int(x).bit_length())


def double(bits: Any) -> float:
    """The double with these bits."""
    return float(struct.unpack("d", struct.pack("Q", int(bits)))[0])


def bits(x: float) -> Any:
    """The bits of a double."""
    return _U(struct.unpack("Q", struct.pack("d", x))[0])


def digits(text: Any, k: Any) -> tuple[Any, Any]:
    """Up to eight decimal digits from text[k] on: their value, and how many they are."""
    bytes_ = word(text, k) ^ _NOUGHTS
    count = trailing_zeros(((bytes_ + _ABOVE_NINE) | bytes_) & _HIGH) >> _U(3)
    if count == _ZERO:
        return _ZERO, _ZERO
    bytes_ <<= (_EIGHT - count) << _U(3)
    bytes_ = bytes_ * _U(10) + (bytes_ >> _EIGHT)
    upper = (bytes_ & _PAIRS) * _U(0x000F424000000064)
    lower = ((bytes_ >> _U(16)) & _PAIRS) * _U(0x0000271000000001)
    return (upper + lower) >> _U(32), count


def digits_until(text: Any, k: Any, count: Any) -> tuple[Any, bool]:
    """The value of `count` decimal digits, 1 to 8, from text[k] on, and whether they are digits."""
    bytes_ = (word(text, k) ^ _NOUGHTS) << ((_EIGHT - count) << _U(3))
    valid = ((bytes_ + _ABOVE_NINE) | bytes_) & _HIGH == _ZERO
    bytes_ = bytes_ * _U(10) + (bytes_ >> _EIGHT)
    upper = (bytes_ & _PAIRS) * _U(0x000F424000000064)
    lower = ((bytes_ >> _U(16)) & _PAIRS) * _U(0x0000271000000001)
    return (upper + lower) >> _U(32), valid


def blank_within(text: Any, k: Any) -> Any:
    """How far from text[k] the next blank (a byte up to 32) is; 16 if it is not among the first sixteen bytes."""
    low, high = word(text, k), word(text, k + _EIGHT)
    near = trailing_zeros((low - _ABOVE_BLANK) & ~low & _HIGH) >> _U(3)
    far = trailing_zeros((high - _ABOVE_BLANK) & ~high & _HIGH) >> _U(3)
    return near if near < _EIGHT else _EIGHT + far


# ---- what they are to the compiler ----------------------------------------------------------------------------------


@type_callable(word)
def _type_word(context: Any) -> Any:
    return lambda text, k: types.uint64


@lower_builtin(word, types.Array, types.uint64)
def _lower_word(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    pointer = address(context, builder, signature.args[0], args[0], args[1], 8)
    load = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
    load.align = 1
    return load


def _count(intrinsic: str) -> Any:
    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(64)
        kind = ir.FunctionType(number, [number, ir.IntType(1)])
        function = cgutils.get_or_insert_function(builder.module, kind, intrinsic)
        return builder.call(function, [args[0], ir.IntType(1)(0)])

    return lower


for _function, _intrinsic in ((trailing_zeros, "llvm.cttz.i64"), (leading_zeros, "llvm.ctlz.i64")):
    type_callable(_function)(lambda context: lambda x: types.uint64)
    lower_builtin(_function, types.uint64)(_count(_intrinsic))


@type_callable(double)
def _type_double(context: Any) -> Any:
    return lambda bits: types.float64


@lower_builtin(double, types.uint64)
def _lower_double(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.bitcast(args[0], ir.DoubleType())


@type_callable(bits)
def _type_bits(context: Any) -> Any:
    return lambda x: types.uint64


@lower_builtin(bits, types.float64)
def _lower_bits(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.bitcast(args[0], ir.IntType(64))
