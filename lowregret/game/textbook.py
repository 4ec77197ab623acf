"""The whole zoo: what `train` can be told by name (`zoo.py`), and what is played, mixed, drawn or proved beside it.

`whole()["halving"]` tells what it is, where it is, what is proved of it, and a command that shows it at work.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import getdoc
from typing import Any

from lowregret.bandit import (
    BanditDescent,
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
from lowregret.convex.leader import FollowTheLeader, FollowTheRegularisedLeader
from lowregret.experts import (
    BOA,
    AdaHedge,
    BoxHedge,
    Calibrated,
    ConformalIntervals,
    Drawing,
    ExponentiatedGradient,
    FixedShare,
    Hedge,
    Layered,
    MixedPortfolio,
    MLPoly,
    OnlineNewton,
    Quantiles,
    SampledHedge,
    Squint,
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
    dimensions,
)
from lowregret.game.algorithms import ALGORITHMS as PLAYERS
from lowregret.game.catalogue import CATALOGUE, game
from lowregret.output import Average, Random, WeightedAverage
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.run.delayed import delayed
from lowregret.run.doubling import doubling
from lowregret.structured import click_ranking, structured_perceptron, structured_svm
from lowregret.zoo import ALGORITHMS, ZOO, Entry


@dataclass(frozen=True)
class Item:
    """One name of the textbook: what it is, where it is, what is proved of it, and how to see it at work."""

    name: str
    things: tuple[Callable[..., Any], ...]  # the classes or functions that it is
    purpose: str
    certificates: tuple[str, ...]
    commands: tuple[str, ...]  # each can be tried as it stands
    entry: Entry | None = None  # of those that `train` makes

    @property
    def trained(self) -> bool:
        """Whether `lowregret train --algorithm` knows it."""
        return self.entry is not None and self.entry.named

    @property
    def places(self) -> tuple[str, ...]:
        """Where each thing is imported from, the shortest name that has it."""
        return tuple(_place(thing) for thing in self.things)

    @property
    def formula(self) -> str:
        """The docstring of the first thing; of a class, its first paragraph."""
        told = str(getdoc(self.things[0]))
        return told if self.entry else told.split("\n\n", 1)[0]


def _place(thing: Callable[..., Any]) -> str:
    package, room = thing.__module__.split(".")[:2]
    for name in (package, f"{package}.{room}"):
        if getattr(sys.modules[name], thing.__name__, None) is thing:
            return f"{name}.{thing.__name__}"
    return f"{thing.__module__}.{thing.__name__}"


# ---- what `train` makes ----------------------------------------------------------------------------------------------

ROWS = r"printf '1 1:1 2:1\n-1 2:1 3:1\n1 1:1 3:1\n'"
CLASSES = r"printf '1 1:1 2:1\n2 2:1 3:1\n3 1:1 3:1\n'"
VALUES = {"eta": "0.5", "p": "3", "lam": "0.1", "dimension": "3"}  # of options that some cannot do without

GAMES = {"ogd-sc": "quadratic", "pnorm": "wobble"}  # that show more than the first one that fits

# Those that a loss and options do not suffice to make.
IN_PYTHON = {
    "omd": "from lowregret import Hinge, L2Ball, Euclidean, train, zoo; "
    "run = train(zoo.omd(Hinge(), Euclidean(L2Ball(2.0)), eta=0.5), [[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])",
    "ogd-delay": "from lowregret import Hinge, delayed, zoo; run = delayed(zoo.ogd_delay(Hinge(), 1, 9, 2.0), 2); "
    "numbers, _ = run.ask([[1.0, 0.0], [0.0, 1.0]]); run.tell(numbers[::-1], [-1.0, 1.0])",
    "kernel-perceptron": "from lowregret import train, zoo; from lowregret.learner.kernel_perceptron import Gaussian; "
    "run = train(zoo.kernel_perceptron(Gaussian(1.0)), [[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0])",
}


def _python(words: str) -> tuple[str, ...]:
    """One command, whose words make a `run`."""
    return (f'python -c "{words}; print(run)"',)


def _of_entry(entry: Entry) -> Item:
    commands: tuple[str, ...] = ()
    fits = next((player.fits for player in PLAYERS if player.name == entry.name), None)
    if fits is not None:
        where = GAMES.get(entry.name) or next(name for name in CATALOGUE if fits(game(name)))
        commands = (f"lowregret play {where} {entry.name}",)
    if entry.named:
        options = "".join(f" --{option} {VALUES[option]}" for option in entry.needs)
        rows = CLASSES if entry.classes else ROWS
        commands += (f"{rows} | lowregret train - --format svm --algorithm {entry.name}{options}",)
    else:
        commands += _python(IN_PYTHON[entry.name])
    return Item(entry.name, (entry.make,), entry.purpose, entry.certificates, commands, entry)


# ---- what is played, mixed, drawn or proved --------------------------------------------------------------------------

FORECASTS = r"printf 'y,a,b\n1,0.9,0.2\n0,0.1,0.6\n'"
_COSTS = "import numpy as np; costs = np.random.default_rng(0).random((100, 3)); "
_WORDS = "X, y, by = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [0, 1, 1], [0, 0, 1]; data = sequences(X, y, by=by); "
_STRUCTURED = "from lowregret import train; from lowregret.structured import Chain, sequences, "


def _played(name: str, thing: Any, purpose: str, proved: str, where: str, *more: Any) -> Item:
    return Item(name, (thing, *more), purpose, tuple(proved.split()), (f"lowregret play {where} {name}",))


def _in_python(name: str, thing: Any, purpose: str, proved: str, words: str) -> Item:
    return Item(name, (thing,), purpose, tuple(proved.split()), _python(words))


_FINITE = (
    _played("consistent", Consistent, "any hypothesis that is not refuted yet", "COR-1.1", "needle"),
    _played("halving", Halving, "the majority of the hypotheses that are not refuted yet", "THM-1.2", "bisection"),
    _played("soa", StandardOptimal, "the least mistakes that any learner can promise", "LEM-3.3", "tree"),
    _played("surr-halving", SurrogateHalving, "halving by a convex surrogate; labels may be wrong",
            "SURR-M+ SURR-M", "tree"),
    _played("agnostic", Agnostic, "labels of any kind, at the price of Ldim", "THM-3.6", "noisy-labels"),
    _played(
        "wm", WeightedMajority, "experts or hypotheses drawn by exponential weights",
        "THM-3.1+(1) THM-3.1+(2) THM-1.3 THM-3.1(1) THM-3.1(2) THM-14.15", "noisy-labels", Hedge,
    ),
    _in_python(
        "restarting", Restarting, "finite classes without a number of rounds", "THM-1.3 THM-3.6",
        "from lowregret.finite import Restarting, WeightedMajority, make_hypotheses; "
        "run = Restarting(WeightedMajority, make_hypotheses('thresholds:8')).learn(3, 1).learn(5, 0)",
    ),
    Item(
        "dimension", (dimensions,), "the Littlestone and VC dimension of a finite class, with witnesses", (),
        ("lowregret dimension thresholds:100",),
    ),
)  # fmt: skip

_EXPERTS = (
    _played("hedge", Hedge, "experts with a prior, costs of any range", "THM-14.15 MIX", "coin-flips"),
    _played("adahedge", AdaHedge, "experts without a learning rate", "ADAHEDGE", "coin-flips"),
    _played("ml-poly", MLPoly, "experts without a learning rate, one rate for each", "ML-POLY", "coin-flips"),
    _played("squint", Squint, "experts of whom one is better by far, or costs vary little", "SQUINT", "free-expert"),
    _played("boa", BOA, "experts without a learning rate, by second-order losses", "BOA", "free-expert"),
    _played("fixed-share", FixedShare, "a best expert that changes", "SHARE", "takeover"),
    Item(
        "bayes", (Hedge,), "probabilities mixed by their likelihood: hedge with η = 1 on log losses", ("MIX",),
        (f"{FORECASTS} | lowregret experts - --target y --loss log --algorithm bayes",),
    ),
    Item(
        "layered", (Layered,), "five aggregators, mixed by one more: what `lowregret experts` uses", ("LAYERED",),
        (f"{FORECASTS} | lowregret experts - --target y",),
    ),
    Item(
        "calibrated", (Calibrated,), "exponential weights at the rates of a grid, mixed by one more", ("LAYERED",),
        (f"{FORECASTS} | lowregret experts - --target y --algorithm calibrated",),
    ),
    Item(
        "quantiles", (Quantiles,), "quantiles as one forecast, mixed level by level, without crossings", ("QUANTILES",),
        (f"{FORECASTS} | lowregret experts - --target y --levels 0.1,0.9",),
    ),
    Item(
        "conformal", (ConformalIntervals,), "intervals of certain coverage around any forecasts", ("CONFORMAL",),
        (f"{FORECASTS} | lowregret experts - --target y --coverage 0.9",),
    ),
    _in_python(
        "drawing", Drawing, "one expert drawn each round; what the draws cost is counted", "THM-14.15",
        _COSTS + "from lowregret.experts import Drawing, Hedge; run = Drawing(3, Hedge(0.3)).learn(costs)",
    ),
    _in_python(
        "box-hedge", BoxHedge, "hedge on all points of a box, sampled exactly", "THM-14.15",
        _COSTS + "from lowregret.experts import BoxHedge; run = BoxHedge([-1.0] * 3, [1.0] * 3, 0.3).learn(costs)",
    ),
    _in_python(
        "sampled-hedge", SampledHedge, "hedge on points that a sampler of yours draws; nothing is proved", "NONE",
        "from lowregret.experts import SampledHedge; run = SampledHedge(lambda rng, losses: rng.random()).learn(abs)",
    ),
    _in_python(
        "eg-portfolio", ExponentiatedGradient, "a portfolio by exponentiated gradients, with costs", "THM-14.15",
        "from lowregret.experts import ExponentiatedGradient; "
        "run = ExponentiatedGradient(2, cost=0.001).learn([[1.0, 1.1], [0.9, 1.0]])",
    ),
    _in_python(
        "mixed-portfolio", MixedPortfolio, "a portfolio whose weights any aggregator makes", "ADAHEDGE",
        "from lowregret.experts import AdaHedge, MixedPortfolio; "
        "run = MixedPortfolio(2, AdaHedge()).learn([[1.0, 1.1], [0.9, 1.0]])",
    ),
    _in_python(
        "universal", Universal, "a portfolio as good as the best that is rebalanced", "UNIVERSAL THM-14.15",
        "from lowregret.experts import Universal; run = Universal(2, 9).learn([[1.0, 1.1], [0.9, 1.0]])",
    ),
    _in_python(
        "online-newton", OnlineNewton, "portfolios of many assets, by Newton steps", "ONS",
        "from lowregret.experts import OnlineNewton; run = OnlineNewton(2).learn([[1.0, 1.1], [0.9, 1.0]])",
    ),
)  # fmt: skip

_BANDITS = (
    _played("exp3", Exp3, "arms of which only the chosen one is seen", "EXP3-PATH COR-4.2+ COR-4.2", "bandit-gap"),
    _played("exp3-ix", Exp3IX, "as exp3, with high probability", "EXP3-IX EXP3-PATH EXP3-IX-T", "bandit-gap"),
    _played(
        "tsallis-inf", TsallisInf, "arms, without a horizon; far better where they are random", "TSALLIS-PATH TSALLIS",
        "bandit-gap",
    ),
    _played("ucb1", Ucb1, "a baseline for random arms", "NONE", "bandit-gap"),
    _played("thompson", Thompson, "a baseline for random arms, by drawing from what is believed", "NONE", "bandit-gap"),
    _in_python(
        "exp4", Exp4, "arms by the advice of experts", "EXP4-PATH EXP4",
        _COSTS + "from lowregret.bandit import Exp4; advice = np.full((100, 2, 3), 1 / 3); "
        "run = Exp4(2, 3, 0.1).learn(costs, advice)",
    ),
    _played("bogd", BanditDescent, "points of which only the played one's cost is seen", "COR-4.5 COR-4.5-2",
            "bandit:iid"),
    _played("bogd-outside", BanditDescent, "bogd as the textbook has it: played up to δ outside of any convex set",
            "COR-4.5-OUT COR-4.5-2-OUT", "bandit:iid"),
    _in_python(
        "estimated-descent", EstimatedDescent, "mirror descent on unbiased estimates of gradients", "THM-4.1",
        _COSTS + "from lowregret import Constant, Euclidean, L2Ball, MirrorDescent; "
        "from lowregret.bandit import EstimatedDescent; "
        "run = EstimatedDescent(MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), 3).learn(costs)",
    ),
    _in_python(
        "expert-ranking", ExpertRanking, "an order of items by one of several rankers", "LEM-2.20 EG-RANGE THM-2.22+",
        "from lowregret.bandit import ExpertRanking; run = ExpertRanking(2, 3, 0.5); "
        "run.rank([[0, 1, 2], [2, 1, 0]]); run.learn(0)",
    ),
    _in_python(
        "score-ranking", ScoreRanking, "an order of items by their scores, learnt from clicks", "LAZY+ LEM-2.20",
        "from lowregret import Constant, Euclidean, L2Ball, MirrorDescent; from lowregret.bandit import ScoreRanking; "
        "run = ScoreRanking(MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), 2); "
        "run.rank([[1.0, 0.0], [0.0, 1.0]]); run.learn(1)",
    ),
)  # fmt: skip

_OTHERS = (
    _played(
        "ftl", FollowTheLeader, "what was best so far; fine where losses are curved",
        "FTL-QUAD-ID LEM-2.1 COR-2.2+ COR-2.2 FTRL-ID", "ftl-breaker",
    ),
    _played(
        "ftrl", FollowTheRegularisedLeader, "what was best so far, and not too far out",
        "THM-2.11+ THM-2.11 LEM-2.3 FTRL-ID", "ftl-breaker",
    ),
    _in_python(
        "structured-perceptron", structured_perceptron, "sequences, trees and classes, no parameter at all",
        "MC-OBS PERC-ROOT THM-14.2 EQ-2.15",
        _STRUCTURED + "structured_perceptron; " + _WORDS + "run = train(structured_perceptron(Chain(2)), data)",
    ),
    _in_python(
        "structured-svm", structured_svm, "sequences, trees and classes with margins", "LAZY-DEC EQ-2.15",
        _STRUCTURED + "structured_svm; " + _WORDS + "run = train(structured_svm(Chain(2)), data)",
    ),
    _in_python(
        "click-ranking", click_ranking, "lists of items, ranked from clicks", "LAZY-DEC EQ-2.15",
        "from lowregret import train; from lowregret.structured import choices, click_ranking; "
        "run = train(click_ranking(), choices([([[1.0, 0.0], [0.0, 1.0]], 0)]))",
    ),
    Item(
        "doubling", (doubling,), "rates tuned for an unknown number of rounds: restarts", ("Σ THM-14.5", "DOUBLING"),
        ("lowregret play turn doubling",),
    ),
    Item(
        "delayed", (delayed,), "answers that come late, in any order", ("DELAY",),
        ("lowregret play late:turn ogd-eager",),
    ),
    Item(
        "online-to-batch", (RiskCertificate, Average, WeightedAverage, Random),
        "what one pass says of rows yet to come, for averaged or drawn models",
        ("O2B-EB", "O2B-HP", "O2B-SMALL", "THM-5.1", "COR-5.2"),
        _python(
            "import numpy as np; from lowregret import Average, Hinge, train, zoo; "
            "x = np.random.default_rng(0).normal(size=(2000, 5)); y = np.sign(x[:, 0]); "
            "run = train(zoo.ogd(Hinge(), output=Average()), x, y)"
        ),
    ),
)  # fmt: skip

BESIDE = (*_FINITE, *_EXPERTS, *_BANDITS, *_OTHERS)


def whole() -> dict[str, Item]:
    """Every name: first those that `train` knows, then those beside it."""
    entries = {entry.name: entry for entry in ZOO} | ALGORITHMS
    return {item.name: item for item in (*map(_of_entry, entries.values()), *BESIDE)}
