"""Step schedules η_t. A rule asks `rate` in every round; the certificates ask how the rate was chosen.

The rate of an adaptive schedule depends on the sub-gradients seen: eager rules may use the present one
(`present` = ‖z_t‖²), lazy rules only the past.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from lowregret.part import Part
from lowregret.state import ENERGY, ROUNDS, State


class Step(Part):
    """η_t > 0, non-increasing in t."""

    constant: ClassVar[bool] = False

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

    def total_importance(self, rounds: int) -> float:
        """Σ_{t≤T} c_t"""
        return float(rounds)


class Constant(Step):
    """η_t = η"""

    constant: ClassVar[bool] = True
    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    def rate(self, s: State, present: float) -> float:
        return self.eta


class InverseSqrt(Step):
    """η_t = η/√t"""

    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    def rate(self, s: State, present: float) -> float:
        return self.eta / math.sqrt(s.counts[ROUNDS] + 1.0)


class InverseTime(Step):
    """η_t = 1/(σt), for σ-strongly convex losses"""

    sigma: float

    def check(self) -> None:
        _require_positive(self, "sigma", self.sigma)

    def rate(self, s: State, present: float) -> float:
        return 1.0 / (self.sigma * (s.counts[ROUNDS] + 1.0))


class WeightedInverseTime(Step):
    """η_t = 2/(λ(t+1)), with round t counting t+1 times in the regret"""

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

    scale: float = 1.0

    def check(self) -> None:
        _require_positive(self, "scale", self.scale)

    def adaptive(self) -> bool:
        return True

    def rate(self, s: State, present: float) -> float:
        energy = s.sums[ENERGY] + present
        return self.scale / math.sqrt(energy) if energy > 0.0 else self.scale


def _require_positive(step: Step, name: str, value: float) -> None:
    step.require(0 < value < math.inf, f"{name} must be a positive number, got {value}")
