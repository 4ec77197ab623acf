"""Rows are sorted and added up as by a stable sort and a dict."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.compile.kernel import kernel
from lowregret.stream.buffers import ENTRY, HIGHEST, Buffers, close_row, sort


@kernel
def sort_entries(out: Buffers, begin: int, end: int) -> int:
    sort(out, begin, end)
    return 0


@kernel
def close(out: Buffers, end: int) -> int:
    close_row(out, 1.0, 1.0, end)
    return int(out.cursor[ENTRY])


@pytest.mark.parametrize("length", [0, 1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 500, 1024, 5000])
def test_sorting_is_stable(length: int) -> None:
    random = np.random.default_rng(length)
    for different in (3, length // 2 + 1, 2**31):
        columns, values = random.integers(0, different, length), random.random(length)
        out = Buffers.sized(1, length + 7)
        out.columns[7:], out.values[7:] = columns, values
        sort_entries(out, 7, length + 7)
        order = np.argsort(columns, kind="stable")
        np.testing.assert_array_equal(out.columns[7:], columns[order])
        np.testing.assert_array_equal(out.values[7:], values[order])


@given(st.lists(st.tuples(st.integers(0, 40), st.floats(-10, 10)), max_size=100))
def test_equal_columns_are_added_up_in_order(entries: list[tuple[int, float]]) -> None:
    out = Buffers.sized(1, 100)
    expected: dict[int, float] = {}
    for k, (column, value) in enumerate(entries):
        out.columns[k], out.values[k] = column, value
        expected[column] = expected[column] + value if column in expected else value
    end = close(out, len(entries))
    assert dict(zip(out.columns[:end].tolist(), out.values[:end].tolist(), strict=True)) == expected
    assert out.columns[:end].tolist() == sorted(expected)
    assert out.cursor[HIGHEST] == max(expected, default=-1) + 1


def test_more_room_keeps_what_there_is() -> None:
    out = Buffers.sized(2, 4)
    out.columns[:], out.values[:], out.cursor[ENTRY] = 7, 0.5, 4
    more = out.with_more_room()
    assert more.columns.size == more.values.size == 8
    assert more.columns[:4].tolist() == [7] * 4
    assert more.values[:4].tolist() == [0.5] * 4
    assert more.labels is out.labels
