"""A run against one fixed u, on the rows that were learnt: the exact regret, which certificates bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowregret.certificate.mistakes import mistake_rounds
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.errors import DataError, PartError
from lowregret.learner.linear import Learner, Linear, loss_of
from lowregret.learner.validate import require_label
from lowregret.loss import OnMistakes
from lowregret.rows import Rows
from lowregret.state import RIDGE, TOTAL, WEIGHTED, State
from lowregret.types import Vector

ROUND, MARK, SUM = range(3)  # of `place`


@dataclass(frozen=True)
class GivenAgain:
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
        learner = self._weigh()
        theirs = float(call(loss_of, self.compiled, learner.judge, u, self.x, self.y, self.weights))
        return exact_regret(self.learner, self.state, u, theirs)

    def losses(self, u: Vector, marks: Any) -> Vector:
        """Σ_{s≤t} f_s(u), t the rounds `marks`: O(nnz)."""
        if not is_plain(self.learner):
            raise PartError("a ridge, weights of the schedule or a loss on mistakes only: use `regret`, at the end")
        return losses_at(self.learner, u, [(self.x, self.y, self.weights)], marks, self.compiled)

    def own_scores(self, rounds: int) -> Vector:
        """The scores made while learning, if all rows were learnt in one call."""
        if rounds != self.state.rounds or self.y.size != self.scores.size:
            raise DataError(f"give all {self.state.rounds} rows of the run, learnt in one call; got {self.y.size}")
        return self.scores

    def require_all(self) -> int:
        """The number of rounds; refuses more or fewer rows than were learnt."""
        rounds = int(np.count_nonzero(self.weights))
        if rounds != self.state.rounds:
            raise DataError(f"give the {self.state.rounds} rows that were learnt; got {rounds}")
        return rounds

    def _weigh(self) -> Linear:
        """Multiply weights by c_t, or by 0 where f_t is 0 for want of a mistake; the learner with the loss left."""
        played, learner, step = self.weights != 0, self.learner, self.learner.rule.schedule()
        rounds, loss = self.require_all(), self.learner.loss
        for i in np.flatnonzero(played).tolist():
            require_label(self.y[i], f"row {i}", loss.accepts(self.y[i]), type(loss).__name__, loss.labels)
        if step.weighted():
            self.weights[played] *= importances(learner, rounds)
        if isinstance(loss, OnMistakes):
            scores = self.own_scores(rounds)
            self.weights[played] *= mistake_rounds(loss, self.state, self.y[played], scores[played], self.compiled)
            learner = replace(learner, loss=loss.loss)
        return learner


def importances(learner: Learner, rounds: int) -> Vector:
    """c_1, …, c_T: how often each round counts."""
    step = learner.rule.schedule()
    return np.diff([step.total_importance(t) for t in range(rounds + 1)])


def exact_regret(learner: Learner, state: State, u: Vector, loss: float) -> float:
    """Σ c_t(f_t(w_t) − f_t(u)), given Σ c_t f_t(u) without the ridge; divided by Σ c_t where the c_t are not 1."""
    sums, step = state.sums, learner.rule.schedule()
    importance = step.total_importance(state.rounds)
    regret = float(sums[WEIGHTED] if step.weighted() else sums[TOTAL]) - loss
    if learner.ridge > 0:
        away = learner.centre.away(u) if isinstance(learner, Linear) else u
        with np.errstate(over="ignore"):
            regret += learner.ridge / 2 * (float(sums[RIDGE]) - importance * float(away @ away))
    return regret / max(importance, 1.0) if step.weighted() else regret


def is_plain(learner: Linear) -> bool:
    """Whether f_t is the loss of row t, no more and no less, and all rounds count alike."""
    return learner.ridge == 0 and not learner.rule.schedule().weighted() and not isinstance(learner.loss, OnMistakes)


def losses_at(
    learner: Linear, u: Vector, rows: Iterable[tuple[Rows, Vector, Vector]], marks: Any, compiled: bool
) -> Vector:
    """Σ_{s≤t} f_s(u) on rows that come in pieces, t the rounds `marks`: O(nnz)."""
    losses, place = np.zeros(marks.size), np.zeros(3)
    for x, y, weights in rows:
        call(add_losses, compiled, learner.judge, u, x, y, weights, marks, losses, place)
    return losses


@kernel
def add_losses(
    learner: Linear, u: Vector, x: Rows, y: Vector, weights: Vector, marks: Any, losses: Vector, place: Vector
) -> None:
    """Write Σ weight·ℓ(⟨u, x_i⟩, y_i) after each of the rounds `marks` into `losses`: O(nnz).

    `place` is where the rows before have come to: rounds, marks passed, and the sum.
    """
    for i in range(y.size):
        weight = weights[i] if weights.size > 0 else 1.0
        if weight != 0.0:
            value, _ = learner.loss.at(learner.score(u, x, i), y[i])
            place[ROUND] += 1.0
            place[SUM] += weight * value
            while place[MARK] < marks.size and marks[int(place[MARK])] <= place[ROUND]:
                losses[int(place[MARK])] = place[SUM]
                place[MARK] += 1.0
