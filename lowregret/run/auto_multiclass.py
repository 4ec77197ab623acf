"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.auto.classes import SHARES, AutoMulticlass, ClassMind, ClassWorkspace, learn_classes
from lowregret.auto.kept import Frozen
from lowregret.auto.kept_classes import foretell_classes
from lowregret.auto.weights import class_weights
from lowregret.domain import Domain
from lowregret.learner.growth import FIRST, Shape, refit
from lowregret.learner.labels import Classes
from lowregret.learner.multiclass import Multiclass, Room
from lowregret.learner.places import Placed
from lowregret.learner.validate import require_scores
from lowregret.risk.kept import Foretold
from lowregret.rows import Features, Rows, longest
from lowregret.run.multiclass import LANES, MulticlassRun
from lowregret.run.schema_classes import AutoClassSchema
from lowregret.run.standing import Standing
from lowregret.types import Vector


def start_auto_classes(
    learner: AutoMulticlass,
    features: int | None,
    classes: Sequence[Any] | None = None,
    comparator: Domain | None = None,
    *,
    certify: bool = True,
    compiled: bool = True,
) -> AutoMulticlassRun:
    """A run before its first row, for this many features and these classes; None: those that there turn out to be."""
    names = Classes(classes)
    lanes, places = len(names) if names.fixed else LANES, FIRST if features is None else features
    state, mind = learner.start(places, lanes), ClassMind.fresh(places + 1, lanes)
    seen = 0 if features is None else None
    return AutoMulticlassRun(
        learner, state, names, comparator, mind=mind, seen=seen, certify=certify, compiled=compiled
    )


class AutoMulticlassRun(Standing, MulticlassRun):
    """A `MulticlassRun` of `zoo.auto(Softmax())`. `certificate` compares with the best of its eleven experts, whose
    losses are exact; `linear_regret` and `regret` with fixed linear predictors, with a bias."""

    kind = "auto-class-run"
    schema = AutoClassSchema(AutoMulticlass)
    learns = AutoMulticlass
    minds = ClassMind
    learner: AutoMulticlass  # type: ignore[assignment]

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, codes: Any, w: Vector, room: Room, i: int, mark: int) -> int:
        given = self.learner, self.state, self.mind, self._desk(x, True), x, codes, w, room, self.guesses
        return int(self._call(learn_classes, *given, i, mark))

    def decision_function(self, features: Features) -> Vector:
        """ln(chance) of each class by the model that is kept, which knows no label of these rows: O(nnz · classes)."""
        x = self._rows(features)
        room = Room.of(np.array([self._need_classes()]), self.lanes, max(x.shape[0], 2))
        every = np.arange(x.shape[0])
        desk = self._new_desk(longest(x))  # of its own: several threads may predict at once
        self._foretell(self._model, desk, self.located(x), room, every, np.empty(0, np.int64), np.empty(0))
        scores = room.scores[: x.shape[0], : len(self.classes)]
        require_scores(x, scores[:, 0])
        return scores

    def _foretell(
        self, model: Frozen, desk: ClassWorkspace, x: Rows, room: Room, picked: Any, codes: Any, weights: Vector
    ) -> tuple[Vector, Any]:
        values, guesses = np.empty(picked.size), np.empty(picked.size, np.int64)
        given = x, room, picked, codes, weights, values, guesses, self.votes, self.means, self.priors
        self._call(foretell_classes, self.learner, model, desk, *given)
        return values, guesses

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        codes, room = y[picked], Room.of(np.array([self._frozen_known]), self.lanes)
        judged = picked, codes, weights / self.trial.share
        values, guesses = self._foretell(self.frozen, self._desk(x, False), x, room, *judged)
        return self._told(values, guesses, codes, picked)

    def _new_desk(self, entries: int) -> ClassWorkspace:
        return ClassWorkspace.of(entries, self.lanes)

    def _freeze(self) -> None:
        super()._freeze()
        self._frozen_known = int(self._known[0])

    @property
    def _measures(self) -> Vector:
        return self.mind.measures

    @property
    def _lots(self) -> int:
        return self.lanes

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
        after = self._places, self.lanes
        live = spread(Frozen(self.mind.measures, self.average, self.mind), before, after)
        self.mind, self.average = live.mind, live.average
        if self.frozen is not None:
            self.frozen = spread(self.frozen, before, after)
        return True

    def _regrow(self, before: Shape) -> None:
        """The frozen model grows with the mind."""


def spread(model: Frozen, old: Shape, new: Shape) -> Frozen:
    """The same with room for more features and classes; the bias stays last: O(d) if there are more classes."""
    mind, past = model.mind, np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    cells = {"past": past}
    for name in mind.by_feature():
        shapes = (old, new) if name in mind.by_class() else ((old[0], 1), (new[0], 1))
        cells[name] = refit(getattr(mind, name), *shapes, True)
    mind = mind._replace(**cells)
    return Frozen(mind.measures, refit(model.average, old, new, True), mind)
