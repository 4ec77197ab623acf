"""A run of `auto`: learning, predicting, its proof, its file."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from lowregret.auto import AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.auto.learner import Auto, Desk, Mind, learn_rows, score_rows
from lowregret.auto.weights import linear_weights
from lowregret.check import require_scores
from lowregret.domain import Domain, L2Ball
from lowregret.error import DataError
from lowregret.growth import FIRST, grown, longer
from lowregret.learner import Linear
from lowregret.row_run import RowRun
from lowregret.rows import Features, Rows, longest
from lowregret.standing import Standing
from lowregret.state import State, Vector
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
    return AutoRun(learner, state, mind, comparator, seen=seen, certify=certify, compiled=compiled)


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

    def __init__(
        self,
        learner: Auto,
        state: State,
        mind: Mind,
        comparator: Domain | None = None,
        *,
        contests: Vector | None = None,
        eras: Vector | None = None,
        **options: Any,
    ) -> None:
        super().__init__(learner, state, comparator or L2Ball(1.0), **options)
        self.mind = mind
        self._contests = [] if contests is None else list(contests)
        self._eras = [] if eras is None else list(eras)

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, mark: int) -> int:
        given = self.learner, self.state, self.mind, Desk.of(longest(x)), x, y, w, self.scores
        return self._in_eras(lambda row, end: int(self._call(learn_rows, *given, row, end)), i, mark)

    def predict(self, features: Features) -> Vector:
        """The score that each row would get as the next one, if the label before it were not known."""
        x = self._rows(features)
        scores = np.empty(x.shape[0])
        given = self.learner, self.state, self.mind, Desk.of(longest(x)), self.located(x)
        self._call(score_rows, *given, scores)
        require_scores(x, scores)
        return scores

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
        self.state = grown(self.state, features, True)
        cells = {name: getattr(self.mind, name) for name in self.mind.by_feature()}
        wider = {name: longer(cells[name], old, self.state.dimension, True) for name in cells}
        self.mind = self.mind._replace(**wider)
