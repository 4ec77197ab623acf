"""EXP4: arms by the advice of experts, each of whom names a distribution over the arms in every round."""

from __future__ import annotations

import math
import os
from typing import Any, Self

import numpy as np

from lowregret.bandit.bandit import Played
from lowregret.bandit.pending_choices import Desk
from lowregret.bandit.proof import exp3_expected, exp3_path, scaled
from lowregret.bandit.schema import Exp4Schema
from lowregret.bandit.state import CHOICES, COST, COSTS, LARGEST, LATE, LINEAR, LOCAL, BanditState
from lowregret.bandit.tsallis import drawn
from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import uniform
from lowregret.errors import DataError, PartError
from lowregret.store.file import Arrays, Saved
from lowregret.types import Vector
from lowregret.words import counted

SUM_TOLERANCE = 1e-6  # of a distribution


class Exp4(Saved):
    """q ∝ e^{−ηĈ} over N experts; draw i ~ p = Σ_n q_n·advice_n; Ĉ[n] += advice_n[i]·y/p_i (Auer et al. 2002).

    O(NK) a round. E cost ≤ least expected cost of an expert + ln N/η + ηKT/2.
    """

    kind = "exp4"
    schema = Exp4Schema()

    def __init__(
        self, experts: int, arms: int, eta: float, *, seed: int = 0, low: float = 0.0, high: float = 1.0,
        compiled: bool = True,
    ) -> None:  # fmt: skip
        if experts < 1 or arms < 1 or not 0 < eta < math.inf:
            raise PartError(f"EXP4 needs experts and arms ≥ 1 and eta > 0, got {experts}, {arms}, {eta}")
        self.arms, self.eta, self.compiled = arms, float(eta), compiled
        self.desk: Desk[tuple[int, float, Vector]] = Desk(low, high)
        self.state = BanditState.start(experts, np.full(experts, 1 / experts), seed)

    def choose(self, advice: Any) -> tuple[int, int]:
        """(number of the choice, arm), from a table of experts × arms whose rows are distributions."""
        table = self._advice(advice, 2)
        p = np.empty(self.arms)
        arm = int(call(choose_advised, self.compiled, self.state, table, p))
        return self.desk.issue((arm, float(p[arm]), table[:, arm].copy())), arm

    def reward(self, number: int, reward: float | None = None, *, cost: float | None = None) -> None:
        """Tell what a choice brought, as a reward or as cost=…, at any time and in any order, once."""
        y = self.desk.cost(reward, cost)
        (_, p, column), late = self.desk.settle(number)
        self.state.counts[LATE] += late
        call(learn_advised, self.compiled, self.state, self.eta, column, p, y)

    def play(self, costs: Any, advice: Any) -> Played:
        """Play a table of costs (rounds × arms) with advice (rounds × experts × arms), compiled."""
        table, told = np.ascontiguousarray(costs, float), self._advice(advice, 3)
        if table.shape != (len(told), self.arms):
            raise DataError(f"costs must be {len(told)} rounds × {self.arms} arms, got {table.shape}")
        if not np.all((table >= self.desk.low) & (table <= self.desk.high)):
            raise DataError(f"costs must lie between {self.desk.low:g} and {self.desk.high:g}")
        arms = np.empty(len(table), np.int64)
        y = (table - self.desk.low) / (self.desk.high - self.desk.low)
        call(play_advised, self.compiled, self.state, self.eta, told, y, arms, np.empty(self.arms))
        self.desk.skip(len(table))
        paid = table[np.arange(len(table)), arms]
        of_experts = np.einsum("tnk,tk->n", told, table)
        return Played(arms, paid, float(np.sum(paid) - np.min(of_experts)))

    @property
    def weights(self) -> Vector:
        """How much each expert counts now."""
        return np.array(self.state.weights)

    @property
    def rounds(self) -> int:
        return int(self.state.counts[COSTS])

    @property
    def certificates(self) -> list[Certificate]:
        """EXP4-PATH on this run, against experts' estimated costs; EXP4 in expectation."""
        found = [
            exp3_path(self.eta, self.state, "EXP4-PATH"),
            exp3_expected(self.eta, self.arms, self.state, "EXP4"),
        ]
        return [scaled(c, self.desk.high - self.desk.low) for c in found]

    def _of(self) -> str:
        return f"{counted(self.state.arms, 'expert')} on {counted(self.arms, 'arm')}"

    def _advice(self, advice: Any, axes: int) -> Vector:
        table = np.ascontiguousarray(advice, float)
        if table.ndim != axes or table.shape[-2:] != (self.state.arms, self.arms):
            raise DataError(f"advice must be {self.state.arms} experts × {self.arms} arms, got shape {table.shape}")
        off = np.abs(np.sum(table, axis=-1) - 1)
        if not (np.all(table >= 0) and np.all(off <= SUM_TOLERANCE)):
            raise DataError("every expert's advice must be a distribution over the arms: not below 0, and of sum 1")
        return table

    # ---- files -------------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """What `save` writes, choices that wait for their costs included."""
        description = {
            "arms": self.arms, "eta": self.eta, "low": self.desk.low, "high": self.desk.high,
            "issued": self.desk.issued, "compiled": self.compiled,
            "pending": [[number, arm, p] for number, (arm, p, _) in self.desk.pending.items()],
        }  # fmt: skip
        columns = np.array([column for _, _, column in self.desk.pending.values()]).reshape(-1, self.state.arms)
        return description, self.state._asdict() | {"columns": columns}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        columns = arrays.pop("columns")
        made = cls(arrays["estimates"].size, description["arms"], description["eta"], compiled=description["compiled"])
        made.state = BanditState(*(arrays[name] for name in BanditState._fields))
        pending = {
            number: (arm, p, column) for (number, arm, p), column in zip(description["pending"], columns, strict=True)
        }
        made.desk = Desk(description["low"], description["high"], description["issued"], pending)
        return made


def _choose(s: BanditState, advice: Any, p: Vector) -> int:
    total = 0.0
    for i in range(p.size):
        p[i] = 0.0
        for n in range(s.weights.size):
            p[i] += s.weights[n] * advice[n, i]
        total += p[i]
    for i in range(p.size):
        p[i] /= total
    s.counts[CHOICES] += 1
    return drawn(p, uniform(s.chance))


def _learn(s: BanditState, eta: float, column: Vector, p: float, y: float) -> None:
    """Ĉ[n] += column[n]·y/p, and the weights that follow from it."""
    lowest, total = math.inf, 0.0
    for n in range(column.size):
        z = column[n] * y / p
        s.sums[LINEAR] += s.weights[n] * z
        s.sums[LOCAL] += s.weights[n] * z * z
        s.estimates[n] = min(s.estimates[n] + z, LARGEST)
        lowest = min(lowest, s.estimates[n])
    for n in range(column.size):
        s.weights[n] = math.exp(-eta * (s.estimates[n] - lowest))
        total += s.weights[n]
    for n in range(column.size):
        s.weights[n] /= total
    s.sums[COST] += y
    s.counts[COSTS] += 1


@kernel
def choose_advised(s: BanditState, advice: Any, p: Vector) -> int:
    """Draw an arm from p = Σ_n q_n·advice_n, which is written."""
    return _choose(s, advice, p)


@kernel
def learn_advised(s: BanditState, eta: float, column: Vector, p: float, y: float) -> None:
    """The cost of an arm that was chosen with probability p, where the experts' advice for it was `column`."""
    _learn(s, eta, column, p, y)


@kernel
def play_advised(s: BanditState, eta: float, advice: Any, costs: Any, arms: Any, p: Vector) -> None:
    """All rounds of a table."""
    for t in range(arms.size):
        arm = _choose(s, advice[t], p)
        arms[t] = arm
        _learn(s, eta, advice[t, :, arm], p[arm], costs[t, arm])
