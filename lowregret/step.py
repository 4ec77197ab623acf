"""Step schedules η_t, from constant to passive-aggressive.

A rule asks `rate` in every round; the certificates ask how the rate was chosen.

The rate of an adaptive schedule depends on the sub-gradients seen: eager rules may use the present one
(`present` = ‖z_t‖²), lazy rules only the past.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

from lowregret.compile.numerics import FAINT
from lowregret.compile.part import Part
from lowregret.state import ENERGY, LOSS, ROUNDS, State


class Step(Part):
    """η_t > 0; a schedule of your own whose rates never grow says so: most theorems need it."""

    constant: ClassVar[bool] = False
    falling: ClassVar[bool] = False  # whether η_t never grows
    facts: ClassVar[dict[str, Any]] = {"constant": False, "falling": False}
    gives: ClassVar[dict[str, str]] = {"falling, constant": "theorems, most of which need rates that never grow"}

    @abstractmethod
    def rate(self, s: State, present: float) -> float:
        """η of the round after `s.counts[ROUNDS]` finished ones."""

    def importance(self, s: State) -> float:
        """c_t, the weight of the round in the regret that the schedule's theorem speaks of."""
        return 1.0

    def weighted(self) -> bool:
        """Whether c_t is not 1 throughout."""
        return False

    def adaptive(self) -> bool:
        """Whether η_t depends on the sub-gradients."""
        return False

    def needs_loss(self) -> bool:
        """Whether η_t depends on the loss of the round, `s.sums[LOSS]`."""
        return False

    def gain(self, eta: float, loss: float, energy: float) -> float:
        """By how much ‖w − u‖² falls for every u without a loss, at least; 0 where the loss is not asked for."""
        return 0.0

    def total_importance(self, rounds: int) -> float:
        """Σ_{t≤T} c_t"""
        return float(rounds)


class Constant(Step):
    """η_t = η"""

    constant: ClassVar[bool] = True
    falling: ClassVar[bool] = True
    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    def rate(self, s: State, present: float) -> float:
        return self.eta


class InverseSqrt(Step):
    """η_t = η/√t"""

    falling: ClassVar[bool] = True
    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    def rate(self, s: State, present: float) -> float:
        return self.eta / math.sqrt(s.counts[ROUNDS] + 1.0)


class InverseTime(Step):
    """η_t = 1/(σt), for σ-strongly convex losses"""

    falling: ClassVar[bool] = True
    sigma: float

    def check(self) -> None:
        _require_positive(self, "sigma", self.sigma)

    def rate(self, s: State, present: float) -> float:
        return 1.0 / (self.sigma * (s.counts[ROUNDS] + 1.0))


class WeightedInverseTime(Step):
    """η_t = 2/(λ(t+1)), with round t counting t+1 times in the regret"""

    falling: ClassVar[bool] = True
    lam: float

    def check(self) -> None:
        _require_positive(self, "lam", self.lam)

    def rate(self, s: State, present: float) -> float:
        return 2.0 / (self.lam * (s.counts[ROUNDS] + 2.0))

    def importance(self, s: State) -> float:
        return s.counts[ROUNDS] + 2.0

    def weighted(self) -> bool:
        return True

    def total_importance(self, rounds: int) -> float:
        return rounds * (rounds + 3) / 2


class Adaptive(Step):
    """η_t = scale/√(Σ‖z_s‖²) over the gradients seen: self-confident, no horizon and no Lipschitz constant needed"""

    falling: ClassVar[bool] = True
    scale: float = 1.0

    def check(self) -> None:
        _require_positive(self, "scale", self.scale)

    def adaptive(self) -> bool:
        return True

    def rate(self, s: State, present: float) -> float:
        energy = s.sums[ENERGY] + present
        return self.scale / math.sqrt(energy) if energy > 0.0 else self.scale


class CountingRounds(Step):
    """The rates of a schedule by rounds, for answers `delay` rounds late: the t-th answer moves with η_{t+delay}

    A schedule alone counts answers. With a fixed delay τ, w_{t+1} = Π(w_t − η_t z_{t−τ}) with η_t = η/√t or 1/(σt) is
    the rule as printed in texts on delay, which let t count the rounds.
    """

    falling: ClassVar[bool] = True
    step: Step
    delay: int

    def check(self) -> None:
        known = isinstance(self.step, (InverseSqrt, InverseTime))
        self.require(known, f"step must be InverseSqrt or InverseTime, whose rates count, got {self.step!r}")
        whole = isinstance(self.delay, int) and 0 <= self.delay < 1 << 60
        self.require(whole, f"delay must be a whole number of rounds, from 0 on, got {self.delay!r}")

    def rate(self, s: State, present: float) -> float:
        s.counts[ROUNDS] += self.delay
        eta = self.step.rate(s, present)
        s.counts[ROUNDS] -= self.delay
        return eta


class Own(Step):
    """Each coordinate has a rate of its own, which its rule knows; the ledger counts it as 1"""

    falling: ClassVar[bool] = True

    def rate(self, s: State, present: float) -> float:
        return 1.0


class PassiveAggressive(Step):
    """η_t = min(C, ℓ_t/‖z_t‖²): as far as the row's loss asks (PA; PA-I with a finite C).

    A row so short that its square lacks digits, or the rate is no number, moves nothing.

    `squared`: ℓ_t/(‖z_t‖² + 1/(2C)), which penalises the squared loss that remains (PA-II). Crammer et al. 2006.
    """

    C: float = math.inf
    squared: bool = False

    def check(self) -> None:
        self.require(self.C > 0, f"C must be a positive number, or inf for none, got {self.C}")
        self.require(not (self.squared and math.inf == self.C), "squared needs a finite C, such as 1.0")

    def needs_loss(self) -> bool:
        return True

    def adaptive(self) -> bool:
        return True

    def rate(self, s: State, present: float) -> float:
        if present < FAINT * FAINT:
            return 0.0
        loss = max(s.sums[LOSS], 0.0)
        if self.squared:
            return loss / (present + 0.5 / self.C)
        eta = min(self.C, loss / present)
        return eta if eta < math.inf else 0.0

    def gain(self, eta: float, loss: float, energy: float) -> float:
        """η(2ℓ − η‖z‖²); PA-II: η(2ℓ − η(‖z‖² + 1/(2C))) = ηℓ"""
        return eta * (2.0 * loss - eta * (energy + (0.5 / self.C if self.squared else 0.0)))


def _require_positive(step: Step, name: str, value: float) -> None:
    step.require(0 < value < math.inf, f"{name} must be a positive number, got {value}")
