"""The doubling trick: a player that restarts in blocks of doubling length, tuned for each."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.rule import Rule
from lowregret.step import Constant


class Doubling(Part):
    """Restart `base` in blocks of 1, 2, 4, … rounds, tuned for the length of each (ALG-DOUBLING).

    `base` is a rule, or a learner of rows, with a step `Constant(c)`, where c is the best η for a single round; a block
    of n rounds takes η = c/√n, as the tuned rates of all a/η + bηΣ‖z_t‖² do. Override `block` for other tunings.
    """

    base: Any

    def check(self) -> None:
        self.require(
            isinstance(self.base, Rule | Linear),
            f"base must be a rule or learner such as zoo.ogd_eager(Hinge(), eta=1.0), got {self.base!r}",
        )
        step = getattr(self.rule, "step", None)
        self.require(isinstance(step, Constant), f"only a Constant step is tuned for a horizon, not {step!r}")

    @property
    def rule(self) -> Rule:
        return self.base.rule if isinstance(self.base, Linear) else self.base

    def block(self, rounds: int) -> Any:
        """The base tuned for this many rounds."""
        rule: Any = self.rule
        tuned = replace(rule, step=Constant(rule.step.eta / math.sqrt(rounds)))
        return replace(self.base, rule=tuned) if isinstance(self.base, Linear) else tuned


def block_of(t: int) -> int:
    """The block m of round t = 1, 2, …: 2^m ≤ t < 2^(m+1)."""
    if t < 1:
        raise PartError(f"rounds count from 1, got {t}")
    return t.bit_length() - 1
