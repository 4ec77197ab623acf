"""Structured prediction and ranking: sequences, trees, classes, lists of items, and output spaces of your own.

learner = structured_perceptron(Chain(26), output=Average())
run = train(learner, sequences(X, y, by=word))
print(run, run.predict(sequences(X_new, by=word_new)))
"""

from __future__ import annotations

from typing import Any

from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.learner.validate import room_for
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last, Output
from lowregret.rows import as_rows
from lowregret.rule import MirrorDescent
from lowregret.step import Adaptive, Constant
from lowregret.structured.chain import Chain
from lowregret.structured.compiled_run import GroupRun, RankingRun, StructuredRun
from lowregret.structured.learner import Ranking, Structured, Task
from lowregret.structured.own import OwnRun
from lowregret.structured.rounds import Choices, Grouped, Sequences, choices, sequences, table_sequences
from lowregret.structured.run import TaskRun
from lowregret.structured.space import Classes, Space
from lowregret.structured.tree import LabelTree

__all__ = [
    "Chain",
    "Choices",
    "Classes",
    "LabelTree",
    "OwnRun",
    "Ranking",
    "RankingRun",
    "Sequences",
    "Space",
    "Structured",
    "StructuredRun",
    "Task",
    "TaskRun",
    "choices",
    "click_ranking",
    "sequences",
    "structured_perceptron",
    "structured_svm",
    "table_sequences",
    "train_task",
]


def structured_perceptron(space: Any, output: Output = Last()) -> Structured:
    """w ← w + ψ(x, y) − ψ(x, ŷ) on mistakes (ALG-MC-PERCEPTRON); no parameter at all."""
    return Structured(space, MirrorDescent(Euclidean(), Constant(1.0)), 0.0, output)


def structured_svm(space: Any, eta: float | None = None, output: Output = Average()) -> Structured:
    """The hinge of LOSS-STRUCT by gradient descent on R^d: w = ηθ. Without η the step adapts, as in `ogd`."""
    return Structured(space, MirrorDescent(Euclidean(), Adaptive() if eta is None else Constant(eta)), 1.0, output)


def click_ranking(eta: float | None = None, output: Output = Average()) -> Ranking:
    """Ranking from clicks by gradient descent on R^d. Without η the step adapts."""
    return Ranking(MirrorDescent(Euclidean(), Adaptive() if eta is None else Constant(eta)), output)


def train_task(
    learner: Task, data: Any, labels: Any, comparator: Domain | None, compiled: bool, plain: bool
) -> TaskRun:
    """Learn the rounds once, in order; `plain` says that nothing else was asked for."""
    if not plain:
        raise PartError(f"{type(learner).__name__} takes neither weights nor dimension nor certify: leave them out")
    run: TaskRun
    if isinstance(learner, Structured) and not isinstance(learner.space, Space):
        run = OwnRun.begin(learner, comparator, compiled)
    else:
        kind: type[GroupRun] = RankingRun if isinstance(learner, Ranking) else StructuredRun
        data, columns = _read(learner, data, labels)
        with room_for(columns):
            run = kind.begin(learner, columns, comparator, compiled)
    return run.learn(data, labels)


def _read(learner: Task, data: Any, labels: Any) -> tuple[Any, int]:
    """The data as they are learnt, pairs put together, and how many features their rows have."""
    wanted = Choices if isinstance(learner, Ranking) else Sequences
    single = isinstance(learner, Structured) and learner.space.single
    if not isinstance(data, Grouped) and labels is None and not single and not hasattr(data, "shape"):
        data = choices(data) if wanted is Choices else sequences(data)
    if isinstance(data, Grouped):
        if not isinstance(data, wanted):
            raise PartError(f"{type(learner).__name__} learns {wanted.__name__}, not {type(data).__name__}")
        return data, int(data.features.shape[1])
    return data, as_rows(data).shape[1]
