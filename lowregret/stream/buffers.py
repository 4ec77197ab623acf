"""Where compiled parsers put what they read: labels, weights and sparse rows, with room for a whole block of text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.kernel import apart
from lowregret.compile.memory import untouched

_U = np.uint64
_ONE = _U(1)

# ---- cursor[...]: how far a parser has come -------------------------------------------------------------------------
AT = 0  # the byte where the next line begins
ROW = 1  # rows read
ENTRY = 2  # entries read
LINE = 3  # lines read
SPOT = 4  # the byte that a parser could not make sense of
HIGHEST = 5  # 1 + the highest column read
UNLABELLED = 6  # rows without a label
WEIGHTED = 7  # rows with a weight other than 1
GROUPS = 8  # groups of entries in the row so far
NAMED = 9  # names recorded
KEPT = 10  # of them, those of rows that are closed
EXTRA = 11  # entries of the row so far that have no place of their own
CURSOR = 12

# ---- why a parser stopped -------------------------------------------------------------------------------------------
DONE = 0  # the block is read
FULL = 1  # the row that begins at AT does not fit: call again with more room
HARD = 2  # the number at SPOT needs Python's `float`; put it into `known` and go on: the same as in `number`
FIRST_FAULT = 3  # from here on: a fault of the format, at SPOT, in the line that begins at AT

NAME = 6  # numbers recorded for a name
GROUP = 3  # numbers for a group of entries
AS_IT_STANDS, WORDS, WORDS_ESCAPED = range(3)  # how the text of a name becomes the name; see `tokens.py`
RUN = 32  # entries sorted at once
LATENESS = 3

Array = Any


class Buffers(NamedTuple):
    """Room for the rows of one block: row i holds entries starts[i] … starts[i+1]−1 of `columns` and `values`."""

    labels: Array  # NaN: the row has none
    weights: Array
    lines: Array  # the row's line in the block, from 0
    starts: Array
    columns: Array
    values: Array
    cursor: Array
    known: Array  # (byte, value) of numbers that only Python's `float` can read, side by side, in order
    groups: Array  # (key, first entry, next group of this key) of the row's groups of entries, side by side
    spare: Array  # as much room again as there is for columns and values, for sorting
    spare_values: Array
    names: Array  # NAME numbers for each name, see `record`; empty unless names are wanted
    scratch: Array  # what a parser must remember within a line
    lateness: Array  # LATENESS numbers for each row whose label comes late, see `lags.py`

    @classmethod
    def sized(cls, rows: int, entries: int, named: bool = False) -> Buffers:
        """Buffers for these rows and entries; memory that is not touched is not used, so there may be plenty of it."""
        return cls(
            untouched(rows, np.float64),
            untouched(rows, np.float64),
            untouched(rows, np.int64),
            untouched(rows + 1, np.int64),
            untouched(entries, np.uint32),
            untouched(entries, np.float64),
            np.zeros(CURSOR, np.int64),
            np.empty(0),
            np.empty(GROUP << 16, np.int64),
            untouched(max(entries, RUN), np.int64),
            untouched(max(entries, RUN), np.float64),
            untouched(NAME * entries if named else 0, np.int64),
            np.empty(1 << 14, np.int64),
            untouched(LATENESS * rows, np.float64),
        )

    def with_more_room(self) -> Buffers:
        """Twice the entries, or as many groups as the last row has twice, with what there is so far."""
        groups, size = GROUP * int(self.cursor[GROUPS]), 2 * self.values.size
        if groups > self.groups.size:
            return self._replace(groups=untouched(2 * groups, np.int64))
        larger = untouched(size, np.uint32), untouched(size, np.float64)
        end = int(self.cursor[ENTRY])
        larger[0][:end], larger[1][:end] = self.columns[:end], self.values[:end]
        spare = untouched(size, np.int64), untouched(size, np.float64)
        return self._replace(columns=larger[0], values=larger[1], spare=spare[0], spare_values=spare[1])


# ---- compiled -------------------------------------------------------------------------------------------------------


@apart
def known_value(out: Buffers, at: Any) -> tuple[float, bool]:
    """The value of the number at this byte, if Python's `float` has read it."""
    low, high = 0, out.known.size // 2
    while low < high:
        middle = (low + high) // 2
        if out.known[2 * middle] < at:
            low = middle + 1
        else:
            high = middle
    if low < out.known.size // 2 and out.known[2 * low] == at:
        return out.known[2 * low + 1], True
    return 0.0, False


def add(out: Buffers, entry: int, column: Any, value: float) -> None:
    """Put one entry behind those of the row so far."""
    out.columns[entry] = column
    out.values[entry] = value


def record(
    out: Buffers, slot: Any, space: Any, space_end: Any, name: Any, name_end: Any, how: int = AS_IT_STANDS
) -> None:
    """Note the name of an entry, if names are wanted: its slot, and the bytes of its namespace (or column) and name.

    −1−begin and −1−end as `space` stand for bytes of the format's `header` instead; `name` < 0: there is none.
    """
    at = NAME * out.cursor[NAMED]
    if at < out.names.size:
        out.names[at], out.names[at + 1], out.names[at + 2] = slot, space, space_end
        out.names[at + 3], out.names[at + 4], out.names[at + 5] = name, name_end, how
        out.cursor[NAMED] += 1


def close_row(out: Buffers, label: float, weight: float, entry: int) -> None:
    """End the row at `entry`: its columns in ascending order, equal ones added up."""
    row = out.cursor[ROW]
    begin = out.starts[row]
    disorder = 0
    for k in range(_U(begin + 1), _U(entry)):
        disorder += out.columns[k] <= out.columns[k - _ONE]
    if disorder:
        sort(out, begin, entry)
        entry = add_up(out.columns, out.values, begin, entry)
    if entry > begin:
        out.cursor[HIGHEST] = max(out.cursor[HIGHEST], np.int64(out.columns[entry - 1]) + 1)
    out.labels[row] = label
    out.weights[row] = weight
    out.lines[row] = out.cursor[LINE]
    out.starts[row + 1] = entry
    out.cursor[WEIGHTED] += weight != 1.0
    out.cursor[UNLABELLED] += label != label
    out.cursor[KEPT] = out.cursor[NAMED]
    out.cursor[ROW] = row + 1
    out.cursor[ENTRY] = entry


@apart
def sort(out: Buffers, begin: int, end: int) -> None:
    """Order entries by column, equal ones as they came: short runs by counting, then merged. O(n log n)."""
    for run in range(begin, end, RUN):
        _sort_run(out, run, min(run + RUN, end))
    width, length = RUN, end - begin
    while width < length:
        _merge(out.columns, out.values, begin, out.spare, out.spare_values, 0, length, width)
        _merge(out.spare, out.spare_values, 0, out.columns, out.values, begin, length, 2 * width)
        width *= 4


def _sort_run(out: Buffers, begin: int, end: int) -> None:
    """Each entry goes where the number of lower ones says: no branch to guess, many at once."""
    for k in range(end - begin):
        out.spare[_U(k)] = np.int64(out.columns[_U(begin + k)]) * RUN + k
        out.spare_values[_U(k)] = out.values[_U(begin + k)]
    for k in range(end - begin):
        lower = 0
        for other in range(end - begin):
            lower += out.spare[_U(other)] < out.spare[_U(k)]
        out.columns[_U(begin + lower)] = out.spare[_U(k)] // RUN
        out.values[_U(begin + lower)] = out.spare_values[_U(k)]


def _merge(
    columns: Array, values: Array, begin: int, to: Array, to_values: Array, at: int, length: int, width: int
) -> None:
    """Merge neighbouring runs of `width` sorted entries from columns[begin …] into to[at …]."""
    for left in range(begin, begin + length, 2 * width):
        middle, end = min(left + width, begin + length), min(left + 2 * width, begin + length)
        i, j = left, middle
        while i < middle and j < end:
            lower = columns[_U(j)] < columns[_U(i)]
            k = j if lower else i
            to[_U(at)], to_values[_U(at)] = columns[_U(k)], values[_U(k)]
            j += lower
            i += not lower
            at += 1
        rest, stop = (i, middle) if i < middle else (j, end)
        for k in range(rest, stop):
            to[_U(at)], to_values[_U(at)] = columns[_U(k)], values[_U(k)]
            at += 1


def add_up(columns: Array, values: Array, begin: int, end: int) -> int:
    """Merge neighbours of the same column; returns the new end."""
    last = begin
    for k in range(begin + 1, end):
        if columns[k] == columns[last]:
            values[last] += values[k]
        else:
            last += 1
            columns[last], values[last] = columns[k], values[k]
    return last + 1
