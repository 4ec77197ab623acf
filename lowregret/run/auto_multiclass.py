"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Self

import numpy as np

from lowregret.auto.class_loop import THEN_CLASSES, THEN_WIDTH, learn_classes
from lowregret.auto.classes import SHARES, AutoMulticlass, ClassMind, ClassWorkspace
from lowregret.auto.frozen import Frozen
from lowregret.auto.frozen_classes import foretell_classes
from lowregret.auto.learner import require_light
from lowregret.auto.linear_view import class_weights
from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.learner.growth import Shape, Together
from lowregret.learner.labels import ClassNames
from lowregret.learner.multiclass import Multiclass, Room
from lowregret.risk.kept_trial import Foretold
from lowregret.rows import Rows
from lowregret.run.auto_experts import Keeping, Standings
from lowregret.run.auto_record import Mixture, frozen_of
from lowregret.run.curve import Curve
from lowregret.run.eras import Eras
from lowregret.run.meaning import Tried
from lowregret.run.models import AutoClassModel
from lowregret.run.multiclass import LANES, MulticlassRun
from lowregret.run.reserve import Reserve
from lowregret.run.schema_classes import AutoClassSchema
from lowregret.store.file import Arrays
from lowregret.types import Vector


class AutoMulticlassRun(MulticlassRun):
    """A `MulticlassRun` of `zoo.auto(Softmax())`. `certificate` compares with the best of its eleven experts, whose
    losses are exact; `linear_regret` and `regret` with fixed linear predictors, with a bias."""

    kind = "auto-class-run"
    schema = AutoClassSchema(AutoMulticlass)
    learns = AutoMulticlass
    learner: AutoMulticlass  # type: ignore[assignment]
    record: Mixture

    def __init__(self, learner: AutoMulticlass, *given: Any, curve: Curve | None = None, **how: Any) -> None:
        super().__init__(learner, *given, **how)
        self.curve = curve or Curve.fresh(learner)  # random partitions, if rows are narrow

    @classmethod
    def begun(cls, learner: AutoMulticlass, features: int, names: ClassNames, **how: Any) -> Self:
        """A run before its first row, with room for this many features."""
        lanes = len(names) if names.fixed else LANES
        mixture = Mixture(ClassMind.fresh(features + 1, lanes), learner.spread)
        return cls(learner, learner.start(features, lanes), names, record=mixture, **how)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Any, w: Vector, i: int, goal: int, limit: float) -> int:
        return self.curve.play(self, x, y, w, i, goal)

    def pass_rows(self, x: Rows, y: Any, w: Vector, i: int, goal: int, beside: Any) -> int:
        """Learn rows from i on until `goal` rounds are played; returns the first row not learnt."""
        desk = self.record.desk(self, x, True)
        given = self.learner, self.state, self.record.mind, desk, x, y, w, self._room, beside, self.slots, self.guesses
        return int(call(learn_classes, self.compiled, *given, i, goal))

    def _carried(self) -> Sequence[Any]:
        return *super()._carried(), *self.record.mind, *self.curve.carried()

    def fitting(self, y: Any, w: Vector, i: int, end: int) -> int:
        """The end of those rows i, …, end − 1 that there is room for: up to a class that is new."""
        new = (y[i:end] >= self.lanes) & (w[i:end] != 0 if w.size else True)
        return i + int(np.argmax(new)) if new.any() else end

    @property
    def slot_sizes(self) -> tuple[int, int]:
        return self._stride, THEN_CLASSES + THEN_WIDTH * self._stride

    @property
    def nobody(self) -> Any:
        """The scores beside if no expert joined."""
        return np.empty((0, 0))

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        require_light(w, i, place)
        super()._refuse(x, label, w, i, place)

    @property
    def _model(self) -> AutoClassModel:
        self._require_classes()
        model = self.record.model(self)
        return AutoClassModel(self.learner, model, len(self.classes), self.lanes, self.curve.model())

    @property
    def _frozen_model(self) -> AutoClassModel:
        assert self.frozen is not None
        return AutoClassModel(self.learner, self.frozen, self._frozen_known, self.lanes, self.curve.frozen_model())

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        beside = self.curve.foretell(self, x, y, picked, weights)
        values, guesses, _ = self._frozen_judged(x, y, picked, weights, beside, 1)
        return self._compared(values, guesses, y[picked], picked)

    def frozen_scores(self, x: Rows, y: Any, picked: Any, weights: Vector, beside: Any) -> Vector:
        """The scores of the frozen model for the picked rows; its experts are judged by them."""
        return self._frozen_judged(x, y, picked, weights, beside, max(picked.size, 2))[2]

    def _frozen_judged(
        self, x: Rows, y: Any, picked: Any, weights: Vector, beside: Any, rows: int
    ) -> tuple[Vector, Any, Vector]:
        """Losses, guesses and scores of the frozen model; there is room for the scores of this many rows."""
        kept, room = self.record, Room.of(np.array([self._frozen_known]), self.lanes, rows)
        values, guesses = np.empty(picked.size), np.empty(picked.size, np.int64)
        judged = y[picked], weights / self.trial.share, beside, values, guesses, kept.votes, kept.means, kept.priors
        self._call(foretell_classes, self.learner, self.frozen, kept.desk(self, x, False), x, room, picked, *judged)
        return values, guesses, room.scores[: picked.size]

    def _freeze(self) -> None:
        self.frozen, self._frozen_known = self.record.freeze(self), int(self._known[0])

    def _pause(self) -> None:
        self.curve.pause(self, super()._pause)

    def end_trial(self) -> None:
        super().end_trial()
        self.curve.end_trial(self.trial)

    def companion(self, features: int) -> Self:
        """A run of the same learner on rows with cells, before its first row; its classes are codes."""
        names = ClassNames(list(range(len(self.classes))) if self.classes.fixed else None)
        run = self.begun(self.learner.plain(), features, names, certify=False, compiled=self.compiled)
        run.keep_scores = True
        return run

    @property
    def reserve(self) -> Reserve:
        """Rows that came since the model was frozen, if that knows few features."""
        return self.record.reserving.reserve(self)

    def _tried(self) -> Tried:
        return self.record.reserving.tried(self)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def linear(self) -> Multiclass:
        return self.learner.linear

    @property
    def contest(self) -> Standings:
        """The experts of the mixture: their losses, and how far each is trusted."""
        return self.record.contest(self)

    @property
    def forest_certificate(self) -> Certificate | None:
        return self.record.forest_certificate(self)

    @property
    def keeper(self) -> Keeping:
        """The experts of the kept model: the loss of each while it was frozen, and how far each is trusted."""
        return self.record.keeper(self)

    def eras(self, count: int | None = None) -> Eras:
        """The run in up to 64 eras, or in `count`: the losses of the mixture and of each expert in each era."""
        return self.record.eras(self, count)

    @property
    def fixed_trace(self) -> tuple[Any, Vector]:
        """Rounds, and the linearised regret against fixed linear predictors after each of them."""
        return self.record.fixed_trace(self)

    @classmethod
    def _given(cls, learner: AutoMulticlass, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        mixture = Mixture.of(ClassMind, learner.spread, description, arrays)
        found = super()._given(learner, description, arrays)
        found |= {"record": mixture, "frozen": frozen_of(ClassMind, description, arrays)}
        return found | {"curve": Curve.of(cls, description, arrays)}

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        told, found = self.curve.contents(self)
        description, arrays = super().contents()
        return description | told, arrays | found

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> Vector:
        """Statistics of each feature, laid out as `auto/view.py` says."""
        return self.record.mind.measures

    @property
    def lots(self) -> int:
        """The number of scores that a row has room for."""
        return self.lanes

    def new_desk(self, entries: int) -> ClassWorkspace:
        """Memory for one row of up to this many entries."""
        return ClassWorkspace.of(entries, self.lanes)

    def _of(self) -> str:
        return ""

    @property
    def placed_weights(self) -> Vector:
        return class_weights(self.record.mind, self.lanes)[:, : len(self.classes)]

    def _regrown(self, before: Shape, after: Shape, together: Together) -> Callable[[], None]:
        kept = self.record
        live = spread(Frozen(kept.mind.measures, kept.average, kept.mind), before, after, together)
        frozen = None if self.frozen is None else spread(self.frozen, before, after, together)

        def take() -> None:
            kept.mind, kept.average, self.frozen = live.mind, live.average, frozen

        return take


def spread(model: Frozen, old: Shape, new: Shape, together: Together) -> Frozen:
    """A model with room for more features and classes; the bias stays last: O(d) if there are more classes."""
    mind, past = model.mind, np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    cells = {"past": past}
    for name in mind.by_feature():
        shapes = (old, new) if name in mind.by_class() else ((old[0], 1), (new[0], 1))
        cells[name] = together.refit(getattr(mind, name), *shapes, True)
    mind = mind._replace(**cells)
    return Frozen(mind.measures, together.refit(model.average, old, new, True), mind)
