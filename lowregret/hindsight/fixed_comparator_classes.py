"""A run with many classes against one fixed u, on the rows that were learnt: its exact regret, its margins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate.multiclass_mistakes import Margins
from lowregret.compile.call import call
from lowregret.compile.numerics import norm
from lowregret.hindsight.fixed_comparator import exact_regret, importances
from lowregret.learner.multiclass import NONE, Multiclass, Room, class_loss, longest, score_classes
from lowregret.loss import PerceptronLoss
from lowregret.rows import EVERY, Rows
from lowregret.state import State
from lowregret.types import Vector


@dataclass(frozen=True)
class ClassesGivenAgain:
    """All rows of a run, and what it guessed: classes by code, u laid out like the state."""

    learner: Multiclass
    state: State
    lanes: int
    named: int  # classes that were known from the beginning
    x: Rows
    codes: Any
    weights: Vector
    guesses: Any
    compiled: bool

    def regret(self, u: Vector) -> float:
        """Σ c_t(f_t(w_t) − f_t(u)), a weighted mean where the c_t are not 1: O(nnz · classes)."""
        weights = self.weights.copy()
        if self.learner.rule.schedule().weighted():
            weights[weights != 0] *= importances(self.learner, self.state.rounds)
        rows = self.x, self.codes, weights, self.guesses, self.named
        room = Room.of(np.zeros(1, np.int64), self.lanes)
        theirs = float(call(class_loss, self.compiled, self.learner, u, *rows, room))
        return exact_regret(self.learner, self.state, u, theirs)

    def margins(self, u: Vector) -> Margins:
        """The margins of u that the Perceptron's bounds need: O(nnz · classes)."""
        rows, scores = np.arange(self.codes.size), np.empty((self.codes.size, self.lanes))
        call(score_classes, self.compiled, self.learner, u, self.x, EVERY, scores)
        own, known = scores[rows, self.codes], np.maximum(np.maximum.accumulate(self.codes) + 1, self.named)
        others = np.where(np.arange(self.lanes) < known[:, None], scores, -np.inf)
        others[rows, self.codes] = -np.inf
        updated = (self.guesses != self.codes) & (self.guesses != NONE)
        return Margins(
            (own - scores[rows, self.guesses])[updated],
            own - others.max(axis=1),
            norm(u.ravel()),
            float(np.sqrt(2 * call(longest, self.compiled, self.learner, self.x, rows.size))),
            u.size,
        )


def needs_guesses(learner: Multiclass) -> bool:
    """Whether f_t depends on what was guessed in round t."""
    return isinstance(learner.loss, PerceptronLoss)
