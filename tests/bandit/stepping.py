"""Walking all paths of a bandit: what is learnt from each arm, and how likely the path was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowregret.bandit.algorithm import BanditAlgorithm
from lowregret.bandit.loops import taken
from lowregret.bandit.state import SHIFT, BanditState
from lowregret.types import Vector


def started(algorithm: BanditAlgorithm, arms: int) -> BanditState:
    """A fresh state, interpreted."""
    s = BanditState.start(arms, algorithm.room(arms), 0)
    algorithm.begin(s)
    return s


def copied(s: BanditState) -> BanditState:
    return BanditState(*(np.array(part) for part in s))


def policy_of(algorithm: BanditAlgorithm, s: BanditState) -> Vector:
    w = np.empty(s.arms)
    algorithm.policy(s, w)
    return w


def estimates_of(s: BanditState) -> Vector:
    """Ĉ, with the baselines that were taken off."""
    return np.array(s.estimates) + s.sums[SHIFT]


def learnt(algorithm: BanditAlgorithm, s: BanditState, arm: int, p: float, y: float) -> BanditState:
    """The state after a cost; the one given stays."""
    after = copied(s)
    taken(algorithm, after, arm, p, y, algorithm.baseline(after))
    return after


def paths(algorithm: BanditAlgorithm, costs: Vector) -> Iterator[tuple[float, float, BanditState]]:
    """(probability, cost paid, state at the end) of every sequence of arms; costs known at once."""

    def walk(t: int, s: BanditState, chance: float, paid: float) -> Iterator[tuple[float, float, BanditState]]:
        if t == len(costs):
            yield chance, paid, s
            return
        w = policy_of(algorithm, s)
        for arm in range(costs.shape[1]):
            if w[arm] > 0:
                after = learnt(algorithm, s, arm, w[arm], costs[t, arm])
                yield from walk(t + 1, after, chance * w[arm], paid + costs[t, arm])

    yield from walk(0, started(algorithm, costs.shape[1]), 1.0, 0.0)
