"""Sparse matrices whose arrays were changed behind SciPy's back: rows are taken as they are, not as a flag says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import Hinge, L2Ball, train, zoo
from lowregret.errors import DataError
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.kernel_perceptron import InnerProduct, KernelPerceptron
from lowregret.rows import as_rows
from lowregret.sklearn import OnlineClassifier
from lowregret.structured import sequences
from tests.test_rows import entries, unpack

Y = np.array([1.0, -1.0, 1.0, -1.0])


def flagged(*edits: Callable[[Any], None], kind: str = "csr", dtype: Any = np.float64) -> Any:
    """A matrix whose flags were asked for before its arrays were changed."""
    matrix: Any = sp.random_array((4, 6), density=0.7, rng=np.random.default_rng(0), format="csr")
    matrix = matrix.asformat(kind)
    matrix = matrix.astype(dtype) if dtype == np.float64 else (matrix * 100).astype(dtype)
    for flag in ("has_canonical_format", "has_sorted_indices"):
        getattr(matrix, flag, None)
    for edit in edits:
        edit(matrix)
    return matrix


def index(k: int, value: int) -> Callable[[Any], None]:
    def edit(matrix: Any) -> None:
        matrix.indices[k] = value

    return edit


def cut(name: str, size: int) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, name, getattr(matrix, name)[:size])


def end(k: int, value: int) -> Callable[[Any], None]:
    def edit(matrix: Any) -> None:
        matrix.indptr[k] = value

    return edit


def coordinate(axis: int, value: int) -> Callable[[Any], None]:
    def edit(matrix: Any) -> None:
        matrix.coords[axis][1] = value

    return edit


OUT = "an index is negative or beyond"
DAMAGED = {
    "far": (flagged(index(1, 10**8)), OUT),
    "far in the middle": (flagged(index(1, 6)), OUT),
    "negative": (flagged(index(1, -7)), OUT),
    "data shortened": (flagged(cut("data", 3)), "speaks of .* entries, but there are 3"),
    "indices shortened": (flagged(cut("indices", 3)), "speaks of .* entries, but there are 3"),
    "indptr shortened": (flagged(cut("indptr", 3)), "`indptr` must ascend from 0 and have 5 entries"),
    "indptr falls": (flagged(end(1, 100)), "`indptr` must ascend"),
    "indptr begins late": (flagged(end(0, 2)), "`indptr` must begin with 0"),
    "indptr below 0": (flagged(end(1, -3)), "`indptr` must ascend"),
    "indptr too long": (flagged(end(4, 10**6)), "speaks of 1000000 entries"),
    "columns": (flagged(index(1, 10**8), kind="csc"), OUT),
    "columns cut": (flagged(cut("data", 3), kind="csc"), "entries, but there are 3"),
    "columns fall": (flagged(end(1, 100), kind="csc"), "`indptr` must ascend"),
    "pairs": (flagged(coordinate(0, 10**8), kind="coo"), OUT),
    "pairs below": (flagged(coordinate(1, -9), kind="coo"), OUT),
    "pairs cut": (flagged(cut("data", 3), kind="coo"), "3 numbers, but"),
    "blocks": (flagged(index(1, 10**8), kind="bsr"), OUT),
    "blocks fall": (flagged(end(1, 100), kind="bsr"), "`indptr` must ascend"),
    "lists": (flagged(lambda m: m.rows[1].append(3), kind="lil"), "more indices than numbers"),
}
ENTRIES: dict[str, Callable[[Any], object]] = {
    "as_rows": as_rows,
    "train": lambda X: train(zoo.ogd(Hinge()), X, Y),
    "classes": lambda X: train(zoo.mc_perceptron(), X, ["a", "b", "a", "c"]),
    "auto": lambda X: train("auto", X, Y),
    "kernel": lambda X: train(KernelPerceptron(InnerProduct()), X, Y),
    "learn": lambda X: train(zoo.ogd(Hinge()), np.ones((4, 6)), Y).learn(X, Y),
    "predict": lambda X: train(zoo.ogd(Hinge()), np.ones((4, 6)), Y).predict(X),
    "regret": lambda X: train(zoo.ogd(Hinge()), np.ones((4, 6)), Y).regret(np.zeros(6), X, Y),
    "hindsight": lambda X: best_in_hindsight(Hinge(), X, Y, L2Ball(1.0)),
    "sequences": lambda X: sequences(X, [0, 1, 0, 1], lengths=[2, 2]),
    "pairs": lambda X: sequences([(X, [0, 1, 0, 1]), (X, [0, 1, 0, 1])]),
    "fit": lambda X: OnlineClassifier().fit(X, Y),
    "partial_fit": lambda X: OnlineClassifier().fit(np.ones((4, 6)), Y).predict(X),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damage_is_refused_wherever_rows_enter(damage: str) -> None:
    matrix, message = DAMAGED[damage]
    for enter in ENTRIES.values():
        with pytest.raises(DataError, match=message):
            enter(matrix.copy() if damage in ("lists",) else matrix)


def test_a_far_index_of_64_bits_is_not_cut_to_32() -> None:
    matrix = flagged()
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    matrix.indices[1] = (1 << 32) + 1
    with pytest.raises(DataError, match=OUT):
        OnlineClassifier().fit(matrix, Y)


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_folded_columns_are_summed_although_the_flag_says_that_there_are_none(kind: str) -> None:
    def fold(matrix: Any) -> None:
        if kind == "coo":
            matrix.coords[1][:] %= 3
        elif kind == "csc":
            matrix.indices[:] %= 2
        else:
            matrix.indices[:] %= 3

    matrix, before = flagged(fold, kind=kind), flagged(kind=kind).toarray()
    wanted = np.zeros((4, 6))
    for i, j in np.ndindex(4, 6):
        wanted[(i % 2, j) if kind == "csc" else (i, j % 3)] += before[i, j]
    x = as_rows(matrix)
    assert np.allclose(unpack(x), wanted)
    assert matrix.nnz == flagged(kind=kind).nnz
    run = train(zoo.ogd(Hinge()), matrix, Y)
    assert np.allclose(run.weights, train(zoo.ogd(Hinge()), wanted, Y).weights)
    assert run.certificate.bound == pytest.approx(train(zoo.ogd(Hinge()), wanted, Y).certificate.bound)


def test_columns_in_any_order_although_the_flag_says_sorted() -> None:
    def turn(matrix: Any) -> None:
        for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
            matrix.indices[a:b], matrix.data[a:b] = matrix.indices[a:b][::-1].copy(), matrix.data[a:b][::-1].copy()

    x = as_rows(flagged(turn))
    assert np.array_equal(unpack(x), flagged().toarray())
    assert list(entries(x, 0)) == sorted(entries(x, 0))


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr"])
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, bool, np.int16])
def test_sums_of_small_numbers_do_not_overflow(kind: str, dtype: Any) -> None:
    data = np.array([100, 100, 1], dtype)
    matrix: Any = sp.coo_array((data, (np.array([0, 0, 1]), np.array([1, 1, 0]))), (2, 2))
    if kind != "coo":
        rows = sp.csr_array((data, np.array([1, 1, 0]), np.array([0, 2, 3])), (2, 2))
        columns = sp.csc_array((data[[2, 0, 1]], np.array([1, 0, 0]), np.array([0, 1, 3])), (2, 2))
        matrix = {"csr": rows, "csc": columns, "bsr": sp.bsr_array((data[:, None, None], [1, 1, 0], [0, 2, 3]))}[kind]
    assert np.array_equal(unpack(as_rows(matrix)), [[0.0, 2.0 * float(data[0])], [float(data[2]), 0.0]])


def test_arrays_of_odd_types_and_layouts() -> None:
    plain = flagged()
    wanted = plain.toarray()

    def changed(**arrays: Any) -> Any:
        matrix = flagged()
        for name, array in arrays.items():
            setattr(matrix, name, array)
        return matrix

    def apart(array: Any) -> Any:
        return np.repeat(array, 2)[::2]

    def frozen(array: Any) -> Any:
        array = array.copy()
        array.flags.writeable = False
        return array

    def askew(array: Any) -> Any:
        return np.frombuffer(b"." + array.tobytes(), array.dtype, offset=1)

    for change in (apart, frozen, askew):
        given = {name: change(getattr(plain, name)) for name in ("data", "indices", "indptr")}
        assert np.array_equal(unpack(as_rows(changed(**given))), wanted)
        train(zoo.ogd(Hinge()), changed(**given), Y)
    for index in (">i4", ">i8", np.int16, np.uint8, np.uint32, np.uint64):
        given = {name: getattr(plain, name).astype(index) for name in ("indices", "indptr")}
        assert np.array_equal(unpack(as_rows(changed(**given))), wanted)
    for data in (">f8", object, np.longdouble):
        assert np.array_equal(unpack(as_rows(changed(data=plain.data.astype(data)))), wanted)
    longer = changed(data=np.append(plain.data, np.nan), indices=np.append(plain.indices, 99))
    assert np.array_equal(unpack(as_rows(longer)), wanted)
    with pytest.raises(DataError, match="indices of type float64"):
        as_rows(changed(indices=plain.indices.astype(float)))
