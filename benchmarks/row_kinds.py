"""Further kinds of runs on rows under attack, for `fuzz_certificates`: mistakes, blocks, terms that cancel, workers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparators import points_of
from benchmarks.exact import Exact, exact, inner, loss_at
from benchmarks.fuzzing import require
from benchmarks.nasty import Draw, size, some_loss, some_rule, some_set, some_step
from benchmarks.row_runs import (
    Rows,
    check_bits,
    check_certificates,
    check_figures,
    exact_regret,
    full_row,
    learn_one_by_one,
)
from lowregret import train, zoo
from lowregret.certificate import Certificate
from lowregret.domain import Box, L2Ball, Reals, Simplex
from lowregret.learner.kernel_perceptron import Polynomial
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, EpsilonInsensitive, Hinge, OnMistakes
from lowregret.mirror import Euclidean
from lowregret.rule import AdaGrad, FTRLProximal, MirrorDescent, ProjectedGradient, Rule
from lowregret.run import doubling
from lowregret.run.begin import begin
from lowregret.step import Adaptive, Constant, InverseSqrt
from tests.spread.team import spread

# ---- mistakes -------------------------------------------------------------------------------------------------------


def some_judged(r: Draw, bias: float) -> Linear:
    """A learner of which mistake bounds speak."""
    loss = r.choice([Hinge(), Hinge(size(r)), EpsilonInsensitive(size(r))])
    passive = zoo.pa(loss, r.choice([math.inf, size(r)])), zoo.pa_ii(loss, size(r)), zoo.arow(loss, size(r))
    found: Linear = r.choice([zoo.perceptron(), zoo.perceptron(), zoo.winnow(r.randint(1, 4), 0.3), *passive])
    return Linear(found.loss, found.rule, found.output, bias=bias)


def some_rival(r: Draw, rows: Rows, d: int) -> list[float]:
    """A vector: at random, a disjunction, or the sum of rows by their labels at some length."""
    way = r.choice(["random", "or", "sum", "sum"])
    if way == "or":
        return [float(r.random() < 0.5) for _ in range(d)]
    total = [math.fsum(y * x[j] if j < len(x) else y for x, y in zip(rows.x, rows.y, strict=True)) for j in range(d)]
    length = math.hypot(*total)
    if way == "random" or not 0 < length < math.inf:
        return [r.gauss(0, 1) * size(r) for _ in range(d)]
    return [v / length * size(r) / r.choice([1.0, 1.0, max(map(abs, rows.x[0])) or 1.0]) for v in total]


def check_mistakes(found: list[Certificate], f: Fraction) -> int:
    """Bounds whose premises hold must hold, and F(u) must be what it is but for what is told as rounding."""
    for c in found:
        require(not c.premises_hold or c.holds or math.isnan(c.bound), f"premises hold, and {c} does not")
        told = c.details["F"]
        if c.id in ("PERC-OBS", "MC-OBS", "PA-I+") and math.isfinite(told) and math.isfinite(c.rounding):
            fine = abs(exact(told) - f) <= exact(c.rounding)
            require(c.id == "PA-I+" or fine, f"F(u) is {told!r}, exactly {float(f)!r}: {c}")
    return len(found)


def fuzz_mistakes(r: Draw, folder: Path, told: list[Any]) -> int:
    """The Perceptron, Winnow, passive-aggressive steps and AROW, in units from 10⁻¹⁷⁰ to 10¹⁶."""
    features, bias = r.randint(1, 4), r.choice([0.0, 0.0, 0.5, size(r)])
    learner = some_judged(r, bias)
    d = features + (bias > 0)
    run = begin(learner, features, compiled=False)
    rows = learn_one_by_one(r, run, learner, features, r.choice([3, 10, 40]), True, False)
    if r.random() < 0.2:
        rows.x = [[float(v > 0) for v in x] for x in rows.x]
    run = begin(learner, features, compiled=False).learn(np.array(rows.x), rows.y)
    told += [learner, rows.x, rows.y]
    claims, scores = 0, run.scores.tolist()
    loss = learner.loss.loss if isinstance(learner.loss, OnMistakes) else learner.loss
    for _ in range(3):
        u = some_rival(r, rows, d)
        f = Fraction(0)
        for x, y, p in zip(rows.x, rows.y, scores, strict=True):
            theirs = inner([exact(v) for v in full_row(learner, x)], [exact(v) for v in u])
            if loss is learner.loss or learner.loss.wrong(p, y):
                f += loss_at(loss, theirs, exact(y))
        told.append(u)
        claims += check_mistakes(run.mistake_certificates(u, np.array(rows.x), rows.y), f)
    return claims


def fuzz_kernel_mistakes(r: Draw, folder: Path, told: list[Any]) -> int:
    """The Perceptron in kernel form against Σα_i K(x_i, ·), whose terms may cancel."""
    features, count, scale = r.randint(1, 3), r.choice([2, 5, 20]), r.choice([1.0, size(r), 1e16])
    x = [[r.gauss(0, 1) * scale for _ in range(features)] for _ in range(count)]
    for i in range(1, count):
        if r.random() < 0.5:
            x[i] = [v + scale * r.gauss(0, 1) * 10 ** r.uniform(-16, -3) for v in x[i - 1]]
    y = [r.choice([-1.0, 1.0]) for _ in range(count)]
    alpha = [r.choice([0.0, 1.0, -1.0, r.gauss(0, 1)]) * size(r) for _ in range(count)]
    run = train(zoo.kernel_perceptron(Polynomial(1, 0.0)), x, y, compiled=False)
    told += [x, y, alpha]
    rows = [[exact(v) for v in row] for row in x]
    u = [sum((exact(a) * row[j] for a, row in zip(alpha, rows, strict=True)), Fraction(0)) for j in range(features)]
    f = Fraction(0)
    for row, label, p in zip(rows, y, run.scores.tolist(), strict=True):
        if label * p <= 0:
            f += loss_at(Hinge(), inner(row, u), exact(label))
    return check_mistakes(run.mistake_certificates(alpha, x, y), f)


# ---- blocks, workers, terms that cancel -----------------------------------------------------------------------------


def some_parted(r: Draw) -> Rule:
    """A rule whose weights several may move at once."""
    eta = size(r)
    lazy = MirrorDescent(Euclidean(), some_step(r)), MirrorDescent(Euclidean(), Constant(eta))
    return r.choice([*lazy, AdaGrad(eta), FTRLProximal(eta, size(r), r.choice([0.0, size(r)]))])


def fuzz_shared(r: Draw, folder: Path, told: list[Any]) -> int:
    """A run in blocks, of any length, and one whose learners are free."""
    features, bias = r.randint(1, 3), r.choice([0.0, 0.0, 1.0])
    learner = Linear(some_loss(r), some_parted(r), bias=bias)
    how: dict[str, Any] = {"compiled": False, "learners": 1, "block": r.choice([1, 2, 3, 7, "free"])}
    if r.random() < 0.3:
        how["comparator"] = some_set(r, features + (bias > 0))
    run = begin(learner, features, **how)
    told += [learner, how]
    rows = learn_one_by_one(r, run, learner, features, r.choice([3, 10, 40]), False, False)
    told.append(rows)
    check_figures(run, learner, rows, False)
    check_bits(r, run, begin(learner, features, **how), rows, features, folder)
    points = points_of(r, run.comparator, run.state.dimension, run.state.theta)
    return check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, len(rows.y)), points)


def fuzz_workers(r: Draw, folder: Path, told: list[Any]) -> int:
    """A run that several workers learnt on copies, put together: LEM-2.5, LEM-2.20 and DELAY of any schedule."""
    features, count = r.randint(1, 3), r.choice([3, 20, 60])
    rule = r.choice([AdaGrad(size(r)), MirrorDescent(Euclidean(), Constant(size(r)))])  # few, which are compiled
    learner = Linear(r.choice([Cost(), Absolute(), Hinge()]), rule, bias=r.choice([0.0, 1.0]))
    rows, scale = Rows(), r.choice([1.0, size(r), 10 ** r.uniform(-150, 60)])
    for _ in range(count):
        rows.x.append([r.gauss(0, 1) * scale * r.choice([1.0, 1.0, 1e-6]) for _ in range(features)])
        rows.y.append(r.choice([-1.0, 1.0]) if learner.loss.classifies else float(r.choice([0, 1, 3, 10**6])))
        rows.weights.append(r.choice([1.0, 1.0, 0.0, 3.0, 1e-20]))
    workers, order = r.randint(1, 4), [r.randrange(4) for _ in range(3 * count)]
    told += [learner, rows, workers, order]
    order = [k % workers for k in order]
    y, w = np.array(rows.y), np.array(rows.weights)
    team = spread(learner, np.array(rows.x), y, r.choice([1, 2, 5]), workers, r.randint(1, 2), order, w)
    rows.scores = [math.nan] * count
    for learnt in team.order:
        for i, p in zip(learnt.rows.tolist(), learnt.scores.tolist(), strict=True):
            rows.scores[i] = p
    run = team.run()
    d = features + (learner.bias > 0)
    theta = run._by_column(run.state.theta)
    points = points_of(r, run.comparator, d, theta if theta.size == d else None)
    return check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, count), points)


def fuzz_cancelling(r: Draw, folder: Path, told: list[Any]) -> int:
    """Linear losses, each chosen so that what was paid is 0 again: sums far smaller than their terms."""
    d, kind = r.choice([1, 1, 2, 3]), r.choice(["plain", "plain", "late", "doubling", "blocks"])
    rule = some_parted(r) if kind == "blocks" else some_rule(r, d)
    centre = [r.gauss(0, 1) * size(r) for _ in range(d)] if r.random() < 0.2 else None
    learner = Linear(Cost(), rule, centre=centre)
    how: dict[str, Any] = {"late": {"delay": r.randint(1, 4)}, "blocks": {"learners": 1, "block": 2}}.get(kind, {})
    run = doubling(learner, d, compiled=False) if kind == "doubling" else begin(learner, d, compiled=False, **how)
    rows, paid, scale = Rows(), Fraction(0), r.choice([1.0, size(r), 10 ** r.uniform(-20, 20)])
    wide, choose = scale * 10 ** r.uniform(0, 10), _canceller(r, scale)
    told += [learner, kind, rows]
    for _ in range(r.choice([10, 40])):
        x = [r.choice([1.0, r.gauss(0, 1)]) for _ in range(d)]
        y = choose(float(run.decision_function([x])[0]), paid, wide)
        run.learn([x], [y])
        rows.x, rows.y, rows.weights = [*rows.x, x], [*rows.y, y], [*rows.weights, 1.0]
        rows.scores.append(float(run.scores[0]))
        paid += exact(rows.scores[-1]) * exact(y)
    answered = len(rows.y) - getattr(run, "pending", 0)
    theta: Exact = [
        -sum((exact(x[j]) * exact(y) for x, y in zip(rows.x[:answered], rows.y[:answered], strict=True)), Fraction(0))
        for j in range(d)
    ]
    points = points_of(r, run.comparator, d, np.array([float(v) for v in theta]))
    return check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, answered), points)


def _canceller(r: Draw, scale: float) -> Callable[[float, Fraction, float], float]:
    """A cost that pays back what was paid, at the present score, unless that takes more than allowed."""

    def chosen(p: float, paid: Fraction, most: float) -> float:
        if p == 0 or not math.isfinite(p) or r.random() < 0.3:
            return r.gauss(0, 1) * scale
        back = -paid / exact(p)
        return float(back) if abs(back) < exact(most) else math.copysign(scale, float(back > 0) - 0.5)

    return chosen


def fuzz_units(r: Draw, folder: Path, told: list[Any]) -> int:
    """Linear losses of lengths and slopes in any units, at rates that fit them: their squares may be no numbers."""
    d, length, slope = r.choice([1, 2]), 10 ** r.uniform(-300, 100), 10 ** r.uniform(-100, 100)
    eta, near = length / slope * 10 ** r.uniform(-3, 3), length * 10 ** r.uniform(-3, 3)
    step = r.choice([Constant(eta), InverseSqrt(eta), Adaptive(length)])
    where = r.choice([Reals(), L2Ball(length), Box(-length, near), Simplex(length)])
    learner = Linear(Cost(), r.choice([ProjectedGradient(where, step), MirrorDescent(Euclidean(where), step)]))
    rivals = L2Ball(near) if isinstance(where, Reals) else None
    run = begin(learner, d, compiled=False, certify=r.random() < 0.5, comparator=rivals)
    rows, wide = Rows(), slope ** r.random()
    told += [learner, rivals, rows]
    for _ in range(r.choice([1, 10, 30])):
        x, y = [wide * r.choice([1.0, r.gauss(0, 1)]) for _ in range(d)], slope / wide * r.choice([1.0, r.gauss(0, 1)])
        run.learn([x], [y])
        rows.x, rows.y, rows.weights = [*rows.x, x], [*rows.y, y], [*rows.weights, 1.0]
        rows.scores.append(float(run.scores[0]))
    points = points_of(r, run.comparator, d, -np.array(rows.y) @ np.array(rows.x))
    return check_certificates(run.certificates, lambda u: exact_regret(learner, rows, u, len(rows.y)), points)
