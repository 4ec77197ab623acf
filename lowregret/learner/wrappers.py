"""Players made of players: one whose feedback comes late, one that restarts in blocks of doubling length."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.rule import Rule
from lowregret.step import Constant

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
