"""How the stored files were made, and how each goes on: interpreted, on numbers that no generator can change."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowregret import zoo
from lowregret.auto import AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.bandit import Bandit, Exp3, Exp3IX, Exp4, Thompson, TsallisInf, Ucb1
from lowregret.certificate import Certificate
from lowregret.cli import main
from lowregret.compile.part import Part
from lowregret.convex.functions import QuadraticFunction
from lowregret.convex.leader import FollowTheLeader
from lowregret.domain import Box, L2Ball, Reals
from lowregret.experts import AdaHedge, Calibrated, ExpertMixture, Layered, LongTable, SeriesMixture
from lowregret.features import Partitions, Products
from lowregret.learner.delayed import Delayed
from lowregret.learner.doubling import Doubling
from lowregret.learner.kernel_perceptron import Gaussian, KernelPerceptron
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Logistic, Softmax, Square
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.output import Average, Random
from lowregret.play import play
from lowregret.rule import AdaGrad, FreeGrad, MirrorDescent, Newton, ProjectedGradient
from lowregret.run.averaged import AveragedRun
from lowregret.run.begin import begin
from lowregret.run.delayed import delayed
from lowregret.run.doubling import doubling
from lowregret.run.lags import Lags
from lowregret.spread.averaging import merge
from lowregret.spread.figures import add_tallies
from lowregret.step import Constant
from lowregret.structured import Chain, choices, click_ranking, sequences, structured_svm
from lowregret.train import train
from tests.models.other_examples import OTHER_EXAMPLES
from tests.spread.team import spread

PLAIN: dict[str, Any] = {"compiled": False}
X = np.round(np.sin(np.arange(180.0) ** 2).reshape(60, 3), 6)
Y = np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)
Z = np.round(X @ [1.0, -2.0, 0.5], 6)
NAMES = np.where(X[:, 1] > 0.5, "cat", np.where(Y > 0, "dog", "mouse"))
COSTS = np.abs(X)
FOREST = Partitions(trees=2, cells=24)
NEAR = np.array([0.75, -1.5, 0.25])
HALF = 40  # rows that a file has seen
LONG = np.round(np.sin(np.arange(840.0) ** 2).reshape(280, 3), 1)
FEW = Partitions(trees=1, cells=6)


class Example(NamedTuple):
    """How a file is written, and how what is in it goes on; that returns numbers that depend on all of it."""

    write: Callable[[Path], None]
    more: Callable[[Any], Any]


class Signs(Part):
    """Structures are tuples of signs, ψ = Σ_i y_i x_i in the block of place i: a space in plain Python."""

    compilable: ClassVar[bool] = False
    places: int

    @property
    def dimension(self) -> int:
        return self.places * 3

    def argmax(self, w: Any, x: Any, y: Any = None) -> Any:
        scores = np.sum(w.reshape(self.places, 3) * x, axis=1)
        costs = np.zeros(self.places) if y is None else -0.5 * np.array(y)
        return tuple(np.where(scores + costs >= 0, 1, -1).tolist())

    def psi(self, x: Any, y: Any) -> Any:
        return (np.array(y)[:, None] * x).ravel()

    def cost(self, y: Any, other: Any) -> float:
        return float(sum(a != b for a, b in zip(y, other, strict=True)))


def saved(make: Callable[[], Any]) -> Callable[[Path], None]:
    """Write what is made."""

    def write(path: Path) -> None:
        make().save(path)

    return write


def rows(run: Any, y: Any) -> Any:
    """Go on with rows; scores of all."""
    return run.learn(X[HALF:], y[HALF:]).decision_function(X)


def of_rows(learner: Any, y: Any, more: Any = None, **options: Any) -> Example:
    """A run on rows, whose features are known."""
    return Example(saved(lambda: train(learner, X[:HALF], y[:HALF], **PLAIN, **options)), lambda run: rows(run, y))


def expanded(learner: Any, y: Any, expand: Any, features: int | None = 3) -> Example:
    """A run whose rows get further columns, after so many rows that partitions have settled."""
    x, labels = np.tile(X, (18, 1)), np.tile(y, 18)
    return Example(
        saved(lambda: begin(learner, features, expand=expand, **PLAIN).learn(x, labels)), lambda run: rows(run, y)
    )


def partitioned(learner: Any, label: Callable[[Any], Any]) -> Example:
    """A run that random partitions have joined."""
    y = label(LONG[:, 0] * LONG[:, 1])
    return Example(
        saved(lambda: train(learner, LONG[:260], y[:260], certify=False, **PLAIN)),
        lambda run: run.learn(LONG[260:], y[260:]).decision_function(X),
    )


def growing(learner: Any, y: Any, **options: Any) -> Example:
    """A run that does not know its features."""
    return Example(
        saved(lambda: begin(learner, None, **PLAIN, **options).learn(X[:HALF], y[:HALF])), lambda run: rows(run, y)
    )


def spread_run() -> Any:
    """A run of two workers, whose batches were stale."""
    learner = Linear(Logistic(), AdaGrad(0.5), bias=1.0)
    return spread(learner, X[:HALF], Y[:HALF], 7, 2, 2, [0, 1] * 4).run()


def averaged_run() -> Any:
    """A run of two workers, averaged."""
    base = AveragedRun.begun(zoo.auto(features="raw"), 1024, seen=0, **PLAIN)
    runs = [copy.deepcopy(base).learn(X[:20], Y[:20]), copy.deepcopy(base).learn(X[20:HALF], Y[20:HALF])]
    merged = merge(base, runs)
    merged.tally = add_tallies(runs[0].tally, runs[1].tally)
    return merged


def late() -> Example:
    def make() -> Any:
        run = delayed(zoo.ogd_eager(Hinge(), 0.1), None, **PLAIN).learn(X[:HALF], Y[:HALF], delay=4)
        run.ask(X[:2])
        return run

    def more(run: Any) -> Any:
        for round_ in [number for number in run.waiting.tolist() if number > HALF]:
            run.tell(round_, 1.0)
        return run.learn(X[HALF:], Y[HALF:], delay=2).deliver().decision_function(X)

    return Example(saved(make), more)


def waiting(learner: Any, y: Any, features: int | None = 3, n: int = HALF, timed: bool = False) -> Example:
    """A run on rows whose labels come late, each after a lag of its own, with rows that wait."""
    x, labels = np.tile(X, (6, 1)), np.tile(y, 6)
    count = np.arange(len(x))
    lags, times = 3 * count % 7, (10 * count).astype(np.float64)

    def learn(run: Any, rows: slice) -> Any:
        delay = Lags(4.0 * lags[rows], times[rows]) if timed else lags[rows]
        return run.learn(x[rows], labels[rows], delay=delay)

    return Example(
        saved(lambda: learn(begin(learner, features, delay=2, **PLAIN), slice(n))),
        lambda run: learn(run, slice(n, n + HALF)).deliver().decision_function(X),
    )


def game(player: Any, functions: Any = X) -> Example:
    return Example(
        saved(lambda: play(player, functions[:13], dimension=3, **PLAIN)),
        lambda one: play(one, functions[13:20]).points,
    )


def bandit(algorithm: Any) -> Example:
    def make() -> Any:
        made = Bandit(3, algorithm, **PLAIN)
        made.learn(COSTS[:HALF])
        made.choose()
        made.choose()
        return made

    def more(one: Any) -> Any:
        for number in one.pending:
            one.reward(number, cost=0.25)
        one.learn(COSTS[HALF:])
        return [*one.policy, one.loss, *one.estimates]

    return Example(saved(make), more)


def exp4() -> Example:
    advice = np.tile(np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]]), (60, 1, 1))

    def make() -> Any:
        made = Exp4(2, 3, 0.1, **PLAIN)
        made.learn(COSTS[:HALF], advice[:HALF])
        made.choose(advice[0])
        return made

    def more(one: Any) -> Any:
        for number in list(one.choices.pending):
            one.reward(number, cost=0.25)
        return [*one.learn(COSTS[HALF:], advice[HALF:]).played.costs, *one.weights]

    return Example(saved(make), more)


def experts(panel: Callable[[], Any]) -> Example:
    def make() -> Any:
        made = panel()
        made.learn(X[:HALF], Z[:HALF])
        made.ask(X[0])
        return made

    def more(one: Any) -> Any:
        for number in list(one.pending):
            one.tell(number, 0.5)
        one.learn(X[HALF:], Z[HALF:])
        return [*one.weights, one.certificate.bound]

    return Example(saved(make), more)


def of_series() -> Example:
    def table(part: slice) -> LongTable:
        t = np.arange(60.0)[part]
        names, origin = np.array([f"s{k:g}" for k in t % 4]), np.asarray(t // 4, np.float64)
        return LongTable(["a", "b", "c"], X[part], Z[part], names, origin + 3, origin, None, False)

    def more(one: Any) -> Any:
        one.learn(table(slice(HALF, 60))).deliver()
        return [*one.weights.ravel(), *one.forecasts, one.certificate.bound]

    return Example(saved(lambda: SeriesMixture(["a", "b", "c"], **PLAIN).learn(table(slice(0, HALF)))), more)


def structured() -> Iterator[tuple[str, Example]]:
    labels = (X[:, 0] > 0).astype(int)
    first = sequences(X[:HALF], labels[:HALF], lengths=[4] * 10)
    later = sequences(X[HALF:], labels[HALF:], lengths=[4] * 5)
    chain = structured_svm(Chain(2))
    yield "structured-run", Example(saved(lambda: train(chain, first, **PLAIN)), lambda run: run.learn(later).weights)
    pairs = [(X[3 * t : 3 * t + 3], tuple(np.where(X[3 * t : 3 * t + 3, 0] > 0, 1, -1).tolist())) for t in range(20)]
    signs = structured_svm(Signs(3))
    own = Example(saved(lambda: train(signs, pairs[:12], **PLAIN)), lambda run: run.learn(pairs[12:]).weights)
    yield "own-structured-run", own
    lists = [
        choices(part, [int(np.argmax(part[k : k + 4, 2])) for k in range(0, len(part), 4)], lengths=[4] * n)
        for part, n in ((X[:HALF], 10), (X[HALF:], 5))
    ]
    ranking = Example(saved(lambda: train(click_ranking(), lists[0], **PLAIN)), lambda run: run.learn(lists[1]).weights)
    yield "ranking-run", ranking


def scored(thing: Any) -> Any:
    """The scores of all rows, by what cannot go on."""
    return thing.decision_function(X)


def predictor(learner: Any, y: Any, features: int | None = None) -> Example:
    """What a run leaves for prediction alone, after so many rows that `auto` has taken means of its lanes."""
    x, labels = np.tile(X[:HALF], (4, 1)), np.tile(y[:HALF], 4)
    return Example(saved(lambda: begin(learner, features, **PLAIN).learn(x, labels).predictor()), scored)


def session(*words: str, y: Any = Y) -> Example:
    """What the command line writes, with names of columns, figures and rows held out."""

    def write(path: Path) -> None:
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            table, weights, here = Path(folder, "rows.csv"), Path(folder, "weights"), os.getcwd()
            lines = [",".join(map(str, (label, *x))) for label, x in zip(y[:HALF], X, strict=False)]
            table.write_text("\n".join(["y,a,b,c", *lines, ""]))
            target = path.resolve()
            os.chdir(folder)  # so that no folder of this machine is in the file
            try:
                given = ("--target", "y", "-o", str(target), "--weights", weights.name, "--holdout", "5")
                assert main(["train", "rows.csv", *given, *words]) == 0
            finally:
                os.chdir(here)

    return Example(write, lambda run: rows(run, y))


def numbers(*values: Any) -> list[float]:
    """All numbers in one list."""
    return [float(value) for part in values for value in np.asarray(part, float).ravel()]


EXAMPLES: dict[str, Example] = {
    "run": of_rows(zoo.ogd_eager(Hinge(), 0.1), Y),
    "run-average": growing(Linear(Logistic(), MirrorDescent(PNorm(3.0), Constant(0.1)), Average(), bias=1.0), Y),
    "run-random": of_rows(Linear(Square(), ProjectedGradient(L2Ball(2.0), Constant(0.1)), Random(3)), Z),
    "run-box": of_rows(Linear(Hinge(), AdaGrad(0.5, Box(-np.ones(3), np.ones(3)))), Y),
    "run-newton": of_rows(Linear(Logistic(), Newton()), Y),
    "run-freegrad": growing(Linear(Logistic(), FreeGrad(), bias=1.0), Y),
    "run-entropy": of_rows(Linear(Square(), MirrorDescent(Entropy(), Constant(0.1))), Z),
    "run-started": of_rows(Linear(Hinge(), ProjectedGradient(L2Ball(2.0), Constant(0.1), start=NEAR)), Y),
    "run-centred": of_rows(Linear(Square(), ProjectedGradient(Reals(), Constant(0.1)), ridge=0.25, centre=NEAR), Z),
    "run-session": session("--algorithm", "ogd"),
    "run-partitions": expanded(Linear(Logistic(), AdaGrad(0.5), Average()), Y, FOREST),
    "run-partitions-waiting": of_rows(Linear(Square(), AdaGrad(0.5), bias=1.0), Z, expand=FOREST),
    "run-products": of_rows(zoo.ogd_eager(Hinge(), 0.1), Y, expand=Products()),
    "block-run": of_rows(zoo.ogd(Hinge()), Y, learners=2, block=16),
    "block-run-measured": of_rows(zoo.ogd(Hinge()), Y, learners=2),
    "free-run": of_rows(zoo.ogd(Hinge()), Y, learners=2, block="free"),
    "block-run-growing": growing(Linear(Logistic(), AdaGrad(0.5), bias=1.0), Y, learners=2, block=7),
    "spread-run": Example(saved(spread_run), lambda run: rows(run, Y)),
    "averaged-run": Example(saved(averaged_run), lambda run: rows(run, Y)),
    "delayed-run": late(),
    "run-waiting": waiting(Linear(Logistic(), AdaGrad(0.5), bias=1.0), Y, None, timed=True),
    "class-run-waiting": waiting(zoo.mc_perceptron(), NAMES),
    "auto-run-waiting": waiting(AutoClassifier(partitions=FEW), Y, n=262),
    "auto-run-regression-waiting": waiting(AutoRegressor(), Z),
    "auto-class-run-waiting": waiting(AutoMulticlass(), NAMES),
    "doubling-run": Example(
        saved(lambda: doubling(zoo.ogd_eager(Hinge(), eta=1.0), **PLAIN).learn(X[:HALF], Y[:HALF])),
        lambda run: rows(run, Y),
    ),
    "class-run": of_rows(Multiclass(Softmax(), MirrorDescent(Euclidean(), Constant(0.1)), Average()), NAMES),
    "class-run-eights": growing(Multiclass(Softmax(), AdaGrad(0.5), bias=1.0), NAMES),
    "class-run-partitions": expanded(Multiclass(Softmax(), AdaGrad(0.5), bias=1.0), NAMES, FOREST, None),
    "class-run-session": session("--algorithm", "adagrad", "--loss", "softmax", y=NAMES),
    "auto-run": of_rows(AutoClassifier(), Y),
    "auto-run-regression": Example(
        saved(lambda: train(AutoRegressor(), X[:HALF], Z[:HALF], **PLAIN)), lambda run: rows(run, Z)
    ),
    "auto-run-session": session(),
    "auto-class-run": of_rows(AutoMulticlass(), NAMES),
    "auto-run-partitions": partitioned(AutoClassifier(partitions=FEW), lambda z: np.where(z > 0, 1.0, -1.0)),
    "auto-class-run-partitions": partitioned(AutoMulticlass(partitions=FEW), lambda z: np.where(z > 0.3, "cat", "dog")),
    "predictor-partitions": Example(
        saved(lambda: train(AutoRegressor(partitions=FEW), LONG, LONG.sum(axis=1), **PLAIN).predictor()), scored
    ),
    "predictor": predictor(Linear(Logistic(), AdaGrad(0.5), bias=1.0), Y),
    "predictor-average": predictor(Linear(Square(), ProjectedGradient(L2Ball(2.0), Constant(0.1)), Average()), Z, 3),
    "predictor-classes": predictor(Multiclass(Softmax(), AdaGrad(0.5), bias=1.0), NAMES),
    "predictor-expanded": Example(
        saved(
            lambda: train(
                zoo.adagrad(Logistic()), np.tile(X, (18, 1)), np.tile(Y, 18), expand=FOREST, **PLAIN
            ).predictor()
        ),
        scored,
    ),
    "predictor-auto": predictor(AutoClassifier(), Y, 3),
    "predictor-auto-regression": predictor(AutoRegressor(), Z),
    "predictor-auto-classes": predictor(AutoMulticlass(), NAMES),
    "predictor-session": session("--predict-only")._replace(more=scored),
    "kernel-run": of_rows(KernelPerceptron(Gaussian(0.5)), Y),
    "kernel-run-history": of_rows(KernelPerceptron(Gaussian(0.5)), Y),
    "game": game(MirrorDescent(Euclidean(L2Ball()), Constant(0.1))),
    "game-delayed": game(Delayed(ProjectedGradient(L2Ball(), Constant(0.1)), 3)),
    "game-doubling": game(Doubling(ProjectedGradient(L2Ball(), Constant(0.1)))),
    "game-leader": game(FollowTheLeader(L2Ball()), [QuadraticFunction(x, 1.0) for x in X]),
    "bandit": bandit(Exp3(0.1)),
    "bandit-centred": bandit(Exp3(0.1)),
    "bandit-tsallis-centred": bandit(TsallisInf()),
    "bandit-ix": bandit(Exp3IX(0.1, 0.05)),
    "bandit-tsallis": bandit(TsallisInf()),
    "bandit-thompson": bandit(Thompson()),
    "bandit-ucb1": bandit(Ucb1()),
    "exp4": exp4(),
    "experts": experts(lambda: ExpertMixture(3, AdaHedge(), **PLAIN)),
    "layered-experts": experts(lambda: Layered(3, **PLAIN)),
    "calibrated-experts": experts(lambda: Calibrated(3, **PLAIN)),
    "series-experts": of_series(),
    **dict(structured()),
    **{name: Example(*made) for name, made in OTHER_EXAMPLES.items()},
}


def figures(thing: Any) -> dict[str, Any]:
    """What must be found in a file: rounds, loss, and the bound of the certificate, as far as there are such."""
    found: dict[str, Any] = {"rounds": thing.rounds} | ({"loss": thing.loss} if hasattr(thing, "loss") else {})
    certificates = getattr(thing, "certificates", None) or [getattr(thing, "certificate", None)]
    bounds = [c.bound for c in certificates if isinstance(c, Certificate)]
    return found | {"bounds": [bound for bound in bounds if math.isfinite(bound)]}
