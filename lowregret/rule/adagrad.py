"""AdaGrad: gradient descent with a step of its own for every coordinate."""

from __future__ import annotations

import math

import numpy as np

from lowregret.domain import Box, Domain, Orthant, Reals
from lowregret.rule.eager import Gradients, Summed
from lowregret.rule.rule import Rule
from lowregret.state import (
    ENERGY,
    FACTOR,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    MASS,
    ROUNDS,
    Cells,
    Index,
    State,
    Vector,
    cell,
)
from lowregret.step import Constant, Step

ROOT = np.uint64(1)  # behind the iterate: √G

Sums = tuple[float, float]


class AdaGrad(Rule):
    """w_{t+1}[j] = Π(w_t[j] − η·z_t[j]/√G_t[j]), G_t[j] = Σ_{s≤t} z_s[j]², w_1 = Π(0).

    Duchi, Hazan and Singer, "Adaptive subgradient methods", JMLR 12, 2011, with diagonal matrices. Coordinates are
    projected one by one, so the domain is R^d, a box or the orthant.
    FACTOR = max_t ‖w_t‖_∞; `ledger` adds MASS = Σ_j √G[j].
    """

    on: Domain = Reals()
    step: Step = Constant(0.5)
    gradients: Gradients = Summed()

    def check(self) -> None:
        self.require(
            isinstance(self.on, Reals | Box | Orthant),
            f"on must be Reals(), a Box or the Orthant, where each coordinate is projected by itself; got {self.on!r}",
        )
        self.require(isinstance(self.step, Constant), f"step must be Constant(η), got {self.step!r}")

    @property
    def domain(self) -> Domain:
        return self.on

    def fits(self, d: int) -> None:
        self.on.fits(d)

    def width(self) -> int:
        return 3 if self.gradients.kept() else 2

    def keeps_sum(self) -> bool:
        return self.gradients.kept()

    def schedule(self) -> Step:
        return self.step

    def costs_dimension(self) -> bool:
        return False

    def begin(self, s: State) -> None:
        w = self.on.projection(np.zeros(s.dimension))
        s.table[self.width() - 2 :: self.width()] = w
        s.sums[FACTOR] = np.max(np.abs(w))

    def at(self, j: Index) -> Index:
        """Where coordinate j of the iterate is in the table."""
        return cell(j, self.width()) + np.uint64(self.width() - 2)

    def scale(self, s: State) -> float:
        return 1.0

    def raw(self, s: State, j: Index) -> float:
        return s.table[self.at(j)]

    def needs_square(self) -> bool:
        return True

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(max‖w‖_∞, ‖z‖²)"""
        return s.sums[FACTOR], square

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        self.move(s, j, g)
        return max(round_sums[0], abs(s.table[self.at(j)])), round_sums[1]

    def push_block(self, s: State, first: Index, count: int, slopes: Cells, value: float, round_sums: Sums) -> Sums:
        """In two loops, the first of which computes several coordinates at once."""
        for k in range(np.uint64(count)):
            self.move(s, first + k, slopes[k] * value)
        peak = round_sums[0]
        for k in range(np.uint64(count)):
            size = abs(s.table[self.at(first + k)])
            if size > peak:
                peak = size
        return peak, round_sums[1]

    def move(self, s: State, j: Index, g: float) -> None:
        """Take the step of coordinate j."""
        at = self.at(j)
        if self.gradients.kept():
            s.table[cell(j, 3)] -= g
        before = s.table[at + ROOT]
        root = math.sqrt(before * before + g * g)
        share = g / root if root > 0.0 else 0.0
        s.table[at + ROOT] = root
        s.table[at] = self.on.clip(j, s.table[at] - self.step.rate(s, 0.0) * share)

    def settle(self, s: State, inner: float, entries: int, round_sums: Sums) -> None:
        peak, square = round_sums
        s.sums[FACTOR] = peak
        s.sums[FIRST_RATE] = s.sums[LAST_RATE] = self.step.rate(s, 0.0)
        s.sums[LINEAR] += inner
        s.sums[ENERGY] += square
        s.sums[LARGEST] = max(s.sums[LARGEST], square)
        s.counts[ROUNDS] += 1

    def ledger(self, s: State) -> Vector:
        sums: Vector = s.sums.copy()
        sums[MASS] = np.sum(s.table[self.width() - 1 :: self.width()])
        return sums

    def idle(self, s: State) -> None:
        s.counts[ROUNDS] += 1
