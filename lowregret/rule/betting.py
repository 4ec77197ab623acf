"""Coin betting: each coordinate bets a share of its wealth on the sign of the next sub-gradient. No learning rate.

Wealth that is large whatever the coins do means a small regret against every u (Orabona and Pál 2016): if the wealth
after T coins is at least F(Σc), then LinReg(u) ≤ initial wealth + sup_x (ux − F(x)).
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from lowregret.compile.numerics import exp
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.state import State, slot
from lowregret.types import Index, Vector, cell

STEEPEST = slot("steepest")  # max |z_t[j]|
EXCESS = slot("excess")  # Σ⟨w_t, z_t − ẑ_t⟩, where ẑ_t is the sub-gradient cut to what was known (FreeGrad)
LARGEST_BET = slot("largest_bet")  # max ‖z_t‖² over rounds whose bets are numbers

Sums = tuple[float, float, float, float]


class Betting(PerCoordinate):
    """The base of betting rules: running sums are ‖z_t‖², max |z_t[j]|, Σ⟨w_t, z_t − ẑ_t⟩ and max |w_t[j]|."""

    def open(self, s: State, inner: float, product: float, square: float, ridge: float) -> Sums:
        return 0.0, 0.0, 0.0, 0.0

    @abstractmethod
    def bet(self, s: State, at: Index, g: float, w: float) -> float:
        """Absorb g ≠ 0 into the cells at `at`, w being the weight played; returns how much of g was not believed."""

    def push(self, s: State, j: Index, g: float, round_sums: Sums) -> Sums:
        energy, steepest, excess, widest = round_sums
        if g == 0.0:
            return round_sums
        at, w = cell(j, self.width()), self.raw(s, j)
        s.table[at] -= g
        excess += self.bet(s, at, g, w) * w
        return energy + g * g, max(steepest, abs(g)), excess, max(widest, abs(w))

    def tells_widest(self) -> bool:
        return True

    def widest(self, round_sums: Sums) -> float:
        return round_sums[3]

    def fold(self, s: State, round_sums: Sums) -> None:
        s.sums[STEEPEST] = max(s.sums[STEEPEST], round_sums[1])
        s.sums[EXCESS] += round_sums[2]
        s.sums[LARGEST_BET] = max(s.sums[LARGEST_BET], round_sums[0])  # not a number if a bet was not


COINS, GAIN, COUNT = np.uint64(1), np.uint64(2), np.uint64(3)


class KT(Betting):
    """w = (ε + gain)·(Σc)/(n + 1), coins c = −z/L ∈ [−1, 1], n of them not 0, gain = Σcw: Krichevsky–Trofimov betting.

    LinReg(u) ≤ L·Σ_j(ε + F*(u)), F(x) = ε·2ⁿ·Γ((n+1+x)/2)·Γ((n+1−x)/2)/(π·n!), which is at most
    L·Σ_j(|u|√(n·ln(1 + 24n²u²/ε²)) + ε), if |z_t[j]| ≤ L throughout (Orabona and Pál 2016). A sub-gradient beyond L
    counts as L, and then only the linearised regret is certified.
    """

    clip: float = 1.0
    wealth: float = 1.0

    def check(self) -> None:
        self.require(0 < self.clip < math.inf, f"clip must be a positive number, got {self.clip}")
        self.require(0 < self.wealth < math.inf, f"wealth must be a positive number, got {self.wealth}")

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, COUNT] >= 0))

    def raw(self, s: State, j: Index) -> float:
        at = cell(j, 4)
        return (self.wealth + s.table[at + GAIN]) * s.table[at + COINS] / (s.table[at + COUNT] + 1.0)

    def bet(self, s: State, at: Index, g: float, w: float) -> float:
        coin = -min(max(g / self.clip, -1.0), 1.0)
        s.table[at + GAIN] += coin * w
        s.table[at + COINS] += coin
        s.table[at + COUNT] += 1.0
        return 0.0


TOTAL, SQUARES, HIGHEST, FIRST = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)


class FreeGrad(Betting):
    """w = ε·Φ'(G), Φ(G) = (h₁²/√V)·exp(G²/(2V + 2h|G|)), G = −Σẑ, V = h₁² + Σẑ², h = max|z|, h₁ the first |z| > 0.

    ẑ_t is z_t cut to the largest |z| before it. Since Φ(G − ẑ, V + ẑ², h) ≤ Φ(G, V, h) − ẑΦ'(G) for |ẑ| ≤ h and Φ
    falls as h grows, LinReg(u) ≤ Σ_j[εh₁ + sup_x(|u|x − εΦ(x)) + |u|(h − h₁)] + Σ⟨w_t, z_t − ẑ_t⟩, all observed; with
    V it grows like |u|√(V·ln(|u|V/(εh₁²))) (Mhammedi and Koolen 2020, cut as by Cutkosky 2019). Neither a rate nor a
    bound on the sub-gradients is needed, and w does not change if all sub-gradients of a coordinate are multiplied.
    """

    wealth: float = 1.0

    def check(self) -> None:
        self.require(0 < self.wealth < math.inf, f"wealth must be a positive number, got {self.wealth}")

    def width(self) -> int:
        return 5

    def accepts(self, cells: Vector) -> bool:
        squares, highest, first = cells[:, SQUARES], cells[:, HIGHEST], cells[:, FIRST]
        return bool(np.all((squares >= 0) & (first >= 0) & (first <= highest)))

    def raw(self, s: State, j: Index) -> float:
        at = cell(j, 5)
        first = s.table[at + FIRST]
        if first == 0.0:
            return 0.0
        # in units of h, which may exceed h₁ by far: nothing overflows, and what underflows is nearly 0
        h = s.table[at + HIGHEST]
        g, share, root = s.table[at + TOTAL] / h, first / h, math.sqrt(s.table[at + SQUARES]) / h
        far = root * root + abs(g)
        if far == 0.0 or root == 0.0:
            return 0.0
        lean = g * (root * root + far) / (2.0 * far * far)
        return self.wealth * lean * (share / root) * share * exp(0.5 * g * g / far)

    def bet(self, s: State, at: Index, g: float, w: float) -> float:
        size = abs(g)
        if s.table[at + FIRST] == 0.0:  # w is 0 whatever h₁ is, so it may be the present one
            s.table[at + FIRST] = s.table[at + HIGHEST] = size
            s.table[at + SQUARES] = size * size
        believed = min(max(g, -s.table[at + HIGHEST]), s.table[at + HIGHEST])
        s.table[at + TOTAL] -= believed
        s.table[at + SQUARES] += believed * believed
        s.table[at + HIGHEST] = max(s.table[at + HIGHEST], size)
        return g - believed


BOUND, TRAVELLED, REWARD = np.uint64(1), np.uint64(2), np.uint64(3)


class COCOB(Betting):
    """w = (h + reward)·θ/(h·max(A + h, αh)), h = max|z|, A = Σ|z|, reward = [reward − zw]₊: COCOB-Backprop.

    Orabona and Tommasi 2017, their Algorithm 2. Where α and the cut of the reward come in, no theorem holds: only the
    linearised regret is certified, which needs none. For a theorem take `FreeGrad`, which needs no more to be known.
    """

    alpha: float = 100.0

    def check(self) -> None:
        self.require(0 < self.alpha < math.inf, f"alpha must be a positive number, got {self.alpha}")

    def accepts(self, cells: Vector) -> bool:
        return bool(np.all(cells[:, [BOUND, TRAVELLED, REWARD]] >= 0))

    def raw(self, s: State, j: Index) -> float:
        at = cell(j, 4)
        h = s.table[at + BOUND]
        if h == 0.0:
            return 0.0
        share = s.table[at] / h / max(s.table[at + TRAVELLED] / h + 1.0, self.alpha)  # h² may be no number
        return share * (1.0 + s.table[at + REWARD] / h)

    def bet(self, s: State, at: Index, g: float, w: float) -> float:
        s.table[at + BOUND] = max(s.table[at + BOUND], abs(g))
        s.table[at + TRAVELLED] += abs(g)
        s.table[at + REWARD] = max(s.table[at + REWARD] - g * w, 0.0)
        return 0.0
