"""Runs on nasty rows that are learnt one by one, and what must be so of them, for fuzzers."""

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

from benchmarks.exact import DIGITS, Exact, inner, loss_at
from benchmarks.fuzzing import Falsehood, require
from benchmarks.nasty import Draw, size, some_label, some_row
from lowregret import load
from lowregret.certificate import Certificate
from lowregret.errors import DivergedError, LowRegretError
from lowregret.learner.linear import Linear

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
        theirs = inner([Fraction(v) for v in full_row(learner, rows.x[i])], fixed)
        gap = Fraction(rows.weights[i]) * (loss_at(learner.loss, p, y, p) - loss_at(learner.loss, theirs, y, p))
        if learner.ridge:
            w = [Fraction(float(v)) for v in rows.iterates[i]]
            gap += Fraction(learner.ridge) / 2 * (inner(w, w) - length)
        total, importance = total + c * gap, importance + c
    return total / max(importance, Fraction(1)) if weighted else total


def full_row(learner: Any, x: list[float]) -> list[float]:
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
        again.learn(with_zeros(x) if thin else x, rows.y[at:end], rows.weights[at:end])
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


def with_zeros(x: Any) -> Any:
    """All entries as a sparse matrix, zeros among them: sums are then made in the same portions."""
    n, d = x.shape
    return sparse.csr_matrix((x.ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), shape=(n, d))
