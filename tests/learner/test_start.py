"""Where one starts: w₁ anywhere in the set, a ridge around w₀, weights of another run; against naive transcriptions.

Certificates follow, with the distance from where one starts in place of ‖u‖, and hold for the exact regret.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from lowregret import (
    AdaGrad,
    Average,
    Box,
    Constant,
    Domain,
    Entropy,
    Euclidean,
    FollowTheRegularisedLeader,
    Hinge,
    InverseSqrt,
    InverseTime,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    Multiclass,
    PartError,
    PassiveAggressive,
    PNorm,
    ProjectedGradient,
    Random,
    Reals,
    Simplex,
    Softmax,
    Square,
    StoreError,
    WeightedInverseTime,
    delayed,
    doubling,
    load,
    play,
    read,
    train,
    zoo,
)
from lowregret.convex import LinearFunction, QuadraticFunction, Regularised
from lowregret.domain import Point
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.centre import Around, Origin
from lowregret.mirror import Centred, Mirror
from lowregret.regret import Moving, RowRecord, regret
from lowregret.state import ENERGY
from lowregret.types import Vector

RNG = np.random.default_rng(21)
D = 4
X = RNG.normal(size=(120, D)) * (RNG.random((120, D)) < 0.7)
TRUE = np.array([1.0, -2.0, 0.5, 0.0])
Y = X @ TRUE + 0.1 * RNG.normal(size=120)
SIGNS = np.where(Y > 0, 1.0, -1.0)
NEAR = TRUE + 0.2 * RNG.normal(size=D)
COSTS = RNG.normal(size=(60, 3))


# ---- w₁ anywhere in the set ------------------------------------------------------------------------------------------

SETS = [L2Ball(2.0), Box(-1.0, 2.0), Simplex(1.5), Reals()]


def within(domain: Domain, d: int, seed: int) -> Vector:
    return domain.projection(np.random.default_rng(seed).normal(size=d) * 2)


@pytest.mark.parametrize("domain", SETS, ids=lambda s: s.name)
@pytest.mark.parametrize("step", [Constant(0.2), InverseSqrt(0.3)], ids=str)
def test_descent_from_anywhere(domain: Domain, step: Any) -> None:
    w = start = within(domain, 3, 1)
    game = play(ProjectedGradient(domain, step, start=start), COSTS, compiled=False)
    for t, z in enumerate(COSTS):
        assert np.allclose(game.points[t], w)
        w = domain.projection(w - (0.2 if isinstance(step, Constant) else 0.3 / math.sqrt(t + 1)) * z)
    assert game.certificate.holds
    assert game.regret <= game.certificate.proved + 1e-9


@given(st.sampled_from(SETS), st.integers(1, 20), st.integers(1, 4), st.floats(0.01, 3.0), st.integers(0, 2**31))
@settings(max_examples=60, deadline=None)
def test_the_distance_from_the_start(domain: Domain, rounds: int, d: int, eta: float, seed: int) -> None:
    """THM-14.5: ‖w₁ − u‖²/(2η) + (η/2)Σ‖z_t‖² for every u, and its maximum over a set is attained."""
    rng = np.random.default_rng(seed)
    z, start = rng.normal(size=(rounds, d)), within(domain, d, seed)
    game = play(ProjectedGradient(domain, Constant(eta), start=start), z, compiled=False)
    for u in (within(domain, d, seed + 1), start):
        game.comparator = Point(u)
        game.__dict__.pop("certificates", None)
        (found,) = (c for c in game.certificates if c.id == "THM-14.5")
        told = float((start - u) @ (start - u)) / (2 * eta) + eta / 2 * float(np.sum(z * z))
        assert found.bound == pytest.approx(told)
        assert game.regret_to(u) <= told + 1e-9 * (1 + told)
        assert found.holds
    if not isinstance(domain, Reals):
        game.comparator = domain
        game.__dict__.pop("certificates", None)
        (found,) = (c for c in game.certificates if c.id == "THM-14.5")
        far = max(float(np.linalg.norm(start - domain.projection(1e6 * v))) for v in _ways(d, start, rng))
        told = far**2 / (2 * eta) + eta / 2 * float(np.sum(z * z))
        assert found.bound == pytest.approx(told, rel=1e-5)
        assert game.regret <= game.certificate.proved + 1e-9 * (1 + told)


def _ways(d: int, start: Vector, rng: np.random.Generator) -> list[Vector]:
    """Directions of corners and of what is opposite to the start."""
    corners = [np.array([1.0 if k >> i & 1 else -1.0 for i in range(d)]) for k in range(2**d)]
    ways = [*np.eye(d), *corners, -start if np.any(start) else np.ones(d)]
    return [way * size for way in ways for size in (1e-9, 1.0)] + list(rng.normal(size=(20, d)))


def test_a_start_far_off_costs_what_the_theorem_says() -> None:
    """EQ-8+ from the edge of the ball; ‖u‖ in place of ‖w₁ − u‖ would be less than the regret."""
    start, rounds = np.array([1.0]), 4
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.01), start=start), np.ones((rounds, 1)), compiled=False)
    naive = 1.0 / 0.02 + 0.005 * rounds  # ‖u‖²/(2η) + …, of w₁ = 0
    assert game.certificate.bound == pytest.approx(4.0 / 0.02 + 0.005 * rounds) != naive
    steep = play(ProjectedGradient(L2Ball(1.0), Constant(1.0), start=start), [[1.0]], compiled=False)
    assert steep.regret == 2.0 > 1.0 / 2 + 0.5  # what it would have been allowed from 0
    assert steep.certificate.holds
    sqrt = play(ProjectedGradient(L2Ball(1.0), InverseSqrt(math.sqrt(2)), start=start), [[1.0]] * 9, compiled=False)
    assert {"EQ-8", "EQ-8+", "EAGER-DEC"} <= {c.id for c in sqrt.certificates}
    assert all(c.holds and sqrt.regret <= c.bound for c in sqrt.certificates)
    (plus,) = (c for c in sqrt.certificates if c.id == "EQ-8+")
    rates = math.sqrt(2) / np.sqrt(np.arange(1, 10))
    told = 4 / (2 * rates[0]) + 2 * (1 / rates[-1] - 1 / rates[0]) + rates.sum() / 2
    assert plus.bound == pytest.approx(told)


@pytest.mark.parametrize("step", [InverseTime(1.0), WeightedInverseTime(1.0)], ids=str)
def test_strongly_convex_functions_forget_the_start(step: Any) -> None:
    functions = [QuadraticFunction(z) for z in COSTS]
    game = play(ProjectedGradient(Reals(), step, start=np.full(3, 50.0)), functions, compiled=False)
    assert game.certificate.id in ("THM-14.11", "THM-14.12")
    assert game.certificate.holds
    weights = game._importance(60)
    best = sum(c * f.z for c, f in zip(weights, functions, strict=True)) / weights.sum()
    found = sum(c * (loss - f.value(best)) for c, loss, f in zip(weights, game.losses, functions, strict=True))
    assert found <= game.certificate.bound + 1e-9


def test_moving_comparators_from_anywhere() -> None:
    start = np.array([0.8, 0.0, -0.5])
    game = play(ProjectedGradient(L2Ball(1.0), Constant(0.1), start=start), COSTS, compiled=False)
    path = np.cumsum(RNG.normal(size=(60, 3)) / 50, axis=0)
    found = regret(game, Moving(path))
    assert found.bound is not None
    assert found.value <= found.bound
    run = train(
        Linear(Hinge(), ProjectedGradient(L2Ball(3.0), Constant(0.1), start=NEAR / 2)), X, SIGNS, compiled=False
    )
    along = regret(RowRecord(run, X, SIGNS), Moving(np.zeros((120, D))))
    far = float(NEAR @ NEAR) / 4 / 0.2
    assert along.bound is not None
    assert along.bound == pytest.approx(far + 0.05 * float(run.state.sums[ENERGY]))
    assert along.value <= along.bound


def test_rows_from_the_weights_of_another_run(tmp_path: Path) -> None:
    """A warm start: compiled as interpreted, sparse as dense, saved and gone on with to the last bit."""
    first = train(zoo.ogd_eager(Square(), 0.05, 5.0), X[:60], Y[:60], compiled=False)
    rule = ProjectedGradient(L2Ball(5.0), Constant(0.05), start=first.weights)
    w, total = first.weights.copy(), 0.0
    for x, y in zip(X[60:], Y[60:], strict=True):
        total += (w @ x - y) ** 2
        w = L2Ball(5.0).projection(w - 0.05 * 2 * (w @ x - y) * x)
    runs = [train(Linear(Square(), rule), rows, Y[60:], compiled=c) for c, rows in ((False, X[60:]), (True, X[60:]))]
    sparse = train(Linear(Square(), rule), csr_matrix(X[60:]), Y[60:], compiled=False)
    for run in (*runs, sparse):
        assert np.allclose(run.weights, w)
        assert run.loss == pytest.approx(total)
        assert run.certificate.holds
        for u in (TRUE, np.zeros(D), first.weights):
            assert run.regret(u, X[60:], Y[60:]) <= run.certificate.proved
    half = train(Linear(Square(), rule), X[60:90], Y[60:90], compiled=False).save(tmp_path / "half.lr")
    assert np.array_equal(load(half).learn(X[90:], Y[90:]).weights, runs[0].weights)


def test_passive_aggressive_steps_from_anywhere() -> None:
    learner = Linear(Hinge(), ProjectedGradient(Reals(), PassiveAggressive(0.5), start=NEAR))
    run = train(learner, X, SIGNS, compiled=False)
    for u in (TRUE, NEAR, np.zeros(D)):
        found = {c.id: c for c in run.mistake_certificates(u, X, SIGNS)}
        away = float((u - NEAR) @ (u - NEAR))
        f = float(np.sum(np.maximum(1 - SIGNS * (X @ u), 0)))
        assert found["PA-I+"].bound == pytest.approx(away + 2 * 0.5 * f)
        assert all(c.holds for c in found.values() if c.premises_hold)


def test_late_answers_and_restarts_from_anywhere() -> None:
    learner = Linear(Square(), ProjectedGradient(L2Ball(5.0), Constant(0.02), start=NEAR))
    late = delayed(learner, features=D, compiled=False).learn(X, Y, delay=4).deliver()
    again = doubling(learner, features=D, compiled=False).learn(X, Y)
    for run in (late, again):
        assert run.certificate.holds
        assert run.regret(TRUE, X, Y) <= run.certificate.linear_regret + 1e-9  # type: ignore[operator]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: ProjectedGradient(L2Ball(1.0), Constant(0.1), start=[2.0, 0.0]),
            r"start must lie in the l2-ball.*proj",
        ),
        (
            lambda: ProjectedGradient(Reals(), Constant(0.1), start=[math.nan]),
            "start must be a finite number or a vector",
        ),
        (lambda: ProjectedGradient(Reals(), Constant(0.1), start="here"), "start must be a finite number or a vector"),
        (
            lambda: train(Linear(Square(), ProjectedGradient(Reals(), Constant(0.1), start=np.ones(3))), X, Y),
            "start has 3 coordinates, the learner has 4",
        ),
        (
            lambda: Multiclass(Softmax(), ProjectedGradient(Reals(), Constant(0.1), start=np.ones(3))),
            "laid out as they are met",
        ),
        (lambda: Centred(Entropy(), [0.5, 0.5, 0.0]), "off its edges"),
        (lambda: Centred(Euclidean(L2Ball(1.0)), [2.0]), "start must lie in the l2-ball"),
        (lambda: Regularised(LinearFunction([1.0]), 0.1, [1.0, 2.0]), "the centre has 2 coordinates, f takes 1"),
    ],
)
def test_what_is_refused(make: Any, said: str) -> None:
    with pytest.raises(PartError, match=said):
        make()


# ---- mirror descent from anywhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mirror", "start"),
    [
        (Euclidean(), [0.3, -0.2, 1.0]),
        (Euclidean(L2Ball(1.0)), [0.3, -0.2, 0.9]),
        (Entropy(), [0.7, 0.2, 0.1]),
        (PNorm(3.0), [0.3, -0.2, 1.0]),
    ],
    ids=str,
)
def test_mirror_descent_from_anywhere(mirror: Mirror, start: Any) -> None:
    centred, eta = Centred(mirror, start), 0.2
    game = play(MirrorDescent(centred, Constant(eta)), COSTS)
    theta = mirror.gradient(np.array(start))
    for t, z in enumerate(COSTS):
        assert np.allclose(game.points[t], mirror.link(theta))
        theta = theta - eta * z
    for u in (mirror.link(RNG.normal(size=3)), np.array(start), mirror.link(theta)):
        game.comparator = Point(u)
        game.__dict__.pop("certificates", None)
        found = {c.id: c for c in game.certificates}
        energy = sum(mirror.dual_norm(z) ** 2 for z in COSTS)
        told = mirror.divergence(u, np.array(start)) / eta + eta / (2 * mirror.strength()) * energy
        assert found["THM-2.21"].bound == pytest.approx(told)
        assert all(game.regret_to(u) <= c.bound + 1e-9 for c in found.values())
    assert found["LEM-2.20"].bound == pytest.approx(game.regret_to(u))  # the equality, at w_{T+1}
    follower = play(FollowTheRegularisedLeader(centred, eta), COSTS)
    assert np.allclose(follower.points, game.points)
    assert follower.certificate.holds


def test_a_prior_and_a_ball() -> None:
    """max D(u‖w₁): −ln of the least likely expert; half the squared distance across the ball."""
    prior = np.array([0.7, 0.2, 0.1])
    assert Centred(Entropy(), prior).highest(Simplex(), 3) == pytest.approx(-math.log(0.1))
    ball = Centred(Euclidean(L2Ball(1.0)), [0.6, 0.0])
    assert ball.highest(L2Ball(1.0), 2) == pytest.approx(0.5 * 1.6**2)
    assert ball.value(np.array([0.6, 0.0])) == 0.0


# ---- a centre --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("compiled", [False, True])
def test_a_ridge_around_a_centre(bias: float, compiled: bool) -> None:
    """ℓ(⟨w,x⟩, y) + (λ/2)‖w − w₀‖², by hand."""
    lam, eta = 0.3, 0.05
    rows = np.column_stack([X, np.full(120, bias)]) if bias else X
    centre = np.append(NEAR, 0.4) if bias else NEAR
    rule = ProjectedGradient(Reals(), Constant(eta))
    run = train(Linear(Square(), rule, ridge=lam, bias=bias, centre=centre), X, Y, compiled=compiled)
    w, points, losses = centre.copy(), [], []
    for x, y in zip(rows, Y, strict=True):
        points.append(w)
        losses.append((w @ x - y) ** 2 + lam / 2 * (w - centre) @ (w - centre))
        w = w - eta * (2 * (w @ x - y) * x + lam * (w - centre))
    assert np.allclose(run.weights, w)
    for u in (centre, np.zeros(centre.size), w, centre + RNG.normal(size=centre.size)):
        theirs = np.sum((rows @ u - Y) ** 2) + 120 * lam / 2 * (u - centre) @ (u - centre)
        exact = sum(losses) - theirs
        assert run.regret(u, X, Y) == pytest.approx(exact)
        told = run.linear_regret(Point(u - centre))
        slopes = 2 * (np.einsum("ij,ij->i", np.array(points), rows) - Y)
        linear = sum(
            s * (p - u) @ x + lam / 2 * ((p - centre) @ (p - centre) - (u - centre) @ (u - centre))
            for s, p, x in zip(slopes, points, rows, strict=True)
        )
        assert told == pytest.approx(linear)
        assert exact <= told + 1e-9
    assert run.certificate.holds
    assert run.regret(w, X, Y) <= run.certificate.linear_regret + 1e-9  # type: ignore[operator]


def test_strong_convexity_around_a_centre() -> None:
    """THM-14.11 of η_t = 1/(λt), whose bound knows neither w₀ nor u."""
    rule = ProjectedGradient(Reals(), InverseTime(0.5))
    run = train(Linear(Hinge(), rule, ridge=0.5, centre=NEAR), X, SIGNS, compiled=False)
    assert run.certificate.id == "THM-14.11"
    assert run.certificate.holds
    for u in (NEAR, TRUE, NEAR + 1):
        assert run.regret(u, X, SIGNS) <= run.certificate.bound


RULES = [
    ProjectedGradient(L2Ball(3.0), Constant(0.05)),
    MirrorDescent(Euclidean(), Constant(0.05)),
    MirrorDescent(PNorm(3.0), Constant(0.05)),
    AdaGrad(0.3),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule)[:30])
@pytest.mark.parametrize("output", [None, Average(), Random(3)], ids=str)
def test_every_rule_around_a_centre_is_itself_on_what_is_left(rule: Any, output: Any) -> None:
    """On the square loss, ⟨w₀ + v, x⟩ − y = ⟨v, x⟩ − (y − ⟨w₀, x⟩): the run of v on the remainders."""
    more = {} if output is None else {"output": output}
    run = train(Linear(Square(), rule, centre=NEAR, **more), X, Y, compiled=False)
    rest = train(Linear(Square(), rule, **more), X, Y - X @ NEAR, compiled=False)
    assert np.allclose(run.weights, NEAR + rest.weights)
    assert np.allclose(run.point, NEAR + rest.point)
    assert np.allclose(run.predict(X), rest.predict(X) + X @ NEAR)
    assert run.loss == pytest.approx(rest.loss)
    for own, other in zip(run.certificates, rest.certificates, strict=True):
        assert own.id == other.id
        assert own.bound == pytest.approx(other.bound)
        assert own.comparator["around"] == "w₀"
        assert "w₀ + u, u in" in own.statement
    for way in RNG.normal(size=(10, D)):
        v = run.comparator.projection(3 * way) if not isinstance(rule, MirrorDescent) else 0.3 * way / np.abs(way).sum()
        assert run.regret(NEAR + v, X, Y) <= run.certificate.linear_regret + 1e-9  # type: ignore[operator]
    assert "around w₀" in str(run)


def test_real_rows_from_the_weights_of_the_rows_before(data_file: Callable[[str], Path]) -> None:
    """Warm starts of three kinds: the exact regret is below the certificate, which nearness makes smaller."""
    (batch,) = (b for b, _ in zip(read(str(data_file("a9a.svm.gz"))).batches(), range(1), strict=False))
    x = np.zeros((2000, 124))
    for i, row in enumerate(x):
        for k in range(int(batch.rows.begin(i)), int(batch.rows.end(i))):
            row[int(batch.rows.column(i, np.uint64(k)))] = batch.rows.value(i, np.uint64(k))
    y = np.asarray(batch.labels[:2000], float)
    old = train(zoo.ogd_eager(Logistic(), 0.1, 10.0), x[:1000], y[:1000]).weights
    u = best_in_hindsight(Logistic(), x[1000:], y[1000:], L2Ball(3.0)).w
    lazy = MirrorDescent(Euclidean(), Constant(0.1))
    cold, warm = (
        train(Linear(Logistic(), lazy, centre=c), x[1000:], y[1000:], comparator=Point(v))
        for c, v in ((None, u), (old, u - old))
    )
    began = train(
        Linear(Logistic(), ProjectedGradient(L2Ball(10.0), Constant(0.1), start=old)),
        x[1000:],
        y[1000:],
        comparator=Point(u),
    )
    for run in (cold, warm, began):
        assert run.certificate.holds
        assert run.regret(u, x[1000:], y[1000:]) <= run.certificate.proved
    assert np.allclose(warm.weights, began.weights, atol=1e-6)  # as long as the ball is not reached
    assert warm.loss < cold.loss


def test_a_centre_is_worth_its_nearness() -> None:
    """EQ-2.15: ‖u − w₀‖²/(2η) + … against one u is the smaller, the nearer w₀ is."""
    bounds = []
    for centre in (None, NEAR, TRUE):
        away = TRUE - (0 if centre is None else centre)
        run = train(Linear(Logistic(), MirrorDescent(Euclidean(), Constant(0.1)), centre=centre), X, SIGNS,
                    comparator=Point(away), compiled=False)  # fmt: skip
        (found,) = (c for c in run.certificates if c.id == "EQ-2.15")
        assert run.regret(TRUE, X, SIGNS) <= found.bound
        bounds.append(found.bound - 0.05 * float(run.state.sums[ENERGY]))
    assert bounds == pytest.approx([float(TRUE @ TRUE) / 0.2, float((TRUE - NEAR) @ (TRUE - NEAR)) / 0.2, 0.0])


def test_late_answers_and_restarts_around_a_centre() -> None:
    learner = Linear(Square(), MirrorDescent(Euclidean(), Constant(0.02)), centre=NEAR)
    plain = replace(learner, centre=None)
    rest = Y - X @ NEAR
    for make in (
        lambda of, y: delayed(of, features=D, compiled=False).learn(X, y, delay=3).deliver(),
        lambda of, y: doubling(of, features=D, compiled=False).learn(X, y),
    ):
        run, other = make(learner, Y), make(plain, rest)
        assert np.allclose(run.weights, NEAR + other.weights)
        assert run.certificate.linear_regret == pytest.approx(other.certificate.linear_regret)
        assert run.certificate.bound == pytest.approx(other.certificate.bound)


def test_files_with_a_centre(tmp_path: Path) -> None:
    learner = Linear(Square(), ProjectedGradient(Reals(), Constant(0.02)), ridge=0.1, centre=NEAR)
    whole = train(learner, X, Y, compiled=False)
    again = load(train(learner, X[:50], Y[:50], compiled=False).save(tmp_path / "half.lr")).learn(X[50:], Y[50:])
    assert np.array_equal(again.weights, whole.weights)
    assert again.learner == learner
    whole.predictor().save(tmp_path / "model.lr")
    assert np.allclose(load(tmp_path / "model.lr").predict(X), whole.predict(X))
    description, arrays = whole.to_file()
    description["learner"]["centre"]["w"]["array"] = [0.0] * 2
    with pytest.raises(StoreError, match="2 weights"):
        type(whole).from_file("f", description, arrays)
    del description["learner"]["centre"]  # as in files from before
    assert type(whole).from_file("f", description, arrays).learner.centre == Origin()


def test_what_a_centre_cannot_do(tmp_path: Path) -> None:
    learner = Linear(Square(), MirrorDescent(Euclidean(), Constant(0.02)), centre=Around(NEAR))
    with pytest.raises(PartError, match="the centre has 4 weights, the learner has 2"):
        train(learner, X[:, :2], Y)
    with pytest.raises(PartError, match="w must be a finite number or a vector"):
        replace(learner, centre=[math.inf])
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n")
    with pytest.raises(PartError, match="known beforehand"):
        train(learner, read(str(path)))
    assert train(learner, read(str(path)), dimension=D).rounds == 1
    run = train(learner, X, Y, compiled=False)
    with pytest.raises(PartError, match="counted from there"):
        RowRecord(run, X, Y)
    perceptron = train(replace(zoo.perceptron(), centre=NEAR), X, SIGNS, compiled=False)
    with pytest.raises(PartError, match="leave the centre out"):
        perceptron.mistake_certificates(TRUE, X, SIGNS)


def test_the_range_of_losses_knows_the_centre() -> None:
    """Risk bounds of losses in [0, M] take scores up to (‖w₀‖ + ‖v‖)‖x‖, not ‖v‖‖x‖."""
    far = 40.0 * np.ones(D)
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(1.0), Constant(0.1)), Average(), centre=far)
    run = train(learner, X, SIGNS, compiled=False)
    longest, largest = float(np.max(np.linalg.norm(X, axis=1))), float(np.max(1 - SIGNS * (X @ far)))
    near = train(replace(learner, centre=None), X, SIGNS, compiled=False)
    assert largest > 1 + longest  # what the ball alone would allow
    told, before = (next(c for c in r.risks() if c.id == "O2B-HP").details["ceiling"] for r in (run, near))
    assert before < largest <= told


def test_games_with_a_ridge_around_a_centre() -> None:
    w0 = np.array([0.5, -0.5, 1.0])
    functions = [Regularised(LinearFunction(z), 0.7, w0) for z in COSTS]
    game = play(ProjectedGradient(Reals(), InverseTime(0.7), start=w0), functions, compiled=False)
    assert game.functions[0].value(w0 + 1) == pytest.approx(COSTS[0] @ (w0 + 1) + 0.35 * 3)
    assert game.certificate.id == "THM-14.11"
    assert game.certificate.holds
    best = w0 - COSTS.mean(axis=0) / 0.7
    assert game.best(Reals()).w == pytest.approx(best)
    assert game.regret_to(best) == pytest.approx(game.certificate.bound)  # which quadratics attain
    step = 1e-6
    slope = [
        (game.functions[3].value(w0 + step * e) - game.functions[3].value(w0 - step * e)) / (2 * step)
        for e in np.eye(3)
    ]
    assert np.allclose(slope, game.functions[3].subgradient(w0), atol=1e-6)


def test_hindsight_is_not_looked_for_around_a_centre() -> None:
    from lowregret.hindsight import best_fixed

    learner = Linear(Square(), MirrorDescent(Euclidean(), Constant(0.02)), centre=NEAR)
    with pytest.raises(PartError, match="around a centre is not looked for"):
        best_fixed(learner, L2Ball(1.0), lambda: iter(()), np.zeros(D))
    assert best_in_hindsight(Square(), X, Y, L2Ball(3.0)).gap < 1
