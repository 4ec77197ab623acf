"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.auto.classes import SHARES, AutoMulticlass, ClassDesk, ClassMind, learn_classes
from lowregret.auto.kept import Frozen
from lowregret.auto.kept_classes import foretell_classes
from lowregret.auto.weights import class_weights
from lowregret.check import require_scores
from lowregret.class_run import LANES, ClassRun
from lowregret.classes import Classes
from lowregret.domain import Domain
from lowregret.growth import FIRST, Shape, doubled
from lowregret.kept import Foretold
from lowregret.memory import aligned, zeros
from lowregret.multiclass import Multiclass, Room
from lowregret.rows import Features, Rows, highest, longest
from lowregret.standing import Standing
from lowregret.state import Vector
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
    return AutoClassRun(learner, state, names, comparator, mind=mind, seen=seen, certify=certify, compiled=compiled)


class AutoClassRun(Standing, ClassRun):
    """A `ClassRun` of `zoo.auto(Softmax())`. `certificate` compares with the best of its eleven experts, whose losses
    are exact; `linear_regret` and `regret` with fixed linear predictors, with a bias."""

    kind = "auto-class-run"
    learns = AutoMulticlass
    minds = ClassMind
    learner: AutoMulticlass  # type: ignore[assignment]

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, w: Vector, room: Room, i: int, mark: int) -> int:
        desk = ClassDesk.of(longest(x), self.lanes)
        given = self.learner, self.state, self.mind, desk, x, self.codes, w, room, self.guesses
        return int(self._call(learn_classes, *given, i, mark))

    def decisions(self, features: Features) -> Vector:
        """ln(chance) of each class by the model that is kept, which knows no label of these rows: O(nnz · classes)."""
        x = self._rows(features)
        needed, model = highest(x, x.shape[0]), self._model
        if needed > self._places:
            model = spread(model, (self._places, self.lanes), (doubled(FIRST, needed), self.lanes))
        room = Room.of(np.array([self._need_classes()]), self.lanes, max(x.shape[0], 2))
        self._foretell(model, x, room, np.arange(x.shape[0]), np.empty(0, np.int64), np.empty(0))
        scores = room.scores[: x.shape[0], : len(self.classes)]
        require_scores(x, scores[:, 0])
        return scores

    def _foretell(
        self, model: Frozen, x: Rows, room: Room, picked: Any, codes: Any, weights: Vector
    ) -> tuple[Vector, Any]:
        values, guesses = np.empty(picked.size), np.empty(picked.size, np.int64)
        given = x, room, picked, codes, weights, values, guesses, self.votes, self.means, self.priors
        self._call(foretell_classes, self.learner, model, ClassDesk.of(longest(x), self.lanes), *given)
        return values, guesses

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        codes, room = y[picked], Room.of(np.array([self._frozen_known]), self.lanes)
        values, guesses = self._foretell(self.frozen, x, room, picked, codes, weights / self.trial.share)
        return self._told(values, guesses, codes, picked)

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
        return self._sized(class_weights(self.mind, self.lanes)[:, : len(self.classes)], self.features)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def linear(self) -> Multiclass:
        return self.learner.linear

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        given = super()._given(learner, description, arrays)
        mind, model = given["mind"], given["frozen"]
        if model is not None:
            model = _shared(model.average, _aligned(model.mind))
        return given | {"mind": _aligned(mind), "average": aligned(given["average"]), "frozen": model}

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _grow(self, x: Rows, w: Vector, i: int) -> bool:
        before = self._places, self.lanes
        if not super()._grow(x, w, i):
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
    """The same with room for more features and classes; the bias stays last: O(d)."""
    mind, past = model.mind, np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    bank, average = _relaid(mind.bank, old, new), _relaid(model.average, old, new)
    measures = _relaid(mind.measures, (old[0], 1), (new[0], 1))
    return _shared(average, mind._replace(measures=measures, bank=bank, past=past))


def _shared(average: Any, mind: ClassMind) -> Frozen:
    """A model whose measures are those of its mind."""
    return Frozen(mind.measures, average, mind)


def _aligned(mind: ClassMind) -> ClassMind:
    return mind._replace(bank=aligned(mind.bank), measures=aligned(mind.measures))


def _relaid(cells: Any, old: Shape, new: Shape) -> Any:
    width = cells.size // ((old[0] + 1) * old[1])
    before = cells.reshape(old[0] + 1, old[1], width)
    cells = zeros((new[0] + 1) * new[1] * width, cells.dtype)
    after = cells.reshape(new[0] + 1, new[1], width)
    after[: old[0], : old[1]] = before[:-1]
    after[-1, : old[1]] = before[-1]
    return cells
