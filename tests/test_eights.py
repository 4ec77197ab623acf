"""AdaGrad in eights: the numbers of `Diagonal`, however many classes, and plain again when saved or proved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import eight, store
from lowregret.class_layout import laid, plain, stride
from lowregret.class_run import KIND, ClassRun, start_classes
from lowregret.domain import Box, Point
from lowregret.eight_classes import EightMulticlass, at_work
from lowregret.error import DivergedError
from lowregret.files import load
from lowregret.kernel import kernel
from lowregret.loss import MultiHinge, MultiLoss, OneAgainstAll, Softmax, SquaredHinge
from lowregret.multiclass import Multiclass, Room, learn_classes
from lowregret.output import Average, Last, Output, Random, WeightedAverage
from lowregret.rows import as_rows
from lowregret.rule import Diagonal, Lazy, Proportional, Root
from lowregret.run import train
from lowregret.state import State, Vector
from lowregret.step import Constant
from tests.test_multiclass import same

ADAGRAD = Diagonal(Root(0.5))
N, D = 60, 5


@kernel
def all_of_it(a: Vector, b: Vector, out: Vector) -> None:
    """Every operation on eights, one after the other."""
    u, v = eight.load(a, np.uint64(1)), eight.load(b, np.uint64(0))
    eight.store(out, np.uint64(0), u + v)
    eight.store(out, np.uint64(8), u - 2.0 * v)
    eight.store(out, np.uint64(16), u * v / (v + 0.5))
    eight.store(out, np.uint64(24), eight.root(abs(u)))
    eight.store(out, np.uint64(32), eight.where(u > v, u, eight.spread(7.0)))
    eight.store(out, np.uint64(40), eight.larger(u, v))
    out[48], out[49], out[50] = eight.total(u), eight.largest(u), v[3]


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


def plainly(learner: Multiclass, X: Any, y: list[int], lanes: int) -> State:
    """The run as `Diagonal` itself does it, interpreted."""
    state, codes = learner.start(D, lanes), np.array(y)
    room, guesses = Room.of(np.zeros(1, np.int64), lanes), np.zeros(codes.size, np.int64)
    done = learn_classes.py_func(  # type: ignore[attr-defined]
        learner, state, as_rows(X), codes, np.empty(0), room, guesses, 0, 10**6
    )
    assert done == len(y)
    return state


# ---- the rule --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("output", [Last(), Average(), WeightedAverage(), Random(1)], ids=repr)
@pytest.mark.parametrize("loss", [Softmax(), MultiHinge(), OneAgainstAll(SquaredHinge())], ids=repr)
@pytest.mark.parametrize("classes", [1, 3, 8, 11])
def test_eights_are_what_diagonal_is(loss: MultiLoss, output: Output, classes: int) -> None:
    """θ, w, S, Σ(P_t − P_{t−1})w_t, the lags and all sums, classes and features met on the way or not."""
    X, y = rows(classes, classes)
    learner = Multiclass(loss, Diagonal(Root(0.3, 0.2)), output, bias=0.5, unit=classes == 3)
    run = train(learner, X, y, classes=range(classes) if classes % 2 else None, compiled=False)
    known = len(set(y))
    wanted = plain(learner, plainly(learner, X, y, classes), classes, (D, known))
    found = plain(at_work(learner), run.state, stride(at_work(learner), run.lanes), (D, known))
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine.ravel() == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert found.sums[:12] == pytest.approx(wanted.sums[:12], rel=1e-9)


def test_who_works_in_eights() -> None:
    class Own(Root):
        """A precision of one's own."""

    assert isinstance(at_work(Multiclass(Softmax(), ADAGRAD)), EightMulticlass)
    for rule in (Diagonal(Own(0.5)), Diagonal(Proportional()), Diagonal(Root(0.5), Box(-1.0, 1.0))):
        learner = Multiclass(Softmax(), rule)
        assert at_work(learner) is learner
        assert stride(learner, 5) == 5


# ---- the run ---------------------------------------------------------------------------------------------------------


def test_splits_files_and_growth_change_no_bit(tmp_path: Path) -> None:
    X, y = rows(2, 19, 150)
    learner = Multiclass(OneAgainstAll(SquaredHinge()), ADAGRAD, Random(4), unit=True)
    whole = start_classes(learner, None).learn(X, y)
    same(whole, start_classes(learner, None, compiled=False).learn(X, y))
    run = start_classes(learner, None)
    for begin, end in ((0, 1), (1, 40), (40, 41), (41, 150)):  # 8, 16 and 24 lanes lie between
        run.save(tmp_path / "model.lr")
        loaded = load(tmp_path / "model.lr")
        assert isinstance(loaded, ClassRun)
        run = loaded.learn(X[begin:end], y[begin:end])
    same(run, whole)
    assert (whole.lanes, len(whole.classes)) == (32, 19)


def test_a_row_that_failed_leaves_nothing_behind_in_unused_lanes() -> None:
    """Its slopes were written already when its loss turned out to overflow."""
    X, y = np.array([[1.0], [1.0], [1e200], [1.0]]), [0, 1, 2, 1]
    learner = Multiclass(OneAgainstAll(SquaredHinge()), Diagonal(Root(0.5)))
    run = start_classes(learner, 1, compiled=False).learn(X[:2], y[:2])
    before = [cells.tobytes() for cells in run.state]
    room = run._room(1)
    room.slopes[2:] = 1.0
    run._pass(as_rows(X[3:]), np.empty(0), room, 0, 10**6)  # no codes are left of an earlier batch: nothing is learnt
    with pytest.raises(DivergedError):
        run.learn(X[2:3], y[2:3])
    assert [cells.tobytes() for cells in run.state] == before
    worker, state = at_work(learner), run.state.copy()
    for slopes in (0.0, 1.0):
        s, room = state.copy(), Room.of(np.array([2]), 8)
        room.slopes[2:] = slopes
        codes, guesses = np.array([1]), np.zeros(1, np.int64)
        learn_classes.py_func(  # type: ignore[attr-defined]
            worker, s, as_rows(X[3:]), codes, np.empty(0), room, guesses, 0, 10**6
        )
        assert not s.table.reshape(-1, 3, 8)[:, :, 2:].any()


def test_a_file_of_four_lanes_is_read_and_continued(tmp_path: Path) -> None:
    X, y = rows(5, 3)
    learner = Multiclass(Softmax(), ADAGRAD)
    run = train(learner, X, y, compiled=False)
    description, arrays = run.contents()
    old = plainly(learner, X, y, 4)
    store.write(tmp_path / "old.lr", KIND, description | {"lanes": 4}, arrays | old._asdict())
    found = load(tmp_path / "old.lr")
    assert isinstance(found, ClassRun)
    assert found.lanes == 8
    X, more = rows(6, 7)
    assert found.learn(X, more).point == pytest.approx(run.learn(X, more).point, rel=1e-9)
    again = plain(found._worker, laid(found._worker, old, 4), 8, (D, 4))
    assert again.table.ravel() == pytest.approx(old.table, rel=1e-9, abs=1e-12)


def test_the_bound_is_the_linearised_regret_and_what_telescoping_leaves_out() -> None:
    """Against every u, as theory has it: equality on R^d, which all numbers of the plain table must be right for."""
    X, y = rows(7, 9)
    run = train(Multiclass(Softmax(), Diagonal(Root(0.4, 0.1)), bias=1.0), X, y, classes=range(9), compiled=False)
    rng = np.random.default_rng(1)
    for u in (run.point, 0.0 * run.point, rng.normal(size=run.point.shape)):
        comparator = Point(run._flat(u))
        proved = ClassRun(run.learner, run.state, run.classes, comparator, compiled=False).certificates
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
    assert np.linalg.norm(theta) == pytest.approx(run._history[-1][-4])
    from lowregret.mirror import Euclidean

    other = train(Multiclass(Softmax(), Lazy(Euclidean(), Constant(0.1))), X, y, classes=range(5), compiled=False)
    assert other.books is other.state
