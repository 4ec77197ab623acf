"""Training on rows in memory or from a stream, and what comes of it: a `Run` with certificate, trace, plot and file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np

from lowregret.auto import Auto, AutoMulticlass
from lowregret.auto_class_run import AutoClassRun, start_auto_classes
from lowregret.auto_run import AutoRun, auto_for, start_auto
from lowregret.certificate import Certificate
from lowregret.certificate.mistakes import mistake_certificates
from lowregret.check import Place, require_bounded, require_cheap, require_scores
from lowregret.class_run import ClassRun, start_classes
from lowregret.domain import Domain
from lowregret.error import DataError, PartError
from lowregret.growth import FIRST, grown, longer, require_growth
from lowregret.kept import Foretold
from lowregret.kernel_run import KernelRun
from lowregret.kernelised import KernelPerceptron
from lowregret.learner import Linear, learn_rows, score_rows, write_model, write_point
from lowregret.multiclass import Multiclass
from lowregret.row_run import RowRun
from lowregret.rows import EVERY, Features, Rows, as_rows
from lowregret.rule import Eager, Forgotten
from lowregret.state import Vector
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import Stream
from lowregret.structured import Task, TaskRun, train_task


@overload
def train(
    learner: Linear,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> Run: ...


@overload
def train(
    learner: Multiclass,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    classes: Sequence[Any] | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> ClassRun: ...


@overload
def train(
    learner: Auto | Literal["auto"],
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> AutoRun: ...


@overload
def train(
    learner: AutoMulticlass,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    classes: Sequence[Any] | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> AutoClassRun: ...


@overload
def train(learner: KernelPerceptron, features: Features, labels: Any, *, compiled: bool = True) -> KernelRun: ...


@overload
def train(
    learner: Task, features: Any, labels: Any = None, *, comparator: Domain | None = None, compiled: bool = True
) -> TaskRun: ...


def train(
    learner: Linear | Multiclass | KernelPerceptron | Task | Auto | AutoMulticlass | Literal["auto"],
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    classes: Sequence[Any] | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> Run | ClassRun | KernelRun | TaskRun | AutoRun:
    """Learn the rows once, in order, and return the run.

    `features`: a NumPy matrix, nested lists or a SciPy sparse matrix; `labels`: one number per row; `weights`: how much
    each row counts (0 = not at all). Or a stream of rows with labels, such as `read("data/*.svm.gz")`; it need not say
    how many features there are, unless the learner's start depends on it (`dimension`). A `Multiclass` takes classes as
    labels, whole numbers or texts, which may be given beforehand (`classes`) or are met as the rows go by. "auto" is
    `zoo.auto()` with the logistic loss if the first labels are ±1, with softmax if they are texts, else with the square
    loss.
    `comparator`: what the certificate compares with, by default the learner's own domain or the unit ball.
    `certify=False` keeps nothing for it that the learner does not need itself: no history, and for eager rules no
    linearised regret, only the theorem's bound, for which they are about a fifth faster.
    `compiled=False` runs the same code interpreted, for reading and debugging. Costs O(nnz) if the rule does.
    """
    plain = weights is None and dimension is None and classes is None and certify
    if isinstance(learner, KernelPerceptron):
        return _train_kernel(learner, features, labels, compiled, plain and comparator is None)
    if isinstance(learner, Task):
        return train_task(learner, features, labels, comparator, compiled, plain)
    rows, columns = _told(features, labels, weights, dimension)
    if learner == "auto" and isinstance(rows, Stream):
        rows = Ahead(rows)  # whose first labels are looked at
    how = {"certify": certify, "compiled": compiled}
    return _begun(learner, rows, columns, labels, classes, comparator, how).learn(rows, labels, weights)


def _begun(
    learner: Any,
    rows: Any,
    columns: int | None,
    labels: Any,
    classes: Sequence[Any] | None,
    comparator: Domain | None,
    how: dict[str, bool],
) -> Run | ClassRun | AutoRun:
    """A run before its first row; of `auto`, for what the labels are if that was not said."""
    if learner == "auto":
        learner = auto_for(rows, labels)
    if isinstance(learner, AutoMulticlass):
        return start_auto_classes(learner, columns, classes, comparator, **how)
    if isinstance(learner, Multiclass):
        return start_classes(learner, columns, classes, comparator, **how)
    if not isinstance(learner, Linear | Auto):
        raise PartError(
            f"the learner must be a Linear, Multiclass or KernelPerceptron such as zoo.perceptron(), got {learner!r}"
        )
    if classes is not None:
        raise PartError(f"{learner.loss} is a loss of one score: use Multiclass(Softmax(), …) for classes")
    if isinstance(learner, Auto):
        return start_auto(learner, columns, comparator, **how)
    return start(learner, columns, comparator, **how)


def _train_kernel(learner: KernelPerceptron, features: Any, labels: Any, compiled: bool, plain: bool) -> KernelRun:
    """`plain` says that nothing else was asked for."""
    if not plain:
        raise PartError("KernelPerceptron takes neither weights nor a comparator nor certify: leave them out")
    rows = as_rows(features)
    return KernelRun(learner, learner.start(rows.shape[1]), compiled=compiled).learn(rows, labels)


def _told(features: Features | Stream, labels: Any, weights: Any, dimension: int | None) -> tuple[Any, int | None]:
    """The rows, and how many columns they have, if that is known."""
    if isinstance(features, Stream):
        if labels is not None or weights is not None:
            raise DataError("a stream brings its own labels and weights: leave them out")
        return features, dimension
    if dimension is not None:
        raise DataError("rows in memory say how many features they have: leave dimension out")
    rows = as_rows(features, checked=False)
    return rows, rows.shape[1]


def start(
    learner: Linear,
    features: int | None,
    comparator: Domain | None = None,
    *,
    certify: bool = True,
    compiled: bool = True,
) -> Run:
    """A run before its first row, for this many features; None: as many as there turn out to be."""
    if not certify and isinstance(learner.rule, Eager):
        learner = replace(learner, rule=replace(learner.rule, gradients=Forgotten()))
    seen = None
    if features is None:
        require_growth(learner)
        features, seen = FIRST, 0
    return Run(learner, learner.start(features), comparator, seen=seen, certify=certify, compiled=compiled)


class Run(RowRun):
    """A learner of one score, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment.
    """

    kind = "run"
    learns = Linear
    learner: Linear

    @property
    def linear(self) -> Linear:
        return self.learner

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, mark: int) -> int:
        return int(self._call(learn_rows, self.learner, self.state, x, y, w, self.scores, i, mark))

    def _learn(self, x: Rows, y: Vector, w: Vector, place: Place) -> None:
        super()._learn(x, y, w, place)
        require_bounded(self.state)

    def predict(self, features: Features) -> Vector:
        """Scores ⟨w, x⟩ of rows with the learner's output (last or averaged iterate)."""
        x = self._rows(features)
        scores = np.empty(x.shape[0])
        self._call(score_rows, self.learner.scorer, self.placed_weights, self.located(x), EVERY, scores)
        require_scores(x, scores)
        return scores

    @property
    def weights(self) -> Vector:
        """The iterate the learner hands out (its `output`), the bias last: O(d)."""
        return self._by_column(self.placed_weights)

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        return self._by_column(self._written(write_point))

    # ---- results -------------------------------------------------------------------------------------------------

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron and Winnow against u, on the rows of the latest `learn`."""
        if not self.uniform:
            raise PartError("mistake bounds need importance weights of 1")
        rows = self._learnt(features, labels)
        scores = rows.own_scores(rows.y.size)
        return mistake_certificates(self.learner, self.state, rows.x, rows.y, scores, self._spread(u))

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def placed_weights(self) -> Vector:
        return self._written(write_model)

    def _written(self, write: Any) -> Vector:
        w = np.empty(self.state.dimension)
        self._call(write, self.learner, self.state, w)
        return w

    def _rows(self, features: Features) -> Rows:
        x = super()._rows(features)
        require_cheap(x, self.learner.rule)
        return x

    def _widen(self, features: int) -> None:
        old, bias = self.state.dimension, self.learner.bias > 0
        self.state = grown(self.state, features, bias)
        if self.frozen is not None:
            self.frozen = longer(self.frozen, old, self.state.dimension, bias)

    def _freeze(self) -> None:
        self.frozen = self.placed_weights

    def _foretold(self, x: Rows, y: Vector, picked: Any, weights: Vector) -> Foretold:
        scores = np.empty(picked.size)
        self._call(score_rows, self.learner.scorer, self.frozen, x, picked, scores)
        return self._judged(y[picked], scores, self.scores[picked])
