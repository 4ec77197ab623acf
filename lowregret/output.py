"""Which iterate a learner hands out in the end: the last one, or an average kept in O(nnz) per row.

With w_t = a_t·v_t and only the touched coordinates of v changing, the sum needs care only where it is touched:

    A_t = Σ_{i≤t} c_i a_i,   Σ_{s<i≤t} c_i w_i[j] = (A_t − A_s)·v[j]  while v[j] stays the same

so two extra numbers per coordinate are all it takes: `lag` holds, side by side, the sum up to the round when v[j]
last changed, and A of that round. (Telescoped into one number as in theory.md §0, A_T v_{T+1} − Σ A_t Δ_t, it would be
a difference of huge numbers wherever a_t decays, as under a ball that always binds.) Where a_t falls far below its
average, A is counted from 0 again for the same reason: O(d), amortised over the rounds that the fall takes.
"""

from __future__ import annotations

from abc import abstractmethod

from lowregret.part import Part


class Output(Part):
    """A weighting c_t of the iterates."""

    def averages(self) -> bool:
        """Whether past iterates matter."""
        return True

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
