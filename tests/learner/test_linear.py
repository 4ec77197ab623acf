"""Laws that every composition of parts obeys, each run over all of them."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.compile.call import call, compilable
from lowregret.domain import Box, Simplex
from lowregret.errors import PartError
from lowregret.learner.linear import Linear, learn_rows, loss_of, score_rows, write_model, write_point
from lowregret.loss import Hinge, LogWealth, Poisson, Square
from lowregret.mirror import Entropic, Entropy, Euclidean
from lowregret.mirror.entropy import LOCAL, LOWEST, SPREAD
from lowregret.output import Average, Last, WeightedAverage
from lowregret.rows import EVERY as ALL_ROWS
from lowregret.rows import Dense, Sparse, as_rows
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.state import (
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    LONGEST,
    MISTAKES,
    RIDGE,
    STEPPED,
    TOTAL,
    WEIGHTED,
    State,
)
from lowregret.step import Constant, WeightedInverseTime
from tests import naive
from tests.compositions import COMPOSITIONS, Composition, Rows, every, every_compiled, rows_for, with_bias
from tests.running import ALL, Learnt, bits, learn, model, point

pytestmark = pytest.mark.usefixtures("as_composed")

EVERY, EVERY_COMPILED = every(), every_compiled()
SEVERAL = pytest.mark.parametrize(
    "composition",
    [c for c in COMPOSITIONS if c.name in ("svm-online", "eg")],
    ids=lambda c: c.name,
)


def same(a: Learnt, b: Learnt) -> None:
    """Equal to the last bit."""
    assert bits(a.state) == bits(b.state)
    assert a.scores.tobytes() == b.scores.tobytes()
    assert a.stopped == b.stopped


def part(rows: Rows, begin: int, end: int | None = None) -> Rows:
    return Rows(*(a[begin:end] for a in rows))


def explicit(X: naive.Matrix, dtype: Any = np.float64) -> sp.csr_matrix:
    """Compressed sparse rows that store the zeros too."""
    n, d = X.shape
    return sp.csr_matrix((X.astype(dtype).ravel(), np.tile(np.arange(d), n), np.arange(0, n * d + 1, d)), (n, d))


# ---- the textbook ----------------------------------------------------------------------------------------------------


def naive_run(composition: Composition, rows: Rows) -> naive.LinearRun:
    return composition.naive(*rows.counted)


@EVERY
@pytest.mark.parametrize(("n", "d", "seed"), [(150, 7, 1), (60, 3, 2), (40, 1, 3), (1, 5, 4), (1, 1, 5), (90, 40, 6)])
def test_agrees_with_the_textbook(composition: Composition, n: int, d: int, seed: int) -> None:
    rows, learner = rows_for(composition.task, n, d, seed), composition.learner(d)
    rows.weights[0] = 1.0
    learnt, run = learn(learner, rows), naive_run(composition, rows)
    counted = (rows.weights > 0).astype(int)
    rounds_before = np.cumsum(counted) - counted
    X = with_bias(rows.X, learner.bias) if learner.bias else rows.X
    scores = np.sum(run.iterates[rounds_before] * X, axis=1)
    outputs = {Last: run.iterates[-1], Average: naive.average(run), WeightedAverage: naive.weighted_average(run)}
    np.testing.assert_allclose(learnt.scores, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(point(learner, learnt.state), run.iterates[-1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model(learner, learnt.state), outputs[type(learner.output)], rtol=1e-9, atol=1e-9)


@every([c for c in COMPOSITIONS if c.task == "margin"])
def test_agrees_with_the_textbook_on_real_rows(composition: Composition, census: Rows) -> None:
    learner = composition.learner(census.X.shape[1])
    run = composition.naive(census.X, census.y, np.ones(len(census.y)))
    X = with_bias(census.X, learner.bias) if learner.bias else census.X
    np.testing.assert_allclose(
        learn(learner, census).scores, np.sum(run.iterates[:-1] * X, axis=1), rtol=1e-9, atol=1e-9
    )


@pytest.fixture(scope="module")
def census(data_file: Callable[[str], Path]) -> Rows:
    """400 rows of a9a: 123 binary features, 14 to a row."""
    with gzip.open(data_file("a9a.svm.gz"), "rt") as file:
        lines = [next(file).split() for _ in range(400)]
    X = np.zeros((400, 123))
    for x, (_, *pairs) in zip(X, lines, strict=True):
        for index, value in (pair.split(":") for pair in pairs):
            x[int(index) - 1] = float(value)
    return Rows(X, np.array([float(label) for label, *_ in lines]), np.empty(0))


@EVERY
@pytest.mark.parametrize(("d", "density", "seed"), [(6, 0.6, 1), (6, 1.0, 2), (1, 1.0, 3)])
def test_the_ledger_is_what_it_says(composition: Composition, d: int, density: float, seed: int) -> None:
    rows, learner = rows_for(composition.task, 100, d, seed, density), composition.learner(d)
    state, run = learn(learner, rows).state, naive_run(composition, rows)
    w, z = run.iterates[:-1], run.gradients
    own = z - learner.ridge * w  # the part of the sub-gradient that comes from the row
    t = np.arange(1, len(z) + 1)
    weighted = isinstance(learner.rule.schedule(), WeightedInverseTime)
    c = t + 1 if weighted else np.ones(t.size)
    energy = np.linalg.norm(z, composition.norm, axis=1) ** 2
    lengths = np.sum(w**2, axis=1)
    losses = run.losses - learner.ridge / 2 * lengths
    rates = run.rates.copy()
    seen = np.flatnonzero(energy)
    if isinstance(
        learner.rule, MirrorDescent
    ):  # at θ = 0 the rate does not matter, so the ledger may take the present one
        rates[seen[0]] = learner.rule.step.rate(state_at(learner, int(seen[0])), energy[seen[0]])
    expected = {
        TOTAL: losses.sum(),
        WEIGHTED: (c @ losses) if weighted else 0.0,
        LINEAR: c @ np.sum(w * own, axis=1),
        ENERGY: energy.sum(),
        STEPPED: rates @ energy,
        LARGEST: energy.max(),
        FIRST_RATE: rates[seen[0]],
        LAST_RATE: rates[seen[-1]],
        RIDGE: c @ lengths if learner.ridge else 0.0,
    }
    if isinstance(learner.rule, MirrorDescent) and isinstance(learner.rule.mirror, Entropic):
        expected[LOCAL] = np.sum(w * z**2)
        expected[SPREAD] = np.sum(np.ptp(z, axis=1) ** 2)
        expected[LOWEST] = min(0.0, np.min(run.rates[:, None] * z))
    assert {k: state.sums[k] for k in expected} == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if isinstance(
        learner.rule, ProjectedGradient
    ):  # rounds without a sub-gradient do not enter the theorems, and need not count
        assert lengths[seen].max() <= state.sums[LONGEST] + 1e-9
        assert state.sums[LONGEST] <= lengths.max() + 1e-9
    if composition.name != "eager-forgotten":
        np.testing.assert_allclose(state.theta, -(c @ own), rtol=1e-9, atol=1e-9)


def state_at(learner: Linear, rounds: int) -> State:
    """A state after this many rounds without sub-gradients."""
    state = learner.start(1)
    state.counts[0] = rounds
    return state


@EVERY
def test_counts_rounds_and_mistakes(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 80, 5, 9), composition.learner(5)
    state, scores, _ = learn(learner, rows)
    counted = rows.weights > 0
    wrong = [learner.loss.wrong(p, y) for p, y in zip(scores[counted], rows.y[counted], strict=True)]
    assert state.rounds == counted.sum()
    assert state.counts[MISTAKES] == sum(wrong)


# ---- one result, however it is computed ------------------------------------------------------------------------------


@EVERY_COMPILED
@pytest.mark.parametrize(("n", "d", "seed"), [(60, 7, 11), (30, 1, 12), (25, 20, 13)])
def test_compiled_is_interpreted(composition: Composition, n: int, d: int, seed: int) -> None:
    rows, learner = rows_for(composition.task, n, d, seed), composition.learner(d)
    same(learn(learner, rows), learn(learner, rows, compiled=False))


@EVERY_COMPILED
def test_dense_is_sparse_with_stored_zeros(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 60, 7, 21), composition.learner(7)
    same(learn(learner, rows, x=rows.X, compiled=False), learn(learner, rows, x=explicit(rows.X)))


@EVERY
def test_leaving_out_zeros_changes_only_rounding(composition: Composition) -> None:
    """Four sums run side by side over the entries of a row; without its zeros they are shared out differently."""
    rows, learner = rows_for(composition.task, 60, 7, 22), composition.learner(7)
    sparse, dense = learn(learner, rows), learn(learner, rows, x=explicit(rows.X))
    np.testing.assert_allclose(sparse.scores, dense.scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sparse.state.sums, dense.state.sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model(learner, sparse.state), model(learner, dense.state), rtol=1e-12, atol=1e-12)


@SEVERAL
def test_compiled_dense_rows_are_compiled_sparse_rows(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 60, 7, 23), composition.learner(7)
    sparse = learn(learner, rows, x=explicit(rows.X))
    assert isinstance(as_rows(rows.X), Dense)
    same(learn(learner, rows, x=rows.X), sparse)
    same(learn(learner, rows, x=np.asfortranarray(rows.X)), sparse)


@EVERY_COMPILED
def test_single_precision_rows_with_the_same_values(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 40, 7, 24), composition.learner(7)
    narrow = learn(learner, rows, x=sp.csr_matrix(rows.X, dtype=np.float32), compiled=False)
    same(narrow, learn(learner, rows))
    same(learn(learner, rows, x=rows.X.astype(np.float32), compiled=False), learn(learner, rows, x=explicit(rows.X)))


@SEVERAL
def test_compiled_single_precision_rows(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 60, 7, 25), composition.learner(7)
    same(learn(learner, rows, x=sp.csr_matrix(rows.X, dtype=np.float32)), learn(learner, rows))


def test_squares_of_single_precision_rows_are_taken_in_double_precision() -> None:
    rows, learner = rows_for("margin", 50, 6, 3), zoo.ogd(Hinge())
    same(learn(learner, rows, x=rows.X.astype(np.float32)), learn(learner, rows, x=explicit(rows.X)))


@SEVERAL
def test_wide_indices(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 60, 7, 26), composition.learner(7)
    x = sp.csr_matrix(rows.X)
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    wide = as_rows(x)
    assert isinstance(wide, Sparse)
    assert wide.indices.dtype == np.uint64
    same(learn(learner, rows, x=wide), learn(learner, rows))


@EVERY
def test_no_weights_are_weights_of_one(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 40, 6, 27), composition.learner(6)
    ones = rows._replace(weights=np.ones(40))
    same(learn(learner, rows._replace(weights=np.empty(0))), learn(learner, ones))


@EVERY
def test_batch_is_one_row_at_a_time(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 50, 6, 31), composition.learner(6)
    state, scores = learner.start(6), []
    for i in range(50):
        one = learn(learner, part(rows, i, i + 1), state=state)
        assert one.stopped == 1
        scores.append(one.scores)
    same(Learnt(state, np.concatenate(scores), 50), learn(learner, rows))


@EVERY
@given(data=st.data())
@settings(max_examples=8)
def test_a_split_run_is_the_unbroken_run(composition: Composition, data: st.DataObject) -> None:
    rows, learner = rows_for(composition.task, 40, 6, 32), composition.learner(6)
    cut = data.draw(st.integers(0, 40))
    first = learn(learner, part(rows, 0, cut))
    second = learn(learner, part(rows, cut), state=first.state.copy())
    assert second.state.table is not first.state.table
    whole = learn(learner, rows)
    same(Learnt(second.state, np.concatenate([first.scores, second.scores]), 40), whole)


@EVERY
@given(stops=st.lists(st.integers(0, 45), max_size=6))
@settings(max_examples=8)
def test_stopping_after_given_rounds_changes_nothing(composition: Composition, stops: list[int]) -> None:
    rows, learner = rows_for(composition.task, 40, 6, 33), composition.learner(6)
    x, state, scores, i = as_rows(sp.csr_matrix(rows.X)), learner.start(6), np.full(40, np.nan), 0
    for until in [*sorted(stops), ALL]:
        i = call(learn_rows, compilable(learner), learner, state, x, rows.y, rows.weights, scores, i, until, math.inf)
        assert state.rounds == min(until, np.count_nonzero(rows.weights))
    same(Learnt(state, scores, i), learn(learner, rows))


# ---- rows that change nothing, and rows that cannot be learnt --------------------------------------------------------


@EVERY
def test_rows_of_weight_zero_change_nothing(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 40, 6, 41), composition.learner(6)
    learnt = learn(learner, rows)
    before = bits(learnt.state)
    nothing = rows._replace(weights=np.zeros(40), y=np.full(40, np.nan))  # nobody looks at the label
    again = learn(learner, nothing, state=learnt.state)
    assert again.stopped == 40
    assert bits(again.state) == before
    counted = Rows(*rows.counted)
    assert bits(learn(learner, counted).state) == before
    X = with_bias(rows.X, learner.bias) if learner.bias else rows.X
    np.testing.assert_allclose(again.scores, X @ point(learner, learnt.state), rtol=1e-9, atol=1e-12)


BAD = {
    "missing feature": lambda rows, i: rows.X.__setitem__((i, 2), np.nan),
    "infinite feature": lambda rows, i: rows.X.__setitem__((i, 2), np.inf),
    "missing label": lambda rows, i: rows.y.__setitem__(i, np.nan),
    "infinite label": lambda rows, i: rows.y.__setitem__(i, -np.inf),
    "negative weight": lambda rows, i: rows.weights.__setitem__(i, -1.0),
    "missing weight": lambda rows, i: rows.weights.__setitem__(i, np.nan),
    "infinite weight": lambda rows, i: rows.weights.__setitem__(i, np.inf),
}


@EVERY
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("i", [0, 17])
def test_a_bad_row_stops_the_run_before_it(composition: Composition, bad: str, i: int) -> None:
    rows, learner = rows_for(composition.task, 30, 5, 42), composition.learner(5)
    rows.weights[i] = 1.0
    BAD[bad](rows, i)
    stopped = learn(learner, rows)
    assert stopped.stopped == i
    assert bits(stopped.state) == bits(learn(learner, part(rows, 0, i)).state)
    assert np.isnan(stopped.scores[i:]).all()
    assert np.isfinite(stopped.scores[:i]).all()


@every([c for c in COMPOSITIONS if c.task in ("margin", "binary")])
def test_a_label_of_the_wrong_kind_stops_the_run(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 30, 5, 43), composition.learner(5)
    rows.y[12], rows.weights[12] = 0.0, 1.0
    assert learn(learner, rows).stopped == 12


def test_a_row_of_weight_zero_may_not_have_a_missing_feature() -> None:
    """Its score would be missing too."""
    rows, learner = rows_for("margin", 10, 5, 44), COMPOSITIONS[0].learner(5)
    rows.X[4, 1], rows.weights[4] = np.nan, 0.0
    assert learn(learner, rows).stopped == 4


@pytest.mark.parametrize(
    ("loss", "x", "y"), [(LogWealth(), -1.0, 1.0), (Poisson(), 800.0, 1.0), (Square(), 1e200, 0.0)], ids=repr
)
def test_a_loss_out_of_range_stops_the_run(loss: Any, x: float, y: float) -> None:
    learner = Linear(loss, MirrorDescent(Entropy(), Constant(0.1)))
    state = learner.start(2)
    before = bits(state)
    rows = Rows(np.array([[x, x]]), np.array([y]), np.ones(1))
    with np.errstate(over="ignore"):
        assert learn(learner, rows, state=state, compiled=False).stopped == 0
    assert bits(state) == before


def test_a_compiled_loss_out_of_range_stops_the_run() -> None:
    learner = zoo.ogd_sqrt(Square(), 0.25, 0.5, Average())
    state = learner.start(2)
    before = bits(state)
    assert learn(learner, Rows(np.ones((1, 2)), np.array([1e200]), np.ones(1)), state=state).stopped == 0
    assert bits(state) == before


# ---- handing out the model -------------------------------------------------------------------------------------------


@SEVERAL
def test_compiled_models_are_interpreted_models(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 50, 6, 51), composition.learner(6)
    state = learn(learner, rows).state
    for compiled, expected in ((write_model, model(learner, state)), (write_point, point(learner, state))):
        w = np.empty(state.dimension)
        compiled(learner, state, w)
        assert w.tobytes() == expected.tobytes()


@SEVERAL
def test_fixed_models_are_scored_and_judged(composition: Composition) -> None:
    rows, learner = rows_for(composition.task, 50, 6, 52), composition.learner(6)
    x = as_rows(sp.csr_matrix(rows.X))
    w = np.random.default_rng(0).normal(size=6 + (learner.bias > 0))
    X = with_bias(rows.X, learner.bias) if learner.bias else rows.X
    scores = np.empty(50)
    score_rows(learner.scorer, w, x, ALL_ROWS, scores)
    np.testing.assert_allclose(scores, X @ w, rtol=1e-12, atol=1e-12)
    losses = np.array([learner.loss.at(p, y)[0] for p, y in zip(X @ w, rows.y, strict=True)])
    assert loss_of(learner.judge, w, x, rows.y, rows.weights) == pytest.approx(rows.weights @ losses, rel=1e-12)
    assert loss_of(learner.judge, w, x, rows.y, np.empty(0)) == pytest.approx(losses.sum(), rel=1e-12)


@EVERY
def test_before_the_first_row_the_model_is_the_start(composition: Composition) -> None:
    learner = composition.learner(4)
    state = learner.start(4)
    expected = composition.naive(np.zeros((0, 4)), np.zeros(0), np.zeros(0)).iterates[0]
    np.testing.assert_allclose(model(learner, state), expected, rtol=1e-15)
    np.testing.assert_allclose(point(learner, state), expected, rtol=1e-15)


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": 1.0}, "loss must be a Loss such as"),
        ({"rule": Hinge()}, "rule must be a Rule such as"),
        ({"output": Hinge()}, "output must be a Output such as"),
        ({"ridge": -1.0}, "ridge must be ≥ 0"),
        ({"bias": np.inf}, "bias must be ≥ 0"),
        ({"ridge": 0.1}, "use ProjectedGradient instead of MirrorDescent"),
        ({"ridge": 0.1, "rule": ProjectedGradient(Box(), Constant(0.1))}, "use L2Ball instead of Box"),
        ({"ridge": 0.1, "rule": ProjectedGradient(Simplex(), Constant(0.1))}, "use L2Ball instead of Simplex"),
    ],
)
def test_refuses_what_makes_no_sense(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(PartError, match=message):
        Linear(**({"loss": Hinge(), "rule": MirrorDescent(Euclidean(), Constant(0.1))} | parameters))


def test_refuses_no_features_at_all() -> None:
    rule = MirrorDescent(Euclidean(), Constant(0.1))
    with pytest.raises(PartError, match="at least one feature"):
        Linear(Hinge(), rule).start(0)
    assert Linear(Hinge(), rule, bias=1.0).start(0).dimension == 1
