"""Certificates of runs on rows under attack: python -m benchmarks.fuzz_certificates --runs 2000

Learners of randomly chosen parts and options learn rows that are chosen to be nasty, some of them against the weights
of the moment. The regret is then computed from the scores that were announced, in exact arithmetic, against corners
and random points of the set of comparators: wherever premises hold, it must not exceed what the certificate proves.
Figures and the regret against a fixed u must be those of a slow loop, and the same rows in batches, sparse, through a
file, with rows in between that are refused, must leave the same bits. Parts run interpreted, so that every run may have
parts of its own; a few learners with other numbers in each run are compiled, and must do the same as interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparators import points_of
from benchmarks.exact import Exact, inner, multi_loss_at
from benchmarks.fuzzing import Attack, main, require
from benchmarks.nasty import Draw, size, some_eager, some_lazy, some_learner, some_row, some_set
from benchmarks.row_kinds import (
    fuzz_cancelling,
    fuzz_kernel_mistakes,
    fuzz_mistakes,
    fuzz_shared,
    fuzz_units,
    fuzz_workers,
)
from benchmarks.row_runs import (
    Rows,
    check_bits,
    check_certificates,
    check_figures,
    check_regret,
    exact_regret,
    full_row,
    learn_one_by_one,
)
from lowregret import train, zoo
from lowregret.errors import LowRegretError
from lowregret.learner.kernel_perceptron import Polynomial
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import (
    Absolute,
    Affine,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    MultiHinge,
    OnMistakes,
    PerceptronLoss,
    Softmax,
    Square,
)
from lowregret.output import Average
from lowregret.rule import AdaGrad, FreeGrad, FTRLProximal
from lowregret.run import doubling
from lowregret.run.begin import begin
from lowregret.step import Constant

# ---- one run of each kind -------------------------------------------------------------------------------------------


def fuzz_linear(r: Draw, folder: Path, told: list[Any]) -> int:
    """A learner of one score: at once, late, in blocks, or with further columns."""
    features, bias, kind = (
        r.randint(1, 4),
        r.choice([0.0, 0.0, 1.0, size(r)]),
        r.choice(["plain"] * 3 + ["late", "blocks"]),
    )
    learner = some_learner(r, features, bias)
    how: dict[str, Any] = {"compiled": False}
    if kind == "late" and not learner.ridge:
        how["delay"] = r.randint(0, 4)
    if r.random() < 0.2:
        how["comparator"] = some_set(r, features + (bias > 0))
    if r.random() < 0.15 and kind == "plain":
        how["certify"] = False

    def begun() -> Any:
        if kind == "blocks" and isinstance(getattr(learner.rule, "step", None), Constant):
            return doubling(learner, features, how.get("comparator"), compiled=False)
        return begin(learner, features, **how)

    run = begun()
    told += [learner, how, kind]
    gaps = r.random() < 0.2
    rows = learn_one_by_one(r, run, learner, features, r.choice([1, 3, 10, 40]), "delay" in how, gaps)
    told.append(rows)
    claims = 0
    if "delay" not in how:
        check_figures(run, learner, rows, kind == "blocks")
        if not gaps:  # the sums of a row are made in other portions
            check_bits(r, run, begun(), rows, features, folder)
        if kind == "plain":
            check_regret(r, begin(learner, features, **how), learner, rows)
    points = points_of(r, run.comparator, run.state.dimension, None if "certify" in how else run.state.theta)
    answered = len(rows.y) - getattr(run, "pending", 0)
    if not (isinstance(learner.loss, OnMistakes) and "delay" in how):
        claims = check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, answered), points)
    return claims


COMPILED: list[Callable[[float], Linear]] = [
    lambda eta: zoo.ogd(Hinge(), eta, Average()),
    lambda eta: zoo.ogd_eager(Logistic(), eta, 0.5),
    lambda eta: zoo.adagrad(Square(), eta),
    lambda eta: zoo.pnorm(Absolute(), eta, 3.0, Average()),
    lambda eta: zoo.eg(Affine(Hinge(), eta, 1 / eta), 0.1, 2.0),
    lambda eta: zoo.ogd_lazy(EpsilonInsensitive(eta), 0.1, 1.0),
]


def fuzz_compiled(r: Draw, folder: Path, told: list[Any]) -> int:
    """One of a few learners, compiled, with numbers of its own: it does the same as interpreted."""
    features, learner = r.randint(1, 9), r.choice(COMPILED)(size(r))
    run, again = begin(learner, features, compiled=False), begin(learner, features)
    told.append(learner)
    rows = learn_one_by_one(r, run, learner, features, r.choice([1, 5, 30]), False, False)
    told.append(rows)
    check_figures(run, learner, rows, False)
    check_bits(r, run, again, rows, features, folder)
    points = points_of(r, run.comparator, run.state.dimension, run.state.theta)
    return check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, len(rows.y)), points)


def fuzz_classes(r: Draw, folder: Path, told: list[Any]) -> int:
    """A learner of three classes that are named beforehand."""
    features, names, bias = r.randint(1, 3), ["a", "b", "c"], r.choice([0.0, 1.0])
    d = (features + (bias > 0)) * len(names)
    rule = r.choice([some_eager(r, d), some_lazy(r, d), AdaGrad(size(r)), FreeGrad(size(r)), FTRLProximal(size(r))])
    learner = Multiclass(r.choice([PerceptronLoss(), MultiHinge(), Softmax()]), rule, bias=bias)
    how: dict[str, Any] = {"compiled": False} | ({"delay": r.randint(0, 3)} if r.random() < 0.3 else {})
    run, again = begin(learner, features, names, **how), begin(learner, features, names, **how)
    told += [learner, how]
    scale = r.choice([size(r), size(r), 10 ** r.uniform(15, 19)])
    x, y, weights, scores = list[Any](), list[str](), list[float](), list[Any]()
    for _ in range(r.choice([1, 5, 25])):
        row, label, weight = some_row(r, x, run.point.ravel(), scale, features), r.choice(names), r.choice([1.0, 2.0])
        run.keep_scores = True
        with suppress(LowRegretError):
            run.learn([row], [label], [weight])
            x, y, weights, scores = [*x, row], [*y, label], [*weights, weight], [*scores, run.scores[0].tolist()]
    told += [x, y, weights]
    again.learn(np.array(x).reshape(-1, features), y, weights)
    require(repr(run.certificates) == repr(again.certificates), "certificates depend on the batches")

    def regret(u: Exact) -> Fraction:
        total = Fraction(0)
        for i in range(len(y) - run.pending):
            full = [Fraction(v) for v in full_row(learner, x[i])]
            theirs = [inner(full, u[k :: len(names)]) for k in range(len(names))]
            mine, own = [Fraction(v) for v in scores[i]], names.index(y[i])
            gap = multi_loss_at(learner.loss, mine, own, mine) - multi_loss_at(learner.loss, theirs, own, mine)
            total += Fraction(weights[i]) * gap
        return total

    return check_certificates(run.certificates, regret, points_of(r, run.comparator, d, run.books.theta))


def fuzz_kernel(r: Draw, folder: Path, told: list[Any]) -> int:
    """The Perceptron in kernel form, with the kernel ⟨a, b⟩, whose comparators are vectors."""
    features, run = r.randint(1, 3), None
    rows, scale = Rows(), r.choice([1.0, size(r)])
    for _ in range(r.choice([1, 4, 30])):
        rows.x.append(some_row(r, rows.x, [r.gauss(0, 1)] * features, scale, features))
        if r.random() < 0.3:
            rows.x[-1][0] += scale * 10 ** r.uniform(-12, -3)
        rows.y.append(r.choice([-1.0, 1.0]))
    told.append(rows)
    run = train(zoo.kernel_perceptron(Polynomial(1, 0.0)), rows.x, rows.y, compiled=False)
    rows.scores, rows.weights = run.scores.tolist(), [1.0] * len(rows.y)
    wrong = [i for i, p in enumerate(rows.scores) if rows.y[i] * p <= 0]
    theta = sum((rows.y[i] * np.array(rows.x[i]) for i in wrong), np.zeros(features))
    require(run.mistakes == len(wrong), f"{run.mistakes} mistakes, not {len(wrong)}")
    points = points_of(r, run.comparator, features, theta)
    return check_certificates(run.certificates, lambda u: exact_regret(zoo.perceptron(), rows, u, len(rows.y)), points)


FURTHER: list[Attack] = [fuzz_mistakes, fuzz_kernel_mistakes, fuzz_shared, fuzz_workers, fuzz_cancelling, fuzz_units]
INTERPRETED: list[Attack] = [*[fuzz_linear] * 6, fuzz_classes, fuzz_kernel, *FURTHER]

if __name__ == "__main__":
    main(__doc__, [*INTERPRETED, fuzz_compiled], 2000)
