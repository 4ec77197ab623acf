"""The evidence that theorems look at: the learner's parts, the ledger of a run, and the set of comparators."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from sys import float_info
from typing import Any

import numpy as np

from lowregret.certificate.certificate import Premise
from lowregret.certificate.rounding import rounding
from lowregret.compile.altered import is_own
from lowregret.compile.numerics import norm
from lowregret.domain import Box, CvxSet, Domain, Intersection, L2Ball, LqBall, Point, Simplex
from lowregret.domain.described import PREMISE as SOLVER_PREMISE
from lowregret.domain.described import missed
from lowregret.domain.verify import PREMISE as SET_PREMISE
from lowregret.domain.verify import counterexample as fault_of_set
from lowregret.domain.verify import outlier, require_sizes
from lowregret.learner.linear import Learner, Linear
from lowregret.loss import Loss, NamedLoss
from lowregret.loss.verify import PREMISE, MetScores, counterexample
from lowregret.mirror import Entropic, Euclidean, Mirror, PNorm
from lowregret.mirror.verify import PREMISE as MIRROR_PREMISE
from lowregret.mirror.verify import counterexample as fault_of_mirror
from lowregret.rule import MirrorDescent, Rule
from lowregret.rule.verify import PREMISE as RULE_PREMISE
from lowregret.rule.verify import RATES, growth
from lowregret.rule.verify import counterexample as fault_of_rule
from lowregret.state import DIMENSION, FIRST_RATE, LAST_RATE, LINEAR, LONGEST, RIDGE, ROUNDS, State
from lowregret.types import Vector

UNREFUTED = "no counterexample where it was tried"


@dataclass(frozen=True)
class Evidence:
    """A run as a theorem sees it. `support` is max_u ⟨u,θ⟩ − (κ/2)‖u‖², κ = ridge·Σc_t; None if θ was not kept."""

    learner: Learner
    comparator: Domain
    sums: Vector
    counts: Any
    support: float | None
    theta: Vector | None = None
    curvature: float = 0.0  # σ such that every f_t is known to be σ-strongly convex, beside the ridge
    table: Vector | None = None  # what is known about each coordinate at the end, where the whole state is at hand
    met: MetScores | None = None  # scores and labels at which a loss of the user's own is put to the test

    @property
    def rounds(self) -> int:
        return int(self.counts[ROUNDS])

    @property
    def dimension(self) -> int:
        return int(self.counts[DIMENSION])

    @property
    def importance(self) -> float:
        """Σ c_t"""
        return self.learner.rule.schedule().total_importance(self.rounds)

    @property
    def rivals(self) -> str:
        """The comparators in words: with a centre, the u of a formula is the difference from it."""
        return f"{'w₀ + u, u' if self.learner.centred() else 'u'} in {self.comparator.name}"

    @property
    def linear_regret(self) -> float | None:
        """max_u Σ c_t⟨w_t − u, z_t⟩, with an L2 regulariser taken exactly instead of linearised.

        Where the c_t are not 1, they are divided by their sum: a weighted mean of regrets.
        """
        if self.support is None:
            return None
        total = float(self.sums[LINEAR] + self.learner.ridge / 2 * self.sums[RIDGE] + self.support)
        return total / max(self.importance, 1.0) if self.learner.rule.schedule().weighted() else total

    @cached_property
    def rounding(self) -> float:
        """By how much the sums may be off: see `rounding.py`."""
        return rounding(self)

    @property
    def rate(self) -> float:
        """η of the latest round with a sub-gradient, or the schedule's first if there was none."""
        return float(self.sums[LAST_RATE]) or self.learner.rule.schedule().rate(State.zeros(1, 1, False), 0.0)

    @property
    def first_rate(self) -> float:
        return float(self.sums[FIRST_RATE]) or self.rate

    @property
    def start(self) -> Vector:
        """w_1"""
        return self.learner.rule.first(self.dimension)

    @property
    def reach(self) -> float:
        """max ‖u‖₂"""
        return self.comparator.reach(2, self.dimension)

    @property
    def spread(self) -> float:
        """A number no ‖w_t − u‖ exceeds: the domain's diameter, or what was seen, but for squares that vanish."""
        seen = math.sqrt(self.sums[LONGEST] + self.dimension * float_info.min) + self.reach
        return min(seen, self.learner.rule.domain.diameter(self.dimension))

    @property
    def from_start(self) -> float:
        """max_u ‖w_1 − u‖₂"""
        return farthest(self.comparator, self.start, self.dimension, self.spread)

    @cached_property
    def trusted(self) -> tuple[Premise, ...]:
        """The premises that parts of the user's own are what they say, with what refutes them."""
        rule, d, way = self.learner.rule, self.dimension, self.theta
        found = [
            *convexity(self.learner.loss, self.met, self.reach + displaced(self.learner)),
            *keeping(rule, d, self.sums, way),
        ]
        if self.comparator != rule.domain:
            found += shape(self.comparator, d, way)
        found += solving(self.comparator, way)
        if isinstance(rule, MirrorDescent):
            met = None if self.theta is None else self.rate * self.theta
            found += mirroring(rule.mirror, self.comparator, d, met)
        return tuple(found)

    @cached_property
    def rates(self) -> tuple[Premise, ...]:
        """The premise that rates of a user's own step fall as it says, with what refutes it."""
        step = self.learner.rule.schedule()
        if not (is_own(step) and (step.falling or step.constant)):
            return ()
        why = growth(step, self.sums, self.rounds)
        return (Premise(RATES, why is None, why or UNREFUTED),)

    @cached_property
    def described(self) -> dict[str, Any]:
        """The set of comparators in words and numbers."""
        return self.comparator.describe()

    @cached_property
    def inside(self) -> Premise:
        """Comparators must be points that the learner could have played."""
        domain, d = self.learner.rule.domain, self.dimension
        covered = domain.covers(self.comparator, d)
        outside = outlier(domain, self.comparator, d) if covered else None
        return Premise(
            f"comparators lie in the learner's {domain.name}",
            covered and outside is None,
            self.described["set"] if outside is None else outside,
        )


def farthest(comparator: Domain, w: Vector, d: int, most: float) -> float:
    """max_u ‖w − u‖₂ over comparators in d dimensions, or a number no smaller: `most`, if nothing better is known."""
    reach = comparator.reach(2, d)
    if not np.any(w):
        return reach
    match comparator:
        case Point(u):
            return norm(w - u)
        case Simplex(total):  # the farthest corner is that of the smallest coordinate
            away = w.copy()
            away[np.argmin(w)] -= total
            return norm(away)
        case L2Ball(radius):
            return norm(w) + radius
        case Box(low, high):
            return norm(np.maximum(abs(w - low), abs(w - high)))
    return min(norm(w) + reach, most)


def displaced(learner: Learner) -> float:
    """‖w₀‖: how much longer than the u of a formula a comparator may be."""
    return learner.centre.length() if isinstance(learner, Linear) else 0.0


def convexity(loss: Any, met: MetScores | None, reach: float) -> tuple[Premise, ...]:
    """The premise that a loss is convex: of the user's own, with scores that refute it, and of ours that are not."""
    if isinstance(loss, Loss) and not loss.convex:
        return (Premise(PREMISE, False, f"{type(loss).__name__} is not convex"),)
    if not (isinstance(loss, NamedLoss) and is_own(loss)):
        return ()
    found = counterexample(loss, met, reach)
    return (Premise(PREMISE, found is None, found or UNREFUTED),)


def shape(domain: Domain, d: int, way: Vector | None = None) -> tuple[Premise, ...]:
    """The premise that a set of the user's own is what it says, with what refutes it; none for the package's.

    `way` is the sum of sub-gradients of a run, if it is known: the direction in which the size of the set matters.
    """
    if not is_own(domain):
        return ()
    why = fault_of_set(domain, d, way)
    return (Premise(f"{domain.name}: {SET_PREMISE}", why is None, why or UNREFUTED),)


def solving(comparator: Domain, way: Vector | None) -> tuple[Premise, ...]:
    """The premise that a solver's word on the size of a set is so, where one is asked; `way` is as in `shape`."""
    sets = comparator.sets if isinstance(comparator, Intersection) else (comparator,)
    described = [s for s in sets if isinstance(s, CvxSet)]
    if not described:
        return ()
    proved = way is not None and not any(s.trusted(way) for s in described)
    return (Premise(SOLVER_PREMISE, True, "its multipliers prove it" if proved else "trusted: found in two units"),)


def mirroring(mirror: Mirror, comparator: Domain, d: int, met: Vector | None = None) -> tuple[Premise, ...]:
    """The premise that a mirror map of the user's own is what it says; none for the package's, or for a link alone."""
    if not is_own(mirror) or isinstance(mirror, Euclidean) or not mirror.knows_value():  # whose set may be his
        return ()
    why = fault_of_mirror(mirror, comparator, d, met)
    return (Premise(MIRROR_PREMISE, why is None, why or UNREFUTED),)


def keeping(rule: Rule, d: int, sums: Vector, way: Vector | None = None) -> tuple[Premise, ...]:
    """The premises that a rule of the user's own, or with a set of his, is what it says; none for the package's."""
    if not is_own(rule):
        return ()
    why = fault_of_rule(rule, d, sums)
    return (*shape(rule.domain, d, way), Premise(RULE_PREMISE, why is None, why or UNREFUTED))


def support(learner: Learner, theta: Vector, importance: float, comparator: Domain) -> float:
    """max_{u∈U} ⟨u,θ⟩ − (κ/2)‖u‖² with κ = ridge·Σc_t: attained at Π_U(θ/κ), or the support function if κ = 0.

    Where that is no number, since κ is so small, it is the support function too, which is no less.
    """
    kappa = learner.ridge * importance
    if kappa == 0:
        return comparator.support(theta)
    with np.errstate(over="ignore", invalid="ignore"):
        u = comparator.projection(theta / kappa)
        found = float(u @ theta) - float((kappa * u) @ u) / 2 + missed(comparator, theta, kappa, u)
    return found if math.isfinite(found) else comparator.support(theta)


def evidence(learner: Learner, state: State, comparator: Domain, met: MetScores | None = None) -> Evidence:
    """Evidence from a run's present state: O(d)."""
    comparator.fits(state.dimension)
    for domain in (learner.rule.domain, comparator):
        require_sizes(domain, state.dimension)
    theta = np.ascontiguousarray(state.theta) if learner.rule.keeps_sum() else None
    importance = learner.rule.schedule().total_importance(state.rounds)
    highest = None if theta is None else support(learner, theta, importance, comparator)
    return Evidence(learner, comparator, state.sums, state.counts, highest, theta, table=state.table, met=met)


def natural_comparator(learner: Learner, d: int, radius: float = 1.0) -> Domain:
    """The learner's own domain if it is bounded, else the ball of this radius in its geometry."""
    domain, rule = learner.rule.domain, learner.rule
    require_sizes(domain, d)
    if math.isfinite(domain.reach(2, d)) or learner.ridge > 0:  # a ridge keeps the regret finite on all of R^d
        return domain
    if isinstance(rule, MirrorDescent) and isinstance(rule.mirror, PNorm):
        return LqBall(radius, rule.mirror.q)
    if isinstance(rule, MirrorDescent) and isinstance(rule.mirror, Entropic):
        return Simplex(radius)
    ball = L2Ball(radius)
    return ball if domain.covers(ball, d) else Simplex(radius)
