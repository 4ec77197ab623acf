"""Risk of games, kernels and structures, and bounds promised before the run: formulas, premises, and the truth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lowregret import KernelPerceptron, tuned, zoo
from lowregret.convex.functions import QuadraticFunction, ScoreFunction
from lowregret.convex.leader import FollowTheRegularisedLeader
from lowregret.domain import Box, Domain, L2Ball, Reals
from lowregret.errors import DataError, PartError
from lowregret.learner.kernel_perceptron import Gaussian
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Absolute, Hinge, Logistic, Loss, PerceptronLoss, Softmax
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last, Output, Random, WeightedAverage
from lowregret.play import Game, play
from lowregret.risk.online_to_batch import AVERAGE, DRAWN, WEIGHTED, RiskCertificate
from lowregret.rule import AdaGrad, MirrorDescent, ProjectedGradient
from lowregret.run.amplify import amplify, runs_needed
from lowregret.step import Constant, InverseTime, WeightedInverseTime
from lowregret.structured import Chain, Classes, StructuredRun, sequences, structured_perceptron, structured_svm
from lowregret.train import train
from lowregret.types import Vector


def by_id(found: list[RiskCertificate]) -> dict[str, RiskCertificate]:
    return {c.id: c for c in found}


def quadratics(n: int, seed: int) -> list[Any]:
    """½‖w − z‖² with z on the corners of a square: C(w) = ½(‖w − m‖² + E‖z − m‖²), m = (0.2, 0)."""
    rng = np.random.default_rng(seed)
    corners = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, 0.5], [-0.5, -0.5]])
    return [QuadraticFunction(z, 1.0) for z in corners[rng.choice(4, n, p=[0.35, 0.35, 0.15, 0.15])]]


def risk(w: Any) -> float:
    return 0.5 * (float((w[0] - 0.2) ** 2 + w[1] ** 2) + 0.5 - 0.04)


GAMES: dict[str, tuple[Any, Output, str]] = {
    "averaged": (ProjectedGradient(L2Ball(1.0), Constant(0.1)), Average(), AVERAGE),
    "drawn": (MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), Random(3), DRAWN),
    "weighted": (ProjectedGradient(L2Ball(1.0), WeightedInverseTime(1.0)), WeightedAverage(), WEIGHTED),
    "leader": (FollowTheRegularisedLeader(Euclidean(L2Ball(1.0)), 0.5), Average(), AVERAGE),
}


@pytest.mark.parametrize("name", GAMES)
def test_games_of_independent_functions_bound_the_risk(name: str) -> None:
    """Over many games: no bound fails more often than δ, those in expectation hold on average; C is known exactly."""
    player, output, called = GAMES[name]
    wrong, excess, loss = {"O2B-EB": 0, "O2B-HP": 0}, [], []
    for seed in range(60):
        game = play(player, quadratics(60, seed), comparator=L2Ball(1.0))
        c = risk(game.model(output))
        found = by_id(game.risks(0.1, output=output, ceiling=2.0, independent=True))
        assert all(x.premises_hold and x.output == called for x in found.values())
        for kind in wrong:
            wrong[kind] += c > found[kind].bound
        loss.append(found["THM-5.1"].bound - c)
        excess.append(found["COR-5.2"].bound - (c - risk((0.2, 0.0))))
    assert max(wrong.values()) <= 6 + 3 * math.sqrt(6)
    slack = 4 / math.sqrt(60)
    assert np.mean(loss) >= -slack * np.std(loss)
    assert np.mean(excess) >= -slack * np.std(excess)


def test_the_numbers_of_a_game() -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), quadratics(40, 0))
    found, losses = by_id(game.risks(0.05, ceiling=2.0)), game.losses
    assert found["THM-5.1"].bound == pytest.approx(losses.mean())
    assert found["O2B-HP"].bound == pytest.approx(losses.mean() + 2 * math.sqrt(math.log(20) / 80))
    assert found["COR-5.2"].bound == pytest.approx(game.linear_regret() / 40)
    assert not any(c.premises_hold for c in found.values())  # independence was not said
    assert by_id(game.risks(independent=True)).keys() == {"THM-5.1", "COR-5.2"}  # without M, in expectation
    low = game.risks(0.05, ceiling=0.2, independent=True)
    assert [c.premises_hold for c in low if c.delta is not None] == [False, False]
    assert game.risks(output=Last()) == []
    assert "COR-5.2" not in by_id(game.risks(output=WeightedAverage()))  # its regret is not weighted


def test_models_of_a_game() -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), quadratics(25, 1))
    a = np.arange(2, 27) / np.arange(2, 27).sum()
    assert np.allclose(game.model(), game.points.mean(0))
    assert np.allclose(game.model(WeightedAverage()), a @ game.points)
    assert np.array_equal(game.model(Last()), game.seat.point())
    drawn = [game.model(Random(seed)) for seed in range(200)]
    assert all(any(np.array_equal(w, p) for p in game.points) for w in drawn)
    assert len({w.tobytes() for w in drawn}) > 15
    assert np.array_equal(Game(game.player, 2).model(), np.zeros(2))


# ---- kernels and structures ------------------------------------------------------------------------------------------


def test_kernel_runs_bound_the_error() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    y = np.where(np.sum(X * X, axis=1) > 1.4, 1.0, -1.0)
    run = train(KernelPerceptron(Gaussian(1.0)), X, y, compiled=False)
    assert not any(c.premises_hold for c in run.risks())
    found = by_id(run.risks(0.05, independent=True))
    assert found["THM-5.1"].bound == pytest.approx(run.error)
    assert found["O2B-HP"].bound == pytest.approx(run.error + math.sqrt(math.log(20) / 600))
    assert found["O2B-SMALL"].bound == pytest.approx((run.mistakes + math.log(20)) / ((1 - math.exp(-1)) * 300))
    assert run.error < found["O2B-EB"].bound < 1
    assert all(c.premises_hold and c.output == DRAWN for c in found.values())


def test_structured_runs_bound_the_error() -> None:
    rng = np.random.default_rng(3)
    letters = rng.integers(0, 3, 400)
    data = sequences(np.eye(3)[letters], letters, lengths=[4] * 100)
    run = train(structured_perceptron(Chain(3)), data)
    found = by_id(run.risks(independent=True))
    assert found["THM-5.1"].bound == pytest.approx(run.mistakes / 100)
    assert {"O2B-EB", "O2B-HP", "O2B-SMALL"} <= found.keys()
    assert all(c.premises_hold for c in found.values())


# ---- promised before the run -----------------------------------------------------------------------------------------


def rows(n: int, seed: int, margin: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8 * n, 3))
    X /= np.linalg.norm(X, axis=1)[:, None]
    X = X[np.abs(X[:, 0]) > margin][:n]
    return X, np.where(X[:, 0] > 0, 1.0, -1.0)


def test_the_perceptrons_promises() -> None:
    X, y = rows(200, 4, 0.3)
    u = np.array([2.0, 0.0, 0.0])
    run = train(zoo.perceptron(Random()), X, y, compiled=False)
    found = by_id(run.promised_risks(u, X, y, 0.05))
    hinge, least = float(np.mean(np.maximum(1 - y * (X @ u), 0))), float(np.min(y * (X @ u)))
    assert found["PROP-3"].bound == pytest.approx(2 * hinge + 4 / 200)
    lam = np.exp(np.linspace(-6, 4, 2001))
    best = np.min((lam * 4 / least**2 + math.log(20)) / (1 - np.exp(-lam))) / 200
    assert found["PROP-4"].bound == pytest.approx(best, rel=1e-4)
    assert found["PROP-4"].premises_hold
    assert any("assumed" in p.name for p in found["PROP-4"].premises)
    X, y = rows(100, 5)
    crossed = train(zoo.perceptron(), X, -y, compiled=False).promised_risks(u, X, -y)
    assert not by_id(crossed)["PROP-4"].premises_hold


def test_promises_of_descent_and_of_a_ridge() -> None:
    X, y = rows(150, 6)
    u, longest = np.array([0.8, 0.0, 0.0]), float(np.max(np.linalg.norm(X, axis=1)))
    run = train(zoo.ogd_eager(Hinge(), 0.1, 1.0, Average()), X, y, compiled=False)
    found = by_id(run.promised_risks(u, X, y, 0.05))["THM-14.9"]
    mean = float(np.mean(np.maximum(1 - y * (X @ u), 0)))
    ceiling = 1 + longest
    expected = mean + 0.64 / (0.2 * 150) + 0.05 * longest**2 + ceiling * math.sqrt(2 * math.log(40) / 150)
    assert found.bound == pytest.approx(expected)
    assert found.premises_hold
    outside = by_id(run.promised_risks(3 * u, X, y))["THM-14.9"]
    assert not outside.premises_hold
    for learner, name in ((zoo.ogd_sc(Hinge(), 0.5), "COR-13a"), (zoo.ogd_scw(Hinge(), 0.5), "COR-13b")):
        bound = by_id(train(learner, X, y, compiled=False).promised_risks(u, X, y))[name].bound
        square = (longest + 0.5 * longest / 0.5) ** 2  # ‖w‖ ≤ G/λ
        exact = math.log(math.e * 150) * square / 150 if name == "COR-13a" else 2 * square / (0.5 * 153)
        assert bound == pytest.approx(exact)
    assert train(zoo.kt(Hinge()), X, y, compiled=False).promised_risks(u, X, y) == []
    with pytest.raises(PartError, match="weights of 1"):
        train(zoo.perceptron(), X, y, weights=np.full(150, 2.0), compiled=False).promised_risks(u, X, y)


def test_a_promise_counts_from_where_descent_begins() -> None:
    """THM-14.9 with ‖u − w₁‖² of a start or a centre far off, and ‖u‖² − ‖w₁‖² of lazy projections on a set without 0.

    |w − y| of constant rows: C is the mean loss, and known.
    """
    n, eta = 20_000, 1e-4
    ones, far = np.ones((n, 1)), np.array([-5.0])
    eager, u = ProjectedGradient(L2Ball(6.0), Constant(eta), start=far), np.array([2.0])
    centred = Linear(Absolute(), ProjectedGradient(L2Ball(8.0), Constant(eta)), Average(), centre=far)
    lazy = Linear(Absolute(), MirrorDescent(Euclidean(Box(1.0, 2.0)), Constant(eta)), Average())
    for learner, away in ((Linear(Absolute(), eager, Average()), 49.0), (centred, 49.0), (lazy, 3.0)):
        run = train(learner, ones, np.full(n, 2.0))
        found = by_id(run.promised_risks(u, ones, np.full(n, 2.0)))["THM-14.9"]
        assert found.premises_hold
        assert abs(float(run.weights[0]) - 2.0) <= found.bound
        ceiling = learner.loss.highest(13.0 if learner is centred else 2.0 if learner is lazy else 6.0, 2.0)
        deviation = ceiling * math.sqrt(2 * math.log(40) / n)
        assert found.bound == pytest.approx(away / (2 * eta * n) + eta / 2 + deviation)


def test_a_ridge_promises_at_its_own_rate_and_from_its_start() -> None:
    """COR-13 speaks of η_t = 1/(λt) with the λ of the ridge, and of sub-gradients at w₁ as well."""
    X, y = rows(50, 7)
    for step in (InverseTime(2.0), WeightedInverseTime(2.0)):
        learner = Linear(Hinge(), ProjectedGradient(Reals(), step), Average(), ridge=0.5)
        assert train(learner, X, y, compiled=False).promised_risks(np.zeros(3), X, y) == []
    begun = ProjectedGradient(Reals(), InverseTime(0.5), start=np.array([30.0, 0.0, 40.0]))
    run = train(Linear(Hinge(), begun, Average(), ridge=0.5), X, y, compiled=False)
    longest = float(np.max(np.linalg.norm(X, axis=1)))
    found = by_id(run.promised_risks(np.zeros(3), X, y))["COR-13a"]
    assert found.bound == pytest.approx(math.log(math.e * 50) * (longest + 25.0) ** 2 / 50)


def test_the_perceptrons_promises_count_from_0() -> None:
    X, y = rows(50, 8, 0.3)
    centred = replace(zoo.perceptron(), centre=np.array([-40.0, 0.0, 0.0]))
    assert train(centred, X, y, compiled=False).promised_risks(np.array([2.0, 0.0, 0.0]), X, y) == []


# ---- amplification ---------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_several_runs_make_a_bound_in_expectation_one_with_high_probability() -> None:
    """Small shares and a coarse rate, so that single runs differ; C is estimated on many new rows."""
    delta, n = 0.2, 400
    k = runs_needed(delta)
    assert k == math.ceil(math.log2(10))
    share = n // 2 // k
    learner, promise = tuned(zoo.ogd_lazy(Hinge(), 1.0, 1.0, Average()), lipschitz=1.0, rounds=share)
    epsilon, fresh, wrong = promise.bound / share, rows(20_000, 99), 0
    best = float(np.mean(np.maximum(1 - fresh[1] * fresh[0][:, 0], 0)))
    for seed in range(20):
        X, y = rows(n, seed)
        found = amplify(learner, X, y, excess=epsilon, ceiling=2.0, delta=delta, independent=True, compiled=False)
        assert found.losses.size == k
        assert found.certificate.premises_hold
        assert any("u the best of l2-ball (assumed)" in p.name for p in found.certificate.premises)
        c = float(np.mean(np.maximum(1 - fresh[1] * found.run.decision_function(fresh[0]), 0)))
        wrong += c - best > found.certificate.bound
        assert found.run.rounds == share
    assert wrong <= 4
    assert found.certificate.bound == pytest.approx(
        2 * epsilon + 2 * math.sqrt(2 * math.log(4 * k / delta) / (n - k * share))
    )
    assert not amplify(
        learner, X, y, excess=0.1, ceiling=0.1, compiled=False, independent=True
    ).certificate.premises_hold


@pytest.mark.thorough
def test_amplified_runs_draw_their_models_apart() -> None:
    """w walks from 0 to u = 1 in 30 of 90 rounds: by the same coins all draw badly at once."""
    delta, share, failed = 0.01, 90, 0
    learnt, epsilon = runs_needed(delta) * share, float(np.mean(1 - np.minimum(np.arange(share) / 30, 1.0)))
    X = np.ones((learnt + 20_000, 1))
    for seed in (*range(24), 2**63 - 1, -(2**63)):
        learner = zoo.ogd_eager(Absolute(), 1 / 30, output=Random(seed))
        found = amplify(
            learner, X, np.ones(len(X)), excess=epsilon, ceiling=2.0, delta=delta, held=1 - (learnt + 0.5) / len(X),
            independent=True,
        )  # fmt: skip
        failed += abs(1 - float(found.run.weights[0])) > found.certificate.bound
    assert not failed


def test_amplification_refuses_too_few_rows() -> None:
    X, y = rows(5, 0)
    with pytest.raises(DataError, match="too few"):
        amplify(zoo.ogd(Logistic(), 0.1), X, y, excess=0.1, ceiling=1.0)
    X, y = rows(100, 0)
    with pytest.raises(PartError, match="ceiling"):
        amplify(zoo.ogd(Logistic(), 0.1), X, y, excess=0.1, ceiling=0.0)


def test_rows_of_a_game_are_as_good_as_functions() -> None:
    X, y = rows(80, 7)
    functions = [ScoreFunction(Hinge(), x, b) for x, b in zip(X, y, strict=True)]
    game = play(MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), functions)
    run = train(zoo.ogd_lazy(Hinge(), 0.1, 1.0, Average()), X, y, compiled=False)
    assert np.allclose(game.model(), run.weights)
    assert by_id(game.risks())["THM-5.1"].bound == pytest.approx(by_id(run.risks())["THM-5.1"].bound)


def test_promises_know_the_longest_row_whatever_the_output() -> None:
    """The Perceptron hands out its newest weights unless told otherwise; rows were taken to be of no length then."""
    x = 5 * np.random.default_rng(0).normal(size=(200, 3))
    signs, u = np.where(x[:, 0] > 0, 1.0, -1.0), np.array([1.0, 0.0, 0.0])
    bounds = [
        [c.bound for c in train(zoo.perceptron(output=output), x, signs, compiled=False).promised_risks(u, x, signs)]
        for output in (Last(), Average())
    ]
    assert bounds[0] == pytest.approx(bounds[1])
    assert bounds[0][0] >= float(np.max(np.sum(x * x, axis=1))) / 200


def test_promises_are_of_the_rows_that_were_learnt() -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    run = train(zoo.perceptron(), x, np.sign(x[:, 0]), compiled=False)
    with pytest.raises(DataError, match="rows that were learnt"):
        run.promised_risks(np.zeros(3), np.tile(x, (9, 1)), np.tile(np.sign(x[:, 0]), 9))


def test_errors_drawn_from_many_classes_have_the_premises_of_all() -> None:
    rng = np.random.default_rng(1)
    x, classes = rng.normal(size=(300, 3)), np.repeat([0, 1, 2], 100)
    ordered = train(zoo.mc_perceptron(), x, classes, compiled=False).drawn_error(np.zeros((3, 3)), x, classes)
    assert not ordered.premises_hold
    classes = rng.permutation(classes)
    assert (
        train(zoo.mc_perceptron(), x, classes, compiled=False).drawn_error(np.zeros((3, 3)), x, classes).premises_hold
    )
    softmax = train(Multiclass(Softmax(), AdaGrad(0.5)), x, classes, compiled=False)
    with pytest.raises(PartError, match="mc_perceptron"):
        softmax.drawn_error(np.zeros((3, 3)), x, classes)


def test_errors_drawn_from_structures_rest_on_a_word_and_on_the_perceptron() -> None:
    x, classes = np.random.default_rng(1).normal(size=(20, 2)), np.arange(20) % 2
    run = train(structured_perceptron(Classes(2)), x, classes, compiled=False)
    assert isinstance(run, StructuredRun)
    assert not run.drawn_error(np.zeros(4), x, classes).premises_hold
    assert run.drawn_error(np.zeros(4), x, classes, independent=True).premises_hold
    machine = train(structured_svm(Classes(2)), x, classes, compiled=False)
    assert isinstance(machine, StructuredRun)
    with pytest.raises(PartError, match="structured Perceptron"):
        machine.drawn_error(np.zeros(4), x, classes)


# ---- units that are out of all proportion ----------------------------------------------------------------------------


def test_promises_against_a_u_whose_square_vanishes() -> None:
    """‖u‖ was 0, and PROP-4 promised an error of 1.5 % whatever the margin."""
    X, y = rows(200, 7, 0.001)
    run, again = (train(zoo.perceptron(), X * size, y, compiled=False) for size in (1.0, 1e150))
    told = by_id(run.promised_risks([1.0, 0.0, 0.0], X, y))
    small = by_id(again.promised_risks([1e-170, 0.0, 0.0], X * 1e150, y))
    assert small["PROP-4"].bound == pytest.approx(told["PROP-4"].bound, rel=1e-6)
    large = by_id(again.promised_risks([1e150, 0.0, 0.0], X * 1e150, y))
    assert large["PROP-4"].bound == pytest.approx(told["PROP-4"].bound, rel=1e-6)


def test_margins_that_are_rounding() -> None:
    """⟨u, x⟩ is −½ and is computed as ½: a margin that rounding may have made is none."""
    X, u = np.array([[2.0**54, -1.0, -(2.0**54), 0.5]]), np.ones(4)
    run = train(zoo.perceptron(), np.tile(X, (3, 1)), np.ones(3), compiled=False)
    found = by_id(run.promised_risks(u, np.tile(X, (3, 1)), np.ones(3)))["PROP-4"]
    assert not found.premises_hold


def test_margins_of_classes_and_structures_whose_u_is_tiny() -> None:
    """Of u and γ in the same small units the same is said: a factor of both changes nothing."""
    X, u = np.random.default_rng(8).normal(size=(60, 2)), np.array([[-1.0, 1.0], [0.0, 0.0]])
    y = (X[:, 0] > 0).astype(int)
    run = train(structured_perceptron(Classes(2)), X, y, compiled=False)
    assert isinstance(run, StructuredRun)
    told, small = (run.drawn_error(scale * u.ravel(), X, y, margin=scale) for scale in (1.0, 1e-170))
    assert small.bound == pytest.approx(told.bound)
    classes = train(Multiclass(PerceptronLoss(), zoo.ogd(Hinge(), 1.0).rule), X, y, compiled=False)
    wide = [
        next(c for c in classes.mistake_certificates(scale * u, X, y, margin=scale) if c.id == "THM-14.2").bound
        for scale in (1.0, 1e-170)
    ]
    assert wide[1] == pytest.approx(wide[0])


@pytest.mark.parametrize("ceiling", [0.0, 1e-200, 1e200, math.inf])
def test_ceilings_whose_squares_are_no_numbers(ceiling: float) -> None:
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1)), np.zeros((20, 2)))
    found = by_id(game.risks(ceiling=ceiling, independent=True))
    assert ("O2B-EB" in found) == (ceiling < 1)


class Cheap(Loss):
    """3|p − y|, which says that its slope is 0.01 at most."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return 3 * abs(p - y), 3.0 if p > y else -3.0

    def highest(self, reach: float, label: float) -> float:
        return 3 * (reach + label)

    @property
    def lipschitz(self) -> float:
        return 0.01


class Short(L2Ball):
    """A ball that says it is a hundredth as large as it is."""

    def projection(self, v: Vector) -> Vector:
        return v / max(1.0, float(np.linalg.norm(v)) / self.radius)

    def factor(self, mass: float) -> float:
        return min(1.0, self.radius / math.sqrt(mass)) if mass > 0 else 1.0

    def reach(self, q: float, d: int) -> float:
        return 0.01 * self.radius

    def support(self, v: Vector) -> float:
        return self.radius * float(np.linalg.norm(v))

    def diameter(self, d: int) -> float:
        return 0.02 * self.radius

    def covers(self, other: Domain, d: int) -> bool:
        return other.reach(2, d) <= self.radius


@pytest.mark.parametrize(
    ("learner", "name"),
    [
        (Linear(Cheap(), ProjectedGradient(Reals(), InverseTime(0.5)), Average(), ridge=0.5), "COR-13a"),
        (Linear(Cheap(), ProjectedGradient(L2Ball(5.0), Constant(0.1)), Average()), "THM-14.9"),
        (Linear(Absolute(), ProjectedGradient(Short(5.0), Constant(0.1)), Average()), "THM-14.9"),
        (Linear(Absolute(), ProjectedGradient(Short(5.0), InverseTime(0.5)), Average(), ridge=0.5), "COR-13a"),
    ],
)
def test_nothing_is_promised_by_parts_that_are_not_what_they_say(learner: Linear, name: str) -> None:
    y = np.random.default_rng(8).normal(1.0, 1.0, 50)
    run = train(learner, np.ones((50, 1)), y, compiled=False)
    found = by_id(run.promised_risks(np.array([1.0]), np.ones((50, 1)), y))[name]
    assert not run.certificate.premises_hold
    assert not found.premises_hold
