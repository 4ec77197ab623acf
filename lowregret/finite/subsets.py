"""ALG-VCDIM compiled: do k columns show all 2^k patterns? A depth-first search that stops when its budget is spent.

j columns cut the hypotheses into 2^j classes by what they say there. To grow into k columns, each class must have at
least 2^{k−j} hypotheses; what fails this with few columns fails it with more, so columns once dropped stay dropped. The
smallest class is looked at first: it is the likeliest to fail. Below two columns the hypotheses are put in another
order, class by class, so that a class lies in few words.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.finite.bits import common, ones
from lowregret.finite.hypotheses import BITS, Mask
from lowregret.finite.shatter import DEPTH, NO, OPEN, VERDICT, VISITED, WORK, YES

WANTED, TIGHTEST = 4, 5  # of the ledger, after what it shares with `shatter`: k, and the class likeliest to fail
LEDGER = 6
COUNT, NEXT = 0, 1  # of frames: columns that may come next, and the one being tried
PACKED = 2  # from this depth on, hypotheses are in the order of their classes
_ONE, _TWO = np.uint64(1), np.uint64(2)


class Subsets(NamedTuple):
    """A search under way: the 2^j classes of j columns are masks[2^j : 2^{j+1}], by size."""

    masks: Mask
    sizes: NDArray[np.int64]
    spans: NDArray[np.int64]  # the words in which a class lies, from first to before last
    order: NDArray[np.int64]  # the place of a class before its depth was sorted
    columns: NDArray[np.int64]  # (depths, columns) that may come next
    packed: Mask  # the columns in the order of classes
    places: NDArray[np.int64]  # the hypotheses in that order, and the bits they got
    frames: NDArray[np.int64]
    ledger: NDArray[np.int64]

    @classmethod
    def of(cls, everything: Mask, size: int, columns: int, k: int) -> Subsets:
        """Ask whether k of these columns are shattered."""
        words = everything.size + (1 << PACKED)
        s = cls(
            np.zeros((2 << k, words), np.uint64),
            np.zeros(2 << k, np.int64),
            np.zeros((2 << k, 2), np.int64),
            np.zeros(2 << k, np.int64),
            np.zeros((k + 1, columns), np.int64),
            np.zeros((columns, words), np.uint64),
            np.zeros((2, size), np.int64),
            np.zeros((k + 1, 2), np.int64),
            np.zeros(LEDGER, np.int64),
        )
        s.masks[1, : everything.size], s.sizes[1], s.spans[1] = everything, size, (0, everything.size)
        s.ledger[VERDICT], s.ledger[WANTED], s.ledger[DEPTH] = OPEN, k, -1
        return s

    @property
    def chosen(self) -> list[int]:
        """The columns of a YES."""
        depths = range(int(self.ledger[WANTED]))
        return [int(self.columns[d, self.frames[d, NEXT]]) for d in depths]


@kernel
def advance_subsets(columns: Mask, s: Subsets, budget: int) -> None:
    """Search until the verdict is known, or about `budget` more words have been looked at."""
    end = s.ledger[WORK] + budget
    k = s.ledger[WANTED]
    while s.ledger[VERDICT] == OPEN and s.ledger[WORK] < end:
        depth = s.ledger[DEPTH]
        if depth < 0:
            list_all(columns, s)
        elif s.frames[depth, COUNT] - s.frames[depth, NEXT] < k - depth:
            if depth == 0:
                s.ledger[VERDICT] = NO
            else:
                s.ledger[DEPTH] = depth - 1
                s.frames[depth - 1, NEXT] += 1
        elif depth == k - 1:
            s.ledger[VERDICT] = YES
        else:
            s.ledger[VISITED] += 1
            source = columns if depth < PACKED else s.packed
            list_next(source, s, depth)
            if s.frames[depth + 1, COUNT] < k - depth - 1:
                s.frames[depth, NEXT] += 1
                continue
            split_classes(source, s, depth)
            if depth + 1 == PACKED:
                pack(columns, s)
            s.ledger[DEPTH] = depth + 1


def list_all(columns: Mask, s: Subsets) -> None:
    """The columns that may be in a shattered set at all."""
    count, needed = 0, 1 << (s.ledger[WANTED] - 1)
    for column in range(columns.shape[0]):
        size = common(columns, column, s.masks, 1, 0, columns.shape[1])
        if min(size, s.sizes[1] - size) >= needed:
            s.columns[0, count] = column
            count += 1
    s.frames[0, COUNT], s.frames[0, NEXT] = count, 0
    s.ledger[DEPTH] = 0


def list_next(columns: Mask, s: Subsets, depth: int) -> None:
    """The columns after the one just chosen that may be chosen with it; one is enough at the last depth."""
    k = s.ledger[WANTED]
    count, first, last = 0, s.frames[depth, NEXT] + 1, s.frames[depth, COUNT]
    cut_classes(columns, s, depth)
    for i in range(first, last):
        column = s.columns[depth, i]
        if count + last - i < k - depth - 1:
            break
        if cuts_all(columns, s, depth, column):
            s.columns[depth + 1, count] = column
            count += 1
            if depth + 2 == k:
                break
    s.frames[depth + 1, COUNT], s.frames[depth + 1, NEXT] = count, 0


def cut_classes(columns: Mask, s: Subsets, depth: int) -> None:
    """The part of each class with h(x) = 1, x the column just chosen, into the first half of the next depth."""
    column, start = s.columns[depth, s.frames[depth, NEXT]], 1 << depth
    least = s.sizes[1]
    for c in range(start, 2 * start):
        total = 0
        for word in range(np.uint64(s.spans[c, 0]), np.uint64(s.spans[c, 1])):
            part = s.masks[c, word] & columns[column, word]
            s.masks[c + start, word] = part
            total += ones(part)
        s.sizes[c + start] = total
        smaller = min(total, s.sizes[c] - total)
        if smaller < least:
            least, s.ledger[TIGHTEST] = smaller, c


def cuts_all(columns: Mask, s: Subsets, depth: int, column: int) -> bool:
    """Whether another column leaves 2^{k−depth−2} hypotheses of each label in both parts of every class."""
    start, x = np.uint64(1 << depth), np.uint64(column)
    needed = 1 << (s.ledger[WANTED] - depth - 2)
    if not cuts(columns, s, x, np.uint64(s.ledger[TIGHTEST]), start, needed):
        return False
    for c in range(start, start + start):  # noqa: SIM110  compiled code has no generators
        if not cuts(columns, s, x, c, start, needed):
            return False
    return True


def cuts(columns: Mask, s: Subsets, x: Any, c: Any, start: Any, needed: int) -> bool:
    """Whether the column leaves `needed` hypotheses of each label in both parts of class c.

    Most classes lie in two words, for which a loop would be slow. Indices are unsigned, for speed.
    """
    part = c + start
    first, last = np.uint64(s.spans[c, 0]), np.uint64(s.spans[c, 1])
    within = ones(s.masks[c, first] & columns[x, first])
    both = ones(s.masks[part, first] & columns[x, first])
    if last == first + _TWO:
        within += ones(s.masks[c, first + _ONE] & columns[x, first + _ONE])
        both += ones(s.masks[part, first + _ONE] & columns[x, first + _ONE])
    elif last > first + _TWO:
        within += common(s.masks, c, columns, x, first + _ONE, last)
        both += common(s.masks, part, columns, x, first + _ONE, last)
    s.ledger[WORK] += 2 * (s.spans[c, 1] - s.spans[c, 0])
    rest = s.sizes[c] - s.sizes[part] - within + both
    return both >= needed and s.sizes[part] - both >= needed and within - both >= needed and rest >= needed


def split_classes(columns: Mask, s: Subsets, depth: int) -> None:
    """Cut the classes of a depth by the column chosen there: those of the next depth, the smallest first."""
    column = s.columns[depth, s.frames[depth, NEXT]]
    start = 2 << depth
    for c in range(1 << depth, start):
        count = common(columns, column, s.masks, c, s.spans[c, 0], s.spans[c, 1])
        insert(s, start, 2 * c, s.sizes[c] - count)
        insert(s, start, 2 * c + 1, count)
    for i in range(start, 2 * start):
        child = s.order[i]
        first, last = s.spans[child // 2, 0], s.spans[child // 2, 1]
        s.spans[i, 0], s.spans[i, 1] = first, last
        for word in range(np.uint64(first), np.uint64(last)):
            side = columns[column, word] if child % 2 == 1 else ~columns[column, word]
            s.masks[i, word] = s.masks[child // 2, word] & side


def insert(s: Subsets, start: int, child: int, size: int) -> None:
    """Put a class behind those before it, or in front if it is the smallest so far."""
    i = child
    if child > start and size < s.sizes[start]:
        s.sizes[child], s.order[child] = s.sizes[start], s.order[start]
        i = start
    s.sizes[i], s.order[i] = size, child


def pack(columns: Mask, s: Subsets) -> None:
    """Give each class of the depth PACKED words of its own, and bring the columns in question into that order."""
    rows = word = 0
    for c in range(1 << PACKED, 2 << PACKED):
        s.spans[c, 0], bit = word, 0
        for row in range(s.places.shape[1]):
            if get_bit(s.masks, c, row):
                s.places[0, rows], s.places[1, rows] = row, word * BITS + bit
                rows, bit = rows + 1, bit + 1
                if bit == BITS:
                    word, bit = word + 1, 0
        word += bit > 0
        s.spans[c, 1] = word
    for c in range(1 << PACKED, 2 << PACKED):
        fill_class(s, c)
    for i in range(s.frames[PACKED, COUNT]):
        column = s.columns[PACKED, i]
        for word in range(s.packed.shape[1]):
            s.packed[column, word] = np.uint64(0)
        for place in range(rows):
            if get_bit(columns, column, s.places[0, place]):
                set_bit(s.packed, column, s.places[1, place])
    s.ledger[WORK] += s.frames[PACKED, COUNT] * rows


def fill_class(s: Subsets, c: int) -> None:
    """All hypotheses of a class, in its own words."""
    for word in range(np.uint64(s.spans[c, 0]), np.uint64(s.spans[c, 1])):
        s.masks[c, word] = np.uint64(0)
    for i in range(s.sizes[c]):
        set_bit(s.masks, c, s.spans[c, 0] * BITS + i)


def get_bit(masks: Any, row: int, bit: int) -> bool:
    """Whether hypothesis `bit` is in masks[row]."""
    return (masks[row, bit >> 6] >> np.uint64(bit & 63)) & _ONE != 0


def set_bit(masks: Any, row: int, bit: int) -> None:
    """Put hypothesis `bit` into masks[row]."""
    masks[row, bit >> 6] |= _ONE << np.uint64(bit & 63)
