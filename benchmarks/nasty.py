"""Learners of randomly chosen parts, and rows that are nasty to them, for fuzzers."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from lowregret.domain import Box, Domain, L1Ball, L2Ball, Orthant, Reals, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    OnMistakes,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.output import Average, Last, WeightedAverage
from lowregret.rule import (
    AROW,
    COCOB,
    KT,
    NAG,
    AdaGrad,
    DiagonalNewton,
    FreeGrad,
    FTRLProximal,
    MirrorDescent,
    Newton,
    ProjectedGradient,
    Rule,
)
from lowregret.step import (
    Adaptive,
    Constant,
    CountingRounds,
    InverseSqrt,
    InverseTime,
    PassiveAggressive,
    Step,
    WeightedInverseTime,
)

Draw = random.Random


# ---- learners -------------------------------------------------------------------------------------------------------


def size(r: Draw) -> float:
    """A positive number, mostly near 1, now and then very small or large."""
    return 10 ** r.choice([0.0, r.uniform(-2, 2), r.uniform(-2, 2), r.uniform(-9, 9)])


def some_loss(r: Draw) -> Loss:
    hinge = Hinge(r.choice([1.0, 1.0, 0.0, size(r)]))
    losses: list[Loss] = [Square(), Absolute(), Quantile(r.uniform(0.01, 0.99)), Huber(size(r)), Poisson(), Cost()]
    losses += [EpsilonInsensitive(r.choice([0.0, size(r)])), hinge, SquaredHinge(), Logistic(), OnMistakes(Hinge())]
    offset = r.choice([r.uniform(-1, 1), r.uniform(-1, 1), 10 ** r.uniform(0, 17)])
    return r.choice([*losses, Affine(r.choice([hinge, Logistic()]), r.choice([-2.0, size(r)]), offset)])


def some_set(r: Draw, d: int) -> Domain:
    low = np.array([r.uniform(-1, 0.5) for _ in range(d)])
    boxes = Box(-size(r), size(r)), Box(low, low + np.array([r.choice([0.0, size(r)]) for _ in range(d)]))
    return r.choice([Reals(), L2Ball(size(r)), L2Ball(size(r)), L1Ball(size(r)), Orthant(), Simplex(size(r)), *boxes])


def some_step(r: Draw) -> Step:
    eta = size(r)
    steady = [Constant(eta), Constant(eta), InverseSqrt(eta), InverseTime(eta), Adaptive(eta)]
    return r.choice([*steady, CountingRounds(InverseSqrt(eta), r.randint(0, 5))])


def some_mirror(r: Draw, d: int) -> Mirror:
    entropies = Entropy(size(r)), UnnormalisedEntropy(r.choice([1 / d, size(r)]))
    return r.choice([Euclidean(some_set(r, d)), Euclidean(), PNorm(r.choice([2.0, 3.0, 2.5, 8.0])), *entropies])


def some_eager(r: Draw, d: int) -> Rule:
    where, step = some_set(r, d), some_step(r)
    start = where.projection(np.array([r.gauss(0, 1) * size(r) for _ in range(d)])) if r.random() < 0.4 else None
    if start is not None and not where.contains(start):
        start = None
    return ProjectedGradient(where, step, start=start)


def some_rule(r: Draw, d: int) -> Rule:
    eta = size(r)
    box = r.choice([Reals(), Box(-eta, size(r))])
    aggressive = PassiveAggressive(r.choice([math.inf, eta])), PassiveAggressive(eta, squared=True)
    others: list[Rule] = [AdaGrad(eta, box, r.choice([0.0, size(r)])), DiagonalNewton(eta, size(r), box), AROW(eta)]
    others += [FTRLProximal(eta, size(r), r.choice([0.0, size(r)]), r.choice([0.0, size(r)])), Newton(eta, size(r))]
    others += [KT(eta, size(r)), FreeGrad(size(r)), COCOB(1 + eta), NAG(eta)]
    others += [ProjectedGradient(Reals(), step) for step in aggressive]
    return r.choice([*others, *(some_eager(r, d) for _ in range(6)), *(some_lazy(r, d) for _ in range(8))])


def some_lazy(r: Draw, d: int) -> Rule:
    return MirrorDescent(some_mirror(r, d), some_step(r))


def some_learner(r: Draw, features: int, bias: float) -> Linear:
    """Any loss with any rule, with a ridge, a centre, an average."""
    d, loss, output = features + (bias > 0), some_loss(r), r.choice([Last(), Average(), WeightedAverage()])
    rule, ridge = some_rule(r, d), 0.0
    if r.random() < 0.25:
        ridge = size(r)
        steps: list[Step] = [InverseTime(ridge), WeightedInverseTime(ridge), Constant(min(1, 1 / ridge)), Adaptive()]
        rule = ProjectedGradient(r.choice([Reals(), L2Ball(size(r))]), r.choice(steps))
    centre = [r.gauss(0, 1) * size(r) for _ in range(d)] if r.random() < 0.15 else None
    return Linear(loss, rule, output, ridge=ridge, bias=bias, centre=centre)


# ---- rows -----------------------------------------------------------------------------------------------------------


def some_row(r: Draw, before: list[list[float]], w: Any, scale: float, d: int) -> list[float]:
    """A row at random, or one that was there before, or none, or one against the weights."""
    match r.choice(["new", "new", "again", "none", "few", "against", "turned", "apart"]):
        case "again" if before:
            return list(r.choice(before))
        case "none":
            return [0.0] * d
        case "few":
            return [scale * r.choice([0.0, 0.0, 1.0, -1.0]) for _ in range(d)]
        case "against":
            return [scale * (1.0 if v > 0 else -1.0) for v in w[:d]]
        case "turned" if before:
            return [-v for v in before[-1]]
        case "apart":
            return [r.gauss(0, 1) * scale * 10 ** r.uniform(-8, 0) for _ in range(d)]
    return [r.gauss(0, 1) * scale for _ in range(d)]


def some_label(r: Draw, loss: Loss, score: float, scale: float) -> float:
    """A label that the loss takes: often a wrong one, or where the loss has a kink."""
    if isinstance(loss, Poisson):
        return float(r.choice([0, 1, 3, 10**6, 0.5]))
    if loss.accepts(0.37):
        return r.choice([r.gauss(0, 1), scale * r.gauss(0, 1), score, score + 0.1, 0.0, 1e9 * scale])
    if loss.accepts(-1.0):
        return r.choice([-1.0, 1.0, -1.0 if score > 0 else 1.0])
    return 1.0
