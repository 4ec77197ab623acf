"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.auto.bank import WIDTH as BANK_WIDTH
from lowregret.auto.classes import (
    SHARES,
    AutoMulticlass,
    ClassDesk,
    ClassMind,
    learn_classes,
    score_classes,
)
from lowregret.auto.view import COLUMNS
from lowregret.auto.weights import class_weights
from lowregret.check import require_scores
from lowregret.class_run import LANES, ClassRun
from lowregret.classes import Classes
from lowregret.domain import Domain
from lowregret.growth import FIRST, doubled
from lowregret.memory import aligned, zeros
from lowregret.multiclass import Multiclass, Room
from lowregret.rows import Features, Rows, highest, longest
from lowregret.standing import Standing
from lowregret.state import State, Vector
from lowregret.store import Arrays


def start_auto_classes(
    learner: AutoMulticlass,
    features: int | None,
    classes: Sequence[Any] | None = None,
    comparator: Domain | None = None,
    *,
    certify: bool = True,
    compiled: bool = True,
) -> AutoClassRun:
    """A run before its first row, for this many features and these classes; None: those that there turn out to be."""
    names = Classes(classes)
    lanes, places = len(names) if names.fixed else LANES, FIRST if features is None else features
    state, mind = learner.start(places, lanes), ClassMind.fresh(places + 1, lanes)
    seen = 0 if features is None else None
    return AutoClassRun(learner, state, mind, names, comparator, seen=seen, certify=certify, compiled=compiled)


class AutoClassRun(Standing, ClassRun):
    """A `ClassRun` of `zoo.auto(Softmax())`. `certificate` compares with the best of its eleven experts, whose losses
    are exact; `linear_regret` and `regret` with fixed linear predictors, with a bias."""

    kind = "auto-class-run"
    learns = AutoMulticlass
    minds = ClassMind
    learner: AutoMulticlass  # type: ignore[assignment]

    def __init__(
        self,
        learner: AutoMulticlass,
        state: State,
        mind: ClassMind,
        classes: Classes,
        comparator: Domain | None = None,
        *,
        contests: Vector | None = None,
        eras: Vector | None = None,
        **options: Any,
    ) -> None:
        super().__init__(learner, state, classes, comparator, **options)  # type: ignore[arg-type]
        self.mind = mind
        self._contests = [] if contests is None else list(contests)
        self._eras = [] if eras is None else list(eras)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, w: Vector, room: Room, i: int, mark: int) -> int:
        desk = ClassDesk.of(longest(x), self.lanes)
        given = self.learner, self.state, self.mind, desk, x, self.codes, w, room, self.guesses
        return self._in_eras(lambda row, end: int(self._call(learn_classes, *given, row, end)), i, mark)

    def decisions(self, features: Features) -> Vector:
        """ln(chance) of each class, as if the label before the row were not known: O(nnz · classes)."""
        x = self._rows(features)
        needed, mind = highest(x, x.shape[0]), self.mind
        if needed > self._places:
            mind = spread(mind, (self._places, self.lanes), (doubled(FIRST, needed), self.lanes))
        scores = np.empty((x.shape[0], self.lanes))
        room, desk = Room.of(np.array([self._need_classes()]), self.lanes), ClassDesk.of(longest(x), self.lanes)
        self._call(score_classes, self.learner, mind, desk, x, room, scores)
        require_scores(x, scores[:, 0])
        return scores[:, : len(self.classes)]

    @property
    def weights(self) -> Vector:
        """A linear model near the mixture, a row for each feature, the bias last, to be read: O(d)."""
        return self._sized(class_weights(self.mind, self.lanes)[:, : len(self.classes)], self.features)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def linear(self) -> Multiclass:
        return self.learner.linear

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        given = super()._given(learner, description, arrays)
        mind = given["mind"]
        return given | {"mind": mind._replace(bank=aligned(mind.bank), measures=aligned(mind.measures))}

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _grow(self, x: Rows, w: Vector, i: int) -> bool:
        before = self._places, self.lanes
        if not super()._grow(x, w, i):
            return False
        self.mind = spread(self.mind, before, (self._places, self.lanes))
        return True


def spread(mind: ClassMind, old: tuple[int, int], new: tuple[int, int]) -> ClassMind:
    """The same with room for more features and classes; the bias stays last: O(d)."""
    past = np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    bank = _relaid(mind.bank, (old[0] + 1, old[1], BANK_WIDTH), (new[0] + 1, new[1], BANK_WIDTH))
    measures = _relaid(mind.measures, (old[0] + 1, 1, COLUMNS), (new[0] + 1, 1, COLUMNS))
    return mind._replace(measures=measures, bank=bank, past=past)


def _relaid(cells: Any, old: tuple[int, int, int], new: tuple[int, int, int]) -> Any:
    before, cells = cells.reshape(old), zeros(math.prod(new), cells.dtype)
    after = cells.reshape(new)
    after[: old[0] - 1, : old[1]] = before[:-1]
    after[-1, : old[1]] = before[-1]
    return cells
