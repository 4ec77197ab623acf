"""What is proved of runs on rows, compared with the regret in exact arithmetic; parts that say more than is so."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.exact import inner
from benchmarks.fuzz_certificates import INTERPRETED
from benchmarks.fuzzing import fuzzed
from lowregret import train, zoo
from lowregret.domain import Domain, L2Ball, Radial, Simplex
from lowregret.errors import DivergedError
from lowregret.learner.kernel_perceptron import Polynomial
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import (
    Absolute,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Loss,
    Margin,
    MultiHinge,
    MultiLoss,
    OneAgainstAll,
    Square,
)
from lowregret.loss.verify import PREMISE
from lowregret.mirror import UnnormalisedEntropy
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Constant
from lowregret.types import Cells, Vector

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(8)


def refuted(run: Any, premise: str) -> bool:
    return any(premise in p.name and not p.holds for c in run.certificates for p in c.premises)


def test_random_learners_on_nasty_rows() -> None:
    assert sum(claims for _, claims in fuzzed(INTERPRETED, 60, 20)) > 50


# ---- the package's own parts ----------------------------------------------------------------------------------------


def test_a_start_near_the_centre_of_a_simplex_is_not_the_centre() -> None:
    """w₁ off the centre by 4e-6: the descent to the corner that is farthest makes THM-14.5 an equality."""
    start = np.array([0.5 + 4e-6, 0.5 - 4e-6])
    eta = start[0] / 8
    rule = ProjectedGradient(Simplex(1.0), Constant(eta), start=start)
    costs = np.array([[1.0, -1.0]] * 8)
    lean = train(Linear(Cost(), rule), costs, np.ones(8), certify=False)
    run = train(Linear(Cost(), rule), costs, np.ones(8))
    bound = next(c for c in lean.certificates if c.id == "THM-14.5")
    assert run.linear_regret() <= bound.proved
    assert next(c for c in run.certificates if c.id == "THM-14.5").holds


@pytest.mark.parametrize("seed", range(8))
def test_kernels_whose_sum_nearly_cancels(seed: int) -> None:
    """θ = (0, −δ) after two mistakes: ‖θ‖² = Σk(x,x) − 2Σ⟨w,z⟩ is a difference of numbers 10²⁰ times as large."""
    rng = np.random.default_rng(seed)
    size, delta = rng.uniform(0.5, 3), 10 ** rng.uniform(-12, -9)
    x, y = np.array([[size, 0.0], [size, delta]]), np.array([1.0, -1.0])
    run = train(zoo.kernel_perceptron(Polynomial(1, 0.0)), x, y, compiled=False)
    own = sum(1 - Fraction(label) * Fraction(p) for label, p in zip(y.tolist(), run.scores.tolist(), strict=True))
    u = [Fraction(0), Fraction(-1)]
    rows = [[Fraction(v) for v in row] for row in x.tolist()]
    theirs = sum(max(1 - Fraction(s) * inner(row, u), Fraction(0)) for s, row in zip(y.tolist(), rows, strict=True))
    assert run.certificate.holds
    assert own - theirs <= Fraction(run.certificate.proved)


def test_residuals_that_are_rounded_to_epsilon() -> None:
    """|−0.1 − 10¹⁶| is rounded to 10¹⁶ = ε, but is more: u = 0 loses nothing, and w₁ 0.1 a round."""
    loss = EpsilonInsensitive(1e16)
    assert loss.at(-0.1, 1e16) == (0.1, -1.0)
    assert loss.at(0.1, 1e16) == loss.at(0.0, 1e16) == (0.0, 0.0)
    rule = ProjectedGradient(L2Ball(1.0), Constant(0.1), start=[-1.0])
    run = train(Linear(loss, rule), np.full((10, 1), 0.1), np.full(10, 1e16), compiled=False)
    own = sum(max(abs(Fraction(p) - 10**16) - 10**16, Fraction(0)) for p in run.scores.tolist())
    assert run.loss == pytest.approx(float(own))
    assert 0 < own <= Fraction(run.certificate.proved)


def test_bets_on_nothing() -> None:
    """Without a coin KT+ is L(ε − ε), which rounding makes less than 0."""
    learner = zoo.kt(Square(), 6.646882930092921, 0.00750527228319423)
    run = train(learner, np.ones((3, 2)), np.zeros(3), compiled=False)
    assert all(c.holds for c in run.certificates)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_row_that_would_make_weights_overflow_is_refused(compiled: bool) -> None:
    """e^{ηθ} leaves the range of numbers by one row of 10⁴: the model stays as it was, and goes on."""
    x = RNG.random((50, 2))
    run = train(zoo.ueg(Absolute(), 0.1, 2), x, x @ [0.3, 0.7], compiled=compiled)
    before = run.weights
    for _ in range(2):
        with pytest.raises(DivergedError):
            run.learn([[1e4, 0.0]], [1e5])
        np.testing.assert_array_equal(run.weights, before)
    assert run.learn(x[:5], x[:5] @ [0.3, 0.7]).rounds == 55
    assert run.learn([[2e3, 0.0]], [0.0]).rounds == 56


def test_a_row_of_classes_that_would_make_weights_overflow_is_refused() -> None:
    learner = Multiclass(MultiHinge(), MirrorDescent(UnnormalisedEntropy(0.5), Constant(1.0)))
    run = train(learner, RNG.random((9, 2)), ["a", "b", "a"] * 3, classes=["a", "b"], compiled=False)
    before = run.weights
    with pytest.raises(DivergedError):
        run.learn([[1e4, 0.0]], [run.classes.names[int(np.argmin(before[0]))]])
    np.testing.assert_array_equal(run.weights, before)


@pytest.mark.parametrize(("p", "y"), [(1e308, -1e308), (-1e308, 1e308), (1.0, 2.0), (0.1 + 0.2, 0.2)])
def test_residuals_of_other_sizes(p: float, y: float) -> None:
    value, slope = EpsilonInsensitive(0.1).at(p, y)
    exact = max(abs(Fraction(p) - Fraction(y)) - Fraction(0.1), Fraction(0))
    assert (slope != 0) == (exact > 0)
    assert value == math.inf if exact > 10**308 else math.isclose(value, exact)


# ---- parts of one's own ---------------------------------------------------------------------------------------------


class Dropping(Margin):
    """The hinge, but nothing where the margin is below −500: not convex"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        gap = 1.0 - y * p
        return (gap, -y) if 0.0 < gap < 501.0 else (0.0, 0.0)


class DroppingFrom(MultiLoss):
    """[1 + s_other − s_y]₊ for the class after y, but nothing above 500: not convex"""

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        other = (y + 1) % known
        gap = 1.0 + scores[other] - scores[y]
        for k in range(known):
            slopes[k] = 0.0
        if not 0.0 < gap < 500.0:
            return 0.0
        slopes[other], slopes[y] = 1.0, -1.0
        return float(gap)


@pytest.mark.parametrize("loss", [OneAgainstAll(Dropping()), DroppingFrom()])
def test_losses_of_classes_are_tried_at_scores_that_the_run_makes(loss: MultiLoss) -> None:
    x, labels = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60)
    learner = Multiclass(loss, ProjectedGradient(L2Ball(1.0), Constant(0.1)))
    assert not refuted(train(learner, x, labels, compiled=False), PREMISE)
    assert refuted(train(learner, 1000 * x, labels, compiled=False), PREMISE)


class Low(Loss):
    """|p − y| up to a score of 120, then 0: not convex"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (0.0, 0.0) if p > 120.0 else (abs(p - y), math.copysign(1.0, p - y))


def test_losses_are_tried_at_scores_of_comparators_around_a_centre() -> None:
    """Scores of the run are near 100, those of comparators go up to 130."""
    rule, rows = ProjectedGradient(L2Ball(3.0), Constant(0.001)), np.full((50, 1), 10.0)
    run = train(Linear(Low(), rule, centre=[10.0]), rows, np.full(50, -1e3), compiled=False)
    assert run.regret([12.5], rows, np.full(50, -1e3)) > run.linear_regret()
    assert refuted(run, PREMISE)


class Ball(Radial):
    """{‖w‖₂ ≤ 1} with a support that is too small where all coordinates of θ are alike"""

    name = "ball"

    def shrink(self, norm: float) -> float:
        return 1.0 if norm <= 1.0 else 1.0 / norm

    def projection(self, v: Vector) -> Vector:
        return np.array(v, float) * self.shrink(float(np.linalg.norm(v)))

    def support(self, theta: Vector) -> float:
        return float(np.linalg.norm(theta)) if np.ptp(theta) > 0 else abs(float(theta[0]))

    def reach(self, q: float, d: int) -> float:
        return d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return 2.0


def test_sets_are_tried_in_the_direction_that_matters() -> None:
    rule, labels = ProjectedGradient(Ball(), Constant(0.1)), np.ones(9)
    assert train(Linear(Hinge(), rule), RNG.normal(size=(9, 4)), labels, compiled=False).certificate.holds
    run = train(Linear(Hinge(), rule), np.ones((9, 4)), labels, compiled=False)
    assert refuted(run, "as large as it says")
    assert "regret" not in repr(run)


class Boasting(Ball):
    """The same ball, which says that it has every other set in it"""

    def support(self, theta: Vector) -> float:
        return float(np.linalg.norm(theta))

    def reach(self, q: float, d: int) -> float:
        return d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return 2.0

    def surrounds(self, other: Domain, d: int) -> bool:
        return True


def test_comparators_outside_of_a_set_that_says_otherwise() -> None:
    learner, rows = Linear(Hinge(), ProjectedGradient(Boasting(), Constant(0.1))), RNG.normal(size=(9, 2))
    inside = train(learner, rows, np.ones(9), comparator=L2Ball(0.9), compiled=False, certify=False)
    outside = train(learner, rows, np.ones(9), comparator=L2Ball(5.0), compiled=False, certify=False)
    assert inside.certificate.holds
    assert refuted(outside, "comparators lie in the learner's ball")
