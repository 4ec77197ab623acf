"""A rule whose feedback comes late."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.rule import Rule

LONGEST_DELAY = 1 << 60  # delay, in rounds


class Delayed(Part):
    """A rule that learns z_s, s = 1, 2, …, only after round s + delay was played (ALG-OGD-DELAY), for `play`.

    `delay`: a whole number, or one for each round of the game. For rows see `delayed`.
    """

    rule: Rule
    delay: Any

    def check(self) -> None:
        self.require(
            isinstance(self.rule, Rule), f"rule must be a Rule such as ProjectedGradient(...), got {self.rule!r}"
        )
        self.require(not self.rule.schedule().weighted(), "a schedule that weighs the rounds cannot be delayed")
        delays = np.asarray(self.delay)
        whole = (
            delays.dtype.kind in "iu"
            and delays.ndim <= 1
            and delays.size > 0
            and bool(np.all((delays >= 0) & (delays <= LONGEST_DELAY)))
        )
        self.require(
            whole, f"delay must be a whole number from 0 to {LONGEST_DELAY} or one per round, got {self.delay!r}"
        )
        object.__setattr__(self, "delay", int(delays) if delays.ndim == 0 else delays.astype(np.int64))

    def of_round(self, t: int) -> int:
        """The delay of round t = 1, 2, …"""
        if isinstance(self.delay, int):
            return self.delay
        self.require(t <= self.delay.size, f"round {t} has no delay: give at least {t} of them")
        return int(self.delay[t - 1])
