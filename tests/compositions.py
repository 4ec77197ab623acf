"""Every textbook composition of parts, beside its slow transcription: what the laws are run over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from lowregret import zoo
from lowregret.domain import Box, L1Ball, L2Ball, Orthant, Reals, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, EpsilonInsensitive, Hinge, Logistic, Square
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.output import Average, WeightedAverage
from lowregret.rule import Forgotten, MirrorDescent, ProjectedGradient
from lowregret.step import Adaptive, Constant, InverseSqrt
from tests import naive
from tests import naive_adaptive as adaptive
from tests.naive import LinearRun, Matrix, Vector

ETA, RADIUS, LAM, TOTAL, P = 0.25, 0.5, 0.3, 2.0, 3.0

Naive = Callable[[Matrix, Vector, Vector], LinearRun]


@dataclass(frozen=True)
class Composition:
    """A learner for rows of d features, and the naive run on (rows, labels, positive weights).

    `task` says which rows and labels it takes (see `rows_for`); `norm` is the dual norm of its geometry. Without
    `compiled` it runs as plain Python, in tests that have the fixture `as_composed`.
    """

    name: str
    learner: Callable[[int], Linear]
    naive: Naive
    task: str = "margin"
    norm: float = 2
    compiled: bool = True


# ---- rows, labels and weights ----------------------------------------------------------------------------------------


class Rows(NamedTuple):
    """Features (with zeros, and rows of nothing but zeros), labels, and importance weights (some 0)."""

    X: Matrix
    y: Vector
    weights: Vector

    @property
    def counted(self) -> tuple[Matrix, Vector, Vector]:
        """The rows that make rounds: those of positive weight."""
        kept = self.weights > 0
        return self.X[kept], self.y[kept], self.weights[kept]


def rows_for(task: str, n: int, d: int, seed: int, density: float = 0.6) -> Rows:
    """Random rows. All features are float32 numbers, so that storing them in single precision changes nothing."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d)) if task == "binary" else rng.normal(size=(n, d))
    X = (X * (rng.random((n, d)) < density)).astype(np.float32).astype(np.float64)
    X[rng.random(n) < 0.05] = 0.0
    noise = rng.normal(size=n)
    signs = np.where(X @ rng.normal(size=d) + 0.3 * noise >= 0, 1.0, -1.0)
    labels = {"margin": signs, "binary": signs, "real": X @ rng.normal(size=d) + noise, "costs": np.ones(n)}[task]
    return Rows(X, labels, rng.choice([0.0, 0.5, 1.0, 2.0], n, p=[0.15, 0.2, 0.5, 0.15]))


# ---- naive runs ------------------------------------------------------------------------------------------------------


def lazy(loss: naive.Loss, link: naive.Link, rate: naive.Rate) -> Naive:
    """Mirror descent."""
    return lambda X, y, c: naive.omd(naive.score_game(X, y, c, loss), len(X), X.shape[1], link, rate)


def eager(loss: naive.Loss, project: naive.Projection, rate: naive.Rate, lam: float = 0.0) -> Naive:
    """Projected gradient descent from Π(0), regularised by (λ/2)‖w‖²."""

    def run(X: Matrix, y: Vector, c: Vector) -> LinearRun:
        game = naive.regularised(naive.score_game(X, y, c, loss), lam)
        return naive.ogd_eager(game, len(X), project(np.zeros(X.shape[1])), project, rate)

    return run


def algorithm(run: Callable[..., LinearRun], loss: naive.Loss, *parameters: object) -> Naive:
    """An algorithm called with (game, rounds, dimension, parameters)."""
    return lambda X, y, c: run(naive.score_game(X, y, c, loss), len(X), X.shape[1], *parameters)


def low(d: int) -> Vector:
    """Lower corners of a box that does not contain 0."""
    return np.linspace(-1.0, 0.2, d)


def naive_box(X: Matrix, y: Vector, c: Vector) -> LinearRun:
    project = naive.onto_box(low(X.shape[1]), 0.4)
    return eager(naive.square, project, naive.inverse_sqrt(ETA))(X, y, c)


def scw(X: Matrix, y: Vector, c: Vector) -> LinearRun:
    game = naive.score_game(X, y, c, naive.hinge)
    return naive.ogd_scw(game, len(X), X.shape[1], LAM, naive.onto_l2_ball(RADIUS))[0]


BALL, SIMPLEX, L1 = naive.onto_l2_ball(RADIUS), naive.onto_simplex(TOTAL), naive.onto_l1_ball(RADIUS)
SQRT, STEADY = naive.inverse_sqrt(ETA), naive.constant(ETA)

TEXTBOOK = [
    Composition("ogd", lambda d: zoo.ogd(Logistic(), ETA), algorithm(naive.ogd, naive.logistic, ETA)),
    Composition(
        "ogd-lazy",
        lambda d: zoo.ogd_lazy(Hinge(), ETA, RADIUS),
        algorithm(naive.ogd_lazy, naive.hinge, BALL, STEADY),
    ),
    Composition("ogd-eager", lambda d: zoo.ogd_eager(Hinge(), ETA, RADIUS), eager(naive.hinge, BALL, STEADY)),
    Composition(  # answers that come at once; late ones are in test_delay.py
        "ogd-delay",
        lambda d: zoo.ogd_delay(Hinge(), 0, 1, RADIUS / ETA, RADIUS),
        eager(naive.hinge, BALL, STEADY),
    ),
    Composition(
        "ogd-sqrt",
        lambda d: zoo.ogd_sqrt(Square(), ETA, RADIUS, Average()),
        algorithm(naive.ogd_sqrt, naive.square, RADIUS, ETA),
        "real",
    ),
    Composition("ogd-sc", lambda d: zoo.ogd_sc(Hinge(), LAM), algorithm(naive.ogd_sc, naive.hinge, LAM)),
    Composition("ogd-scw", lambda d: zoo.ogd_scw(Hinge(), LAM, L2Ball(RADIUS)), scw),
    Composition("svm-online", lambda d: zoo.svm_online(RADIUS), lambda X, y, c: naive.svm_online(X, y, c, RADIUS)),
    Composition(
        "eg",
        lambda d: zoo.eg(Cost(), ETA, TOTAL, Average()),
        algorithm(naive.eg, naive.cost, ETA, TOTAL),
        "costs",
        math.inf,
    ),
    Composition(
        "ueg",
        lambda d: zoo.ueg(Absolute(), ETA, d, Average()),
        lambda X, y, c: algorithm(naive.ueg, naive.absolute, ETA, 1 / X.shape[1])(X, y, c),
        "real",
        math.inf,
    ),
    Composition(
        "pnorm",
        lambda d: zoo.pnorm(Absolute(), ETA, P, Average()),
        algorithm(naive.pnorm, naive.absolute, ETA, P),
        "real",
        P,
    ),
    Composition("perceptron", lambda d: zoo.perceptron(), lambda X, y, c: naive.perceptron(X, y, c)[0]),
    Composition(
        "perceptron-or",
        lambda d: zoo.perceptron_or(d),
        lambda X, y, c: naive.perceptron(np.c_[X, np.full(len(X), 0.5)], y, c)[0],
    ),
    Composition("winnow", lambda d: zoo.winnow(d, ETA), lambda X, y, c: naive.winnow(X, y, c, ETA), "binary", math.inf),
    Composition(
        "adagrad",
        lambda d: zoo.adagrad(Logistic(), ETA, output=Average()),
        algorithm(adaptive.adagrad, naive.logistic, ETA),
    ),
    Composition(
        "ftrl-proximal",
        lambda d: zoo.ftrl_proximal(Logistic(), 0.5, 0.7, 0.6, 0.3),
        algorithm(adaptive.ftrl_proximal, naive.logistic, 0.5, 0.7, 0.6, 0.3),
    ),
    Composition("kt", lambda d: zoo.kt(Hinge(), 12.0, 2.0), algorithm(adaptive.kt, naive.hinge, 12.0, 2.0)),
    Composition(
        "freegrad",
        lambda d: zoo.freegrad(Absolute(), 0.5, Average()),
        algorithm(adaptive.freegrad, naive.absolute, 0.5),
        "real",
    ),
    Composition("cocob", lambda d: zoo.cocob(Hinge(), 20.0), algorithm(adaptive.cocob, naive.hinge, 20.0)),
    Composition(
        "nag",
        lambda d: zoo.nag(Logistic(), ETA, Average()),
        lambda X, y, c: adaptive.nag(X, y, c, naive.logistic, ETA),
    ),
    Composition(
        "newton",
        lambda d: zoo.newton(Square(), 4.0, 2.0, Average()),
        algorithm(adaptive.newton, naive.square, 0.25, 2.0),
        "real",
    ),
    Composition(
        "newton-diagonal",
        lambda d: zoo.newton_diagonal(Hinge(), 2.0, 3.0),
        algorithm(adaptive.newton_diagonal, naive.hinge, 0.5, 3.0),
    ),
    Composition(
        "pa", lambda d: zoo.pa(Hinge(), 0.3), lambda X, y, c: adaptive.passive_aggressive(X, y, c, naive.hinge, 0.3)
    ),
    Composition(
        "pa-ii",
        lambda d: zoo.pa_ii(EpsilonInsensitive(0.2), 0.7, Average()),
        lambda X, y, c: adaptive.passive_aggressive(X, y, c, adaptive.epsilon_insensitive(0.2), 0.7, True),
        "real",
    ),
    Composition("arow", lambda d: zoo.arow(Hinge(), 2.0), lambda X, y, c: adaptive.arow(X, y, c, naive.hinge, 2.0)),
]

OTHERS = [
    Composition(
        "adagrad-box",
        lambda d: zoo.adagrad(Square(), ETA, Box(low(d), 0.4), Average()),
        lambda X, y, c: algorithm(adaptive.adagrad, naive.square, ETA, naive.onto_box(low(X.shape[1]), 0.4))(X, y, c),
        "real",
    ),
    Composition(
        "lazy-box",
        lambda d: Linear(Absolute(), MirrorDescent(Euclidean(Box(-0.5, 0.3)), InverseSqrt(ETA)), Average()),
        lazy(naive.absolute, naive.euclid(naive.onto_box(-0.5, 0.3)), SQRT),
        "real",
    ),
    Composition(
        "eager-box",
        lambda d: Linear(Square(), ProjectedGradient(Box(low(d), 0.4), InverseSqrt(ETA)), Average()),
        naive_box,
        "real",
    ),
    Composition(
        "lazy-orthant",
        lambda d: Linear(Hinge(), MirrorDescent(Euclidean(Orthant()), Constant(ETA))),
        lazy(naive.hinge, naive.euclid(naive.onto_orthant), STEADY),
    ),
    Composition(
        "eager-orthant",
        lambda d: Linear(Hinge(), ProjectedGradient(Orthant(), Constant(ETA)), WeightedAverage()),
        eager(naive.hinge, naive.onto_orthant, STEADY),
    ),
    Composition(
        "lazy-simplex",
        lambda d: Linear(Hinge(), MirrorDescent(Euclidean(Simplex(TOTAL)), InverseSqrt(ETA)), Average()),
        lazy(naive.hinge, naive.euclid(SIMPLEX), SQRT),
    ),
    Composition(
        "eager-simplex",
        lambda d: Linear(Cost(), ProjectedGradient(Simplex(TOTAL), Constant(ETA)), Average()),
        eager(naive.cost, SIMPLEX, STEADY),
        "costs",
    ),
    Composition(
        "lazy-l1",
        lambda d: Linear(Square(), MirrorDescent(Euclidean(L1Ball(RADIUS)), Constant(ETA))),
        lazy(naive.square, naive.euclid(L1), STEADY),
        "real",
    ),
    Composition(
        "eager-l1",
        lambda d: Linear(Square(), ProjectedGradient(L1Ball(RADIUS), Constant(ETA))),
        eager(naive.square, L1, STEADY),
        "real",
    ),
    Composition(
        "ogd-adaptive",
        lambda d: zoo.ogd(Hinge()),
        lazy(naive.hinge, naive.euclid(naive.anywhere), naive.adaptive(1.0)),
    ),
    Composition(
        "eager-adaptive",
        lambda d: Linear(Hinge(), ProjectedGradient(Reals(), Adaptive())),
        eager(naive.hinge, naive.anywhere, naive.adaptive(1.0)),
    ),
    Composition(
        "ridge-adaptive",
        lambda d: Linear(Logistic(), ProjectedGradient(L2Ball(RADIUS), Adaptive(2.0)), Average(), ridge=LAM, bias=0.5),
        lambda X, y, c: eager(naive.logistic, BALL, naive.adaptive(2.0), LAM)(with_bias(X, 0.5), y, c),
    ),
    Composition(
        "ridge-constant",  # ηλ > 1: the common factor changes its sign in every round
        lambda d: Linear(Hinge(), ProjectedGradient(Reals(), Constant(ETA)), Average(), ridge=1.5 / ETA),
        eager(naive.hinge, naive.anywhere, STEADY, 1.5 / ETA),
    ),
    Composition(
        "lazy-adaptive",
        lambda d: Linear(Hinge(), MirrorDescent(Euclidean(L2Ball(RADIUS)), Adaptive()), Average()),
        lazy(naive.hinge, naive.euclid(BALL), naive.adaptive(1.0)),
    ),
    Composition(
        "eg-adaptive",
        lambda d: Linear(Hinge(), MirrorDescent(Entropy(TOTAL), Adaptive()), Average(), bias=0.5),
        lambda X, y, c: lazy(naive.hinge, naive.entropic(TOTAL), naive.adaptive(1.0, math.inf))(
            with_bias(X, 0.5), y, c
        ),
        norm=math.inf,
    ),
    Composition(
        "pnorm-sqrt",
        lambda d: Linear(Hinge(), MirrorDescent(PNorm(P), InverseSqrt(ETA)), bias=2.0),
        lambda X, y, c: lazy(naive.hinge, naive.p_norm(P), SQRT)(with_bias(X, 2.0), y, c),
        norm=P,
    ),
    Composition(
        "eager-forgotten",
        lambda d: Linear(Hinge(), ProjectedGradient(L2Ball(RADIUS), Constant(ETA), Forgotten())),
        eager(naive.hinge, BALL, STEADY),
    ),
]


def with_bias(X: Matrix, value: float) -> Matrix:
    """[x, value]"""
    return np.hstack([X, np.full((len(X), 1), value)])


COMPOSITIONS = TEXTBOOK + OTHERS


# ---- compiled or not -------------------------------------------------------------------------------------------------


def _firsts() -> set[str]:
    """The compositions that have a rule, a mirror map, a domain or an output that none before them has."""
    seen: set[type] = set()
    firsts = set()
    for composition in COMPOSITIONS:
        learner = composition.learner(5)
        parts = learner.rule, learner.rule.domain, learner.output, getattr(learner.rule, "mirror", None)
        if not seen.issuperset(kinds := set(map(type, parts))):
            firsts.add(composition.name)
        seen |= kinds
    return firsts


FIRSTS = _firsts()


def every(compositions: list[Composition] = COMPOSITIONS) -> Any:
    """Parametrize by each composition once, compiled if it is the first of its kind; in `make soak` the other way."""
    cases = []
    for composition in compositions:
        first, plain = composition.name in FIRSTS, replace(composition, compiled=False)
        for one, name in ((composition, composition.name), (plain, f"{composition.name}-interpreted")):
            cases.append(pytest.param(one, id=name, marks=() if one.compiled == first else pytest.mark.thorough))
    return pytest.mark.parametrize("composition", cases)


def every_compiled(compositions: list[Composition] = COMPOSITIONS) -> Any:
    """Parametrize by each composition, compiled: by the first of each kind, and in `make soak` by the others."""
    thorough = pytest.mark.thorough
    cases = [pytest.param(one, id=one.name, marks=() if one.name in FIRSTS else thorough) for one in compositions]
    return pytest.mark.parametrize("composition", cases)
