"""Doubling: blocks of 1, 2, 4, … rounds that restart, and certificates that add up."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import (
    Average,
    Box,
    Constant,
    DataError,
    Entropy,
    Hinge,
    InverseSqrt,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    PartError,
    ProjectedGradient,
    Simplex,
    doubling,
    load,
    play,
    read,
    train,
    zoo,
)
from lowregret.certificate import Certificate
from lowregret.certificate.doubling import FACTOR, sum_blocks
from lowregret.domain import Point
from lowregret.learner import Doubling
from lowregret.learner.doubling import block_of
from lowregret.loss import Cost
from lowregret.mirror import Euclidean
from lowregret.run import DoublingRun
from tests.running import bits

RNG = np.random.default_rng(11)
D = 3
X = RNG.normal(size=(100, D))
Y = np.where(X @ RNG.normal(size=D) + RNG.normal(size=100) > 0, 1.0, -1.0)

LEARNERS = {
    "eager": zoo.ogd_eager(Logistic(), 0.5),
    "ridge": Linear(Hinge(), ProjectedGradient(L2Ball(2.0), Constant(0.5)), ridge=0.1),
    "bias": Linear(Hinge(), ProjectedGradient(L2Ball(2.0), Constant(0.5)), bias=1.0),
    "hedge": zoo.eg(Cost(), 1.0),
}
every_learner = pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)


def labels_for(learner: Linear) -> Any:
    return np.ones(100) if isinstance(learner.loss, Cost) else Y


def begin(learner: Linear) -> DoublingRun:
    return doubling(learner, D, compiled=learner is LEARNERS["eager"])


def test_the_sum_of_the_roots() -> None:
    """Σ_{m=0}^{⌊log₂T⌋} 2^{m/2} ≤ 3.414√T for all T; summed to ⌈log₂T⌉ as in the source it is not (E10)."""
    roots = np.cumsum(2 ** (np.arange(40) / 2))
    rounds = np.arange(1, 100_000)
    exponents = np.array([block_of(int(t)) for t in rounds])
    assert np.all(roots[exponents] <= FACTOR * np.sqrt(rounds))
    assert pytest.approx(3.414, abs=1e-3) == FACTOR
    assert np.any(roots[np.ceil(np.log2(rounds)).astype(int)] > FACTOR * np.sqrt(rounds))
    assert roots[block_of(5)] == pytest.approx(4.414, abs=1e-3)
    assert FACTOR * math.sqrt(5) == pytest.approx(7.634, abs=1e-3)
    with pytest.raises(PartError, match="count from 1"):
        block_of(0)


@every_learner
def test_every_block_is_a_run_of_its_own(learner: Linear) -> None:
    y = labels_for(learner)
    run = begin(learner).learn(X, y)
    assert len(run.finished) == 6  # 1 + 2 + … + 32 = 63 rounds
    first, loss, linear, mistakes = 0, 0.0, 0.0, 0
    for m in range(7):
        rows = slice(first, min(first + 2**m, 100))
        block = train(Doubling(learner).block(2**m), X[rows], y[rows], compiled=run.compiled)
        assert block.scores.tobytes() == run.scores[rows].tobytes()
        assert np.all(block.learner.rule.schedule().eta == learner.rule.schedule().eta / math.sqrt(2**m))  # type: ignore[attr-defined]
        if m < 6:
            assert {c.id: c.bound for c in block.certificates if c.premises_hold}.items() <= run.finished[m].items()
        first, loss, mistakes = rows.stop, loss + block.loss, mistakes + (block.mistakes or 0)
        linear += block.linear_regret()
    assert bits(block.state) == bits(run.state)
    assert run.loss == pytest.approx(loss)
    assert run.rounds == 100
    assert (run.mistakes or 0) == mistakes
    assert run.linear_regret() <= linear + 1e-9  # one u for all blocks does no better than one for each


@every_learner
def test_it_is_certified(learner: Linear) -> None:
    y = labels_for(learner)
    run = begin(learner).learn(X, y)
    u = run.comparator.projection(RNG.normal(size=D + (learner.bias > 0)))
    exact = run.regret(u, X, y)
    assert exact <= run.linear_regret(Point(u)) + 1e-9
    assert run.linear_regret(Point(u)) <= run.linear_regret() + 1e-9
    assert all(c.holds for c in run.certificates if c.premises_hold)
    assert run.certificate.id.startswith("Σ ")
    found = next(c for c in run.certificates if c.id == "DOUBLING")
    assert found.bound == pytest.approx(FACTOR * found.details["alpha"] * 10)
    assert found.bound >= run.certificate.bound
    t = run.trace
    assert t.rounds.tolist() == [1, 3, 7, 15, 31, 63, 100]
    assert np.all(t.linear_regret <= t.bound + 1e-9)
    assert t.linear_regret[-1] == run.linear_regret()
    assert t.loss[-1] == run.loss
    assert "at most" in str(run)


@pytest.mark.sampled(2)
@every_learner
@pytest.mark.parametrize("split", [0, 1, 2, 3, 6, 7, 8, 63, 64])
def test_resumed_is_unbroken(learner: Linear, split: int, tmp_path: Path) -> None:
    y = labels_for(learner)
    whole, part = begin(learner).learn(X, y), begin(learner)
    if split:
        part.learn(X[:split], y[:split])
    part.save(tmp_path / "run.lr")
    found = load(tmp_path / "run.lr")
    assert isinstance(found, DoublingRun)
    found.learn(X[split:], y[split:])
    assert bits(found.state) == bits(whole.state)
    assert found.certificates == whole.certificates
    assert np.array_equal(found.trace.bound, whole.trace.bound)


def test_streams_that_do_not_tell_their_width(tmp_path: Path) -> None:
    lines = [f"{int(label):+d} {j + 1}:0.5 {30 * j + 200}:1" for j, label in enumerate(Y)]
    (tmp_path / "rows.svm").write_text("\n".join(lines))
    x = sp.lil_matrix((100, 30 * 99 + 201))
    for j in range(100):
        x[j, j + 1], x[j, 30 * j + 200] = 0.5, 1.0
    learner = LEARNERS["bias"]
    run = doubling(learner, compiled=False).learn(read(tmp_path / "rows.svm"))
    memory = doubling(learner, x.shape[1], compiled=False).learn(x.tocsr(), Y)
    assert run.features == x.shape[1]
    np.testing.assert_array_equal(run.weights, memory.weights)
    assert run.linear_regret() == pytest.approx(memory.linear_regret())


def test_a_bad_row_ends_the_batch_and_no_more() -> None:
    run, labels = begin(LEARNERS["eager"]), Y.copy()
    labels[40] = 0.5
    with pytest.raises(DataError, match="row 40"):
        run.learn(X, labels)
    run.learn(X[40:], Y[40:])
    assert bits(run.state) == bits(begin(LEARNERS["eager"]).learn(X, Y).state)


# ---- games -----------------------------------------------------------------------------------------------------------

RULES = [
    ProjectedGradient(Box(-1.0, 1.0), Constant(1.0)),
    MirrorDescent(Entropy(), Constant(math.sqrt(8 * math.log(D)))),
]


@pytest.mark.parametrize("rule", RULES, ids=["ogd", "hedge"])
def test_games(rule: Any, tmp_path: Path) -> None:
    costs = RNG.random((100, D))
    game = play(Doubling(rule), costs, compiled=False)
    run = doubling(Linear(Cost(), rule), D, compiled=False).learn(costs, np.ones(100))
    np.testing.assert_allclose(game.losses, run.scores, atol=1e-12)
    mine, theirs = ({c.id: c.bound for c in found} for found in (game.certificates, run.certificates))
    assert mine == pytest.approx(theirs)
    for first in (0, 1, 3, 7, 15, 31, 63):
        assert np.array_equal(game.points[first], game.points[0])
    assert not np.array_equal(game.points[2], game.points[0])
    half = play(Doubling(rule), costs[:31], compiled=False)
    half.save(tmp_path / "game.lr")
    resumed = play(load(tmp_path / "game.lr"), costs[31:])
    assert resumed.points.tobytes() == game.points.tobytes()
    assert resumed.certificates == game.certificates
    assert np.array_equal(resumed.trace.bound, game.trace.bound)


@given(st.integers(1, 120), st.sampled_from(["random", "misleading", "blocks"]), st.integers(0, 2**31))
def test_hedge_without_a_horizon_keeps_its_promise(rounds: int, kind: str, seed: int) -> None:
    """η = √(8 ln N/n) in blocks of n: every block within √(n ln N/2), so α = √(ln N/2)."""
    t, rng = np.arange(rounds), np.random.default_rng(seed)
    blocks = np.array([block_of(int(s) + 1) % 2 for s in t])
    first: Any = {"random": rng.random(rounds), "misleading": t % 2, "blocks": blocks}[kind]
    costs = np.column_stack([first, 1 - first])
    game = play(Doubling(MirrorDescent(Entropy(), Constant(math.sqrt(8 * math.log(2))))), costs, compiled=False)
    promise = FACTOR * math.sqrt(math.log(2) / 2 * rounds)
    regret = float(game.loss - costs.sum(axis=0).min())
    assert regret <= game.certificate.bound + 1e-9
    assert regret <= promise
    assert {c.id: c.bound for c in game.certificates}["Σ EG-RANGE"] <= promise + 1e-9
    assert all(c.holds for c in game.certificates if c.premises_hold)


# ---- rows yet to come ------------------------------------------------------------------------------------------------


def test_errors_of_all_blocks_are_those_of_a_drawn_model() -> None:
    """Each model was made before its row, whatever restarted: the mean error of all of them is bounded."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3))
    y = np.sign(x[:, 0] + 0.3 * rng.normal(size=600))
    run = doubling(zoo.ogd_eager(Hinge(), eta=0.5), 3, compiled=False).learn(x[:77], y[:77]).learn(x[77:], y[77:])
    found = run.risk()
    wrong = np.concatenate([run.scores])  # of the latest rows: at least their errors are among those counted
    assert found is not None
    assert found.output.startswith("a model drawn")
    assert run.mistakes is not None
    assert run.mistakes >= np.count_nonzero((wrong >= 0) != (y[77:] > 0))
    ceiling = run.mistakes / 600 + math.sqrt(2 * math.log(1e4) * run.mistakes) / 600 + 30 / 600
    assert run.mistakes / 600 < found.bound < ceiling
    assert "keeps one" not in str(run)  # no output of a learner that restarts is certified
    averaged = doubling(zoo.ogd_eager(Hinge(), eta=0.5, output=Average()), 3, compiled=False).learn(x, y)
    assert averaged.risks() == []
    assert "risk       unknown" in str(averaged)


def test_bounds_promised_beforehand_are_of_learners_that_do_not_restart() -> None:
    """A Perceptron that forgets errs anew in every block, and an average that has just begun is 0."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1023, 3))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    for base in (zoo.perceptron(), zoo.ogd_eager(Hinge(), eta=1.0, radius=2.0, output=Average())):
        run = doubling(base, 3, compiled=False).learn(x, y)
        with pytest.raises(PartError, match="do not restart"):
            run.promised_risks([1.5, 0.0, 0.0], x, y)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_what_cannot_be_doubled() -> None:
    with pytest.raises(PartError, match="only a Constant step"):
        Doubling(ProjectedGradient(L2Ball(), InverseSqrt(1.0)))
    with pytest.raises(PartError, match="base must be"):
        Doubling(L2Ball())
    with pytest.raises(PartError, match="rows need a learner"):
        doubling(Doubling(RULES[0]), D)
    with pytest.raises(PartError, match="mistake bounds"):
        begin(LEARNERS["hedge"]).mistake_certificates(np.ones(D), X, Y)
    with pytest.raises(DataError, match="rows have 2 features"):
        begin(LEARNERS["hedge"]).learn(X[:, :2], Y)
    assert isinstance(begin(LEARNERS["hedge"]).comparator, Simplex)


@pytest.mark.parametrize("seed", [30, 34, 37])
def test_what_is_proved_has_the_rounding_of_all_blocks(seed: int) -> None:
    """The linearised regret of costs is the regret, so that only what is added for rounding keeps it above."""
    rng = np.random.default_rng(seed)
    rounds = int(rng.choice([63, 64, 255, 400]))
    X, u = rng.normal(size=(rounds, 2)) * 10.0 ** float(rng.integers(-3, 4)), rng.normal(size=2)
    run = doubling(Linear(Cost(), MirrorDescent(Euclidean(), Constant(0.1))), 2, Point(u), compiled=False)
    run.learn(X, np.ones(rounds))
    mine = sum(map(Fraction, run.scores.tolist()))
    theirs = sum(Fraction(a) * Fraction(b) for row in X.tolist() for a, b in zip(row, u.tolist(), strict=True))
    for c in run.certificates:
        assert Fraction(c.proved) >= mine - theirs
        assert c.rounding < 1e-9 * (1 + abs(c.bound))


def test_bounds_below_zero_are_no_reason_for_less() -> None:
    """Blocks whose regrets are at most −1 and −1.5 add up to no less than −2.5."""
    latest = Certificate("LEM-2.5", "regret", {"set": "ball"}, -1.5, -1.5)
    found = {c.id: c.bound for c in sum_blocks([latest], [{"LEM-2.5": -1.0}, {"LEM-2.5": -1.5}], 3)}
    assert found == {"Σ LEM-2.5": -2.5, "DOUBLING": 0.0}
