"""A run of `auto`: learning, predicting, its proof, its file."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lowregret.auto import AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.auto.kept import Frozen, foretell_rows
from lowregret.auto.learner import Auto, Mind, Workspace, learn_rows
from lowregret.auto.weights import linear_weights
from lowregret.domain import Domain, L2Ball
from lowregret.errors import DataError
from lowregret.learner.growth import FIRST, grow, longer
from lowregret.learner.linear import Linear
from lowregret.learner.validate import require_scores
from lowregret.risk.kept import Foretold
from lowregret.rows import Features, Rows, longest
from lowregret.run.schema_classes import AutoRowSchema
from lowregret.run.scored import RowRun
from lowregret.run.standing import Standing
from lowregret.state import State
from lowregret.stream.ahead import Ahead
from lowregret.types import Vector


def start_auto(
    learner: Auto,
    features: int | None,
    comparator: Domain | None = None,
    *,
    certify: bool = True,
    compiled: bool = True,
) -> AutoRun:
    """A run before its first row, for this many features; None: as many as there turn out to be."""
    state = learner.start(FIRST if features is None else features)
    seen, mind = 0 if features is None else None, Mind.fresh(state.dimension, learner.stacks())
    return AutoRun(learner, state, comparator, mind=mind, seen=seen, certify=certify, compiled=compiled)


def auto_for(rows: Any, labels: Any = None) -> Auto | AutoMulticlass:
    """`auto` for the labels that rows begin with: logistic loss for ±1, softmax for texts, else the square loss."""
    values = first_labels(rows) if isinstance(rows, Ahead) else np.asarray(labels)
    if values.dtype.kind in "USO":
        return AutoMulticlass()
    if are_bits(values):
        raise DataError(
            "the labels are 0 and 1: give -1 and +1 for two classes (--positive 1), or say that they are numbers: "
            "zoo.auto(Square()), --loss square"
        )
    return AutoClassifier() if bool(np.all(np.abs(values) == 1)) else AutoRegressor()


def are_bits(labels: Any) -> bool:
    """Whether labels are 0 and 1, which may mean two classes, or numbers."""
    return bool(np.array_equal(np.unique(labels), [0, 1]))


def first_labels(stream: Ahead) -> Vector:
    """Those of the first batch that count."""
    first = stream.first()
    if first is None:
        return np.empty(0)
    return first.labels[first.weights != 0] if first.weights.size else first.labels


class AutoRun(Standing, RowRun):
    """A `LinearRun` of `zoo.auto()`. `certificate` compares with the best of its eleven experts, whose losses are
    exact; `linear_regret` and `regret` with fixed linear predictors on the features as they came, with a bias."""

    kind = "auto-run"
    schema = AutoRowSchema(Auto)
    learns = Auto
    minds = Mind
    learner: Auto

    def __init__(self, learner: Auto, state: State, comparator: Domain | None = None, **options: Any) -> None:
        super().__init__(learner, state, comparator or L2Ball(1.0), **options)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, mark: int) -> int:
        given = self.learner, self.state, self.mind, self._desk(x, True), x, y, w, self.scores
        return int(self._call(learn_rows, *given, i, mark))

    def decision_function(self, features: Features) -> Vector:
        """Scores by the model that is kept, which knows no label of these rows: see `kept` for how good it is."""
        x = self._rows(features)
        every = np.arange(x.shape[0])
        desk = self._new_desk(longest(x))  # of its own: several threads may predict at once
        scores = self._foretell(self._model, desk, self.located(x), every, np.empty(0), np.empty(0))
        require_scores(x, scores)
        return scores

    def _foretell(self, model: Frozen, desk: Workspace, x: Rows, picked: Any, y: Vector, weights: Vector) -> Vector:
        scores = np.empty(picked.size)
        given = x, picked, y, weights, scores, self.votes, self.means, self.priors
        self._call(foretell_rows, self.learner, model, desk, *given)
        return scores

    def _foretold(self, x: Rows, y: Vector, picked: Any, weights: Vector) -> Foretold:
        judged = picked, y[picked], weights / self.trial.share
        scores = self._foretell(self.frozen, self._desk(x, False), x, *judged)
        return self._judged(y[picked], scores, self.scores[picked])

    def _new_desk(self, entries: int) -> Workspace:
        return Workspace.of(entries)

    @property
    def _measures(self) -> Vector:
        return self.state.table

    @property
    def weights(self) -> Vector:
        """A linear model near the mixture, the bias last, to be read; predictions are made with `predict`: O(d)."""
        return self._by_column(self.placed_weights)

    # ---- results -------------------------------------------------------------------------------------------------

    @cached_property
    def linear(self) -> Linear:
        return self.learner.linear

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def placed_weights(self) -> Vector:
        return linear_weights(self.state, self.mind)

    def _widen(self, features: int) -> None:
        old = self.state.dimension
        self.state = grow(self.state, features, True)
        live = widened(Frozen(self.state.table, self.average, self.mind), old, self.state.dimension)
        self.mind, self.average = live.mind, live.average
        if self.frozen is not None:
            model = widened(self.frozen, old, self.state.dimension)
            self.frozen = model._replace(measures=longer(model.measures, old, self.state.dimension, True))


def widened(model: Frozen, old: int, new: int) -> Frozen:
    """The same with room for more features, the bias included, which stays last; but for its measures."""
    mind = {name: longer(getattr(model.mind, name), old, new, True) for name in model.mind.by_feature()}
    return model._replace(average=longer(model.average, old, new, True), mind=model.mind._replace(**mind))
