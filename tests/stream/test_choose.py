"""Which rows are learnt, however they come in batches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lowregret.rows import Sparse
from lowregret.stream.batch import Batch
from lowregret.stream.choose import skip_and_hold_out

SPLITS = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def batches(sizes: list[int]) -> Iterator[Batch]:
    """Row i has the label i, and the entry i in column i; every third is without a label. Memory is used again."""
    room, first = np.empty(10), 0
    for size in sizes:
        labels = room[:size]
        labels[:] = np.arange(first, first + size)
        values, starts = labels.copy(), np.arange(size + 1)
        labels[labels % 3 == 2] = np.nan
        bare = int(np.isnan(labels).sum())
        rows = Sparse(starts, values.astype(np.uint32), values, 100)
        yield Batch(rows, labels, np.where(np.isnan(labels), 0.0, 2.0), values, "file", bare)
        first += size


def listed(found: Iterator[Batch]) -> list[tuple[int, float, bool, float, float]]:
    """Row, entry, whether it is among the last, weight, and importance if held out."""
    rows = []
    for b in found:
        assert b.unlabelled == np.isnan(b.labels).sum()
        for i in range(len(b)):
            value = float(b.rows.data[int(b.rows.indptr[i])])
            held = 0.0 if b.held is None else float(b.held[i])
            rows.append((int(b.lines[i]), value, b.last, float(b.weights[i]), held))
    return rows


@given(SPLITS, st.integers(1, 12), st.integers(0, 9))
def test_the_last_rows_come_last_and_weigh_nothing(sizes: list[int], last: int, skip: int) -> None:
    total = sum(sizes)
    expected = []
    for k in range(min(skip, total), total):
        weight, out = 0.0 if k % 3 == 2 else 2.0, k >= total - last
        expected.append((k, float(k), out, 0.0 if out else weight, weight if out else 0.0))
    assert listed(skip_and_hold_out(batches(sizes), skip, last=last)) == expected


@given(SPLITS, st.integers(1, 7), st.integers(0, 9))
def test_every_so_manieth_row_weighs_nothing(sizes: list[int], every: int, skip: int) -> None:
    total = sum(sizes)
    expected = []
    for k in range(min(skip, total), total):
        weight, out = 0.0 if k % 3 == 2 else 2.0, k % every == every - 1
        expected.append((k, float(k), False, 0.0 if out else weight, weight if out else 0.0))
    assert listed(skip_and_hold_out(batches(sizes), skip, every)) == expected
