"""The online Newton step: curvature in all directions, for few coordinates."""

from __future__ import annotations

import math

import numpy as np

from lowregret.rule.base import WIDEST
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import DIMENSION, GIVEN, PUSHES, SLOPE, State, slot
from lowregret.types import Index, Vector, cell

MOST = 600  # coordinates: a round costs their square
RENEWAL = 1000  # rounds after which the inverse is computed afresh, or as many as there are coordinates

# table[…]: θ, w, z_t (0 between rounds), Σ⟨w_t,z_t⟩z_t, the heaviest row's weight (of coordinate 0 only), then rows of
# A − εI and of A⁻¹, and room in which coordinate 0 keeps A⁻¹z_t in one piece
WEIGHT, GRADIENT, PULL, HEAVIEST, MATRIX = range(1, 6)

DETERMINED = slot("determined")  # Σ z_t'A_t⁻¹z_t
SQUARED = slot("squared")  # Σ⟨w_t,z_t⟩²
STEEPEST_LOSS = slot("steepest_loss")  # max c_t·ℓ_t'², c_t the row's weight
FARTHEST = slot("farthest")  # max of ⟨w_t,x_t⟩ in the direction in which the loss grows
BROADEST = slot("broadest")  # max ‖x_t‖²

Sums = tuple[float, float]


class Newton(PerCoordinate):
    """w_{t+1} = w_t − A_t⁻¹z_t/γ, A_t = εI + Σ_{s≤t} z_s z_s': the online Newton step on R^d (Hazan et al. 2007).

    A⁻¹ follows by rank-one updates (Sherman and Morrison), and is computed afresh now and then: O(d²) per round, so up
    to 600 coordinates. For every u, Σ⟨z_t, w_t − u⟩ ≤ (γε/2)‖u‖² + (γ/2)Σ⟨z_t, w_t − u⟩² + (1/2γ)Σz_t'A_t⁻¹z_t. If
    f_t(u) ≥ f_t(w_t) + ⟨z_t, u − w_t⟩ + (γ/2)⟨z_t, u − w_t⟩², the middle term pays for itself, and the regret is at
    most (γε/2)‖u‖² + (1/2γ)Σz_t'A_t⁻¹z_t, which grows like ln T.
    """

    gamma: float = 1.0
    epsilon: float = 1.0

    def check(self) -> None:
        self.require(0 < self.gamma < math.inf, f"gamma must be a positive number, got {self.gamma}")
        self.require(0 < self.epsilon < math.inf, f"epsilon must be a positive number, got {self.epsilon}")

    def fits(self, d: int) -> None:
        self.require(
            d <= MOST,
            f"a round costs O(d²), too slow for {d} coordinates (at most {MOST}): use the diagonal, "
            "DiagonalNewton(...), called newton-diagonal",
        )

    def columns(self, d: int) -> int:
        return MATRIX + 3 * d

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, HEAVIEST] >= 0))

    def costs_dimension(self) -> bool:
        return True

    def needs_weight(self) -> bool:
        return True

    def begin(self, s: State) -> None:
        d = s.dimension
        s.table.reshape(d, -1)[:, MATRIX + d : MATRIX + 2 * d] = np.eye(d) / self.epsilon

    def place(self, s: State, j: Index, column: int) -> Index:
        """Where a number of coordinate j is in the table."""
        return cell(j, MATRIX + 3 * s.counts[DIMENSION]) + np.uint64(column)

    def raw(self, s: State, j: Index) -> float:
        return s.table[self.place(s, j, WEIGHT)]

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(‖z_t‖², ⟨w_t,z_t⟩)"""
        given, steepness, heaviest = s.sums[GIVEN], s.sums[SLOPE] * s.sums[SLOPE], self.place(s, 0, HEAVIEST)
        s.table[heaviest] = max(s.table[heaviest], given)
        s.sums[STEEPEST_LOSS] = max(s.sums[STEEPEST_LOSS], steepness / given)
        s.sums[FARTHEST] = max(s.sums[FARTHEST], inner / math.sqrt(steepness))
        s.sums[BROADEST] = max(s.sums[BROADEST], square / steepness)
        s.sums[SQUARED] += inner * inner
        return square, inner

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        s.table[self.place(s, j, 0)] -= g
        s.table[self.place(s, j, GRADIENT)] += g
        s.table[self.place(s, j, PULL)] += round_sums[1] * g
        return round_sums

    def tells_widest(self) -> bool:
        return True

    def fold(self, s: State, round_sums: Sums) -> None:
        if round_sums[0] == 0.0:
            return
        d = s.counts[DIMENSION]
        step = self.place(s, 0, MATRIX + 2 * d)
        self.book_all(s)
        curvature = self.turn(s, d, step)
        s.sums[DETERMINED] += curvature / (1.0 + curvature)
        for j in range(d):
            at = self.place(s, j, WEIGHT)
            s.sums[WIDEST] = max(s.sums[WIDEST], abs(s.table[at]))
            s.table[at] -= s.table[step + np.uint64(j)] / (self.gamma * (1.0 + curvature))
        self.widen(s, d, step, 1.0 / (1.0 + curvature))
        s.counts[PUSHES] += 1
        if s.counts[PUSHES] >= max(RENEWAL, d):
            self.invert(s, d)
            s.counts[PUSHES] = 0

    def turn(self, s: State, d: int, step: Index) -> float:
        """A⁻¹z, written to `step`; returns z'A⁻¹z: O(d·nnz), A being symmetric."""
        for j in range(d):
            s.table[step + np.uint64(j)] = 0.0
        for k in range(d):
            g, row = s.table[self.place(s, k, GRADIENT)], self.place(s, k, MATRIX + d)
            if g != 0.0:
                for j in range(d):
                    s.table[step + np.uint64(j)] += g * s.table[row + np.uint64(j)]
        curvature = 0.0
        for j in range(d):
            curvature += s.table[step + np.uint64(j)] * s.table[self.place(s, j, GRADIENT)]
        return curvature

    def widen(self, s: State, d: int, step: Index, share: float) -> None:
        """A ← A + zz', A⁻¹ ← A⁻¹ − (A⁻¹z)(A⁻¹z)'·share, share = 1/(1 + z'A⁻¹z), z ← 0"""
        for j in range(d):
            row, g = self.place(s, j, MATRIX), s.table[self.place(s, j, GRADIENT)]
            if g != 0.0:
                for k in range(d):
                    s.table[row + np.uint64(k)] += g * s.table[self.place(s, k, GRADIENT)]
        for j in range(d):
            row, move = self.place(s, j, MATRIX + d), share * s.table[step + np.uint64(j)]
            for k in range(d):
                s.table[row + np.uint64(k)] -= move * s.table[step + np.uint64(k)]
            s.table[self.place(s, j, GRADIENT)] = 0.0

    def invert(self, s: State, d: int) -> None:
        """A⁻¹ afresh from A by Gauss–Jordan elimination, which needs no pivots as A is positive definite: O(d³)."""
        for j in range(d):
            row = self.place(s, j, MATRIX)
            for k in range(d):
                s.table[row + np.uint64(d + k)] = s.table[row + np.uint64(k)] + (self.epsilon if j == k else 0.0)
        for p in range(d):
            lead = self.place(s, p, MATRIX + d)
            pivot = 1.0 / s.table[lead + np.uint64(p)]
            s.table[lead + np.uint64(p)] = 1.0
            for k in range(d):
                s.table[lead + np.uint64(k)] *= pivot
            for j in range(d):
                if j != p:
                    self.clear(s, d, self.place(s, j, MATRIX + d), lead, p)

    def clear(self, s: State, d: int, row: Index, lead: Index, p: int) -> None:
        """One row of an elimination."""
        factor = s.table[row + np.uint64(p)]
        s.table[row + np.uint64(p)] = 0.0
        for k in range(d):
            s.table[row + np.uint64(k)] -= factor * s.table[lead + np.uint64(k)]
