"""AdaGrad with eight coordinates side by side, so that one instruction moves eight of them.

Coordinates 8b … 8b+7 lie together in the table, field after field: field f of coordinate 8b + k is at 8(3b + f) + k.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.simd import LANES, Eight, larger, largest, load, root, spread, store, total, where
from lowregret.rule.adagrad import CURVED, GROWN, PULLED, Sums
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import State
from lowregret.types import Cells, Index

FIELDS = 3  # θ, w and √S
_EIGHT = np.uint64(LANES)
_WEIGHT, _ROOT = np.uint64(LANES), np.uint64(2 * LANES)  # from a coordinate's θ to its w and √S


class DiagonalEights(PerCoordinate):
    """`AdaGrad(η, beta=β)` on R^d, in three numbers a weight: P_t w_{t+1} = P_t w_t − z_t tells the fourth,

    Σ(P_t − P_{t−1})w_t = P_T w_{T+1} − P_0 w_1 + Σz_t. O(nnz) per row.
    """

    eta: float
    beta: float

    def width(self) -> int:
        return FIELDS

    def precision(self, squares: float) -> float:
        """P(S), as of `AdaGrad`."""
        return (self.beta + math.sqrt(squares)) / self.eta

    def place(self, j: Index) -> Index:
        """Where θ of coordinate j is."""
        k = np.uint64(j) % _EIGHT
        return (np.uint64(j) - k) * np.uint64(FIELDS) + k

    def raw(self, s: State, j: Index) -> float:
        return s.table[self.place(j) + _WEIGHT]

    def raw_eight(self, s: State, first: Index) -> Eight:
        """Weights first, …, first + 7; `first` is a multiple of eight."""
        return load(s.table, first * np.uint64(FIELDS) + _WEIGHT)

    def fields(self, table: Cells, j: Index) -> tuple[float, float, float]:
        """θ, w and S of coordinate j."""
        at = self.place(j)
        root = table[at + _ROOT]
        return table[at], table[at + _WEIGHT], root * root

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(‖z_t‖², Σz²/P, Σ(√S_t − √S_{t−1})w², Σ(√S_t − √S_{t−1}), max |w|)"""
        return 0.0, 0.0, 0.0, 0.0, 0.0

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        energy, curved, pulled, grown, widest = round_sums
        at = self.place(j)
        s.table[at] -= g
        square = g * g
        if square == 0.0:
            return round_sums
        w, old = s.table[at + _WEIGHT], s.table[at + _ROOT]
        new = math.sqrt(old * old + square)
        step = self.eta * g / (self.beta + new)
        gain = new - old
        s.table[at + _WEIGHT] = w - step
        s.table[at + _ROOT] = new
        return energy + square, curved + g * step, pulled + gain * w * w, grown + gain, max(widest, abs(w))

    def none(self) -> Any:
        """Running sums of eight coordinates, before the first."""
        zero = spread(0.0)
        return zero, zero, zero, zero, zero

    def push_eight(self, s: State, first: Index, g: Eight, sums: Any) -> Any:
        """`push` of coordinates first, …, first + 7; `first` is a multiple of eight."""
        energy, curved, pulled, grown, widest = sums
        at, zero = first * np.uint64(FIELDS), spread(0.0)
        w, old = load(s.table, at + _WEIGHT), load(s.table, at + _ROOT)
        square = g * g
        moves = square > 0.0
        new = where(moves, root(old * old + square), old)
        taken = where(moves, g, zero)
        step = self.eta * taken / where(moves, self.beta + new, spread(1.0))
        gain = new - old
        store(s.table, at, load(s.table, at) - g)
        store(s.table, at + _WEIGHT, w - step)
        store(s.table, at + _ROOT, new)
        seen = larger(widest, where(moves, abs(w), zero))
        return energy + square, curved + taken * step, pulled + gain * w * w, grown + gain, seen

    def joined(self, round_sums: Sums, sums: Any) -> Sums:
        """The round's running sums, with those of eight lanes."""
        energy, curved, pulled, grown, widest = round_sums
        return (
            energy + total(sums[0]),
            curved + total(sums[1]),
            pulled + total(sums[2]),
            grown + total(sums[3]),
            max(widest, largest(sums[4])),
        )

    def tells_widest(self) -> bool:
        return True

    def widest(self, round_sums: Sums) -> float:
        return round_sums[4]

    def fold(self, s: State, round_sums: Sums) -> None:
        _, curved, pulled, grown, _ = round_sums
        s.sums[CURVED] += curved
        s.sums[PULLED] += pulled / self.eta
        s.sums[GROWN] += grown / self.eta
