"""Structured prediction and ranking: sequences, trees, classes, lists of items, and output spaces of your own.

learner = structured_perceptron(Chain(26), output=Average())
run = train(learner, sequences(X, y, by=word))
print(run, run.predict(sequences(X_new, by=word_new)))
"""

from __future__ import annotations

from typing import Any

from lowregret.domain import Domain
from lowregret.error import PartError
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last, Output
from lowregret.rows import as_rows
from lowregret.rule import Lazy
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
    "begin",
    "choices",
    "click_ranking",
    "sequences",
    "structured_perceptron",
    "structured_svm",
    "table_sequences",
]


def structured_perceptron(space: Any, output: Output = Last()) -> Structured:
    """w ← w + ψ(x, y) − ψ(x, ŷ) on mistakes (ALG-MC-PERCEPTRON); no parameter at all."""
    return Structured(space, Lazy(Euclidean(), Constant(1.0)), 0.0, output)


def structured_svm(space: Any, eta: float | None = None, output: Output = Average()) -> Structured:
    """The hinge of LOSS-STRUCT by gradient descent on R^d: w = ηθ. Without η the step adapts, as in `ogd`."""
    return Structured(space, Lazy(Euclidean(), Adaptive() if eta is None else Constant(eta)), 1.0, output)


def click_ranking(eta: float | None = None, output: Output = Average()) -> Ranking:
    """Ranking from clicks by gradient descent on R^d. Without η the step adapts."""
    return Ranking(Lazy(Euclidean(), Adaptive() if eta is None else Constant(eta)), output)


def begin(learner: Task, data: Any, labels: Any, comparator: Domain | None, compiled: bool) -> TaskRun:
    """A run before its first round, for data of this kind."""
    if isinstance(learner, Structured) and not isinstance(learner.space, Space):
        return OwnRun.begin(learner, comparator, compiled)
    kind: type[GroupRun] = RankingRun if isinstance(learner, Ranking) else StructuredRun
    return kind.begin(learner, _columns(learner, data), comparator, compiled)


def _columns(learner: Task, data: Any) -> int:
    """How many features the rows have."""
    if isinstance(data, Grouped):
        wanted = Choices if isinstance(learner, Ranking) else Sequences
        if not isinstance(data, wanted):
            raise PartError(f"{type(learner).__name__} learns {wanted.__name__}, not {type(data).__name__}")
        return int(data.features.shape[1])
    try:
        first = data[0][0] if isinstance(data, list) and isinstance(data[0], tuple) else data
    except IndexError:
        first = data
    return as_rows(first).shape[1]
