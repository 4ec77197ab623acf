"""A memory of version spaces: Ldim(V) ∈ [low, high], and a column that shows the lower bound.

A hash table that forgets: what finds no place near its own takes it from another, and a table half full is replaced by
an empty one, eight times as large, as long as there is memory. Masks are compared word by word, so a collision costs
time, never truth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.finite.bits import mix_word
from lowregret.finite.hypotheses import Mask

LOW, HIGH, COLUMN = 0, 1, 2
UNKNOWN = 127  # of an upper bound; 0 marks an empty place
PROBES = 4
SMALLEST, LARGEST, FACTOR = 1 << 22, 1 << 28, 8  # bytes of masks, and by how much they grow
_SEED = np.uint64(0x243F6A8885A308D3)


class Memo(NamedTuple):
    """Places for masks and their facts."""

    masks: Mask  # (places, words)
    facts: NDArray[np.int32]  # (places, 3)
    used: NDArray[np.int64]  # how many places are taken

    @classmethod
    def empty(cls, hypotheses: int, words: int, size: int = SMALLEST) -> Memo:
        """A memo with as many places as fit into `size` bytes, and no more than there are subsets."""
        fitting = max((size // (8 * words)).bit_length() - 1, PROBES.bit_length())
        places = 1 << min(fitting, max(hypotheses, PROBES.bit_length()))
        return cls(np.zeros((places, words), np.uint64), np.zeros((places, 3), np.int32), np.zeros(1, np.int64))

    def with_room(self, hypotheses: int) -> Memo:
        """This memo, or if it is half full an empty one, larger if it may be."""
        if 2 * self.used[0] <= len(self.masks) or self.masks.nbytes * FACTOR > LARGEST:
            return self
        larger = Memo.empty(hypotheses, self.masks.shape[1], size=self.masks.nbytes * FACTOR)
        return larger if len(larger.masks) > len(self.masks) else self


def place_of(memo: Memo, masks: Any, row: int) -> int:
    """Where the mask is, or −1 − (where it should go): the first empty place, else one that is given up."""
    code = _SEED
    for word in range(masks.shape[1]):
        code = mix_word(code, masks[row, word])
    last = np.uint64(memo.facts.shape[0] - 1)
    home: Any = np.int64(code & last)
    for probe in range(PROBES):
        place = (home + probe) & (memo.facts.shape[0] - 1)
        if memo.facts[place, HIGH] == 0:
            return -1 - place
        if same(memo.masks, place, masks, row):
            return place
    return -1 - home


def same(a: Any, i: int, b: Any, j: int) -> bool:
    """Whether a[i] and b[j] are equal."""
    for word in range(a.shape[1]):  # noqa: SIM110  compiled code has no generators
        if a[i, word] != b[j, word]:
            return False
    return True


def learn_fact(memo: Memo, masks: Any, row: int, k: int, holds: bool, column: int) -> None:
    """Ldim(V) ≥ k, as `column` shows, or not."""
    place = place_of(memo, masks, row)
    if place < 0:
        place = -1 - place
        for word in range(masks.shape[1]):
            memo.masks[place, word] = masks[row, word]
        memo.used[0] += memo.facts[place, HIGH] == 0
        memo.facts[place, LOW] = 0
        memo.facts[place, HIGH] = UNKNOWN
    if holds and k > memo.facts[place, LOW]:
        memo.facts[place, LOW] = k
        memo.facts[place, COLUMN] = column
    if not holds and k <= memo.facts[place, HIGH]:
        memo.facts[place, HIGH] = k - 1
