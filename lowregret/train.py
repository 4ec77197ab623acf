"""Training on rows in memory or from a stream: `train` begins the run that fits the learner, and feeds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Unpack, overload

from lowregret.auto import Auto, AutoMulticlass
from lowregret.domain import Domain
from lowregret.errors import DataError, PartError
from lowregret.features import FeatureMap, Partitions
from lowregret.learner.kernel_perceptron import KernelPerceptron
from lowregret.learner.labels import ClassNames
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.validate import room_for, settled
from lowregret.rows import Checked, Features, Rows, as_rows
from lowregret.run.auto import AutoRun, auto_for
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.begin import RunOptions, begin
from lowregret.run.kernel import KernelRun
from lowregret.run.linear import LinearRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.stream.ahead import Ahead
from lowregret.stream.batch import Stream, brings_lags, is_stream
from lowregret.structured import Task, TaskRun, train_task


class RowOptions(RunOptions, total=False):
    """How a run of rows is trained: see `train`."""

    dimension: int | None


class ClassOptions(RowOptions, total=False):
    """How a run of many classes is trained: see `train`."""

    classes: Sequence[Any] | None


@overload
def train(
    learner: Linear, features: Features | Stream, labels: Any = None, weights: Any = None, **how: Unpack[RowOptions]
) -> LinearRun: ...


@overload
def train(
    learner: Multiclass,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    **how: Unpack[ClassOptions],
) -> MulticlassRun: ...


@overload
def train(
    learner: Auto | Literal["auto"],
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    **how: Unpack[RowOptions],
) -> AutoRun: ...


@overload
def train(
    learner: AutoMulticlass,
    features: Features | Stream,
    labels: Any = None,
    weights: Any = None,
    **how: Unpack[ClassOptions],
) -> AutoMulticlassRun: ...


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
    expand: FeatureMap | Partitions | None = None,
    learners: int | None = None,
    block: int | Literal["free"] | None = None,
    delay: int | None = None,
) -> LinearRun | MulticlassRun | KernelRun | TaskRun | AutoRun:
    """Learn the rows once, in order, and return the run.

    `features`: a NumPy matrix, nested lists or a SciPy sparse matrix; `labels`: one number per row; `weights`: how much
    each row counts (0 = not at all). Or a stream of rows with labels, such as `read("data/*.svm.gz")`; it need not say
    how many features there are, unless the learner's start depends on it (`dimension`). A `Multiclass` takes classes as
    labels, whole numbers or texts, which may be given beforehand (`classes`) or are met as the rows go by. "auto" is
    `zoo.auto()` with the logistic loss if the first labels are ±1, softmax if they are texts, else the square loss.
    `comparator`: what the certificate compares with, by default the learner's own domain or the unit ball.
    `certify=False` keeps nothing for it that the learner does not need itself: no history, and for eager rules no
    linearised regret, only the theorem's bound, for which they are about a fifth faster.
    `compiled=False` runs the same code interpreted, for reading and debugging. Costs O(nnz) if the rule does.
    `expand`: what gives rows further columns before a linear learner, `Partitions()` or a `FeatureMap`.
    `learners`: threads that learn at once, `block` rows (None: as many as cost little) or "free": see docs/cores.md.
    `delay`: labels come late, that of row s after row s + delay was scored: see docs/delay.md.
    """
    plain = weights is None and dimension is None and classes is None and certify and expand is None
    plain = plain and learners is None and block is None and delay is None
    if isinstance(learner, KernelPerceptron):
        return _train_kernel(learner, features, labels, compiled, plain and comparator is None)
    if isinstance(learner, Task):
        return train_task(learner, features, labels, comparator, compiled, plain)
    how: RunOptions = {"comparator": comparator, "certify": certify, "compiled": compiled, "expand": expand}
    how |= {"learners": learners, "block": block, "delay": delay}
    return _train_rows(learner, features, labels, weights, dimension, classes, how)


def _train_rows(
    learner: Any, features: Any, labels: Any, weights: Any, dimension: int | None, classes: Any, how: RunOptions
) -> LinearRun | MulticlassRun | AutoRun:
    """The run of a learner on rows, or of "auto", whose loss fits the first labels."""
    labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
    classes = None if classes is None else ClassNames(classes).names
    rows, columns = _told(features, labels, weights, dimension)
    if learner == "auto" and isinstance(rows, Stream):
        rows = Ahead(rows)  # whose first labels are looked at
    learner = auto_for(rows, labels) if learner == "auto" else learner
    if brings_lags(features):
        if how.get("delay") is not None:
            raise PartError("delay=N is the lag of every row, but these rows bring lags of their own: leave it out")
        how["delay"] = 0
    run = begin(learner, columns, classes, **how)
    return run.learn(Checked(rows) if isinstance(rows, Rows) else rows, labels, weights)


def _train_kernel(learner: KernelPerceptron, features: Any, labels: Any, compiled: bool, plain: bool) -> KernelRun:
    """`plain` says that nothing else was asked for."""
    if not plain:
        raise PartError(
            "KernelPerceptron takes neither weights nor a comparator, certify, expand, learners, delay: leave them out"
        )
    labels = settled(labels, "labels")
    rows = as_rows(features)
    with room_for(rows.shape[1]):
        run = KernelRun(learner, learner.start(rows.shape[1]), compiled=compiled)
    return run.learn(Checked(rows), labels)


def _told(features: Features | Stream, labels: Any, weights: Any, dimension: int | None) -> tuple[Any, int | None]:
    """The rows, and how many columns they have, if that is known."""
    if is_stream(features):
        if labels is not None or weights is not None:
            raise DataError("a stream brings its own labels and weights: leave them out")
        return features, dimension
    if dimension is not None:
        raise DataError("rows in memory say how many features they have: leave dimension out")
    rows = as_rows(features)
    return rows, rows.shape[1]
