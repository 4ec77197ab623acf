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


class Sheet(NamedTuple):
    """Memory for the views of one row, an entry each, and for what is known of its features."""

    shaped: Cells
    plain: Cells
    roots: Cells
    values: Cells
    counts: Cells
    means: Cells
    deviations: Cells

    @classmethod
    def of(cls, entries: int) -> Sheet:
        """For rows of up to this many entries."""
        views, known = (np.zeros(entries, np.float32) for _ in range(2)), (np.zeros(entries) for _ in range(4))
        return cls(*views, np.zeros(entries, np.bool_), *known)  # type: ignore[call-arg]


def look(table: Cells, pace: Cells, x: Rows, i: int, sheet: Sheet, keep: bool) -> None:
    """Write both views of row i; with `keep` the row counts from now on: O(nnz)."""
    t, size = pace[ROWS] + 1.0, x.end(i) - x.begin(i)
    gather(table, x, i, sheet)
    measure(sheet, size, t)
    if keep:
        scatter(table, x, i, sheet)
    level(pace, sheet, size, t, keep)


def gather(table: Cells, x: Rows, i: int, sheet: Sheet) -> None:
    """What is known of the features of row i, side by side."""
    first = x.begin(i)
    for k in range(first, x.end(i)):
        v, at, value = k - first, cell(x.column(i, k), COLUMNS), x.value(i, k)
        sheet.values[v] = value
        sheet.counts[v] = table[at + COUNT] + (1.0 if value != 0.0 else 0.0)
        sheet.means[v], sheet.deviations[v] = table[at + MEAN], table[at + DEVIATION]


def measure(sheet: Sheet, size: Any, t: float) -> None:
    """Bring measures up to date, and see the entries by them; no entry waits for another, so several go at once."""
    for v in range(np.uint64(0), size):
        x, count, mean, deviation = sheet.values[v], sheet.counts[v], sheet.means[v], sheet.deviations[v]
        share = 1.0 / count
        off = x - mean if x != 0.0 else 0.0
        mean += off * share
        deviation += off * (x - mean)
        sheet.means[v], sheet.deviations[v] = mean, deviation
        plain = x / math.sqrt(mean * mean + deviation * share)
        present = x != 0.0 and (deviation > 0.0 or count != t)
        centred = deviation > 0.0 and 2.0 * count > t
        root = math.sqrt(deviation * share if centred else abs(plain))
        shaped = (x - mean) / root if centred else (root if x > 0.0 else -root)
        sheet.shaped[v] = np.float32(shaped if present else 0.0)
        sheet.plain[v] = np.float32(plain if present else 0.0)
        sheet.roots[v] = present and not centred


def scatter(table: Cells, x: Rows, i: int, sheet: Sheet) -> None:
    """Keep the measures."""
    first = x.begin(i)
    for k in range(first, x.end(i)):
        v, at = k - first, cell(x.column(i, k), COLUMNS)
        table[at + COUNT], table[at + MEAN] = sheet.counts[v], sheet.means[v]
        table[at + DEVIATION] = sheet.deviations[v]


def level(pace: Cells, sheet: Sheet, size: Any, t: float, keep: bool) -> None:
    """Bring the entries seen as roots to their mean length, and count the lengths of both views."""
    root_square = plain_square = other_square = 0.0
    for v in range(np.uint64(0), size):
        shaped, plain = np.float64(sheet.shaped[v]), np.float64(sheet.plain[v])
        root_square += shaped * shaped if sheet.roots[v] else 0.0
        other_square += 0.0 if sheet.roots[v] else shaped * shaped
        plain_square += plain * plain
    length = math.sqrt(root_square)
    lengths = pace[LENGTHS] + length
    factor = lengths / max(t - 1.0, 1.0) / length if length > 0.0 else 1.0
    for v in range(np.uint64(0), size):
        sheet.shaped[v] *= np.float32(factor) if sheet.roots[v] else np.float32(1)
    if keep:
        pace[ROWS] = t
        if t > 1.0:
            pace[LENGTHS] = lengths
            pace[SHAPED_SQUARE] += 1.0 + other_square + root_square * factor * factor
            pace[PLAIN_SQUARE] += 1.0 + plain_square
