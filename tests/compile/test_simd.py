"""Eight numbers at once: compiled as interpreted, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowregret.compile.kernel import kernel
from lowregret.compile.simd import (
    CELL,
    LANES,
    between,
    double,
    half_roots,
    larger,
    largest,
    load,
    load_cells,
    move_cell,
    root,
    single,
    smaller,
    somewhere,
    spread,
    store,
    store_cells,
    total,
    where,
)

NIL, EIGHT = np.uint64(0), np.uint64(LANES)


@kernel
def arithmetic(a: Any, out: Any) -> None:
    u, v = load(a, NIL), load(a, EIGHT)
    store(out, NIL, (u + v) * (u - v) / v - u * 3.0 + 1.0 / u)
    store(out, EIGHT, -root(abs(u)) + 2.0 - between(v, spread(0.5)))


@kernel
def choices(a: Any, out: Any) -> None:
    u, v = load(a, NIL), load(a, EIGHT)
    store(out, NIL, where((u > v) & (v > 0.0), larger(u, v), smaller(u, v)))
    store(out, EIGHT, where((u > 1.0) | (v > 1.0), u, spread(7.0)))
    out[EIGHT] = total(u) if somewhere(u > 1e9) else largest(v)
    out[EIGHT + np.uint64(1)] = total(u) + u[3]


@kernel
def precisions(a: Any, out: Any) -> None:
    u, v = single(load(a, NIL)), single(load(a, EIGHT))
    h, r = half_roots(abs(u), abs(v))
    store(out, NIL, double(h * np.float32(3)))
    store(out, EIGHT, double(r))


@kernel
def moves(a: Any, out: Any) -> None:
    move_cell(a, np.uint64(4), out, np.uint64(1), 0.5)


@pytest.mark.parametrize("function", [arithmetic, choices, precisions, moves])
def test_compiled_as_interpreted(function: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        a = rng.normal(size=2 * LANES) * scale
        found, expected = np.zeros(2 * LANES), np.zeros(2 * LANES)
        function(a, found)
        function.py_func(a, expected)  # type: ignore[attr-defined]
        np.testing.assert_array_equal(found, expected)


def test_results_are_those_of_arrays() -> None:
    a, out = np.random.default_rng(1).normal(size=2 * LANES), np.zeros(2 * LANES)
    u, v = a[:LANES], a[LANES:]
    arithmetic(a, out)
    np.testing.assert_array_equal(out[:LANES], (u + v) * (u - v) / v - u * 3.0 + 1.0 / u)
    np.testing.assert_array_equal(out[LANES:], -np.sqrt(abs(u)) + 2.0 - np.clip(v, -0.5, 0.5))
    precisions(a, out)
    few = abs(u).astype(np.float32)
    few[:4] = np.sqrt(few[:4])
    np.testing.assert_array_equal(out[:LANES], few * np.float32(3))
    moves(a, out)
    np.testing.assert_array_equal(out[1 : 1 + CELL], a[4:8] - [0.5, 0, 0, 0])


@kernel
def turned(a: Any, places: Any, out: Any) -> None:
    first, second, third, fourth = load_cells(a, places, NIL)
    store_cells(out, NIL, (fourth, first - second, third, second))


def test_cells_come_and_go_by_their_places() -> None:
    rng = np.random.default_rng(2)
    a, places = rng.normal(size=100), rng.integers(0, 96, LANES).astype(np.uint64)
    found, expected = np.zeros(LANES * CELL), np.zeros(LANES * CELL)
    turned(a, places, found)
    turned.py_func(a, places, expected)  # type: ignore[attr-defined]
    rows = np.stack([a[int(place) : int(place) + CELL] for place in places])
    by_hand = np.stack([rows[:, 3], rows[:, 0] - rows[:, 1], rows[:, 2], rows[:, 1]], axis=1).ravel()
    np.testing.assert_array_equal(found, by_hand)
    np.testing.assert_array_equal(expected, by_hand)


def test_kinds_do_not_mix() -> None:
    @kernel
    def mixed(a: Any, b: Any) -> None:
        store(a, NIL, load(a, NIL) + load(b, NIL))

    with pytest.raises(Exception, match="mixed"):
        mixed(np.zeros(LANES), np.zeros(LANES, np.float32))
