"""A run of `auto`: learning, predicting, its proof, its file."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lowregret.auto import AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.auto.kept import Frozen, foretell_rows
from lowregret.auto.learner import Auto, Desk, Mind, learn_rows
from lowregret.auto.view import COLUMNS
from lowregret.auto.weights import linear_weights
from lowregret.check import require_scores
from lowregret.domain import Domain, L2Ball
from lowregret.error import DataError
from lowregret.growth import FIRST, doubled, grown, resized
from lowregret.kept import Foretold
from lowregret.learner import Linear
from lowregret.memory import aligned, zeros
from lowregret.row_run import RowRun
from lowregret.rows import Features, Rows, highest, longest
from lowregret.standing import Standing
from lowregret.state import State, Vector
from lowregret.store import Arrays
from lowregret.stream.ahead import Ahead


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
    """A `Run` of `zoo.auto()`. `certificate` compares with the best of its eleven experts, whose losses are exact;
    `linear_regret` and `regret` with fixed linear predictors on the features as they came, with a bias."""

    kind = "auto-run"
    learns = Auto
    minds = Mind
    learner: Auto

    def __init__(self, learner: Auto, state: State, comparator: Domain | None = None, **options: Any) -> None:
        super().__init__(learner, state, comparator or L2Ball(1.0), **options)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, mark: int) -> int:
        given = self.learner, self.state, self.mind, Desk.of(longest(x)), x, y, w, self.scores
        return int(self._call(learn_rows, *given, i, mark))

    def predict(self, features: Features) -> Vector:
        """Scores by the model that is kept, which knows no label of these rows: see `kept` for how good it is."""
        x = self._rows(features)
        model, needed = self._model, highest(x, x.shape[0])
        if needed > self.state.dimension - 1:
            model = widened(model, doubled(FIRST, needed) + 1)
        scores = self._foretell(model, x, np.arange(x.shape[0]), np.empty(0), np.empty(0))
        require_scores(x, scores)
        return scores

    def _foretell(self, model: Frozen, x: Rows, picked: Any, y: Vector, weights: Vector) -> Vector:
        scores = np.empty(picked.size)
        given = x, picked, y, weights, scores, self.votes, self.means, self.priors
        self._call(foretell_rows, self.learner, model, Desk.of(longest(x)), *given)
        return scores

    def _foretold(self, x: Rows, y: Vector, picked: Any, weights: Vector) -> Foretold:
        scores = self._foretell(self.frozen, x, picked, y[picked], weights / self.trial.share)
        return Foretold(*self._judged(y[picked], scores), *self._judged(y[picked], self.scores[picked]))

    @property
    def _measures(self) -> Vector:
        return self.state.table

    @property
    def weights(self) -> Vector:
        """A linear model near the mixture, the bias last, to be read; predictions are made with `predict`: O(d)."""
        return resized(linear_weights(self.state, self.mind), self.features, True)

    # ---- results -------------------------------------------------------------------------------------------------

    @cached_property
    def linear(self) -> Linear:
        return self.learner.linear

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        given = super()._given(learner, description, arrays)
        state, mind = given["state"], given["mind"]
        return given | {
            "state": state._replace(table=aligned(state.table)),
            "mind": mind._replace(bank=aligned(mind.bank)),
            "average": aligned(given["average"]),
            "frozen": _aligned(given["frozen"]),
        }

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _widen(self, features: int) -> None:
        old, state = self.state.dimension, grown(self.state, features, True)
        self.state = state._replace(table=aligned(state.table))
        self.mind = self.mind._replace(bank=_wider(self.mind.bank, old, state.dimension))
        self.average = _wider(self.average, old, state.dimension)
        if self.frozen is not None:
            self.frozen = widened(self.frozen, state.dimension)


def widened(model: Frozen, places: int) -> Frozen:
    """The same with room for so many features, the bias included, which stays last: O(d), amortised O(1)."""
    old = model.measures.size // COLUMNS
    mind = model.mind._replace(bank=_wider(model.mind.bank, old, places))
    return Frozen(_wider(model.measures, old, places), _wider(model.average, old, places), mind)


def _wider(cells: Any, old: int, new: int) -> Any:
    """Cells of so many features with room for more, the last of them last."""
    width = cells.size // old
    wide, kept = zeros(new * width, cells.dtype), (old - 1) * width
    wide[:kept], wide[wide.size - width :] = cells[:kept], cells[kept:]
    return wide


def _aligned(model: Frozen | None) -> Frozen | None:
    if model is None:
        return None
    mind = model.mind._replace(bank=aligned(model.mind.bank))
    return Frozen(aligned(model.measures), aligned(model.average), mind)
