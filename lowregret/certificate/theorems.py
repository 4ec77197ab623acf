"""The regret theorems, each evaluated on what a run observed.

Written with R for the mirror map at rate 1 (so the regulariser is R/η), σ its strong convexity, w₁ its minimiser, U the
comparators, and sums over the rounds played. IDs are those of the theory; marks: + sharpened form. Forms as the sources
print them stand beside sharper ones: weaker, and the numbers that a reader of the sources computes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate.betting import freegrad, freegrad_terms, kt_closed, kt_exact, kt_premise, kt_terms
from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.coordinates import (
    bounded,
    duchi,
    duchi_terms,
    gap,
    has_roots,
    of_rule,
    precision_terms,
    precisions,
)
from lowregret.certificate.evidence import Evidence
from lowregret.certificate.passive_aggressive import speaks_of
from lowregret.certificate.projected import (
    aggressive_step,
    constant_rate,
    curves,
    dual,
    falling_rate,
    is_bounded,
    sqrt_observed,
    sqrt_premise,
    sqrt_printed,
    sqrt_tuned,
    weighted,
)
from lowregret.certificate.rounding import of_bound, of_terms
from lowregret.certificate.second_order import curved_bound, curved_premise, curved_regret, newton_terms, plain_bound
from lowregret.compile.numerics import squared_over
from lowregret.domain import L2Ball, Point, Reals
from lowregret.learner.linear import Learner, Linear
from lowregret.loss import Hinge
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.mirror.entropy import LOCAL, LOWEST, SPREAD
from lowregret.rule import KT, Diagonal, FreeGrad, FTRLProximal, MirrorDescent, Newton, ProjectedGradient
from lowregret.state import ENERGY, LINEAR, STEPPED
from lowregret.step import Constant, InverseSqrt, InverseTime, WeightedInverseTime


@dataclass(frozen=True)
class Theorem:
    """A right-hand side, the learners it speaks of, and what must be checked on the data."""

    id: str
    formula: str
    applies: Callable[[Learner], bool]
    bound: Callable[[Evidence], float]
    premises: Callable[[Evidence], Iterable[Premise]] = lambda e: ()
    measure: str = "regret"
    slack: Callable[[Evidence], float | None] = lambda e: None
    needs_theta: bool = False
    needs_table: bool = False
    linear: Callable[[Evidence], float | None] = lambda e: e.linear_regret  # a sharper one, where curvature allows it
    curved: bool = False  # it holds by how losses curve around the iterate, not of the linearised regret
    beside: bool = False  # it says nothing of the linearised regret, so LEM-2.5 stands beside it
    terms: Callable[[Evidence], float] = lambda e: ends(e)  # the size of what the bound is a difference of

    def lacks(self, e: Evidence) -> bool:
        """Whether it asks for what this evidence does not hold."""
        return (self.needs_theta and e.theta is None) or (self.needs_table and e.table is None)

    @np.errstate(over="ignore", invalid="ignore")
    def evaluate(self, e: Evidence) -> Certificate:
        """The certificate of this theorem for one run."""
        bound = math.inf if math.isnan(found := self.bound(e)) else found  # ∞ − ∞ and 0 · ∞, of squares that overflow
        return Certificate(
            id=self.id,
            statement=f"{self.measure} against every {e.rivals} ≤ {self.formula}",
            comparator=e.described | ({"around": "w₀"} if e.learner.centred() else {}),
            linear_regret=self.linear(e) if all(p.holds for p in e.trusted) else None,
            bound=bound,
            premises=(e.inside, *e.trusted, *e.rates, *self.premises(e)),
            measure=self.measure,
            slack=self.slack(e),
            rounding=of_bound(e, bound) + of_terms(e, self.terms(e), bound),
        )


# ---- which learners ------------------------------------------------------------------------------------------------


def lazy(*mirrors: type[Any]) -> Callable[[Learner], bool]:
    """Mirror descent with one of these maps, at a constant rate."""

    def applies(learner: Learner) -> bool:
        rule = learner.rule
        known = isinstance(rule, MirrorDescent) and isinstance(rule.mirror, mirrors) and rule.mirror.knows_value()
        return known and rule.schedule().constant

    return applies


def _strong(constant: bool) -> Callable[[Learner], bool]:
    """Mirror descent with a strongly convex map, a user's own among them, at rates that never grow."""

    def applies(learner: Learner) -> bool:
        rule = learner.rule
        known = isinstance(rule, MirrorDescent) and rule.mirror.knows_value() and rule.mirror.strength() > 0
        return known and rule.schedule().falling and rule.schedule().constant == constant

    return applies


def eager(*steps: type[Any]) -> Callable[[Learner], bool]:
    """Projected gradient descent with one of these schedules, all rounds counting alike."""

    def applies(learner: Learner) -> bool:
        rule = learner.rule
        known = isinstance(rule, ProjectedGradient) and isinstance(rule.step, steps or object)
        return known and rule.schedule().falling and not rule.schedule().weighted()

    return applies


def _euclid_on(whole_space: bool) -> Callable[[Learner], bool]:
    return lambda learner: lazy(Euclidean)(learner) and isinstance(learner.rule.domain, Reals) == whole_space


def _sqrt_ball(learner: Learner) -> bool:
    return eager(InverseSqrt)(learner) and isinstance(learner.rule.domain, L2Ball) and learner.ridge == 0


# ---- mirror descent ------------------------------------------------------------------------------------------------


def _mirror(e: Evidence) -> Mirror:
    assert isinstance(e.learner.rule, MirrorDescent)
    return e.learner.rule.mirror


def _lowest(mirror: Mirror, d: int) -> float:
    """min R = R(w₁) in dimension d: O(d), but on R^d, of which files may say that d is anything."""
    plain = type(mirror) is Euclidean and type(mirror.domain) is Reals
    return 0.0 if plain else mirror.value(mirror.link(np.zeros(d)))


def first_term(e: Evidence) -> float:
    """(max_U R(u) − R(w₁))/η"""
    mirror = _mirror(e)
    return (mirror.highest(e.comparator, e.dimension) - _lowest(mirror, e.dimension)) / e.rate


def ends(e: Evidence) -> float:
    """(|max_U R(u)| + |R(w₁)|)/η of mirror descent, which may be much more than their difference; 0 where no R or η is.

    Passive-aggressive steps may be 0, of which no theorem speaks that divides by them.
    """
    if not (isinstance(e.learner.rule, MirrorDescent) and _mirror(e).knows_value() and e.rate > 0):
        return 0.0
    mirror = _mirror(e)
    return (abs(mirror.highest(e.comparator, e.dimension)) + abs(_lowest(mirror, e.dimension))) / e.rate


def _strongly_convex(e: Evidence) -> float:
    return first_term(e) + e.rate / (2 * _mirror(e).strength()) * float(e.sums[ENERGY])


def _printed(e: Evidence) -> float:
    return first_term(e) + e.rate / _mirror(e).strength() * float(e.sums[ENERGY])


def _printed_euclid(e: Evidence) -> float:
    return squared_over(e.reach, 2 * e.rate) + e.rate * float(e.sums[ENERGY])


def _exact(e: Evidence) -> float:
    """R(u)/η + R*(ηθ)/η + Σ⟨w_t,z_t⟩: the divergences D_t telescope, and R*(0) = −R(w₁)."""
    assert e.theta is not None
    mirror = _mirror(e)
    highest = mirror.highest(e.comparator, e.dimension)
    return (highest + mirror.conjugate(e.rate * e.theta)) / e.rate + float(e.sums[LINEAR])


def _exact_terms(e: Evidence) -> float:
    assert e.theta is not None
    return ends(e) + abs(_mirror(e).conjugate(e.rate * e.theta)) / e.rate


def _fenchel_gap(e: Evidence) -> float | None:
    """The exact distance to the linearised regret, for a single comparator: R(u)/η + R*(ηθ)/η − ⟨u,θ⟩."""
    if not isinstance(e.comparator, Point) or e.theta is None:
        return None
    mirror, u = _mirror(e), e.comparator.u
    return (mirror.value(u) + mirror.conjugate(e.rate * e.theta)) / e.rate - float(u @ e.theta)


def _changing(e: Evidence) -> float:
    return first_term(e) + float(e.sums[STEPPED]) / (2 * _mirror(e).strength())


def _local(factor: float) -> Callable[[Evidence], float]:
    return lambda e: first_term(e) + factor * e.rate * float(e.sums[LOCAL])


def _range(e: Evidence) -> float:
    mirror = _mirror(e)
    assert isinstance(mirror, Entropy)
    return first_term(e) + mirror.total * e.rate / 8 * float(e.sums[SPREAD])


def _bounded_below(e: Evidence) -> tuple[Premise, ...]:
    return (Premise("η·z_t[i] ≥ −1", bool(e.sums[LOWEST] >= -1), float(e.sums[LOWEST])),)


def _non_negative(e: Evidence) -> tuple[Premise, ...]:
    return (Premise("z_t[i] ≥ 0", bool(e.sums[LOWEST] >= 0), float(e.sums[LOWEST])),)


# ---- projected gradient descent ------------------------------------------------------------------------------------


def _is_svm(learner: Learner) -> bool:
    step = learner.rule.schedule()
    ones = isinstance(step, InverseSqrt) and step.eta == 1
    return ones and _sqrt_ball(learner) and isinstance(learner.loss, Hinge) and learner.bias > 0


def _is_weighted(learner: Learner) -> bool:
    return isinstance(learner.rule, ProjectedGradient) and isinstance(learner.rule.step, WeightedInverseTime)


def _climbs_dual(learner: Learner) -> bool:
    if not (isinstance(learner, Linear) and speaks_of(learner) and isinstance(learner.rule, ProjectedGradient)):
        return False
    step = aggressive_step(learner)
    return math.isfinite(step.C) and not step.squared


_FREE = lazy(UnnormalisedEntropy)
_UNNORMALISED = "[dλ + Σu ln(u/(eλ))]/η + "

THEOREMS = (
    Theorem("EQ-2.15", "‖u‖²/(2η) + (η/2)Σ‖z_t‖²", _euclid_on(True), _strongly_convex),
    Theorem("THM-2.4", "‖u‖²/(2η) + ηΣ‖z_t‖²", _euclid_on(True), _printed_euclid),
    Theorem("COR-2.17", "‖u‖²/(2η) + ηΣ‖z_t‖²", _euclid_on(False), _printed_euclid),
    Theorem("LAZY+", "(‖u‖² − ‖w₁‖²)/(2η) + (η/2)Σ‖z_t‖²", _euclid_on(False), _strongly_convex),
    Theorem("COR-2.18", "‖u‖_q²/(2η) + (η(p−1)/2)Σ‖z_t‖_p²", lazy(PNorm), _strongly_convex),
    Theorem("COR-2.14", "(R(u) − R(w₁))/η + (ηB/2)Σ‖z_t‖_∞²", lazy(Entropy), _strongly_convex),
    Theorem("THM-2.21", "(R(u) − R(w₁))/η + (η/2σ)Σ‖z_t‖_*²", _strong(constant=True), _strongly_convex),
    Theorem("THM-2.15", "(R(u) − min R)/η + (η/σ)Σ‖z_t‖_*²", _strong(constant=True), _printed),
    Theorem(
        "LEM-2.20",
        "R(u)/η − R(w₁)/η + ΣD_t",
        lazy(Mirror),
        _exact,
        slack=_fenchel_gap,
        needs_theta=True,
        terms=_exact_terms,
    ),
    Theorem("THM-2.22", "(R(u) − R(w₁))/η + ηΣ_tΣ_i w_t z_t²", lazy(Entropy), _local(1.0), _bounded_below),
    Theorem("THM-2.22+", "(R(u) − R(w₁))/η + (η/2)Σ_tΣ_i w_t z_t²", lazy(Entropy), _local(0.5), _non_negative),
    Theorem("EG-RANGE", "(R(u) − R(w₁))/η + (ηB/8)Σ(max z_t − min z_t)²", lazy(Entropy), _range),
    Theorem("THM-2.23", _UNNORMALISED + "ηΣ_tΣ_i w_t z_t²", _FREE, _local(1.0), _bounded_below),
    Theorem("THM-2.23+", _UNNORMALISED + "(η/2)Σ_tΣ_i w_t z_t²", _FREE, _local(0.5), _non_negative),
    Theorem("LAZY-DEC", "(R(u) − R(w₁))/η_T + (1/2σ)Ση_t‖z_t‖_*²", _strong(constant=False), _changing),
    Theorem("THM-14.5", "‖w₁ − u‖²/(2η) + (η/2)Σ‖z_t‖²", eager(Constant), constant_rate),
    Theorem("EAGER-DEC", "D²/(2η_T) + ½Ση_t‖z_t‖²", eager(), falling_rate),
    Theorem("THM-4.1.3", "D²√T/(2η) + ηG²(√T − ½)", eager(InverseSqrt), sqrt_printed, is_bounded),
    Theorem("ONLINE-SVM", "2λ²√T + G²(√T − ½)", _is_svm, sqrt_printed),
    Theorem("EQ-8", "UG√(8T)", _sqrt_ball, sqrt_tuned, sqrt_premise),
    Theorem("EQ-8+", "U²/(2η₁) + 2U²(1/η_T − 1/η₁) + ½Ση_t‖z_t‖²", _sqrt_ball, sqrt_observed),
    Theorem("THM-14.11", "Σ‖z_t‖²/(2σt)", eager(InverseTime), lambda e: float(e.sums[STEPPED]) / 2, curves),
    Theorem(
        "THM-14.12",
        "2Σ‖z_t‖²/(λT(T+3)), round t counting 2(t+1)/(T(T+3))",
        _is_weighted,
        weighted,
        curves,
        measure="weighted regret",
    ),
    Theorem(
        "DUAL",
        "‖u − w₁‖²/(2C) + Σ(f_t(w_t) − Δ_t), Δ_t = α_tℓ_t − (C/2)α_t²‖x_t‖² what round t adds to the dual, α_t = η_t/C",
        _climbs_dual,
        dual,
        linear=lambda e: None,
        curved=True,
        beside=True,
    ),
    Theorem(
        "DIAGONAL",
        "½Σ_jΣ_t(P_t − P_{t−1})(w_t − u)² + ½Σ_jP₀(w₁ − u)² + ½Σ_jΣ_t z_t²/P_t",
        of_rule(Diagonal),
        precisions,
        slack=gap,
        needs_table=True,
        terms=precision_terms,
    ),
    Theorem("ADAGRAD", "D_∞²/(2η)·Σ_j(β + √S_T) + ηΣ_j√S_T", has_roots, duchi, bounded, terms=duchi_terms),
    Theorem(
        "FTRL-PROXIMAL",
        "½Σ_jΣ_t(P_t − P_{t−1})(w_t − u)² + ½(P₀ + l2)‖u‖² + l1·‖u‖₁ + ½Σ_jΣ_t z_t²/(P_t + l2)",
        of_rule(FTRLProximal),
        precisions,
        needs_table=True,
        terms=precision_terms,
    ),
    Theorem("KT+", "LΣ_j(ε + F*(u))", of_rule(KT), kt_exact, kt_premise, needs_table=True, terms=kt_terms),
    Theorem("KT", "LΣ_j(|u|√(n·ln(1 + 24n²u²/ε²)) + ε)", of_rule(KT), kt_closed, kt_premise, needs_table=True),
    Theorem(
        "FREEGRAD",
        "Σ_j[εh₁ + εΦ*(u/ε) + |u|(h − h₁)] + Σ⟨w_t, z_t − ẑ_t⟩",
        of_rule(FreeGrad),
        freegrad,
        needs_table=True,
        terms=freegrad_terms,
    ),
    Theorem(
        "NEWTON",
        "(γε/2)‖u‖² + (1/2γ)Σz_t'A_t⁻¹z_t",
        of_rule(Newton),
        curved_bound,
        curved_premise,
        needs_table=True,
        linear=curved_regret,
        curved=True,
        terms=newton_terms,
    ),
    Theorem(
        "NEWTON-ANY",
        "(γε/2)‖u‖² + (γ/2)Σ⟨z_t, w_t − u⟩² + (1/2γ)Σz_t'A_t⁻¹z_t",
        of_rule(Newton),
        plain_bound,
        needs_table=True,
        terms=newton_terms,
    ),
)

LINEARISED = Theorem(
    "LEM-2.5",
    "Σ⟨w_t,z_t⟩ + max_u ⟨u,−Σz_t⟩, no theorem bounding it in advance",
    lambda learner: True,
    lambda e: math.inf if e.linear_regret is None else e.linear_regret,
)
