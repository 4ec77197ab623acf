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

from lowregret.compile.memory import prefetch, zeros
from lowregret.compile.simd import (
    CELL,
    LANES,
    Eight,
    Mask,
    double,
    larger,
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
from lowregret.rows import Rows
from lowregret.types import Cells, cell

# ---- table[cell + …] ------------------------------------------------------------------------------------------------
COUNT, MEAN, DEVIATION = np.uint64(1), np.uint64(2), np.uint64(3)  # after θ; Σ(x − mean)² is DEVIATION
COLUMNS = CELL

# ---- pace[…]: of the rows -------------------------------------------------------------------------------------------
ROWS = 0  # learnt so far
LENGTHS = 1  # Σ of the lengths of the entries seen as roots, from row 2 on
SHAPED_SQUARE, PLAIN_SQUARE = 2, 3  # Σ‖z‖² of either view with the bias, likewise
PACE = 4

FAR = 1e150  # larger features are refused: their squares would overflow
TINY = 1e-300  # keeps 0/0 a number
NEAR = 1e-12  # squared views below this are 0: the entry is at the mean, but for rounding, which lanes would magnify
MOST = 1e12  # no squared view exceeds the number of rows, except where squares underflow


class Sheet(NamedTuple):
    """Memory for the views of one row, an entry each, and for what is known of its features."""

    shaped: Cells
    plain: Cells
    roots: Cells  # 1 for entries seen as roots, else 0
    values: Cells
    places: Cells  # of their cells in the table
    cells: Cells  # what becomes of them
    sums: Cells  # what the row adds to `pace`

    @classmethod
    def of(cls, entries: int) -> Sheet:
        """Memory for rows of up to this many entries; eight are looked at together."""
        room = entries + LANES
        shaped, plain, roots = (zeros(room, np.float32) for _ in range(3))
        values, places, cells = zeros(room, np.float64), zeros(room, np.uint64), zeros(room * COLUMNS, np.float64)
        return cls(shaped, plain, roots, values, places, cells, np.zeros(PACE))


def look(table: Cells, pace: Cells, x: Rows, i: int, sheet: Sheet) -> bool:
    """Write both views of row i, and what is known of its features with it; returns whether all squares are numbers.

    Nothing is kept of the row until `keep`. O(nnz).
    """
    t, end = pace[ROWS] + 1.0, x.end(i) - x.begin(i)
    spell(x, i, sheet)
    rooted, others, plains, far = measure(table, sheet, end, t)
    length = math.sqrt(rooted)
    lengths = pace[LENGTHS] + length
    factor = lengths / max(t - 1.0, 1.0) / length if length > 0.0 else 1.0
    stretch(sheet, end, np.float32(factor))
    later = 1.0 if t > 1.0 else 0.0
    sheet.sums[ROWS], sheet.sums[LENGTHS] = 1.0, later * length
    sheet.sums[SHAPED_SQUARE] = later * (1.0 + others + rooted * factor * factor)
    sheet.sums[PLAIN_SQUARE] = later * (1.0 + plains)
    return far == 0.0


def spell(x: Rows, i: int, sheet: Sheet) -> None:
    """Write the values of row i and where their features are; then zeros, up to a multiple of eight."""
    first, end, one = x.begin(i), x.end(i) - x.begin(i), np.uint64(1)
    for k in range(first, x.end(i)):
        sheet.values[k - first], sheet.places[k - first] = x.value(i, k), cell(x.column(i, k), COLUMNS)
    while end % np.uint64(LANES) != np.uint64(0):
        sheet.values[end], sheet.places[end] = 0.0, np.uint64(0)
        end += one


def measure(table: Cells, sheet: Sheet, end: Any, t: float) -> tuple[float, float, float, float]:
    """Bring measures up to date and see the entries by them, eight at a time.

    Returns Σz² of entries seen as roots, of other shaped ones, and of plain ones, and how many entries are too large.
    """
    nil, now, none, one = spread(0.0), spread(t), spread(np.float32(0)), spread(np.float32(1))
    rooted, others, plains, far = nil, nil, nil, none
    v = np.uint64(0)
    while v < end:
        x = load(sheet.values, v)
        theta, count, mean, deviation = load_cells(table, sheet.places, v)
        far = far + where(spread(FAR) > abs(x), none, one)
        present = abs(x) > nil
        count = count + where(present, spread(1.0), nil)
        share = double(one / larger(single(count), one))
        off = where(present, x - mean, nil)
        mean = mean + off * share
        deviation = deviation + off * (x - mean)
        variance = deviation * share
        store_cells(sheet.cells, v * np.uint64(COLUMNS), (theta, count, mean, deviation))
        varied = deviation > nil
        changed = present & (varied | (now > count))
        centred = changed & varied & (count + count > now)
        plain = root(where(changed, single(most(x * x / (mean * mean + variance + TINY))), none))
        shaped = plain
        if somewhere(centred):  # a division and a branch: rows of rare features alone do without
            away = (x - mean) * (x - mean) / (variance + TINY)
            shaped = where(centred, single(most(where(away > NEAR, away, nil))), plain)
        shaped = root(shaped)
        roots = where(changed, one, none) - where(centred, one, none)
        store(sheet.plain, v, with_sign(x > nil, plain))
        store(sheet.shaped, v, with_sign(where(centred, x - mean, x) > nil, shaped))
        store(sheet.roots, v, roots)
        shaped_square = shaped * shaped
        rooted, plains = rooted + double(roots * shaped_square), plains + double(plain * plain)
        others = others + double(where(centred, shaped_square, none))
        v += np.uint64(LANES)
    return total(rooted), total(others), total(plains), total(far)


def most(squares: Eight) -> Eight:
    """Sizes cut at MOST."""
    return smaller(squares, spread(MOST))


def with_sign(positive: Mask, sizes: Eight) -> Eight:
    """±sizes"""
    return where(positive, sizes, -sizes)


def stretch(sheet: Sheet, end: Any, factor: np.float32) -> None:
    """Bring the entries seen as roots to their mean length."""
    none, once, more = spread(np.float32(0)), spread(np.float32(1)), spread(factor)
    v = np.uint64(0)
    while v < end:
        store(sheet.shaped, v, load(sheet.shaped, v) * where(load(sheet.roots, v) > none, more, once))
        v += np.uint64(LANES)


def keep(table: Cells, pace: Cells, x: Rows, i: int, ahead: int, sheet: Sheet, slope: float) -> None:
    """Keep what `look` found, and θ −= slope·x: O(nnz). Meanwhile measures of the row `ahead` are asked for."""
    for k in range(PACE):
        pace[k] += sheet.sums[k]
    end, coming, last = x.end(i) - x.begin(i), x.begin(ahead), x.end(ahead)
    for v in range(np.uint64(0), end):
        if coming + v < last:
            prefetch(table, cell(x.column(ahead, coming + v), COLUMNS))
        move_cell(sheet.cells, v * np.uint64(COLUMNS), table, sheet.places[v], slope * sheet.values[v])
