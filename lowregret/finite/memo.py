"""What is known of version spaces: Ldim(V) ∈ [low, high], and a column that shows the lower bound.

A hash table of fixed size that forgets. Masks are compared word by word, so a collision costs time, never truth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.finite.bits import mixed
from lowregret.finite.hypotheses import Mask

LOW, HIGH, COLUMN = 0, 1, 2
UNKNOWN = 127  # of an upper bound; 0 marks an empty place
PROBES = 4
LARGEST_BYTES, LARGEST_PLACES = 1 << 28, 1 << 21
_SEED = np.uint64(0x243F6A8885A308D3)


class Memo(NamedTuple):
    """Places for masks and their facts; memory is taken as it is used."""

    masks: Mask  # (places, words)
    facts: NDArray[np.int32]  # (places, 3)

    @classmethod
    def for_masks(cls, hypotheses: int, words: int) -> Memo:
        """As many places as 256 MB hold, and no more than there are subsets."""
        places = min(LARGEST_PLACES, 1 << max((LARGEST_BYTES // (8 * words)).bit_length() - 1, 4))
        places = max(min(places, 1 << min(hypotheses, 40)), PROBES)
        return cls(np.zeros((places, words), np.uint64), np.zeros((places, 3), np.int32))


def place_of(memo: Memo, masks: Any, row: int) -> int:
    """Where the mask is, or −1 − (where it should go): the first empty place, else one that is given up."""
    code = _SEED
    for word in range(masks.shape[1]):
        code = mixed(code, masks[row, word])
    last = np.uint64(memo.facts.shape[0] - 1)
    home = np.int64(code & last)
    for probe in range(PROBES):
        place = (home + probe) & (memo.facts.shape[0] - 1)
        if memo.facts[place, HIGH] == 0:
            return -1 - place
        if same(memo.masks, place, masks, row):
            return place
    return -1 - home


def same(a: Any, i: int, b: Any, j: int) -> bool:
    """Whether a[i] and b[j] are equal."""
    for word in range(a.shape[1]):
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
        memo.facts[place, LOW] = 0
        memo.facts[place, HIGH] = UNKNOWN
    if holds and k > memo.facts[place, LOW]:
        memo.facts[place, LOW] = k
        memo.facts[place, COLUMN] = column
    if not holds and k <= memo.facts[place, HIGH]:
        memo.facts[place, HIGH] = k - 1
