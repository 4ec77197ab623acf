"""Do the labels look independent? A test that may be looked at as often as one likes.

Labels become bits (above a threshold or not). If rows are drawn independently from one source, the bits are tosses of
one coin, whatever its bias p. For any fixed forecaster Q of bits, Q(bits)/P_p(bits) is then a martingale that begins
with 1, so E = Q(bits)/max_p P_p(bits) ever reaches 1/α with probability at most α. Here Q is a mixture of

- Markov: the coin depends on the bit before (sees that neighbours are alike);
- blocks of 256, 4096, 65536 and 1048576 bits, and of lengths that double: a new coin for each (sees drift),

each coin guessed by Krichevsky and Trofimov's rule, (ones + ½)/(tosses + 1), whose product has a closed form in the
counts. So a round costs an addition; see docs/risk.md for the proof.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.numerics import log_factorial

LENGTHS = (256.0, 4096.0, 65536.0, 1048576.0, 64.0)
DOUBLING = 4  # the level whose length doubles after each block
LEVELS = len(LENGTHS)
DONE, ONES, COUNT, LENGTH = range(4)  # ln Q of the blocks that are full, then the present block
_LOG_PI = math.log(math.pi)


def first_levels() -> Any:
    """The levels before the first bit."""
    levels = np.zeros((LEVELS, 4))
    levels[:, LENGTH] = LENGTHS
    return levels


def kt(ones: float, zeros: float) -> float:
    """ln of ∫ p^ones (1−p)^zeros dp/(π√(p(1−p))) = Γ(ones+½)Γ(zeros+½)/(π Γ(ones+zeros+1))"""
    return log_factorial(ones - 0.5) + log_factorial(zeros - 0.5) - log_factorial(ones + zeros) - _LOG_PI


def close_block(levels: Any, ones: int, bits: int) -> None:
    """Add `bits` observations with `ones` successes to every level."""
    for k in range(LEVELS):
        levels[k, ONES] += ones
        levels[k, COUNT] += bits
        if levels[k, COUNT] >= levels[k, LENGTH]:
            levels[k, DONE] += kt(levels[k, ONES], levels[k, COUNT] - levels[k, ONES])
            levels[k, ONES] = levels[k, COUNT] = 0.0
            if k == DOUBLING:
                levels[k, LENGTH] *= 2.0


def evidence(bits: int, ones: int, both: int, last: int, levels: Any, ones_left: int, bits_left: int) -> float:
    """ln E against independence after `bits` bits, of which `ones` are ones and `both` ones after a one.

    The `last` bit is 0 or 1. The levels lack the latest `bits_left` bits, of which `ones_left` are ones.
    """
    if not bits:
        return 0.0
    after_one = ones - last  # bits that have a one before them; the first has none, which counts as a zero
    markov = kt(both, after_one - both) + kt(ones - both, bits - after_one - (ones - both))
    blocks = []
    for done, in_block, count, _ in levels:
        now = in_block + ones_left
        blocks.append(done + kt(now, count + bits_left - now))
    shares = np.array([markov + math.log(0.5), *(q + math.log(0.5 / LEVELS) for q in blocks)])
    top = float(shares.max())
    best = sum(n * math.log(n / bits) for n in (ones, bits - ones) if n)
    return top + math.log(float(np.sum(np.exp(shares - top)))) - best
