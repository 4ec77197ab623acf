"""Examples of runs that learn something other than rows, whatever they are asked or told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowregret.bandit import BanditDescent, EstimatedDescent, ExpertRanking, ScoreRanking
from lowregret.compile.part import Part
from lowregret.domain import L1Ball, L2Ball
from lowregret.experts import (
    AdaHedge,
    BoxHedge,
    ConformalIntervals,
    Drawing,
    ExponentiatedGradient,
    Hedge,
    MixedPortfolio,
    OnlineNewton,
    Quantiles,
    SampledHedge,
    Specialists,
    Universal,
)
from lowregret.finite import (
    Agnostic,
    Consistent,
    Halving,
    Restarting,
    StandardOptimal,
    SurrogateHalving,
    WeightedMajority,
    make_hypotheses,
)
from lowregret.mirror import Euclidean
from lowregret.rule import MirrorDescent
from lowregret.step import Constant

X = np.round(np.sin(np.arange(180.0) ** 2).reshape(60, 3), 6)
COSTS, RELATIVES = np.abs(X), 1 + X / 20
ORDERS = np.array([np.roll(np.arange(4), shift) for shift in range(3)])
FEATURES = np.round(np.cos(np.arange(12.0)).reshape(4, 3), 6)
THRESHOLDS = make_hypotheses("thresholds:8")
RULE = MirrorDescent(Euclidean(L2Ball()), Constant(0.1))
PLAIN: dict[str, Any] = {"compiled": False}
HALF, ROUNDS = 40, 60

Told = Callable[[Any, int], Any]
Made = tuple[Callable[[Path], None], Callable[[Any], Any]]  # how a file is written, and how what is in it goes on


class UniformSampler(Part):
    """Uniform in [−1, 1], moved by the sum of slopes."""

    eta: float

    def __call__(self, rng: np.random.Generator, losses: list[Any]) -> float:
        return float(2 * rng.random() - 1 - self.eta * sum(loss.slope for loss in losses))


class Slope(Part):
    """w ↦ slope·w"""

    slope: float

    def __call__(self, w: float) -> float:
        return self.slope * w


def one_by_one(make: Callable[[], Any], tell: Told, ask: Callable[[Any], object] = lambda run: None) -> Made:
    """A run that is asked in the middle, and told rounds before and after."""

    def write(path: Path) -> None:
        run = make()
        for t in range(HALF):
            tell(run, t)
        ask(run)
        run.save(path)

    def more(run: Any) -> Any:
        for t in range(HALF, ROUNDS):
            tell(run, t)
        return [run.loss, *run.history.trace.loss]

    return write, more


def finite(make: Callable[[], Any]) -> Made:
    """A learner of thresholds, whose labels are wrong now and then."""
    return one_by_one(make, lambda run, t: run.learn(t * 3 % 7, int((t * 3 % 7 < 3) != (t % 11 == 10))))


def ranked(run: ExpertRanking, t: int) -> None:
    run.rank(np.roll(ORDERS, t, axis=1))
    run.learn(t * t % 4)


def scored(run: ScoreRanking, t: int) -> None:
    run.rank(np.roll(FEATURES, t))
    run.learn(t * t % 4)


def distance(t: int, w: Any) -> float:
    return float(np.sum((w - np.resize(X[t % len(X)], w.size)) ** 2))


OTHER_EXAMPLES: dict[str, Made] = {
    "drawing": one_by_one(lambda: Drawing(3, Hedge(0.5), **PLAIN), lambda run, t: run.learn(COSTS[t : t + 1])),
    "box-hedge": one_by_one(
        lambda: BoxHedge(np.zeros(3), np.ones(3), 0.5), lambda run, t: run.learn(X[t]), lambda run: run.draw()
    ),
    "sampled-hedge": one_by_one(
        lambda: SampledHedge(UniformSampler(0.125)), lambda run, t: run.learn(Slope(float(X[t, 0]))), SampledHedge.draw
    ),
    "specialists": one_by_one(
        lambda: Specialists(5, 0.5, **PLAIN), lambda run, t: run.learn([0, 2], [t % 2, 2 + t % 3], X[t, :2], X[t, 2:])
    ),
    "quantiles": one_by_one(
        lambda: Quantiles(3, [0.75], **PLAIN),
        lambda run, t: run.learn(X[t : t + 1], X[t, :1] + 0.25),
        lambda run: run.ask(X[0]),
    ),
    "conformal": one_by_one(
        lambda: ConformalIntervals(0.8, **PLAIN),
        lambda run, t: run.learn(X[t, :1], X[t, 1:2]),
        lambda run: run.ask(0.5),
    ),
    "mixed-portfolio": one_by_one(
        lambda: MixedPortfolio(3, AdaHedge(), cost=0.01, **PLAIN), lambda run, t: run.learn(RELATIVES[t : t + 1])
    ),
    "eg-portfolio": one_by_one(
        lambda: ExponentiatedGradient(3, **PLAIN), lambda run, t: run.learn(RELATIVES[t : t + 1])
    ),
    "online-newton": one_by_one(lambda: OnlineNewton(3, **PLAIN), lambda run, t: run.learn(RELATIVES[t : t + 1])),
    "universal-portfolio": one_by_one(
        lambda: Universal(2, 60, **PLAIN), lambda run, t: run.learn(RELATIVES[t : t + 1, :2])
    ),
    "bandit-descent": one_by_one(
        lambda: BanditDescent(L2Ball(), 3, 0.01, 0.25, lipschitz=4.0, largest=9.0),
        lambda run, t: run.learn(distance, 1),
    ),
    "bandit-descent-outside": one_by_one(
        lambda: BanditDescent(L1Ball(), 3, 0.01, 0.5, lipschitz=4.0, largest=9.0, outside=True),
        lambda run, t: run.learn(distance, 1),
    ),
    "estimated-descent": one_by_one(lambda: EstimatedDescent(RULE, 3, **PLAIN), lambda run, t: run.learn(X[t])),
    "expert-ranking": one_by_one(lambda: ExpertRanking(3, 4, 0.5), ranked, lambda run: run.rank(ORDERS)),
    "score-ranking": one_by_one(lambda: ScoreRanking(RULE, 3), scored, lambda run: run.rank(FEATURES)),
    "consistent": finite(lambda: Consistent(THRESHOLDS)),
    "halving": finite(lambda: Halving(THRESHOLDS)),
    "standard-optimal": finite(lambda: StandardOptimal(THRESHOLDS)),
    "weighted-majority": finite(lambda: WeightedMajority(THRESHOLDS, ROUNDS)),
    "surrogate-halving": finite(lambda: SurrogateHalving(THRESHOLDS)),
    "agnostic": finite(lambda: Agnostic(THRESHOLDS, ROUNDS)),
    "restarting": finite(lambda: Restarting(WeightedMajority, THRESHOLDS)),
}
