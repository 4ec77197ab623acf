"""Rounding belongs to the certificate: what is reported is never less than what exact sums would say."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lowregret import play, train, zoo
from lowregret.certificate import Certificate
from lowregret.certificate.surrogate import surrogate_certificate
from lowregret.compile.numerics import at_most
from lowregret.convex.functions import QuadraticFunction
from lowregret.convex.leader import FollowTheLeader, FollowTheRegularisedLeader
from lowregret.domain import Box, Domain, L1Ball, L2Ball, Orthant, Point, Simplex
from lowregret.experts import AdaHedge, ExpertMixture, Hedge, MLPoly, Squint
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, Hinge, Square
from lowregret.mirror import Euclidean
from lowregret.rule import AdaGrad, DiagonalNewton, FTRLProximal, MirrorDescent, Newton, ProjectedGradient
from lowregret.run.begin import begin
from lowregret.step import Constant

pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(10)
SCALES = [1e-150, 1e-12, 1.0, 1e12, 1e150]


# ---- nothing is relative to 1 ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SCALES)
@pytest.mark.parametrize("kind", [L2Ball, L1Ball, Simplex, lambda r: Box(-r, r)], ids=["l2", "l1", "simplex", "box"])
def test_sets_know_their_own_size(kind: Any, size: float) -> None:
    domain: Domain = kind(size)
    corner = np.array([size, 0.0, 0.0])
    for inside in (corner, corner * (1 - 1e-15), corner * (1 + 1e-15)):
        assert domain.contains(inside)
        assert domain.covers(Point(inside), 3)
    for share in (1.001, 2.0, 100.0):
        assert not domain.contains(share * corner)
        assert not domain.covers(Point(share * corner), 3)


@pytest.mark.parametrize("size", SCALES)
def test_nor_is_a_point_below_zero_one_of_the_orthant(size: float) -> None:
    assert not Orthant().contains(np.array([-size, 0.0]))
    assert not Orthant().contains(np.array([-1e-3 * size, size]))
    assert Orthant().contains(np.array([0.0, size]))


def test_a_narrow_box_far_away() -> None:
    box = Box(1e6, 1e6 + 1e-9)
    assert box.contains(np.array([1e6]))
    assert not box.contains(np.array([1e6 + 1e-4]))
    assert not box.covers(Box(1e6, 1e6 + 1e-7), 1)


def test_a_comparator_outside_a_tiny_ball_fails_the_premise() -> None:
    X, y = RNG.normal(size=(100, 2)), np.ones(100)
    run = train(zoo.ogd_eager(Hinge(), 1e-14, 1e-12), X, y, comparator=Point([1e-10, 0.0]))
    assert not any(c.premises_hold for c in run.certificates)


@pytest.mark.parametrize("size", SCALES)
def test_holds_has_no_absolute_slack(size: float) -> None:
    def told(regret: float, bound: float) -> Certificate:
        return Certificate("X", "", {}, None, bound, regret=regret)

    assert told(size, size).holds
    assert told(size * (1 + 1e-12), size).holds
    assert not told(size * 1.001, size).holds
    assert not told(size, -size).holds
    assert not told(size, 0.0).holds


def test_at_most() -> None:
    assert at_most(1.0, 1.0 - 1e-10)
    assert not at_most(1.0, 1.0 - 1e-8)
    assert at_most(1e-10, 0.0, 1.0)
    assert not at_most(1e-10, 0.0)
    assert at_most(5.0, math.inf)
    assert not at_most(math.inf, 5.0)
    assert not at_most(math.nan, 5.0)
    assert at_most(-math.inf, 0.0)


@pytest.mark.parametrize("size", [1e-12, 1.0])
def test_a_vector_that_is_no_surrogate_is_seen_in_any_unit(size: float) -> None:
    points, vectors = np.zeros((3, 1)), np.full((3, 1), -size)
    losses, surrogates = np.full(3, size), np.full(3, 0.5 * size)
    found = surrogate_certificate(points, vectors, losses, surrogates, np.array([-1.0]), 1.0)
    assert not found.premises[0].holds


def test_tiny_losses_need_small_gaps() -> None:
    game = play(FollowTheLeader(L2Ball(1.0)), [QuadraticFunction([1e-9 * k, 0.0]) for k in range(6)])
    found = next(c for c in game.certificates if c.id == "LEM-2.1")
    assert found.premises[1].holds == (found.premises[1].observed <= 1e-9 * float(np.sum(np.abs(game.losses))) * 3)


# ---- exact sums ------------------------------------------------------------------------------------------------------


def exactly(run: Any, X: Any, y: Any, u: Any, loss: Any) -> Fraction:
    """Σ ℓ(p_t, y_t) − Σ ℓ(⟨u, x_t⟩, y_t), without rounding, for the scores that were made."""
    total = Fraction(0)
    for p, x, label in zip(run.scores.tolist(), X.tolist(), y.tolist(), strict=True):
        theirs = sum((Fraction(a) * Fraction(b) for a, b in zip(u, x, strict=True)), Fraction(0))
        total += loss(Fraction(p), Fraction(label)) - loss(theirs, Fraction(label))
    return total


LEARNERS = {
    "ogd": zoo.ogd(Absolute(), 0.1),
    "lazy": zoo.ogd_lazy(Absolute(), 0.1, 1.0),
    "eager": zoo.ogd_eager(Absolute(), 0.1, 1.0),
    "adaptive": zoo.ogd(Absolute()),
    "adagrad": zoo.adagrad(Absolute()),
    "pnorm": zoo.pnorm(Absolute(), 0.1, 4.0),
    "freegrad": zoo.freegrad(Absolute()),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_exact_regret_is_at_most_what_is_reported(name: str, size: float) -> None:
    """Labels that are the same but for rounding: all that is left of the regret is rounding."""
    X = np.round(RNG.normal(size=(300, 2)), 2) * size
    u = np.array([0.6, 0.3])
    y = X @ u + size * RNG.choice([0.0, 1e-16, 1e3], 300)
    run = train(LEARNERS[name], X, y, comparator=Point(u), compiled=False)
    exact = exactly(run, X, y, u.tolist(), lambda p, label: abs(p - label))
    for found in run.certificates:
        assert exact <= Fraction(found.proved) or not found.holds
    assert run.certificate.holds
    assert 0 < run.certificate.rounding <= 1e-6 * abs(run.certificate.bound) + 1e-9 * run.loss


@pytest.mark.sampled(2)
@pytest.mark.parametrize("aggregator", [Hedge(1e-17), AdaHedge(), MLPoly(), Squint()], ids=str)
@pytest.mark.parametrize("linearised", [True, False])
def test_experts_with_large_outcomes(aggregator: Any, linearised: bool) -> None:
    """(p − y)² for numbers of 1e8 leaves no digit for a regret of 1."""
    y = RNG.choice([-1e8, 1e8], 2000)
    x = np.stack([y + RNG.normal(size=2000), y + RNG.normal(size=2000), -y], axis=1)
    mixture = ExpertMixture(3, aggregator, linearised=linearised).learn(x, y)
    found = mixture.certificate
    own = [(Fraction(p) - Fraction(t)) ** 2 for p, t in zip(mixture.forecasts.tolist(), y.tolist(), strict=True)]
    best = max(
        sum(own) - sum((Fraction(a) - Fraction(t)) ** 2 for a, t in zip(x[:, k].tolist(), y.tolist(), strict=True))
        for k in range(3)
    )
    assert best <= Fraction(found.proved)
    assert found.rounding > 0
    if isinstance(aggregator, AdaHedge | Squint):
        assert found.holds


def test_rounding_is_shown() -> None:
    run = train(zoo.ogd_eager(Square(), 0.01, 1.0), RNG.normal(size=(50, 2)), np.ones(50))
    assert run.certificate.to_json()["rounding"] == run.certificate.rounding > 0
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), RNG.normal(size=(50, 2)))
    assert game.certificate.rounding > 0
    assert game.regret <= game.certificate.proved


@pytest.mark.parametrize("size", [1e-100, 1e40])
@pytest.mark.parametrize("radius", [1e-12, 1.0, 1e12])
def test_newton_in_any_unit(size: float, radius: float) -> None:
    """Squares of sub-gradients under- or overflow: the certificate says so, or is true all the same."""
    X = np.array([[1.0, 0.5], [0.25, -1.0], [1.0, 1.0]]) * size
    y = np.array([1.0, -1.0, 1.0]) * size * radius
    learner = zoo.newton(Square(), 1 / (size * radius), 1.0)
    run = train(learner, X, y, comparator=L2Ball(radius), compiled=False)
    square = lambda p, label: (p - label) ** 2  # noqa: E731
    for found in run.certificates:
        for u in ([radius, 0.0], [0.0, -radius], [0.6 * radius, 0.8 * radius]):
            if found.holds and found.proved < math.inf:
                assert exactly(run, X, y, u, square) <= Fraction(found.proved) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("size", [1.0, 1e8, 1e12])
@pytest.mark.parametrize("loss", [Square(), Absolute()], ids=str)
def test_the_best_weights_are_no_better_than_their_gap_says(loss: Any, size: float) -> None:
    """Experts that are wrong by the same large number but for its last digits."""
    from lowregret.experts.best import best_combination

    y = RNG.normal(size=(40, 1))
    x: Any = size * (1 + 1e-15 * RNG.integers(0, 9, size=(40, 1, 3)))
    found = best_combination(loss, x, y)
    assert found is not None
    for k in range(3):
        errors = [Fraction(a) - Fraction(b) for a, b in zip(x[:, 0, k].tolist(), y[:, 0].tolist(), strict=True)]
        theirs = sum(abs(e) if isinstance(loss, Absolute) else e * e for e in errors)
        assert Fraction(found.value) - Fraction(found.gap) <= theirs


@pytest.mark.parametrize("size", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize("regularised", [True, False])
def test_followers_too(size: float, regularised: bool) -> None:
    costs = RNG.normal(size=(20, 2)) * size
    euclid = Euclidean(L2Ball(1.0))
    game = play(FollowTheRegularisedLeader(euclid, 1 / size) if regularised else FollowTheLeader(L2Ball(1.0)), costs)
    theta = -costs.sum(axis=0)
    u = theta / np.linalg.norm(theta / size) / size
    exact = sum(
        (Fraction(w) - Fraction(v)) * Fraction(z)
        for point, row in zip(game.points.tolist(), costs.tolist(), strict=True)
        for w, v, z in zip(point, u.tolist(), row, strict=True)
    )
    for found in game.certificates:
        assert exact <= Fraction(found.proved) or not found.holds
    assert game.certificate.holds


@pytest.mark.parametrize("total", [1.0, 2.0, 3.7])
def test_entropies_that_cancel_are_rounded(total: float) -> None:
    """Of one weight, which cannot move, LEM-2.20 takes (R(u) + R*(ηθ))/η, which is next to nothing of either."""
    rng = np.random.default_rng(0)
    for size in (1e-99, 1e-16, 1e-8, 1.0):
        for _ in range(10):
            x = size * rng.normal(size=(rng.integers(1, 30), 1))
            for found in train(zoo.eg(Cost(), 0.25, total), x, np.ones(len(x))).certificates:
                assert found.holds or not found.premises_hold, found
                assert found.proved >= 0 or not found.premises_hold


@pytest.mark.parametrize("delay", [None, 7])
@pytest.mark.parametrize(
    "learner", [zoo.ogd(Absolute(), 0.01), zoo.adagrad(Absolute()), zoo.ogd_eager(Absolute(), 0.01)]
)
def test_a_centre_far_away_counts(learner: Linear, delay: int | None) -> None:
    """Labels near ⟨w₀, x⟩ cost little, but scores are as large as that, and rounded."""
    for n, size in ((50, 1e4), (50, 1e12), (800, 1e8)):
        x, w0 = RNG.normal(size=(n, 3)), size * RNG.normal(size=3)
        y = x @ w0 + 3 * RNG.normal(size=n)
        run = begin(replace(learner, centre=w0), 3, delay=delay, compiled=False).learn(x, y)
        scores, theta = run.scores, run.deliver().state.theta
        u = (1 - 1e-12) * theta / np.linalg.norm(theta)
        exact = Fraction(0)
        for row, label, score in zip(x, y, scores, strict=True):
            theirs = sum(
                (Fraction(v) * (Fraction(a) + Fraction(b)) for v, a, b in zip(row, w0, u, strict=True)), Fraction(0)
            )
            exact += Fraction(learner.loss.at(float(score), float(label))[1]) * (Fraction(float(score)) - theirs)
        assert all(exact <= Fraction(c.proved) for c in run.certificates)


@pytest.mark.parametrize("outside", [1e-12, 1e-11, 1e-10, 9e-10])
def test_a_comparator_let_pass_just_outside_is_proved_nothing_false(outside: float) -> None:
    """LEM-2.20 is tight, and falls short by what the comparator lies outside, times the sum of the costs."""
    u, rule = Point(np.array([-1.0 - outside])), MirrorDescent(Euclidean(L2Ball(1.0)), Constant(1.0))
    run = train(Linear(Cost(), rule), np.ones((50, 1)), np.ones(50), comparator=u, compiled=False)
    exact = sum((Fraction(p) - Fraction(float(u.u[0])) for p in run.scores.tolist()), Fraction(0))
    for c in run.certificates:
        assert not c.premises_hold or exact <= Fraction(c.proved), c


def test_what_premises_of_surrogates_let_pass_is_rounding() -> None:
    points = np.array([[1.0], [1.0 + 9e-10]])
    losses, vectors = np.array([0.0, 1.0 + 9e-10]), np.array([[0.0], [1.0]])
    found = surrogate_certificate(points, vectors, losses, np.zeros(2), np.zeros(1), 1.0)
    assert found.premises_hold
    assert losses.sum() <= found.proved


# ---- bounds that are differences of much larger sums -----------------------------------------------------------------


def _against_the_last(seed: int, rule: Any) -> tuple[Fraction, list[Certificate]]:
    """The regret against the iterate after the last round, exactly, and what is certified of it."""
    rng = np.random.default_rng(seed)
    d, rounds = int(rng.integers(1, 3)), int(rng.integers(2, 80))
    X = rng.normal(size=(rounds, d)) * 10.0 ** rng.choice([0, 0, 0, 2, -3, 4], size=(rounds, 1))
    y = rng.normal(size=rounds) * 10.0 ** rng.choice([0, 3, 6])
    if rng.random() < 0.5:
        y = np.abs(y) + 1e7
    run = train(Linear(Absolute(), rule), X, y)
    run.comparator = Point(run.point)
    u = [Fraction(float(v)) for v in run.point]
    ours, theirs = Fraction(0), Fraction(0)
    for x, label, score in zip(X, y, run.scores, strict=True):
        ours += abs(Fraction(float(score)) - Fraction(float(label)))
        theirs += abs(sum(a * Fraction(float(b)) for a, b in zip(u, x, strict=True)) - Fraction(float(label)))
    return ours - theirs, [c for c in run.certificates if c.premises_hold]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "rule",
    [
        DiagonalNewton(0.1),
        DiagonalNewton(10.0, domain=Box(1e6, 1e6 + 3)),
        AdaGrad(0.1, Box(1e6, 1e6 + 3)),
        FTRLProximal(0.1, l1=0.0, l2=0.0),
        Newton(0.1),
        Newton(100.0),
    ],
    ids=["diagonal", "diagonal-far", "adagrad-far", "ftrl", "newton", "newton-firm"],
)
def test_parabolas_of_each_coordinate_are_not_promised_too_little(rule: Any, seed: int) -> None:
    exact, found = _against_the_last(seed, rule)
    for c in found:
        assert c.holds, c
        assert c.bound == math.inf or exact <= Fraction(c.promised), c
        assert exact <= Fraction(c.proved), c


def test_they_promise_no_more_than_a_millionth_above_on_plain_numbers() -> None:
    X, y = RNG.normal(size=(200, 3)), RNG.normal(size=200)
    for rule in (DiagonalNewton(), AdaGrad(), FTRLProximal(), Newton()):
        for c in train(Linear(Square(), rule), X, y).certificates:
            assert c.rounding <= 1e-6 * c.bound, c
