"""Certificates of bandits. Nobody sees the costs of the arms not chosen, so the regret itself is not known.

Known are the regret against *estimated* costs, with its bound, on this very run (…-PATH); a bound on the expected
regret, before the run (COR-4.2+, TSALLIS); and an upper confidence bound on the regret itself (EXP3-IX). Written with
K arms, T costs seen, y_t the cost and p_t the probability of the chosen arm, b_t the baseline taken off all costs of
the round (`algorithm.py`; 0 if not centred), z_t the estimate of its cost beyond that, v_t its weight when the cost
came (p_t unless late).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lowregret.bandit.algorithm import BanditAlgorithm
from lowregret.bandit.exp3 import Exp3, Exp3IX
from lowregret.bandit.state import (
    BLUR,
    CLAMPED,
    COST,
    COSTS,
    LARGEST,
    LATE,
    LINEAR,
    LOCAL,
    LOGGED,
    SHIFT,
    BanditState,
)
from lowregret.bandit.tsallis import TsallisInf
from lowregret.certificate import Certificate, Premise, Promise, no_theorem
from lowregret.compile.numerics import EPSILON
from lowregret.errors import PartError
from lowregret.learner.validate import is_whole

ON_ESTIMATES, EXPECTED = "regret on estimated costs", "expected regret"
FEW = 8  # operations that a bound takes, once its sums are known


def bandit_certificates(
    algorithm: BanditAlgorithm, s: BanditState, delta: float = 0.05, in_order: bool = True, overtaken: int = 0
) -> list[Certificate]:
    """All certificates of a run, in units in which costs lie in [0, 1]; those whose premises fail come last.

    `in_order`: no choice waits for its cost that was made before one whose cost has come; `overtaken`: how many wait
    although a later choice was made.
    """
    if isinstance(algorithm, Exp3):
        eta = algorithm.eta
        found = [exp3_path(eta, s), exp3_expected(eta, s.arms, s, overtaken), exp3_printed(eta, s, overtaken)]
    elif isinstance(algorithm, Exp3IX):
        found = [
            ix_observed(algorithm, s, delta, in_order),
            exp3_path(algorithm.eta, s),
            ix_promised(algorithm, s, delta, overtaken),
        ]
    elif isinstance(algorithm, TsallisInf):
        found = [tsallis_path(s), tsallis_expected(s, overtaken)]
    else:
        found = [
            no_theorem({"set": "arms", "arms": s.arms}, "some theorem speaks of this algorithm, whatever the costs")
        ]
    return sorted(found, key=lambda c: not c.premises_hold)


def promised(algorithm: BanditAlgorithm, arms: int, rounds: int) -> Promise:
    """The bound on the expected regret over at most `rounds` costs in [0, 1], known before the first."""
    if not is_whole(rounds):
        raise PartError(f"a promise is of a whole number of rounds, got {rounds!r}")
    told = 1.0, 1.0, rounds, "costs lie in [0, G], and do not depend on the learner's coins"
    match algorithm:
        case Exp3(eta):
            return Promise("COR-4.2+", "ln K/η + ηKT/2", eta, math.log(arms) / eta + eta * arms * rounds / 2, *told)
        case TsallisInf():
            return Promise("TSALLIS", "4√(KT) + 1", 1.0, 4 * math.sqrt(arms * rounds) + 1, *told)
    raise PartError(f"{type(algorithm).__name__} promises no expected regret beforehand: use Exp3 or TsallisInf")


def scaled(certificate: Certificate, factor: float) -> Certificate:
    """A certificate with all its numbers multiplied by a factor, to change the unit of costs."""
    names = ("linear_regret", "regret", "slack")
    numbers = {name: getattr(certificate, name) for name in names if getattr(certificate, name) is not None}
    return replace(
        certificate,
        **{name: value * factor for name, value in numbers.items()},
        bound=certificate.bound * factor,
        rounding=certificate.rounding * factor,
        details={name: value * factor for name, value in certificate.details.items()},
    )


# ---- on this run, against estimated costs ---------------------------------------------------------------------------


def exp3_path(eta: float, s: BanditState) -> Certificate:
    """EXP3-PATH: Σy_t − min_i Ĉ[i] ≤ ln K/η + (η/2)Σ v_t z_t² + Σ(y_t − b_t − v_t z_t), Ĉ = Σ(z_t + b_t).

    THM-2.22+ on z_t = (y_t − b_t)/p_t ≥ 0; where z_t < 0, v_t z_t² is divided by 1 − η|z_t|/3, or 2|z_t|(1 − v_t)/η
    takes its place, which may be less. The last sum is 0 if no cost is late (of EXP3-IX: γΣz_t).
    """
    formula = "ln K/η + (η/2)Σ v_t z_t² + Σ(y_t − b_t − v_t z_t)"
    return _on_estimates("EXP3-PATH", formula, s, math.log(s.arms) / eta, eta / 2 * float(s.sums[LOCAL]))


def tsallis_path(s: BanditState) -> Certificate:
    """TSALLIS-PATH: Σy_t − min_i Ĉ[i] ≤ 2(√K − 1)√T + Σ v_t^{3/2} z_t²/√t + Σ(y_t − b_t − v_t z_t), Ĉ = Σ(z_t + b_t).

    FTRL with R = −2Σ√w and η_t = 1/√t: max R − min R = 2(√K − 1), and moving w_i → w costs at most
    max_w (w_i − w)z − (√w_i − √w)²/(η√w_i) = η w_i^{3/2} z²/(1 + η√w_i z), the maximum at √w = √w_i/(1 + η√w_i z), if
    η√w_i z > −1. Without the denominator that is more for z ≥ 0; for z < 0 it is also at most |z|(1 − w_i).
    """
    formula = "2(√K − 1)√T + Σ v_t^{3/2} z_t²/√t + Σ(y_t − b_t − v_t z_t)"
    apart = 2 * (math.sqrt(s.arms) - 1) * math.sqrt(s.counts[COSTS])
    return _on_estimates("TSALLIS-PATH", formula, s, apart, float(s.sums[LOCAL]))


def _on_estimates(name: str, formula: str, s: BanditState, apart: float, steps: float) -> Certificate:
    """The bound apart + steps + Σ(y_t − b_t − v_t z_t), with what the sums lost to rounding (`algorithm.blur`)."""
    lowest = float(np.min(s.estimates)) + float(s.sums[SHIFT])
    drift = float(s.sums[COST] - s.sums[SHIFT] - s.sums[LINEAR])
    largest = float(np.max(np.abs(s.estimates)))
    finite = Premise("estimated costs stayed finite", largest < LARGEST, largest)
    rounded = float(s.sums[BLUR]) + FEW * (apart + steps + abs(lowest) + float(s.sums[COST]) + abs(drift))
    return Certificate(
        id=name,
        statement=f"on this run: cost − least estimated cost of an arm ≤ {formula}",
        comparator={"set": "arms", "arms": s.arms},
        linear_regret=float(s.sums[COST]) - lowest,
        bound=apart + steps + drift,
        premises=(finite, _own(s)),
        measure=ON_ESTIMATES,
        details={"least_estimated_cost": lowest, "drift": drift},
        rounding=EPSILON * rounded,
    )


# ---- in expectation -------------------------------------------------------------------------------------------------


def exp3_expected(eta: float, arms: int, s: BanditState, overtaken: int = 0) -> Certificate:
    """COR-4.2+: E Σy_t ≤ min_i Σ_t y_t[i] + ln K/η + ηKT/2."""
    rounds = int(s.counts[COSTS])
    bound = math.log(s.arms) / eta + eta * arms * rounds / 2
    return _expected("COR-4.2+", "ln K/η + ηKT/2", s, bound, overtaken)


def exp3_printed(eta: float, s: BanditState, overtaken: int = 0) -> Certificate:
    """COR-4.2, as the source has it: E Σy_t ≤ min_i Σ_t y_t[i] + ln K/η + ηKT."""
    bound = math.log(s.arms) / eta + eta * s.arms * int(s.counts[COSTS])
    return _expected("COR-4.2", "ln K/η + ηKT", s, bound, overtaken)


def tsallis_expected(s: BanditState, overtaken: int = 0) -> Certificate:
    """TSALLIS: E Σy_t ≤ min_i Σ_t y_t[i] + 4√(KT) + 1 (Zimmert and Seldin 2021, theorem 1)."""
    return _expected("TSALLIS", "4√(KT) + 1", s, 4 * math.sqrt(s.arms * s.counts[COSTS]) + 1, overtaken)


def _expected(name: str, formula: str, s: BanditState, bound: float, overtaken: int) -> Certificate:
    return Certificate(
        id=name,
        statement=f"expected cost − cost of the best fixed arm ≤ {formula}",
        comparator={"set": "arms", "arms": s.arms},
        linear_regret=None,
        bound=bound,
        premises=(_oblivious(), _prompt(s, overtaken), _own(s), _unclamped(s)),
        measure=EXPECTED,
    )


# ---- of experts -----------------------------------------------------------------------------------------------------


def exp4_certificates(eta: float, arms: int, s: BanditState, overtaken: int = 0) -> list[Certificate]:
    """EXP4-PATH and EXP4: those of EXP3, with the N experts of `s` in the place of arms, and the K `arms` they advise.

    z_t is the estimate of all experts' costs, and v_t z_t² is summed over them. Of the best arm nothing is said.
    """
    experts = {"set": "experts", "count": s.arms}
    path = "cost − least estimated cost of an expert ≤ ln N/η + (η/2)ΣΣ_n v_t z_t² + Σ(y_t − b_t − Σ_n v_t z_t)"
    expected = "expected cost − expected cost of the best expert ≤ ln N/η + ηKT/2"
    found = exp3_path(eta, s), exp3_expected(eta, arms, s, overtaken)
    told = ("EXP4-PATH", f"on this run: {path}"), ("EXP4", expected)
    return [
        replace(c, id=name, statement=statement, comparator=experts)
        for c, (name, statement) in zip(found, told, strict=True)
    ]


# ---- with high probability ------------------------------------------------------------------------------------------


def ix_observed(algorithm: Exp3IX, s: BanditState, delta: float, in_order: bool = True) -> Certificate:
    """EXP3-IX: with probability ≥ 1 − δ, Σy_t − Σ_t y_t[i] ≤ Σy_t − Ĉ[i] + ln(K/δ)/(2γ) for all i at once.

    Neu 2015, corollary 1: Ĉ[i] exceeds the cost of arm i by more than ln(K/δ)/(2γ) for some i with probability ≤ δ,
    for T fixed in advance, also against adversaries that react and with late costs, of the first T choices: if costs of
    some of them are still to come, which ones may hang on the arm, and Ĉ be as high as who holds them back likes. All
    of it is observed; the bound is EXP3-PATH and the same margin.
    """
    path = exp3_path(algorithm.eta, s)
    margin = math.log(s.arms / delta) / (2 * algorithm.gamma)
    assert path.linear_regret is not None
    return Certificate(
        id="EXP3-IX",
        statement=f"with probability ≥ {1 - delta:g}: regret against every arm ≤ Σy_t − min_i Ĉ[i] + ln(K/δ)/(2γ)",
        comparator={"set": "arms", "arms": s.arms},
        linear_regret=path.linear_regret + margin,
        bound=path.bound + margin,
        premises=(_own(s), _horizon(), Premise("no choice waits whose cost was overtaken by a later one's", in_order)),
        measure=f"regret (with probability ≥ {1 - delta:g})",
        details={"margin": margin},
        rounding=path.rounding + FEW * EPSILON * margin,
    )


def ix_promised(algorithm: Exp3IX, s: BanditState, delta: float, overtaken: int = 0) -> Certificate:
    """EXP3-IX-T: with probability ≥ 1 − δ, regret ≤ ln K/η + (η/2 + γ)(KT + ln(2/δ)/(2γ)) + ln(2K/δ)/(2γ).

    For η = 2γ = √(2 ln K/(KT)) this is below Neu's theorem 1, 2√(2KT ln K) + (√(2KT/ln K) + 1)ln(2/δ).
    """
    eta, gamma, rounds = algorithm.eta, algorithm.gamma, int(s.counts[COSTS])
    margin = math.log(2 * s.arms / delta) / (2 * gamma)
    spread = (eta / 2 + gamma) * (s.arms * rounds + math.log(2 / delta) / (2 * gamma))
    return Certificate(
        id="EXP3-IX-T",
        statement="regret against every arm ≤ ln K/η + (η/2 + γ)(KT + ln(2/δ)/(2γ)) + ln(2K/δ)/(2γ)",
        comparator={"set": "arms", "arms": s.arms},
        linear_regret=None,
        bound=math.log(s.arms) / eta + spread + margin,
        premises=(_own(s), _prompt(s, overtaken), _horizon()),
        measure=f"regret (with probability ≥ {1 - delta:g})",
    )


# ---- premises -------------------------------------------------------------------------------------------------------


def _oblivious() -> Premise:
    return Premise("costs do not depend on the learner's coins (assumed: nobody can check it)", True)


def _horizon() -> Premise:
    return Premise("the number of rounds, η and γ were fixed in advance (assumed)", True)


def _prompt(s: BanditState, overtaken: int) -> Premise:
    """Which costs have come may hang on the arm as long as some of earlier choices are still to come."""
    late = int(s.counts[LATE])
    observed = f"{late} late" + (f", {overtaken} still to come" if overtaken else "")
    return Premise("every cost came before the next choice", late + overtaken == 0, observed)


def _own(s: BanditState) -> Premise:
    logged = int(s.counts[LOGGED])
    return Premise("all choices were the learner's own", logged == 0, f"{logged} from a log")


def _unclamped(s: BanditState) -> Premise:
    clamped = int(s.counts[CLAMPED])
    return Premise("no probability had to be raised to 1e-300", clamped == 0, clamped)
