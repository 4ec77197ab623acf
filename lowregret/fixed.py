"""A run against one fixed u, on the rows that were learnt: the exact regret, which certificates bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lowregret.certificate.mistakes import mistake_rounds
from lowregret.check import call, require_label
from lowregret.error import DataError
from lowregret.learner import Linear, loss_of
from lowregret.loss import OnMistakes
from lowregret.rows import Rows
from lowregret.state import RIDGE, TOTAL, WEIGHTED, State, Vector


@dataclass(frozen=True)
class Learnt:
    """All rows of a run, and the scores it made on them; `weights` is multiplied in place by what a round counts."""

    learner: Linear
    state: State
    x: Rows
    y: Vector
    weights: Vector
    scores: Vector
    compiled: bool

    def regret(self, u: Vector) -> float:
        """Σ c_t(f_t(w_t) − f_t(u)), a weighted mean where the c_t are not 1: O(nnz)."""
        learner = self._weighed()
        sums, step = self.state.sums, self.learner.rule.schedule()
        importance = step.total_importance(self.state.rounds)
        mine = sums[WEIGHTED] if step.weighted() else sums[TOTAL]
        regret = float(mine) - float(call(loss_of, self.compiled, learner, u, self.x, self.y, self.weights))
        regret += self.learner.ridge / 2 * (float(sums[RIDGE]) - importance * float(u @ u))
        return regret / max(importance, 1.0) if step.weighted() else regret

    def own_scores(self, rounds: int) -> Vector:
        """The scores made while learning, if all rows were learnt in one call."""
        if rounds != self.state.rounds or self.y.size != self.scores.size:
            raise DataError(f"give all {self.state.rounds} rows of the run, learnt in one call; got {self.y.size}")
        return self.scores

    def _weighed(self) -> Linear:
        """Multiply weights by c_t, or by 0 where f_t is 0 for want of a mistake; the learner with the loss left."""
        played, learner, step = self.weights != 0, self.learner, self.learner.rule.schedule()
        rounds, loss = int(np.count_nonzero(played)), self.learner.loss
        if rounds != self.state.rounds:
            raise DataError(f"give the {self.state.rounds} rows that were learnt; got {rounds}")
        for i in np.flatnonzero(played).tolist():
            require_label(self.y[i], f"row {i}", loss.accepts(self.y[i]), type(loss).__name__, loss.labels)
        if step.weighted():
            self.weights[played] *= np.diff([step.total_importance(t) for t in range(rounds + 1)])
        if isinstance(loss, OnMistakes):
            scores = self.own_scores(rounds)
            self.weights[played] *= mistake_rounds(loss, self.state, self.y[played], scores[played], self.compiled)
            learner = replace(learner, loss=loss.loss)
        return learner
