"""The counts that risk certificates need, of runs with many classes."""

from __future__ import annotations

import math
from typing import Any

from lowregret.learner.linear import Linear
from lowregret.loss import Loss
from lowregret.mirror import Euclidean
from lowregret.risk.statistics import BLOCK, THRESHOLD, Tally
from lowregret.rows import Rows
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from lowregret.types import Vector


class SameClass(Loss):
    """1 where the class predicted is not the row's own, else 0: it only judges, and is not convex"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (1.0 if p != y else 0.0), 0.0

    def wrong(self, p: float, y: float) -> bool:
        return p != y


_JUDGE = Linear(SameClass(), MirrorDescent(Euclidean(), Constant(1.0)))


class ClassTally(Tally):
    """Classes by number. The bit that is tested for drift is whether the number lies above the mean of the first block:

    what a class's number is was settled by then, or it is above all of them. `composition.py` asks more of them.
    """

    def __init__(self, arrays: dict[str, Any] | None = None) -> None:
        super().__init__(True, arrays)
        if not self.rounds:
            self.sums[THRESHOLD] = math.inf

    @property
    def _warm(self) -> int:
        return BLOCK

    def judge(self, x: Rows, codes: Vector, w: Vector, guesses: Vector, end: int, compiled: bool) -> None:
        """Count the first `end` rows of a batch, which were learnt."""
        self.see(_JUDGE, x, codes, w, guesses, end, compiled)
