"""Bernstein online aggregation: exponential weights at second order, with a rate of its own for each expert."""

from __future__ import annotations

import math

from lowregret.experts.aggregator import Aggregator, weigh_at_first
from lowregret.experts.state import ENERGY, LARGEST, Book


class BOA(Aggregator):
    """w[i] ∝ π[i]·η[i]·e^{η[i]S[i]}, S = Σ(r̂ − ηr̂²), η[i] = √(λ[i]/(V[i] + 4λ[i]B²)): Bernstein online aggregation

    λ = max(ln 1/π, 1), B_t = max |r| so far, r̂_t = r_t·B_{t−1}/B_t, V = Σr̂². So |ηr̂| ≤ ½, where e^{z−z²} ≤ 1 + z, and
    Φ = Σ πe^{ηS} grows in no round, for Σ πηe^{ηS}r̂ ∝ Σ wr̂ ≤ 0; when a rate falls to its α-fold, Φ grows by at most
    π·sup_z(z^α − z) = π(1 − α)α^{α/(1−α)}. With E the sum of these, π[k]e^{η[k]S[k]} ≤ Φ ≤ 1 + E. As Σηr̂² ≤ 2√(λV), and
    r − r̂ sums to B at most,

        R[k] ≤ B + (ln 1/π[k] + ln(1 + E))/η[k] + 2√(λ[k]V[k]).

    (Wintenberger, "Optimal learning with Bernstein online aggregation", Machine Learning 106, 2017; rounds made smaller
    as in Mhammedi, Koolen, van Erven, "Lipschitz adaptivity with multiple learning rates", COLT 2019.) After a round in
    which an expert lost all, which is out of proportion to r̂, Φ is counted afresh.
    """

    def squares(self) -> bool:
        return True

    def weigh(self, s: Book) -> None:
        if weigh_at_first(s):
            return
        highest = -math.inf
        for i in range(s.mass.size):
            known = s.mass[i] > 0.0 and s.prior[i] > 0.0 and s.regret[i] > -math.inf
            s.mass[i] = math.log(s.prior[i] * s.rate[i]) + s.rate[i] * s.regret[i] if known else -math.inf
            highest = max(highest, s.mass[i])
        for i in range(s.mass.size):
            s.mass[i] = math.exp(s.mass[i] - highest) if s.mass[i] > -math.inf else 0.0

    def absorb(self, s: Book) -> None:
        before, ruined = s.sums[LARGEST], False
        for i in range(s.mass.size):
            if s.instant[i] == -math.inf:
                s.regret[i], ruined = -math.inf, True
            else:
                s.sums[LARGEST] = max(s.sums[LARGEST], abs(s.instant[i]))
        if s.sums[LARGEST] == 0.0:
            return
        shrink = before / s.sums[LARGEST]
        for i in range(s.mass.size):
            if s.instant[i] > -math.inf:
                r, old = shrink * s.instant[i], s.rate[i]
                s.regret[i] += r - old * r * r
                s.square[i] += r * r
                s.rate[i] = self.eta(s, i)
                s.sums[ENERGY] += s.prior[i] * growth(s.rate[i] / old) if old > 0.0 else 0.0
        if ruined:
            s.sums[ENERGY] = max(self.potential(s) - 1.0, 0.0)

    def eta(self, s: Book, i: int) -> float:
        """η[i] of the coming round."""
        price = max(-math.log(s.prior[i]), 1.0) if s.prior[i] > 0.0 else 1.0
        return math.sqrt(price / (s.square[i] + 4.0 * price * s.sums[LARGEST] * s.sums[LARGEST]))

    def potential(self, s: Book) -> float:
        """Φ"""
        total = 0.0
        for i in range(s.mass.size):
            total += s.prior[i] * math.exp(s.rate[i] * s.regret[i]) if s.regret[i] > -math.inf else 0.0
        return total


def growth(share: float) -> float:
    """sup_z (z^α − z) = (1 − α)α^{α/(1−α)} for α = `share` ≤ 1."""
    if share >= 1.0 or share <= 0.0:
        return max(1.0 - share, 0.0)
    return (1.0 - share) * math.exp(share / (1.0 - share) * math.log(share))
