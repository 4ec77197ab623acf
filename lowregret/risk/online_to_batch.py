"""Online to batch: what one pass over independent rows says about rows yet to come (docs/risk.md).

C(w) = E f(w) is the expected loss on a new row, f_t(w_t) the loss of the iterate that had not seen row t. Averages over
the run carry over to the averaged model if C is convex, and to a model drawn uniformly from the run if it is not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from lowregret.certificate.certificate import Premise
from lowregret.compile.numerics import squared, squared_over
from lowregret.errors import PartError

AVERAGE, WEIGHTED, DRAWN = "the averaged model", "the weighted average", "a model drawn from those of the run"

_RATES = 0.95 * 0.5 ** (np.arange(90) / 2)  # λ_k, the mixture of O2B-EB
_SHARES = 1 / ((np.arange(90) + 1.0) * (np.arange(90) + 2.0))  # π_k, which sum to less than 1
_PSI = -np.log1p(-_RATES) - _RATES


@dataclass(frozen=True)
class RiskCertificate:
    """E f(model) ≤ bound on a new row, with probability ≥ 1 − delta (or in expectation over runs, delta None).

    `of` says what is bounded: error, loss, or excess (loss over that of a fixed comparator). A loss without a bound of
    its own is that of rows no larger than those met: the `statement` says which they are, and how many may be left out.
    `anytime`: simultaneously after every round, so one may look and stop whenever one likes; else for a number of
    rounds fixed beforehand.
    """

    id: str
    statement: str
    output: str
    of: str
    bound: float
    delta: float | None
    premises: tuple[Premise, ...] = ()
    anytime: bool = False
    details: dict[str, float] = field(default_factory=dict)

    @property
    def premises_hold(self) -> bool:
        return all(premise.holds for premise in self.premises)

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        found = {"delta": self.delta, "bound": self.bound, "of": self.of, "id": self.id, "output": self.output}
        return found | {"statement": self.statement, "anytime": self.anytime} | self.details


def require_delta(delta: Any) -> None:
    """Refuse what is no probability of failure."""
    if not (isinstance(delta, Real) and 1e-300 < float(delta) < 1):  # 1/δ and 2/δ are numbers
        raise PartError(f"delta is the probability that a statement fails: use a number such as 0.05, got {delta}")


def deviation(spread: float, log_inverse: float) -> float:
    """D with Σ_k π_k exp(λ_k D − ψ(λ_k)V) = 1/δ, ψ(λ) = −ln(1−λ) − λ, V = `spread`, ln(1/δ) = `log_inverse`.

    For losses in [0,1] it bounds Σ(C(w_t) − f_t(w_t)) after every round at once, and is at most
    min_k (ψ(λ_k)V + ln(1/(δπ_k)))/λ_k, which is about √(2V ln(1/(δπ))).
    """
    high = float(np.min((_PSI * spread + log_inverse - np.log(_SHARES)) / _RATES))
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2
        exponents = np.log(_SHARES) + _RATES * middle - _PSI * spread
        top = exponents.max()
        reached = top + math.log(float(np.sum(np.exp(exponents - top)))) >= log_inverse
        low, high = (low, middle) if reached else (middle, high)
    return high


def o2b_eb(
    total: float, spread: float, weights: float, unit: float, log_inverse: float, delta: float, **said: Any
) -> RiskCertificate:
    """O2B-EB: ΣcC(w_t) ≤ Σcf_t(w_t) + M·D(V, ln 1/δ), c_t f_t ∈ [0,M]: empirical Bernstein, after every round at once.

    `total` = Σc_t f_t(w_t), `spread` = Σc_t²(f_t(w_t) − m_t)² with m_t known before row t and c_t m_t ∈ [0,M],
    `weights` = Σc_t, `unit` = M, `log_inverse` = ln(1/δ) plus what a choice of M costs.
    """
    bound = (total + unit * deviation(spread / unit / unit, log_inverse)) / weights
    return RiskCertificate("O2B-EB", "(Σf_t(w_t) + M·D)/T", bound=bound, delta=delta, anytime=True, **said)


def o2b_hp(
    total: float, weights: float, squared_weights: float, ceiling: float, log_inverse: float, delta: float, **said: Any
) -> RiskCertificate:
    """O2B-HP: Σα_tC(w_t) ≤ Σα_tf_t(w_t) + M√(Σα_t² ln(1/δ)/2), f ∈ [0,M], α_t = c_t/Σc; M√(ln(1/δ)/2T) for 1/T."""
    bound = (total + ceiling * math.sqrt(squared_weights * log_inverse / 2)) / weights
    return RiskCertificate("O2B-HP", "Σα_tf_t(w_t) + M√(Σα_t² ln(1/δ)/2)", bound=bound, delta=delta, **said)


def o2b_small(total: float, rounds: int, delta: float, *, lam: float = 1.0, **said: Any) -> RiskCertificate:
    """O2B-SMALL: (1/T)ΣC(w_t) ≤ (λΣf_t(w_t) + ln(1/δ))/((1 − e^{−λ})T), f ∈ [0,1], λ > 0 fixed beforehand."""
    bound = (lam * total + math.log(1 / delta)) / (-math.expm1(-lam) * rounds)
    return RiskCertificate("O2B-SMALL", "(λΣf_t(w_t) + ln(1/δ))/((1 − e^{−λ})T)", bound=bound, delta=delta, **said)


def thm_5_1(mean: float, **said: Any) -> RiskCertificate:
    """THM-5.1: E C(ŵ) ≤ E Σα_tf_t(w_t), with equality for a model drawn with chances α_t; here the sum of one run."""
    return RiskCertificate("THM-5.1", "E Σα_tf_t(w_t)", bound=mean, delta=None, **said)


def cor_5_2(regret: float, rounds: int, **said: Any) -> RiskCertificate:
    """COR-5.2: E C(w̄) − C(u) ≤ E regret(u)/T, for every fixed u; here with the regret of one run."""
    return RiskCertificate("COR-5.2", "E regret/T", of="excess", bound=regret / rounds, delta=None, **said)


def prop_3(hinge: float, norm: float, radius: float, margin: float, rounds: int) -> RiskCertificate:
    """PROP-3: Perceptron, E err(w_s) ≤ 2E[1 − γ⁻¹·margin of u]₊ + ‖u‖²B²/(γ²T), s uniform.

    `hinge` is the expectation on the right, for a given u of this `norm`; `radius` is B ≥ ‖x‖ (many classes:
    B ≥ ‖ψ(x,y) − ψ(x,ℓ)‖), `margin` γ > 0.
    """
    bound = 2 * hinge + squared(norm * radius / margin) / rounds if margin > 0 else math.inf
    positive = Premise("γ > 0", margin > 0, margin)
    return RiskCertificate("PROP-3", "2E[1 − margin/γ]₊ + ‖u‖²B²/(γ²T)", DRAWN, "error", bound, None, (positive,))


def prop_4(mistakes: float, rounds: int, delta: float) -> RiskCertificate:
    """PROP-4: Perceptron with margin γ almost surely, E_s err(w_s) ≤ inf_λ (λK + ln(1/δ))/((1 − e^{−λ})T).

    `mistakes` is K = ‖u‖² sup‖x‖²/γ², known beforehand: with observed mistakes λ must be fixed first (O2B-SMALL).
    """
    require_delta(delta)
    lam = np.exp(np.linspace(math.log(1e-6), math.log(50), 20001))
    bound = float(np.min((lam * mistakes + math.log(1 / delta)) / -np.expm1(-lam))) / rounds
    return RiskCertificate("PROP-4", "inf_λ (λK + ln(1/δ))/((1 − e^{−λ})T)", DRAWN, "error", bound, delta)


def thm_14_9(
    risk: float, distance: float, eta: float, lipschitz: float, ceiling: float, rounds: int, delta: float
) -> RiskCertificate:
    """THM-14.9 (corrected): C(w̄) ≤ C(u) + ‖u − w₁‖²/(2ηT) + ηG²/2 + M√(2 ln(2/δ)/T); the source has ηG/2.

    Gradient descent at a constant rate on convex losses in [0,M] with sub-gradients up to G; `risk` is C(u).
    """
    require_delta(delta)
    spread = ceiling * math.sqrt(2 * math.log(2 / delta) / rounds)
    bound = risk + squared_over(distance, 2 * eta * rounds) + lipschitz * (eta * lipschitz) / 2 + spread
    formula = "C(u) + ‖u − w₁‖²/(2ηT) + ηG²/2 + M√(2 ln(2/δ)/T)"
    return RiskCertificate("THM-14.9", formula, AVERAGE, "loss", bound, delta)


def cor_13(lam: float, lipschitz: float, size: float, rounds: int, weighted: bool = False) -> RiskCertificate:
    """COR-13: L2-regularised losses, Δ = `size` ≥ ‖w‖: in expectation, the excess of C + (λ/2)‖·‖² is at most

    a, η_t = 1/(λt), average: ln(eT)(G + λΔ)²/(2λT);  b, η_t = 2/(λ(t+1)), weighted average: 2(G + λΔ)²/(λ(T+3)).
    """
    steep = lipschitz + lam * size
    if weighted:
        bound, formula = 2 * squared_over(steep, lam * (rounds + 3)), "2(G + λΔ)²/(λ(T+3))"
        return RiskCertificate("COR-13b", formula, WEIGHTED, "excess", bound, None)
    bound, formula = math.log(math.e * rounds) * squared_over(steep, 2 * lam * rounds), "ln(eT)(G + λΔ)²/(2λT)"
    return RiskCertificate("COR-13a", formula, AVERAGE, "excess", bound, None)
