"""What is proved about a mixture of experts, on observed numbers.

The losses of all experts are seen, so the regret is known exactly; the theorems say what it could have been at most.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.experts.aggregator import RATES, AdaHedge, Aggregator, FixedShare, Hedge, Polynomial, Squint
from lowregret.experts.book import BEFORE, ENERGY, GAPS, LARGEST, ROUNDS, SPREAD, Book
from lowregret.experts.forecast import BinaryLogScore, LogScore
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.loss import LogWealth, Loss, Square


def mixable_rate(loss: Loss, substitution: Substitution) -> float:
    """The largest η for which this loss is mixable by this substitution; 0 if none is known."""
    match substitution:
        case SquareOn():
            return substitution.eta() if isinstance(loss, Square) else 0.0
        case BrierSimplex():
            return 1.0 if isinstance(loss, Square) else 0.0
        case Mean():
            return 1.0 if isinstance(loss, LogScore | BinaryLogScore | LogWealth) else 0.0
    return 0.0


def bound_against(aggregator: Aggregator, mixable: bool, s: Book, k: int) -> tuple[str, str, float]:
    """ID, statement and value of the bound on R[k]."""
    surprise = -math.log(s.prior[k]) if s.prior[k] > 0 else math.inf
    match aggregator:
        case Hedge(eta) if mixable:
            return "MIX", "R[k] ≤ ln(1/π[k])/η, for η-mixable losses", surprise / eta
        case Hedge(eta):
            spread = eta / 8 * float(s.sums[SPREAD])
            return "THM-14.15", "R[k] ≤ ln(1/π[k])/η + (η/8)ΣM_t²", surprise / eta + spread
        case FixedShare(eta, share):
            rounds = max(int(s.counts[ROUNDS]) - 1, 0)
            stay = (surprise - rounds * math.log1p(-share)) / eta
            spread = 0.0 if mixable else eta / 8 * float(s.sums[SPREAD])
            return "SHARE", "R[k] ≤ (ln(1/π[k]) + (T−1)ln(1/(1−α)))/η + (η/8)ΣM_t²", stay + spread
        case AdaHedge():
            return "ADAHEDGE", "R[k] ≤ Δ_T + Δ_{T−1}", float(s.sums[GAPS] + s.sums[BEFORE])
        case Polynomial(memory) if memory == 1:
            rate = float(s.rate[k])
            value = math.sqrt(float(s.sums[ENERGY]) / rate) if rate > 0 else 0.0
            return "ML-POLY", "R[k] ≤ √(Σ_tΣ_i η_t[i]r_t[i]²/η_T[k])", value
        case Squint():
            return "SQUINT", "R[k] ≤ min_j (ln Φ + ln(1/(π[k]γ_j)))/η_j + η_jV[k]", _squint(s, k, surprise)
    return "EXACT", "no theorem speaks of this aggregator: the regret is what was measured", math.inf


def _squint(s: Book, k: int, surprise: float) -> float:
    if s.sums[LARGEST] == 0:
        return 0.0
    rates = 0.5 ** (np.arange(RATES) + 1) / s.sums[LARGEST]
    known = (s.prior > 0) & np.isfinite(s.regret)
    terms = np.outer(s.regret[known], rates) - np.outer(s.square[known], rates**2)
    terms += np.log(s.prior[known])[:, None] - math.log(RATES)
    highest = terms.max()
    potential = max(highest + math.log(np.exp(terms - highest).sum()), 0.0)
    return float(np.min((potential + surprise + math.log(RATES)) / rates + rates * s.square[k]))


def certificate(
    aggregator: Aggregator, substitution: Substitution, loss: Loss, s: Book, linearised: bool, premises: list[Premise]
) -> Certificate:
    """Against every expert, or if linearised every convex combination of experts.

    R[k] is the sum over the rounds in which expert k was awake.
    """
    regrets = s.linear if linearised else s.owed - s.losses
    k = int(np.argmax(regrets))
    rate = mixable_rate(loss, substitution)
    mixable = isinstance(aggregator, Hedge | FixedShare) and not linearised and aggregator.eta <= rate * (1 + 1e-12)
    name, statement, bound = bound_against(aggregator, mixable, s, k)
    comparator: dict[str, Any] = {"set": "simplex", "radius": 1.0} if linearised else {"set": "experts"}
    return Certificate(
        name,
        statement,
        comparator,
        float(s.linear[k]) if linearised else None,
        bound,
        tuple(premises),
        regret=float(np.max(s.owed - s.losses)),
    )
