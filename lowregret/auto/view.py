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

import numpy as np

from lowregret.rows import Rows
from lowregret.state import Cells, Index, cell

# ---- table[cell + …] ------------------------------------------------------------------------------------------------
COUNT, MEAN, DEVIATION = np.uint64(1), np.uint64(2), np.uint64(3)  # after θ; Σ(x − mean)² is DEVIATION
COLUMNS = 4

# ---- pace[…]: of the rows -------------------------------------------------------------------------------------------
ROWS = 0  # learnt so far
LENGTHS = 1  # Σ of the lengths of the entries seen as roots, from row 2 on
SHAPED_SQUARE, PLAIN_SQUARE = 2, 3  # Σ‖z‖² of either view with the bias, likewise
PACE = 4


def entry(table: Cells, at: Index, x: float, t: float, keep: bool) -> tuple[float, float, bool]:
    """Entry x of row t as shaped and plain, and whether it is seen as a root; with `keep` it counts from now on."""
    count, mean, deviation = table[at + COUNT] + 1.0, table[at + MEAN], table[at + DEVIATION]
    off = x - mean
    share = 1.0 / count
    if off != 0.0:
        mean += off * share
        deviation += off * (x - mean)
    if keep:
        table[at + COUNT], table[at + MEAN], table[at + DEVIATION] = count, mean, deviation
    if deviation == 0.0:
        if count == t:
            return 0.0, 0.0, False
        return math.copysign(1.0, x), math.copysign(1.0, x), True
    plain = x / math.sqrt(mean * mean + deviation * share)
    if 2.0 * count > t:
        return (x - mean) / math.sqrt(deviation * share), plain, False
    return math.copysign(math.sqrt(abs(plain)), x), plain, True


def look(table: Cells, pace: Cells, x: Rows, i: int, views: Cells, roots: Cells, keep: bool) -> tuple[float, float]:
    """Write both views of row i, and return the mean of ‖z‖² of either over the rows so far: O(nnz)."""
    t = pace[ROWS] + 1.0
    first, two, one = x.begin(i), np.uint64(2), np.uint64(1)
    root_square = plain_square = other_square = 0.0
    for k in range(first, x.end(i)):
        v, value = k - first, x.value(i, k)
        shaped, plain, root = 0.0, 0.0, False
        if value != 0.0:
            shaped, plain, root = entry(table, cell(x.column(i, k), COLUMNS), value, t, keep)
        views[v * two], views[v * two + one], roots[v] = shaped, plain, root
        plain_square += plain * plain
        if root:
            root_square += shaped * shaped
        else:
            other_square += shaped * shaped
    length = math.sqrt(root_square)
    lengths = pace[LENGTHS] + length
    factor = lengths / max(t - 1.0, 1.0) / length if length > 0.0 else 1.0
    for v in range(np.uint64(0), x.end(i) - first):
        if roots[v]:
            views[v * two] *= np.float32(factor)
    shaped_square = pace[SHAPED_SQUARE] + (1.0 + other_square + root_square * factor * factor)
    plain_square += pace[PLAIN_SQUARE] + 1.0
    if keep:
        pace[ROWS] = t
        if t > 1.0:
            pace[LENGTHS], pace[SHAPED_SQUARE], pace[PLAIN_SQUARE] = lengths, shaped_square, plain_square
    rest = max(t - 1.0, 1.0)
    return shaped_square / rest, plain_square / rest
