"""Names into numbers: MurmurHash3 (x86, 32 bits), the hash of Vowpal Wabbit, so that slots agree with its own.

A name that is all decimal digits is its own number, plus the hash of its namespace; every other name is hashed with the
hash of its namespace as seed. The slot is the number modulo 2^bits. The default namespace, and every column of a table,
have the hash 0; `column=value` is the name of a category.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.stream.word import word

_U = np.uint64
_MASK = _U(0xFFFFFFFF)
_C1, _C2 = _U(0xCC9E2D51), _U(0x1B873593)
_NOUGHT, _TEN = _U(ord("0")), _U(10)
_ONE = _U(1)


def _rotate(x: Any, by: int) -> Any:
    return ((x << _U(by)) | (x >> _U(32 - by))) & _MASK


def _scramble(four: Any) -> Any:
    return (_rotate((four * _C1) & _MASK, 15) * _C2) & _MASK


def mix_word(h: Any, four: Any) -> Any:
    """The state h of the hash after four more bytes."""
    return (_rotate(h ^ _scramble(four), 13) * _U(5) + _U(0xE6546B64)) & _MASK


def finish(h: Any, rest: Any, bits: Any, length: Any) -> Any:
    """The hash of `length` bytes, of which the last `bits` ones (fewer than 64, and the others 0) are not in h yet."""
    if bits >= _U(32):
        h = mix_word(h, rest & _MASK)
        rest >>= _U(32)
    h ^= _scramble(rest) ^ (length & _MASK)
    h = ((h ^ (h >> _U(16))) * _U(0x85EBCA6B)) & _MASK
    h = ((h ^ (h >> _U(13))) * _U(0xC2B2AE35)) & _MASK
    return h ^ (h >> _U(16))


def murmur(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """MurmurHash3_x86_32 of text[begin:end]: O(length), and fastest where the text goes on for seven bytes more."""
    h = _U(seed) & _MASK
    k, end = _U(begin), _U(end)
    while k + _U(8) <= end:
        eight = word(text, k)
        h = mix_word(mix_word(h, eight & _MASK), eight >> _U(32))
        k += _U(8)
    bits, rest = (end - k) << _U(3), _U(0)
    if k + _U(8) <= text.size:
        rest = word(text, k) & ((_ONE << bits) - _ONE)
    else:
        for at in range(end - k):
            rest |= _U(text[k + _U(at)]) << (_U(at) << _U(3))
    return finish(h, rest, bits, end - _U(begin))


def name_hash(text: Any, begin: Any, end: Any, seed: Any) -> Any:
    """The number of the name text[begin:end] in a namespace with the hash `seed`."""
    value, k = _U(0), _U(begin)
    while k < _U(end):
        digit = _U(text[k]) - _NOUGHT
        if digit >= _TEN:
            return murmur(text, begin, end, seed)
        value = value * _TEN + digit
        k += _ONE
    return value + _U(seed)


@kernel
def hash_text(text: Any, seed: int) -> int:
    """`name_hash` of a whole text, compiled."""
    return int(name_hash(text, _U(0), _U(text.size), _U(seed)))


def hash_name(name: str, namespace: str = "") -> int:
    """The number of a feature name, before it is taken modulo 2^bits."""
    seed = hash_text(np.frombuffer(namespace.encode(), np.uint8), 0) if namespace else 0
    return hash_text(np.frombuffer(name.encode(), np.uint8), seed)
