"""Certificates of mixtures of experts, on observed numbers.

The losses of all experts are seen, so the regret is known exactly; the theorems say what it could have been at most.
"""

from __future__ import annotations

import math
from dataclasses import replace
from sys import float_info
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.numerics import EPSILON
from lowregret.experts.aggregator import RATES, AdaHedge, Aggregator, Descent, FixedShare, Hedge, MLPoly, Squint
from lowregret.experts.boa import BOA
from lowregret.experts.forecast import BinaryLogScore, LogScore
from lowregret.experts.scaled import ScaledHedge
from lowregret.experts.small_loss import SmallLoss, small_losses_of
from lowregret.experts.state import BEFORE, BLUR, ENERGY, GAPS, LARGEST, OWN, ROUNDS, SPREAD, Book, behind_each
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.loss import Cost, LogWealth, Loss, Square
from lowregret.loss.verify import PREMISE
from lowregret.types import Vector

COMBINATIONS = {"set": "simplex", "radius": 1.0, "exact": "experts"}  # of experts, of whom the best is known alone


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


def bound_against(aggregator: Aggregator, mixable: bool, s: Book, k: int, switches: int = 0) -> tuple[str, str, float]:
    """ID, statement and value of the bound on R[k]; for `FixedShare`, against every path of `switches` switches."""
    surprise = -math.log(s.prior[k]) if s.prior[k] > 0 else math.inf
    match aggregator:
        case Hedge(eta) if mixable:
            return "MIX", "R[k] ≤ ln(1/π[k])/η, for η-mixable losses", surprise / eta
        case Hedge(eta):
            statement = "R[k] ≤ Z_T/η − L[k] + (η/8)ΣM_t², Z_T/η = inf_p[⟨p, L⟩ + KL(p‖π)/η] = −ln(Σπe^{−ηL})/η"
            return "THM-14.15", statement, _behind_gibbs(s, k, eta) + eta / 8 * _squares(s, SPREAD)
        case FixedShare(eta, share):
            spread = 0.0 if mixable else eta / 8 * _squares(s, SPREAD)
            statement = "R ≤ (ln(1/π) + m ln(1/(απ)) + (T−1−m)ln(1/(1−α)))/η + (η/8)ΣM_t² for m switches"
            return "SHARE", statement, _path(s, share, switches, surprise) / eta + spread
        case AdaHedge():
            share = surprise / math.log(max(s.prior.size, 2))
            earlier = share * float(s.sums[BEFORE]) if s.prior[k] > 0 else math.inf
            return "ADAHEDGE", "R[k] ≤ Δ_T + Δ_{T−1}·ln(1/π[k])/ln N", float(s.sums[GAPS]) + earlier
        case MLPoly(memory) if memory == 1:
            rate = float(s.prior[k] * s.rate[k])
            value = math.sqrt(float(s.sums[ENERGY]) / rate) if rate > 0 else (0.0 if s.prior[k] > 0 else math.inf)
            return "ML-POLY", "R[k] ≤ √(Σ_tΣ_i π[i]η_t[i]r_t[i]²/(π[k]η_T[k]))", value
        case Squint():
            return "SQUINT", "R[k] ≤ min_j (ln Φ + ln(1/(π[k]γ_j)))/η_j + η_jV[k]", _squint(s, k, surprise)
        case BOA():
            statement = "R[k] ≤ B + (ln(1/π[k]) + ln(1 + E))/η[k] + 2√(λ[k]V[k])"
            return "BOA", statement, _boa(s, k, surprise)
        case ScaledHedge(rate):
            value = float(s.sums[GAPS] + s.sums[LARGEST] * surprise / rate) if s.prior[k] > 0 else math.inf
            return "GAPS", "R[k] ≤ Δ_T + B_T·ln(1/π[k])/c, η_t = c/B_{t−1}", value
        case Descent(eta):
            away = 1 - 2 * float(s.prior[k]) + float(s.prior @ s.prior)
            statement = "R[k] ≤ ‖e_k − π‖²/(2η) + (η/2)Σ‖r_t − r̄_t‖²"
            return "LAZY+", statement, away / (2 * eta) + eta / 2 * _squares(s, ENERGY)
    return "EXACT", "no theorem speaks of this aggregator: the regret is what was measured", math.inf


def _squares(s: Book, name: int) -> float:
    """A sum of squares, each of which may have lost as much as the least number that keeps all its digits."""
    return float(s.sums[name]) + int(s.counts[ROUNDS]) * (s.prior.size - 1) * float_info.min


def _behind_gibbs(s: Book, k: int, eta: float) -> float:
    """inf_p[KL(p‖π)/η − ⟨p, R⟩] + R[k] = −ln(Σ_i π[i]e^{η(R[i] − R[k])})/η, at most ln(1/π[k])/η."""
    known = (s.prior > 0) & np.isfinite(s.regret)
    with np.errstate(over="ignore"):
        behind, prior = eta * (s.regret[known] - s.regret[k]), s.prior[known] / float(np.sum(s.prior[known]))
    lost = float(prior @ np.expm1(np.minimum(behind, 0.0)))
    if lost > -0.5:  # near 0, where the logarithm of a rounded sum, divided by a small η, would be noise
        return -math.log1p(lost) / eta
    exponents = behind + np.log(prior)
    highest = float(exponents.max())
    return -(highest + math.log(float(np.sum(np.exp(exponents - highest))))) / eta


def _path(s: Book, share: float, switches: int, surprise: float) -> float:
    """ln of one over the prior weight of a path that begins with an expert of this surprise, the unlikeliest after."""
    stays = max(int(s.counts[ROUNDS]) - 1 - switches, 0)
    trusted = float(np.min(s.prior)) if switches else 1.0
    step = -math.log(share * trusted) if trusted > 0 else math.inf
    return surprise + switches * step - stays * math.log1p(-share)


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


def _boa(s: Book, k: int, surprise: float) -> float:
    largest, price = float(s.sums[LARGEST]), max(surprise, 1.0)
    if largest == 0 or surprise == math.inf:
        return 0.0 if surprise < math.inf else math.inf
    second = 2 * math.sqrt(price * float(s.square[k]))
    return largest + (surprise + math.log1p(float(s.sums[ENERGY]))) / float(s.rate[k]) + second


def is_mixable(aggregator: Aggregator, substitution: Substitution, loss: Loss, linearised: bool) -> bool:
    """Whether no round can cost exponential weights anything."""
    if linearised or not isinstance(aggregator, Hedge | FixedShare):
        return False
    return aggregator.eta <= mixable_rate(loss, substitution)


def path_bound(
    aggregator: Aggregator,
    substitution: Substitution,
    loss: Loss,
    s: Book,
    linearised: bool,
    switches: int,
    drift: float,
) -> float:
    """The bound on the regret to every sequence of experts with one switch or more; infinite but of `FixedShare`."""
    if not isinstance(aggregator, FixedShare):
        return math.inf
    mixable, least = is_mixable(aggregator, substitution, loss, linearised), int(np.argmin(s.prior))
    return bound_against(aggregator, mixable, s, least, switches)[2] + drift + rounding(s, substitution, drift)


def rounding(s: Book, substitution: Substitution, drift: float = 0.0) -> float:
    """By how much sums of rounded losses may be off: n·ε times the absolute values of what was added and subtracted.

    A mean of N forecasts x, whose weights are powers of e with exponents down to −746, is off by δ = 4(N + 256)ε·Σw|x|
    at most; as ℓ(p + δ) ≤ ℓ(p) + ℓ'(p + δ)δ, that costs |ℓ'|δ. Forecasts that are computed by logarithms are off by
    δ = 32(N + 16)ε times their range, which costs a square loss of L in all at most 2δ√(TL) + Tδ², by Cauchy and
    Schwarz, L being that of the forecasts which outcomes found: less by the drift than that of those given.
    """
    rounds, own, experts = int(s.counts[ROUNDS]), float(s.sums[OWN]) - drift, s.prior.size
    largest = float(np.max(s.added, where=np.isfinite(s.added), initial=0.0))
    delta = 32 * EPSILON * (experts + 16) * substitution.size()
    misplaced = 2 * delta * math.sqrt(rounds * max(own, 0.0)) + rounds * delta**2
    blurred = 4 * EPSILON * (experts + 256) * float(s.sums[BLUR])
    return 4 * EPSILON * (rounds + experts + 16) * largest + (misplaced if delta > 0 else blurred)


def certificates(
    aggregator: Aggregator,
    substitution: Substitution,
    loss: Loss,
    s: Book,
    linearised: bool,
    premises: list[Premise],
    drift: Vector | None = None,
) -> list[Certificate]:
    """Against every expert, or if linearised every convex combination of experts, the tightest first.

    R[k] is the sum over the rounds in which expert k was awake; drift[k] what late outcomes cost in these, if any did.
    """
    late = np.zeros(s.prior.size) if drift is None else drift[:-1]
    k = int(np.argmax(s.linear + late if linearised else behind_each(s)))
    off = rounding(s, substitution, 0.0 if drift is None else float(drift[-1]))
    main = _certificate(aggregator, substitution, loss, s, k, linearised, premises, off)
    found = [main] if main.id != "THM-14.15" else _of_hedge(aggregator, main, loss, s, k, linearised)
    regret = float(np.max(behind_each(s)))
    return [with_drift(c, float(late[k]), regret, bool(np.any(late))) for c in found]


def with_drift(c: Certificate, drift: float, regret: float, late: bool) -> Certificate:
    """A certificate of rounds in order of their outcomes, as one of the forecasts that were given: see `tell`."""
    if not late:
        return replace(c, regret=regret)
    return replace(
        c,
        id=f"{c.id}+DRIFT",
        statement=f"{c.statement} + Σ ℓ(p_t) − ℓ(q_t)",
        linear_regret=None if c.linear_regret is None else c.linear_regret + drift,
        bound=c.bound + drift,
        regret=regret,
        details=c.details | {"drift": drift},
    )


def _of_hedge(
    aggregator: Aggregator, main: Certificate, loss: Loss, s: Book, k: int, linearised: bool
) -> list[Certificate]:
    """THM-14.15 and what else is known of exponential weights, the tightest first."""
    assert isinstance(aggregator, Hedge)
    surprise = -math.log(s.prior[k]) if s.prior[k] > 0 else math.inf
    alone = surprise / aggregator.eta + aggregator.eta / 8 * _squares(s, SPREAD)
    found = [main, replace(main, id="THM-14.15 (single)", statement="R[k] ≤ ln(1/π[k])/η + (η/8)ΣM_t²", bound=alone)]
    if not linearised or isinstance(loss, Cost):
        found += [_small(main, c, s) for c in small_losses_of(aggregator.eta, s)]
    return sorted(found, key=lambda c: (not c.premises_hold, c.bound))


def _small(main: Certificate, found: SmallLoss, s: Book) -> Certificate:
    """THM-3.1 as a bound on the regret: what it says of the loss, less the loss of the best expert."""
    return replace(
        main,
        id=found.id,
        statement=f"Σℓ(p_t, y_t) − L[k] ≤ {found.formula} − L[k], for losses in [0, 1]",
        comparator={"set": "experts"},
        linear_regret=None,
        bound=found.loss - float(np.min(s.losses)),
        premises=(*main.premises, *found.premises),
        details={"loss": found.loss},
    )


def _certificate(
    aggregator: Aggregator,
    substitution: Substitution,
    loss: Loss,
    s: Book,
    k: int,
    linearised: bool,
    premises: list[Premise],
    off: float,
) -> Certificate:
    mixable = is_mixable(aggregator, substitution, loss, linearised)
    name, statement, bound = bound_against(aggregator, mixable, s, k)
    if not (mixable or isinstance(substitution, Mean) or isinstance(aggregator, AdaHedge | Squint)):
        rate = mixable_rate(loss, substitution)
        premises = [*premises, Premise("exponential weights with an η for which the loss is mixable", False, rate)]
    off += EPSILON * int(s.counts[ROUNDS]) * (bound if bound < math.inf else 0.0)
    comparator: dict[str, Any] = COMBINATIONS if linearised else {"set": "experts"}
    return Certificate(
        name,
        statement,
        comparator,
        float(s.linear[k]) if linearised and all(p.holds for p in premises if p.name == PREMISE) else None,
        bound,
        tuple(premises),
        rounding=off,
    )
