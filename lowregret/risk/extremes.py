"""Do labels lie beyond all those of an earlier block more often than chance allows?

A frame takes the least and the largest of 64 labels, and counts later ones below and above. If labels are independent
and alike, the chance θ that one lies above the largest of 64 others was drawn from the Beta(1, 64) distribution where
no two labels are equal, and from a smaller one where some are. A bet that θ was drawn uniformly wins what

    E = ∫ θ^s (1−θ)^(m−s) dθ / ∫ θ^s (1−θ)^(m−s) 64(1−θ)^63 dθ        (s of m labels lie above)

says, which never falls if another label lies above: so the smaller θ wins no more, and E stays below 1/α for ever with
probability 1 − α. The same for labels below. See docs/risk.md.

One frame keeps the first block for ever; another begins again after 128, 256, 512, … labels, with a block of its own,
so that a few odd labels in the beginning hide nothing. A frame bets half of what it has, a quarter on either side.
Regressions are tested so, and not classes, whose numbers rise as they are first met.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.numerics import log_factorial
from lowregret.types import Vector

BLOCK = 64  # labels
FIRST = 128  # labels before the second frame begins again
SEEN, LENGTH, LOW, HIGH, BELOW, ABOVE, DONE = range(7)  # labels (below 0: as many are skipped), …, ln E of full frames
FIELDS = 7
FRAMES = 2


def first_frames() -> Any:
    """The frames before the first label."""
    frames = np.zeros((FRAMES, FIELDS))
    frames[:, LENGTH], frames[:, LOW], frames[:, HIGH] = (math.inf, FIRST), math.inf, -math.inf
    return frames


def count_extremes(frames: Any, y: Vector, begin: int, end: int) -> None:
    """Show labels of one block to every frame."""
    for k in range(FRAMES):
        low, high, below, above = frames[k, LOW], frames[k, HIGH], 0, 0
        if frames[k, SEEN] >= BLOCK:
            for i in range(np.uint64(begin), np.uint64(end)):
                below += y[i] < low
                above += y[i] > high
            frames[k, BELOW] += below
            frames[k, ABOVE] += above
        elif frames[k, SEEN] >= 0:
            for i in range(np.uint64(begin), np.uint64(end)):
                low, high = min(low, y[i]), max(high, y[i])
            frames[k, LOW], frames[k, HIGH] = low, high
        frames[k, SEEN] += end - begin


def end_frames(frames: Any) -> None:
    """Begin frames again that are full, twice as long, now that a block has ended."""
    for k in range(FRAMES):
        if frames[k, SEEN] >= frames[k, LENGTH]:
            frames[k, DONE] += bet(frames[k])
            frames[k, LENGTH] *= 2.0
            frames[k, LOW], frames[k, HIGH] = math.inf, -math.inf
            frames[k, SEEN] = frames[k, BELOW] = frames[k, ABOVE] = 0.0


def beyond(count: float, tested: float) -> float:
    """ln E where `count` of the labels tested lie beyond those of a block, on one side."""
    within = tested - count
    found = log_factorial(within) - log_factorial(tested + 1.0)
    return found - log_factorial(within + BLOCK - 1.0) + log_factorial(tested + BLOCK) - math.log(BLOCK)


def bet(frame: Any) -> float:
    """ln of what is left of 1 in a frame: half is kept, a quarter bet on either side."""
    tested = frame[SEEN] - BLOCK
    if tested <= 0.0:
        return 0.0
    below, above = beyond(frame[BELOW], tested), beyond(frame[ABOVE], tested)
    top = max(below, above, 0.0)
    return top + math.log(0.5 * math.exp(-top) + 0.25 * math.exp(below - top) + 0.25 * math.exp(above - top))


def extremes_evidence(frames: Any) -> float:
    """ln E against independent labels: the mean of what the frames won."""
    won = [float(frame[DONE] + bet(frame)) for frame in frames]
    top = max(won)
    return top + math.log(sum(math.exp(one - top) for one in won) / FRAMES)
