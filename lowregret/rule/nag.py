"""Normalised adaptive gradient: features may come in any units, and each in its own."""

from __future__ import annotations

import math

import numpy as np

from lowregret.compile.numerics import FAINT
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import SLOPE, WEIGHT, State, slot
from lowregret.types import Index, Vector, cell

SQUARES, LARGEST_SEEN = np.uint64(2), np.uint64(3)  # Σz², max |x|

TURNS = slot("turns")  # rounds with a sub-gradient
CONTENT = slot("content")  # N = Σ_tΣ_j x²/(max |x|)²

Sums = tuple[float, float, float]


class NAG(PerCoordinate):
    """w ← w − η√(t/N)·z/(s√Σz²), s = max |x|, N = Σ_tΣ_j(x/s)²; when s grows to s', w ← w·s/s' first: NAG.

    Ross, Mineiro and Langford 2013; t and N count the rounds with a sub-gradient whose slope has a square, and s is
    that of the rounds before when the row is scored. Scores do not change if a feature is multiplied by a number, to
    the last bit if that is a power of two. No theorem here bounds the regret in advance: the linearised regret is
    certified. O(nnz) per row.
    """

    eta: float = 0.5

    def check(self) -> None:
        self.require(0 < self.eta < math.inf, f"eta must be a positive number, got {self.eta}")

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, [SQUARES, LARGEST_SEEN]] >= 0))

    def weighs(self) -> bool:
        return True

    def metric(self, s: State, j: Index, x: float) -> float:
        size = max(s.table[cell(j, 4) + LARGEST_SEEN], abs(x))
        weight = 1.0 / size / size if size > 0.0 else 0.0
        return weight if weight < math.inf else 0.0  # where squares are 0, features do not count

    def needs_loss(self) -> bool:
        return True

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(‖z_t‖², η√(t/N), max |w_t|); `square` is slope²·Σ(x/s)²."""
        steep = s.sums[SLOPE] * s.sums[SLOPE]
        if steep < FAINT * FAINT:  # whose digits are lost
            return 0.0, 0.0, 0.0
        s.sums[TURNS] += 1.0
        s.sums[CONTENT] += square / steep
        content = s.sums[CONTENT]
        return 0.0, self.eta * math.sqrt(s.sums[TURNS] / content) if content > 0.0 else 0.0, 0.0

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        energy, rate, widest = round_sums
        if g == 0.0:
            return round_sums
        at = cell(j, 4)
        s.table[at] -= g
        w, largest, size = s.table[at + WEIGHT], s.table[at + LARGEST_SEEN], abs(g / s.sums[SLOPE])
        widest = max(widest, abs(w))
        if size > largest:
            w *= largest / size
            largest = size
        squares = s.table[at + SQUARES] + g * g
        s.table[at + SQUARES], s.table[at + LARGEST_SEEN] = squares, largest
        if squares > 0.0:
            w -= rate * g / (largest * math.sqrt(squares))
        s.table[at + WEIGHT] = w
        return energy + g * g, rate, widest

    def tells_widest(self) -> bool:
        return True

    def widest(self, round_sums: Sums) -> float:
        return round_sums[2]

    def fold(self, s: State, round_sums: Sums) -> None:
        """All is booked already."""
