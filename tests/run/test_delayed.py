"""Late answers: τ = 0 is the undelayed run, any order is what the transcription says, and DELAY is never violated."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Adaptive,
    Average,
    Box,
    Constant,
    DataError,
    DivergedError,
    Entropy,
    Euclidean,
    Hinge,
    InverseSqrt,
    InverseTime,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    PartError,
    ProjectedGradient,
    Reals,
    Simplex,
    Square,
    delayed,
    load,
    play,
    read,
    train,
    zoo,
)
from lowregret.certificate import certificates
from lowregret.convex import QuadraticFunction
from lowregret.domain import Point
from lowregret.learner import Delayed, Gaussian
from lowregret.learner.late import DRIFT, LAGGED, TRAVELLED
from lowregret.loss import Cost
from lowregret.run import DelayedRun
from lowregret.types import Vector
from tests.running import bits

RNG = np.random.default_rng(5)
D = 4
X = RNG.normal(size=(60, D)) * (RNG.random((60, D)) < 0.7)
Y = np.where(X @ RNG.normal(size=D) + RNG.normal(size=60) > 0, 1.0, -1.0)

LEARNERS = {
    "eager": zoo.ogd_eager(Logistic(), 0.3),
    "sqrt": zoo.ogd_sqrt(Hinge(), 1.0),
    "box": Linear(Logistic(), ProjectedGradient(Box(-0.2, 0.3), Adaptive()), Average(), bias=1.0),
    "simplex": Linear(Square(), ProjectedGradient(Simplex(), Constant(0.05))),
    "lazy": zoo.ogd_lazy(Logistic(), 0.3),
    "adaptive": zoo.ogd(Hinge()),
    "eg": zoo.eg(Cost(), 0.2),
    "pnorm": zoo.pnorm(Logistic(), 0.1, 3.0, Average()),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
COMPILED = ("eager",)  # of the others the same code is run interpreted, which saves minutes of compiling


def labels_for(learner: Linear) -> Vector:
    return np.ones(60) if isinstance(learner.loss, Cost) else Y


def begin(name: str) -> DelayedRun:
    return delayed(LEARNERS[name], D, compiled=name in COMPILED)


def same(a: DelayedRun, b: DelayedRun) -> bool:
    ledgers = (
        a.ledger.tobytes() == b.ledger.tobytes() and a.asked == b.asked and a.waiting.tolist() == b.waiting.tolist()
    )
    return ledgers and bits(a.state) == bits(b.state) and a.certificates == b.certificates


# ---- what it is ------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@every_learner
@pytest.mark.parametrize("sparse", [False, True])
def test_without_delay_it_is_the_usual_run_bit_for_bit(name: str, sparse: bool) -> None:
    x, learner = sp.csr_matrix(X) if sparse else X, LEARNERS[name]
    y, weights = labels_for(learner), RNG.choice([0.0, 0.5, 1.0, 2.0], 60)
    usual, run = train(learner, x, y, weights, compiled=name in COMPILED), begin(name).learn(x, y, weights)
    assert bits(usual.state) == bits(run.state)
    assert usual.scores.tobytes() == run.scores.tobytes()
    assert run.ledger[DRIFT] == run.ledger[LAGGED] == 0
    assert [c.bound for c in run.certificates] == [c.bound for c in usual.certificates]
    assert np.array_equal(run.trace.bound, usual.trace.bound, equal_nan=True)
    assert (run.asked, run.pending, run.uniform) == (60, 0, False)
    assert (run.weight, run.error, run.mean_loss) == (usual.weight, usual.error, usual.mean_loss)


@pytest.mark.parametrize("tau", [0, 1, 5, 59, 60])
def test_the_first_iterates_are_the_first(tau: int) -> None:
    run = delayed(Linear(Cost(), ProjectedGradient(L2Ball(), Constant(0.1))), D, compiled=False).learn(
        np.ones((60, D)), np.ones(60), delay=tau
    )
    assert np.count_nonzero(run.scores == 0) == min(tau + 1, 60)
    assert np.all(run.scores[: tau + 1] == 0)
    assert run.pending == tau


Order = list[tuple[str, int]]  # ("ask" or "tell", row)


def events(delays: Any) -> Order:
    """Rounds as asked and answered with these delays: all arrive in the end."""
    order: Order = []
    due = [(s + int(delay), s) for s, delay in enumerate(delays)]
    for t in range(len(due)):
        order += [("ask", t), *(("tell", s) for at, s in sorted(due) if at == t)]
    return order + [("tell", s) for at, s in sorted(due) if at >= len(due)]


def transcription(order: Order, gradient: Callable[[int, float], float], rate: Callable[[int], float]) -> Any:
    """Projected gradient descent on the unit ball with late answers, and the quantities of DELAY, spelt out."""
    w, asked, path, steps, drift, lagged = np.zeros(D), {}, 0.0, 0, 0.0, 0.0
    linear, total, energy = 0.0, np.zeros(D), 0.0
    for what, s in order:
        if what == "ask":
            asked[s] = (w.copy(), path)
            continue
        then, height = asked[s]
        z = gradient(s, float(then @ X[s])) * X[s]
        eta, size = rate(steps + 1), float(np.linalg.norm(z))
        drift += float((then - w) @ z)
        lagged += size * (path - height)
        linear, total, energy = linear + float(then @ z), total + z, energy + eta * size**2
        w, path, steps = w - eta * z, path + eta * size, steps + 1
        w /= max(1.0, float(np.linalg.norm(w)))
    return w, drift, lagged, linear + float(np.linalg.norm(total)), energy


@given(st.integers(0, 2**31), st.sampled_from(["fixed", "random", "burst", "last in, first out"]), st.booleans())
@settings(max_examples=40)
def test_it_is_what_the_transcription_says(seed: int, kind: str, constant: bool) -> None:
    rng = np.random.default_rng(seed)
    delays = {
        "fixed": np.full(60, rng.integers(0, 20)),
        "random": rng.integers(0, 40, 60),
        "burst": 19 - np.arange(60) % 20,
        "last in, first out": 2 * (59 - np.arange(60)),
    }[kind]
    learner = zoo.ogd_eager(Logistic(), 0.4) if constant else zoo.ogd_sqrt(Logistic(), 1.5)
    run = delayed(learner, D, compiled=constant).learn(X, Y, delay=delays).deliver()
    found = transcription(
        events(delays),
        lambda s, p: -Y[s] / (1 + math.exp(Y[s] * p)),
        lambda t: 0.4 if constant else 1.5 / math.sqrt(t),
    )
    w, drift, lagged, linear, energy = found
    np.testing.assert_allclose(run.point, w, atol=1e-12)
    np.testing.assert_allclose(run.ledger[[DRIFT, LAGGED]], [drift, lagged], atol=1e-9)
    assert run.linear_regret() == pytest.approx(linear)
    first = 1 / (2 * 0.4) if constant else 4 / (2 * 1.5 / math.sqrt(60))
    names = ("DELAY",) if np.any(delays) else ("THM-14.5",) if constant else ("EAGER-DEC",)
    late = next(c for c in run.certificates if c.id in names)
    assert late.bound == pytest.approx(first + energy / 2 + lagged)
    assert late.holds


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_is_interpreted(name: str) -> None:
    delays, learner = RNG.integers(0, 30, 60), LEARNERS[name]
    first, second = (
        delayed(learner, D, compiled=c).learn(X, labels_for(learner), delay=delays).deliver() for c in (True, False)
    )
    np.testing.assert_allclose(first.point, second.point, atol=1e-12)
    np.testing.assert_allclose(first.ledger, second.ledger, atol=1e-9)
    assert first.certificate.holds
    assert first.linear_regret() == pytest.approx(second.linear_regret())


# ---- batches, one by one, files --------------------------------------------------------------------------------------


@every_learner
def test_batches_are_asking_and_telling_bit_for_bit(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    y, delays = labels_for(LEARNERS[name]), RNG.integers(0, 25, 60)
    whole = begin(name).learn(X, y, delay=delays).deliver()
    by_hand, scores, numbers = begin(name), np.zeros(60), np.zeros(60, int)
    for what, s in events(delays):
        if what == "ask":
            rounds, score = by_hand.ask(X[s : s + 1])
            scores[s], numbers[s] = score[0], rounds[0]
        else:
            by_hand.tell(numbers[s], y[s])
        if s == 37 and what == "ask":
            by_hand.save(tmp_path / "run.lr")
            by_hand = DelayedRun.load(tmp_path / "run.lr")
    assert same(whole, by_hand)
    assert whole.scores.tobytes() == scores.tobytes()
    monkeypatch.setattr(import_module("lowregret.run.delayed"), "CHUNK", 7)
    split = begin(name)
    for first, last in ((0, 11), (11, 12), (12, 60)):
        split.learn(X[first:last], y[first:last], delay=delays[first:last]).save(tmp_path / "split.lr")
        split = DelayedRun.load(tmp_path / "split.lr")
    assert same(whole, split.deliver())
    assert np.array_equal(whole.trace.linear_regret, split.trace.linear_regret, equal_nan=True)


def test_numbers_of_rounds_are_never_given_twice(tmp_path: Path) -> None:
    run = delayed(zoo.ogd_eager(Logistic(), 0.3), D)
    first, _ = run.ask(X[:5])
    assert first.tolist() == [1, 2, 3, 4, 5]
    run.tell(first[:2], Y[:2]).save(tmp_path / "run.lr")
    lost, _ = run.ask(X[5:8])
    given = [*first, *lost]
    for _ in range(3):  # an older save is restored, again and again, or gone on with
        run = DelayedRun.load(tmp_path / "run.lr")
        assert run.waiting.tolist() == [3, 4, 5]
        with pytest.raises(DataError, match="round 6 does not wait: it was told already, or asked after the save"):
            run.tell(lost[0], 1.0)
        with pytest.raises(DataError, match="round 1 does not wait"):
            run.tell(1, 1.0)
        more, _ = run.ask(X[8:10])
        given += more.tolist()
        run.tell(np.array([more[1], 4], np.uint64), Y[[9, 3]])
        with pytest.raises(DataError, match=f"round {more[1]} was told already"):
            run.tell(more[1], 1.0)
        kept = DelayedRun.load(run.save(tmp_path / "next.lr"))
        assert kept.waiting.tolist() == run.waiting.tolist() == [3, 5, more[0]]
        kept.ask(X[:1])
        assert kept.tell([more[0], 3, 5], Y[[8, 2, 4]]).pending == 1
    assert len(set(given)) == len(given)


def test_streams_that_do_not_tell_their_width(tmp_path: Path) -> None:
    lines = [f"{int(label):+d} {j + 1}:{j % 7 - 3}.5 {3 * j + 40}:1" for j, label in enumerate(Y)]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    learner, delays = zoo.ogd_eager(Hinge(), 0.1), RNG.integers(0, 9, 60)
    run = delayed(learner, compiled=False).learn(read(tmp_path / "rows.svm"), delay=delays).deliver()
    usual = train(learner, read(tmp_path / "rows.svm"), compiled=False)
    assert run.features == usual.features
    x = sp.lil_matrix((60, run.features))
    for j in range(60):
        x[j, j + 1], x[j, 3 * j + 40] = j % 7 - 2.5 if j % 7 >= 3 else -(3 - j % 7) - 0.5, 1.0
    memory = delayed(learner, run.features, compiled=False).learn(x.tocsr(), Y, delay=delays).deliver()
    np.testing.assert_array_equal(run.weights, memory.weights)
    assert run.linear_regret() == memory.linear_regret()
    with pytest.raises(DataError, match="more rows than delays"):
        delayed(learner, compiled=False).learn(read(tmp_path / "rows.svm"), delay=delays[:10])


def test_the_regret_is_that_of_the_rounds_answered() -> None:
    run = delayed(zoo.ogd_eager(Logistic(), 0.3), D)
    rounds, scores = run.ask(X)
    told = RNG.permutation(60)[:41]
    run.tell(rounds[told], Y[told])
    u = RNG.normal(size=D) / 4
    losses = np.log1p(np.exp(-Y * scores)) - np.log1p(np.exp(-Y * (X @ u)))
    assert run.regret(u, X[told], Y[told]) == pytest.approx(losses[told].sum())
    assert losses[told].sum() <= run.linear_regret(Point(u)) <= run.certificate.bound
    assert run.pending == 19
    assert "19 pending" in run.certificate.statement
    assert "19 of 60" in str(run)
    assert run.tell(run.waiting, np.zeros(19), np.zeros(19)).pending == 0  # forgotten
    assert run.rounds == 41


# ---- certificates ----------------------------------------------------------------------------------------------------


def test_worked_example() -> None:
    """D₁ = 1, η = .1, τ = 2, T = 10, ‖g‖ = 1: 5 + .5 + 1.7."""
    run = delayed(Linear(Cost(), ProjectedGradient(L2Ball(1.0), Constant(0.1))), 1, compiled=False)
    run.learn([[(-1.0) ** t] for t in range(10)], np.ones(10), delay=2).deliver()
    assert next(c for c in run.certificates if c.id == "DELAY").bound == pytest.approx(7.2)
    assert run.ledger[TRAVELLED] == pytest.approx(1.0)


def hurtful(kind: str, rounds: int, lag: int) -> tuple[Any, Any]:
    """Costs and delays chosen to hurt: the sign turns when the learner has just been told the old one."""
    t = np.arange(rounds)
    sign = {"turning": (-1.0) ** (t // (lag + 1)), "steady": np.ones(rounds), "flipping": (-1.0) ** t}[kind]
    return (sign * (1 + t % 3))[:, None], np.full(rounds, lag)


@pytest.mark.parametrize("kind", ["turning", "steady", "flipping"])
@pytest.mark.parametrize("lag", [1, 3, 10, 50])
@pytest.mark.parametrize(
    "rule",
    [ProjectedGradient(Box(-1.0, 1.0), Constant(0.2)), ProjectedGradient(L2Ball(1.0), InverseSqrt(1.0))],
    ids=str,
)
def test_no_order_breaks_it(kind: str, lag: int, rule: ProjectedGradient) -> None:
    costs, delays = hurtful(kind, 200, lag)
    orders = {"first in, first out": delays, "last in, first out": 2 * (lag - np.arange(200) % (lag + 1))}
    for late in (*orders.values(), np.full(200, 400), RNG.integers(0, 2 * lag + 1, 200)):
        run = delayed(Linear(Cost(), rule), 1, compiled=False).learn(costs, np.ones(200), delay=late).deliver()
        exact = float(run.scores.sum() + abs(costs.sum()))
        assert run.linear_regret() == pytest.approx(exact)
        assert all(exact <= c.bound + 1e-9 * (1 + c.bound) and c.holds for c in run.certificates if c.premises_hold)
        assert "DELAY" in {c.id for c in run.certificates}
        assert run.ledger[DRIFT] <= run.ledger[LAGGED] + 1e-9


def test_lateness_costs_what_undelayed_theory_does_not_allow() -> None:
    """What must fail: without the drift the theorem is violated."""
    costs, delays = hurtful("turning", 200, 10)
    run = delayed(Linear(Cost(), ProjectedGradient(Box(-1.0, 1.0), Constant(0.2))), 1, compiled=False).learn(
        costs, np.ones(200), delay=delays
    )
    found = {c.id: c for c in run.deliver().certificates}
    without = found["THM-14.5+DRIFT"].bound - run.ledger[DRIFT]
    assert run.linear_regret() > without
    assert found["DELAY"].holds


@pytest.mark.parametrize(
    ("mirror", "domain"), [(Entropy(), Simplex()), (Euclidean(L2Ball()), L2Ball())], ids=["entropy", "euclid"]
)
def test_mirror_descent_is_certified_too(mirror: Any, domain: Any) -> None:
    costs = np.where(np.arange(300)[:, None] // 15 % 2, [0.0, 1.0], [1.0, 0.0])
    run = (
        delayed(Linear(Cost(), MirrorDescent(mirror, Constant(0.3))), 2, compiled=False)
        .learn(costs, np.ones(300), delay=14)
        .deliver()
    )
    exact = float(run.scores.sum() + domain.support(-costs.sum(axis=0)))
    assert run.linear_regret() == pytest.approx(exact)
    assert exact <= next(c.bound for c in run.certificates if c.id == "DELAY")
    assert all(c.holds for c in run.certificates if c.premises_hold)


@pytest.mark.parametrize("tau", [0, 3, 20])
def test_tuning_in_advance_keeps_its_promise(tau: int) -> None:
    rounds, lipschitz = 500, 2.0
    rows = RNG.normal(size=(rounds, D))
    rows *= lipschitz / np.linalg.norm(rows, axis=1, keepdims=True)
    learner = zoo.ogd_delay(Cost(), delay=tau, horizon=rounds, lipschitz=lipschitz, radius=3.0)
    run = delayed(learner, D, compiled=False).learn(rows, np.ones(rounds), delay=tau).deliver()
    bound = next(c.bound for c in run.certificates if c.id in ("DELAY", "THM-14.5"))
    assert run.linear_regret() <= bound <= 3 * lipschitz * math.sqrt((1 + 2 * tau) * rounds) + 1e-9
    for wrong in ((-1, 5, 1.0), (0, 0, 1.0), (0, 5, 0.0)):
        with pytest.raises(PartError, match="ogd_delay needs"):
            zoo.ogd_delay(Cost(), *wrong)


def test_real_rows(data_file: Callable[[str], Path]) -> None:
    run = delayed(zoo.ogd_eager(Logistic(), 0.005, radius=5.0)).learn(read(data_file("a9a.svm.gz")), delay=100)
    assert run.pending == 100
    run.deliver()
    assert run.rounds == 32561
    assert all(c.holds for c in run.certificates)
    assert run.error is not None
    assert run.error < 0.2


# ---- games -----------------------------------------------------------------------------------------------------------

RULES = [
    ProjectedGradient(L2Ball(), Constant(0.3)),
    ProjectedGradient(Simplex(), InverseSqrt(0.5)),
    MirrorDescent(Entropy(), Constant(0.3)),
]


def test_the_drift_is_rounded_too() -> None:
    """As many terms as Σ⟨v_s, z_s⟩ has, each a difference of two that are as large."""
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    run = delayed(zoo.ogd_eager(Logistic(), 0.3), D, compiled=False).learn(X, y, delay=5).deliver()
    usual = {c.id: c.rounding for c in certificates(run.learner, run.state, run.comparator, late=True)}
    for c in run.certificates:
        if c.id.endswith("+DRIFT"):
            assert c.rounding == 3 * usual[c.id.removesuffix("+DRIFT")] > 0


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_games_with_late_answers(rule: Any, tmp_path: Path) -> None:
    delays = RNG.integers(0, 12, 60)
    game = play(Delayed(rule, delays), X, compiled=False)
    run = delayed(Linear(Cost(), rule), D, compiled=False).learn(X, np.ones(60), delay=delays).deliver()
    np.testing.assert_allclose(game.losses, run.scores, atol=1e-12)
    mine, theirs = ({c.id: c.bound for c in found} for found in (game.certificates, run.certificates))
    assert mine == pytest.approx(theirs)
    assert game.certificate.holds
    assert game.regret <= game.certificate.bound
    assert np.all(game.trace.linear_regret <= game.trace.bound + 1e-9)
    half = play(Delayed(rule, delays), X[:23], compiled=False)
    half.save(tmp_path / "game.lr")
    resumed = play(load(tmp_path / "game.lr"), X[23:])
    assert resumed.points.tobytes() == game.points.tobytes()
    assert resumed.certificates == game.certificates


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_a_game_without_delay_is_the_usual_game(rule: Any) -> None:
    usual, game = play(rule, X, compiled=False), play(Delayed(rule, 0), X, compiled=False)
    assert usual.points.tobytes() == game.points.tobytes()
    assert [(c.id, c.bound) for c in usual.certificates] == [(c.id, c.bound) for c in game.certificates]
    assert np.all(play(Delayed(rule, 9), X, compiled=False).points[:10] == usual.points[0])


def test_strong_convexity_does_not_help_the_late() -> None:
    """THM-14.11 needs it around the point that is moved; its premise must fail."""
    game = play(
        Delayed(ProjectedGradient(Box(-1.0, 1.0), InverseTime(1.0)), 5),
        [QuadraticFunction([z]) for z in Y],
        compiled=False,
    )
    assert not next(c for c in game.certificates if c.id.startswith("THM-14.11")).premises_hold
    assert game.regret <= game.certificate.bound


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_errors_change_nothing() -> None:
    run = delayed(zoo.ogd_eager(Logistic(), 0.3), D)
    run.ask(X[:10])
    run.tell([3, 5], Y[[2, 4]])
    before = bits(run.state), run.waiting.tolist(), run.ledger.tolist()
    for rounds, labels, message in (
        ([1, 11], Y[:2], "round 11 was not asked: those asked so far are 1 to 10"),
        (0, 1.0, "round 0 was not asked"),
        ([1, 3], Y[:2], "round 3 was told already"),
        ([2, 1, 2], Y[:3], "round 2 is told twice"),
        ([1, 2], [1.0, 0.5], "round 2: label 0.5 does not fit Logistic"),
        ([1, 2], [1.0], "labels must be a vector of 2 numbers"),
        ([1.5], [1.0], "rounds must be numbers that ask gave"),
    ):
        with pytest.raises(DataError, match=message):
            run.tell(rounds, labels)
    with pytest.raises(DataError, match="weight -1"):
        run.tell(1, 1.0, -1.0)
    with pytest.raises(DataError, match="rows have 3 features, the learner 4"):
        run.ask(X[:2, :3])
    with pytest.raises(DataError, match="row 1: feature 2 is nan"):
        run.ask(np.where(np.arange(3 * D).reshape(3, D) == D + 2, np.nan, X[:3]))
    assert run.asked == 10
    assert (bits(run.state), run.waiting.tolist(), run.ledger.tolist()) == before


def test_a_bad_row_of_a_batch_ends_it_there() -> None:
    learner, labels = zoo.ogd_eager(Logistic(), 0.3), Y.copy()
    labels[20] = 0.5
    run = delayed(learner, D)
    with pytest.raises(DataError, match=r"row 20: label 0\.5"):
        run.learn(X, labels, delay=4)
    assert (run.asked, run.rounds, run.pending) == (20, 16, 4)
    assert np.isnan(run.scores[20:]).all()
    run.learn(X[20:], Y[20:], delay=4)
    assert same(run.deliver(), delayed(learner, D).learn(X, Y, delay=4).deliver())
    for delay, message in (
        (-1, "whole numbers"),
        (0.5, "whole numbers"),
        (2**62, "at most"),
        ([1, 2], "one for each of 60"),
    ):
        with pytest.raises(DataError, match=message):
            run.learn(X, Y, delay=delay)
    run.learn(X[:3], Y[:3], delay=np.full(3, 9, np.uint64))
    with pytest.raises(DataError, match="on its way"):
        run.tell(run.waiting[0], 1.0)


def test_divergence_leaves_the_round_pending() -> None:
    run = delayed(Linear(Square(), ProjectedGradient(Reals(), Constant(1e150))), 1, L2Ball(), compiled=False)
    rounds, _ = run.ask([[1e5], [1e5], [1e5], [1e5]])
    with pytest.raises(DivergedError, match=r"still pending|overflowed"):
        run.tell(rounds, [1.0, 2.0, 3.0, 4.0])
    assert run.pending + run.rounds == 4
    left = run.waiting
    with pytest.raises(DivergedError):
        run.tell(left, np.ones(left.size))
    assert run.waiting.tolist() == left.tolist()


def test_what_cannot_be_delayed() -> None:
    with pytest.raises(PartError, match="only its score is kept"):
        delayed(zoo.ogd_scw(Hinge(), 0.1), D)
    with pytest.raises(PartError, match="must be a Linear"):
        delayed(zoo.kernel_perceptron(Gaussian()))  # type: ignore[arg-type]
    with pytest.raises(PartError, match="mistake bounds"):
        delayed(zoo.perceptron(), D, compiled=False).learn(X, Y, delay=1).mistake_certificates(np.ones(D), X, Y)
    wrong: list[Any] = [-1, 0.5, "x", []]
    for delay in wrong:
        with pytest.raises(PartError, match="delay must be"):
            Delayed(RULES[0], delay)
    game = play(Delayed(RULES[0], [1, 1]), X[:2], compiled=False)
    for _ in range(2):  # a round that is refused leaves no trace
        with pytest.raises(PartError, match="round 3 has no delay"):
            game.learn(X[2:])
    assert game.rounds == 2
    assert game.certificate.holds


def test_threads_do_not_ask_and_tell_at_the_same_time() -> None:
    run = delayed(zoo.ogd_eager(Hinge(), 0.1), 3)
    before, refused, told = sys.getswitchinterval(), list[str](), list[int]()

    def work(number: int) -> None:
        made = np.random.default_rng(number)
        for _ in range(60):
            rows = made.normal(size=(int(made.integers(1, 30)), 3))
            try:
                rounds, scores = run.ask(rows)
                assert len(rounds) == len(scores) == len(rows)
                for one in rounds.tolist():
                    run.tell(one, 1.0)
                    told.append(one)
            except PartError as error:
                refused.append(str(error))

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(before)
    assert all("another thread is learning" in said for said in refused)
    assert len(set(told)) == len(told) == run.rounds
    assert run.asked == run.rounds + run.pending


def test_what_rests_on_more_than_tangents_says_nothing_of_late_answers() -> None:
    """DUAL and NEWTON look at losses around w_s, and late answers move v_s: with the drift, both were exceeded."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, u = rng.normal(size=(20, 1)) * 3, rng.normal(size=1) * 3
        y = np.sign(rng.normal(size=20))
        c, eta = rng.uniform(0.1, 3.0), rng.uniform(0.1, 50.0)
        for learner in (zoo.pa(C=float(c)), zoo.newton(Logistic(), eta=float(eta))):
            run = delayed(learner, 1, Point(u), compiled=False).learn(X, y, delay=5).deliver()
            assert run.certificates
            assert all(run.regret(u, X, y) <= c.bound + c.rounding + 1e-9 for c in run.certificates if c.premises_hold)
            assert not any(c.id.startswith(("DUAL", "NEWTON+")) for c in run.certificates)
            assert "DUAL" not in run.trace.theorem
            prompt = delayed(learner, 1, Point(u), compiled=False).learn(X, y)
            assert {"DUAL", "NEWTON"} & {c.id for c in prompt.certificates}


@pytest.mark.parametrize("size", [1e200, 1.2e154])
def test_rows_whose_sums_overflow_leave_all_as_it_was(size: float) -> None:
    """Each is refused once, and waits for another answer; the square of 1.2e154 is a number, twice it is none."""
    x, y = np.random.default_rng(1).normal(size=(40, 3)), np.where(np.arange(40) % 3 > 0, 1.0, -1.0)
    x[10:20, 1] = size * np.where(np.arange(10) % 2 > 0, 1, -1)
    run = delayed(zoo.ogd_eager(Hinge(), 0.1), 3, compiled=False)
    with pytest.raises(DivergedError, match="tell it weight 0"):
        run.learn(x, y, delay=3)
    while run.asked < 40:
        with contextlib.suppress(DivergedError):
            run.learn(x[run.asked :], y[run.asked :], delay=3)
    for _ in range(10):
        with contextlib.suppress(DivergedError):
            run.deliver()
    assert np.isfinite(run.state.sums).all()
    assert np.isfinite(run.certificate.proved)
    assert 0 < run.pending == 40 - run.rounds <= 10
    run.tell(run.waiting, np.zeros(run.pending), np.zeros(run.pending))
    assert run.pending == 0
