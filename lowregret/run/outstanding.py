"""Rows that were asked and wait for their answers, and the order in which rows and answers come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.rows import Sparse
from lowregret.run.lags import CROWD
from lowregret.types import Vector

NO_ROWS = Sparse(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), 0)


class Outstanding(NamedTuple):
    """Rows that wait, one after the other as they were asked, with all that is known of each."""

    rows: Sparse
    labels: Vector  # of many classes codes, in an order of their own
    weights: Vector
    due: Any  # the row after which the answer comes, counted from 1
    number: Any  # of the row itself
    known: Vector  # when the answer is known, and when the row came, in microseconds; 0 if lags are in rows
    since: Vector
    scores: Vector  # given when they were asked
    past: Vector  # see `Waiting`
    beside: Vector  # likewise

    @classmethod
    def empty(cls, lots: int, width: int) -> Outstanding:
        """No rows, with room for `lots` scores and `width` further numbers of each."""
        none, counts = np.empty(0), np.empty(0, np.int64)
        kept = np.zeros((0, lots)), np.zeros((0, width)), np.zeros((0, width))
        return cls(NO_ROWS, none, none, counts, counts, none, none, *kept)

    @property
    def size(self) -> int:
        """How many rows wait."""
        return int(self.labels.size)

    def joined(self, x: Sparse, *columns: Any) -> Outstanding:
        """The table with further rows, which were not asked yet, given their columns up to `since`: O(nnz)."""
        rows, count = self.rows, columns[0].size
        entries = slice(int(x.indptr[0]), int(x.indptr[count]))
        ends = np.concatenate([rows.indptr, rows.indptr[-1] + x.indptr[1 : count + 1] - x.indptr[0]]).astype(np.int64)
        kind = np.result_type(rows.indices, x.indices)
        indices = np.concatenate([rows.indices, x.indices[entries]]).astype(kind)
        data = np.concatenate([rows.data, x.data[entries]])
        known: tuple[Any, ...] = self[1 : 1 + len(columns)]
        return Outstanding(
            Sparse(ends, indices, data, max(rows.columns, x.columns)),
            *(np.concatenate(pair) for pair in zip(known, columns, strict=True)),
            *(np.concatenate([kept, np.zeros((count, kept.shape[1]))]) for kept in self[1 + len(columns) :]),
        )

    def picked(self, at: Any) -> Outstanding:
        """Some of the rows."""
        return Outstanding(pick_rows(self.rows, at), *(column[at] for column in self[1:]))


def pick_rows(x: Sparse, at: Any) -> Sparse:
    """Some rows of x, in any order, copied: O(nnz)."""
    starts, sizes = x.indptr[:-1][at], np.diff(x.indptr)[at]
    ends = np.append(0, np.cumsum(sizes))
    entries = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
    return Sparse(ends, x.indices[entries], x.data[entries], x.columns)


class Events(NamedTuple):
    """Rows asked and answers that arrive, one after the other."""

    row: Any  # of the table
    asks: Any  # whether it is asked
    weights: Vector
    lags: Any  # of answers, in rows
    crowds: Any  # the most answers that were under way together when one came, up to each event

    @classmethod
    def of(cls, table: Outstanding, waited: int, asked: int, met: Vector) -> Events:
        """All that happens while the rows from `waited` on are asked; `asked` were before.

        Answers that come between the same two rows come in the order in which they are known, then in that of rows.
        """
        size = table.size
        arriving = np.flatnonzero((table.weights != 0) & (table.due <= asked + size - waited))
        row = np.concatenate([np.arange(waited, size), arriving])
        asks = np.arange(row.size) < size - waited
        when = np.where(asks, 2 * (asked + 1 + row - waited), 2 * np.maximum(table.due[row], asked) + 1)
        order = np.lexsort((table.known[row], when))
        row, asks = row[order], asks[order]
        lags = asked + np.cumsum(asks) - table.number[row]
        under_way = waited + np.cumsum(asks & (table.weights[row] != 0)) - np.cumsum(~asks) + 1
        crowds = np.maximum.accumulate(np.maximum(np.where(asks, 0, under_way), met[CROWD]))
        return cls(row, asks, np.where(asks, 0.0, table.weights[row]), lags, crowds)

    def rates(self, met: Vector) -> tuple[Vector, Vector]:
        """How much each verdict on experts counts, 1/crowd, and how much less that is than before."""
        before = np.concatenate([met[CROWD : CROWD + 1], self.crowds[:-1]])
        crowds = np.maximum(self.crowds, 1)
        return 1.0 / crowds, np.where(before > 0, before / crowds, 1.0)
