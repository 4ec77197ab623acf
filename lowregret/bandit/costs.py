"""Where costs come from in simulations: parts that say what arm i costs in round t, whatever was chosen before."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.random import hash_number, mix, unit
from lowregret.errors import DataError
from lowregret.learner.validate import is_whole, real_numbers


class Costs(Part):
    """An oblivious adversary: `cost(t, arm)` depends on nothing else. A subclass of your own runs compiled too."""

    @abstractmethod
    def cost(self, t: int, arm: int) -> float:
        """The cost of this arm in round t = 0, 1, …"""

    def fits(self, arms: int) -> None:
        """Refuse a number of arms for which there are no costs."""


class CostTable(Costs):
    """costs[t, arm]"""

    costs: Any

    def check(self) -> None:
        table = real_numbers(self.costs, "costs")
        if table.ndim != 2 or table.size == 0:
            raise DataError(f"costs must be a table of rounds × arms, got shape {table.shape}")
        object.__setattr__(self, "costs", table)

    def fits(self, arms: int) -> None:
        if self.costs.shape[1] != arms:
            raise DataError(f"the table has {self.costs.shape[1]} columns, the bandit {arms} arms")

    def cost(self, t: int, arm: int) -> float:
        return self.costs[t, arm]


class BernoulliCosts(Costs):
    """1 with probability means[arm], else 0; the coin of (t, arm) is a hash, the same however often it is looked at."""

    means: Any
    seed: int = 0

    def check(self) -> None:
        means = real_numbers(self.means, "means")
        self.require(
            means.ndim == 1 and means.size > 0 and bool(np.all((means >= 0) & (means <= 1))),
            "means must be a vector of probabilities",
        )
        self.require(is_whole(self.seed), f"seed must be a whole number, not negative, got {self.seed!r}")
        object.__setattr__(self, "means", means)

    def fits(self, arms: int) -> None:
        self.require(self.means.size == arms, f"there are {self.means.size} means, the bandit has {arms} arms")

    def cost(self, t: int, arm: int) -> float:
        coin = unit(mix(hash_number(np.uint64(self.seed), t) ^ hash_number(np.uint64(1), arm)))
        return 1.0 if coin < self.means[arm] else 0.0
