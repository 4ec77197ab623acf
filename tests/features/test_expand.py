"""Laws of added columns: whoever adds them, a run on expanded rows is a run, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

import lowregret
from lowregret import zoo
from lowregret.errors import DataError, PartError
from lowregret.features import FeatureMap, Partitions, Products
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Logistic, Softmax, Square
from lowregret.output import Average, Last
from lowregret.rows import Sparse, as_sparse
from lowregret.rule import AdaGrad
from lowregret.run.begin import begin
from lowregret.run.expansion import OFFSET, SETTLED
from lowregret.train import train

ROWS, FEW = 1300, Partitions(trees=3)
_made = np.random.default_rng(5)
X = np.round(_made.normal(size=(ROWS, 4)), 2) * (_made.random((ROWS, 4)) < 0.7)
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0)
CLASSES = np.where(Y > 0, np.where(X[:, 3] > 0, "a", "b"), "c")
W = np.round(_made.random(ROWS) * 3, 1) * (_made.random(ROWS) < 0.9)

BINARY = Linear(Logistic(), AdaGrad(0.5), Average(), bias=1.0)
MANY = Multiclass(Softmax(), AdaGrad(0.5), bias=1.0)


class Squares(FeatureMap):
    """x_j²"""

    def columns(self, features: int) -> int:
        return features

    def write(self, row: Any, columns: Any, values: Any) -> int:
        for j in range(row.size):
            columns[j], values[j] = j, row[j] * row[j]
        return int(row.size)


class Kind(NamedTuple):
    """A learner and its labels, what expands rows, and how many features it is told of: None for a stream's."""

    learner: Any
    labels: Any
    expand: Any
    features: int | None = 4

    def begin(self, **how: Any) -> Any:
        return begin(self.learner, self.features, expand=self.expand, **how)


KINDS = {
    "partitions": Kind(BINARY, Y, FEW),
    "partitions-stream": Kind(BINARY, Y, FEW, None),
    "partitions-classes": Kind(MANY, CLASSES, FEW),
    "partitions-classes-stream": Kind(MANY, CLASSES, FEW, None),
    "partitions-numbers": Kind(Linear(Square(), AdaGrad(0.5)), X[:, 0] * X[:, 1], FEW),
    "products": Kind(BINARY, Y, Products()),
    "own-classes": Kind(MANY, CLASSES, Squares()),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())


def expect_same(a: Any, b: Any) -> None:
    """All that a file would keep of either is the same."""
    (told, arrays), (other, others) = a.contents(), b.contents()
    assert {**told, "compiled": 0} == {**other, "compiled": 0}
    assert arrays.keys() == others.keys()
    for name, array in arrays.items():
        assert np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f"), name
    assert np.array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.sampled(2)
@kinds
def test_split_is_whole(kind: Kind) -> None:
    whole = kind.begin().learn(X, kind.labels, W)
    settled = int(np.flatnonzero(W)[SETTLED - 1]) + 1
    for cuts in ([1, 700], [settled - 1], [settled], [settled + 1], [0, settled, settled, 1299]):
        run = kind.begin()
        for begun, end in zip([0, *cuts], [*cuts, ROWS], strict=True):
            if end > begun:
                run.learn(X[begun:end], kind.labels[begun:end], W[begun:end])
        expect_same(run, whole)


@kinds
def test_saved_is_unbroken(kind: Kind, tmp_path: Path) -> None:
    whole = kind.begin().learn(X, kind.labels)
    for end in (5, SETTLED - 1, SETTLED, SETTLED + 1):
        run = kind.begin().learn(X[:end], kind.labels[:end])
        run.save(tmp_path / "run")
        loaded = lowregret.load(tmp_path / "run")
        expect_same(loaded, run)
        run.predictor().save(tmp_path / "predictor")
        for predictor in (run.predictor(), lowregret.load(tmp_path / "predictor")):
            assert np.array_equal(predictor.decision_function(X), run.decision_function(X))
        expect_same(loaded.learn(X[end:], kind.labels[end:]), whole)


@pytest.mark.sampled(6)
@kinds
def test_interpreted_is_compiled(kind: Kind) -> None:
    rows = slice(0, SETTLED + 20)
    fast, slow = (kind.begin(compiled=compiled).learn(X[rows], kind.labels[rows]) for compiled in (True, False))
    expect_same(fast, slow)
    assert np.array_equal(fast.scores, slow.scores)


@kinds
def test_sparse_is_dense(kind: Kind) -> None:
    dense, sparse = kind.begin().learn(X, kind.labels), kind.begin().learn(sp.csr_matrix(X), kind.labels)
    found, other = dense.decision_function(X), sparse.decision_function(sp.csr_matrix(X))
    assert np.allclose(found, other, rtol=1e-9, atol=1e-12)
    assert dense.loss == pytest.approx(sparse.loss, rel=1e-9)
    if dense.expansion.part == FEW:
        for mine, theirs in zip(dense.expansion.forest, sparse.expansion.forest, strict=True):
            assert np.array_equal(mine, theirs)


@kinds
def test_progressive_scores_are_reported_as_of_one_batch(kind: Kind) -> None:
    run = kind.begin()
    run.keep_scores = True
    run.learn(X, kind.labels)
    assert run.learnt.done == len(run.learnt.labels) == len(run.scores) == ROWS
    first = kind.begin().learn(X[:SETTLED], kind.labels[:SETTLED])
    if kind.learner.output == Last():
        assert np.allclose(run.scores[SETTLED], first.decision_function(X[SETTLED:])[0], rtol=1e-9)


@kinds
def test_rows_of_weight_zero_change_nothing(kind: Kind) -> None:
    weights = np.ones(ROWS)
    weights[[3, 700, SETTLED, SETTLED + 2]] = 0
    chosen = weights != 0
    with_them = kind.begin().learn(X, kind.labels, weights)
    without = kind.begin().learn(X[chosen], kind.labels[chosen])
    assert np.array_equal(with_them.weights, without.weights)
    assert with_them.loss == without.loss


def test_rows_that_could_have_many_more_entries_need_memory_for_those_they_have() -> None:
    wide: Any = sp.random(300, 2000, density=0.002, format="csr", random_state=1)
    run = begin(BINARY, 2000, expand=Products()).learn(wide, Y[:300])
    found, few = as_sparse(run.expanded(wide)), np.unique(wide.indices)
    assert found.indices.base is None
    narrow = begin(BINARY, few.size, expand=Products()).learn(wide[:, few], Y[:300])
    assert run.loss == pytest.approx(narrow.loss, rel=1e-12)
    assert np.allclose(run.decision_function(wide), narrow.decision_function(wide[:, few]), rtol=1e-12)
    assert np.array_equal(found.data, as_sparse(narrow.expanded(wide[:, few])).data)


def test_columns_come_after_the_rows_own() -> None:
    run: Any = train(BINARY, X, Y, expand=Products())
    x = run.expanded(X[:1])
    dense = np.zeros(run.features)
    dense[x.indices] = x.data
    expected = [*X[0], *(X[0, i] * X[0, j] for i in range(4) for j in range(i, 4))]
    assert dense.tolist() == expected
    assert run.dimension == 4 + 10 + 1
    stream = begin(BINARY, None, expand=FEW).learn(X, Y)
    cells = stream.located(stream._rows(X[:1]))
    assert OFFSET < stream.features <= OFFSET + FEW.most_cells(SETTLED)
    assert cells.shape == (1, stream._places)


def matrix_of(run: Any, rows: int) -> Any:
    """The rows as they were learnt, expanded."""
    x = run.expanded(X[:rows])
    return sp.csr_matrix((x.data, x.indices.astype(np.int64), x.indptr), shape=x.shape)


@pytest.mark.parametrize("expand", [Partitions(trees=2, cells=60), Products(), Squares()], ids=str)
def test_certificate_holds_against_the_best_choice_on_expanded_rows(expand: Any) -> None:
    learner = zoo.ogd_lazy(Logistic(), 0.2, 2.0)
    run: Any = train(learner, X, Y, expand=expand)
    x = matrix_of(run, ROWS)
    assert x[SETTLED:, 4:].nnz > 0
    assert (x[:SETTLED, 4:].nnz == 0) == isinstance(expand, Partitions)
    best = best_in_hindsight(Logistic(), x, Y, run.comparator)
    exact = run.regret(best.w, X, Y)
    assert exact == pytest.approx(run.loss - best.value, rel=1e-6, abs=1e-6)
    assert exact <= run.certificate.linear_regret + 1e-9 <= run.certificate.bound + 1e-8
    assert run.against(best.w, X, Y)[-1] == pytest.approx(best.value, rel=1e-6)


def test_regret_of_many_classes_is_exact() -> None:
    run: Any = train(MANY, X, CLASSES, expand=FEW)
    zero = np.zeros_like(run.weights)
    assert run.regret(zero, X, CLASSES) <= run.certificate.linear_regret + 1e-9
    assert np.count_nonzero(run.weights[4:-1]) > 0


def test_cells_are_the_same_whatever_the_scale_of_features() -> None:
    x = _made.normal(size=(ROWS, 3))
    bent = np.column_stack([np.exp(x[:, 0]), 7 * x[:, 1] - 100, np.arctan(x[:, 2])])
    y = np.where(x[:, 0] * x[:, 1] > 0, 1.0, -1.0)
    first, second = (train(BINARY, rows, y, expand=FEW).expanded(rows).parameters for rows in (x, bent))
    assert np.array_equal(first["indices"], second["indices"])


def test_seed_settles_the_forest() -> None:
    runs = (train(BINARY, X, Y, expand=replace(FEW, seed=seed)) for seed in (1, 1, 2))
    one, same, another = (run.decision_function(X) for run in runs)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, another)


def test_partitions_learn_what_is_not_linear() -> None:
    plain, celled = (train(BINARY, X, Y, expand=expand) for expand in (None, Partitions(trees=16)))
    worse, better = (np.mean(run.predict(X[SETTLED:]) != Y[SETTLED:]) for run in (plain, celled))
    assert better < 0.5 * worse


def test_too_wide_rows_get_no_partitions_and_say_so() -> None:
    wide = sp.random(ROWS, 2000, density=0.01, format="csr", random_state=1)
    run: Any = train(BINARY, wide, Y, expand=FEW)
    assert run.expansion.left == "wide"
    assert "added      nothing: more than 1,024 features vary" in str(run)
    alike: Any = train(BINARY, np.ones((ROWS, 2)), Y, expand=FEW)
    assert alike.expansion.left == "alike"


def test_rows_beyond_the_offset_are_refused() -> None:
    run = begin(BINARY, None, expand=FEW).learn(X[:10], Y[:10])
    far = Sparse(np.array([0, 1, 2]), np.array([3, OFFSET], np.uint32), np.ones(2), OFFSET + 1)
    with pytest.raises(DataError, match="row 1: feature 1048576 is beyond the first 2\\^20"):
        run.learn(far, np.ones(2))
    assert run.rounds == 11
    with pytest.raises(DataError, match="row 1: feature 1048576"):
        run.decision_function(far)


def test_bad_row_leaves_those_before_it_learnt() -> None:
    bad = X[:1200].copy()
    bad[1100, 2] = np.nan
    run = begin(BINARY, 4, expand=FEW)
    with pytest.raises(DataError, match="row 1100: feature 2 is nan"):
        run.learn(bad, Y[:1200])
    assert run.learnt.done == run.rounds == 1100
    expect_same(run, train(BINARY, X[:1100], Y[:1100], expand=FEW))


def test_interrupted_before_it_settles_is_unbroken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(*given: Any) -> None:
        raise KeyboardInterrupt

    run = begin(BINARY, 4, expand=FEW)
    with monkeypatch.context() as patch:
        patch.setattr(Partitions, "grow", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run.learn(X, Y)
    assert run.rounds == run.learnt.done == SETTLED
    run.save(tmp_path / "run")
    for one in (run, lowregret.load(tmp_path / "run")):
        expect_same(one.learn(X[SETTLED:], Y[SETTLED:]), train(BINARY, X, Y, expand=FEW))


# ---- maps that are wrong ---------------------------------------------------------------------------------------------


class Lying(Squares):
    """Breaks a promise where a feature is 5."""

    what: int = 0

    def entries(self, features: int) -> int:
        return features

    def write(self, row: Any, columns: Any, values: Any) -> int:
        columns[0], values[0], count = 0, 1.0, 1
        if row[0] == 5.0:
            if self.what == 0:
                columns[0] = row.size
            if self.what == 1:
                columns[0] = -1
            if self.what == 2:
                values[0] = 1e200
            if self.what == 3:
                values[0] = np.nan
            if self.what == 4:
                count = row.size + 1
            if self.what == 5:
                columns[0], columns[1], values[1], count = 1, 1, 1.0, 2
        return count


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("what", "said"),
    [*enumerate(["column 4, expected", "column -1", "1e\\+200", "value nan", "returns 5", "column 1 after column 1"])],
)
def test_lying_map_is_refused_at_the_row(what: int, said: str, compiled: bool) -> None:
    x = X[:30].copy()
    x[20, 0] = 5.0
    run = begin(BINARY, 4, expand=Lying(what), compiled=compiled)
    with pytest.raises(DataError, match=f"row 20: Lying.*{said}"):
        run.learn(x, Y[:30])
    assert run.rounds == 20
    with pytest.raises(DataError, match="row 20: Lying"):
        run.decision_function(x)


class Endless(Squares):
    def write(self, row: Any, columns: Any, values: Any) -> int:
        for j in range(row.size + 1):
            columns[j] = j
        return int(row.size)


class Writing(Squares):
    def write(self, row: Any, columns: Any, values: Any) -> int:
        row[0] = 1.0
        return 0


class Unsure(Squares):
    def entries(self, features: int) -> int:
        return 2 * features


class Nothing(Squares):
    def columns(self, features: int) -> int:
        return 0


@pytest.mark.parametrize(
    ("expand", "said"),
    [
        (Endless(), "beyond its arrays"),
        (Writing(), "read-only"),
        (Unsure(), "must not exceed"),
        (Nothing(), "whole number from 1"),
        (Partitions(trees=0), "needs trees"),
        (Partitions(alone=True), "alone is for auto"),
        (3, "must be a feature map"),
    ],
    ids=str,
)
def test_map_that_makes_no_sense_is_refused(expand: Any, said: str) -> None:
    with pytest.raises(PartError, match=said):
        train(BINARY, X, Y, expand=expand)


def test_incomplete_map_is_refused() -> None:
    class Half(FeatureMap):
        def columns(self, features: int) -> int:
            return features

    with pytest.raises(PartError, match=r"must have write\("):
        Half()  # type: ignore[abstract]


def test_who_cannot_expand_says_what_does() -> None:
    with pytest.raises(PartError, match="features="):
        train(zoo.auto(), X, Y, expand=FEW)
    with pytest.raises(PartError, match="dimension"):
        begin(BINARY, None, expand=Products())
    with pytest.raises(PartError, match="products"):
        train(BINARY, np.ones((3, 5000)), Y[:3], expand=Products())


def test_expanded_maps_of_ones_own_are_saved(tmp_path: Path) -> None:
    run = train(BINARY, X, Y, expand=Squares())
    run.save(tmp_path / "run")
    assert lowregret.load(tmp_path / "run").expansion.part == Squares()
