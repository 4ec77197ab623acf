"""The base of runs that choose among arms: choices that wait for their costs, and the costs paid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.bandit.pending_choices import PendingChoices
from lowregret.bandit.state import COST, COSTS, LATE, BanditState
from lowregret.compile.turns import in_turn
from lowregret.run.round_by_round import Recorded
from lowregret.types import Vector

BLOCK = 1 << 10  # rounds whose differences are in memory at once


@dataclass(frozen=True)
class Played:
    """The record of a simulation: arms chosen, costs paid, and the regret where all costs are known."""

    arms: Any
    costs: Vector
    regret: float | None = None


def table_regret(paid: Vector, costs: Any) -> float:
    """max_i Σ_t(paid_t − costs[t, i]): differences of rounds are summed, so that what all arms cost alike cancels."""
    more = np.zeros(costs.shape[1])
    for at in range(0, paid.size, BLOCK):
        more += np.sum(paid[at : at + BLOCK, None] - costs[at : at + BLOCK], axis=0)
    return float(np.max(more))


class Chooser(Recorded):
    """A run that chooses an arm, and later hears what that arm cost. `played` is the record of the latest `learn`."""

    state: BanditState

    def __init__(self, low: float, high: float) -> None:
        super().__init__()
        self.choices: PendingChoices[Any] = PendingChoices(low, high)
        self.played = Played(np.empty(0, np.int64), np.empty(0))

    @in_turn
    def reward(self, number: int, reward: float | None = None, *, cost: float | None = None) -> None:
        """Tell what a choice brought, as a reward or as cost=…, at any time and in any order, once."""
        y = self.choices.cost(reward, cost)
        choice, late = self.choices.settle(number)
        self.state.counts[LATE] += late
        self._settle(choice, y)
        self._mark()

    def _parts(self, rounds: int) -> Iterator[tuple[int, int]]:
        """Where to begin and end learning this many rounds, with a stop wherever a point of the curves is due."""
        begin = 0
        while begin < rounds:
            end = min(rounds, begin + self.history.due - self.rounds)
            yield begin, end
            self._mark()
            begin = end

    @abstractmethod
    def _settle(self, choice: Any, y: float) -> None:
        """Learn the cost of a choice, brought to [0, 1]."""

    @property
    def rounds(self) -> int:
        """Costs seen; choices that still wait for theirs are `pending`."""
        return int(self.state.counts[COSTS])

    @property
    def loss(self) -> float:
        """Σ of the costs paid, in the units told; of rewards r the cost is high + low − r."""
        return self.choices.low * self.rounds + self.unit * float(self.state.sums[COST])

    @property
    def pending(self) -> list[int]:
        """Numbers of the choices whose cost is not known yet."""
        return list(self.choices.pending)

    @property
    def unit(self) -> float:
        """high − low"""
        return self.choices.high - self.choices.low
