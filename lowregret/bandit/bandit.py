"""A bandit: it chooses an arm, later hears what that arm cost, and never what another would have cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.base import Chooser, Played, table_regret
from lowregret.bandit.costs import Costs, CostTable
from lowregret.bandit.loops import begin, choose_one, learn_log, learn_one, play_rounds, replay_log, write_policy
from lowregret.bandit.pending_choices import read_pending_choices
from lowregret.bandit.proof import bandit_certificates, scaled
from lowregret.bandit.schema import BanditSchema
from lowregret.bandit.state import CHOICES, SHIFT, BanditState
from lowregret.bandit.tsallis import TsallisInf
from lowregret.certificate import Certificate
from lowregret.compile.call import call, compilable
from lowregret.compile.signals import let_in
from lowregret.compile.spec import to_json
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.learner.validate import finite_numbers, is_positive, is_whole, require_room
from lowregret.run.lags import checked_delay
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

COSTS, PROPENSITIES = ("costs", "cost"), ("propensities", "propensity")


class Bandit(Chooser):
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
        if not is_whole(arms, 1):
            raise PartError(f"a bandit needs a whole number of arms, at least 1, got {arms!r}")
        self.algorithm = TsallisInf() if algorithm is None else algorithm
        if not isinstance(self.algorithm, BanditAlgorithm):
            raise PartError(f"the algorithm must be one such as Exp3(eta=0.1) or TsallisInf(), got {algorithm!r}")
        require_room(int(arms), "arms")
        self.compiled = compiled and compilable(self.algorithm)
        super().__init__(low, high)
        self.state = BanditState.start(int(arms), self.algorithm.room(int(arms)), seed)
        self._call(begin)

    # ---- one round at a time -----------------------------------------------------------------------------------------

    @in_turn
    def choose(self) -> tuple[int, int]:
        """(number of the choice, arm). The arm's probability is kept under that number until its cost is told."""
        arm, p, baseline = self._call(choose_one)
        if math.isnan(baseline):
            raise DataError(self._no_choice(arm, p))
        return self.choices.issue((int(arm), float(p), float(baseline))), int(arm)

    def probability(self, number: int) -> float | None:
        """With what probability a choice was made whose cost is still to come; None if it has no closed form."""
        if not is_whole(number) or number not in self.choices.pending:
            raise DataError(f"choice {number!r} is not waiting for its cost")
        p = self.choices.pending[number][1]
        return None if p == UNKNOWN else p

    def _settle(self, choice: tuple[int, float, float], y: float) -> None:
        self._call(learn_one, *choice, y)

    # ---- many rounds -------------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, costs: Any, rounds: int | None = None) -> Self:
        """Play against a table of costs (rounds × arms), or for some rounds against a `Costs` part, compiled."""
        source = costs if isinstance(costs, Costs) else CostTable(costs)
        source.fits(self.arms)
        first = 0
        if rounds is None and isinstance(source, CostTable):
            rounds = len(source.costs)
        if rounds is None:
            raise PartError(f"{type(source).__name__} never ends by itself: give rounds")
        if not is_whole(rounds):
            raise PartError(f"rounds must be a whole number, not below 0, got {rounds!r}")
        if isinstance(source, CostTable):
            if rounds > len(source.costs):
                raise DataError(f"the table has {len(source.costs)} rounds, wanted are {rounds}")
            self._within(source.costs[:rounds])
        else:
            first = int(self.state.counts[CHOICES])
        arms, paid = np.empty(rounds, np.int64), np.empty(rounds)
        self._play(source, first, arms, paid)
        regret = table_regret(paid, source.costs[:rounds]) if isinstance(source, CostTable) else None
        self.played = Played(arms, paid, regret)
        return self

    def _within(self, costs: Any) -> None:
        """Refuse a table with a cost beyond the limits, also of an arm that may not be chosen: no bound knows of it."""
        out = np.argwhere(~((costs >= self.choices.low) & (costs <= self.choices.high)))
        if out.size:
            t, arm = out[0].tolist()
            raise DataError(self._beyond(t, arm, costs[t, arm]))

    def _beyond(self, t: int, arm: int, cost: float) -> str:
        return (
            f"round {t}: arm {arm} costs {cost}, which is not between {self.choices.low:g} and {self.choices.high:g}: "
            "make the bandit with the low and high of your costs"
        )

    def _play(self, source: Costs, first: int, arms: Any, paid: Vector) -> None:
        """Play len(arms) rounds, with a stop wherever a point of the curves is due."""
        for at, end in self._parts(arms.size):
            of_part = arms[at:end], paid[at:end]
            told = self._call(play_rounds, source, first + at, self.choices.low, self.choices.high, *of_part)
            done = at + (told if told >= 0 else -1 - told)
            self.choices.skip(done - at)
            if told < 0:
                raise DataError(self._no_choice(arms[done], paid[done]))
            if done < end:
                raise DataError(self._beyond(done, arms[done], paid[done]))
            let_in()

    def _no_choice(self, arm: int, p: float) -> str:
        return (
            f"{type(self.algorithm).__name__} chose arm {arm:g} with probability {p:g}: its `choose` must return a "
            f"whole number from 0 to {self.arms - 1}, and its probability, above 0 and at most 1, or UNKNOWN"
        )

    @in_turn
    def learn_log(self, arms: Any, costs: Any, propensities: Any) -> Self:
        """Learn from logged choices of another policy: each has its arm, cost and the probability it was made with.

        Algorithms that weigh are given ((y − mean)/p)e_i, the mean that of these costs: it favours no arm in
        expectation, and where nearly all costs are alike it spares them nearly all of its noise.
        """
        chosen = self._logged_arms(arms)
        c = _between(costs, COSTS, chosen.size, self.choices.low, self.choices.high)
        p = _between(propensities, PROPENSITIES, chosen.size, 5e-324, 1.0)
        y = (c - self.choices.low) / self.unit
        mean = float(np.mean(y)) if y.size else 0.0
        for at, end in self._parts(chosen.size):
            self._call(learn_log, chosen[at:end], y[at:end], p[at:end], mean)
        self.choices.skip(chosen.size)
        return self

    def _logged_arms(self, arms: Any) -> Any:
        chosen = np.asarray(arms)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or np.any((chosen < 0) | (chosen >= self.arms)):
            raise DataError(f"arms must be a vector of whole numbers from 0 to {self.arms - 1}")
        return np.ascontiguousarray(chosen, np.int64)

    @in_turn
    def replay(self, arms: Any, costs: Vector, delay: int = 0) -> Any:
        """Choose in every row of a uniform log, costs in [0, 1]; says in which rows the logged arm was the chosen one.

        Only these are learnt, as if they had been played: each after `delay` more of them were chosen. Choices whose
        costs have not come by the end are `pending`.
        """
        logged = self._logged_arms(arms)
        delay = min(checked_delay(delay), logged.size)  # a longer one is as long: nothing is heard
        y = _between(costs, COSTS, logged.size, 0.0, 1.0)
        kept, done, before = np.zeros(logged.size, np.bool_), 0, self.rounds
        waiting = np.zeros((delay + 1, 3)), np.zeros(delay), np.zeros(1, np.int64)
        told = 0
        while done < logged.size and told >= 0:
            told = self._call(replay_log, logged[done:], y[done:], kept[done:], *waiting, self.history.due)
            done += told if told >= 0 else -1 - told
            self._mark()
        self.choices.skip(self.rounds - before)
        made = int(waiting[2][0])
        for number in range(max(made - delay, 0), made):
            arm, p, baseline = waiting[0][number % delay].tolist()
            self.choices.issue((int(arm), p, baseline))
        if told < 0:
            raise DataError(self._no_choice(*waiting[0][-1, :2].tolist()))
        return kept

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def arms(self) -> int:
        """How many there are."""
        return self.state.arms

    @property
    def policy(self) -> Vector:
        """The present probability of every arm; for UCB1 and Thompson sampling the arm that looks best: O(K)."""
        w = np.empty(self.arms)
        self._call(write_policy, w)
        with np.errstate(over="ignore"):
            total = float(np.sum(w))
        if not (np.all(w >= 0) and 0 < total < math.inf):
            name = type(self.algorithm).__name__
            raise DataError(f"{name} has the policy {w}: `policy` must write numbers from 0 on whose sum is above 0")
        return w / total

    @property
    def estimates(self) -> Vector:
        """Estimated cumulative cost of every arm, unbiased for `Exp3` and `TsallisInf`, beyond low per round."""
        return self.unit * (self.state.estimates + self.state.sums[SHIFT])

    @property
    def certificates(self) -> list[Certificate]:
        """Bounds on the regret, with probability 95 % where theorems need one; none for UCB1 and Thompson sampling."""
        return self.certificates_at(0.05)

    def certificates_at(self, delta: float) -> list[Certificate]:
        """Bounds on the regret, with probability 1 − δ where theorems need one."""
        if not (is_positive(delta) and delta < 1):
            raise PartError(f"delta must lie between 0 and 1, got {delta!r}")
        waiting = self.choices.in_order, self.choices.overtaken
        found = bandit_certificates(self.algorithm, self.state, delta, *waiting)
        return [scaled(c, self.unit) for c in found]

    def __str__(self) -> str:
        from lowregret.bandit.text import tell_bandit

        return tell_bandit(self)

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes, choices that wait for their costs included."""
        description, waiting = self.choices.written()
        description |= {"algorithm": to_json(self.algorithm), "arms": self.arms, "compiled": self.compiled}
        return description, self.state._asdict() | waiting

    @classmethod
    def _made(cls, found: Contents) -> Self:
        arms, compiled = found.tell("arms", "compiled")
        made = cls(arms, found.part("algorithm"), compiled=compiled)
        made.state, made.choices = found.record(BanditState), read_pending_choices(found)
        return made

    def _of(self) -> str:
        return f"{self.algorithm.name} on {counted(self.arms, 'arm')}"

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        if self.pending:
            yield f"{len(self.pending):,} pending"

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, self.algorithm, self.state, *args)


def _between(given: Any, what: tuple[str, str], size: int, low: float, high: float) -> Vector:
    """Numbers between two others, one a row, or an error that names the row; `what` they are, of many and of one."""
    values = finite_numbers(given, what[0], size)
    bad = np.flatnonzero((values < low) | (values > high))
    if bad.size:
        raise DataError(f"row {bad[0]}: {what[1]} {values[bad[0]]:g} must lie between {low:g} and {high:g}")
    return values
