"""Memory for a round of structured prediction: scratch, and a sparse sub-gradient as it is put together.

Joint features ψ(x, ℓ) of different places of a structure may share coordinates, and rules want each coordinate once. So
a sub-gradient is piled up in a dense vector of zeros, remembering which coordinates were touched, then collected into
one sparse row, O(entries), which leaves the pile empty again.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.part import Part
from lowregret.rows import Rows, Sparse
from lowregret.types import Cells, Index, Vector


class ScratchSize(NamedTuple):
    """How much scratch a batch needs: floats and integers to decode with, labels of a round, entries of a gradient."""

    floats: int
    integers: int
    labels: int
    entries: int


class Scratch(NamedTuple):
    """Scratch arrays of one batch."""

    floats: Cells
    integers: Cells
    rival: Cells  # the structure that a round's sub-gradient prefers to the right one
    pile: Cells  # (dimension,), zeros between rounds
    touched: Cells  # coordinates, as unsigned integers
    amounts: Cells
    ends: Cells  # 0, and the number of entries: with the two above a sparse matrix of one row

    @classmethod
    def of(cls, room: ScratchSize, dimension: int) -> Scratch:
        """An empty scratch."""
        return cls(
            np.zeros(room.floats),
            np.zeros(room.integers, np.int64),
            np.zeros(room.labels, np.int64),
            np.zeros(dimension),
            np.zeros(room.entries, np.uint64),
            np.zeros(room.entries),
            np.zeros(2, np.int64),
        )

    @property
    def row(self) -> Sparse:
        """The collected sub-gradient, seen as a row of features."""
        return Sparse(self.ends, self.touched, self.amounts, self.pile.size)


class FixedWeights(Part):
    """Reads a vector as rules read their state, so that the same code decodes with w_t and with a fixed model."""

    def scale(self, s: Cells) -> float:
        return 1.0

    def raw(self, s: Cells, j: Index) -> float:
        return s[j]


def add(scratch: Scratch, j: Index, amount: float) -> None:
    """gradient[j] += amount. A coordinate whose sum returns to 0 may be listed twice, which `collect` does not mind."""
    if scratch.pile[j] == 0.0:
        scratch.touched[scratch.ends[1]] = j
        scratch.ends[1] += 1
    scratch.pile[j] += amount


def add_row(scratch: Scratch, x: Rows, i: int, width: int, block: int, amount: float) -> None:
    """gradient[j·width + block] += amount·x_i[j] for all features j of row i."""
    for k in range(x.begin(i), x.end(i)):
        value = x.value(i, k)
        if value != 0.0:
            add(scratch, np.uint64(x.column(i, k)) * np.uint64(width) + np.uint64(block), amount * value)


def row_length(x: Rows, i: int) -> float:
    """‖x_i‖₂, or a number no smaller that is infinite where squares are none."""
    square = 0.0
    for k in range(x.begin(i), x.end(i)):
        square += x.value(i, k) * x.value(i, k)
    return math.sqrt(square)


def collect(scratch: Scratch) -> None:
    """Make one sparse row of the pile, each coordinate once and none of them 0, and clear the pile: O(entries)."""
    kept = 0
    for k in range(scratch.ends[1]):
        j = scratch.touched[k]
        if scratch.pile[j] != 0.0:
            scratch.touched[kept] = j
            scratch.amounts[kept] = scratch.pile[j]
            scratch.pile[j] = 0.0
            kept += 1
    scratch.ends[1] = kept


def block_scores(reader: Any, s: Any, x: Rows, i: int, width: int, scores: Vector, at: Index) -> float:
    """scores[at + c] = Σ_j w[j·width + c]·x_i[j], c = 0 … width − 1: O(nnz·width); returns 0, NaN if one overflows."""
    end = np.uint64(width)
    for c in range(end):
        scores[at + np.uint64(c)] = 0.0
    for k in range(x.begin(i), x.end(i)):
        value = x.value(i, k)
        if value != 0.0:
            block = np.uint64(x.column(i, k)) * end
            for c in range(end):
                scores[at + np.uint64(c)] += value * reader.raw(s, block + np.uint64(c))
    scale, nothing = reader.scale(s), 0.0
    for c in range(end):
        scores[at + np.uint64(c)] *= scale
        nothing += 0.0 * scores[at + np.uint64(c)]
    return nothing
