"""Every kind of run that learns something other than rows: how it is made, and how it is fed the rounds of a part."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lowregret import Constant, Euclidean, FollowTheLeader, L2Ball, MirrorDescent, Square
from lowregret.bandit import (
    Bandit,
    BanditDescent,
    BernoulliCosts,
    EstimatedDescent,
    Exp3,
    Exp3IX,
    Exp4,
    ExpertRanking,
    ScoreRanking,
    Thompson,
    TsallisInf,
    Ucb1,
)
from lowregret.compile.part import Part
from lowregret.experts import (
    AdaHedge,
    BoxHedge,
    Calibrated,
    ConformalIntervals,
    Drawing,
    ExpertMixture,
    ExponentiatedGradient,
    Hedge,
    Layered,
    LogScore,
    LongTable,
    MixedPortfolio,
    OnlineNewton,
    Quantiles,
    SampledHedge,
    SeriesMixture,
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
from lowregret.play import Game
from lowregret.types import Vector

ROUNDS = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROUNDS, 4))
X[7, 1], X[8], X[20] = np.nan, np.nan, X[19]
Y = RNG.normal(size=ROUNDS)
Y[12] = np.nan
UNIT = RNG.random((ROUNDS, 4))
ADVICE = RNG.dirichlet(np.ones(4), (ROUNDS, 3))
CLASSES = RNG.dirichlet(np.ones(3), (ROUNDS, 4))
CAME = RNG.integers(0, 3, ROUNDS).astype(float)
RELATIVES = np.exp(RNG.normal(0, 0.02, (ROUNDS, 12)))
ORDERS = np.array([[RNG.permutation(5) for _ in range(3)] for _ in range(ROUNDS)])
WANTED = RNG.integers(0, 5, ROUNDS)
FEATURES = RNG.normal(size=(ROUNDS, 5, 4))
POINTS, LABELS = RNG.integers(0, 15, ROUNDS), RNG.integers(0, 2, ROUNDS)
THRESHOLDS = make_hypotheses("thresholds:16")
RULE = MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1))
GOAL = np.array([0.3, -0.2])
PLAIN: dict[str, Any] = {"compiled": False}

Feed = Callable[[Any, slice], Any]


class Kind(NamedTuple):
    """A kind of file, a fresh run of that kind, how rounds of a part are learnt, and how one more is begun."""

    name: str
    make: Callable[[], Any]
    feed: Feed
    ask: Callable[[Any], object] = lambda run: None


class GaussianSampler(Part):
    """Normal around minus the sum of slopes."""

    eta: float

    def __call__(self, rng: np.random.Generator, losses: list[Any]) -> float:
        return float(rng.normal() - self.eta * sum(loss.slope for loss in losses))


class Slope(Part):
    """w ↦ slope·w"""

    slope: float

    def __call__(self, w: float) -> float:
        return self.slope * w


def ahead(part: slice, later: float = 0.0) -> LongTable:
    """The rounds of X, of two series in turn, each forecast three rounds before its outcome is known."""
    t = np.arange(float(ROUNDS))[part]
    names, series = [str(i) for i in range(4)], np.where(t % 2 == 1, "odd", "even")
    return LongTable(names, X[part], Y[part], series, t + (later + 3), t + later, None, False)


def sparse(run: Specialists, part: slice) -> Any:
    """The rounds of X as those awake see them."""
    awake = ~np.isnan(X[part])
    starts = np.append(0, np.cumsum(awake.sum(1)))
    return run.learn(starts, np.nonzero(awake)[1], X[part][awake], Y[part])


def each(learn: Callable[[Any, int], Any]) -> Feed:
    """Learn the rounds of a part one by one."""

    def feed(run: Any, part: slice) -> Any:
        for t in range(ROUNDS)[part]:
            told = learn(run, t)
        return told

    return feed


def ranked(run: ExpertRanking, t: int) -> Any:
    run.rank(ORDERS[t])
    return run.learn(int(WANTED[t]))


def scored(run: ScoreRanking, t: int) -> Any:
    run.rank(FEATURES[t])
    return run.learn(int(WANTED[t]))


def distance(t: int, w: Vector) -> float:
    return float(np.linalg.norm(w - GOAL)) + t / ROUNDS


def finite(name: str, make: Callable[[], Any]) -> Kind:
    return Kind(name, make, each(lambda run, t: run.learn(int(POINTS[t]), int(LABELS[t]))))


def bandit(algorithm: Any) -> Kind:
    def make() -> Bandit:
        return Bandit(4, algorithm, seed=2, low=-1.0, high=3.0, **PLAIN)

    return Kind("bandit", make, lambda run, part: run.learn(4 * UNIT[part] - 1), Bandit.choose)


def descent(points: int) -> Kind:
    def make() -> BanditDescent:
        return BanditDescent.tuned(L2Ball(1.0), 2, ROUNDS, 1.0, 3.0, points=points, seed=6)

    return Kind("bandit-descent", make, lambda run, part: run.learn(distance, len(range(ROUNDS)[part])))


def universal(assets: int) -> Kind:
    def make() -> Universal:
        return Universal(assets, ROUNDS, nodes=20, **PLAIN)

    return Kind("universal-portfolio", make, lambda run, part: run.learn(RELATIVES[part, :assets]))


KINDS = [
    Kind("game", lambda: Game(RULE, 4, **PLAIN), lambda run, part: run.learn(UNIT[part])),
    Kind("game", lambda: Game(FollowTheLeader(L2Ball(1.0)), 4, **PLAIN), lambda run, part: run.learn(UNIT[part])),
    Kind(
        "experts",
        lambda: ExpertMixture(4, AdaHedge(), **PLAIN),
        lambda run, part: run.learn(X[part], Y[part]),
        lambda run: run.ask(UNIT[0]),
    ),
    Kind(
        "experts",
        lambda: ExpertMixture(4, Hedge(1.0), LogScore(), parts=3, linearised=False, **PLAIN),
        lambda run, part: run.learn(CLASSES[part], CAME[part]),
        lambda run: run.ask(CLASSES[0]),
    ),
    Kind(
        "layered-experts",
        lambda: Layered(4, **PLAIN),
        lambda run, part: run.learn(X[part], Y[part]),
        lambda run: run.ask(UNIT[0]),
    ),
    Kind(
        "calibrated-experts",
        lambda: Calibrated(4, **PLAIN),
        lambda run, part: run.learn(X[part], Y[part]),
        lambda run: run.ask(UNIT[0]),
    ),
    Kind(
        "quantiles",
        lambda: Quantiles(4, [0.9], **PLAIN),
        lambda run, part: run.learn(X[part], Y[part]),
        lambda run: run.ask(UNIT[0]),
    ),
    Kind(
        "series-experts",
        lambda: SeriesMixture(["0", "1", "2", "3"], **PLAIN),
        lambda run, part: run.learn(ahead(part)),
        lambda run: run.ask(ahead(slice(0, 1), max(run.keys.clock, -1.0) + 0.5))[1],
    ),
    Kind(
        "conformal",
        lambda: ConformalIntervals(0.8, **PLAIN),
        lambda run, part: run.learn(UNIT[part, 0], Y[part]),
        lambda run: run.ask(0.5),
    ),
    Kind(
        "drawing",
        lambda: Drawing(4, Hedge(0.3), seed=3, **PLAIN),
        lambda run, part: run.learn(X[part]),
        lambda run: run.draw(),
    ),
    Kind(
        "box-hedge",
        lambda: BoxHedge(np.zeros(4), np.ones(4), 0.2, seed=4),
        lambda run, part: run.learn(UNIT[part]),
        lambda run: run.draw(),
    ),
    Kind(
        "sampled-hedge",
        lambda: SampledHedge(GaussianSampler(0.2), seed=5),
        lambda run, part: run.learn(*map(Slope, UNIT[part, 0].tolist())),
        lambda run: run.draw(),
    ),
    Kind("specialists", lambda: Specialists(4, 0.2, Square(), **PLAIN), sparse),
    Kind("online-newton", lambda: OnlineNewton(3, **PLAIN), lambda run, part: run.learn(RELATIVES[part, :3])),
    Kind(
        "mixed-portfolio",
        lambda: MixedPortfolio(3, AdaHedge(), cost=0.01, **PLAIN),
        lambda run, part: run.learn(RELATIVES[part, :3]),
    ),
    Kind("eg-portfolio", lambda: ExponentiatedGradient(3, **PLAIN), lambda run, part: run.learn(RELATIVES[part, :3])),
    *map(universal, [2, 12]),  # of few assets exactly, of many by portfolios drawn
    *map(bandit, [Exp3(0.1), Exp3IX(0.1, 0.05), TsallisInf(), Ucb1(), Thompson()]),
    Kind(
        "bandit",
        lambda: Bandit(3, TsallisInf(), **PLAIN),
        lambda run, part: run.learn(BernoulliCosts([0.2, 0.5, 0.5]), len(range(ROUNDS)[part])),
        Bandit.choose,
    ),
    Kind(
        "exp4",
        lambda: Exp4(3, 4, 0.1, **PLAIN),
        lambda run, part: run.learn(UNIT[part], ADVICE[part]),
        lambda run: run.choose(ADVICE[0]),
    ),
    *map(descent, [1, 2]),
    Kind(
        "estimated-descent", lambda: EstimatedDescent(RULE, 4, **PLAIN), lambda run, part: run.learn(UNIT[part] - 0.5)
    ),
    Kind("expert-ranking", lambda: ExpertRanking(3, 5, 0.3), each(ranked), lambda run: run.rank(ORDERS[0])),
    Kind("score-ranking", lambda: ScoreRanking(RULE, 4), each(scored), lambda run: run.rank(FEATURES[0])),
    finite("consistent", lambda: Consistent(THRESHOLDS)),
    finite("halving", lambda: Halving(THRESHOLDS)),
    finite("standard-optimal", lambda: StandardOptimal(THRESHOLDS)),
    finite("weighted-majority", lambda: WeightedMajority(THRESHOLDS, ROUNDS)),
    finite("surrogate-halving", lambda: SurrogateHalving(THRESHOLDS)),
    finite("agnostic", lambda: Agnostic(THRESHOLDS, ROUNDS)),
    finite("restarting", lambda: Restarting(WeightedMajority, THRESHOLDS)),
    finite("restarting", lambda: Restarting(Agnostic, THRESHOLDS)),
]
