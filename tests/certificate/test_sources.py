"""Theorems in the forms that their sources print: the numbers that a reader computes, weaker than the sharper ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.bandit import Bandit, Exp3
from lowregret.certificate import Certificate
from lowregret.convex.functions import ScoreFunction
from lowregret.convex.leader import FollowTheRegularisedLeader
from lowregret.domain import L2Ball, Point, Reals, Simplex
from lowregret.errors import PartError
from lowregret.finite import SurrogateHalving, dimensions, make_hypotheses
from lowregret.hindsight.best import best_in_hindsight
from lowregret.learner.delayed import Delayed
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, EpsilonInsensitive, Hinge, Loss
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.play import play
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.delayed import delayed
from lowregret.step import Adaptive, Constant, CountingRounds, InverseSqrt, InverseTime, PassiveAggressive
from lowregret.train import train
from tests.naive import Matrix, Vector

pytestmark = pytest.mark.usefixtures("interpreted")


def by_id(found: list[Certificate]) -> dict[str, Certificate]:
    return {c.id: c for c in found}


def rows(n: int, d: int, seed: int) -> tuple[Matrix, Vector]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)


# ---- gradient and mirror descent -------------------------------------------------------------------------------------


def test_the_sources_numbers_of_gradient_descent() -> None:
    """η Σ‖z‖² instead of (η/2)Σ‖z‖²; against ‖u‖ ≤ 1."""
    X, y = rows(60, 3, 0)
    eta = 0.2
    for learner, name in ((zoo.ogd(Hinge(), eta), "THM-2.4"), (zoo.ogd_lazy(Hinge(), eta, 1.0), "COR-2.17")):
        run = train(learner, X, y, compiled=False)
        energy = sum(float(x @ x) for x, p, label in zip(X, run.scores, y, strict=True) if label * p < 1)
        found = by_id(run.certificates)
        assert found[name].bound == pytest.approx(1 / (2 * eta) + eta * energy)
        assert found[name].bound == pytest.approx(found["THM-2.15"].bound)
        assert found[name].bound > run.certificate.bound
        assert found[name].holds


def test_the_source_leaves_out_the_start() -> None:
    """COR-2.13 and 2.17 have ‖u‖², not ‖u‖² − ‖w₁‖², which is less where 0 is not in the set."""
    costs = np.random.default_rng(1).random((30, 4))
    rule = MirrorDescent(Euclidean(Simplex()), Constant(0.3))
    lazy, leader = play(rule, costs), play(FollowTheRegularisedLeader(Euclidean(Simplex()), 0.3), costs)
    energy = float(np.sum(costs**2))
    assert by_id(lazy.certificates)["COR-2.17"].bound == pytest.approx(1 / 0.6 + 0.3 * energy)
    found = by_id(leader.certificates)
    assert found["COR-2.13"].bound == pytest.approx(1 / 0.6 + 0.3 * energy)
    assert found["THM-2.11"].bound == pytest.approx((1 - 1 / 4) / 0.6 + 0.3 * energy)
    assert found["THM-2.11+"].bound < found["THM-2.11"].bound < found["COR-2.13"].bound
    assert all(c.holds for c in found.values())


@pytest.mark.parametrize("mirror", [Euclidean(L2Ball(1.0)), Entropy(), PNorm(3.0)], ids=lambda m: type(m).__name__)
def test_the_second_term_is_twice_that_of_the_sharper_theorem(mirror: Any) -> None:
    costs = np.random.default_rng(2).normal(size=(40, 3))
    found = by_id(play(MirrorDescent(mirror, Constant(0.1)), costs).certificates)
    first = 2 * found["THM-2.21"].bound - found["THM-2.15"].bound  # a + b/2 and a + b
    highest = mirror.highest(play(MirrorDescent(mirror, Constant(0.1)), costs).comparator, 3)
    assert first == pytest.approx((highest - mirror.value(mirror.link(np.zeros(3)))) / 0.1)


def test_the_online_svm_of_the_source() -> None:
    """λ = 1, ‖[x, 1]‖ = √2, η_t = 1/√t, T = 100: 2λ²√T + G²(√T − ½) = 39."""
    rng = np.random.default_rng(3)
    X = np.eye(4)[rng.integers(0, 4, 100)]
    run = train(zoo.svm_online(1.0), X, rng.choice([-1.0, 1.0], 100), compiled=False)
    found = by_id(run.certificates)
    assert found["ONLINE-SVM"].bound == pytest.approx(39.0)
    assert found["THM-4.1.3"].bound == pytest.approx(39.0)
    assert found["EAGER-DEC"].bound <= 39.0
    assert found["ONLINE-SVM"].holds
    assert "ONLINE-SVM" not in by_id(
        train(zoo.ogd_sqrt(Hinge(), 1.0), X, run.scores * 0 + 1, compiled=False).certificates
    )


def test_nothing_is_said_of_an_unbounded_domain() -> None:
    X, y = rows(20, 2, 4)
    run = train(Linear(Hinge(), ProjectedGradient(Reals(), InverseSqrt(1.0))), X, y, compiled=False)
    assert not by_id(run.certificates)["THM-4.1.3"].premises_hold


# ---- the dual, climbed round by round --------------------------------------------------------------------------------


def dual_value(alphas: Vector, X: Matrix, y: Vector, c: float, offset: float) -> float:
    """−(C/2)‖Σα_t y_t x_t‖² + Σα_t·offset of the hinge, α ∈ [0, 1]: no ‖u‖²/(2C) + Σf_t(u) is less."""
    theta = (alphas * y) @ X
    return -c / 2 * float(theta @ theta) + offset * float(alphas.sum())


@given(st.integers(1, 40), st.integers(1, 4), st.floats(0.05, 5.0), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_passive_aggressive_steps_climb_the_dual(n: int, d: int, c: float, seed: int) -> None:
    """DUAL: Σf_t(w_t) + ‖u‖²/(2C) − the dual's value at the α that the steps were, written down from the whole run."""
    X, y = rows(n, d, seed)
    run = train(zoo.pa(C=c), X, y, compiled=False)
    margins = 1 - y * run.scores
    squares = np.sum(X * X, axis=1)
    alphas = np.minimum(1.0, np.maximum(margins, 0.0) / (c * squares))
    found = by_id(run.certificates)["DUAL"]
    assert found.bound == pytest.approx(1 / (2 * c) + run.loss - dual_value(alphas, X, y, c, 1.0), rel=1e-9, abs=1e-9)
    best = best_in_hindsight(Hinge(), X, y, L2Ball(1.0))
    assert run.loss - best.value <= found.bound + 1e-9 * (1 + run.loss)
    full = np.where(margins > 0, 1.0, 0.0)  # the sub-gradient itself, as mirror descent takes it, adds no more
    gains = alphas * margins - c / 2 * alphas**2 * squares
    assert np.all(gains >= full * margins - c / 2 * full * squares - 1e-9)


@pytest.mark.parametrize("loss", [EpsilonInsensitive(0.1), EpsilonInsensitive(0.0)], ids=repr)
def test_the_dual_of_regression(loss: Loss) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(80, 3))
    y = X @ [0.5, -0.3, 0.1] + 0.1 * rng.normal(size=80)
    run = train(zoo.pa(loss, C=0.3), X, y, compiled=False)
    found = by_id(run.certificates)
    assert run.loss - best_in_hindsight(loss, X, y, L2Ball(1.0)).value <= found["DUAL"].bound
    assert found["LEM-2.5"].linear_regret is not None
    for other in (zoo.pa(loss), zoo.pa_ii(loss), zoo.pa(Absolute(), C=0.3)):
        assert "DUAL" not in by_id(train(other, X, y, compiled=False).certificates)


def test_the_dual_is_climbed_from_where_one_starts() -> None:
    """A start that is far off loses much: ‖u − w₁‖² stands in DUAL, and not ‖u‖²."""
    rng = np.random.default_rng(8)
    X, u = rng.normal(size=(40, 3)), np.array([0.3, 0.6, -0.3])
    y = np.sign(X @ u)
    rule = ProjectedGradient(Reals(), PassiveAggressive(1.0), start=np.array([50.0, -30.0, 20.0]))
    run = train(Linear(Hinge(), rule), X, y, comparator=Point(u), compiled=False)
    found = by_id(run.certificates)["DUAL"]
    assert float(u @ u) / 2 < run.regret(u, X, y) - 40
    assert run.regret(u, X, y) <= found.bound


# ---- late answers, counted by rounds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", [InverseSqrt(0.7), InverseTime(0.5)], ids=repr)
@pytest.mark.parametrize("delay", [0, 1, 5])
def test_late_answers_counted_by_rounds(inner: Any, delay: int) -> None:
    """w_{t+1} = Π(w_t − η_t z_{t−τ}), no step while t ≤ τ: as printed, in plain NumPy."""
    rng = np.random.default_rng(6)
    costs, radius = rng.normal(size=(40, 3)), 0.8
    w, points = np.zeros(3), []
    for t in range(1, 41):
        points.append(w)
        if t > delay:
            eta = 0.7 / math.sqrt(t) if isinstance(inner, InverseSqrt) else 1 / (0.5 * t)
            w = w - eta * costs[t - 1 - delay]
            w = w * min(1.0, radius / max(float(np.linalg.norm(w)), 1e-300))
    rule = ProjectedGradient(L2Ball(radius), CountingRounds(inner, delay))
    game = play(Delayed(rule, delay), costs)
    assert np.allclose(game.points, points, atol=1e-12)
    assert game.certificate.holds
    assert not delay or {"DELAY", "EAGER-DEC+DRIFT"} <= by_id(game.certificates).keys()
    answered = play(Delayed(ProjectedGradient(L2Ball(radius), inner), delay), costs)
    assert np.allclose(answered.points, points) == (delay == 0)


def test_counting_rounds_compiles_and_says_what_it_takes() -> None:
    X, y = rows(50, 3, 7)
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(1.0), CountingRounds(InverseSqrt(0.5), 3)))
    runs = [delayed(learner, 3, compiled=c).learn(X, y, delay=3).deliver() for c in (False, True)]
    assert np.array_equal(runs[0].weights, runs[1].weights)
    assert runs[0].certificate.holds
    with pytest.raises(PartError, match="InverseSqrt or InverseTime"):
        CountingRounds(Adaptive(), 3)
    with pytest.raises(PartError, match="whole number"):
        CountingRounds(InverseSqrt(1.0), -1)


# ---- finite classes and disjunctions ---------------------------------------------------------------------------------


def test_surrogate_halving_at_the_sources_rate() -> None:
    """η = ¼: 2F + 8 ln n (SURR-M), and the sharper form at the same rate; η = 1: 2F + 2 ln n."""
    h, rng = make_hypotheses("thresholds:16"), np.random.default_rng(8)
    for eta in (0.25, 1.0):
        learner = SurrogateHalving(h, eta)
        for _ in range(60):
            x = int(rng.integers(0, 15))
            learner.learn(x, int(h.by_point[x][6]) if rng.random() > 0.1 else int(rng.integers(0, 2)))
        found, f, n = by_id(learner.certificates), float(learner.surrogates.min()), len(h)
        assert all(c.holds == c.premises_hold for c in found.values())
        if eta == 0.25:
            assert found["SURR-M"].bound == pytest.approx(2 * f + 8 * math.log(n))
            assert found["SURR-M+"].bound == pytest.approx((f + 4 * math.log(n)) / (1 - 1 / 8))
        else:
            assert found["SURR-M+"].bound == pytest.approx(2 * f + 2 * math.log(n))
            assert not found["SURR-M"].premises_hold
    with pytest.raises(PartError, match="between 0 and 2"):
        SurrogateHalving(h, 2.0)


def test_surrogate_halving_plays_as_its_weights_say() -> None:
    h, rng, eta = make_hypotheses("intervals:6"), np.random.default_rng(9), 0.25
    learner, w = SurrogateHalving(h, eta), np.full(len(h), 1 / len(h))
    for _ in range(80):
        x, y = int(rng.integers(0, 6)), int(rng.integers(0, 2))
        v = h.by_point[x].astype(float)
        assert learner.predict(x) == float(w @ v >= 0.5 - 1e-12)
        if learner.predict(x) != y:
            w = w * np.exp(-eta * (2 * v if y == 0 else -2 * v))
            w /= w.sum()
        learner.learn(x, y)


@pytest.mark.parametrize("known", [False, True])
def test_the_perceptron_learns_disjunctions(known: bool) -> None:
    """On [2x, −1] as printed: the same mistakes, at most (4d + 1)(k + 1), where E24 prints 4(d + 1)k."""
    rng, d, k = np.random.default_rng(10), 12, 3
    w = np.zeros(d)
    w[:k] = 1.0
    X = (rng.random((400, d)) < 0.15).astype(float)
    y = np.where(X @ w > 0, 1.0, -1.0)
    run = train(zoo.perceptron_or(d, k if known else None), X, y, compiled=False)
    found = by_id(run.mistake_certificates(np.append(w, 0.0), X, y))
    expected = (2 * math.sqrt(d * k) + 1) ** 2 if known else (4 * d + 1) * (k + 1)
    assert found["PERC-OR"].bound == pytest.approx(expected)
    assert found["PERC-OR"].holds
    if not known:
        v, mistakes = np.zeros(d + 1), 0
        for x, label in zip(np.c_[2 * X, -np.ones(len(X))], y, strict=True):
            if label * float(v @ x) <= 0:
                v, mistakes = v + label * x, mistakes + 1
        assert run.mistakes == mistakes
    noisy = np.where(rng.random(400) < 0.1, -y, y)
    run = train(zoo.perceptron_or(d), X, noisy, compiled=False)
    assert not by_id(run.mistake_certificates(np.append(w, 0.0), X, noisy))["PERC-OR"].premises_hold
    assert "PERC-OR" not in by_id(run.mistake_certificates(np.append(0.5 * w, 0.0), X, noisy))


def eliminated(X: Any, y: Any) -> int:
    """Mistakes of the learner in the proof: variables are added by missed positives, removed by false ones."""
    inside, outside, mistakes = set[int](), set[int](), 0
    for x, label in zip(X, y, strict=True):
        ones = set(np.flatnonzero(x).tolist())
        said = bool(ones & inside)
        mistakes += said != label
        if label and not said:
            inside |= ones - outside
        elif not label:
            inside, outside = inside - ones, outside | ones
    return mistakes


@pytest.mark.parametrize(("d", "k", "r"), [(4, 1, 2), (4, 2, 2), (5, 2, 1), (5, 1, 3)])
def test_sparse_disjunctions_have_dimension_at_most_rk(d: int, k: int, r: int) -> None:
    """E19: by elimination, for w ∈ {0,1}^d; the dimension itself is computed."""
    h = make_hypotheses(f"disjunctions:{d}:k={k}:r={r}")
    assert dimensions(h).littlestone[1] <= r * k
    rng = np.random.default_rng(11)
    for _ in range(50):
        w = np.zeros(d)
        w[rng.permutation(d)[:k]] = 1
        X = np.array([np.isin(np.arange(d), rng.permutation(d)[: rng.integers(0, r + 1)]) for _ in range(60)], float)
        assert eliminated(X, X @ w > 0) <= r * k


# ---- bandits ---------------------------------------------------------------------------------------------------------


def test_exp3_as_printed() -> None:
    """COR-4.2: ln K/η + ηKT; K = 2, T = 500 at η = √(ln K/(KT)): 52.7."""
    rounds, arms = 500, 2
    eta = math.sqrt(math.log(arms) / (arms * rounds))
    bandit = Bandit(arms, Exp3(eta), seed=1).learn(np.random.default_rng(12).random((rounds, arms)))
    found = by_id(bandit.certificates)
    assert found["COR-4.2"].bound == pytest.approx(2 * math.sqrt(arms * rounds * math.log(arms)))
    assert found["COR-4.2"].bound == pytest.approx(52.7, abs=0.05)
    assert found["COR-4.2+"].bound < found["COR-4.2"].bound


def test_a_game_of_rows_reports_what_mirror_descent_does() -> None:
    X, y = rows(20, 2, 13)
    game = play(MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.2)), [ScoreFunction(Hinge(), x, b) for x, b in zip(X, y, strict=True)])  # fmt: skip  # noqa: E501
    assert {"COR-2.17", "THM-2.15"} <= by_id(game.certificates).keys()
