"""Rules with the comparators they are measured against: together they call on every regret theorem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Point, Reals, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import Loss
from lowregret.mirror import Entropy, Euclidean, PNorm, UnnormalisedEntropy
from lowregret.rule import (
    KT,
    AdaGrad,
    DiagonalNewton,
    Forgotten,
    FreeGrad,
    FTRLProximal,
    MirrorDescent,
    Newton,
    ProjectedGradient,
    Rule,
)
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from tests.laws.sequences import Vector

LAM = 0.5


@dataclass(frozen=True)
class Case:
    """A rule at rate η in d dimensions, and sets of comparators, the most natural one first."""

    name: str
    rule: Callable[[int, float], Rule]
    comparators: Callable[[int], list[Domain]]
    ridge: float = 0.0
    bias: float = 0.0

    def learner(self, loss: Loss, features: int, eta: float = 0.3) -> Linear:
        """The rule under a loss, for rows of this many features."""
        return Linear(loss, self.rule(self.dimension(features), eta), ridge=self.ridge, bias=self.bias)

    def dimension(self, features: int) -> int:
        """Coordinates of w."""
        return features + (self.bias > 0)


def pointing(d: int, length: float, q: float = 2.0) -> Vector:
    """A vector with coordinates of both signs and this q-norm."""
    v = np.linspace(-1.0, 0.7, d) if d > 1 else np.ones(1)
    return v * length / float(np.linalg.norm(v, q))


def spread_out(d: int, total: float) -> Vector:
    """Positive and unequal, with this sum."""
    v = np.arange(1.0, d + 1)
    return total * v / v.sum()


def off_centre(d: int) -> Box:
    """A box without the origin, each side its own."""
    return Box(np.linspace(-0.4, 0.2, d), np.linspace(-0.1, 0.9, d))


LAZY = [
    Case(
        "lazy on R^d",
        lambda d, eta: MirrorDescent(Euclidean(), Constant(eta)),
        lambda d: [L2Ball(1.0), L1Ball(2.0), LqBall(1.0, 1.5), Box(-1.0, 0.5), Point(pointing(d, 1.5))],
    ),
    Case(
        "lazy on a ball",
        lambda d, eta: MirrorDescent(Euclidean(L2Ball(1.0)), Constant(eta)),
        lambda d: [L2Ball(1.0), L2Ball(0.5), L1Ball(1.0), Point(pointing(d, 0.9))],
    ),
    Case(
        "lazy on a box",
        lambda d, eta: MirrorDescent(Euclidean(off_centre(d)), Constant(eta)),
        lambda d: [off_centre(d), Point(off_centre(d).high)],
    ),
    Case(
        "lazy on a simplex",
        lambda d, eta: MirrorDescent(Euclidean(Simplex(1.0)), Constant(eta)),
        lambda d: [Simplex(1.0), Point(spread_out(d, 1.0))],
    ),
    Case(
        "lazy on an L1 ball",
        lambda d, eta: MirrorDescent(Euclidean(L1Ball(1.0)), Constant(eta)),
        lambda d: [L1Ball(1.0), Point(pointing(d, 1.0, 1))],
    ),
    Case(
        "p-norm",
        lambda d, eta: MirrorDescent(PNorm(3.0), Constant(eta)),
        lambda d: [LqBall(1.0, 1.5), L1Ball(1.0), L2Ball(1.0), Point(pointing(d, 1.5))],
    ),
    Case(
        "EG",
        lambda d, eta: MirrorDescent(Entropy(1.0), Constant(eta)),
        lambda d: [Simplex(1.0), Point(spread_out(d, 1.0)), Point(np.eye(d)[0])],
    ),
    Case(
        "EG, total 2",
        lambda d, eta: MirrorDescent(Entropy(2.0), Constant(eta)),
        lambda d: [Simplex(2.0), Point(spread_out(d, 2.0))],
    ),
    Case(
        "unnormalised EG",
        lambda d, eta: MirrorDescent(UnnormalisedEntropy(1 / d), Constant(eta)),
        lambda d: [Simplex(1.0), Simplex(2.0), Point(spread_out(d, 1.5))],
    ),
    Case(
        "lazy on a ball, η/√t",
        lambda d, eta: MirrorDescent(Euclidean(L2Ball(1.0)), InverseSqrt(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
    ),
    Case(
        "lazy on R^d, adaptive",
        lambda d, eta: MirrorDescent(Euclidean(), Adaptive(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 1.5))],
    ),
    Case(
        "p-norm, η/√t",
        lambda d, eta: MirrorDescent(PNorm(3.0), InverseSqrt(eta)),
        lambda d: [LqBall(1.0, 1.5), Point(pointing(d, 1.5))],
    ),
    Case(
        "EG, adaptive",
        lambda d, eta: MirrorDescent(Entropy(1.0), Adaptive(eta)),
        lambda d: [Simplex(1.0), Point(spread_out(d, 1.0))],
    ),
]

EAGER = [
    Case(
        "eager on R^d",
        lambda d, eta: ProjectedGradient(Reals(), Constant(eta)),
        lambda d: [L2Ball(1.0), L1Ball(2.0), Point(pointing(d, 1.5))],
    ),
    Case(
        "eager on a ball",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), Constant(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
    ),
    Case(
        "eager on a box",
        lambda d, eta: ProjectedGradient(off_centre(d), Constant(eta)),
        lambda d: [off_centre(d), Point(off_centre(d).high)],
    ),
    Case(
        "eager on a simplex",
        lambda d, eta: ProjectedGradient(Simplex(1.0), Constant(eta)),
        lambda d: [Simplex(1.0), Point(spread_out(d, 1.0))],
    ),
    Case(
        "eager on an L1 ball, η/√t",
        lambda d, eta: ProjectedGradient(L1Ball(1.0), InverseSqrt(eta)),
        lambda d: [L1Ball(1.0), Point(pointing(d, 1.0, 1))],
    ),
    Case(
        "eager on a ball, η/√t",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), InverseSqrt(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
    ),
    Case(
        "eager on R^d, adaptive",
        lambda d, eta: ProjectedGradient(Reals(), Adaptive(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 1.5))],
    ),
    Case(
        "eager on a box, 1/t",
        lambda d, eta: ProjectedGradient(Box(-1.0, 1.0), InverseTime(1.0)),
        lambda d: [Box(-1.0, 1.0), Point(pointing(d, 0.9))],
    ),
    Case(
        "eager on a ball with bias, η/√t",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), InverseSqrt(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
        bias=1.0,
    ),
    Case(
        "eager on a ball, sums forgotten",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), InverseSqrt(eta), Forgotten()),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
    ),
]

RIDGED = [
    Case(
        "strongly convex on R^d",
        lambda d, eta: ProjectedGradient(Reals(), InverseTime(LAM)),
        lambda d: [Reals(), L2Ball(1.0), Point(pointing(d, 1.5))],
        ridge=LAM,
    ),
    Case(
        "strongly convex on a ball",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), InverseTime(LAM)),
        lambda d: [L2Ball(1.0), L2Ball(0.5), Point(pointing(d, 0.9))],
        ridge=LAM,
        bias=0.5,
    ),
    Case(
        "strongly convex, late rounds weigh more",
        lambda d, eta: ProjectedGradient(Reals(), WeightedInverseTime(LAM)),
        lambda d: [Reals(), L2Ball(1.0), Point(pointing(d, 1.5))],
        ridge=LAM,
    ),
    Case(
        "strongly convex on a ball, late rounds weigh more",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), WeightedInverseTime(LAM)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
        ridge=LAM,
    ),
    Case(
        "ridge on a ball",
        lambda d, eta: ProjectedGradient(L2Ball(1.0), Constant(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 0.9))],
        ridge=LAM,
    ),
    Case(
        "ridge on R^d, adaptive",
        lambda d, eta: ProjectedGradient(Reals(), Adaptive(eta)),
        lambda d: [L2Ball(1.0), Point(pointing(d, 1.5))],
        ridge=LAM,
    ),
]

ADAPTIVE = [
    Case(
        "AdaGrad",
        lambda d, eta: AdaGrad(eta),
        lambda d: [L2Ball(1.0), L1Ball(2.0), Box(-1.0, 0.5), Point(pointing(d, 1.5))],
    ),
    Case(
        "AdaGrad on a box",
        lambda d, eta: AdaGrad(eta, off_centre(d), beta=0.3),
        lambda d: [off_centre(d), Point(off_centre(d).high)],
    ),
    Case(
        "Newton on the diagonal, with bias",
        lambda d, eta: DiagonalNewton(1 / eta, 0.5),
        lambda d: [LqBall(1.0, 1.5), Simplex(1.0), Point(pointing(d, 1.5))],
        bias=0.5,
    ),
    Case(
        "FTRL-Proximal",
        lambda d, eta: FTRLProximal(eta, 0.5, 0.4, 0.2),
        lambda d: [L1Ball(1.0), Point(pointing(d, 1.5))],
    ),
    Case("KT", lambda d, eta: KT(2.0, 0.5), lambda d: [L2Ball(1.0), Point(pointing(d, 1.5))]),
    Case("FreeGrad", lambda d, eta: FreeGrad(0.5), lambda d: [Box(-1.0, 1.0), Point(pointing(d, 1.5))]),
    Case("Newton", lambda d, eta: Newton(0.1, 2.0), lambda d: [L2Ball(1.0), Box(-0.5, 0.5), Point(pointing(d, 0.9))]),
]

CASES = LAZY + EAGER + RIDGED + ADAPTIVE
