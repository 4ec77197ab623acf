"""The contract of bandit algorithms.

    begin(s)                     w_1
    choose(s)                    draw an arm; returns (arm, its probability)
    policy(s, w)                 the present probability of every arm
    learn(s, i, p, y)            arm i was chosen with probability p and cost y ∈ [0, 1], already counted in `counts`

`learn` gets the probability of the time of choosing, so that z = (y/p)e_i stays unbiased however late y comes.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from lowregret.bandit.state import BanditState
from lowregret.compile.part import Part
from lowregret.types import Vector

UNKNOWN = -1.0  # a probability that has no closed form


class BanditAlgorithm(Part):
    """How an arm is chosen from what was seen."""

    name: ClassVar[str]

    @abstractmethod
    def begin(self, s: BanditState) -> None:
        """Set a zero state to the first round's (also to refresh weights from estimates)."""

    @abstractmethod
    def choose(self, s: BanditState) -> tuple[int, float]: ...

    @abstractmethod
    def learn(self, s: BanditState, arm: int, p: float, y: float) -> None: ...

    def room(self, arms: int) -> Vector:
        """Zeros for the weights."""
        return np.zeros(arms)

    def weighs(self) -> bool:
        """Whether costs are divided by their probabilities; then only differences between arms matter."""
        return True

    @abstractmethod
    def policy(self, s: BanditState, w: Vector) -> None:
        """Write the present probability of every arm: O(K)."""
