"""Rows so large that learning them may overflow: each is learnt alone, or not at all if a number leaves its range.

Scores, losses and sub-gradients below REACH have squares that can be summed over all rows of a run. Beyond, a row is
learnt on trial: if a number that the run carries along is then none, all is put back as it was.

A part of the user's own may raise an error amid a row: of that row nothing is kept either.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.signals import let_in
from lowregret.compile.turns import Changing, owned, turns_of
from lowregret.errors import PartError
from lowregret.learner.late import Waiting
from lowregret.rows import Rows
from lowregret.run.proved import ProvedRun
from lowregret.state import LONGEST
from lowregret.types import Vector

REACH = 1e60


class CarefulRun(ProvedRun):
    """The base of runs that learn rows in a compiled loop: no row is learnt that makes numbers overflow."""

    slots: Waiting  # rows of the batch at hand whose answers come late

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Learn while no other thread does; raises a `PartError` if one is at it, and waits while one saves the run."""
        seat = turns_of(self).seat
        if owned(seat) or not seat.acquire(blocking=False):
            raise PartError("another thread is learning with this run: let one learn at a time, or give each a run")
        try:
            with Changing(self):
                yield
        finally:
            seat.release()

    @abstractmethod
    def _pass(self, x: Rows, y: Any, w: Vector, i: int, goal: int, limit: float) -> int:
        """Learn rows from i on until the state counts `goal` rounds; returns the first row not learnt.

        That may be one whose score, loss, slope or sub-gradient reach the limit.
        """

    def _carried(self) -> Sequence[Any]:
        """The arrays that learning a row changes."""
        return *self.state, self.slots.ledger

    def _advance(self, x: Rows, y: Any, w: Vector, i: int, goal: int) -> int:
        """Learn rows as `_pass` does, all that can be learnt without overflow.

        Signals come in after `_rows_at_once`, or interpreted after each, never within one.
        """
        learn = self._whole_rows if is_own(self.learner) else self._pass
        while True:
            end = min(i + (self._rows_at_once(x) if self.compiled else 1), len(y))
            i = learn(x, y[:end], w[:end], i, goal, REACH)
            if self.state.rounds >= goal or (i < end and not self._learn_alone(x, y, w, i)):
                return i
            i += i < end
            if i == len(y):
                return i
            let_in()

    def _whole_rows(self, x: Rows, y: Any, w: Vector, i: int, goal: int, limit: float) -> int:
        """Learn rows as `_pass` does; if a part of the user's own raises an error, the rows before that one alone.

        All is undone, and learnt again but for the last round counted, which may be the one that was broken off.
        """
        undo, rounds = self._undoing(), self.state.rounds
        try:
            return self._pass(x, y, w, i, goal, limit)
        except BaseException:
            counted = self.state.rounds
            undo()
            if counted - 1 > rounds:
                i = self._pass(x, y, w, i, counted - 1, limit)
            undo = self._undoing()
            try:
                self._pass(x, y, w, i, counted, limit)
            except BaseException:
                undo()
            raise

    def _undoing(self) -> Callable[[], None]:
        """The step that undoes what is learnt from now on."""
        carried = self._carried()
        return partial(put_back, carried, [array.copy() for array in carried])

    def _rows_at_once(self, x: Rows) -> int:
        """The number of rows that are learnt before signals are let in."""
        return max(x.shape[0], 1)

    def _learn_alone(self, x: Rows, y: Any, w: Vector, i: int) -> bool:
        """Learn row i, unless a number overflows; returns whether it was learnt. If not, nothing is changed."""

        def learn() -> bool:
            return self._pass(x, y[: i + 1], w[: i + 1], i, self.state.rounds + 1, math.inf) > i

        return on_trial(learn, self._carried(), self.state.sums)


def on_trial(learn: Callable[[], bool], carried: Sequence[Any], sums: Any) -> bool:
    """Learn what may overflow; returns whether it was learnt. If not, the arrays that are carried are as they were."""
    before, learnt = [array.copy() for array in carried], False
    try:
        learnt = learn() and not overflowed(before, carried, sums)
    finally:
        if not learnt:
            put_back(carried, before)
    return learnt


@contextmanager
def whole(learner: Any, carried: Sequence[Any]) -> Iterator[None]:
    """Undo what is learnt inside if a part of the user's own raises an error: `carried` are the arrays that change."""
    if not is_own(learner):
        yield
        return
    before = [array.copy() for array in carried]
    try:
        yield
    except BaseException:
        put_back(carried, before)
        raise


def put_back(carried: Sequence[Any], before: Sequence[Any]) -> None:
    """Make the arrays that are carried what they were before."""
    for array, old in zip(carried, before, strict=True):
        array[...] = old


def overflowed(before: Sequence[Any], after: Sequence[Any], sums: Any) -> bool:
    """Whether a number is none any more; among `sums`, the longest iterate does not count, which may be unknown."""
    for old, new in zip(before, after, strict=True):
        lost = np.isfinite(old) & ~np.isfinite(new)
        if new is sums and new[LONGEST] == np.inf:
            lost[LONGEST] = False
        if lost.any():
            return True
    return False
