"""Every kind of run that learns rows, or structures made of rows, with data to feed it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from lowregret import Hinge, KernelPerceptron, Logistic, Multiclass, Softmax, Square, delayed, doubling, zoo
from lowregret.learner import Gaussian
from lowregret.output import Average
from lowregret.rule import AdaGrad
from lowregret.run.begin import begin
from lowregret.run.kernel import KernelRun
from lowregret.structured import (
    Chain,
    LabelTree,
    OwnRun,
    RankingRun,
    StructuredRun,
    click_ranking,
    structured_perceptron,
    structured_svm,
)
from tests.structured.problems import FEATURES, PARENTS, click_problem, lists_of, pairs_of, sequence_problem
from tests.structured.test_own import Matchings, matchings


@dataclass(frozen=True)
class Kind:
    """A kind of run: how it begins, and how it learns rounds first … last − 1 of `rounds` there are."""

    name: str
    begin: Callable[[], Any]
    learn: Callable[[Any, int, int], Any]  # returns what the run's own `learn` did
    rounds: int = 150


RNG = np.random.default_rng(17)
X = sp.csr_array(RNG.normal(size=(150, 6)) * (RNG.random((150, 6)) < 0.6))
SCORES = X @ np.arange(-2.0, 4.0) + 0.3 * RNG.normal(size=150)
SIGNS, NUMBERS = np.where(SCORES > 0, 1.0, -1.0), 3.0 + SCORES
NAMES = [("low", "middle", "high", "top")[np.searchsorted((-2.0, 0.0, 2.0), score)] for score in SCORES]
WEIGHTS, DELAYS = RNG.integers(1, 4, 150).astype(float), RNG.integers(0, 9, 150)
SEQUENCES, LEAVES = pairs_of(sequence_problem(Chain(3), 60)), pairs_of(sequence_problem(LabelTree(PARENTS), 60))
CLICKS, MATCHINGS = lists_of(click_problem(60)), matchings(60)


def rows(labels: Any) -> Callable[[Any, int, int], Any]:
    return lambda run, first, last: run.learn(X[first:last], labels[first:last])


def weighted(run: Any, first: int, last: int) -> Any:
    return run.learn(X[first:last], SIGNS[first:last], WEIGHTS[first:last])


def late(run: Any, first: int, last: int) -> Any:
    return run.learn(X[first:last], SIGNS[first:last], delay=DELAYS[first:last])


def pairs(data: list[Any]) -> Callable[[Any, int, int], Any]:
    return lambda run, first, last: run.learn(data[first:last])


def single_rows(run: Any, first: int, last: int) -> Any:
    x = [row for pair in LEAVES[first:last] for row in pair[0]]
    return run.learn(np.array(x), [label for pair in LEAVES[first:last] for label in pair[1]])


PLAIN: dict[str, Any] = {"compiled": False}
CLASSES = Multiclass(Softmax(), AdaGrad(0.5), bias=1.0)

KINDS = [
    Kind("LinearRun", lambda: begin(zoo.ogd(Hinge()), 6, **PLAIN), rows(SIGNS)),
    Kind("LinearRun of unknown features", lambda: begin(zoo.adagrad(Logistic(), eta=0.5), None, **PLAIN), weighted),
    Kind("LinearRun averaged", lambda: begin(zoo.ogd(Square(), output=Average()), 6, **PLAIN), rows(NUMBERS)),
    Kind("MulticlassRun", lambda: begin(CLASSES, None, **PLAIN), rows(NAMES)),
    Kind("MulticlassRun of named classes", lambda: begin(CLASSES, 6, sorted({*NAMES}), **PLAIN), rows(NAMES)),
    Kind("AutoRun", lambda: begin(zoo.auto(), 6), rows(SIGNS)),  # compiled, as in many tests: sooner there
    Kind("AutoRun of numbers", lambda: begin(zoo.auto(Square()), None), rows(NUMBERS)),
    Kind("AutoMulticlassRun", lambda: begin(zoo.auto(Softmax()), None), rows(NAMES)),
    Kind("DelayedRun", lambda: delayed(zoo.ogd_eager(Hinge(), 0.1), 6, **PLAIN), late),
    Kind("BlockRun", lambda: begin(zoo.ogd(Hinge()), 6, learners=2, block=7, **PLAIN), rows(SIGNS)),
    Kind(
        "BlockRun of unknown features",
        lambda: begin(zoo.adagrad(Logistic(), eta=0.5), None, learners=2, block=16, **PLAIN),
        weighted,
    ),
    Kind("DoublingRun", lambda: doubling(zoo.ogd_eager(Hinge(), 1.0), 6, **PLAIN), rows(SIGNS)),
    Kind(
        "KernelRun",
        lambda: KernelRun(KernelPerceptron(Gaussian(0.3)), KernelPerceptron(Gaussian(0.3)).start(6), **PLAIN),
        rows(SIGNS),
    ),
    Kind(
        "StructuredRun of chains",
        lambda: StructuredRun.begin(structured_svm(Chain(3)), FEATURES, None, compiled=False),
        pairs(SEQUENCES),
        60,
    ),
    Kind(
        "StructuredRun of trees",
        lambda: StructuredRun.begin(structured_perceptron(LabelTree(PARENTS)), FEATURES, None, compiled=False),
        single_rows,
        60,
    ),
    Kind("RankingRun", lambda: RankingRun.begin(click_ranking(), FEATURES, None, compiled=False), pairs(CLICKS), 60),
    Kind("OwnRun", lambda: OwnRun.begin(structured_svm(Matchings(3, 2)), None, compiled=False), pairs(MATCHINGS), 60),
]
