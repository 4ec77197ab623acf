"""Projected gradient descent: keep the iterate itself, as a scalar times a vector."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.compile.numerics import FAINT
from lowregret.compile.part import Part
from lowregret.domain import Domain
from lowregret.domain.base import constant_vector
from lowregret.rule.base import Rule
from lowregret.state import (
    DIMENSION,
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    LONGEST,
    LOSS,
    MASS,
    PEAK,
    PUSHES,
    RIDGE,
    ROUNDS,
    STEPPED,
    State,
    slot,
    worn,
)
from lowregret.step import Step
from lowregret.types import Index, Vector, cell

FACTOR = slot("factor")  # w = FACTOR · v
WON = slot("won")  # Σ of the steps' gains, for schedules that look at the loss
LOST = slot("lost")  # Σ ℓ_t², likewise

SMALL = 1e-90  # below this the scalar a is multiplied into v


Sums = tuple[float, float, float, float, float]


class Gradients(Part):
    """Whether the sum of sub-gradients, which the linearised regret needs, is kept beside the iterate."""

    @abstractmethod
    def kept(self) -> bool: ...


class Summed(Gradients):
    """Keep Σz_t."""

    def kept(self) -> bool:
        return True


class Forgotten(Gradients):
    """Do without: about a fifth faster, and no certificate but the theorem's bound."""

    def kept(self) -> bool:
        return False


class ProjectedGradient(Rule):
    """w_{t+1} = Π_S(w_t − η_t z_t), w_1 any point of S, by default Π_S(0) (ALG-OGD-EAGER).

    `start` is w_1: where one has reason to begin, such as `run.weights` of another run (a warm start). Theorems then
    speak of the distance from there, ‖w_1 − u‖.

    w = a·v with a scalar a, so that projecting on a ball and shrinking by L2 regularisation cost O(1) and a round
    O(nnz); boxes are clipped where touched. Other sets cost O(d) per round.
    """

    domain: Domain
    step: Step
    gradients: Gradients = Summed()
    start: Any = None

    def check(self) -> None:
        self.require(isinstance(self.step, Step), f"step must be a Step such as Constant(0.1), got {self.step!r}")
        self.require(
            isinstance(self.domain, Domain), f"domain must be a Domain such as L2Ball(1.0), got {self.domain!r}"
        )
        self.require(
            isinstance(self.gradients, Gradients), f"gradients must be Summed() or Forgotten(), got {self.gradients!r}"
        )
        self.require(
            self.domain.playable, f"{self.domain} is a set of comparators, not one to play in: use L2Ball or Box"
        )
        self.require(
            not self.domain.radial() or self.domain.shrink(FAINT) == 1.0,
            f"{self.domain} is too small for squares of lengths: choose units in which it is larger than {FAINT:g}",
        )
        if self.start is not None:
            start = constant_vector(self, "start", self.start)
            object.__setattr__(self, "start", start)
            self.require(
                self.domain.contains(start),
                f"start must lie in the {self.domain.name}, as its projection, domain.projection(start), does",
            )

    def fits(self, d: int) -> None:
        self.domain.fits(d)
        self.require(
            self.start is None or self.start.size == d,
            f"start has {np.size(self.start)} coordinates, the learner has {d}: they must be as many, known beforehand",
        )

    def first(self, d: int) -> Vector:
        return super().first(d) if self.start is None else np.array(self.start)

    def width(self) -> int:
        return 2 if self.gradients.kept() else 1

    def keeps_sum(self) -> bool:
        return self.gradients.kept()

    def at(self, j: Index) -> Index:
        """Where coordinate j of v is in the table: after θ, if that is kept."""
        return cell(j, self.width()) + np.uint64(self.width() - 1)

    def schedule(self) -> Step:
        return self.step

    def costs_dimension(self) -> bool:
        return self.domain.whole()

    def needs_loss(self) -> bool:
        return self.step.needs_loss()

    def begin(self, s: State) -> None:
        w = self.first(s.dimension)
        s.table[self.width() - 1 :: self.width()] = w
        s.sums[FACTOR] = 1.0
        s.sums[MASS] = s.sums[PEAK] = np.sum(w * w)  # not BLAS, whose threads would go on spinning

    def scale(self, s: State) -> float:
        return s.sums[FACTOR]

    def raw(self, s: State, j: Index) -> float:
        return s.table[self.at(j)]

    def square_length(self, s: State) -> float:
        return s.sums[FACTOR] * s.sums[FACTOR] * s.sums[MASS]

    def tells_widest(self) -> bool:
        return True

    def fades(self, s: State, floor: float, square: float) -> bool:
        if not self.domain.radial() or square >= floor * floor:
            return False
        if self.step.needs_loss():  # which is not known yet: 1/‖z‖² may be any rate
            return square > 0.0 and self.domain.shrink(math.inf) < 1.0
        return self.domain.shrink(self.step.rate(s, square) * floor) < 1.0

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """Take the step −η_t λ w_t. Returns (change of ‖v‖², ‖g_t + λw_t‖², η_t, η_t/a, c_t).

        Where coordinates move freely, ‖v − δg‖² = ‖v‖² − 2δ⟨v,g⟩ + δ²‖g‖², δ = η_t/a, is known now.
        """
        length = self.square_length(s)
        s.sums[LONGEST] = max(s.sums[LONGEST], length)
        tilt = ridge * (2.0 * inner + ridge * length)
        energy = max(square + tilt, 0.0)
        eta = self.step.rate(s, energy)
        importance = self.step.importance(s)
        if ridge != 0.0:
            s.sums[RIDGE] += importance * length
            s.sums[FACTOR] *= 1.0 - eta * ridge
            if abs(s.sums[FACTOR]) < SMALL:
                product *= s.sums[FACTOR]
                self.rescale(s)
        stride = eta / s.sums[FACTOR]
        change = stride * (stride * square - 2.0 * product) if self.domain.radial() else 0.0
        return change, energy, eta, stride, importance

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        change, energy, eta, stride, importance = round_sums
        if self.gradients.kept():
            s.table[cell(j, 2)] -= importance * g
        at = self.at(j)
        old = s.table[at]
        new = self.domain.clip(j, old - stride * g)
        s.table[at] = new
        if not self.domain.radial():
            change += (new - old) * (new + old)
        return change, energy, eta, stride, importance

    def idle(self, s: State) -> None:
        s.counts[ROUNDS] += 1

    def settle(self, s: State, inner: float, entries: int, round_sums: Sums) -> None:
        change, energy, eta, _, importance = round_sums
        if energy > 0.0:
            if s.sums[FIRST_RATE] == 0.0:
                s.sums[FIRST_RATE] = eta
            s.sums[LAST_RATE] = eta
        if self.step.needs_loss():
            s.sums[WON] += self.step.gain(eta, s.sums[LOSS], energy)
            s.sums[LOST] += s.sums[LOSS] * s.sums[LOSS]
        s.sums[LINEAR] += importance * inner
        s.sums[ENERGY] += energy
        s.sums[STEPPED] += eta * energy
        s.sums[LARGEST] = max(s.sums[LARGEST], energy)
        s.counts[ROUNDS] += 1
        s.counts[PUSHES] += entries
        s.sums[MASS] = max(s.sums[MASS] + change, 0.0)
        if self.domain.whole():
            self.book_all(s)
            self.domain.project(s.table[self.width() - 1 :: self.width()])
            self.measure(s)
        elif entries > 0 and worn(s):
            self.measure(s)
        s.sums[FACTOR] *= self.domain.shrink(abs(s.sums[FACTOR]) * math.sqrt(s.sums[MASS]))
        if abs(s.sums[FACTOR]) < SMALL:
            self.rescale(s)

    def rescale(self, s: State) -> None:
        """v ← a·v, a ← 1: when a is (nearly) 0, as in the first round of η_t = 1/(λt)."""
        self.book_all(s)
        overflowed = not s.sums[MASS] < math.inf
        factor = math.nan if overflowed else s.sums[FACTOR]  # the next score shows it
        for j in range(s.counts[DIMENSION]):
            s.table[self.at(j)] *= factor
        s.sums[FACTOR] = 1.0
        self.measure(s)

    def measure(self, s: State) -> None:
        """‖v‖² afresh: O(d)."""
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            v = s.table[self.at(j)]
            mass += v * v
        s.sums[MASS] = s.sums[PEAK] = mass
        s.counts[PUSHES] = 0
