"""Training on rows in memory or from a stream, and what comes of it: a `Run` with certificate, trace, plot and file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, overload

import numpy as np

from lowregret import store
from lowregret.certificate import Certificate
from lowregret.certificate.mistakes import mistake_certificates
from lowregret.check import (
    finite_numbers,
    numbers,
    refuse,
    require_narrow,
    require_rows,
    require_scores,
)
from lowregret.class_run import ClassRun, start_classes
from lowregret.domain import Domain
from lowregret.error import DataError, DivergedError, PartError, StoreError
from lowregret.fixed import Learnt
from lowregret.growth import FIRST, grown, require_growth, resized
from lowregret.kernel_run import KernelRun
from lowregret.kernelised import KernelPerceptron
from lowregret.learner import Linear, learn_rows, score_rows, write_model, write_point
from lowregret.ledger import Ledger
from lowregret.multiclass import Multiclass
from lowregret.rows import Features, Rows, Sparse, as_rows, highest, last_column
from lowregret.rule import Eager, Forgotten
from lowregret.spec import from_json, to_json
from lowregret.state import MASS, State, Vector
from lowregret.stream.batch import Batch, Stream
from lowregret.structured import Task, TaskRun, train_task
from lowregret.tally import Tally
from lowregret.trace import WIDTH

KIND = "run"
Place = Callable[[int], str]  # where row i is, for errors


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
def train(learner: KernelPerceptron, features: Features, labels: Any, *, compiled: bool = True) -> KernelRun: ...


@overload
def train(
    learner: Task, features: Any, labels: Any = None, *, comparator: Domain | None = None, compiled: bool = True
) -> TaskRun: ...


def train(
    learner: Linear | Multiclass | KernelPerceptron | Task,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    *,
    comparator: Domain | None = None,
    dimension: int | None = None,
    classes: Sequence[Any] | None = None,
    certify: bool = True,
    compiled: bool = True,
) -> Run | ClassRun | KernelRun | TaskRun:
    """Learn the rows once, in order, and return the run.

    `features`: a NumPy matrix, nested lists or a SciPy sparse matrix; `labels`: one number per row; `weights`: how much
    each row counts (0 = not at all). Or a stream of rows with labels, such as `read("data/*.svm.gz")`; it need not say
    how many features there are, unless the learner's start depends on it (`dimension`). A `Multiclass` takes classes as
    labels, whole numbers or texts, which may be given beforehand (`classes`) or are met as the rows go by.
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
    if not isinstance(learner, Linear | Multiclass):
        raise PartError(
            f"the learner must be a Linear, Multiclass or KernelPerceptron such as zoo.perceptron(), got {learner!r}"
        )
    rows, columns = _told(features, labels, weights, dimension)
    if isinstance(learner, Multiclass):
        many = start_classes(learner, columns, classes, comparator, certify=certify, compiled=compiled)
        return many.learn(rows, labels, weights)
    if classes is not None:
        raise PartError(f"{learner.loss} is a loss of one score: use Multiclass(Softmax(), …) for classes")
    return start(learner, columns, comparator, certify=certify, compiled=compiled).learn(rows, labels, weights)


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


class Run(Ledger):
    """A learner of one score, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment.
    """

    learner: Linear

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def learn(self, features: Features | Stream, labels: Any = None, weights: Any = None) -> Self:
        """Learn more rows. Splitting the rows over several calls changes nothing, not even the last bit."""
        if isinstance(features, Stream):
            for batch in features.batches():
                self.learn_batch(batch)
                if batch.fault:
                    raise DataError(batch.fault)
            return self
        x = self._rows(as_rows(features, checked=False))
        y = numbers(labels, "labels", x.shape[0])
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        self._learn(x, y, w, "row {}".format)
        return self

    def learn_batch(self, batch: Batch) -> None:
        """Learn the rows of a batch; `scores` are theirs until the next one."""
        if len(batch):
            self._learn(batch.rows, batch.labels, batch.weights, batch.place)
        else:
            self.scores = np.empty(0)

    def _learn(self, x: Rows, y: Vector, w: Vector, place: Place) -> None:
        self.uniform &= bool(np.all(w == 1))
        self.scores = np.empty(y.size)
        x, i = self._fitted(x), 0
        try:
            while i < y.size:
                mark = self._next_mark()
                i = self._call(learn_rows, self.learner, self.state, x, y, w, self.scores, i, mark)
                if self.state.rounds == mark:
                    self._at_mark()
                elif i < y.size and self._grow(x, i):
                    x = self._fitted(x)
                elif i < y.size:
                    self.scores[i:] = np.nan
                    refuse(self.learner.loss, x, y, w, i, place(i))
        finally:
            if i:
                self.tally.see(self.learner, x, y, w, self.scores, i, self.compiled)
        if self.seen is not None:
            self.seen = max(self.seen, highest(x, y.size))
        if not np.isfinite(self.state.sums[MASS]):
            raise DivergedError("the weights overflowed in the last row: use a smaller step or scale the features")

    def predict(self, features: Features) -> Vector:
        """Scores ⟨w, x⟩ of rows with the learner's output (last or averaged iterate)."""
        x = self._rows(features)
        scores = np.empty(x.shape[0])
        self._call(score_rows, self.learner, self.model(x.shape[1]), x, scores)
        require_scores(x, scores)
        return scores

    def model(self, features: int) -> Vector:
        """`weights` for rows of this many features: those that did not occur yet weigh nothing."""
        return resized(self.weights, features, self.learner.bias > 0)

    @property
    def weights(self) -> Vector:
        """The iterate the learner hands out (its `output`), the bias last: O(d)."""
        w = np.empty(self.state.dimension)
        self._call(write_model, self.learner, self.state, w)
        return resized(w, self.features, self.learner.bias > 0)

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        w = np.empty(self.state.dimension)
        self._call(write_point, self.learner, self.state, w)
        return resized(w, self.features, self.learner.bias > 0)

    # ---- results -------------------------------------------------------------------------------------------------

    def regret(self, u: Any, features: Features, labels: Any, weights: Any = None) -> float:
        """The exact regret Σ c_t(f_t(w_t) − f_t(u)) against one fixed u, given the rows that were learnt: O(nnz).

        It is what the certificate bounds: a ridge is part of f_t, and where the schedule weighs the rounds by c_t ≠ 1,
        the weighted mean is taken.
        """
        return self._learnt(features, labels, weights).regret(self._spread(u))

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron and Winnow against u, on the rows of the latest `learn`."""
        if not self.uniform:
            raise PartError("mistake bounds need importance weights of 1")
        rows = self._learnt(features, labels)
        scores = rows.own_scores(rows.y.size)
        return mistake_certificates(self.learner, self.state, rows.x, rows.y, scores, self._spread(u))

    def against(self, u: Any, features: Features, labels: Any, weights: Any = None) -> Vector:
        """Σ_{s≤t} f_s(u) of one fixed u at the rounds t of the trace, given the rows that were learnt: O(nnz)."""
        return self._learnt(features, labels, weights).losses(self._spread(u), self.trace.rounds)

    # ---- files -----------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run, so that `load` continues it to the last bit. Saving changes nothing."""
        store.write(path, KIND, *self.contents())
        return Path(path)

    def contents(self) -> tuple[dict[str, Any], store.Arrays]:
        """What `save` writes: a description, and arrays."""
        description = {
            "learner": to_json(self.learner),
            "comparator": to_json(self.comparator),
            "seen": self.seen,
            "uniform": self.uniform,
            "certify": self.certify,
            "compiled": self.compiled,
        }
        history = {"history": np.array(self._history).reshape(-1, WIDTH)}
        return description, self.state._asdict() | self.tally.arrays() | history

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a run written by `save`."""
        return cls.of(path, *store.read(path, KIND))

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: store.Arrays) -> Self:
        """The run with these `contents`, found at `path`."""
        learner, comparator = from_json(description["learner"]), from_json(description["comparator"])
        if not (isinstance(learner, Linear) and isinstance(comparator, Domain)):
            raise StoreError(f"{path} holds a {type(learner).__name__} against a {type(comparator).__name__}")
        return cls(
            learner,
            State(*(arrays[name] for name in State._fields)),
            comparator,
            history=arrays["history"],
            seen=description["seen"],
            uniform=description["uniform"],
            tally=Tally(learner.loss.classifies, arrays),
            certify=description["certify"],
            compiled=description["compiled"],
        )

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _rows(self, features: Features) -> Rows:
        x = as_rows(features)
        require_rows(x, x.shape[1] if self.seen is not None else self.features)
        if self.learner.rule.costs_dimension():
            require_narrow(x, self.learner.rule, "use L2Ball, Box or Reals, or Entropy with a Constant step")
        return x

    def _fitted(self, x: Rows) -> Rows:
        """Rows of a stream, with as many columns as there is room for."""
        room = self.state.dimension - (self.learner.bias > 0)
        return replace(x, columns=room) if isinstance(x, Sparse) and x.columns != room else x

    def _grow(self, x: Rows, i: int) -> bool:
        """Make room for row i if that is what it lacks."""
        if self.seen is None or x.inside(i):
            return False
        self.state = grown(self.state, last_column(x, i) + 1, self.learner.bias > 0)
        return True

    def _spread(self, u: Any) -> Vector:
        """u with zeros where there is room for features that did not occur."""
        bias = self.learner.bias > 0
        return resized(finite_numbers(u, "u", self.dimension), self.state.dimension - bias, bias)

    def _learnt(self, features: Features, labels: Any, weights: Any = None) -> Learnt:
        """The rows of the run, given once more."""
        x = self._fitted(self._rows(features))
        y = numbers(labels, "labels", x.shape[0])
        w = np.ones(y.size) if weights is None else numbers(weights, "weights", x.shape[0]).copy()
        return Learnt(self.learner, self.state, x, y, w, self.scores, self.compiled)
