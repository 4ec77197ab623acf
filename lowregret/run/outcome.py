"""The report on a batch of rows that was learnt, and the steps that must follow, each done once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from lowregret.types import Vector


class Learnt(NamedTuple):
    """The first rows of a batch, which were learnt, with the prediction made of each before it was learnt."""

    done: int  # rows learnt, or passed over for their weight 0: all of the batch unless something went wrong
    labels: Any  # theirs; of many classes by code
    guesses: Any  # their scores; of many classes the codes of those guessed
    scores: Any  # as guesses; of many classes a row of scores for each, if the run keeps them


NOTHING = Learnt(0, np.empty(0), np.empty(0), np.empty(0))


def rows_played(weights: Vector, rounds: int) -> int:
    """The number of rows passed after this many rounds: rows of weight 0 are no rounds; no weights: all are 1."""
    if not rounds or not weights.size:
        return rounds
    return int(np.flatnonzero(weights)[rounds - 1]) + 1


class Steps:
    """A queue of steps still to be done, in order. A step that fails must have changed nothing; it is tried once more.

    An interruption or a lack of memory in one step thus does not prevent the others.
    """

    def __init__(self) -> None:
        self._left: deque[Callable[[], object]] = deque()

    def add(self, *steps: Callable[[], object]) -> None:
        """Put steps at the end."""
        self._left.extend(steps)

    def finish(self) -> None:
        """Do all steps; the first error is raised after all were tried."""
        problem: BaseException | None = None
        while self._left:
            step = self._left[0]
            try:
                step()
            except BaseException as error:
                problem = problem or error
                with suppress(Exception):
                    step()
            self._left.popleft()
        if problem is not None:
            raise problem
