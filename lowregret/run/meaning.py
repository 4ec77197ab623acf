"""Questions to whatever scores rows about what it goes by: the importance of features, and partial dependence."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.call import call
from lowregret.errors import DataError, PartError
from lowregret.learner.labels import name_of, one_label_each
from lowregret.learner.multiclass import judge_classes
from lowregret.learner.validate import (
    finite_numbers,
    numbers,
    require_label,
    require_scores,
    require_weight,
    settled,
)
from lowregret.risk.kept_trial import judge_scores
from lowregret.rows import Features, Sparse
from lowregret.run.dependence import Dependence, mean_predictions, quantiles
from lowregret.run.importance import Importance, Names, importance_of, name_in
from lowregret.run.models import FixedModel
from lowregret.run.reserve import ROOM, compressed
from lowregret.types import Vector

GIVE = "give rows and labels that the run has not learnt: run.importance(X, y)"


class Tried(NamedTuple):
    """Rows that a model never learnt, with labels (codes of classes) and weights."""

    model: FixedModel
    rows: Sparse
    labels: Any
    weights: Vector
    frozen: int | None  # rounds after which the model was frozen; None: the model as it is now

    def picked(self, rows: Any) -> Tried:
        """Some of the rows."""
        return self._replace(rows=compressed(self.rows, rows), labels=self.labels[rows], weights=self.weights[rows])


def find_importance(
    run: Any, features: Features | None, labels: Any, weights: Any, names: Names, seed: int
) -> Importance:
    """The importance of features on rows that are given, or on those that the run kept: see `importance.py`."""
    if features is None:
        if labels is not None or weights is not None:
            raise DataError(f"labels or weights came without rows: {GIVE}")
        tried = run._tried()
    else:
        tried = _given(run, features, labels, weights)
    if not isinstance(names, Mapping) and names is not None and len(names) != run.given_features:
        raise DataError(f"there are {len(names)} names for {run.given_features} features: name each of them")
    if np.count_nonzero(tried.weights) < 2:
        raise DataError("importance needs two rows or more, for features of one take the place of another's: give more")
    losses = partial(_losses, run, tried)
    return importance_of(tried.rows, tried.weights, losses, names, seed, tried.frozen)


def _given(run: Any, features: Features, labels: Any, weights: Any) -> Tried:
    """Rows given by the user, for the model as it is now; refuses what cannot be judged."""
    if labels is None:
        raise DataError(f"importance is told by the loss, which needs labels: {GIVE}")
    labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
    x = run._rows(features)
    w = np.ones(x.shape[0]) if weights is None else numbers(weights, "weights", x.shape[0])
    for i in range(x.shape[0]):
        require_weight(w, i, f"row {i}")
    if run.classes is None:
        y, loss = numbers(labels, "labels", x.shape[0]), run.learner.loss
        for i, label in enumerate(y.tolist()):
            require_label(label, f"row {i}", loss.accepts(label), type(loss).__name__, loss.labels)
    else:
        names = one_label_each(labels, x.shape[0])
        y = run.classes.encode(names, np.zeros(x.shape[0], bool))
        for i in np.flatnonzero(y < 0).tolist():
            raise DataError(
                f"row {i}: class {name_of(names[i])!r} was never learnt, so the model cannot tell it: leave it out"
            )
    return Tried(run._model, compressed(x, np.arange(x.shape[0])), y, w, None)


def _losses(run: Any, tried: Tried, x: Sparse, owners: Any) -> Vector:
    """The losses of rows that were made of those that are tried."""
    scores, y = _scores(run, tried.model, x), tried.labels[owners]
    if run.classes is None:
        told = np.empty((4, y.size))
        call(judge_scores, run.compiled, run.learner.loss, y, scores, scores, told)
        return told[0]
    known, codes = scores.shape[1], y.astype(np.int64)
    values, guesses, slopes = np.empty(y.size), np.empty(y.size, np.int64), np.empty(known)
    call(judge_classes, run.compiled, run.learner.loss, known, codes, scores, slopes, values, guesses)
    return values


def _scores(run: Any, model: FixedModel, x: Sparse) -> Vector:
    scores = np.ascontiguousarray(model.scores(run.located(x), run.compiled))
    require_scores(x, scores)
    return scores


def find_dependence(run: Any, feature: int, features: Features | None, grid: Any, names: Names) -> Dependence:
    """The partial dependence of the kept model on a feature, over rows that are given or that the run kept."""
    if not isinstance(feature, int | np.integer) or not 0 <= feature < run.given_features:
        raise DataError(f"there is no feature {feature!r}: name a column from 0 to {run.given_features - 1}")
    if features is None:
        _, x, _, w, _ = run._tried()
    else:
        rows = run._rows(features)
        x = compressed(rows, np.unique(np.linspace(0, rows.shape[0] - 1, ROOM).astype(np.int64)))
        w = np.ones(x.shape[0])
    at = quantiles(x, feature) if grid is None else finite_numbers(grid, "grid", np.size(grid))
    if not at.size:
        raise DataError("the grid is empty: give values of the feature, or none to take those of the rows")
    model, (what, classes, link) = run._model, _link(run)
    means = mean_predictions(x, w, int(feature), at, lambda made: link(_scores(run, model, made)))
    return Dependence(int(feature), name_in(names, int(feature)), at, means, what, classes, x.shape[0])


def _link(run: Any) -> tuple[str, tuple[str, ...], Any]:
    """The name of what is predicted, the classes it is of, and how it follows from scores."""
    loss, names = run.learner.loss, () if run.classes is None else tuple(map(str, run.classes.names))
    try:
        loss.probabilities(np.zeros((1, max(len(names), 1))) if names else np.zeros(1))
    except PartError:  # of losses that give scores, or numbers
        return ("score", names, lambda scores: scores) if loss.classifies else ("prediction", (), loss.predictions)
    if names:
        return "chance of the class", names, loss.probabilities
    return "chance of +1", (), lambda scores: loss.probabilities(scores)[:, 1]
