"""Learners of many classes whose rule moves eight of them at once. A number of lanes is a multiple of eight here."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.domain import Reals
from lowregret.eight import LANES, load, spread, store
from lowregret.multiclass import Multiclass
from lowregret.rows import Rows
from lowregret.rule import Diagonal, Root
from lowregret.rule.eights import DiagonalEights
from lowregret.state import DIMENSION, Cells, Index, State

FEW = 2  # so many of eight lanes are moved one by one


class EightMulticlass(Multiclass):
    """`Multiclass` in eights: the same rounds, but for rounding."""

    rule: DiagonalEights

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def dot(self, s: State, x: Rows, i: int, factor: float, known: int, raw: Cells) -> None:
        """Likewise; lanes beyond `known` get 0, for so are their weights."""
        lanes = np.uint64(raw.size)
        for block in range(np.uint64(0), np.uint64(known), np.uint64(LANES)):
            sums = spread(0.0)
            for k in range(x.begin(i), x.end(i)):
                sums = sums + x.value(i, k) * self.rule.raw_eight(s, np.uint64(x.column(i, k)) * lanes + block)
            if self.unit:
                sums = sums * factor
            if self.bias != 0.0:
                last = np.uint64(s.counts[DIMENSION]) - lanes
                sums = sums + self.bias * self.rule.raw_eight(s, last + block)
            store(raw, block, sums)

    def move(
        self, s: State, x: Rows, i: int, factor: float, known: int, touched: int, slopes: Cells, sums: Any, inner: float
    ) -> None:
        """Eight lanes after the other: those that all stay are left alone, few are moved one by one."""
        for block in range(np.uint64(0), np.uint64(known), np.uint64(LANES)):
            end, moving = block + np.uint64(LANES), 0
            for lane in range(block, end):
                if lane >= known:
                    slopes[lane] = 0.0
                moving += slopes[lane] != 0.0
            if moving > FEW:
                sums = self.push_eights(s, x, i, factor, block, slopes, sums)
            elif moving > 0:
                for lane in range(block, end):
                    if slopes[lane] != 0.0:
                        sums = self.push_lane(s, x, i, factor, lane, slopes, sums)
        self.rule.settle(s, inner, 0, sums)

    def push_eights(
        self, s: State, x: Rows, i: int, factor: float, block: Index, slopes: Cells, round_sums: Any
    ) -> Any:
        """The lanes of one block, feature by feature."""
        lanes, slope, sums = np.uint64(slopes.size), load(slopes, block), self.rule.none()
        for k in range(x.begin(i), x.end(i)):
            first = np.uint64(x.column(i, k)) * lanes + block
            self.book_eight(s, first)
            sums = self.rule.push_eight(s, first, slope * (factor * x.value(i, k)), sums)
        if self.bias != 0.0:
            first = np.uint64(s.counts[DIMENSION]) - lanes + block
            self.book_eight(s, first)
            sums = self.rule.push_eight(s, first, slope * self.bias, sums)
        return self.rule.joined(round_sums, sums)

    def book_eight(self, s: State, first: Index) -> None:
        """Keep the output right before eight weights change."""
        if self.output.averages():
            for j in range(first, first + np.uint64(LANES)):
                self.rule.book(s, j)


def at_work(learner: Multiclass) -> Multiclass:
    """The learner that does the rounds of this one: in eights if its rule can, else itself."""
    match learner:
        case Multiclass(loss, Diagonal(Root() as precision, Reals()), output, ridge, bias, unit):
            return EightMulticlass(loss, DiagonalEights(precision), output, ridge, bias, unit)
    return learner
