"""AROW: a confidence for each weight, and steps as long as the row's loss asks, in the metric of the confidences."""

from __future__ import annotations

import math

import numpy as np

from lowregret.rule.adagrad import GROWN, PULL, SQUARES
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import LOSS, WEIGHT, State, slot
from lowregret.types import Index, Vector, cell

JUDGED = slot("judged")  # Σ ℓ_t²/(v_t + r)
PULLED_NEXT = slot("pulled_next")  # Σ_tΣ_j (A_t − A_{t−1})·w_{t+1}²
UNSUREST = slot("unsurest")  # max v_t

Sums = tuple[float, float, float, float, float, float, float]


class AROW(PerCoordinate):
    """w ← w − δA⁻¹z_t, δ = ℓ_t/(v_t + r), v_t = z_t'A⁻¹z_t, A = A_{t−1}; then A_t = A + diag(z_t²)/r; A_0 = I.

    Adaptive regularisation of weights with a diagonal A (Crammer, Kulesza and Dredze 2009), written for any loss; for
    the hinge z_t = −y_t x_t. w_{t+1} minimises ½‖w − w_t‖² + h_t(w)²/(2r) in the norm of A_{t−1}, h_t the positive part
    of the loss's tangent; this is A_{t−1}-strongly convex, so that for every u
    Σℓ_t²/(v_t + r) ≤ ‖u‖² + Σ_t‖u − w_{t+1}‖²_{A_t − A_{t−1}} + (1/r)Σℓ_t(u)². O(nnz) per row.
    """

    r: float = 1.0

    def check(self) -> None:
        self.require(0 < self.r < math.inf, f"r must be a positive number, got {self.r}")

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, SQUARES] >= 0))

    def weighs(self) -> bool:
        return True

    def metric(self, s: State, j: Index, x: float) -> float:
        return self.r / (self.r + s.table[cell(j, 4) + SQUARES])

    def needs_loss(self) -> bool:
        return True

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(‖z_t‖², δ_t, Σ(A_t − A_{t−1})w_{t+1}², Σ(A_t − A_{t−1}), v_t = `square`, ℓ_t²/(v_t + r), max |w_t|)"""
        loss = max(s.sums[LOSS], 0.0)
        return 0.0, loss / (square + self.r), 0.0, 0.0, square, loss * loss / (square + self.r), 0.0

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        energy, delta, pulled, grown, spread, judged, widest = round_sums
        if g == 0.0:
            return round_sums
        at = cell(j, 4)
        s.table[at] -= g
        seen, before = s.table[at + SQUARES], s.table[at + WEIGHT]
        w = before - delta * g * self.r / (self.r + seen)
        gain = g * g / self.r
        s.table[at + WEIGHT] = w
        s.table[at + SQUARES] = seen + g * g
        s.table[at + PULL] += gain * w
        widest = max(widest, abs(before))
        return energy + g * g, delta, pulled + gain * w * w, grown + gain, spread, judged, widest

    def tells_widest(self) -> bool:
        return True

    def widest(self, round_sums: Sums) -> float:
        return round_sums[6]

    def fold(self, s: State, round_sums: Sums) -> None:
        _, _, pulled, grown, spread, judged, _ = round_sums
        s.sums[JUDGED] += judged
        s.sums[PULLED_NEXT] += pulled
        s.sums[GROWN] += grown
        s.sums[UNSUREST] = max(s.sums[UNSUREST], spread)
