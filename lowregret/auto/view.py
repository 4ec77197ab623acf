"""Two views of a row, in which units do not matter: features are measured by what was seen of them so far.

For each feature: how often it was not 0, the mean of those values, and Σ(value − mean)², brought up to date by the row
itself before it is looked at. With r the root mean square of those values, an entry x is seen

    plain   as x/r
    shaped  as (x − mean)/deviation where the feature is not 0 in most rows;
            as sign(x)·√(|x|/r) elsewhere, and these entries together are brought to the mean length they have in a row.

A feature that had the same value in every row so far is seen as 0: it is the bias again. Multiplying a feature by a
power of two changes no bit of either view.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.auto.lanes import (
    LANES,
    all_of,
    at_least,
    between,
    load,
    minus,
    over,
    plus,
    root,
    single,
    size,
    store,
    times,
    total,
    where_above,
)
from lowregret.auto.memory import zeros
from lowregret.rows import Rows
from lowregret.state import Cells, cell

# ---- table[cell + …] ------------------------------------------------------------------------------------------------
COUNT, MEAN, DEVIATION = np.uint64(1), np.uint64(2), np.uint64(3)  # after θ; Σ(x − mean)² is DEVIATION
COLUMNS = 4

# ---- pace[…]: of the rows -------------------------------------------------------------------------------------------
ROWS = 0  # learnt so far
LENGTHS = 1  # Σ of the lengths of the entries seen as roots, from row 2 on
SHAPED_SQUARE, PLAIN_SQUARE = 2, 3  # Σ‖z‖² of either view with the bias, likewise
PACE = 4

TINY = 1e-300  # keeps 0/0 a number
MOST = 1e6  # no view exceeds √rows, except where squares underflow


class Sheet(NamedTuple):
    """Memory for the views of one row, an entry each, and for what is known of its features."""

    shaped: Cells
    plain: Cells
    roots: Cells  # 1 for entries seen as roots, else 0
    values: Cells
    counts: Cells
    means: Cells
    deviations: Cells

    @classmethod
    def of(cls, entries: int) -> Sheet:
        """For rows of up to this many entries; eight are looked at together."""
        kinds = (np.float32,) * 3 + (np.float64,) * 4
        return cls(*(zeros(entries + LANES, kind) for kind in kinds))


def look(table: Cells, pace: Cells, x: Rows, i: int, sheet: Sheet, keep: bool) -> None:
    """Write both views of row i; with `keep` the row counts from now on: O(nnz)."""
    t, end = pace[ROWS] + 1.0, x.end(i) - x.begin(i)
    gather(table, x, i, sheet)
    squares = measure(sheet, end, t)
    if keep:
        scatter(table, x, i, sheet)
    level(pace, sheet, end, t, squares, keep)


def gather(table: Cells, x: Rows, i: int, sheet: Sheet) -> None:
    """What is known of the features of row i, side by side; then nothing, up to a multiple of eight."""
    first, end, one = x.begin(i), x.end(i) - x.begin(i), np.uint64(1)
    for k in range(first, x.end(i)):
        v, at, value = k - first, cell(x.column(i, k), COLUMNS), x.value(i, k)
        sheet.values[v] = value
        sheet.counts[v] = table[at + COUNT] + (1.0 if value != 0.0 else 0.0)
        sheet.means[v], sheet.deviations[v] = table[at + MEAN], table[at + DEVIATION]
    while end % np.uint64(LANES) != np.uint64(0):
        sheet.values[end], sheet.counts[end] = 0.0, 1.0
        end += one


def measure(sheet: Sheet, end: Any, t: float) -> tuple[float, float, float]:
    """Bring measures up to date and see the entries by them, eight at a time.

    Returns Σz² of entries seen as roots, of other shaped ones, and of plain ones.
    """
    nil, one, now = all_of(0.0), all_of(1.0), all_of(t)
    rooted, others, plains = nil, nil, nil
    v = np.uint64(0)
    while v < end:
        x, count = load(sheet.values, v), load(sheet.counts, v)
        mean, deviation = load(sheet.means, v), load(sheet.deviations, v)
        present = where_above(size(x), nil, one, nil)
        share = over(one, at_least(count, 1.0))
        off = times(present, minus(x, mean))
        mean = plus(mean, times(off, share))
        deviation = plus(deviation, times(off, minus(x, mean)))
        variance = times(deviation, share)
        store(sheet.means, v, mean)
        store(sheet.deviations, v, deviation)
        changed = where_above(deviation, nil, present, where_above(now, count, present, nil))
        mean_square = plus(times(mean, mean), variance)
        plain = times(changed, between(over(x, at_least(root(mean_square), TINY)), MOST))
        centred = where_above(plus(count, count), now, where_above(deviation, nil, changed, nil), nil)
        width = root(where_above(centred, nil, variance, size(plain)))
        away = between(over(minus(x, mean), at_least(width, TINY)), MOST)
        shaped = where_above(centred, nil, away, where_above(x, nil, width, minus(nil, width)))
        roots, square = minus(changed, centred), times(shaped, shaped)
        store(sheet.shaped, v, single(shaped))
        store(sheet.plain, v, single(plain))
        store(sheet.roots, v, single(roots))
        rooted, plains = plus(rooted, times(roots, square)), plus(plains, times(plain, plain))
        others = plus(others, times(centred, square))
        v += np.uint64(LANES)
    return total(rooted), total(others), total(plains)


def scatter(table: Cells, x: Rows, i: int, sheet: Sheet) -> None:
    """Keep the measures."""
    first = x.begin(i)
    for k in range(first, x.end(i)):
        v, at = k - first, cell(x.column(i, k), COLUMNS)
        table[at + COUNT], table[at + MEAN] = sheet.counts[v], sheet.means[v]
        table[at + DEVIATION] = sheet.deviations[v]


def level(pace: Cells, sheet: Sheet, end: Any, t: float, squares: tuple[float, float, float], keep: bool) -> None:
    """Bring the entries seen as roots to their mean length, and count the lengths of both views."""
    rooted, others, plains = squares
    length = math.sqrt(rooted)
    lengths = pace[LENGTHS] + length
    factor = lengths / max(t - 1.0, 1.0) / length if length > 0.0 else 1.0
    once, more = np.float32(1), np.float32(factor)
    for v in range(np.uint64(0), end):
        sheet.shaped[v] *= more if sheet.roots[v] > 0.0 else once
    if keep:
        pace[ROWS] = t
        if t > 1.0:
            pace[LENGTHS] = lengths
            pace[SHAPED_SQUARE] += 1.0 + others + rooted * factor * factor
            pace[PLAIN_SQUARE] += 1.0 + plains
