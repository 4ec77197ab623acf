"""Runs with one score a row: what they share, whatever makes the scores."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from lowregret.check import Place, finite_numbers, numbers, refuse
from lowregret.fixed import Learnt
from lowregret.growth import resized
from lowregret.kept import judge_scores
from lowregret.learner import Linear
from lowregret.ledger import Ledger
from lowregret.rows import Features, Rows, Sparse, highest, last_column
from lowregret.state import Vector
from lowregret.store import Arrays
from lowregret.stream.batch import Batch
from lowregret.tally import Tally


class RowRun(Ledger):
    """A learner that scores rows, its state and history."""

    @property
    @abstractmethod
    def linear(self) -> Linear:
        """The linear learner whose fixed predictors the regret compares with."""

    @abstractmethod
    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, mark: int) -> int:
        """Learn rows from i on until `mark` rounds are done; returns the first row not learnt."""

    @abstractmethod
    def _widen(self, features: int) -> None:
        """Make room for this many features."""

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn_batch(self, batch: Batch) -> None:
        """Learn the rows of a batch; `scores` are theirs until the next one."""
        if len(batch):
            self._learn(batch.rows, batch.labels, batch.weights, batch.place)
        else:
            self.scores = np.empty(0)

    def _learn(self, x: Rows, y: Vector, w: Vector, place: Place) -> None:
        self.uniform &= bool(np.all(w == 1))
        if self.tally.recognised(x, y):
            self.trial.end(self.rounds)
        self.scores = np.empty(y.size)
        x, i = self._fitted(x), 0
        try:
            while i < y.size:
                i, paused = self._stretch(partial(self._pass, x, y, w), x, y, w, i)
                if paused or i == y.size:
                    continue
                if self._grow(x, i):
                    x = self._fitted(x)
                else:
                    self.scores[i:] = np.nan
                    refuse(self.learner.loss, x, y, w, i, place(i))
        finally:
            if i:
                self.tally.see(self.linear, x, y, w, self.scores, i, self.compiled)
        if self.seen is not None:
            self.seen = max(self.seen, highest(x, y.size))

    def _judged(self, y: Vector, scores: Vector) -> tuple[Vector, Any]:
        """The loss of each score, and whether it is wrong."""
        values, wrong = np.empty(y.size), np.empty(y.size, bool)
        self._call(judge_scores, self.learner.loss, y, scores, values, wrong)
        return values, wrong

    # ---- results -------------------------------------------------------------------------------------------------

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed u, given the rows that were learnt: O(nnz).

        It is what the certificate bounds: a ridge is part of f_t, and where the schedule weighs the rounds by c_t ≠ 1,
        the weighted mean is taken.
        """
        return self._learnt(features, labels, weights).regret(self._spread(u))

    def against(self, u: Any, features: Features, labels: Any, weights: Any = None) -> Vector:
        """Σ_{s≤t} f_s(u) of one fixed u at the rounds t of the trace, given the rows that were learnt: O(nnz)."""
        return self._learnt(features, labels, weights).losses(self._spread(u), self.trace.rounds)

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        return super()._given(learner, description, arrays) | {"tally": Tally(learner.loss.classifies, arrays)}

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _labels(self, labels: Any, rows: int) -> Vector:
        return numbers(labels, "labels", rows)

    def _fitted(self, x: Rows) -> Rows:
        """Rows of a stream, with as many columns as there is room for."""
        room = self.state.dimension - (self.learner.bias > 0)
        return replace(x, columns=room) if isinstance(x, Sparse) and x.columns != room else x

    def _grow(self, x: Rows, i: int) -> bool:
        """Make room for row i if that is what it lacks."""
        if self.seen is None or x.inside(i):
            return False
        self._widen(last_column(x, i) + 1)
        return True

    def _spread(self, u: Any) -> Vector:
        """u with zeros where there is room for features that did not occur."""
        bias = self.learner.bias > 0
        return resized(finite_numbers(u, "u", self.dimension), self.state.dimension - bias, bias)

    def _learnt(self, features: Features, labels: Any, weights: Any = None) -> Learnt:
        """The rows of the run, given once more."""
        x = self._fitted(self._rows(features))
        y = numbers(labels, "labels", x.shape[0])
        w = np.ones(y.size) if weights is None else numbers(weights, "weights", x.shape[0]).copy()
        return Learnt(self.linear, self.state, x, y, w, self.scores, self.compiled)
