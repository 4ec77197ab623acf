"""`auto` on two cores: a thread that looks at rows ahead of the one that learns them, where that is faster."""

from __future__ import annotations

import time
from typing import Any

from lowregret.auto.row_loop import learn_rows
from lowregret.auto.view import COLUMNS, Sheet
from lowregret.auto.viewed import Ring, learn_viewed, view_again, view_rows
from lowregret.compile.call import call
from lowregret.rows import Rows, longest
from lowregret.run.block_loop import extent
from lowregret.run.block_size import FOR_EVER
from lowregret.run.blocks import LEAST, TURN, number_of_entries
from lowregret.run.helpers import Helpers
from lowregret.run.pace import Pace
from lowregret.types import Vector

ENOUGH = 4  # entries for each feature, with fewer of which one learns alone: features are gone over before and after


class Pair:
    """Two threads of a run of `auto`, or one: what is learnt is the same to the last bit."""

    def __init__(self) -> None:
        self.pace = Pace()
        self._room = -1  # entries of a row
        self._memory: tuple[Ring, Sheet] | None = None

    def learn(self, run: Any, work: Any, x: Rows, y: Vector, w: Vector, i: int, goal: int, beside: Any) -> int:
        """Learn some rows from i on, until `goal` rounds at most; returns the first row not learnt."""
        rounds, mean = run.state.rounds, max(number_of_entries(x, i, y.size) // (y.size - i), 1)
        turn = max(TURN // mean, 1)
        stop = extent(w, i, min(y.size, i + turn), goal - rounds)[0]
        pays = number_of_entries(x, i, stop) >= max(ENOUGH * run.state.dimension, LEAST)
        if pays:  # compiled before time is taken
            self._two(run, work, x, y, w, i, i, beside)
        together = pays and self.pace.together()
        begun = time.perf_counter()
        if together:
            reached = self._two(run, work, x, y, w, i, stop, beside)
        else:
            given = run.learner, run.state, run.record.mind, work, x, y[:stop], w[:stop], beside, run.slots, run.scores
            reached = int(call(learn_rows, True, *given, i, goal))
        if pays:
            self.pace.took(together, time.perf_counter() - begun, number_of_entries(x, i, reached))
        return reached

    def _two(self, run: Any, work: Any, x: Rows, y: Vector, w: Vector, i: int, stop: int, beside: Any) -> int:
        """Learn rows i … stop − 1 with a thread that looks at them ahead; returns the first row not learnt."""
        state, mind, (ring, sheet) = run.state, run.record.mind, self._desk(longest(x))
        ring.gate[:] = 0
        table, pace, ahead = state.table.copy(), mind.pace.copy(), mind.pace.copy()
        theta, kept = state.table[::COLUMNS].copy(), [i]

        def view(k: int) -> None:
            kept[0] = int(call(view_rows, True, state, ahead, sheet, x, w, ring, i, stop))

        helpers = Helpers(view, 1, ring.end)
        if not helpers.there:
            alone = run.learner, state, mind, work, x, y[:stop], w[:stop], beside, run.slots, run.scores
            return int(call(learn_rows, True, *alone, i, FOR_EVER))
        with helpers:
            viewed = run.learner, state, mind, work, x, y, w, beside, run.scores, theta, ring
            reached = int(call(learn_viewed, True, *viewed, i, stop))
        if kept[0] != reached:  # what was seen of later rows is forgotten
            state.table[:] = table
            call(view_again, True, state, pace, sheet, x, w, i, reached)
        state.table[::COLUMNS] = theta
        return reached

    def _desk(self, entries: int) -> tuple[Ring, Sheet]:
        """Memory for rows of up to this many entries."""
        if self._memory is None or entries > self._room:
            self._room, self._memory = entries, (Ring.of(entries), Sheet.of(entries))
        return self._memory
