"""Which iterate a learner hands out in the end: the last one, or an average kept in O(nnz) per row.

With w_t = a_t·v_t and only the touched coordinates of v changing, v_{t+1} = v_t + Δ_t, and A_t = Σ_{i≤t} c_i a_i:

    Σ_{t≤T} c_t w_t = A_T v_{T+1} − Σ_{t≤T} A_t Δ_t                              (theory.md §0)

so one extra number per coordinate (`lag` = Σ A_t Δ_t) and two scalars are all it takes.
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
