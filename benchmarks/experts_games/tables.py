"""Nasty tables of forecasts, and random aggregators, losses and priors to mix them by."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

from lowregret import Absolute, Quantile, Square
from lowregret.experts import (
    BOA,
    AdaHedge,
    Aggregator,
    BinaryLogScore,
    BrierSimplex,
    Descent,
    FixedShare,
    Hedge,
    LogScore,
    Mean,
    MLPoly,
    Percentage,
    ScaledHedge,
    SquareOn,
    Squint,
    Substitution,
    SymmetricPercentage,
)
from lowregret.loss import Loss

ROUNDS = (1, 2, 3, 8, 20, 40)
EXPERTS = (1, 2, 3, 5)
CLASSES = 3


class Dice(random.Random):
    """A source of chance for choices, with one for arrays beside it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.arrays = np.random.default_rng(seed)

    def often(self, share: float) -> bool:
        """Whether something that happens this often happens now."""
        return self.random() < share


class Composition(NamedTuple):
    """Forecasts x[t, i] or x[t, i, k], outcomes y[t], and what they are mixed by."""

    x: Any
    y: Any
    loss: Loss
    aggregator: Aggregator
    substitution: Substitution
    linearised: bool
    parts: int
    prior: Any


def numbers(dice: Dice, rounds: int, experts: int) -> tuple[Any, Any]:
    """Forecasts of numbers and their outcomes, out of proportion in one way or another."""
    rng, kind = dice.arrays, dice.randrange(7)
    y = rng.normal(size=rounds)
    x = y[:, None] + rng.normal(size=(rounds, experts)) * rng.uniform(0, 2, experts)
    if kind == 1:  # of any size
        scale = 10.0 ** dice.uniform(-150, 150)
        x, y = x * scale, y * scale
    elif kind == 2:  # tiny differences of large numbers
        x = x * 10.0 ** dice.uniform(-9, 0) + dice.choice([1e8, -1e8, 1e15])
        y = y * 10.0 ** dice.uniform(-9, 0) + x[0, 0]
    elif kind == 3:  # whose scale jumps
        scale = 10.0 ** rng.uniform(-12, 12, (rounds, 1))
        x, y = x * scale, y * scale[:, 0]
    elif kind == 4:  # ties
        x, y = (rng.integers(-2, 3, size).astype(float) for size in ((rounds, experts), rounds))
    elif kind == 5:  # all alike
        x = np.tile(x[:, :1], experts)
    elif kind == 6:  # one is always right
        scale = 10.0 ** rng.uniform(-60, 60, (rounds, 1))
        x, y = x * scale, y * scale[:, 0]
        x[:, 0] = y
    if dice.often(0.3) and experts > 1:
        x[:, 1] = x[:, 0]
    return x, y


def aggregator(dice: Dice) -> Aggregator:
    """An aggregator, at a rate that may be absurd."""
    rate = 10.0 ** dice.uniform(*dice.choice([(-6, 6), (-1, 0), (-160, 160)]))
    return dice.choice(
        [
            Hedge(rate),
            FixedShare(rate, dice.choice([1e-12, 0.05, 0.5, 0.999])),
            AdaHedge(),
            MLPoly(),
            MLPoly(0.9),
            Squint(),
            BOA(),
            ScaledHedge(rate),
            Descent(rate),
        ]
    )


def prior(dice: Dice, experts: int) -> Any:
    """Trust at the beginning: the same for all, any, or none in some."""
    found = dice.arrays.dirichlet(np.full(experts, dice.choice([0.05, 1.0])))
    some = dice.arrays.integers(0, 2, experts).astype(float)
    return dice.choice([None, None, found, some if some.any() else None])


def loss_of_numbers(dice: Dice) -> Loss:
    """A loss of forecasts that are one number."""
    return dice.choice(
        [Square(), Absolute(), Quantile(dice.choice([0.01, 0.5, 0.9])), Percentage(), SymmetricPercentage()]
    )


def composition(dice: Dice) -> Composition:
    """A table, a loss that fits it, and a way to mix."""
    rounds, experts = dice.choice(ROUNDS), dice.choice(EXPERTS)
    kind = dice.choice(["numbers"] * 6 + ["chances", "classes", "brier", "interval"])
    found = globals()[f"_{kind}"](dice, rounds, experts)
    x, y = found.x, found.y
    if dice.often(0.4):
        x[dice.arrays.random(x.shape[:2]) < dice.choice([0.1, 0.5, 0.9])] = np.nan
    if dice.often(0.3):
        y[dice.arrays.random(rounds) < 0.2] = np.nan
    return found._replace(prior=prior(dice, experts))


def _numbers(dice: Dice, rounds: int, experts: int) -> Composition:
    x, y = numbers(dice, rounds, experts)
    loss = loss_of_numbers(dice)
    y = np.where(y == 0, 1.0, y) if isinstance(loss, Percentage) else y
    return Composition(x, y, loss, aggregator(dice), Mean(), dice.often(0.6), 1, None)


def _chances(dice: Dice, rounds: int, experts: int) -> Composition:
    rng = dice.arrays
    x, y = rng.random((rounds, experts)), rng.integers(0, 2, rounds).astype(float)
    sure = rng.choice([0, 1, 1e-17, 1 - 1e-16, 1e-300], x.shape)
    x = np.where(rng.random(x.shape) < dice.choice([0, 0.3]), sure, x)
    mixed, linearised = dice.choice([(Hedge(1.0), False), (aggregator(dice), dice.often(0.5))])
    return Composition(x, y, BinaryLogScore(), mixed, Mean(), linearised, 1, None)


def _classes(dice: Dice, rounds: int, experts: int) -> Composition:
    x = dice.arrays.dirichlet([dice.choice([0.01, 1, 50])] * CLASSES, (rounds, experts))
    mixed, linearised = dice.choice([(Hedge(1.0), False), (aggregator(dice), dice.often(0.5))])
    y = dice.arrays.integers(0, CLASSES, rounds).astype(float)
    return Composition(x, y, LogScore(), mixed, Mean(), linearised, CLASSES, None)


def _brier(dice: Dice, rounds: int, experts: int) -> Composition:
    found = _classes(dice, rounds, experts)._replace(loss=Square(), aggregator=aggregator(dice))
    if dice.often(0.3):
        return found
    return found._replace(substitution=BrierSimplex(), linearised=False, aggregator=Hedge(dice.choice([1.0, 0.1])))


def _interval(dice: Dice, rounds: int, experts: int) -> Composition:
    size, low = 10.0 ** dice.uniform(-5, 5), dice.choice([0.0, 0.0, 1e6])
    draw = dice.arrays.random if dice.often(0.5) else lambda shape: dice.arrays.integers(0, 2, shape)
    x, y = (np.clip(low + size * draw(shape), low, low + size) for shape in ((rounds, experts), rounds))
    inside = SquareOn(low, low + size)
    return Composition(x, y, Square(), Hedge(inside.eta() * dice.choice([1, 1, 0.1])), inside, False, 1, None)
