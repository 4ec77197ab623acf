"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.auto.classes import (
    SHARES,
    AutoMulticlass,
    ClassDesk,
    ClassMind,
    learn_classes,
    score_classes,
)
from lowregret.auto.weights import class_weights
from lowregret.check import require_scores
from lowregret.class_run import LANES, ClassRun
from lowregret.classes import Classes
from lowregret.domain import Domain
from lowregret.growth import FIRST, Shape, refitted
from lowregret.multiclass import Multiclass, Room
from lowregret.places import Placed
from lowregret.rows import Features, Rows, longest
from lowregret.standing import Standing
from lowregret.state import State, Vector


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

    def _pass(self, x: Rows, codes: Any, w: Vector, room: Room, i: int, mark: int) -> int:
        desk = ClassDesk.of(longest(x), self.lanes)
        given = self.learner, self.state, self.mind, desk, x, codes, w, room, self.guesses
        return self._in_eras(lambda row, end: int(self._call(learn_classes, *given, row, end)), i, mark)

    def decisions(self, features: Features) -> Vector:
        """ln(chance) of each class, as if the label before the row were not known: O(nnz · classes)."""
        x = self._rows(features)
        scores = np.empty((x.shape[0], self.lanes))
        room, desk = Room.of(np.array([self._need_classes()]), self.lanes), ClassDesk.of(longest(x), self.lanes)
        self._call(score_classes, self.learner, self.mind, desk, self.located(x), room, scores)
        require_scores(x, scores[:, 0])
        return scores[:, : len(self.classes)]

    @property
    def weights(self) -> Vector:
        """A linear model near the mixture, a row for each feature, the bias last, to be read: O(d)."""
        return self._by_column(self.placed_weights)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def linear(self) -> Multiclass:
        return self.learner.linear

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def placed_weights(self) -> Vector:
        return class_weights(self.mind, self.lanes)[:, : len(self.classes)]

    def _grow(self, placed: Placed, w: Vector, i: int) -> bool:
        before = self._places, self.lanes
        if not super()._grow(placed, w, i):
            return False
        self.mind = spread(self.mind, before, (self._places, self.lanes))
        return True


def spread(mind: ClassMind, old: Shape, new: Shape) -> ClassMind:
    """The same with room for more features and classes; the bias stays last: O(d) if there are more classes."""
    past = np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    spread = {"past": past}
    for name in mind.by_feature():
        shapes = (old, new) if name in mind.by_class() else ((old[0], 1), (new[0], 1))
        spread[name] = refitted(getattr(mind, name), *shapes, True)
    return mind._replace(**spread)
