"""Which iterate a learner hands out in the end: the last one, an average, or one drawn at random, in O(nnz) per row.

With w_t = a_t·v_t and only the touched coordinates of v changing, the sum needs care only where it is touched:

    A_t = Σ_{i≤t} c_i a_i,   Σ_{s<i≤t} c_i w_i[j] = (A_t − A_s)·v[j]  while v[j] stays the same

so two extra numbers per coordinate are all it takes: `lag` holds, side by side, the sum up to the round when v[j]
last changed, and A of that round. (Telescoped into one number, A_T v_{T+1} − Σ A_t Δ_t, it would be
a difference of huge numbers wherever a_t decays, as under a ball that always binds.) Where a_t falls far below its
average, A is counted from 0 again for the same reason: O(d), amortised over the rounds that the fall takes.

An iterate that was drawn is kept by copying on writing: its common factor is noted at once, v[j] only when it is about
to change for the first time since. Then `lag` holds that v[j], and the number of the iterate that it belongs to.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.random import hash_number, mix, unit

POSITIVE = 2**63 - 1  # the bits of a seed that say no sign


class Output(Part):
    """A weighting c_t of the iterates."""

    def averages(self) -> bool:
        """Whether past iterates matter."""
        return True

    def replaces(self) -> bool:
        """Whether an iterate of positive weight takes the place of all before it."""
        return False

    @abstractmethod
    def weight(self, t: int) -> float:
        """c_t, t = 1, 2, …"""


class Last(Output):
    """The newest iterate."""

    def averages(self) -> bool:
        return False

    def weight(self, t: int) -> float:
        return 0.0


class Average(Output):
    """(1/T) Σ w_t"""

    def weight(self, t: int) -> float:
        return 1.0


class WeightedAverage(Output):
    """Σ 2(t+1)/(T(T+3)) w_t, the average of THM-14.12"""

    def weight(self, t: int) -> float:
        return t + 1.0


class Random(Output):
    """w_r, r uniform on 1 … T: w_t takes the place of what was kept with probability 1/t, settled by `seed` and t"""

    seed: int = 0

    def check(self) -> None:
        whole = isinstance(self.seed, int) and not isinstance(self.seed, bool)
        self.require(
            whole and -(2**63) <= self.seed < 2**63, f"seed must be a whole number of 64 bits, got {self.seed!r}"
        )

    def replaces(self) -> bool:
        return True

    def weight(self, t: int) -> float:
        return 1.0 if self.coin(t) * t < 1.0 else 0.0

    def coin(self, t: int) -> float:
        """The number in [0, 1) that settles round t."""
        return float(unit(hash_number(mix(np.uint64(self.seed & POSITIVE)), t)))
