"""Certificates of runs on rows under attack: python -m benchmarks.fuzz_certificates --runs 2000

Learners of randomly chosen parts and options learn rows that are chosen to be nasty, some of them against the weights
of the moment. The regret is then computed from the scores that were announced, in exact arithmetic, against corners
and random points of the set of comparators: wherever premises hold, it must not exceed what the certificate proves.
Figures and the regret against a fixed u must be those of a slow loop, and the same rows in batches, sparse, through a
file, with rows in between that are refused, must leave the same bits. Parts run interpreted, so that every run may have
parts of its own; a few learners with other numbers in each run are compiled, and must do the same as interpreted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.comparators import points_of
from benchmarks.exact import DIGITS, Exact, inner, loss_at, multi_loss_at
from benchmarks.fuzzing import Attack, Falsehood, main, require
from benchmarks.nasty import Draw, size, some_eager, some_label, some_lazy, some_learner, some_row, some_set
from lowregret import load, train, zoo
from lowregret.certificate import Certificate
from lowregret.errors import DivergedError, LowRegretError
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

# ---- rows -----------------------------------------------------------------------------------------------------------


@dataclass
class Rows:
    """Rows, labels and weights that were learnt, the scores announced, and the iterates of the rule."""

    x: list[list[float]] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    iterates: list[Any] = field(default_factory=list)


def learn_one_by_one(r: Draw, run: Any, learner: Linear, features: int, count: int, late: bool, gaps: bool) -> Rows:
    """Learn rows, each chosen when the weights are known, with `gaps` without zeros; those refused are left out."""
    rows, scale = Rows(), r.choice([1.0, size(r), size(r), 10 ** r.uniform(-175, 60)])
    for _ in range(count):
        w = np.zeros(run.state.dimension)
        run.learner.rule.point(run.state, w)
        x = some_row(r, rows.x, run.point, scale, features)
        label = some_label(r, learner.loss, float(run.decision_function([x])[0]), scale)
        weight = 1.0 if late else r.choice([1.0, 1.0, 1.0, 0.0, 0.5, 3.0, 1e-20, 1e12])
        refused: Any = () if late else LowRegretError  # a late answer may be that of another row
        with suppress(refused), np.errstate(all="ignore"):
            run.learn(sparse.csr_array([x]) if gaps else [x], [label], [weight])
            rows.x.append(x)
            rows.y.append(label)
            rows.weights.append(weight)
            rows.scores.append(float(run.scores[0]))
            rows.iterates.append(w)
        if not np.isfinite(run.state.sums).all():  # the weights overflowed, which ends a run
            raise DivergedError("no more to be learnt")
    return rows


# ---- what must be so ------------------------------------------------------------------------------------------------


def exact_regret(learner: Linear, rows: Rows, u: Exact, answered: int) -> Fraction:
    """Σ c_t(f_t(w_t) − f_t(u)) by the scores that were announced, a mean where the c_t are not 1."""
    centre = [Fraction(float(v)) for v in learner.centre.w] if learner.centred() else [Fraction(0)] * len(u)
    fixed, total, importance = [a + b for a, b in zip(u, centre, strict=True)], Fraction(0), Fraction(0)
    weighted, length = learner.rule.schedule().weighted(), inner(u, u)
    played = [i for i in range(answered) if rows.weights[i] != 0]
    for t, i in enumerate(played, 1):
        p, y, c = Fraction(rows.scores[i]), Fraction(rows.y[i]), Fraction(t + 1 if weighted else 1)
        theirs = inner([Fraction(v) for v in _full(learner, rows.x[i])], fixed)
        gap = Fraction(rows.weights[i]) * (loss_at(learner.loss, p, y, p) - loss_at(learner.loss, theirs, y, p))
        if learner.ridge:
            w = [Fraction(float(v)) for v in rows.iterates[i]]
            gap += Fraction(learner.ridge) / 2 * (inner(w, w) - length)
        total, importance = total + c * gap, importance + c
    return total / max(importance, Fraction(1)) if weighted else total


def _full(learner: Any, x: list[float]) -> list[float]:
    return [*x, learner.bias] if learner.bias > 0 else x


def check_certificates(found: list[Certificate], regret: Callable[[Exact], Fraction], points: list[Exact]) -> int:
    """Compare what is proved with the exact regret against these comparators; returns how many claims were made."""
    worst = max((regret(u) for u in points), default=None)
    claims = 0
    for c in found:
        require(not c.premises_hold or c.holds or math.isnan(c.bound), f"premises hold, and {c} does not")
        if c.holds and worst is not None and math.isfinite(c.proved):
            claims += 1
            if worst > Fraction(c.proved):
                raise Falsehood(f"the exact regret {float(worst)!r} is above {c.proved!r}: {c}")
    return claims


def check_figures(run: Any, learner: Linear, rows: Rows, blocks: bool) -> None:
    """Compare loss, weight and mistakes with those of a slow loop."""
    loss = weight = wrong = 0.0
    mistakes = 0
    for p, y, c in zip(rows.scores, rows.y, rows.weights, strict=True):
        if c != 0:
            loss, weight = loss + c * learner.loss.at(p, y)[0], weight + c
            mistakes, wrong = mistakes + learner.loss.wrong(p, y), wrong + c * learner.loss.wrong(p, y)
    require(run.rounds == sum(c != 0 for c in rows.weights), f"{run.rounds} rounds")
    same = math.isclose(run.loss, loss, rel_tol=1e-12) if blocks else run.loss == loss
    require(same, f"the loss is {run.loss!r}, by a slow loop {loss!r}")
    require(math.isclose(run.weight, weight, rel_tol=1e-12), f"the weight is {run.weight!r}, not {weight!r}")
    if learner.loss.classifies:
        require(run.mistakes == mistakes, f"{run.mistakes} mistakes, not {mistakes}")
        require(math.isclose(run.wrong, wrong, rel_tol=1e-12), f"mistakes weigh {run.wrong!r}, not {wrong!r}")


def check_regret(r: Draw, run: Any, learner: Linear, rows: Rows) -> None:
    """Compare the regret against a fixed u with exact arithmetic, but for rounding."""
    if not rows.y:
        return
    run.learn(np.array(rows.x), rows.y, rows.weights)
    u = [r.gauss(0, 1) * r.choice([0.0, 1.0, size(r)]) for _ in range(run.state.dimension)]
    centre = learner.centre.w if learner.centred() else np.zeros(len(u))
    with suppress(LowRegretError):  # losses of u may be no numbers
        told = run.regret(np.array(u) + centre, np.array(rows.x), rows.y, rows.weights)
        if not math.isfinite(told):
            return
        rows = replace(rows, scores=run.scores.tolist())
        fixed = [Fraction(float(a + b)) - Fraction(float(b)) for a, b in zip(u, centre, strict=True)]
        true = exact_regret(learner, rows, fixed, len(rows.y))
        slack = 1e-9 * (abs(run.loss) + abs(run.loss - told)) + 10.0 ** (10 - DIGITS)
        require(abs(Fraction(told) - true) <= Fraction(slack), f"regret({u}) is {told!r}, by more than {slack} not so")


def check_bits(r: Draw, run: Any, again: Any, rows: Rows, features: int, folder: Path) -> None:
    """Learn the same rows in batches, sparse and through files, with refused ones in between: all bits are the same."""
    at, thin = 0, r.random() < 0.5
    while at < len(rows.y):
        end = min(len(rows.y), at + r.choice([1, 2, 5, 20]))
        x = np.array(rows.x[at:end]).reshape(-1, features)
        again.learn(_sparse(x) if thin else x, rows.y[at:end], rows.weights[at:end])
        require(again.scores.tolist() == rows.scores[at:end], f"rows {at} to {end} in one batch have other scores")
        if r.random() < 0.3:
            with suppress(LowRegretError):
                again.learn([[math.nan] * features], [1.0], [1.0])
        if r.random() < 0.3:
            again.save(folder / "run")
            again = load(folder / "run")
        at = end
    for name, one, other in zip(run.state._fields, run.state, again.state, strict=True):
        require(one.tobytes() == other.tobytes(), f"{name} depends on the batches: {one} and {other}")
    require(repr(run.certificates) == repr(again.certificates), "certificates depend on the batches")


def _sparse(x: Any) -> Any:
    """All entries as a sparse matrix, zeros among them: sums are then made in the same portions."""
    n, d = x.shape
    return sparse.csr_matrix((x.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, d))


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
            full = [Fraction(v) for v in _full(learner, x[i])]
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


INTERPRETED: list[Attack] = [*[fuzz_linear] * 6, fuzz_classes, fuzz_kernel]

if __name__ == "__main__":
    main(__doc__, [*INTERPRETED, fuzz_compiled], 2000)
