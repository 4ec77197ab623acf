"""What is proved where numbers are so large that others vanish beside them, or so small that their squares do."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.exact import Exact, inner, loss_at, multi_loss_at
from lowregret import play, train, zoo
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import norm
from lowregret.convex.leader import FollowTheRegularisedLeader
from lowregret.domain import Box, L2Ball, Point, Reals
from lowregret.errors import DataError, LowRegretError, PartError
from lowregret.experts import BoxHedge, Drawing, Hedge
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    MultiHinge,
    MultiLoss,
    PerceptronLoss,
    Softmax,
    Square,
)
from lowregret.mirror import Euclidean
from lowregret.regret import Moving, Switching, Windows, regret
from lowregret.rule import KT, AdaGrad, MirrorDescent, ProjectedGradient, Rule
from lowregret.run.begin import begin
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, PassiveAggressive

NAMES = ["a", "b", "c"]
FAR = 2.0**54


def exactly(numbers: Any) -> Exact:
    return [Fraction(float(v)) for v in numbers]


@pytest.mark.parametrize("loss", [MultiHinge(), PerceptronLoss(), Softmax()], ids=lambda loss: type(loss).__name__)
def test_two_classes_whose_scores_are_large_and_the_same(loss: MultiLoss) -> None:
    """The margin of 1, or ln 2, was lost beside scores of 10¹⁷, and neither loss nor slope was left."""
    slopes = np.zeros(3)
    scores = np.array([8 * FAR, 8 * FAR, -16 * FAR])
    own = exactly(scores)
    value = loss.at(scores, 3, 0, 1, slopes)
    assert value == pytest.approx(float(multi_loss_at(loss, own, 1, own)), rel=1e-15)
    assert slopes.tolist() == [0.5, -0.5, 0.0] if isinstance(loss, Softmax) else [1.0, -1.0, 0.0]


def test_regret_of_large_scores_that_are_the_same() -> None:
    """Classes a and b are learnt so that the third row has the same score in both; u = 0 but for 1e-15 settles it."""
    rows, labels, u = [[1.0, 0.0], [0.125, 1.0], [-8 * FAR, -7 * FAR]], ["c", "c", "b"], np.zeros(6)
    u[1] = -1e-15
    learner = Multiclass(MultiHinge(), zoo.ogd(Hinge(), 1.0).rule)
    run = begin(learner, 2, NAMES, compiled=False, comparator=Point(u))
    run.keep_scores = True
    run.learn(rows, labels)
    regret, fixed = Fraction(0), exactly(u)
    for x, label, scores in zip(rows, labels, run.scores, strict=True):
        mine, theirs = exactly(scores), [inner(exactly(x), fixed[k::3]) for k in range(3)]
        y = NAMES.index(label)
        regret += multi_loss_at(learner.loss, mine, y, mine) - multi_loss_at(learner.loss, theirs, y, mine)
    assert float(regret) == 0.875
    assert all(regret <= Fraction(c.proved) for c in run.certificates if c.holds and math.isfinite(c.proved))


@pytest.mark.parametrize(
    ("loss", "p"),
    [
        (Affine(Hinge(), 1.0, 1e16), 2.5 - 1e16),
        (Affine(Hinge(1e16), 1.0, 1.0), 1e16 - 2.0),
        (Affine(Hinge(), -0.1, 0.0), -10.0),
        (Affine(Hinge(), 1.0, 1e-17), math.nextafter(1.0, 0.0)),
        (Affine(Affine(Hinge(), 1.0, 1e-17), 1.0, 0.0), math.nextafter(1.0, 0.0)),
        (Affine(Hinge(), 0.3, 0.7), 1.0),
        (Affine(Hinge(0.0), 3.0, -1e16), 1e16 / 3),
    ],
)
@pytest.mark.parametrize("steps", range(-3, 4))
def test_scores_that_are_moved_to_a_kink(loss: Affine, p: float, steps: int) -> None:
    """slope·p + offset was rounded to where the hinge is flat, though it lies before."""
    for _ in range(abs(steps)):
        p = math.nextafter(p, math.copysign(math.inf, steps))
    value, slope = loss.at(p, 1.0)
    exact = loss_at(loss, Fraction(p), Fraction(1), Fraction(p))
    assert exact == 0 or (slope == -loss.slope and value > 0)


def test_rows_whose_squares_vanish() -> None:
    """AdaGrad's bound is a sum of squares: it was 0, and less than the regret, where rows weigh less than 10⁻¹⁶²."""
    learner = Linear(Square(), AdaGrad(0.5, Box(-1.0, 0.4)))
    run = train(learner, [[1.0], [-0.3]], [-1.0, 1.0], [1e-170, 2e-170], compiled=False)
    assert all(c.premises_hold and c.holds for c in run.certificates)


@pytest.mark.parametrize("wealth", [3.1916144920004964e-09, 3e-40, 7e-100])
def test_bets_of_little_wealth(wealth: float) -> None:
    """Wealth is the exponential of a logarithm, whose size is in what rounding may hide."""
    run = train(Linear(Square(), KT(3.876618780078287e-07, wealth)), np.ones((1, 4)), [0.0], compiled=False)
    assert all(c.premises_hold and c.holds for c in run.certificates)


@pytest.mark.parametrize("learner", [zoo.cocob(Hinge()), zoo.nag(Logistic())], ids=["cocob", "nag"])
def test_features_in_small_units(learner: Linear) -> None:
    """COCOB divided by a square that vanished and had infinite weights, NAG multiplied with its inverse."""
    rows = np.array([[1e-170, 1.0], [0.0, 1.0], [1e-170, 0.5], [1e-170, -1.0]])
    run = train(learner, rows, [1.0, -1.0, 1.0, -1.0], compiled=False)
    assert np.isfinite(run.weights).all()
    assert run.weights[1] != 0.0


@kernel
def judge_all(loss: Affine, p: Any, found: Any) -> None:
    for i in range(p.size):
        found[0, i], found[1, i] = loss.at(p[i], 1.0)


def test_scores_that_are_moved_to_a_kink_compiled() -> None:
    rng = np.random.default_rng(3)
    loss = Affine(Hinge(), 0.3, 1e5)
    p = (1.0 - 1e5) / 0.3 + np.arange(-50, 50) * 2.0**-35 + rng.choice([0.0, 2.0**-36], 100)
    compiled, interpreted = np.zeros((2, 100)), np.zeros((2, 100))
    call(judge_all, True, loss, p, compiled)
    call(judge_all, False, loss, p, interpreted)
    assert compiled.tobytes() == interpreted.tobytes()
    assert 0 < np.count_nonzero(compiled[1]) < 100


TINY, RATE = 1e-168, 1e-170  # a length whose square is no number, and a rate beside which it matters


@pytest.mark.parametrize("certify", [True, False])
@pytest.mark.parametrize(
    "rule",
    [
        ProjectedGradient(Reals(), Constant(RATE)),
        ProjectedGradient(Box(-TINY, TINY), Constant(RATE)),
        ProjectedGradient(Reals(), InverseSqrt(RATE)),
        ProjectedGradient(Box(-TINY, TINY), InverseSqrt(RATE)),
        MirrorDescent(Euclidean(), Constant(RATE)),
        MirrorDescent(Euclidean(L2Ball(TINY)), Constant(RATE)),
    ],
    ids=range(6),
)
def test_weights_whose_squares_vanish(rule: Rule, certify: bool) -> None:
    """‖u‖²/(2η) was 0 where ‖u‖² is no number, and bounds were less than the regret."""
    learner = Linear(Cost(), rule)
    run = train(learner, np.ones((10, 1)), np.ones(10), compiled=False, certify=certify, comparator=L2Ball(TINY))
    worst = sum((Fraction(float(p)) + Fraction(TINY) for p in run.scores), Fraction(0))
    told = [c for c in run.certificates if c.premises_hold]
    assert told
    assert all(c.holds and worst <= Fraction(c.proved) for c in told)


def test_a_path_whose_squares_vanish() -> None:
    path = np.repeat([[-TINY], [-TINY / 2]], 5, axis=0)
    found = regret(play(ProjectedGradient(Box(-TINY, TINY), Constant(RATE)), np.ones((10, 1))), Moving(path))
    assert found.path_length == TINY / 2
    assert found.certificate is not None
    assert 0 < found.value <= found.certificate.proved


@pytest.mark.parametrize("ridge", [1e-150, 1e-160, 1e-300, 1e-310])
def test_a_ridge_that_is_hardly_there(ridge: float) -> None:
    """max_u ⟨u,θ⟩ − (κ/2)‖u‖² was told as −∞ where the best ‖u‖² is no number."""
    learner = Linear(Hinge(), ProjectedGradient(Reals(), Constant(0.01)), ridge=ridge)
    found = train(learner, np.ones((3, 1)), np.ones(3), compiled=False).certificate
    assert found.linear_regret is not None
    assert found.linear_regret >= 1.49 / ridge
    assert found.holds


def test_weights_that_are_counted_from_far_away() -> None:
    """The length of the centre was infinite, and rounding no number. Squares of scores so far off may be anything."""
    for loss in (Absolute(), Square()):
        learner = Linear(loss, ProjectedGradient(L2Ball(1.0), Constant(1.0)), centre=[1e200, 0.0])
        found = train(learner, [[0.0, 1.0]], [0.0], compiled=False).certificate
        assert found.holds
        assert found.rounding == math.inf if isinstance(loss, Square) else found.rounding < math.inf


def test_rates_whose_squares_are_no_numbers() -> None:
    run = train(Linear(Square(), AdaGrad(1e200)), [[1e-200]], [1.0], compiled=False)
    assert {c.id for c in run.certificates} == {"DIAGONAL", "ADAGRAD"}


@pytest.mark.parametrize("size", [1e154, 1.3e154, 1e200, 1e308])
@pytest.mark.parametrize("learner", [zoo.pa(), zoo.pa(C=1.0), zoo.pa_ii(), zoo.arow()], ids=range(4))
def test_a_rival_too_long_for_squares_has_an_infinite_bound(learner: Linear, size: float) -> None:
    X, y, u = np.eye(3), np.array([1.0, -1.0, 1.0]), np.full(3, size)
    run = train(learner, X, y, compiled=False)
    with np.errstate(all="raise", under="ignore"):
        found = run.mistake_certificates(u, X, y)
    assert [c.holds for c in found if c.premises_hold] == [True] * sum(c.premises_hold for c in found)
    assert not any(math.isnan(c.bound) for c in found)
    assert run.regret(u, X, y) == run.loss - (1 + size)  # not NaN, though no square is asked for


def test_a_regularised_leader_knows_of_costs_whose_squares_vanish() -> None:
    costs = 1e-165 * np.array([[(-1.0) ** t] for t in range(40)])
    game = play(FollowTheRegularisedLeader(Euclidean(Box(-1.0, 1.0)), 1e167), list(costs))
    paid = inner(exactly(game.points[:40, 0]), exactly(costs[:, 0]))
    assert paid > 1e-164  # and a fixed point pays nothing
    assert {"THM-2.11+", "THM-2.11", "COR-2.13"} <= {c.id for c in game.certificates if c.holds and c.proved >= paid}


SMALL_SCALES = st.floats(-200, 60).map(lambda power: 10.0**power)
STEPS = (Constant, InverseSqrt, lambda eta: InverseTime(1 / eta), Adaptive, PassiveAggressive)
LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0])


@given(SMALL_SCALES, SMALL_SCALES, SMALL_SCALES, st.sampled_from(STEPS), st.booleans(), st.integers(0, 2**32 - 1))
@settings(max_examples=200)
def test_iterates_stay_in_their_ball_whatever_the_units(
    unit: float, rate: float, radius: float, step: Any, lazy: bool, seed: int
) -> None:
    """Lengths were sums of squares, which vanish: with features of 1e-170 and a rate of 1e172 weights became 100."""
    rng, domain = np.random.default_rng(seed), L2Ball(radius)
    rate = rate if seed % 2 else radius / unit
    x = unit * rng.normal(size=(6, 3)) * 10.0 ** (-60 * rng.random((6, 3)) * (rng.random() < 0.5))
    x[1::2] = -x[::2] if rng.random() < 0.3 else x[1::2]
    try:
        if lazy and step is not PassiveAggressive:
            rule: Rule = MirrorDescent(Euclidean(domain), step(rate))
        else:
            rule = ProjectedGradient(domain, step(rate))
        run = train(Linear((Hinge(), Absolute(), Square())[seed % 3], rule), x, LABELS, compiled=False)
    except LowRegretError:
        return
    assert norm(run.weights) <= radius * (1 + 1e-9)


@pytest.mark.parametrize("lazy", [True, False])
def test_rows_too_small_for_their_step_are_refused(lazy: bool) -> None:
    far = Constant(1e172)
    rule = MirrorDescent(Euclidean(L2Ball(1.0)), far) if lazy else ProjectedGradient(L2Ball(1.0), far)
    for learner in (Linear(Hinge(), rule), Multiclass(MultiHinge(), rule)):
        with pytest.raises(DataError, match=r"row [01]: its largest number is 1e-170, .* choose other units"):
            train(learner, [[1e-170], [1e-170]], [1, -1], compiled=False)
    with pytest.raises(DataError, match="round 1: its largest number is 1e-200"):
        play(rule, [np.array([1e-200])])
    free = MirrorDescent(Euclidean(), far) if lazy else ProjectedGradient(Reals(), far)
    assert train(Linear(Hinge(), free), [[1e-170], [0.0]], [1, 1], compiled=False).rounds == 2


def test_a_ball_too_small_to_be_played_in() -> None:
    with pytest.raises(PartError, match=r"L2Ball\(radius=1e-168\) is too small .* choose units"):
        ProjectedGradient(L2Ball(TINY), Constant(RATE))


@pytest.mark.parametrize("comparator", [Windows(5), Windows(), Switching(2)], ids=repr)
def test_windows_of_costs_whose_squares_vanish(comparator: Any) -> None:
    """Nothing is promised where rates may depend on squares that are no numbers."""
    costs = [np.array([(-1.0) ** t * 1e-200]) for t in range(40)]
    assert regret(play(ProjectedGradient(L2Ball(1.0), Constant(100.0)), costs), comparator).bound is None
    assert regret(play(ProjectedGradient(L2Ball(1.0), Constant(100.0)), [1e200 * z for z in costs]), comparator).bound


def test_draws_know_of_costs_whose_squares_vanish() -> None:
    ends = np.where(np.arange(40)[:, None] % 2 == 0, [0.0, 1e-170], [1e-170, 0.0])
    drawn = Drawing(2, Hedge(1e172)).learn(ends)
    boxed = BoxHedge(-np.ones(3), np.ones(3), 1e175).learn(np.repeat(ends[:, :1] - ends[:, 1:], 3, axis=1))
    for run in (drawn, boxed):
        assert run.regret > 1e-170
        assert all(c.bound >= run.regret for c in run.certificates if c.premises_hold)


@pytest.mark.filterwarnings("error")
def test_bounds_that_are_no_numbers_say_nothing() -> None:
    x = 1e-170 * np.random.default_rng(0).normal(size=(30, 2))
    learner = Linear(Hinge(), AdaGrad(1.0, Box(-1e170, 1e170)))
    run = train(learner, x, np.sign(x[:, 0]), compiled=False)
    assert not any(math.isnan(c.bound) or math.isnan(c.promised) for c in run.certificates)


@pytest.mark.parametrize(("score", "weight"), [(500.0, 1.0), (-1.0, 1e-200)])
def test_a_slope_without_a_square_destroys_no_nag(score: float, weight: float) -> None:
    """A row rightly scored at 500 has a slope of 1e-217: 0/0 was added to what all later rates come from."""
    x = np.random.default_rng(0).normal(size=(400, 2))
    run = train(zoo.nag(Logistic()), x, np.sign(x[:, 0]), compiled=False)
    run.learn([[score / run.weights[0], 0.0]], [1.0], [weight])
    run.learn(x, np.sign(x[:, 0]))
    assert np.isfinite(run.weights).all()
    assert run.rounds == 801
    assert run.certificate.holds


@pytest.mark.parametrize("size", [1e-140, 1e-143, 3e-150, 1e-158, 1e-161, 5e-324])
@pytest.mark.parametrize("loss", [Hinge(), EpsilonInsensitive(0.1)], ids=["hinge", "epsilon"])
def test_a_row_too_short_for_its_square_destroys_no_passive_aggressive(loss: Loss, size: float) -> None:
    """The loss over a square of 1e-316 is infinite, and so were the weights."""
    run = train(zoo.pa(loss), [[1.0, 2.0], [-1.0, 0.5]], [1.0, -1.0], compiled=False)
    run.learn([[size, 0.0], [1.0, 1.0]], [-1.0, 1.0])
    assert np.isfinite(run.weights).all()
    assert run.rounds == 4
    assert all(c.holds for c in run.certificates if c.premises_hold)


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_unit_rows_of_any_size_are_learnt_alike(bias: float) -> None:
    """Beside the square of a bias, that of features of 1e-9 was nothing, and such rows were not scaled."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 3))
    learner = Multiclass(MultiHinge(), ProjectedGradient(L2Ball(3.0), Constant(0.5)), bias=bias, unit=True)
    y = np.argmax(x, axis=1)
    runs = [train(learner, size * x, y, compiled=False) for size in (1.0, 2.0**-30, 2.0**-500, 2.0**-600, 2.0**400)]
    for run in runs:
        assert run.loss == pytest.approx(runs[0].loss, rel=1e-9)
        assert run.certificate.holds
        assert run.certificate.bound == pytest.approx(runs[0].certificate.bound, rel=1e-9)
