"""Rows: whatever holds the features, the loops see the same numbers."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowregret import zoo
from lowregret.domain import L2Ball
from lowregret.errors import DataError, PartError
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.kernel_perceptron import Gaussian
from lowregret.loss import Hinge
from lowregret.rows import Dense, Rows, Sparse, as_rows, describe_entry
from lowregret.train import train

X = np.array([[1.0, 0.0, -2.5], [0.0, 0.0, 0.0], [0.0, 3.0, 0.5]])


def entries(x: Rows, i: int) -> dict[int, float]:
    """Column → value of row i, as a loop sees it."""
    ks = range(int(x.begin(i)), int(x.end(i)))
    columns = [int(x.column(i, np.uint64(k))) for k in ks]
    assert len(set(columns)) == len(columns)
    return dict(zip(columns, (x.value(i, np.uint64(k)) for k in ks), strict=True))


def unpack(x: Rows) -> Any:
    """The matrix again, from what a loop sees."""
    matrix = np.zeros(x.shape)
    for i in range(x.shape[0]):
        for j, value in entries(x, i).items():
            matrix[i, j] = value
    return matrix


@pytest.mark.parametrize(
    "features",
    [
        X,
        X.astype(np.float32),
        X.tolist(),
        [tuple(row) for row in X],
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.astype(object),
        X.astype(">f8"),
        X.astype(">f4"),
        X.astype(np.float16),
        X.astype(np.longdouble),
        np.matrix(X),
        np.ma.masked_array(X, mask=False),
        sp.csr_matrix(X),
        sp.csr_array(X),
        sp.csc_matrix(X),
        sp.coo_matrix(X),
        sp.lil_matrix(X),
        sp.dok_matrix(X),
        sp.dia_matrix(X),
        sp.bsr_array(X),
        sp.csr_matrix(X, dtype=np.float32),
        sp.csr_matrix(X, dtype=np.longdouble),
        as_rows(X),
        as_rows(sp.csr_matrix(X)),
    ],
    ids=lambda f: f"{type(f).__name__} {getattr(f, 'dtype', '')}",
)
def test_whatever_holds_the_features(features: Any) -> None:
    x = as_rows(features)
    assert x.shape == X.shape
    assert np.array_equal(unpack(x), X)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_whole_numbers_become_floats(dtype: Any) -> None:
    whole = np.array([[1, 0], [0, 1]], dtype)
    for features in (whole, whole.tolist(), sp.csr_matrix(whole)):
        x = as_rows(features)
        assert isinstance(x, (Dense, Sparse))
        assert x.data.dtype == np.float64
        assert np.array_equal(unpack(x), whole)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_copied_that_fits(dtype: Any) -> None:
    dense, sparse = X.astype(dtype), sp.csr_matrix(X, dtype=dtype)
    assert as_rows(sparse).indptr.dtype == np.int64  # type: ignore[attr-defined]
    sparse.indptr = sparse.indptr.astype(np.int64)
    wrapped, packed = as_rows(dense), as_rows(sparse)
    assert isinstance(wrapped, Dense)
    assert isinstance(packed, Sparse)
    assert wrapped.data is dense
    assert packed.data is sparse.data
    assert np.shares_memory(packed.indices, sparse.indices)
    assert packed.indptr is sparse.indptr
    assert as_rows(wrapped) is wrapped


@pytest.mark.parametrize(("signed", "unsigned"), [(np.int32, np.uint32), (np.int64, np.uint64)])
def test_indices_are_unsigned(signed: Any, unsigned: Any) -> None:
    matrix = sp.csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(signed), matrix.indptr.astype(signed)
    x = as_rows(matrix)
    assert isinstance(x, Sparse)
    assert x.indices.dtype == unsigned
    assert np.array_equal(unpack(x), X)


def test_duplicates_are_summed_and_columns_sorted_without_touching_the_original() -> None:
    data, indices = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2, 0, 2, 1])
    matrix = sp.csr_matrix((data, indices, np.array([0, 3, 4])), (2, 3))
    x = as_rows(matrix)
    assert entries(x, 0) == {0: 2.0, 2: 5.0}
    assert entries(x, 1) == {1: 8.0}
    assert list(entries(x, 0)) == [0, 2]
    assert matrix.nnz == 4
    assert matrix.indices.tolist() == [2, 0, 2, 1]
    coo = sp.coo_array((data, (np.array([0, 0, 0, 1]), indices)), (2, 3))
    assert np.array_equal(unpack(as_rows(coo)), unpack(x))


def test_stored_zeros_stay() -> None:
    matrix = sp.csr_matrix((np.zeros(3), np.array([0, 1, 2]), np.array([0, 3])), (1, 3))
    assert entries(as_rows(matrix), 0) == {0: 0.0, 1: 0.0, 2: 0.0}


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0), (1, 1)])
def test_empty_matrices(shape: tuple[int, int]) -> None:
    for features in (np.zeros(shape), sp.csr_matrix(shape)):
        x = as_rows(features)
        assert x.shape == shape
        assert np.array_equal(unpack(x), np.zeros(shape))


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.floats(-5, 5)))
def test_dense_and_sparse_hold_the_same_rows(matrix: Any) -> None:
    assert np.array_equal(unpack(as_rows(matrix)), matrix)
    assert np.array_equal(unpack(as_rows(sp.csr_matrix(matrix))), matrix)
    assert np.array_equal(unpack(as_rows(sp.csc_matrix(matrix))), matrix)


def corrupt(indices: list[int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(2), np.array(indices, np.int32), np.array([0, 1, 2])), (2, 3))


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([1.0, 2.0], r"must be a matrix.*not 1-dimensional: for one row use X\[None, :\]"),
        (3.0, "must be a matrix.*not 0-dimensional"),
        (np.zeros((2, 2, 2)), "must be a matrix.*not 3-dimensional"),
        (sp.csr_array(np.arange(3.0)), "must be a matrix.*not 1-dimensional: for one row use x.reshape"),
        ([["red", "blue"]], "must be numbers.*encode text"),
        ([[1.0], [1.0, 2.0]], "must be numbers"),
        ([[{}]], "must be numbers"),
        (np.eye(2) * 1j, "complex128 is not a real number"),
        (sp.csr_matrix(np.eye(2) * 1j), "complex128 is not a real number"),
        (np.array([["2020-02-02"]], "datetime64[D]"), "is not a real number"),
        (np.ma.masked_array(X, mask=X == 0), "masked"),
        (corrupt([0, 3]), "3 columns, but an index is negative or beyond"),
        (corrupt([-1, 0]), "3 columns, but an index is negative or beyond"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(features: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_rows(features)


def test_entries_that_spoil_a_row_are_named() -> None:
    bad = X.copy()
    bad[2, 1] = np.nan
    bad[0, 2] = -np.inf
    for features in (bad, sp.csr_matrix(bad)):
        x = as_rows(features)
        assert describe_entry(x, 0) == "feature 2 is -inf"
        assert describe_entry(x, 1) is None
        assert describe_entry(x, 2) == "feature 1 is nan"


def longer_lists() -> Any:
    x = sp.lil_matrix(X)
    x.rows, x.data = np.concatenate([x.rows] * 40), np.concatenate([x.data] * 40)
    return x


def fewer_offsets() -> Any:
    x = sp.dia_matrix(np.ones((60, 60)))
    x.offsets = x.offsets[:-20]
    return x


def far_offsets() -> Any:
    x: Any = sp.dia_matrix(np.ones((60, 60)))
    x.offsets = x.offsets.astype(np.int64) + 2**32  # which are 0, … in the 32 bits that SciPy converts with
    return x


def broken_indices() -> Any:
    x = sp.csc_matrix(X)
    x.indices = np.where(x.indices == 2, np.nan, x.indices)
    return x


def lists_for_arrays() -> Any:
    x: Any = sp.csr_matrix(X)
    x.data = x.data.tolist()
    return x


def more_rows_than_memory() -> Any:
    x: Any = sp.csc_matrix(X)
    x._shape = (1 << 40, X.shape[1])
    return x


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "make",
    [longer_lists, fewer_offsets, far_offsets, broken_indices, lists_for_arrays, more_rows_than_memory],
)
def test_arrays_that_scipy_would_convert_out_of_bounds_are_refused(make: Any) -> None:
    """In a process of its own: without the checks, SciPy writes beyond its arrays, which may end it."""
    code = f"import tests.test_rows as t; t.refused(t.{make.__name__}())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr


def refused(features: Any) -> None:
    """Say on standard output whether features are refused."""
    try:
        as_rows(features)
        print("taken")
    except DataError:
        print("refused")


# ---- rows made by hand ----------------------------------------------------------------------------------------------

ENDS, COLUMNS, DATA = np.array([0, 2, 3]), np.array([0, 2, 1], np.uint32), np.array([1.0, -2.5, 3.0])
UNSOUND = {
    "an index far out": Sparse(ENDS, np.array([0, 10**8, 1], np.uint32), DATA, 3),
    "an index just out": Sparse(ENDS, np.array([0, 3, 1], np.uint32), DATA, 3),
    "a negative index": Sparse(ENDS, np.array([0, -7, 1]), DATA, 3),
    "the same index twice": Sparse(ENDS, np.array([2, 2, 1], np.uint32), DATA, 3),
    "indices that are no whole numbers": Sparse(ENDS, COLUMNS.astype(float), DATA, 3),
    "ends beyond the entries": Sparse(np.array([0, 2, 3 << 40]), COLUMNS, DATA, 3),
    "ends that fall": Sparse(np.array([0, 3, 2]), COLUMNS, DATA, 3),
    "ends below 0": Sparse(np.array([-(1 << 40), 2, 3]), COLUMNS, DATA, 3),
    "no ends": Sparse(np.array([], int), COLUMNS, DATA, 3),
    "short data": Sparse(ENDS, COLUMNS, DATA[:1], 3),
    "short indices": Sparse(ENDS, COLUMNS[:1], DATA, 3),
    "complex data": Sparse(ENDS, COLUMNS, DATA * 1j, 3),
    "lists": Sparse([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], 3),  # type: ignore[arg-type]
    "columns below 0": Sparse(ENDS, COLUMNS, DATA, -1),
    "a vector": Dense(DATA),
    "text": Dense(np.array([["a"]])),
}


def test_rows_made_by_hand_are_looked_at_wherever_they_enter() -> None:
    """In a process of its own: without the checks, loops read and write beyond their arrays."""
    code = "import tests.test_rows as t; t.offer_unsound()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def offer_unsound() -> None:
    """Say on standard output which rows are taken that should not be, and where."""
    run = train(zoo.perceptron(), X, [1, -1, 1])
    for name, x in UNSOUND.items():
        doors = {"train": partial(train, zoo.perceptron(), x, [1, -1]), "learn": partial(run.learn, x, [1, -1])}
        for door, enter in (doors | {"predict": partial(run.predict, x), "as_rows": partial(as_rows, x)}).items():
            try:
                enter()
                print(f"{name}: taken by {door}", flush=True)
            except DataError:
                pass


def test_columns_that_are_no_whole_number_make_no_rows() -> None:
    with pytest.raises(PartError, match=r"columns must be a whole number of 64 bits, got 3\.5"):
        Sparse(ENDS, COLUMNS, DATA, 3.5)  # type: ignore[arg-type]


def test_sound_rows_made_by_hand_are_taken_as_they_are() -> None:
    x = Sparse(ENDS, COLUMNS, DATA, 3)
    assert as_rows(x) is x
    assert np.array_equal(unpack(as_rows(Sparse(ENDS[1:], COLUMNS, DATA, 3))), [[0.0, 3.0, 0.0]])
    signed = Sparse(ENDS.astype(np.int32), COLUMNS.astype(np.int64), DATA.astype(np.float16), 3)
    assert np.array_equal(unpack(as_rows(signed)), unpack(x))
    assert np.array_equal(unpack(as_rows(Dense(np.asfortranarray(X, int)))), X.astype(int))
    run = train(zoo.perceptron(), X, [1, -1, 1])
    narrow = Sparse(ENDS[1:], COLUMNS, DATA, 2)  # rows of a stream know their highest column
    assert np.array_equal(run.decision_function(narrow), run.decision_function([[0.0, 3.0, 0.0]]))


@pytest.mark.parametrize("columns", [2**41, 2**50, 2**62])
def test_more_columns_than_fit_into_memory_are_refused(columns: int) -> None:
    x = sp.csr_array((np.ones(2), np.array([1, 2**40]), np.array([0, 1, 2])), (2, columns))
    learners: list[Any] = [zoo.perceptron(), "auto", zoo.kernel_perceptron(Gaussian(1.0)), zoo.mc_perceptron()]
    for learner in learners:
        with pytest.raises(DataError, match=f"no room in memory for {columns:,} features: hash them into fewer"):
            train(learner, x, [1, -1])
    with pytest.raises(DataError, match="no room in memory"):
        best_in_hindsight(Hinge(), x, [1, -1], L2Ball(1.0))
