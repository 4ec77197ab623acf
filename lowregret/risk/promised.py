"""Risk bounds that were known before the run, against one u chosen without a look at the rows.

What they ask of rows yet to come cannot be seen: they are taken to be no longer than those learnt, labels no larger,
and margins of u no smaller. The premises say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from lowregret.certificate import Premise
from lowregret.compile.numerics import squared
from lowregret.domain import Point, Reals
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, OnMistakes
from lowregret.mirror import Euclidean
from lowregret.output import Average, WeightedAverage
from lowregret.risk.online_to_batch import RiskCertificate, cor_13, prop_3, prop_4, require_delta, thm_14_9
from lowregret.rule import MirrorDescent, ProjectedGradient, Rule
from lowregret.step import Constant, InverseTime, WeightedInverseTime
from lowregret.types import Vector

ASSUMED = "(assumed of rows yet to come)"


@dataclass(frozen=True)
class Against:
    """u, its scores on the rows that were learnt, their labels, and how long rows and large labels are at most."""

    u: Vector
    scores: Vector
    labels: Vector
    longest: float
    label: float

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.u))


def promised_risks(learner: Linear, e: Against, delta: float, premises: tuple[Premise, ...]) -> list[RiskCertificate]:
    """PROP-3 and PROP-4 of the Perceptron, THM-14.9 of gradient descent, COR-13 with a ridge; those that apply."""
    require_delta(delta)
    if not e.labels.size:
        return []
    rows = Premise(f"‖x‖ ≤ {e.longest:.6g} {ASSUMED}", True, e.longest)
    return [replace(c, premises=(*premises, rows, *c.premises)) for c in _found(learner, e, delta)]


def _found(learner: Linear, e: Against, delta: float) -> Iterator[RiskCertificate]:
    match learner:
        case Linear(OnMistakes(Hinge(1.0)), MirrorDescent(Euclidean(Reals()), Constant())) if not learner.centred():
            yield from _perceptron(e, delta)
        case Linear(_, ProjectedGradient(_, InverseTime() | WeightedInverseTime()), ridge=lam) if lam > 0:
            yield from _ridge(learner, e)
        case Linear(_, ProjectedGradient(_, Constant()) | MirrorDescent(Euclidean(), Constant()), Average(), ridge=0.0):
            yield from _descent(learner, e, delta)


def _perceptron(e: Against, delta: float) -> Iterator[RiskCertificate]:
    margins = e.labels * e.scores
    hinge, rounds = float(np.mean(np.maximum(1 - margins, 0.0))), e.labels.size
    yield prop_3(hinge, e.norm, e.longest, 1.0, rounds)
    least = float(margins.min())
    apart = Premise(f"y⟨u,x⟩ ≥ γ > 0 {ASSUMED}", least > 0, least)
    mistakes = squared(e.norm * e.longest / least) if least > 0 else math.inf
    found = prop_4(mistakes, rounds, delta)
    yield replace(found, premises=(*found.premises, apart))


def _descent(learner: Linear, e: Against, delta: float) -> Iterator[RiskCertificate]:
    """THM-14.9; the mean loss of u stands for C(u), which its proof allows: it bounds C(w̄) by that mean first."""
    rule, d, step = learner.rule, e.u.size, learner.rule.schedule()
    assert isinstance(step, Constant)
    reach, steep = learner.centre.length() + rule.domain.reach(2, d), learner.loss.lipschitz * e.longest
    ceiling = learner.loss.highest(reach * e.longest, e.label) if reach < math.inf else math.inf
    if not (steep < math.inf and ceiling < math.inf):
        return
    v = learner.centre.away(e.u)
    mean = float(np.mean([learner.loss.at(p, y)[0] for p, y in zip(e.scores.tolist(), e.labels.tolist(), strict=True)]))
    found = thm_14_9(mean, _distance(rule, v), step.eta, steep, ceiling, e.labels.size, delta)
    inside = Premise("u lies in the learner's domain", rule.domain.covers(Point(v), d), rule.domain.name)
    labels = Premise(f"0 ≤ loss ≤ M = {ceiling:.6g}, |y| ≤ {e.label:.6g} {ASSUMED}", True, e.label)
    yield replace(found, premises=(*found.premises, inside, labels))


def _distance(rule: Rule, v: Vector) -> float:
    """‖v − w₁‖; of lazy projections √(‖v‖² − ‖w₁‖²), which is more where 0 lies outside of the set."""
    first = rule.first(v.size)
    if isinstance(rule, MirrorDescent):
        return math.sqrt(max(float(v @ v) - float(first @ first), 0.0))
    return float(np.linalg.norm(v - first))


def _ridge(learner: Linear, e: Against) -> Iterator[RiskCertificate]:
    """COR-13, for rates made of the ridge λ; without a domain iterates after w₁ are averages of −g/λ, ≤ G/λ long."""
    step, lam = learner.rule.schedule(), learner.ridge
    weighted = isinstance(step, WeightedInverseTime)
    rate = step.sigma if isinstance(step, InverseTime) else step.lam if isinstance(step, WeightedInverseTime) else 0.0
    if not math.isclose(rate, lam, rel_tol=1e-12):
        return
    steep = learner.loss.lipschitz * e.longest
    fits = isinstance(learner.output, WeightedAverage if weighted else Average)
    if not (steep < math.inf and fits):
        return
    first = float(np.linalg.norm(learner.rule.first(e.u.size)))
    size = min(learner.rule.domain.reach(2, e.u.size), max(steep / lam, first))
    yield cor_13(lam, steep, size, e.labels.size, weighted)
