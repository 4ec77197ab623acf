"""Compiled code reads and writes nothing outside of arrays, however it indexes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import Constant, Linear, Loss, MirrorDescent, train
from lowregret.cli import main
from lowregret.compile.address import OUTSIDE
from lowregret.compile.atomic import add, read
from lowregret.compile.kernel import kernel
from lowregret.compile.simd import CELL, LANES, load, load_cells, move_cell, store, store_cells
from lowregret.errors import BoundsError
from lowregret.mirror import Euclidean
from lowregret.run.linear import LinearRun
from lowregret.stream.word import word

FAR = 1 << 45


@kernel
def taken(a: Any, at: Any) -> float:
    return float(a[at])


@kernel
def put(a: Any, at: Any) -> None:
    a[at] = 1


@kernel
def loaded(a: Any, at: Any) -> float:
    return float(load(a, at)[0])


@kernel
def stored(a: Any, at: Any) -> None:
    store(a, at, load(a, np.uint64(0)))


PLACES = np.arange(LANES, dtype=np.int64) * CELL


@kernel
def cells_named(a: Any, places: Any, at: Any) -> float:
    return float(load_cells(a, places, at)[0][0])


@kernel
def cells_stored(a: Any, at: Any) -> None:
    eight = load(a, np.uint64(0))
    store_cells(a, at, (eight, eight, eight, eight))


@kernel
def cell_moved(a: Any, at: Any, b: Any, place: Any) -> None:
    move_cell(a, at, b, place, 1.0)


@kernel
def eight_bytes(a: Any, at: Any) -> float:
    return float(word(a, at))


@kernel
def added(a: Any, at: Any) -> int:
    return add(a, at, 1)


@kernel
def asked(a: Any, at: Any) -> int:
    return read(a, at)


@kernel
def in_rows(a: Any, at: Any) -> float:
    return float(a[at, 0])


def numbers(size: int, kind: Any = np.float64) -> Any:
    """An array in the middle of a larger one: what lies around it is ours, and would be seen to change."""
    return np.zeros(size + 128, kind)[64 : 64 + size]


CASES: list[tuple[Callable[..., Any], Any, int]] = [
    (taken, np.float64, 1),
    (taken, np.uint8, 1),
    (put, np.float64, 1),
    (put, np.int64, 1),
    (loaded, np.float32, LANES),
    (stored, np.float64, LANES),
    (cells_stored, np.float64, LANES * CELL),
    (eight_bytes, np.uint8, 8),
    (added, np.int64, 1),
    (asked, np.int64, 1),
]


@pytest.mark.parametrize(("loop", "kind", "count"), CASES)
def test_the_last_place_is_reached_and_the_next_is_not(loop: Callable[..., Any], kind: Any, count: int) -> None:
    a = numbers(40, kind)
    loop(a, np.uint64(40 - count))
    before = a.base.copy()
    for at in (40 - count + 1, 40, FAR, (1 << 64) - 1, (1 << 64) - count):
        with pytest.raises(BoundsError, match="about to leave an array"):
            loop(a, np.uint64(at))
    np.testing.assert_array_equal(a.base, before)


@pytest.mark.parametrize(("loop", "kind", "count"), CASES)
@pytest.mark.parametrize("size", [0, 1])
def test_arrays_that_are_too_short(loop: Callable[..., Any], kind: Any, count: int, size: int) -> None:
    if size < count:
        with pytest.raises(BoundsError):
            loop(numbers(size, kind), np.uint64(0))


def test_indices_below_zero_count_from_the_end_and_no_farther() -> None:
    a = numbers(5)
    a[:] = range(5)
    assert taken(a, -1) == 4.0
    assert taken(a, -5) == 0.0
    for at in (-6, -FAR, 5):
        with pytest.raises(BoundsError):
            taken(a, at)


def test_arrays_with_gaps_and_of_two_dimensions() -> None:
    gaps, square = np.arange(10.0)[::2], np.arange(6.0).reshape(3, 2)
    assert taken(gaps, np.uint64(4)) == 8.0
    assert in_rows(square, np.int64(2)) == 4.0
    for loop, a, at in ((taken, gaps, np.uint64(5)), (in_rows, square, np.int64(3)), (in_rows, square, np.int64(FAR))):
        with pytest.raises(IndexError):
            loop(a, at)


def test_cells_and_the_places_that_name_them() -> None:
    a, places = numbers(LANES * CELL), PLACES.copy()
    cells_named(a, places, np.uint64(0))
    with pytest.raises(BoundsError):
        cells_named(a, places, np.uint64(1))  # the last place is missing
    for wrong in (LANES * CELL - CELL + 1, FAR, -1):
        places[3] = wrong
        with pytest.raises(BoundsError):
            cells_named(a, places, np.uint64(0))


def test_cells_that_move() -> None:
    a, b = numbers(CELL), numbers(2 * CELL)
    cell_moved(a, np.uint64(0), b, np.uint64(CELL))
    for source, place in ((1, 0), (0, CELL + 1), (FAR, 0), (0, FAR)):
        with pytest.raises(BoundsError):
            cell_moved(a, np.uint64(source), b, np.uint64(place))


class Table(Loss):
    """A loss that looks its slope up, at a place that may be wrong."""

    slopes: Any

    def at(self, score: float, label: float) -> tuple[float, float]:
        slope = self.slopes[int(label)]
        return slope * score, slope


def test_an_index_of_ones_own_part_that_is_wrong_ends_the_run_not_the_process() -> None:
    learner = Linear(Table(np.array([1.0, -1.0])), MirrorDescent(Euclidean(), Constant(0.1)))
    x = np.ones((3, 1))
    train(learner, x, np.array([0.0, 1.0, 0.0]))
    with pytest.raises(BoundsError):
        train(learner, x, np.array([0.0, float(FAR), 0.0]))


class Meddling(Loss):
    """A loss that changes the third row between its score and its step, as another thread might."""

    indices: Any

    def at(self, score: float, label: float) -> tuple[float, float]:
        if label == 7.0:
            self.indices[2] = FAR
        return -label * score, -label


def test_rows_that_change_while_they_are_learnt_end_the_run_not_the_process() -> None:
    x = sp.csr_array(np.eye(4))
    x.indices, x.indptr = x.indices.astype(np.int64), x.indptr.astype(np.int64)
    learner = Linear(Meddling(x.indices), MirrorDescent(Euclidean(), Constant(0.1)))
    assert train(learner, x, np.ones(4)).rounds == 4
    with pytest.raises(BoundsError):
        train(learner, x, np.array([1.0, 1.0, 7.0, 1.0]))


def test_a_model_is_not_replaced_by_what_a_stopped_loop_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, model = tmp_path / "rows.svm", tmp_path / "model.lr"
    rows.write_text("+1 1:1\n-1 2:1\n")
    words = ["train", str(rows), "--algorithm", "ogd", "--quiet", "-o", str(model)]
    assert main(words) == 0
    before = model.read_bytes()

    def stopped(*_args: Any, **_options: Any) -> None:
        raise BoundsError(OUTSIDE)

    monkeypatch.setattr(LinearRun, "learn_batch", stopped)
    assert main(words) == 2
    assert model.read_bytes() == before
