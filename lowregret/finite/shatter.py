"""ALG-LDIM compiled: is Ldim(V) ≥ k? A depth-first search that stops when its budget is spent, and goes on later.

Ldim(V) ≥ k iff some column x splits V into halves with Ldim ≥ k − 1 both, which needs 2^{k−1} hypotheses in each. The
hypotheses are distinct, so Ldim(V) ≥ 1 iff |V| ≥ 2. Columns come most balanced first, and the smaller half is tried
first; a column that is constant on V, or splits it as another does (perhaps complemented), is dropped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.finite.bits import common, mix_word, ones, sort_falling
from lowregret.finite.hypotheses import Mask
from lowregret.finite.memo import COLUMN, HIGH, LOW, Memo, learn_fact, place_of

OPEN, YES, NO = -1, 1, 0  # verdicts

# ---- frames[depth, ...] ---------------------------------------------------------------------------------------------
WANTED = 0  # k
SIZE = 1  # |V|
OWN = 2  # columns, of keys[depth], that may split V
WIDE = 3  # columns that may be of use here or further down: those, and more behind them
NEXT = 4  # the column being tried
STAGE = 5
FIRST, LAST = 6, 7  # V has bits only in words from first to before last
FRAME = 8
FRESH, SMALLER, LARGER = 0, 1, 2  # stages: which half is being tried

# ---- ledger[...] ----------------------------------------------------------------------------------------------------
DEPTH, VERDICT = 0, 1
WORK = 2  # words looked at
VISITED = 3  # version spaces looked at
WITNESS = 4  # a column that shows YES
LEDGER = 5

# A key is |smaller half|, 24 bits of the split's hash, and the column, from high to low.
LARGEST = 1 << 20  # hypotheses or points, less one
_SIZE_SHIFT, _HASH_SHIFT, _HASH_DOWN = np.uint64(44), np.uint64(20), np.uint64(40)
_COLUMN_BITS = np.uint64(LARGEST - 1)
_ZERO, _ONE, _SEED = np.uint64(0), np.uint64(1), np.uint64(0x13198A2E03707344)


class Stack(NamedTuple):
    """A search under way."""

    masks: Mask  # (depths, words)
    keys: NDArray[np.uint64]  # (depths, columns)
    frames: NDArray[np.int64]
    ledger: NDArray[np.int64]

    @classmethod
    def empty(cls, depths: int, words: int, columns: int) -> Stack:
        """Memory for searches of this depth."""
        return cls(
            np.zeros((depths, words), np.uint64),
            np.zeros((depths, columns), np.uint64),
            np.zeros((depths, FRAME), np.int64),
            np.zeros(LEDGER, np.int64),
        )

    def begin(self, mask: Mask, k: int) -> None:
        """Ask a new question."""
        self.masks[0] = mask
        self.frames[0] = 0
        self.frames[0, WANTED] = k
        self.ledger[:] = 0
        self.ledger[VERDICT] = OPEN


@kernel
def advance(columns: Mask, memo: Memo, s: Stack, budget: int) -> None:
    """Search until the verdict is known, or about `budget` more words have been looked at."""
    end = s.ledger[WORK] + budget
    while s.ledger[VERDICT] == OPEN and s.ledger[WORK] < end:
        depth = s.ledger[DEPTH]
        if s.frames[depth, STAGE] == FRESH:
            s.ledger[VISITED] += 1
            verdict = enter(columns, memo, s, depth)
        else:
            verdict = try_half(columns, s, depth)
        if verdict != OPEN:
            settle(memo, s, depth, verdict)


def enter(columns: Mask, memo: Memo, s: Stack, depth: int) -> int:
    """Decide at once if possible; else list the columns that may split V."""
    k = s.frames[depth, WANTED]
    measure(s, depth)
    if s.frames[depth, SIZE] < (1 << k):
        return NO
    if k == 1 and depth > 0:
        return YES
    if k > 2:
        place = place_of(memo, s.masks, depth)
        if place >= 0 and memo.facts[place, LOW] >= k:
            s.ledger[WITNESS] = memo.facts[place, COLUMN]
            return YES
        if place >= 0 and memo.facts[place, HIGH] < k:
            return NO
    list_columns(columns, s, depth)
    if s.frames[depth, OWN] == 0:
        if k > 2:
            learn_fact(memo, s.masks, depth, k, False, 0)
        return NO
    s.ledger[WITNESS] = column_of(s.keys[depth, 0])
    if k <= 2:
        return YES
    s.frames[depth, NEXT] = 0
    s.frames[depth, STAGE] = SMALLER
    return OPEN


def measure(s: Stack, depth: int) -> None:
    """|V|, and between which words it lies."""
    total, first, last = 0, s.masks.shape[1], 0
    for word in range(s.masks.shape[1]):
        if s.masks[depth, word] != _ZERO:
            total += ones(s.masks[depth, word])
            first, last = min(first, word), word + 1
    s.frames[depth, SIZE], s.frames[depth, FIRST], s.frames[depth, LAST] = total, first, last


def list_columns(columns: Mask, s: Stack, depth: int) -> None:
    """Fill keys[depth] from the columns of the depth above: first the OWN ones, the most balanced first.

    Halves only shrink on the way down: a key's size bounds what the column can do, and is found anew only where that
    would be enough. For k ≤ 2 the first column found will do.
    """
    k, size = s.frames[depth, WANTED], s.frames[depth, SIZE]
    needed = 1 << (k - 1)
    above = columns.shape[0] if depth == 0 else s.frames[depth - 1, WIDE]
    wide = own = 0
    for i in range(above):
        key = (np.uint64(size) << _SIZE_SHIFT) | np.uint64(i) if depth == 0 else s.keys[depth - 1, i]
        smaller: Any = np.int64(key >> _SIZE_SHIFT)
        if smaller >= needed:
            smaller, key = split(columns, column_of(key), s, depth)
        if smaller >= needed:
            s.keys[depth, wide] = s.keys[depth, own]
            s.keys[depth, own] = key
            own += 1
            wide += 1
        elif smaller > 1:
            s.keys[depth, wide] = key
            wide += 1
        if own > 0 and k <= 2:
            break
    s.frames[depth, WIDE], s.frames[depth, OWN] = wide, own
    if k > 2 and own > 0:
        sort_falling(s.keys, depth, own)
        drop_repeats(columns, s, depth)


def split(columns: Mask, column: int, s: Stack, depth: int) -> tuple[int, Any]:
    """The size of V's smaller half, and the column's key: O(words)."""
    first, last = s.frames[depth, FIRST], s.frames[depth, LAST]
    count = common(columns, column, s.masks, depth, first, last)
    s.ledger[WORK] += last - first + 1
    smaller = min(count, s.frames[depth, SIZE] - count)
    code = _ZERO
    if s.frames[depth, WANTED] > 2 and smaller >= 1 << (s.frames[depth, WANTED] - 1):
        code = split_code(columns, column, s, depth)
    return smaller, (np.uint64(smaller) << _SIZE_SHIFT) | (code << _HASH_SHIFT) | np.uint64(column)


def split_code(columns: Mask, column: int, s: Stack, depth: int) -> Any:
    """24 bits of a hash of how a column splits V, the same for its complement."""
    first, last = s.frames[depth, FIRST], s.frames[depth, LAST]
    lowest = s.masks[depth, first] & (~s.masks[depth, first] + _ONE)
    turned = (columns[column, first] & lowest) != _ZERO
    code = _SEED
    for word in range(np.uint64(first), np.uint64(last)):
        side = ~columns[column, word] if turned else columns[column, word]
        code = mix_word(code, side & s.masks[depth, word])
    return code >> _HASH_DOWN


def drop_repeats(columns: Mask, s: Stack, depth: int) -> None:
    """Keep one of neighbouring columns that split V alike."""
    kept = 0
    own, wide = s.frames[depth, OWN], s.frames[depth, WIDE]
    for i in range(wide):
        key = s.keys[depth, i]
        before = s.keys[depth, max(kept - 1, 0)]
        close = 0 < i < own and (key >> _HASH_SHIFT) == (before >> _HASH_SHIFT)
        if close and alike(columns, column_of(key), column_of(before), s, depth):
            s.frames[depth, OWN] -= 1
            continue
        s.keys[depth, kept] = key
        kept += 1
    s.frames[depth, WIDE] = kept


def alike(columns: Mask, a: int, b: int, s: Stack, depth: int) -> bool:
    """Whether two columns are equal, or complementary, on V."""
    equal = complementary = True
    for word in range(np.uint64(s.frames[depth, FIRST]), np.uint64(s.frames[depth, LAST])):
        differ = (columns[a, word] ^ columns[b, word]) & s.masks[depth, word]
        equal = equal and differ == _ZERO
        complementary = complementary and differ == s.masks[depth, word]
    return equal or complementary


def try_half(columns: Mask, s: Stack, depth: int) -> int:
    """Go down into a half of V, or say NO if all columns have failed."""
    if s.frames[depth, NEXT] == s.frames[depth, OWN]:
        return NO
    column = column_of(s.keys[depth, s.frames[depth, NEXT]])
    count = common(columns, column, s.masks, depth, s.frames[depth, FIRST], s.frames[depth, LAST])
    ones_are_fewer = 2 * count < s.frames[depth, SIZE]
    with_ones = ones_are_fewer == (s.frames[depth, STAGE] == SMALLER)
    for word in range(s.masks.shape[1]):
        side = columns[column, word] if with_ones else ~columns[column, word]
        s.masks[depth + 1, word] = s.masks[depth, word] & side
    s.frames[depth + 1, WANTED] = s.frames[depth, WANTED] - 1
    s.frames[depth + 1, STAGE] = FRESH
    s.ledger[DEPTH] = depth + 1
    return OPEN


def settle(memo: Memo, s: Stack, depth: int, verdict: int) -> None:
    """Take a verdict up the stack, as far as it decides."""
    while True:
        k = s.frames[depth, WANTED]
        if k > 2 and s.frames[depth, STAGE] != FRESH:
            s.ledger[WITNESS] = column_of(s.keys[depth, min(s.frames[depth, NEXT], s.frames[depth, WIDE] - 1)])
            learn_fact(memo, s.masks, depth, k, verdict == YES, s.ledger[WITNESS])
        if depth == 0:
            s.ledger[VERDICT] = verdict
            return
        depth -= 1
        s.ledger[DEPTH] = depth
        if verdict == NO:
            s.frames[depth, NEXT] += 1
            s.frames[depth, STAGE] = SMALLER
            return
        if s.frames[depth, STAGE] == SMALLER:
            s.frames[depth, STAGE] = LARGER
            return


def column_of(key: Any) -> int:
    """The column in a key."""
    return np.int64(key & _COLUMN_BITS)  # type: ignore[return-value]
