"""Scores that cancel are rounded where the loss is flat, too: no certificate is below the exact regret."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import (
    AROW,
    COCOB,
    KT,
    NAG,
    Absolute,
    AdaGrad,
    Box,
    Constant,
    EpsilonInsensitive,
    Euclidean,
    FreeGrad,
    FTRLProximal,
    Hinge,
    L2Ball,
    Linear,
    Logistic,
    Loss,
    MirrorDescent,
    Multiclass,
    Newton,
    PNorm,
    ProjectedGradient,
    Quantile,
    Reals,
    Softmax,
    Square,
    train,
)
from lowregret.certificate.evidence import evidence
from lowregret.certificate.rounding import _width
from lowregret.compile.numerics import norm
from lowregret.domain import Domain
from lowregret.loss import Cost, MultiHinge
from lowregret.rule import PerCoordinate, Rule
from lowregret.rule.base import WIDEST
from lowregret.state import (
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    ROUNDS,
    STEPPED,
    WEIGHT,
    State,
)
from lowregret.step import Step
from lowregret.types import Index, Vector, cell

ROWS = 40
RULES = [
    MirrorDescent(Euclidean(), Constant(0.5)),
    MirrorDescent(PNorm(3.0), Constant(0.5)),
    ProjectedGradient(Reals(), Constant(0.5)),
    ProjectedGradient(L2Ball(3.0), Constant(0.5)),
    AdaGrad(0.5),
]


class Direct(Rule):
    """Gradient descent of a user's own, from the contract alone: nobody knows how large its weights are."""

    @property
    def domain(self) -> Domain:
        return Reals()

    def fits(self, d: int) -> None:
        """Any dimension will do."""

    def width(self) -> int:
        return 2

    def costs_dimension(self) -> bool:
        return False

    def schedule(self) -> Step:
        return Constant(0.5)

    def begin(self, s: State) -> None:
        """w_1 = 0"""

    def idle(self, s: State) -> None:
        s.counts[ROUNDS] += 1

    def scale(self, s: State) -> float:
        return 0.5

    def raw(self, s: State, j: Index) -> float:
        return s.table[cell(j, 2) + WEIGHT]

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> float:
        return square

    def push(self, s: State, j: Index, g: float, round_sums: float) -> float:
        s.table[cell(j, 2)] -= g
        s.table[cell(j, 2) + WEIGHT] -= g
        return round_sums

    def settle(self, s: State, inner: float, entries: int, round_sums: float) -> None:
        s.sums[LINEAR] += inner
        s.sums[ENERGY] += round_sums
        s.sums[STEPPED] += 0.5 * round_sums
        s.sums[LARGEST] = max(s.sums[LARGEST], round_sums)
        s.sums[FIRST_RATE] = s.sums[LAST_RATE] = 0.5
        s.counts[ROUNDS] += 1


class Steep(Euclidean):
    """½‖w/1000‖²: iterates are a million times as long as steps tell."""

    def link(self, theta: Vector) -> Vector:
        return 1e6 * theta

    def value(self, w: Vector) -> float:
        return 0.5e-6 * float(w @ w)

    def scale(self, s: State, eta: float) -> float:
        return 1e6 * eta


class Bent(Loss):
    """The hinge loss, of which nobody says how steep it is."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (1.0 - y * p, -y) if y * p < 1.0 else (0.0, 0.0)


def cancelling(w: Any, rng: np.random.Generator) -> Any:
    """A long row nearly orthogonal to w, whose exact score is below −2 and whose rounded one is at least 1; or None."""
    x = rng.normal(size=w.size)
    x = (x - w * (w @ x) / (w @ w)) * 1e17
    score = sum(Fraction(a) * Fraction(b) for a, b in zip(w.tolist(), x.tolist(), strict=True))
    return x if -60 < score < -2 else None


def loses_more(learner: Linear, seed: int, options: dict[str, Any]) -> int:
    """Let a run meet rows that cancel; returns how many of them lost more than was told, after the proof is checked."""
    rng, d = np.random.default_rng(seed), 6
    first = rng.normal(size=d)
    start = train(learner, first[None, :], [1.0], comparator=L2Ball(1.0), compiled=False)
    x = None
    for _ in range(200):
        x = cancelling(start.point, rng)
        if x is not None and learner.loss.at(float(start.decision_function(x[None, :])[0]), 1.0)[0] == 0.0:
            break
        x = None
    if x is None:
        return 0
    rows = np.array([first, *[x] * ROWS])
    run = train(learner, rows, np.ones(ROWS + 1), comparator=L2Ball(1.0), compiled=False, **options)
    score = sum(Fraction(a) * Fraction(b) for a, b in zip(start.point.tolist(), x.tolist(), strict=True))
    exact = 1.0 + ROWS * float(1 - score) if run.loss < 2 else run.loss
    unit = x / np.linalg.norm(x)  # loses at most 1 in the first round, and nothing in the others
    assert not run.certificate.premises_hold or run.certificate.proved >= exact - 1 - max(0.0, -float(unit @ first))
    return int(exact > run.loss + 1)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("loss", [Hinge(), Bent()], ids=repr)
def test_rows_that_cost_nothing_by_rounding(loss: Loss, rule: Any) -> None:
    assert sum(loses_more(Linear(loss, rule), seed, {}) for seed in range(12)) > 0


@pytest.mark.parametrize("rule", [Direct(), MirrorDescent(Steep(), Constant(5e-7))], ids=repr)
def test_rows_that_cost_nothing_by_rounding_of_rules_of_ones_own(rule: Any) -> None:
    assert sum(loses_more(Linear(Hinge(), rule), seed, {}) for seed in range(12)) > 0


@pytest.mark.parametrize("rule", [Direct(), MirrorDescent(Steep(), Constant(5e-7))], ids=repr)
def test_weights_that_no_row_has_met_since_are_known(rule: Any) -> None:
    """Structures are scored with weights that their sub-gradients do not touch."""
    run = train(Linear(Hinge(), rule), [[1e3, 0.0]], [1.0], comparator=L2Ball(1.0), compiled=False)
    assert run.state.sums[WIDEST] == 0.0
    found = evidence(run.learner, run.state, L2Ball(1.0))
    assert _width(found) >= norm(run.point) > 0


def test_sets_far_from_zero_have_long_iterates_whatever_the_steps() -> None:
    """Every row costs 1 exactly at (1, 1, 1), by rounding nothing, and nothing at (1, 1, 1 + 2⁻⁶⁰)."""
    learner = Linear(Absolute(), MirrorDescent(Euclidean(Box(1.0, 2.0)), Constant(1.0)))
    run = train(learner, [[2.0**60, 1.0, -(2.0**60)]] * ROWS, np.zeros(ROWS), compiled=False)
    assert run.loss == 0.0
    assert run.certificate.proved >= ROWS


@pytest.mark.parametrize("options", [{"delay": 3}, {"learners": 1, "block": 4}, {"weights": np.full(ROWS + 1, 3.0)}])
def test_rows_that_cost_nothing_in_other_runs(options: dict[str, Any]) -> None:
    learner = Linear(Hinge(), MirrorDescent(Euclidean(), Constant(0.5)))
    for seed in range(6):
        loses_more(learner, seed, options)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Square(), Quantile(0.9), EpsilonInsensitive(0.5)], ids=repr)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_usual_rows_have_hardly_any_rounding(loss: Loss, rule: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 5)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    found = train(Linear(loss, rule), x, y, comparator=L2Ball(1.0), compiled=False).certificate
    assert found.rounding < 1e-7 * (1 + abs(found.linear_regret or 0.0))


@pytest.mark.parametrize("loss", [MultiHinge(), Softmax()], ids=repr)
def test_classes_beside_scores_that_cancel(loss: Any) -> None:
    rng = np.random.default_rng(2)
    learner = Multiclass(loss, MirrorDescent(Euclidean(), Constant(0.5)))
    x, y = rng.normal(size=(30, 4)), rng.integers(0, 3, 30)
    usual = train(learner, x, y, comparator=L2Ball(1.0), compiled=False).certificate
    x[20:] *= 1e17
    wild = train(learner, x, y, comparator=L2Ball(1.0), compiled=False).certificate
    assert usual.rounding < 1e-9
    assert wild.rounding > 1e2  # a score of some 1e17 is off by about as much


def test_costs_beyond_squares_have_a_rounding() -> None:
    """A cost is its slope, and needs no more: nothing times infinity was no number."""
    learner = Linear(Cost(), ProjectedGradient(L2Ball(1.0), Constant(1e-130)), centre=[1e200, 0.0])
    found = train(learner, [[0.0, 1e130]], [1.0], compiled=False).certificate
    assert not np.isnan(found.rounding)


class Plain(PerCoordinate):
    """Gradient descent of a user's own, which tells nobody how large its weights are."""

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> tuple[float]:
        return (0.0,)

    def push(self, s: State, j: Index, g: float, round_sums: tuple[float]) -> tuple[float]:
        at = cell(j, 4)
        s.table[at] -= g
        s.table[at + WEIGHT] -= g
        return (round_sums[0] + g * g,)

    def fold(self, s: State, round_sums: tuple[float]) -> None:
        """Nothing else is kept."""


class Silent(AdaGrad):
    """AdaGrad that does not say how large the weights are that it moves."""

    def widest(self, round_sums: Any) -> float:
        return 0.0


IN_BLOCKS: list[PerCoordinate] = [AdaGrad(0.5), FTRLProximal(l1=0.0)]
ROW_BY_ROW: list[PerCoordinate] = [KT(), FreeGrad(), COCOB(), AROW(), NAG(), Newton(), Plain(), Silent(), *IN_BLOCKS]
WAYS: list[tuple[PerCoordinate, dict[str, Any]]] = [(rule, {}) for rule in ROW_BY_ROW] + [
    (rule, {"learners": 1, "block": 3}) for rule in IN_BLOCKS
]


@pytest.mark.parametrize(("rule", "options"), WAYS, ids=[f"{type(rule).__name__}{list(how)}" for rule, how in WAYS])
def test_all_weights_that_scores_were_made_with_are_known(rule: PerCoordinate, options: dict[str, Any]) -> None:
    """Weights that cancel, in rows that push, or that grow in the last round alone, are no smaller for that."""
    learner = Linear(Absolute(), rule)
    run = train(learner, [[1.0, 1.0, 0.0]] * 2, [1e9, -1e9], comparator=L2Ball(1.0), compiled=False, **options)
    rng, widest = np.random.default_rng(3), 0.0
    for _ in range(20):
        before, x = run.point, rng.integers(-2, 3, 3).astype(float)
        run.learn(x[None, :] if x.any() else np.ones((1, 3)), [rng.choice([-9.0, 9.0])])
        widest = max(widest, float(np.max(abs(before[before != run.point]), initial=0.0)))
    assert run.state.sums[WIDEST] >= widest > 0


@pytest.mark.parametrize("d", [3, 5000])
def test_of_many_weights_too(d: int) -> None:
    """The first round moves them from 0, and all others cost nothing but by rounding."""
    rows = [[1.0, 1.0, 1.0], *[[2.0**60, 1.0, -(2.0**60)]] * ROWS]
    x = sp.csr_matrix((np.ravel(rows), np.tile(np.arange(3), ROWS + 1), np.arange(0, 3 * ROWS + 4, 3)), (ROWS + 1, d))
    y = np.zeros(ROWS + 1)
    y[0] = 1.0
    run = train(Linear(Absolute(), COCOB()), x, y, comparator=L2Ball(1e-9), compiled=False)
    assert run.loss == 1.0  # each of the others costs w exactly, and 0 nothing
    assert run.certificate.proved >= ROWS * run.point[1] > 0.3
