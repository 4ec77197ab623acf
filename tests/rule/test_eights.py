"""AdaGrad in eights: the numbers of `AdaGrad`, however many classes, and plain again when saved or proved."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.simd import larger, largest, load, root, spread, total, where
from lowregret.compile.simd import store as put
from lowregret.domain import Box, Point
from lowregret.learner.late import nobody
from lowregret.learner.layout import laid, plain, stride
from lowregret.learner.multiclass import Multiclass, Room, learn_classes
from lowregret.learner.multiclass_simd import EightMulticlass, at_work
from lowregret.loss import MultiHinge, MultiLoss, OneAgainstAll, Softmax, SquaredHinge
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last, Output, Random, WeightedAverage
from lowregret.rows import as_rows
from lowregret.rule import AdaGrad, DiagonalNewton, MirrorDescent
from lowregret.run.begin import begin
from lowregret.run.multiclass import MulticlassRun
from lowregret.state import State
from lowregret.step import Constant
from lowregret.store.kinds import load as read
from lowregret.train import train
from lowregret.types import Vector
from tests.learner.test_multiclass import same

ADAGRAD = AdaGrad(0.5)
N, D = 60, 5


@kernel
def all_of_it(a: Vector, b: Vector, out: Vector) -> None:
    """Every operation on eights, one after the other."""
    u, v = load(a, np.uint64(1)), load(b, np.uint64(0))
    put(out, np.uint64(0), u + v)
    put(out, np.uint64(8), u - 2.0 * v)
    put(out, np.uint64(16), u * v / (v + 0.5))
    put(out, np.uint64(24), root(abs(u)))
    put(out, np.uint64(32), where(u > v, u, spread(7.0)))
    put(out, np.uint64(40), larger(u, v))
    out[48], out[49], out[50] = total(u), largest(u), v[3]


def test_eights_are_arithmetic_lane_by_lane() -> None:
    rng = np.random.default_rng(0)
    a, b, fast, slow = rng.normal(size=9), rng.normal(size=8), np.zeros(51), np.zeros(51)
    all_of_it(a, b, fast)
    all_of_it.py_func(a, b, slow)  # type: ignore[attr-defined]
    u = a[1:]
    wanted = [u + b, u - 2 * b, u * b / (b + 0.5), np.sqrt(abs(u)), np.where(u > b, u, 7.0), np.maximum(u, b)]
    assert fast.tobytes() == slow.tobytes()
    assert np.array_equal(fast[:48], np.concatenate(wanted))
    assert fast[48:].tolist() == pytest.approx([u.sum(), u.max(), b[3]])


def rows(seed: int, classes: int, n: int = N) -> tuple[Any, list[int]]:
    """Sparse rows, and classes in the order in which they are met."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    labels = np.minimum(rng.integers(0, classes, n), np.arange(n) // 2).tolist()
    order = list(dict.fromkeys(labels))
    return X, [order.index(c) for c in labels]


def learn(learner: Multiclass, state: State, X: Any, y: list[int], room: Room) -> None:
    """All rows, interpreted."""
    given = as_rows(X), np.array(y), np.empty(0), room, nobody(), np.zeros(len(y), np.int64), 0, 10**6, math.inf
    assert call(learn_classes, False, learner, state, *given) == len(y)


def plainly(learner: Multiclass, X: Any, y: list[int], lanes: int, known: int = 0) -> State:
    """The state of the run as `AdaGrad` itself does it."""
    state = learner.start(D, lanes)
    learn(learner, state, X, y, Room.of(np.array([known]), lanes))
    return state


# ---- the rule --------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("output", [Last(), Average(), WeightedAverage(), Random(1)], ids=repr)
@pytest.mark.parametrize("loss", [Softmax(), MultiHinge(), OneAgainstAll(SquaredHinge())], ids=repr)
@pytest.mark.parametrize("classes", [1, 3, 8, 11])
def test_eights_are_what_diagonal_is(loss: MultiLoss, output: Output, classes: int) -> None:
    """θ, w, S, Σ(P_t − P_{t−1})w_t, the model and all sums, of classes that are met on the way or named."""
    X, y = rows(classes, classes)
    learner = Multiclass(loss, AdaGrad(0.3, beta=0.2), output, bias=0.5, unit=classes == 3)
    named = classes % 2
    run = train(learner, X, y, classes=range(classes) if named else None, compiled=False)
    wanted = plainly(learner, X, y, classes, classes if named else 0)
    assert run.books.table.ravel() == pytest.approx(wanted.table, rel=1e-9, abs=1e-12)
    assert run.state.sums == pytest.approx(wanted.sums, rel=1e-9)
    model = np.empty(wanted.dimension)
    learner.model(wanted, model)
    assert run.weights.ravel() == pytest.approx(model, rel=1e-9, abs=1e-12)


def test_who_works_in_eights() -> None:
    class Own(AdaGrad):
        """A rule of one's own."""

    assert isinstance(at_work(Multiclass(Softmax(), ADAGRAD)), EightMulticlass)
    for rule in (Own(0.5), DiagonalNewton(), AdaGrad(0.5, Box(-1.0, 1.0))):
        learner = Multiclass(Softmax(), rule)
        assert at_work(learner) is learner
        assert stride(learner, 5) == 5


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_splits_files_and_growth_change_no_bit(tmp_path: Path) -> None:
    X, y = rows(2, 19, 150)
    learner = Multiclass(OneAgainstAll(SquaredHinge()), ADAGRAD, Random(4), unit=True)
    whole = begin(learner, None).learn(X, y)
    same(whole, begin(learner, None, compiled=False).learn(X, y))
    run = begin(learner, None)
    for first, end in ((0, 1), (1, 40), (40, 41), (41, 150)):  # 8, 16 and 24 lanes
        run.save(tmp_path / "model.lr")
        loaded = read(tmp_path / "model.lr")
        assert isinstance(loaded, MulticlassRun)
        run = loaded.learn(X[first:end], y[first:end])
    same(run, whole)
    assert (whole.lanes, len(whole.classes)) == (24, 19)


def test_a_row_that_failed_leaves_nothing_behind_in_unused_lanes() -> None:
    """Its slopes were written already when its loss turned out to overflow."""
    worker = at_work(Multiclass(OneAgainstAll(SquaredHinge()), ADAGRAD))
    state, room = worker.start(1, 8), Room.of(np.array([2]), 8)
    room.slopes[2:] = 1.0
    learn(worker, state, [[1.0], [2.0]], [0, 1], room)
    assert state.table.reshape(3, 8)[:, :2].all()
    assert not state.table.reshape(3, 8)[:, 2:].any()


def test_what_is_laid_out_in_eights_is_plain_again() -> None:
    X, y = rows(5, 3)
    learner = Multiclass(Softmax(), ADAGRAD)
    state, worker = plainly(learner, X, y, 4), at_work(learner)
    again = plain(worker, laid(worker, state, 4), 8, (D, 4))
    assert again.table.ravel() == pytest.approx(state.table, rel=1e-9, abs=1e-12)


def test_the_bound_is_the_linearised_regret_and_what_telescoping_leaves_out() -> None:
    """Against every u, as theory has it: equality on R^d, which all numbers of the plain table must be right for."""
    X, y = rows(7, 9)
    run = train(Multiclass(Softmax(), AdaGrad(0.4, beta=0.1), bias=1.0), X, y, classes=range(9), compiled=False)
    rng = np.random.default_rng(1)
    for u in (run.point, 0.0 * run.point, rng.normal(size=run.point.shape)):
        comparator = Point(run._flat(u))
        proved = MulticlassRun(run.learner, run.state, run.classes, comparator, compiled=False).certificates
        found = next(c for c in proved if c.id == "DIAGONAL")
        assert found.slack is not None
        assert found.linear_regret is not None
        assert found.bound - found.slack == pytest.approx(found.linear_regret, rel=1e-9, abs=1e-9)
        assert run.regret(u, X, y) <= found.linear_regret + 1e-9
        assert all(c.bound >= found.linear_regret - 1e-9 for c in proved)


def test_traces_and_other_rules_have_plain_tables() -> None:
    X, y = rows(8, 5)
    run = train(Multiclass(Softmax(), ADAGRAD), X, y, classes=range(5), compiled=False)
    assert run.books.dimension == run.dimension == 5 * D
    assert run.trace.linear_regret[-1] == pytest.approx(run.linear_regret())
    theta = run.books.theta.reshape(D, 5)
    assert np.linalg.norm(theta) == pytest.approx(run.snapshot()[-4])
    other = train(
        Multiclass(Softmax(), MirrorDescent(Euclidean(), Constant(0.1))), X, y, classes=range(5), compiled=False
    )
    assert other.books is other.state
