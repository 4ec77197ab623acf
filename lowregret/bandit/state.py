"""The state of a bandit from round to round: numbers per arm, running sums, counters, its place in the coins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.random import new_chance
from lowregret.types import Cells, Vector

# ---- sums[...]; y_t is the cost in [0, 1], p_t its arm's probability when chosen, z_t the estimate of all costs,
# v_t the weight of that arm when the cost arrives: v_t = p_t unless the cost is late ----------------------------------
BANDIT_SUM_NAMES = ("cost", "linear", "local", "base", "shift", "level", "least", "blur")
COST = 0  # Σ y_t
LINEAR = 1  # Σ ⟨v_t, z_t⟩
LOCAL = 2  # Σ of the algorithm's local norm of z_t
BASE = 3  # exponential weights are relative to this estimated cost
SHIFT = 4  # Σ b_t of the baselines taken off the costs: estimated costs of all arms are short of it
LEVEL = 5  # a running mean of costs, about that of the latest `MEMORY`
LEAST = 6  # of weights that arms are drawn by: none is below this
BLUR = 7  # Σ of the sizes of all that was rounded, each as often as it counts (`algorithm.blur`)
BANDIT_SUMS = len(BANDIT_SUM_NAMES)

# ---- counts[...] -----------------------------------------------------------------------------------------------------
BANDIT_COUNT_NAMES = ("choices", "costs", "late", "clamped", "logged")
CHOICES = 0
COSTS = 1  # choices whose cost is known, and rows learnt from a log
LATE = 2  # costs that came after a later choice
CLAMPED = 3  # probabilities raised to SMALLEST
LOGGED = 4  # costs of choices that somebody else made
BANDIT_COUNTS = len(BANDIT_COUNT_NAMES)

SMALLEST = 1e-300  # a probability, so that dividing by it stays finite
LARGEST = 1e300  # an estimated cost
MEMORY = 100  # costs that the running mean looks back on, about


class BanditState(NamedTuple):
    """The carried arrays."""

    estimates: Cells  # per arm: estimated cumulative cost Ĉ, or the sum of costs seen
    weights: Cells  # per arm: what it is drawn by; a sum tree where only one weight changes a round
    shown: Any  # per arm: how often it was chosen
    seen: Any  # per arm: how often its cost was seen
    sums: Vector
    counts: Any
    chance: Any

    @classmethod
    def start(cls, arms: int, weights: Vector, seed: int) -> BanditState:
        """Nothing has been seen."""
        return cls(
            np.zeros(arms),
            weights,
            np.zeros(arms, np.int64),
            np.zeros(arms, np.int64),
            np.zeros(BANDIT_SUMS),
            np.zeros(BANDIT_COUNTS, np.int64),
            new_chance(seed),
        )

    @property
    def arms(self) -> int:
        return int(self.estimates.size)
