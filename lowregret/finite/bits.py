"""Counting in masks, compiled. Words are uint64 throughout; counts are int64."""

from __future__ import annotations

from typing import Any

import numpy as np

_SHIFTS = (np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56))
_HALVES, _QUARTERS, _NIBBLES, _BYTES = (
    np.uint64(0x5555555555555555),
    np.uint64(0x3333333333333333),
    np.uint64(0x0F0F0F0F0F0F0F0F),
    np.uint64(0x0101010101010101),
)
_MIXER, _DOWN = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)


def ones(word: Any) -> int:
    """Set bits of a word; the optimiser knows this way of counting and has an instruction for it."""
    word = word - ((word >> _SHIFTS[0]) & _HALVES)
    word = (word & _QUARTERS) + ((word >> _SHIFTS[1]) & _QUARTERS)
    word = (word + (word >> _SHIFTS[2])) & _NIBBLES
    return np.int64((word * _BYTES) >> _SHIFTS[3])  # type: ignore[return-value]


def common(a: Any, i: int, b: Any, j: int, first: Any, last: Any) -> int:
    """|a[i] ∧ b[j]|, both looked at from word `first` to before `last`."""
    total = 0
    for word in range(np.uint64(first), np.uint64(last)):  # a signed index might count from the end: slower
        total += ones(a[i, word] & b[j, word])
    return total


def mix_word(code: Any, word: Any) -> Any:
    """The hash of a mask, one word further."""
    code = (code ^ word) * _MIXER
    return code ^ (code >> _DOWN)


def sort_falling(keys: Any, row: int, count: int) -> None:
    """Heap sort of keys[row, :count], the largest first: O(c log c) without memory."""
    for start in range(count // 2 - 1, -1, -1):
        _sink(keys, row, start, count)
    for end in range(count - 1, 0, -1):
        keys[row, 0], keys[row, end] = keys[row, end], keys[row, 0]
        _sink(keys, row, 0, end)


def _sink(keys: Any, row: int, start: int, end: int) -> None:
    """Restore the heap, the smallest on top, below `start`."""
    parent = start
    while 2 * parent + 1 < end:
        child = 2 * parent + 1
        if child + 1 < end and keys[row, child + 1] < keys[row, child]:
            child += 1
        if keys[row, parent] <= keys[row, child]:
            return
        keys[row, parent], keys[row, child] = keys[row, child], keys[row, parent]
        parent = child
