"""A run whose rows are learnt by several threads that do not wait for each other; what is learnt depends on chance.

run = train(zoo.adagrad(Logistic()), X, y, learners=4, block="free")
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.blocks import LAG, LONGEST_LAG, WATCHED
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Rows
from lowregret.rule.base import WIDEST
from lowregret.run.block_learners import FREE
from lowregret.run.block_loop import APART, extent
from lowregret.run.blocks import BlockRun, found_room, number_of_entries
from lowregret.run.free_loop import Queue, learn_freely, retune
from lowregret.run.helpers import Helpers
from lowregret.state import (
    BLUR,
    BLURRIEST,
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    MISTAKES,
    ROUNDS,
    STEPPED,
    TOTAL,
    State,
)
from lowregret.types import Vector

ENOUGH = 4  # entries for each weight and worker, with fewer of which one learns alone: weights are gone over after them


class FreeRun(BlockRun):
    """A `LinearRun` that `learners` threads teach without waiting for each other: see `free_loop.py`.

    O(nnz/learners) per row, O(d·learners) per batch. Where threads do not pay, one learns alone, row by row.
    """

    kind = "free-run"

    def __init__(self, *args: Any, learners: int = 1, block: Any = None, **options: Any) -> None:
        super().__init__(*args, learners=learners, block=1, **options)
        self._ready = False  # whether the loop of free learners is compiled

    @property
    def lag(self) -> tuple[float, float] | None:
        """How many rows others learnt while one was scored and learnt, as a mean and at most; None if never seen."""
        watched = float(self.ledger[WATCHED])
        return (float(self.ledger[LAG]) / watched, float(self.ledger[LONGEST_LAG])) if watched else None

    def crew_json(self) -> dict[str, Any]:
        return super().crew_json() | {"block": FREE, "lag": self.lag}

    @property
    def certificates(self) -> list[Certificate]:
        """LEM-2.5, and LEM-2.20 of mirror descent: of any schedule of workers."""
        return [found for found in super().certificates if found.id != "DELAY"]

    def risks(self, delta: float = 0.05) -> list[RiskCertificate]:
        """Bounds of a run that one learnt alone; else none: what of others a score has seen hangs on its row's length.

        The bounds speak of iterates that were there before their row was looked at.
        """
        return super().risks(delta) if self.lag is None else []

    def _pays(self, x: Rows, i: int, stop: int) -> bool:
        enough = ENOUGH * self.learners * self.state.dimension
        return super()._pays(x, i, stop) and number_of_entries(x, i, stop) >= enough

    def _turn(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        if self.learners > 1 and self.compiled and not self._ready:  # before time is taken
            nobody = Queue(np.full(1, i), i, np.zeros(APART, np.int64), 1)
            own, lags = np.zeros(self.state.dimension), np.zeros(APART)
            given = self.learner, self.state, own, x, y, w, self.scores, found_room(1), nobody, lags, 0, limit
            self._ready = int(self._call(learn_freely, *given)) == i
        return super()._turn(x, y, w, i, goal, limit)

    def _work(self, workers: int, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float, seen: State) -> int:
        if workers == 1:
            return super()._work(1, x, y, w, i, goal, limit, seen)
        before, stop = self.state.copy(), extent(w, i, y.size, goal - self.state.rounds)[0]
        own, lags = np.zeros((workers, self.state.dimension)), np.zeros((workers, APART))
        states = [self.state._replace(sums=self.state.sums.copy(), counts=self.state.counts.copy()) for _ in own]
        queue = Queue(np.full(1, i), stop, np.zeros(workers * APART, np.int64), workers)
        reached = [stop] * workers

        def work(k: int) -> None:
            given = self.learner, states[k], own[k], x, y, w, self.scores, found_room(1), queue, lags[k], k, limit
            reached[k] = int(self._call(learn_freely, *given))

        helpers = Helpers(work, workers - 1)
        if helpers.there:
            with helpers:
                work(0)
        if not helpers.there or min(reached) < stop:  # row by row it is known which rows were learnt before one unfit
            self.state.table[:] = before.table
            return super()._work(1, x, y, w, i, goal, limit, self.state)
        self._merge(before, states, own, lags)
        return stop

    def _merge(self, before: State, states: list[State], own: Any, lags: Any) -> None:
        """Add up what the workers counted, each beginning with the sums before."""
        s = self.state
        for slot in (TOTAL, LINEAR, ENERGY, STEPPED, BLUR):
            s.sums[slot] += sum(each.sums[slot] - before.sums[slot] for each in states)
        for slot in (ROUNDS, MISTAKES):
            s.counts[slot] += sum(each.counts[slot] - before.counts[slot] for each in states)
        for slot in (LARGEST, WIDEST, BLURRIEST):
            s.sums[slot] = max(each.sums[slot] for each in states)
        s.sums[FIRST_RATE] = before.sums[FIRST_RATE] or max(each.sums[FIRST_RATE] for each in states)
        s.sums[LAST_RATE] = min((each.sums[LAST_RATE] for each in states if each.sums[LAST_RATE] > 0), default=0.0)
        s.theta[:] = before.theta + own.sum(axis=0)
        self._call(retune, self.learner, s)
        self.ledger[WATCHED] += lags[:, 0].sum()
        self.ledger[LAG] += lags[:, 1].sum()
        self.ledger[LONGEST_LAG] = max(self.ledger[LONGEST_LAG], lags[:, 2].max())
