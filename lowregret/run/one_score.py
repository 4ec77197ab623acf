"""The base of runs with one score a row, whatever makes the scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from lowregret.learner.linear import Linear
from lowregret.learner.validate import finite_numbers, numbers, refuse, settled
from lowregret.risk.kept_trial import Foretold, judge_scores
from lowregret.risk.statistics import Tally
from lowregret.rows import Features, Rows, length
from lowregret.run.base import RowRun
from lowregret.run.outcome import Learnt
from lowregret.store.file import Arrays
from lowregret.stream.places import Placed
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.hindsight.fixed_comparator import GivenAgain


class ScoredRun(RowRun):
    """A run whose learner gives each row one score."""

    @property
    @abstractmethod
    def linear(self) -> Linear:
        """The linear learner whose fixed predictors the regret compares with."""

    @abstractmethod
    def _widen(self, features: int) -> None:
        """Make room for this many features."""

    # ---- learning ------------------------------------------------------------------------------------------------

    def _taken(self, labels: Any, w: Vector, names: Mapping[float, str] | None) -> Vector:
        self.scores = np.empty(len(labels))
        return labels

    def _told(self, y: Vector, done: int) -> Learnt:
        self.scores[done:] = np.nan
        return Learnt(done, y[:done], self.scores[:done], self.scores[:done])

    def _count(self, given: Rows, x: Rows, y: Vector, w: Vector) -> None:
        done = self.learnt.done
        if done:
            self.tally.see(self.linear, given, y, w, self.scores, done, self.compiled, x)
            self._meet(x, self.scores[:done], y[:done][w[:done] != 0] if w.size else y[:done])

    def _meet(self, x: Rows, scores: Vector, labels: Vector) -> None:
        """Note where a loss of the user's own is put to the test."""
        if self.met is not None:
            self.met = self.met.wider(scores, labels, math.hypot(length(x), self.learner.bias))

    @property
    def slot_sizes(self) -> tuple[int, int]:
        return 1, 1

    @property
    def coded(self) -> int:
        return 0

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        refuse(self.learner.loss, x, label, w, i, place)

    def _judged(self, y: Vector, kept: Vector, live: Vector) -> Foretold:
        """The losses of a frozen model's scores and of live ones, and where each is wrong."""
        told = np.empty((len(Foretold._fields), y.size))
        self._call(judge_scores, self.learner.loss, y, kept, live, told)
        return Foretold(*told)

    # ---- results -------------------------------------------------------------------------------------------------

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed u, given the rows that were learnt: O(nnz).

        The certificate bounds this regret: a ridge is part of f_t, and where the schedule weighs the rounds by c_t ≠ 1,
        the weighted mean is taken. That the rows are those, in their order, is your word.
        """
        fixed = self._spread(u)
        return self._given_again(features, labels, weights).regret(fixed)

    def against(self, u: Any, features: Features, labels: Any, weights: Any = None) -> Vector:
        """Σ_{s≤t} f_s(u) of one fixed u at the rounds t of the trace, given the rows that were learnt: O(nnz)."""
        fixed = self._spread(u)
        return self._given_again(features, labels, weights).losses(fixed, self.trace.rounds)

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        return super()._given(learner, description, arrays) | {"tally": Tally(learner.loss.classifies, arrays)}

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _labels(self, labels: Any, rows: int) -> Vector:
        return numbers(labels, "labels", rows)

    def _grow(self, placed: Placed, w: Vector, i: int) -> bool:
        if i >= placed.needs.size or placed.needs[i] <= self._places:
            return False
        self._widen(int(placed.needs[i]))
        return True

    def _spread(self, u: Any) -> Vector:
        """The vector u in the order of places, with zeros in places of features that did not occur."""
        return self._by_place(finite_numbers(u, "u", self.dimension), self._places)

    def _given_again(self, features: Features, labels: Any, weights: Any = None) -> GivenAgain:
        """The rows of the run, given once more."""
        from lowregret.hindsight.fixed_comparator import GivenAgain

        labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
        given = self._rows(features)
        y = numbers(labels, "labels", given.shape[0])
        w = np.ones(y.size) if weights is None else numbers(weights, "weights", y.size).copy()
        x = self.located_again(given, w)
        return GivenAgain(self.linear, self.state, x, y, w, self.scores, self.compiled)
