"""A run of `auto`: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np

from lowregret.auto import AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.auto.frozen import Frozen, foretell_rows
from lowregret.auto.learner import HEAVY, WIDE, Auto, Mind, Workspace, require_light
from lowregret.auto.linear_view import linear_weights
from lowregret.auto.regression import begin_anew, take_unit
from lowregret.auto.row_loop import THEN, learn_rows, move_waiting
from lowregret.auto.view import FAR
from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.domain import Domain, L2Ball
from lowregret.errors import DataError
from lowregret.learner.growth import Together
from lowregret.learner.labels import as_labels
from lowregret.learner.linear import Linear
from lowregret.risk.kept_trial import Foretold
from lowregret.rows import Rows
from lowregret.run.auto_experts import Keeping, Standings
from lowregret.run.auto_pair import Pair
from lowregret.run.auto_record import Mixture, frozen_of
from lowregret.run.curve import Curve
from lowregret.run.eras import Eras
from lowregret.run.meaning import Tried
from lowregret.run.models import AutoModel
from lowregret.run.one_score import ScoredRun
from lowregret.run.reserve import Reserve
from lowregret.run.schema_classes import AutoRowSchema
from lowregret.state import State
from lowregret.store.file import Arrays
from lowregret.stream.ahead import Ahead
from lowregret.types import Vector


def auto_for(rows: Any, labels: Any = None) -> Auto | AutoMulticlass:
    """`auto` for the labels that rows begin with: logistic loss for ±1, softmax for texts, else the square loss."""
    values = first_labels(rows) if isinstance(rows, Ahead) else as_labels(labels)
    if values.dtype.kind in "USO":
        return AutoMulticlass()
    if are_bits(values):
        raise DataError(
            "the labels are 0 and 1: give -1 and +1 for two classes (--positive 1), or say that they are numbers: "
            "zoo.auto(Square()), --loss square"
        )
    signs = values.dtype.kind in "biuf" and bool(np.all(np.abs(values) == 1))
    return AutoClassifier() if signs else AutoRegressor()


def are_bits(labels: Any) -> bool:
    """Whether labels are 0 and 1, which may mean two classes, or numbers."""
    if np.asarray(labels).dtype.kind not in "biuf":
        return False
    zeros, ones = np.asarray(labels) == 0, np.asarray(labels) == 1
    return bool(np.all(zeros | ones) and np.any(zeros) and np.any(ones))


def first_labels(stream: Ahead) -> Vector:
    """The labels of a stream's first batch, without those of rows of weight 0."""
    first = stream.first()
    if first is None:
        return np.empty(0)
    return first.labels[first.weights != 0] if first.weights.size else first.labels


class AutoRun(ScoredRun):
    """A `LinearRun` of `zoo.auto()`. `certificate` compares with the best of its eleven experts, whose losses are
    exact; `linear_regret` and `regret` with fixed linear predictors on the features as they came, with a bias."""

    kind = "auto-run"
    schema = AutoRowSchema(Auto)
    learns = Auto
    learner: Auto
    record: Mixture

    def __init__(
        self, learner: Auto, state: State, comparator: Domain | None = None, *, curve: Curve | None = None,
        learners: int = 1, **how: Any,
    ) -> None:  # fmt: skip
        super().__init__(learner, state, comparator or L2Ball(1.0), **how)
        self.learners, self.pair = learners, Pair()  # threads, of which two find work; no bit depends on it
        self.curve = curve or Curve.fresh(learner)  # random partitions, if rows are narrow

    @classmethod
    def begun(cls, learner: Auto, features: int, **how: Any) -> Self:
        """A run before its first row, with room for this many features."""
        state = learner.start(features)
        return cls(learner, state, record=Mixture(Mind.fresh(state.dimension, learner.stacks()), learner.spread), **how)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        return self.curve.play(self, x, y, w, i, goal)

    def pass_rows(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, beside: Any) -> int:
        """Learn rows from i on until `goal` rounds are played; returns the first row not learnt."""
        desk = self.record.desk(self, x, True)
        given = self.learner, self.state, self.record.mind, desk, x, y, w, beside, self.slots, self.scores
        pair = self.pair if self.learners > 1 and self.compiled and not self.slots.of.size else None
        while True:
            begin = i
            if pair is not None:
                i = pair.learn(self, desk, x, y, w, i, goal, beside)
            else:
                i = int(call(learn_rows, self.compiled, *given, i, goal))
            if i == len(y) or self.state.rounds >= goal:
                return i
            if pair is not None and i > begin:
                continue
            if not self._rescaled(x, i, float(y[i]), float(w[i]) if w.size else 1.0):
                return i

    def crew_json(self) -> dict[str, Any]:
        """The public form of how many learnt, and how much faster than one (None: that is not known)."""
        return {"threads": self.learners, "block": None, "gain": self.pair.pace.gain, "lag": None}

    def _rescaled(self, x: Rows, i: int, y: float, weight: float) -> bool:
        """Take a larger unit of labels, or begin anew, if row i needs that to be learnt; returns whether it was so."""
        mind, entries = self.record.mind, range(int(x.begin(i)), int(x.end(i)))
        sound = 0 < weight <= HEAVY and weight * y * y < WIDE and x.inside(i)
        sound = sound and all(abs(x.value(i, np.uint64(k))) < FAR for k in entries)
        if not sound or self.learner.fits(mind, y, weight):
            return False
        if self.learner.misled(mind):
            moved = begin_anew(mind, self.record.average)
            if self.slots.of.size:
                move_waiting(self.slots.past, moved)
            return True
        take_unit(mind, self.record.average, self.learner.extent(mind, y, weight))
        return True

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        require_light(w, i, place)
        super()._refuse(x, label, w, i, place)

    def _carried(self) -> Sequence[Any]:
        return *super()._carried(), *self.record.mind, self.record.average, *self.curve.carried()

    def fitting(self, y: Vector, w: Vector, i: int, end: int) -> int:
        """The end of those rows i, …, end − 1 that there is room for: all."""
        return end

    @property
    def slot_sizes(self) -> tuple[int, int]:
        return 1, THEN

    @property
    def nobody(self) -> Vector:
        """The scores beside if no expert joined."""
        return np.empty(0)

    @property
    def _model(self) -> AutoModel:
        return AutoModel(self.learner, self.record.model(self), self.curve.model())

    @property
    def _frozen_model(self) -> AutoModel:
        assert self.frozen is not None
        return AutoModel(self.learner, self.frozen, self.curve.frozen_model())

    def _foretold(self, x: Rows, y: Vector, picked: Any, weights: Vector) -> Foretold:
        beside = self.curve.foretell(self, x, y, picked, weights)
        return self._judged(y[picked], self.frozen_scores(x, y, picked, weights, beside), self.scores[picked])

    def frozen_scores(self, x: Rows, y: Vector, picked: Any, weights: Vector, beside: Any) -> Vector:
        """The scores of the frozen model for the picked rows; its experts are judged by them."""
        scores, kept = np.empty(picked.size), self.record
        judged = x, picked, y[picked], weights / self.trial.share, beside, scores, kept.votes, kept.means, kept.priors
        self._call(foretell_rows, self.learner, self.frozen, kept.desk(self, x, False), *judged)
        return scores

    def _freeze(self) -> None:
        self.frozen = self.record.freeze(self)

    def _pause(self) -> None:
        self.curve.pause(self, super()._pause)

    def end_trial(self) -> None:
        super().end_trial()
        self.curve.end_trial(self.trial)

    def companion(self, features: int) -> Self:
        """A run of the same learner on rows with cells, before its first row."""
        return self.begun(self.learner.plain(), features, certify=False, compiled=self.compiled)

    @property
    def reserve(self) -> Reserve:
        """Rows that came since the model was frozen, if that knows few features."""
        return self.record.reserving.reserve(self)

    def _tried(self) -> Tried:
        return self.record.reserving.tried(self)

    # ---- results -------------------------------------------------------------------------------------------------

    @cached_property
    def linear(self) -> Linear:
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
    def _given(cls, learner: Auto, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        mixture = Mixture.of(Mind, learner.spread, description, arrays)
        found = super()._given(learner, description, arrays)
        found |= {"record": mixture, "frozen": frozen_of(Mind, description, arrays)}
        return found | {"curve": Curve.of(cls, description, arrays)}

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        told, found = self.curve.contents(self)
        description, arrays = super().contents()
        return description | told, arrays | found

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> Vector:
        """Statistics of each feature, laid out as `auto/view.py` says."""
        return self.state.table

    @property
    def lots(self) -> int:
        """The number of scores that a row has: one."""
        return 1

    def new_desk(self, entries: int) -> Workspace:
        """Memory for one row of up to this many entries."""
        return Workspace.of(entries)

    def _of(self) -> str:
        return ""

    @property
    def placed_weights(self) -> Vector:
        return linear_weights(self.state, self.record.mind)

    def _widen(self, features: int) -> None:
        old, kept, frozen = self.state.dimension, self.record, self.frozen
        with Together() as together:
            state = together.grow(self.state, features, True)
            live = widened(Frozen(state.table, kept.average, kept.mind), old, state.dimension, together)
            if frozen is not None:
                measures = together.lengthen(frozen.measures, old, state.dimension, True)
                frozen = widened(frozen, old, state.dimension, together)._replace(measures=measures)
        self.state, kept.mind, kept.average, self.frozen = state, live.mind, live.average, frozen


def widened(model: Frozen, old: int, new: int, together: Together) -> Frozen:
    """A model whose arrays, but for its measures, have room for more features; `old` and `new` count the bias."""
    mind = {name: together.lengthen(getattr(model.mind, name), old, new, True) for name in model.mind.by_feature()}
    return model._replace(average=together.lengthen(model.average, old, new, True), mind=model.mind._replace(**mind))
