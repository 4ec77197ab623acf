"""The trace is what the certificates would have said, had the run been stopped at each mark."""

from __future__ import annotations

import math
from dataclasses import fields
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import doubling, play, zoo
from lowregret.certificate import THEOREMS, certificates
from lowregret.certificate.trace import Trace, next_mark
from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Point, Reals, Simplex
from lowregret.errors import PartError
from lowregret.learner.kernel_perceptron import Polynomial
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge, Logistic
from lowregret.mirror import PNorm
from lowregret.regret import regret
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import Constant, InverseTime
from lowregret.train import train
from tests.laws import sequences
from tests.laws.cases import CASES, Case

D, ROUNDS = 4, 45


def test_marks_are_two_to_a_doubling() -> None:
    marks = [1]
    while marks[-1] < 200:
        marks.append(next_mark(marks[-1]))
    assert marks[:13] == [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 64, 91]
    assert next_mark(0) == 1
    assert next_mark(2**40) == math.ceil(2**40.5)


@given(st.integers(0, 2**50))
def test_the_next_mark_depends_on_the_round_alone(rounds: int) -> None:
    """From any round the walk meets the same marks: the smallest ⌈2^{k/2}⌉ beyond it."""
    mark = next_mark(rounds)
    assert mark > rounds
    assert next_mark(mark - 1) == mark
    assert mark <= max(rounds + 1, math.ceil(rounds * 2**0.5) + 1)


def supported(case: Case, comparators: Domain) -> bool:
    """Whether norms of θ determine the linearised regret."""
    if case.ridge > 0:
        return isinstance(comparators, L2Ball | Reals)
    if isinstance(comparators, Box):
        return comparators.low.size == comparators.high.size == 1 and comparators.low[0] == -comparators.high[0]
    if isinstance(comparators, LqBall):
        rule = case.rule(D, 0.1)
        return isinstance(rule, MirrorDescent) and isinstance(rule.mirror, PNorm) and rule.mirror.q == comparators.q
    return isinstance(comparators, L2Ball | L1Ball | Simplex)


BY_LEDGER = {t.id for t in THEOREMS if not (t.needs_theta or t.needs_table)}  # what the history can tell


def check(case: Case, learner: Linear, x: sequences.Matrix, y: sequences.Vector, comparators: Domain) -> None:
    drawn = train(learner, x, y, comparator=comparators, compiled=False).trace
    kept = "forgotten" not in case.name
    assert drawn.rounds[-1] == len(y)
    for i, rounds in enumerate(drawn.rounds):
        stopped = train(learner, x[:rounds], y[:rounds], compiled=False)
        found = [c for c in certificates(learner, stopped.state, comparators) if c.id in BY_LEDGER]
        assert drawn.loss[i] == stopped.loss
        known = supported(case, comparators)
        if not found:  # the history knows no more than the linearised regret
            linear = stopped.linear_regret(comparators)
            assert drawn.bound[i] == (pytest.approx(linear, rel=1e-9, abs=1e-9) if known else math.inf)
            assert drawn.theorem == "LEM-2.5"
            continue
        assert drawn.bound[i] == pytest.approx(
            found[0].bound if found[0].premises_hold else math.nan, rel=1e-9, nan_ok=True
        )
        if known and kept:
            assert drawn.linear_regret[i] == pytest.approx(found[0].linear_regret, rel=1e-9, abs=1e-9)
        else:
            assert math.isnan(drawn.linear_regret[i])
        assert i < len(drawn.rounds) - 1 or drawn.theorem == found[0].id


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_trace_is_a_run_stopped_at_each_mark(case: Case) -> None:
    features = D - (case.bias > 0)
    for comparators in case.comparators(D):
        stream = sequences.random_experts(ROUNDS, features, 1)[0]
        check(case, case.learner(Cost(), features), stream.x, stream.y, comparators)
    stream = sequences.labelled(ROUNDS, features, 1)[0]
    check(case, case.learner(Hinge(), features), stream.x, stream.y, case.comparators(D)[0])


def test_symmetric_boxes_are_supported() -> None:
    case = next(case for case in CASES if case.name == "lazy on R^d")
    stream = sequences.random_costs(ROUNDS, D, 2)[0]
    check(case, case.learner(Cost(), D), stream.x, stream.y, Box(-0.5, 0.5))


def same(a: Trace, b: Trace) -> bool:
    return all(np.array_equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))


@cache
def unbroken(name: str) -> tuple[Linear, sequences.Stream, Trace]:
    """The learner of a case, rows for it, and the trace of a run on all of them at once."""
    learner = next(case for case in CASES if case.name == name).learner(Hinge(), D)
    stream = sequences.labelled(ROUNDS, D, 3)[0]
    return learner, stream, train(learner, stream.x, stream.y, compiled=False).trace


@pytest.mark.parametrize("name", ["lazy on a ball", "EG", "eager on a ball, η/√t", "strongly convex on R^d"])
@given(cuts=st.sets(st.integers(1, ROUNDS - 1), max_size=5))
def test_splitting_a_run_leaves_its_trace_alone(name: str, cuts: set[int]) -> None:
    learner, stream, whole = unbroken(name)
    run = LinearRun(learner, learner.start(D), compiled=False)
    for begin, end in pairwise([0, *sorted(cuts), ROUNDS]):
        run.learn(stream.x[begin:end], stream.y[begin:end])
    assert same(run.trace, whole)


def test_a_resumed_run_has_the_same_trace(tmp_path: Path) -> None:
    stream = sequences.labelled(ROUNDS, D, 4)[0]
    learner = zoo.ogd_lazy(Hinge(), 0.1)
    whole = train(learner, stream.x, stream.y, compiled=False).trace
    run = train(learner, stream.x[:21], stream.y[:21], compiled=False)
    run.save(tmp_path / "run")
    assert same(LinearRun.load(tmp_path / "run").learn(stream.x[21:], stream.y[21:]).trace, whole)


def test_rows_of_weight_zero_leave_the_trace_alone() -> None:
    stream = sequences.labelled(ROUNDS, D, 5)[0]
    learner = zoo.ogd_lazy(Hinge(), 0.1)
    padded = np.repeat(stream.x, 2, axis=0), np.repeat(stream.y, 2), np.tile([0.0, 1.0], ROUNDS)
    assert same(train(learner, *padded, compiled=False).trace, train(learner, stream.x, stream.y, compiled=False).trace)


def test_looking_at_a_trace_changes_nothing() -> None:
    stream = sequences.labelled(ROUNDS, D, 6)[0]
    run = train(zoo.ogd_lazy(Hinge(), 0.1), stream.x, stream.y, compiled=False)
    assert same(run.trace, run.trace)
    assert list(run.trace.rounds[-2:]) == [32, 45]
    run.learn(stream.x[:1], stream.y[:1])
    assert list(run.trace.rounds[-2:]) == [32, 46]


def test_an_empty_run_has_a_trace_of_one_point() -> None:
    learner = zoo.ogd_lazy(Hinge(), 0.1)
    drawn = LinearRun(learner, learner.start(D)).trace
    assert list(drawn.rounds) == [0]
    assert list(drawn.linear_regret) == [0.0]


def test_no_bound_is_drawn_where_its_premises_fail() -> None:
    learner = Linear(Cost(), ProjectedGradient(L2Ball(1.0), InverseTime(1.0)))
    outside = train(learner, [[1.0, 0.0]], [1.0], comparator=L2Ball(2.0), compiled=False)
    assert np.isnan(outside.trace.bound).all()
    assert not np.isnan(outside.trace.linear_regret).any()


def test_bounds_are_drawn_with_their_rounding() -> None:
    """A run that says no more than it proves draws no more: its last point is what people are told of the bound."""
    rng = np.random.default_rng(0)
    x = 1e8 * rng.normal(size=(40, 3))
    y = np.sign(x[:, 0])
    game = play(ProjectedGradient(L2Ball(1.0), Constant(1e-8)), x)
    runs: list[Any] = [
        train(zoo.ogd_eager(Hinge(), 1e-8), x, y, compiled=False),
        train(zoo.auto(Logistic(), "raw"), x, y, compiled=False),
        train(zoo.kernel_perceptron(Polynomial(1)), x, y, compiled=False),
        doubling(zoo.ogd_eager(Hinge(), 1e-8), features=3, compiled=False).learn(x, y),
    ]
    for run in runs:
        assert run.certificate.rounding > 0
        assert run.trace.bound[-1] == run.certificate.promised
    found = regret(game, L2Ball(0.5))
    assert found.certificate is not None
    assert found.bound == found.certificate.promised > found.certificate.bound


def test_points_are_not_determined_by_norms() -> None:
    run = train(zoo.ogd(Cost(), 0.1), [[1.0, 0.0]], [1.0], comparator=Point([0.5, 0.5]), compiled=False)
    assert np.isnan(run.trace.linear_regret).all()
    assert np.isfinite(run.trace.bound).all()


# ---- the exact regret over the rounds --------------------------------------------------------------------------------


def test_losses_of_a_fixed_choice_are_added_up_to_the_rounds_of_the_trace() -> None:
    rng = np.random.default_rng(3)
    x, weights = rng.normal(size=(300, 4)), rng.choice([0.0, 1.0, 2.5], 300)
    y = np.sign(x[:, 0] + rng.normal(size=300))
    run = train(zoo.ogd_lazy(Hinge(), 0.1), sp.csr_matrix(x), y, weights)
    u = np.array([0.5, -0.1, 0.2, 0.0])
    each = weights * np.maximum(0, 1 - y * (x @ u))
    known = np.cumsum(each[weights > 0])
    theirs = run.against(u, x, y, weights)
    assert theirs == pytest.approx(known[run.trace.rounds - 1])
    assert run.loss - theirs[-1] == pytest.approx(run.regret(u, x, y, weights))
    assert np.all(run.trace.loss - theirs <= run.trace.linear_regret + 1e-9)
    labels = [line.get_label() for axes in run.plot(theirs=theirs).axes for line in axes.lines]
    assert {"regret", "linearised regret", "best fixed choice in hindsight"} <= set(labels)


def test_a_ridge_is_refused_where_the_trace_does_not_keep_it() -> None:
    x = np.ones((5, 1))
    run = train(zoo.ogd_sc(Hinge(), 0.1), x, np.ones(5), compiled=False)
    with pytest.raises(PartError, match="ridge"):
        run.against([0.0], x, np.ones(5))
