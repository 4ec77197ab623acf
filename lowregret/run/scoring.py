"""The base of whatever scores rows by a model: runs, which go on learning, and predictors, which do not."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.errors import DataError
from lowregret.learner.labels import ClassNames
from lowregret.learner.validate import numbers, require_rows, require_scores, room_for, settled
from lowregret.risk.kept_trial import Kept, Trial
from lowregret.rows import Features, Rows, Sparse, as_rows
from lowregret.run.dependence import Dependence
from lowregret.run.expansion import Expansion
from lowregret.run.importance import Importance, Names
from lowregret.run.meaning import GIVE, Tried, find_dependence, find_importance
from lowregret.run.models import FixedModel
from lowregret.store.file import Saved
from lowregret.stream.places import Places
from lowregret.types import Vector


class Scoring(Saved):
    """A learner of rows and the model that it hands out."""

    learner: Any
    compiled: bool
    classes: ClassNames | None = None  # the names of classes, where rows have a score for each
    seen: int | None  # features that occurred so far, where they were not known beforehand
    places: Places | None  # where they lie; None: at their columns
    expansion: Expansion | None = None  # what gives rows further columns
    trial: Trial  # how good the model was, frozen
    keep_scores = False  # whether many classes' scores are wanted of each row, not only the class predicted

    # ---- predicting --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _model(self) -> FixedModel:
        """The model that predicts, as it is now: O(d) if it is still learning."""

    def decision_function(self, features: Features) -> Vector:
        """Scores of rows by the model that is kept, a column for each class if there are many: O(nnz · classes).

        They are ⟨w, x⟩ of linear learners, w their output (last or averaged iterate), and ln(chance) of each class by
        `auto`. The model knows no label of these rows: see `kept` for how good it is.
        """
        x, model = self._rows(features), self._model
        if self.expansion is None:
            scores = model.scores(self.located(x), self.compiled)
        else:
            found = (self.located(piece, begin) for begin, piece in self.expansion.pieces(x))
            scores = np.concatenate([model.scores(rows, self.compiled) for rows in found])
        require_scores(x, scores)
        return scores

    def predict(self, features: Features) -> Any:
        """The class of each row: by name of many, else −1 or +1; if the loss does not classify, a forecast."""
        scores = self.decision_function(features)
        if self.classes is None:
            return self.learner.loss.predictions(scores)
        return self.classes.decode(np.argmax(scores, axis=1))

    def predict_proba(self, features: Features) -> Vector:
        """The chances of −1 and +1, or of each class in the order of `classes.names`: of losses that give chances."""
        return self.learner.loss.probabilities(self.decision_function(features))

    @property
    def kept(self) -> Kept | None:
        """The loss and error of the model once it learns no more, on rows new to it; None before some 100 rounds."""
        return self.trial.kept(self.rounds, bool(self.learner.loss.classifies))

    # ---- what it means -----------------------------------------------------------------------------------------------

    def importance(
        self,
        features: Features | None = None,
        labels: Any = None,
        weights: Any = None,
        *,
        names: Names = None,
        seed: int = 0,
    ) -> Importance:
        """The share of each feature in the fall of the kept model's loss, on rows that it never learnt.

        Those are the rows given; or, in a run of `auto` on narrow rows, a few that came since a model was frozen, which
        that model is tried on. Columns of the same name count as one feature. See `importance.py` for the formula.
        """
        return find_importance(self, features, labels, weights, names, seed)

    def partial_dependence(
        self, feature: int, features: Features | None = None, grid: Any = None, *, names: Names = None
    ) -> Dependence:
        """The mean prediction of the kept model over rows in which a feature has each value of a grid.

        Of classes it is the mean chance of each. Without rows, those that a run of `auto` keeps; without a grid, values
        that part the rows into equal shares.
        """
        return find_dependence(self, feature, features, grid, names)

    def _tried(self) -> Tried:
        """Rows that were kept for questions about the model; none are here."""
        raise DataError(f"rows are kept by runs of auto only, while they have few features: {GIVE}")

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rows that were learnt."""

    # ---- features --------------------------------------------------------------------------------------------------

    @property
    def features(self) -> int:
        """The number of features; where they were not known beforehand, up to the highest column met so far."""
        return self._places if self.seen is None else self.seen

    @property
    def given_features(self) -> int:
        """The number of features of rows as they are given; `features` counts added columns too."""
        return self.features if self.expansion is None else self.expansion.offset

    @property
    @abstractmethod
    def _places(self) -> int:
        """The number of features that there is room for."""

    @property
    def _met(self) -> int:
        """The number of features that have a place."""
        return self._places if self.places is None else len(self.places)

    def located(self, x: Rows, first: int = 0) -> Rows:
        """Rows that are judged but not learnt, as the model sees them: expanded, and features as it numbers them.

        They are rows `first`, … of those that were given, should one be refused.
        """
        return self._numbered(x if self.expansion is None else self.expansion.located(x, self.compiled, first))

    def expanded(self, features: Features, weights: Any = None) -> Rows:
        """The rows that were learnt, from the first on, with the columns that were added to each then."""
        weights = settled(weights, "weights", "numbers")
        x = self._rows(features)
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        return x if self.expansion is None else self.expansion.as_learnt(x, w, 0, self.compiled)

    def located_again(self, x: Rows, w: Vector, before: int = 0) -> Rows:
        """Rows that were learnt with weights w, after `before` other rounds, as the learner saw them then."""
        if self.expansion is not None:
            x = self.expansion.as_learnt(x, w, before, self.compiled, getattr(self, "late", None) is not None)
        return self._numbered(x)

    def _numbered(self, x: Rows) -> Rows:
        """Expanded rows, their columns renumbered as the model numbers features."""
        if self.places is not None:
            return self.places.find(x, self._places, self.compiled)
        return replace(x, columns=self._places) if isinstance(x, Sparse) and x.columns != self._places else x

    def _rows(self, features: Features) -> Rows:
        x = as_rows(features)
        known = isinstance(features, Sparse) and self.seen is None
        if known and isinstance(x, Sparse) and x.columns < self.given_features:
            x = replace(x, columns=self.given_features)  # rows of a stream know their highest column, not how many
        require_rows(x, x.shape[1] if self.seen is not None else self.given_features)
        return x

    def _by_column(self, w: Vector) -> Vector:
        """A vector w, the bias last, brought from the order of places to the order of columns."""
        if self.places is None:
            return w
        with room_for(self.features):
            return self.places.by_column(w, self.features, self.learner.bias > 0)

    def _by_place(self, u: Vector, room: int) -> Vector:
        """A vector u, the bias last, brought from the order of columns to that of `room` places, some unused."""
        return u if self.places is None else self.places.by_place(u, room, self.learner.bias > 0)
