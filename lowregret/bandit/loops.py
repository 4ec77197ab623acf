"""The compiled loops over rounds: choosing, learning, whole simulations, logs."""

from __future__ import annotations

import math
from typing import Any

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.costs import Costs
from lowregret.bandit.state import CHOICES, COST, COSTS, LATE, LEVEL, LOGGED, MEMORY, SHIFT, BanditState
from lowregret.compile.kernel import kernel
from lowregret.types import Vector


def taken(algorithm: BanditAlgorithm, s: BanditState, arm: int, p: float, y: float, baseline: float) -> None:
    """Book a cost, then learn from it."""
    s.counts[COSTS] += 1
    s.seen[arm] += 1
    s.sums[COST] += y
    s.sums[LEVEL] += (y - s.sums[LEVEL]) / min(s.counts[COSTS], MEMORY)
    if algorithm.weighs():
        s.sums[SHIFT] += baseline
        algorithm.learn(s, arm, p, y - baseline)
    else:
        algorithm.learn(s, arm, p, y)


def is_choice(s: BanditState, arm: int, p: float) -> bool:
    """Whether an algorithm chose one of the arms there are, and what it says of its probability can be one."""
    return 0 <= arm < s.shown.size and (0.0 < p <= 1.0 or p == UNKNOWN)


@kernel
def begin(algorithm: BanditAlgorithm, s: BanditState) -> None:
    """The first round's weights."""
    algorithm.begin(s)


@kernel
def choose_one(algorithm: BanditAlgorithm, s: BanditState) -> tuple[int, float, float]:
    """An arm, its probability, and the baseline of its cost; no number in place of it if that is no choice."""
    baseline = algorithm.baseline(s)
    arm, p = algorithm.choose(s)
    if not is_choice(s, arm, p):
        return arm, p, math.nan
    s.shown[arm] += 1
    s.counts[CHOICES] += 1
    return arm, p, baseline


@kernel
def learn_one(algorithm: BanditAlgorithm, s: BanditState, arm: int, p: float, baseline: float, y: float) -> None:
    """The cost of an arm that was chosen with probability p, when costs had this baseline."""
    taken(algorithm, s, arm, p, y, baseline)


@kernel
def write_policy(algorithm: BanditAlgorithm, s: BanditState, w: Vector) -> None:
    """The present probability of every arm."""
    algorithm.policy(s, w)


@kernel
def play_rounds(
    algorithm: BanditAlgorithm, s: BanditState, costs: Costs, first: int, low: float, high: float, arms: Any, paid: Any
) -> int:
    """Play len(arms) rounds; stops before a cost outside [low, high]. Returns how many were played.

    Stops as well before what is no choice, such as that of no arm; returns −1 less how many were played, and that.
    """
    for k in range(arms.size):
        baseline = algorithm.baseline(s)
        arm, p = algorithm.choose(s)
        if not is_choice(s, arm, p):
            arms[k], paid[k] = arm, p
            return -1 - k
        c = costs.cost(first + k, arm)
        arms[k], paid[k] = arm, c
        if not low <= c <= high:
            return k
        s.shown[arm] += 1
        s.counts[CHOICES] += 1
        taken(algorithm, s, arm, p, (c - low) / (high - low), baseline)
    return arms.size


@kernel
def learn_log(
    algorithm: BanditAlgorithm, s: BanditState, arms: Any, costs: Vector, propensities: Vector, baseline: float
) -> None:
    """Learn from choices that somebody else made with these probabilities."""
    for k in range(arms.size):
        s.shown[arms[k]] += 1
        s.counts[CHOICES] += 1
        s.counts[LOGGED] += 1
        taken(algorithm, s, arms[k], propensities[k], costs[k], baseline)


@kernel
def replay_log(
    algorithm: BanditAlgorithm, s: BanditState, arms: Any, costs: Vector, kept: Any, choices: Any, owed: Vector,
    made: Any, until: int,
) -> int:  # fmt: skip
    """Choose in rows of a uniformly logged file; learn from those where the logged arm is the chosen one.

    Each is learnt once len(owed) more were chosen; till then `choices` holds its arm, probability and baseline, `owed`
    its cost, and `made[0]` counts them. Stops once `until` costs were seen; returns the number of rows done, or −1 less
    these if the next choice is none, which is then the last of `choices`.
    """
    delay = owed.size
    for k in range(arms.size):
        baseline = algorithm.baseline(s)
        arm, p = algorithm.choose(s)
        if not is_choice(s, arm, p):
            choices[-1, 0], choices[-1, 1] = arm, p
            return -1 - k
        kept[k] = arm == arms[k]
        if kept[k]:
            s.shown[arm] += 1
            s.counts[CHOICES] += 1
            y = costs[k]
            if delay > 0:
                at = made[0] % delay
                made[0] += 1
                chosen, chance, level, cost = choices[at, 0], choices[at, 1], choices[at, 2], owed[at]
                choices[at, 0], choices[at, 1], choices[at, 2], owed[at] = arm, p, baseline, y
                if made[0] <= delay:
                    continue
                arm, p, baseline, y = int(chosen), chance, level, cost
                s.counts[LATE] += 1
            taken(algorithm, s, arm, p, y, baseline)
            if s.counts[COSTS] == until:
                return k + 1
    return arms.size
