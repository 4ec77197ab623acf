"""Rules that treat each coordinate on its own: w_t[j] depends on the sub-gradients that coordinate j has seen alone.

So a row costs O(nnz) whatever the geometry of the others, rows without a feature leave it alone, and permuting features
permutes weights. Regret is a sum over coordinates, and so are its bounds.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.domain import Domain, Reals
from lowregret.rule.base import WIDEST, Rule
from lowregret.state import ENERGY, FIRST_RATE, LARGEST, LAST_RATE, LINEAR, ROUNDS, STEPPED, WEIGHT, State
from lowregret.step import Own, Step
from lowregret.types import Index, Vector, cell


def keeps_weights(rule: Rule) -> bool:
    """Whether a rule keeps the weights themselves, in a column of the table."""
    return isinstance(rule, PerCoordinate) and type(rule).raw is PerCoordinate.raw


def largest_kept(cells: Vector) -> float:
    """max |w[j]| of coordinates that have these rows of the table, where weights are kept: O(n)."""
    return float(np.max(np.abs(cells[:, int(WEIGHT)]), initial=0.0))


class PerCoordinate(Rule):
    """The books of a round, the same for all; its running sums begin with ‖z_t‖²."""

    @property
    def domain(self) -> Domain:
        return Reals()

    def fits(self, d: int) -> None:
        """Any dimension will do."""

    def width(self) -> int:
        return 4

    def costs_dimension(self) -> bool:
        return False

    def schedule(self) -> Step:
        return Own()

    def weighted(self) -> bool:
        return False

    def importance(self, s: State) -> float:
        return 1.0

    def begin(self, s: State) -> None:
        """w_1 = 0"""

    def scale(self, s: State) -> float:
        return 1.0

    def raw(self, s: State, j: Index) -> float:
        return s.table[cell(j, self.width()) + WEIGHT]

    def idle(self, s: State) -> None:
        s.counts[ROUNDS] += 1

    @abstractmethod
    def fold(self, s: State, round_sums: Any) -> None:
        """Add the round's running sums to the state."""

    def settle(self, s: State, inner: float, entries: int, round_sums: Any) -> None:
        self.enter(s, inner, round_sums[0])
        s.sums[WIDEST] = max(s.sums[WIDEST], self.widest(round_sums))
        self.fold(s, round_sums)

    def reckon(self, s: State, inner: float, square: float, eta: float) -> None:
        self.enter(s, inner, square)

    def enter(self, s: State, inner: float, square: float) -> None:
        """Add a round to the sums that all rules keep."""
        if square > 0.0:
            s.sums[FIRST_RATE] = s.sums[LAST_RATE] = 1.0
        s.sums[LINEAR] += inner
        s.sums[ENERGY] += square
        s.sums[STEPPED] += square
        s.sums[LARGEST] = max(s.sums[LARGEST], square)
        s.counts[ROUNDS] += 1
