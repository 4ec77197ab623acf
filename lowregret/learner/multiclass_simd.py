"""Learners of many classes whose rule moves eight of them at once. A number of lanes is a multiple of eight here."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.simd import LANES, load, spread, store
from lowregret.domain import Reals
from lowregret.learner.multiclass import Multiclass
from lowregret.rows import Rows
from lowregret.rule import AdaGrad
from lowregret.rule.adagrad_simd import DiagonalEights
from lowregret.state import DIMENSION, State
from lowregret.types import Cells, Index


class EightMulticlass(Multiclass):
    """`Multiclass` in eights: the same rounds, but for rounding."""

    rule: DiagonalEights

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def dot(self, s: State, x: Rows, i: int, factor: float, known: int, raw: Cells) -> None:
        """raw[ℓ] = ⟨w_ℓ, x_i⟩ of the known classes, eight at a time; lanes beyond get 0, for so are their weights."""
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

    def push_lanes(self, s: State, x: Rows, i: int, factor: float, known: int, slopes: Cells, round_sums: Any) -> Any:
        """All lanes, eight after the other within each feature."""
        lanes, sums = np.uint64(slopes.size), self.rule.none()
        for lane in range(known, -(-known // LANES) * LANES):
            slopes[lane] = 0.0
        for k in range(x.begin(i), x.end(i)):
            first = np.uint64(x.column(i, k)) * lanes
            sums = self.push_eights(s, first, known, slopes, factor * x.value(i, k), sums)
        if self.bias != 0.0:
            first = np.uint64(s.counts[DIMENSION]) - lanes
            sums = self.push_eights(s, first, known, slopes, self.bias, sums)
        return self.rule.joined(round_sums, sums)

    def push_eights(self, s: State, first: Index, known: int, slopes: Cells, value: float, sums: Any) -> Any:
        """Give the lanes of one feature to the rule, keeping the output right."""
        for block in range(np.uint64(0), np.uint64(known), np.uint64(LANES)):
            if self.output.averages():
                for lane in range(block, block + np.uint64(LANES)):
                    self.rule.book(s, first + lane)
            sums = self.rule.push_eight(s, first + block, load(slopes, block) * value, sums)
        return sums


def at_work(learner: Multiclass) -> Multiclass:
    """The learner that does the rounds of this one: in eights if its rule can, else itself.

    A subclass may do its rounds in another way, so it does them itself.
    """
    rule = learner.rule
    if type(learner) is Multiclass and type(rule) is AdaGrad and type(rule.domain) is Reals:
        rest = learner.output, learner.ridge, learner.bias, learner.unit
        return EightMulticlass(learner.loss, DiagonalEights(rule.eta, rule.beta), *rest)
    return learner
