"""A bandit: it chooses an arm, later hears what that arm cost, and never what another would have cost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.costs import Costs, CostTable
from lowregret.bandit.loops import begin, choose_one, learn_log, learn_one, play_rounds, write_policy
from lowregret.bandit.pending_choices import Desk
from lowregret.bandit.proof import bandit_certificates, scaled
from lowregret.bandit.schema import BanditSchema
from lowregret.bandit.state import CHOICES, COST, COSTS, LATE, BanditState
from lowregret.bandit.tsallis import TsallisInf
from lowregret.certificate import Certificate
from lowregret.compile.call import call, compilable
from lowregret.compile.spec import from_json, to_json
from lowregret.errors import DataError, PartError, StoreError
from lowregret.learner.validate import finite_numbers
from lowregret.store.file import Arrays, Saved
from lowregret.types import Vector
from lowregret.words import counted


@dataclass(frozen=True)
class Played:
    """The record of a simulation: arms chosen, costs paid, and the regret where all costs are known."""

    arms: Any
    costs: Vector
    regret: float | None = None


class Bandit(Saved):
    """K arms, an algorithm, and all it has seen.

    `low` and `high` bound the costs or rewards that will be told. Everything is a function of the seed. Choosing and
    learning cost O(log K) with `Exp3` and `Exp3IX`, O(K) with the others.
    """

    kind = "bandit"
    schema = BanditSchema()

    def __init__(
        self,
        arms: int,
        algorithm: BanditAlgorithm | None = None,
        *,
        seed: int = 0,
        low: float = 0.0,
        high: float = 1.0,
        compiled: bool = True,
    ) -> None:
        if not isinstance(arms, (int, np.integer)) or arms < 1:
            raise PartError(f"a bandit needs a whole number of arms, at least 1, got {arms!r}")
        self.algorithm = TsallisInf() if algorithm is None else algorithm
        if not isinstance(self.algorithm, BanditAlgorithm):
            raise PartError(f"the algorithm must be one such as Exp3(eta=0.1) or TsallisInf(), got {algorithm!r}")
        self.compiled = compiled and compilable(self.algorithm)
        self.desk: Desk[tuple[int, float]] = Desk(low, high)
        self.state = BanditState.start(int(arms), self.algorithm.room(int(arms)), seed)
        self._call(begin)

    # ---- one round at a time -----------------------------------------------------------------------------------------

    def choose(self) -> tuple[int, int]:
        """(number of the choice, arm). The arm's probability is kept under that number until its cost is told."""
        arm, p = self._call(choose_one)
        return self.desk.issue((int(arm), float(p))), int(arm)

    def probability(self, number: int) -> float | None:
        """With what probability a choice was made whose cost is still to come; None if it has no closed form."""
        if number not in self.desk.pending:
            raise DataError(f"choice {number!r} is not waiting for its cost")
        p = self.desk.pending[number][1]
        return None if p == UNKNOWN else p

    def reward(self, number: int, reward: float | None = None, *, cost: float | None = None) -> None:
        """Tell what a choice brought, as a reward or as cost=…, at any time and in any order, once."""
        y = self.desk.cost(reward, cost)
        (arm, p), late = self.desk.settle(number)
        self.state.counts[LATE] += late
        self._call(learn_one, arm, p, y)

    # ---- many rounds -------------------------------------------------------------------------------------------------

    def play(self, costs: Any, rounds: int | None = None) -> Played:
        """Play against a table of costs (rounds × arms), or for some rounds against a `Costs` part, compiled."""
        source = costs if isinstance(costs, Costs) else CostTable(costs)
        source.fits(self.arms)
        first = 0
        if isinstance(source, CostTable):
            rounds = len(source.costs) if rounds is None else rounds
            if rounds > len(source.costs):
                raise DataError(f"the table has {len(source.costs)} rounds, wanted are {rounds}")
        else:
            first = int(self.state.counts[CHOICES])
        if rounds is None:
            raise PartError(f"{type(source).__name__} never ends by itself: give rounds")
        arms, paid = np.empty(rounds, np.int64), np.empty(rounds)
        done = self._call(play_rounds, source, first, self.desk.low, self.desk.high, arms, paid)
        self.desk.skip(done)
        if done < rounds:
            raise DataError(
                f"round {done}: arm {arms[done]} costs {paid[done]}, which is not between {self.desk.low:g} and "
                f"{self.desk.high:g}: make the bandit with the low and high of your costs"
            )
        best = np.min(np.sum(source.costs[:rounds], axis=0)) if isinstance(source, CostTable) else None
        return Played(arms, paid, None if best is None else float(np.sum(paid) - best))

    def learn(self, arms: Any, costs: Any, propensities: Any) -> Bandit:
        """Learn from logged choices of another policy: each has its arm, cost and the probability it was made with.

        Algorithms that weigh are given ((y − mean)/p)e_i: it favours no arm in expectation, and where nearly all costs
        are alike it spares them nearly all of its noise.
        """
        chosen = np.asarray(arms)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= self.arms)):
            raise DataError(f"arms must be a vector of whole numbers from 0 to {self.arms - 1}")
        c = finite_numbers(costs, "costs", chosen.size)
        p = finite_numbers(propensities, "propensities", chosen.size)
        for what, values, low, high in (("cost", c, self.desk.low, self.desk.high), ("propensity", p, 5e-324, 1.0)):
            bad = np.flatnonzero((values < low) | (values > high))
            if bad.size:
                raise DataError(f"row {bad[0]}: {what} {values[bad[0]]:g} must lie between {low:g} and {high:g}")
        y = (c - self.desk.low) / (self.desk.high - self.desk.low)
        self._call(learn_log, np.ascontiguousarray(chosen, np.int64), y, p, float(np.mean(y)) if y.size else 0.0)
        self.desk.skip(chosen.size)
        return self

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        return self.state.arms

    @property
    def rounds(self) -> int:
        """Costs seen; choices that still wait for theirs are `pending`."""
        return int(self.state.counts[COSTS])

    @property
    def pending(self) -> list[int]:
        return list(self.desk.pending)

    @property
    def cost(self) -> float:
        """Σ of the costs paid, in the units told; of rewards r the cost is high + low − r."""
        return self.desk.low * self.rounds + self.unit * float(self.state.sums[COST])

    @property
    def unit(self) -> float:
        return self.desk.high - self.desk.low

    @property
    def policy(self) -> Vector:
        """The present probability of every arm; for UCB1 and Thompson sampling the arm that looks best: O(K)."""
        w = np.empty(self.arms)
        self._call(write_policy, w)
        return w / np.sum(w)

    @property
    def estimates(self) -> Vector:
        """Estimated cumulative cost of every arm, unbiased for `Exp3` and `TsallisInf`, beyond low per round."""
        return self.unit * np.array(self.state.estimates)

    @property
    def certificates(self) -> list[Certificate]:
        """What the theorems say (nothing of UCB1 and Thompson sampling), with probability 95 % where they need one."""
        return self.certificates_at(0.05)

    def certificates_at(self, delta: float) -> list[Certificate]:
        """The same, with probability 1 − δ."""
        if not 0 < delta < 1:
            raise PartError(f"delta must lie between 0 and 1, got {delta!r}")
        return [scaled(c, self.unit) for c in bandit_certificates(self.algorithm, self.state, delta)]

    def __str__(self) -> str:
        from lowregret.bandit.text import tell_bandit

        return tell_bandit(self)

    # ---- files -------------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """What `save` writes, choices that wait for their costs included."""
        numbers, choices = list(self.desk.pending), list(self.desk.pending.values())
        description = {
            "algorithm": to_json(self.algorithm),
            "low": self.desk.low,
            "high": self.desk.high,
            "issued": self.desk.issued,
            "compiled": self.compiled,
        }
        pending = {
            "pending.number": np.array(numbers, np.int64),
            "pending.arm": np.array([arm for arm, _ in choices], np.int64),
            "pending.probability": np.array([p for _, p in choices], float),
        }
        return description, self.state._asdict() | pending

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        waiting = [arrays.pop(f"pending.{name}").tolist() for name in ("number", "arm", "probability")]
        algorithm = from_json(description["algorithm"])
        if not isinstance(algorithm, BanditAlgorithm):
            raise StoreError(f"{path} holds a {type(algorithm).__name__}, which is no bandit algorithm")
        made = cls(arrays["estimates"].size, algorithm, compiled=description["compiled"])
        made.state = BanditState(*(arrays[name] for name in BanditState._fields))
        pending = {number: (arm, p) for number, arm, p in zip(*waiting, strict=True)}
        made.desk = Desk(description["low"], description["high"], description["issued"], pending)
        return made

    def _of(self) -> str:
        return f"{self.algorithm.name} on {counted(self.arms, 'arm')}"

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        yield f"cost {self.cost / max(self.rounds, 1):.4g} a round"
        if self.pending:
            yield f"{len(self.pending):,} pending"

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, self.algorithm, self.state, *args)
