"""Learning in blocks: the same bits on any number of threads, as late answers give them, and certificates that hold."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Average,
    Box,
    Constant,
    DataError,
    Euclidean,
    Hinge,
    InverseSqrt,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    Multiclass,
    PartError,
    Softmax,
    delayed,
    load,
    read,
    train,
    zoo,
)
from lowregret.domain import Point
from lowregret.loss import Cost
from lowregret.rule import AdaGrad
from lowregret.run import blocks
from lowregret.run.begin import begin
from lowregret.run.block_learners import MOST_LEARNERS
from lowregret.run.blocks import WORTH, BlockRun
from lowregret.run.pace import AGAIN, FIRST_TURNS, Pace
from lowregret.types import Vector
from tests.naive import onto_l2_ball

RNG = np.random.default_rng(11)
D = 6
X = RNG.normal(size=(120, D)) * (RNG.random((120, D)) < 0.7)
Y = np.where(X @ RNG.normal(size=D) + RNG.normal(size=120) > 0, 1.0, -1.0)
W = RNG.integers(0, 3, 120).astype(float)

LEARNERS = {
    "adaptive": zoo.ogd(Hinge()),
    "constant": zoo.ogd(Logistic(), 0.3),
    "sqrt": Linear(Logistic(), MirrorDescent(Euclidean(), InverseSqrt(0.2)), bias=1.0),
    "box": Linear(Logistic(), MirrorDescent(Euclidean(Box(-0.2, 0.3)), Constant(0.1)), bias=0.5),
    "adagrad": zoo.adagrad(Logistic(), 0.5),
    "ftrl": zoo.ftrl_proximal(Logistic(), 0.5),
    "centred": Linear(Logistic(), AdaGrad(0.5), centre=np.linspace(-1, 1, D)),
}


def bits(numbers: Vector) -> bytes:
    return np.asarray(numbers).tobytes()


every_learner = pytest.mark.parametrize("name", LEARNERS)


def blocked(name: str, block: int, learners: int = 2, **how: Any) -> BlockRun:
    run = begin(LEARNERS[name], D, learners=learners, block=block, **({"compiled": False} | how))
    assert isinstance(run, BlockRun)
    return run


# ---- what is learnt -------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("block", [1, 7, 32])
def test_it_is_late_answers_bit_for_bit(name: str, block: int) -> None:
    """Asking the rows of a block, and telling them in order, is what a block does."""
    run = blocked(name, block).learn(X, Y)
    late = delayed(LEARNERS[name], D, compiled=False)
    scores = []
    for k in range(0, len(Y), block):
        rounds, found = late.ask(X[k : k + block])
        late.tell(rounds, Y[k : k + block])
        scores.append(found)
    assert bits(run.scores) == bits(np.concatenate(scores))
    assert bits(run.weights) == bits(late.weights)
    assert run.loss == late.loss
    assert run.linear_regret() == pytest.approx(late.linear_regret(), rel=1e-9, abs=1e-9)


def naive_adagrad(x: Any, y: Vector, weights: Vector, eta: float, block: int) -> tuple[Vector, Vector]:
    """Scores and weights of AdaGrad in blocks, as one would write it; rows of weight 0 are no rounds."""
    w, squares, decided, rounds, scores = np.zeros(x.shape[1]), np.zeros(x.shape[1]), np.zeros(x.shape[1]), 0, []
    for row, label, c in zip(x, y, weights, strict=True):
        if rounds % block == 0:
            decided = w.copy()
        p = float(row @ decided)
        scores.append(p)
        if c > 0:
            z = -c * label / (1 + np.exp(label * p)) * row
            squares += z * z
            w -= np.where(z != 0, eta * z / np.sqrt(np.where(squares > 0, squares, 1.0)), 0.0)
            rounds += 1
    return np.array(scores), w


@pytest.mark.parametrize("block", [1, 5, 50])
def test_it_is_the_transcription(block: int) -> None:
    run = train(zoo.adagrad(Logistic(), 0.5), X, Y, W, learners=2, block=block, compiled=False)
    scores, w = naive_adagrad(X, Y, W, 0.5, block)
    np.testing.assert_allclose(run.scores, scores, atol=1e-12)
    np.testing.assert_allclose(run.weights, w, atol=1e-12)
    assert run.rounds == np.count_nonzero(W)


@pytest.mark.parametrize("name", ["adaptive", "adagrad"])
def test_a_block_of_one_row_is_learning_row_by_row(name: str) -> None:
    run, plain = blocked(name, 1).learn(X, Y), train(LEARNERS[name], X, Y, compiled=False)
    assert bits(run.scores) == bits(plain.scores)
    assert bits(run.weights) == bits(plain.weights)
    assert run.linear_regret() == pytest.approx(plain.linear_regret())


# ---- threads --------------------------------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """All learners work whenever there are enough rows; notes how many threads there were."""
    seen: list[int] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        seen.append(1)
        start(thread)

    monkeypatch.setattr(Pace, "together", lambda pace: True)
    monkeypatch.setattr(blocks, "LEAST", 0)
    monkeypatch.setattr(threading.Thread, "start", counted)
    return seen


LONG = RNG.normal(size=(3000, 40)) * (RNG.random((3000, 40)) < 0.5)
SIGNS = np.where(LONG[:, :5].sum(axis=1) + RNG.normal(size=3000) > 0, 1.0, -1.0)


@pytest.mark.parametrize("name", ["adaptive", "adagrad"])
@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "dense"])
def test_threads_change_no_bit(name: str, sparse: bool, eager: list[int]) -> None:
    rows = sp.csr_array(LONG) if sparse else LONG
    found = []
    for learners in (1, 2, 4):
        del eager[:]
        run = begin(LEARNERS[name], 40, learners=learners, block=16)
        for first, last in pairwise((0, 5, 900, 2800, 3000)):
            run.learn(rows[first:last], SIGNS[first:last])
        assert (len(eager) > 0) == (learners > 1)
        description, arrays = run.contents()
        assert description.pop("learners") == learners
        found.append((repr(description), {key: value.tobytes() for key, value in arrays.items()}, str(run)))
    assert found[0] == found[1] == found[2]


def test_threads_change_no_bit_of_a_file(tmp_path: Path, eager: list[int]) -> None:
    """Features of files are numbered as they are met, so that rows are not sorted."""
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{row[j]:.4g}" for j in sorted(np.flatnonzero(row)))
        for row, label in zip(LONG[:, ::-1], SIGNS, strict=True)
    ]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n")
    one, four = (
        train(LEARNERS["adagrad"], read(tmp_path / "rows.svm"), learners=learners, block=16) for learners in (1, 4)
    )
    assert eager
    assert bits(one.weights) == bits(four.weights)
    assert repr(one.certificates) == repr(four.certificates)


def test_without_threads_one_learns_alone(eager: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = begin(LEARNERS["adagrad"], 40, learners=1, block=16).learn(LONG, SIGNS)
    start = threading.Thread.start

    def scarce(thread: threading.Thread) -> None:
        if len(eager) % 3 == 2:
            eager.append(0)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", scarce)
    run = begin(LEARNERS["adagrad"], 40, learners=4, block=16).learn(LONG, SIGNS)
    assert 0 in eager
    assert bits(run.weights) == bits(wanted.weights)


@pytest.mark.parametrize("learners", [1, 3])
def test_an_unfit_row_ends_it_where_it_is(learners: int, eager: list[int]) -> None:
    wrong = SIGNS.copy()
    wrong[1234] = 7.0
    run, before = (begin(LEARNERS["adagrad"], 40, learners=learners, block=16) for _ in range(2))
    with pytest.raises(DataError, match="row 1234"):
        run.learn(LONG, wrong)
    assert run.rounds == 1234
    before.learn(LONG[:1234], SIGNS[:1234])
    assert bits(run.learn(LONG[1234:], SIGNS[1234:]).weights) == bits(before.learn(LONG[1234:], SIGNS[1234:]).weights)


@settings(max_examples=25, deadline=None)
@given(st.sets(st.integers(1, 119), max_size=6), st.integers(1, 40), st.booleans())
def test_no_bit_depends_on_batches_or_files(cuts: set[int], block: int, grows: bool) -> None:
    def made() -> BlockRun:
        return begin(LEARNERS["adagrad"], None if grows else D, learners=2, block=block, compiled=False)  # type: ignore[return-value]

    whole, parts = made().learn(X, Y, W), made()
    for first, last in pairwise([0, *sorted(cuts), 120]):
        parts.learn(X[first:last], Y[first:last], W[first:last])
        parts = BlockRun.of("a file", *parts.contents())
    assert bits(parts.weights) == bits(whole.weights)
    assert repr(parts.certificates) == repr(whole.certificates)


def test_a_file_keeps_the_iterate_of_a_begun_block(tmp_path: Path) -> None:
    run = blocked("adagrad", 50).learn(X[:60], Y[:60])
    again = load(run.save(tmp_path / "run.lr"))
    assert (again.block, again.learners) == (50, 2)
    assert again.point.tobytes() == blocked("adagrad", 50).learn(X[:50], Y[:50]).weights.tobytes()
    assert again.point @ X[60] == pytest.approx(blocked("adagrad", 50).learn(X, Y).scores[60])
    assert bits(again.learn(X[60:], Y[60:]).scores) == bits(blocked("adagrad", 50).learn(X, Y).scores[60:])


# ---- certificates ---------------------------------------------------------------------------------------------------


@every_learner
@pytest.mark.parametrize("block", [4, 33])
def test_regret_is_below_every_certificate(name: str, block: int) -> None:
    run = blocked(name, block).learn(X, Y, W)
    around = run.learner.centre.w if name == "centred" else np.zeros(run.dimension)
    for found in run.certificates:
        assert found.premises_hold
        for _ in range(40):
            u = onto_l2_ball(1.0)(RNG.normal(size=run.dimension))
            u = run.comparator.projection(u) + around
            regret = run.regret(u, X, Y, W)
            assert found.linear_regret is not None
            assert regret <= found.linear_regret + 1e-9
            assert found.linear_regret <= found.bound + 1e-9


@pytest.mark.parametrize("block", [1, 2, 8, 16])
def test_delay_is_tight_and_what_holds_row_by_row_is_not_true(block: int) -> None:
    """Costs that change sign after each block: Σ_b η N_b² is what is lost, B times Σ η‖z‖²."""
    eta, costs = 0.25, np.repeat(np.resize([1.0, -1.0], 160 // block), block)
    run = train(zoo.ogd(Cost(), eta), costs[:, None], np.ones(160), learners=2, block=block, compiled=False)
    late = {c.id: c for c in run.certificates}
    found = run.linear_regret()
    assert late["DELAY"].bound == pytest.approx(1 / (2 * eta) + eta / 2 * 160 * block)
    assert run.linear_regret(Point(np.zeros(1))) == pytest.approx(eta * block * 80)
    assert found <= late["LEM-2.20"].bound <= late["DELAY"].bound
    row_by_row = 1 / (2 * eta) + eta / 2 * 160
    assert (found > row_by_row) == (block > 1)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.sampled_from(["adaptive", "constant", "sqrt", "box"]), st.integers(0, 2**32 - 1))
def test_delay_bounds_the_linearised_regret(block: int, name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(80, D)) * rng.choice([1e-3, 1.0, 30.0])
    y = np.resize(np.repeat([1.0, -1.0], block), 80) if rng.random() < 0.5 else rng.choice([-1.0, 1.0], 80)
    run = blocked(name, block)
    for first, last in pairwise((0, 17, 40, 80)):
        run.learn(x[first:last], y[first:last])
        delay = next(c for c in run.certificates if c.id == "DELAY")
        assert run.linear_regret() <= delay.bound * (1 + 1e-9) + delay.rounding


def matrix(path: Path) -> tuple[Any, Vector]:
    """All rows of a file, in memory."""
    parts = [batch.copy() for batch in read(path).batches()]
    d = max(part.rows.columns for part in parts)
    rows = [
        sp.csr_array((part.rows.data, part.rows.indices.astype(np.int64), part.rows.indptr), shape=(len(part), d))
        for part in parts
    ]
    return sp.vstack(rows, format="csr"), np.concatenate([part.labels for part in parts])


@pytest.mark.parametrize(("name", "most"), [("rcv1_sample.svm.gz", 1.01), ("enron_spam.svm.gz", 1.08)])
def test_real_rows(name: str, most: float, data_file: Callable[[str], Path]) -> None:
    """Blocks lose little; regret against what the whole of the rows taught is below the certificate."""
    x, y = matrix(data_file(name))
    learner = zoo.adagrad(Logistic(), 0.1)
    plain, run = train(learner, x, y), train(learner, x, y, learners=2, block=8)
    assert plain.loss < run.loss < most * plain.loss
    for u in (plain.weights, run.weights):
        u = onto_l2_ball(1.0)(u)
        assert run.regret(u, x, y) <= run.linear_regret() + 1e-6
    one = train(learner, x, y, learners=2, block=1)
    assert bits(one.weights) == bits(plain.weights)


# ---- which way is faster --------------------------------------------------------------------------------------------


def test_the_faster_way_is_gone_most_often() -> None:
    for cost, wanted in ((0.5, True), (2.0, False)):
        pace, ways = Pace(), []
        for _ in range(40 * AGAIN):
            ways.append(pace.together())
            pace.took(ways[-1], cost if ways[-1] else 1.0, 1)
        assert ways[-200:].count(not wanted) <= 2  # the longer it goes, the seldomer
        assert set(ways[:FIRST_TURNS]) == {True, False}
        assert pace.gain == pytest.approx(1 / cost)
        assert np.mean(np.array(ways) == wanted) > 0.95
        assert (not wanted) in ways[FIRST_TURNS:]


# ---- errors ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learners", [0, -1, 1.5, True, MOST_LEARNERS + 1])
def test_so_many_learners_there_cannot_be(learners: Any) -> None:
    with pytest.raises(PartError, match=f"learners must be a whole number from 1 to {MOST_LEARNERS}"):
        train(LEARNERS["adagrad"], X, Y, learners=learners)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (zoo.auto(Softmax()), "auto on many classes learns row by row"),
        (zoo.ogd_eager(Hinge(), 0.1), "moves its weights together"),
        (Linear(Hinge(), MirrorDescent(Euclidean(L2Ball()), Constant(0.1))), "moves its weights together"),
        (zoo.arow(Hinge()), "moves its weights together"),
        (zoo.ogd(Hinge(), output=Average()), "needs each iterate on the way"),
        (Multiclass(Softmax(), AdaGrad(0.1)), "learns row by row"),
    ],
    ids=["auto", "eager", "ball", "arow", "average", "classes"],
)
def test_who_cannot_learn_in_blocks_says_why(learner: Any, reason: str) -> None:
    with pytest.raises(PartError, match=reason):
        train(learner, X, Y, learners=2)


def test_what_blocks_do_not_know_is_refused() -> None:
    with pytest.raises(PartError, match="say how many"):
        train(LEARNERS["adagrad"], X, Y, block=8)
    with pytest.raises(PartError, match="block must be a whole number"):
        train(LEARNERS["adagrad"], X, Y, learners=2, block=0)
    run = blocked("adaptive", 8).learn(X, Y)
    with pytest.raises(PartError, match="row"):
        run.mistake_certificates(np.zeros(D), X, Y)
    with pytest.raises(PartError, match="one by one"):
        run.promised_risks(np.zeros(D), X, Y)
    assert WORTH > 1


def test_a_row_that_is_put_back_does_not_end_its_block(tmp_path: Path) -> None:
    """The last row of a block is learnt on trial, and overflows: the rest of the block is decided as before."""
    run = begin(Linear(Logistic(), AdaGrad(1e308), bias=1.0), None, learners=2, block=7, compiled=False)
    run.learn(np.full((4, 3), 0.1), [1.0, -1.0, 1.0, -1.0])
    refused = 0
    for _ in range(3):
        try:
            run.learn(np.full((1, 3), 1e80), [-1.0])
        except DataError:
            refused += 1
            assert run.rounds % 7 == 6
    assert refused == 1
    assert load(run.save(tmp_path / "m.lr")).rounds == run.rounds
