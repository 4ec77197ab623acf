"""EXP4: arms by the advice of experts, each of whom names a distribution over the arms in every round."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from lowregret.bandit.algorithm import blur, bounded, centre
from lowregret.bandit.base import Chooser, Played
from lowregret.bandit.pending_choices import read_pending_choices
from lowregret.bandit.proof import exp4_certificates, scaled
from lowregret.bandit.schema import Exp4Schema
from lowregret.bandit.state import CHOICES, COST, COSTS, LEVEL, LINEAR, LOCAL, MEMORY, SHIFT, BanditState
from lowregret.bandit.tsallis import drawn
from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import uniform
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.learner.validate import is_positive, is_whole, real_numbers, require_room
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

SUM_TOLERANCE = 1e-6  # of a distribution


class Exp4(Chooser):
    """q ∝ e^{−ηĈ} over N experts; draw i ~ p = Σ_n q_n·advice_n; Ĉ[n] += advice_n[i]·y/p_i (Auer et al. 2002).

    O(NK) a round. E cost ≤ least expected cost of an expert + ln N/η + ηKT/2.

    `centred`: y − b stands for y, where b is settled before the arm is drawn. As advice sums to 1, Ĉ of all experts is
    short of b in expectation, which changes no weight, and with z_n = advice_n[i]·(y − b)/p_i a round costs at most
    (η/2)Σ_n q_n z_n², divided by 1 − η|z_n|/3 where z_n < 0, which is when y < b. Let a_i be the largest advice_n[i]:
    |z_n| ≤ a_i·b/p_i then, and Σ_n q_n advice_n[i]² ≤ p_i. So in expectation over the arm a round costs at most
    (η/2)Σ_i max((y_i − b)², b²/(1 − ηa_i b/(3p_i))), which is ≤ ηK/2, as without b, if b² ≤ 1 − b/r with
    r = (3/η)·min_i p_i/a_i: `algorithm.centre` keeps b there.
    """

    kind = "exp4"
    schema = Exp4Schema()

    def __init__(
        self, experts: int, arms: int, eta: float, *, seed: int = 0, low: float = 0.0, high: float = 1.0,
        centred: bool = True, compiled: bool = True,
    ) -> None:  # fmt: skip
        sizes: tuple[Any, ...] = experts, arms
        if not (all(is_whole(n, 1) for n in sizes) and is_positive(eta)):
            raise PartError(f"EXP4 needs experts and arms ≥ 1 and eta > 0, got {experts!r}, {arms!r}, {eta!r}")
        require_room(int(experts), "experts")
        require_room(int(arms), "arms")
        super().__init__(low, high)
        self.arms, self.eta, self.centred, self.compiled = int(arms), float(eta), bool(centred), compiled
        self.state = BanditState.start(experts, np.full(experts, 1 / experts), seed)

    @in_turn
    def choose(self, advice: Any) -> tuple[int, int]:
        """(number of the choice, arm), from a table of experts × arms whose rows are distributions."""
        table = self._advice(advice, 2)
        p = np.empty(self.arms)
        arm, baseline = call(choose_advised, self.compiled, self.state, self.eta, self.centred, table, p)
        return self.choices.issue((int(arm), float(p[arm]), float(baseline), table[:, arm].copy())), int(arm)

    def _settle(self, choice: tuple[int, float, float, Vector], y: float) -> None:
        _, p, baseline, column = choice
        call(learn_advised, self.compiled, self.state, self.eta, column, p, y, baseline)

    @in_turn
    def learn(self, costs: Any, advice: Any) -> Self:
        """Play a table of costs (rounds × arms) with advice (rounds × experts × arms), compiled."""
        table, told = real_numbers(costs, "costs"), self._advice(advice, 3)
        if table.shape != (len(told), self.arms):
            raise DataError(f"costs must be {len(told)} rounds × {self.arms} arms, got {table.shape}")
        if not np.all((table >= self.choices.low) & (table <= self.choices.high)):
            raise DataError(f"costs must lie between {self.choices.low:g} and {self.choices.high:g}")
        arms = np.empty(len(table), np.int64)
        y, p = (table - self.choices.low) / self.unit, np.empty(self.arms)
        for begin, end in self._parts(len(table)):
            of_part = told[begin:end], y[begin:end], arms[begin:end]
            call(play_advised, self.compiled, self.state, self.eta, self.centred, *of_part, p)
        self.choices.skip(len(table))
        paid = table[np.arange(len(table)), arms]
        more = np.einsum("tnk,tk->n", told, paid[:, None] - table)  # what is paid beyond each expert's cost
        self.played = Played(arms, paid, float(np.max(more)))
        return self

    @property
    def weights(self) -> Vector:
        """How much each expert counts now."""
        return np.array(self.state.weights)

    @property
    def certificates(self) -> list[Certificate]:
        """EXP4-PATH on this run, against experts' estimated costs; EXP4 in expectation."""
        found = exp4_certificates(self.eta, self.arms, self.state, self.choices.overtaken)
        return sorted((scaled(c, self.unit) for c in found), key=lambda c: not c.premises_hold)

    def _of(self) -> str:
        return f"{counted(self.state.arms, 'expert')} on {counted(self.arms, 'arm')}"

    def _advice(self, advice: Any, axes: int) -> Vector:
        table = real_numbers(advice, "advice")
        if table.ndim != axes or table.shape[-2:] != (self.state.arms, self.arms):
            raise DataError(f"advice must be {self.state.arms} experts × {self.arms} arms, got shape {table.shape}")
        total = np.sum(table, axis=-1, keepdims=True)
        if not (np.all(table >= 0) and np.all(np.abs(total - 1) <= SUM_TOLERANCE)):
            raise DataError("every expert's advice must be a distribution over the arms: not below 0, and of sum 1")
        return np.asarray(table / total)

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes, choices that wait for their costs included."""
        description, waiting = self.choices.written()
        description |= {"experts": self.state.arms, "arms": self.arms, "eta": self.eta}
        description |= {"centred": self.centred, "compiled": self.compiled}
        columns = np.array([choice[-1] for choice in self.choices.pending.values()]).reshape(-1, self.state.arms)
        return description, self.state._asdict() | waiting | {"pending.advice": columns}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        experts, arms, eta, centred, compiled = found.tell("experts", "arms", "eta", "centred", "compiled")
        made = cls(experts, arms, eta, centred=centred, compiled=compiled)
        made.state = found.record(BanditState)
        made.choices = read_pending_choices(found, list(found.arrays["pending.advice"]))
        return made


def _choose(s: BanditState, eta: float, centred: bool, advice: Any, p: Vector) -> tuple[int, float]:
    """An arm, and the baseline of the round."""
    total, least = 0.0, 1.0
    for i in range(p.size):
        p[i], most = 0.0, 0.0
        for n in range(s.weights.size):
            p[i] += s.weights[n] * advice[n, i]
            most = max(most, advice[n, i])
        total += p[i]
        least = min(least, p[i] / most) if most > 0.0 else least  # 0 where experts say i whose weights vanished
    for i in range(p.size):
        p[i] /= total
    s.counts[CHOICES] += 1
    return drawn(p, uniform(s.chance)), centre(s.sums[LEVEL], 3.0 * least / total / eta) if centred else 0.0


def _learn(s: BanditState, eta: float, column: Vector, p: float, y: float, baseline: float) -> None:
    """Ĉ[n] += column[n]·(y − b)/p, and the weights that follow from it."""
    lowest, total, spent, bent, most, largest, highest = math.inf, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for n in range(column.size):
        z = column[n] * (y - baseline) / p
        spent += s.weights[n] * z
        most = max(most, -z)
        bent += s.weights[n] * z * z / (1.0 + eta / 3.0 * z if 0.0 > z > -3.0 / eta else 1.0)
        s.estimates[n] = bounded(s.estimates[n] + z)
        lowest = min(lowest, s.estimates[n])
        largest, highest = max(largest, abs(z)), max(highest, abs(s.estimates[n]))
    if most > 0.0:  # then no z is above 0, and a round costs at most the largest |z| less their mean
        furthest = 2.0 / eta * max(most + spent, 0.0)
        bent = min(bent, furthest) if most < 3.0 / eta else furthest
    for n in range(column.size):
        s.weights[n] = math.exp(-eta * (s.estimates[n] - lowest))
        total += s.weights[n]
    for n in range(column.size):
        s.weights[n] /= total
    s.counts[COSTS] += 1
    s.sums[LINEAR] += spent
    s.sums[LOCAL] += bent
    s.sums[COST] += y
    s.sums[SHIFT] += baseline
    s.sums[LEVEL] += (y - s.sums[LEVEL]) / min(s.counts[COSTS], MEMORY)
    blur(s, highest, -largest if most > 0.0 else largest, 1.0, bent, eta / 2.0)


@kernel
def choose_advised(s: BanditState, eta: float, centred: bool, advice: Any, p: Vector) -> tuple[int, float]:
    """Draw an arm from p = Σ_n q_n·advice_n, which is written; the baseline to take off its cost."""
    return _choose(s, eta, centred, advice, p)


@kernel
def learn_advised(s: BanditState, eta: float, column: Vector, p: float, y: float, baseline: float) -> None:
    """The cost of an arm that was chosen with probability p, where the experts' advice for it was `column`."""
    _learn(s, eta, column, p, y, baseline)


@kernel
def play_advised(s: BanditState, eta: float, centred: bool, advice: Any, costs: Any, arms: Any, p: Vector) -> None:
    """All rounds of a table."""
    for t in range(arms.size):
        arm, baseline = _choose(s, eta, centred, advice[t], p)
        arms[t] = arm
        _learn(s, eta, advice[t, :, arm], p[arm], costs[t, arm], baseline)
