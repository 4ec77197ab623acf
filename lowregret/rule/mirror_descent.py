"""Mirror descent: keep the sum of sub-gradients, look at the iterate only where it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.domain import Domain
from lowregret.mirror import Mirror
from lowregret.rule.base import Rule
from lowregret.state import (
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    MASS,
    PEAK,
    PUSHES,
    ROUNDS,
    STEPPED,
    State,
    slot,
)
from lowregret.step import Step
from lowregret.types import Cells, Index, Vector, cell

RATE = slot("rate")  # η of the coming round


class MirrorDescent(Rule):
    """θ_{t+1} = θ_t − z_t,  w_t = ∇R*(η_t θ_t): mirror descent, and FTRL on the linearised losses (ALG-OMD).

    O(nnz) per row for Euclidean geometry on R^d, balls and boxes, for p-norms, and for entropies with a constant rate;
    O(d) for entropies with a changing rate, for other sets, and for maps of which only the link is told.
    """

    mirror: Mirror
    step: Step

    def check(self) -> None:
        self.require(
            isinstance(self.mirror, Mirror), f"mirror must be a Mirror such as Euclidean(), got {self.mirror!r}"
        )
        self.mirror.streams()
        self.require(isinstance(self.step, Step), f"step must be a Step such as Constant(0.1), got {self.step!r}")
        self.require(
            not self.step.weighted(),
            f"{type(self.step).__name__} weighs rounds, which gradient sums cannot undo: use it with ProjectedGradient",
        )

    @property
    def domain(self) -> Domain:
        return self.mirror.domain

    def fits(self, d: int) -> None:
        self.mirror.fits(d)

    def width(self) -> int:
        return self.mirror.width()

    def first(self, d: int) -> Vector:
        return self.mirror.link(np.zeros(d))

    def grows(self) -> bool:
        return self.mirror.streams()

    def schedule(self) -> Step:
        return self.step

    def costs_dimension(self) -> bool:
        return self.mirror.whole() or (self.mirror.stores_rate() and not self.step.constant)

    def begin(self, s: State) -> None:
        s.sums[RATE] = self.step.rate(s, 0.0)
        self.mirror.begin(s)
        s.sums[PEAK] = s.sums[MASS]

    def scale(self, s: State) -> float:
        return self.mirror.scale(s, s.sums[RATE])

    def raw(self, s: State, j: Index) -> float:
        return self.mirror.raw(s, j, s.sums[RATE])

    def square_length(self, s: State) -> float:
        return self.mirror.square_length(s, s.sums[RATE])

    def tells_widest(self) -> bool:
        return self.mirror.tells_length()

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Any:
        return self.mirror.open(product, square)

    def push(self, s: State, j: Index, g: float, round_sums: Any) -> Any:
        return self.mirror.push(s, j, g, s.sums[RATE], round_sums)

    def settle(self, s: State, inner: float, entries: int, round_sums: Any) -> None:
        eta = s.sums[RATE]
        energy = self.mirror.close(s, eta, self.mirror.scale(s, eta), entries, round_sums)
        if s.sums[ENERGY] == 0.0:  # while θ = 0 every rate gives w_1, so the bound may use the best non-increasing one
            eta = self.step.rate(s, energy)
            s.sums[FIRST_RATE] = eta
        if energy > 0.0:
            s.sums[LAST_RATE] = eta
        s.sums[LINEAR] += inner
        s.sums[ENERGY] += energy
        s.sums[STEPPED] += eta * energy
        s.sums[LARGEST] = max(s.sums[LARGEST], energy)
        s.counts[PUSHES] += entries
        s.counts[ROUNDS] += 1
        self.turn(s, True, self.step.rate(s, 0.0))

    def swell(self, s: State, square: float) -> float:
        return self.mirror.swell(s, s.sums[RATE], square)

    def fades(self, s: State, floor: float, square: float) -> bool:
        return self.mirror.fades(self.step.rate(s, square) * floor)

    def parted(self) -> bool:
        return self.mirror.parted()

    def changes(self, before: Vector, after: Vector) -> Vector:
        return after[:, :1] - before[:, :1]

    def join(self, s: State, j: Index, change: Cells, at: Index, share: float) -> None:
        s.table[cell(j, self.mirror.width())] += change[at]

    def reckon(self, s: State, inner: float, square: float, eta: float) -> None:
        if eta == 0.0:
            eta = s.sums[FIRST_RATE] = self.step.rate(s, square)
        s.sums[LAST_RATE] = eta
        s.sums[LINEAR] += inner
        s.sums[ENERGY] += square
        s.sums[STEPPED] += eta * square
        s.sums[LARGEST] = max(s.sums[LARGEST], square)
        s.counts[ROUNDS] += 1
        s.sums[RATE] = self.step.rate(s, 0.0)

    def idle(self, s: State) -> None:
        s.counts[ROUNDS] += 1
        self.turn(s, False, self.step.rate(s, 0.0))

    def turn(self, s: State, pushed: bool, coming: float) -> None:
        """Go over to the rate of the coming round, computing afresh what cannot follow in O(1)."""
        moved = coming != s.sums[RATE]
        if (
            (pushed and (self.mirror.whole() or self.mirror.stale(s)))
            or (moved and self.mirror.stores_rate())
            or (moved and self.mirror.rated() and s.lag.size > 0)
        ):
            self.book_all(s)
            self.mirror.refresh(s, coming)
            s.sums[PEAK] = s.sums[MASS]
            s.counts[PUSHES] = 0
        s.sums[RATE] = coming
