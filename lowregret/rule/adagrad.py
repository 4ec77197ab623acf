"""AdaGrad and its kin: each coordinate has a precision P_t[j] that grows with the sub-gradients it has seen.

    S_t = S_{t−1} + z_t²,   P_t = P(S_t)              per coordinate; AdaGrad: P = √S/η, diagonal Newton: P = γ(ε + S)

The bounds of the rules below are ½Σ_t(P_t − P_{t−1})(w_t − u)² + ½Σ_t z_t²/P_t and a penalty of u, summed over the
coordinates: a parabola in each u[j], of which two numbers per coordinate tell all (see certificate/coordinates.py).
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from lowregret.domain import Domain, Reals, Separable
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import WEIGHT, State, slot
from lowregret.types import Cells, Index, Vector, cell

SQUARES = np.uint64(2)  # Σz²
PULL = np.uint64(3)  # Σ(P_t − P_{t−1})·w_t

CURVED = slot("curved")  # Σ_tΣ_j z_t²/P_t
PULLED = slot("pulled")  # Σ_tΣ_j (P_t − P_{t−1})·w_t²
GROWN = slot("grown")  # Σ_j (P_T − P_0)

Sums = tuple[float, float, float, float, float]


class Metric(PerCoordinate):
    """A rule with a precision P(S) ≥ 0 for each coordinate, growing with S: the books that its bounds need."""

    @abstractmethod
    def precision(self, squares: float) -> float:
        """P(S)"""

    def precisions(self, squares: Vector) -> Vector:
        """P(S) of each of many S."""
        return np.array([self.precision(square) for square in squares])

    @abstractmethod
    def moved(self, j: Index, w: float, g: float, total: float, precision: float) -> float:
        """w_{t+1}[j] from w_t[j] and z_t[j]; `total` is Σ(P_s − P_{s−1})w_s − Σz_s."""

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, SQUARES] >= 0))

    def firmness(self) -> float:
        """The number that is added to all precisions."""
        return 0.0

    def parted(self) -> bool:
        return True

    def changes(self, before: Vector, after: Vector) -> Vector:
        """−Σz, Σz², and by how much the worker's iterates, weighed as P grew, lay beyond the one it began with."""
        theta, squares = after[:, 0] - before[:, 0], after[:, 2] - before[:, 2]
        grown = self.precisions(after[:, 2]) - self.precisions(before[:, 2])
        pulled = after[:, 3] - before[:, 3]
        lead = np.divide(pulled, grown, out=before[:, 1].copy(), where=grown > 0) - before[:, 1]
        return np.stack([theta, squares, lead], axis=1)

    def join(self, s: State, j: Index, change: Cells, at: Index, share: float) -> None:
        """S ← S + Σz², and a share of one step of −Σz, iterates on its way as far beyond w as beyond the worker's.

        P is that of all who learnt meanwhile. If nobody did, this is where the worker arrived. Steps that were taken at
        once are averaged, not added: where all rows have a feature, their sum would lead as many times too far.
        """
        theta, squares, lead = change[at], change[at + np.uint64(1)], change[at + np.uint64(2)]
        to = cell(j, 4)
        s.table[to] += theta
        if squares <= 0.0:
            return
        w, seen = s.table[to + WEIGHT], s.table[to + SQUARES]
        precision = self.precision(seen + squares)
        gain = precision - self.precision(seen)
        step = share * (-theta - gain * lead)
        s.table[to + SQUARES] = seen + squares
        s.table[to + PULL] += gain * w - step - theta  # so that θ + PULL moves by the share alone
        s.table[to + WEIGHT] = self.moved(j, w, step, s.table[to] + s.table[to + PULL], precision)

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        """(‖z_t‖², Σz²/P, Σ(P_t − P_{t−1})w², Σ(P_t − P_{t−1}), max |w|)"""
        return 0.0, 0.0, 0.0, 0.0, 0.0

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        energy, curved, pulled, grown, widest = round_sums
        at = cell(j, 4)
        s.table[at] -= g
        square = g * g
        if square == 0.0:
            return round_sums
        w, seen = s.table[at + WEIGHT], s.table[at + SQUARES]
        precision = self.precision(seen + square)
        gain = precision - self.precision(seen)
        s.table[at + SQUARES] = seen + square
        s.table[at + PULL] += gain * w
        s.table[at + WEIGHT] = self.moved(j, w, g, s.table[at] + s.table[at + PULL], precision)
        return (
            energy + square,
            curved + square / (precision + self.firmness()),
            pulled + gain * w * w,
            grown + gain,
            max(widest, abs(w)),
        )

    def tells_widest(self) -> bool:
        return True

    def widest(self, round_sums: Sums) -> float:
        return round_sums[4]

    def fold(self, s: State, round_sums: Sums) -> None:
        _, curved, pulled, grown, _ = round_sums
        s.sums[CURVED] += curved
        s.sums[PULLED] += pulled
        s.sums[GROWN] += grown


class Diagonal(Metric):
    """w_{t+1} = Π_S(w_t − z_t/P_t), per coordinate, on R^d or a box.

    ½Σ(P_t − P_{t−1})(w_t − u)² + ½P_0(w_1 − u)² + ½Σz_t²/P_t bounds the regret, since ‖w_{t+1} − u‖²_{P_t} is at most
    ‖w_t − u‖²_{P_t} − 2⟨z_t, w_t − u⟩ + ‖z_t‖²_{1/P_t}, on R^d exactly. O(nnz) per row.
    """

    def check(self) -> None:
        self.require(
            isinstance(self.domain, Separable | Reals),
            f"each coordinate moves on its own, which Reals(), Box and Orthant allow, not {self.domain!r}",
        )

    def fits(self, d: int) -> None:
        self.domain.fits(d)

    def begin(self, s: State) -> None:
        s.table[1::4] = self.domain.projection(np.zeros(s.dimension))

    def moved(self, j: Index, w: float, g: float, total: float, precision: float) -> float:
        return self.domain.clip(j, w - g / precision)


class AdaGrad(Diagonal):
    """P = (β + √S)/η: w ← Π(w − ηz/(β + √Σz²)), each coordinate with a rate of its own (Duchi, Hazan and Singer 2011).

    With β = 0 rates halve as costs double: the iterates do not change if all sub-gradients of a coordinate are
    multiplied by a number. O(nnz) per row.
    """

    eta: float = 1.0
    domain: Domain = Reals()
    beta: float = 0.0

    def check(self) -> None:
        super().check()
        self.require(0 < self.eta < math.inf, f"eta must be a positive number, got {self.eta}")
        self.require(0 <= self.beta < math.inf, f"beta must be ≥ 0, got {self.beta}")

    def precision(self, squares: float) -> float:
        return (self.beta + math.sqrt(squares)) / self.eta

    def precisions(self, squares: Vector) -> Vector:
        return (self.beta + np.sqrt(squares)) / self.eta


class DiagonalNewton(Diagonal):
    """P = γ(ε + S): w ← Π(w − z/(γ(ε + Σz²))), the online Newton step on the diagonal. O(nnz) per row."""

    gamma: float = 1.0
    epsilon: float = 1.0
    domain: Domain = Reals()

    def check(self) -> None:
        super().check()
        self.require(0 < self.gamma < math.inf, f"gamma must be a positive number, got {self.gamma}")
        self.require(0 < self.epsilon < math.inf, f"epsilon must be a positive number, got {self.epsilon}")

    def precision(self, squares: float) -> float:
        return self.gamma * (self.epsilon + squares)

    def precisions(self, squares: Vector) -> Vector:
        return self.gamma * (self.epsilon + squares)
