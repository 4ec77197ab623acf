"""The rows of CSV and TSV with columns of text or dates, or products of columns, in compiled code.

Apart from other rows, so that most tables do not wait until this is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.stream.buffers import DONE, ENTRY, EXTRA, Buffers
from lowregret.stream.column_rows import MISSING
from lowregret.stream.cross import append_products, begin_group, has_room
from lowregret.stream.delimited_rows import DelimitedRows

_U = np.uint64


class WideRows(DelimitedRows):
    """How to read the rows of one file, whatever its columns are; the features of text and dates come last."""

    def has_room(self, size: Any, out: Buffers) -> bool:
        """Whether a row still fits where this many bytes are left."""
        return has_room(self.columns.crossing, out, self.most(size) if self.wide else self.order.size)

    def several(self, column: Any, kind: Any, text: Any, begin: Any, end: Any, what: int, out: Buffers) -> int:
        """Put the features of a text or a date behind the others; returns DONE or why not."""
        first = out.cursor[ENTRY] + self.order.size + out.cursor[EXTRA]
        last = first
        if what != MISSING:
            last, status = self.add_parts(column, kind, text, begin, end, False, first, out)
            if status != DONE:
                return status
        for k in range(first, last):
            out.spare[_U(k)] = self.columns.keys[column]  # what `close_gaps` must know
        out.cursor[EXTRA] += last - first
        return DONE

    def take_lag(self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, out: Buffers) -> int:
        """Take in how late a label comes, or when its row came; returns DONE or why not."""
        return self.read_lag(kind, text, begin, end, what, value, out)

    def close_gaps(self, out: Buffers) -> int:
        """Close the gaps that features of 0 leave, and append products; returns the end of the row, or NO_ROOM."""
        first, grouped = out.cursor[ENTRY], self.columns.crossing.keys.size > 0
        last = first
        for place in range(self.order.size + out.cursor[EXTRA]):
            column, value = out.columns[_U(first + place)], out.values[_U(first + place)]
            if grouped and value != 0.0:
                own = place < self.order.size
                begin_group(out, self.columns.keys[self.order[place]] if own else out.spare[_U(first + place)], last)
            out.columns[_U(last)], out.values[_U(last)] = column, value
            last += value != 0.0
        return append_products(self.columns.crossing, out, last, self.columns.mask())
