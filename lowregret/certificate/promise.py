"""Tuning by the theorems: the rate that makes a bound smallest, and the bound that it promises before the first round.

    learner, promise = tuned(zoo.ogd_lazy(Hinge(), eta=1.0, radius=10.0), lipschitz=1.0, rounds=10_000)
    promise.bound    # BL√T = 1000

Every bound here is a/η + bη·(rounds), so it is promised of fewer rounds than announced as well. What is given is what
the promise rests on: comparators of the size, sub-gradients up to `lipschitz` in the dual norm, no more rounds. Runs
check it: their certificates are on what was observed, and no larger while the promise's premises hold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.certificate import Certificate
from lowregret.certificate.evidence import farthest
from lowregret.domain import Domain, L1Ball, L2Ball, Reals
from lowregret.errors import PartError
from lowregret.loss import OnMistakes
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.rule import AdaGrad, MirrorDescent, ProjectedGradient, Rule
from lowregret.step import Constant, InverseSqrt
from lowregret.words import rounded_up


@dataclass(frozen=True)
class Promise:
    """Over at most `rounds` rounds the regret to comparators of size ≤ `radius` is at most `bound`, by theorem `id`.

    Sizes are ‖u‖, of a rule with a start w₁ of its own ‖u − w₁‖. It holds if sub-gradients (of panels and bandits:
    costs) are as `premise` says, with G = `lipschitz`.
    """

    id: str
    formula: str
    eta: float
    bound: float
    radius: float
    lipschitz: float
    rounds: int
    premise: str = "‖z_t‖ ≤ G"

    def __str__(self) -> str:
        given = f"T = {self.rounds:,} rounds, {self.premise}, G = {self.lipschitz:.6g}, against size {self.radius:.6g}"
        promised = f"promises a regret of at most {rounded_up(self.bound)}"
        return f"η = {self.eta:.6g} {promised} ({self.id}: {self.formula}; {given})"

    def holds(self, found: Sequence[Certificate]) -> bool:
        """Whether certificates of the run that it was made for allow no more; of more or steeper rounds none may."""
        return not found or any(c.premises_hold and c.bound <= self.bound * (1 + 1e-9) for c in found)

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        names = ("id", "formula", "eta", "bound", "radius", "lipschitz", "rounds", "premise")
        return {name: getattr(self, name) for name in names}


class Tuned(NamedTuple):
    """A learner or rule at the theorem's rate, and what that promises."""

    part: Any
    promise: Promise


def tuned(
    part: Any,
    *,
    lipschitz: float,
    rounds: int,
    radius: float | None = None,
    dimension: int | None = None,
    delay: int = 0,
) -> Tuned:
    """A rule, a learner with one, or a regularised leader, at the rate its theorem tunes instead of its own.

    `lipschitz` bounds sub-gradients in the dual norm (2 ↔ 2, p-norm: p, entropies: max |z[i]|), `radius` comparators
    (of a rule with a `start`, their distance from it), as far as the domain reaches, else 1 if not given. Entropies,
    and sets whose size depends on it, need the `dimension`. `delay`: all answers come this many rounds late (constant
    rates only).
    """
    rule = part if isinstance(part, Rule) else getattr(part, "rule", None)
    leads = rule is None and isinstance(getattr(part, "mirror", None), Mirror)  # a regularised leader
    if not (isinstance(rule, Rule) or leads):
        raise PartError(f"only rules, learners with one, and followers with a rate are tuned here; got {part!r}")
    for name, value in {"lipschitz": lipschitz, "rounds": rounds, "radius": radius or 1.0, "delay": delay + 1}.items():
        if not 0 < value < math.inf:
            raise PartError(f"{name} must be a positive number, got {value - (name == 'delay')}")
    if getattr(part, "ridge", 0.0) > 0:
        raise PartError("a ridge settles the rate: η_t = 1/(λt), see THM-14.11; leave tuning out")
    if isinstance(getattr(part, "loss", None), OnMistakes):
        raise PartError(
            "learners that learn from mistakes alone are not tuned: the Perceptron has no rate, Winnow's is ¼"
        )
    d = 1 if dimension is None else dimension
    given = Given(radius, lipschitz, rounds, d, dimension is not None, delay)
    if leads:
        promise = _of_leader(part, given)
        return Tuned(replace(part, eta=promise.eta), promise)
    assert isinstance(rule, Rule)
    made, promise = _of_rule(rule, given)
    return Tuned(made if part is rule else replace(part, rule=made), promise)


class Given(NamedTuple):
    """Facts known beforehand, which the promise rests on."""

    radius: float | None
    lipschitz: float
    rounds: int
    d: int
    counted: bool  # whether the dimension was given
    delay: int

    def size(self, reach: float) -> float:
        """B: the radius asked for, but no more than comparators reach; 1 where neither is known."""
        known = min(math.inf if self.radius is None else self.radius, reach)
        return known if known < math.inf else 1.0

    @property
    def late(self) -> float:
        """√(1 + 2τ): the rate of late answers is smaller by this factor, their bound larger (DELAY)."""
        return math.sqrt(1 + 2 * self.delay)

    def promise(self, id: str, formula: str, eta: float, bound: float, size: float, **more: Any) -> Promise:
        """A promise of a constant rate, with what late answers cost."""
        if self.delay:
            id, formula = "DELAY", f"√(1 + 2τ)·{formula}, τ = {self.delay}"
        told = size, self.lipschitz, self.rounds
        return Promise(id, formula, eta / self.late, bound * self.late, *told, **more)


def _of_rule(rule: Rule, given: Given) -> tuple[Rule, Promise]:
    match rule:
        case MirrorDescent(mirror):
            promise = _of_mirror(mirror, given)
            return replace(rule, step=Constant(promise.eta)), promise
        case ProjectedGradient(_, InverseSqrt()):
            promise = _of_sqrt(rule, given)
            return replace(rule, step=InverseSqrt(promise.eta)), promise
        case ProjectedGradient(_, Constant()):
            promise = _of_projection(rule, given)
            return replace(rule, step=Constant(promise.eta)), promise
        case AdaGrad():
            promise = _of_adagrad(rule, given)
            return replace(rule, eta=promise.eta), promise
    raise PartError(f"no theorem tunes a rate of {rule}: it has none, or is tuned by the losses (σ, λ) alone")


def _of_leader(player: Any, given: Given) -> Promise:
    """THM-2.11+, which is THM-2.21 for all of f_t instead of its tangent: the same rate, the same promise."""
    _refuse_late(given)
    if isinstance(player.mirror, UnnormalisedEntropy):
        raise PartError("the unnormalised entropy is not strongly convex on its set: THM-2.11 does not speak of it")
    return replace(_of_mirror(player.mirror, given), id="THM-2.11+")


def _of_mirror(mirror: Mirror, given: Given) -> Promise:
    t, g = given.rounds, given.lipschitz
    match mirror:
        case Euclidean():
            _require_sized(mirror.domain, given)
            start = mirror.domain.projection(np.zeros(given.d))
            size = given.size(mirror.domain.reach(2, given.d))
            height = math.sqrt(max(size * size - float(start @ start), 0.0)) or size  # B² = max ‖u‖² − ‖w₁‖²
            eta = mirror.tuned_rate(height, g, t, given.d)
            name = "EQ-2.15" if isinstance(mirror.domain, Reals) else "LAZY+"
            return given.promise(name, "BG√T", eta, height * g * math.sqrt(t), size)
        case PNorm(p):
            size = given.size(math.inf)
            bound = size * g * math.sqrt((p - 1) * t)
            told = "BG√((p−1)T)", mirror.tuned_rate(size, g, t, given.d), bound, size
            return given.promise("COR-2.18", *told, premise="‖z_t‖_p ≤ G")
        case Entropy(total):
            _require_counted(given)
            bound = total * g * math.sqrt(2 * t * math.log(max(given.d, 2)))
            told = "BG√(2T ln d)", mirror.tuned_rate(total, g, t, given.d), bound, total
            return given.promise("COR-2.14", *told, premise="max|z_t[i]| ≤ G")
        case UnnormalisedEntropy(start) if not given.delay:
            _require_counted(given)
            size, mass = given.size(math.inf), given.d * start
            eta = mirror.tuned_rate(size, g, t, given.d)
            gain = mass + max(0.0, size * (math.log(size / start) - 1))
            told = "G√(2K·dλT), K = dλ + [B ln(B/(eλ))]₊", eta, g * math.sqrt(2 * gain * mass * t), size
            return given.promise("THM-2.23+", *told, premise="0 ≤ z_t[i] ≤ G")
    raise PartError(f"no theorem tunes a rate of {mirror}" + (" for late answers" if given.delay else ""))


def _of_projection(rule: ProjectedGradient, given: Given) -> Promise:
    """THM-14.5: η = D₁/(G√T), D₁ = max‖w₁ − u‖; from w₁ = Π(0), no u is farther than ‖u‖."""
    domain = rule.domain
    if rule.start is None:
        _require_sized(domain, given)
    d = given.d if rule.start is None else rule.start.size
    away = given.size(farthest(domain, rule.first(d), d, domain.diameter(d)))
    root = math.sqrt(given.rounds)
    return given.promise("THM-14.5", "D₁G√T", away / (given.lipschitz * root), away * given.lipschitz * root, away)


def _of_sqrt(rule: ProjectedGradient, given: Given) -> Promise:
    """EQ-8 on a ball of radius U: η = √2·U/G; on other bounded sets THM-4.1.3, η = D/(G√2), which gives DG√(2T)."""
    domain, root, g = rule.domain, math.sqrt(given.rounds), given.lipschitz
    _refuse_late(given)
    if isinstance(domain, L2Ball):
        size = domain.reach(2, given.d)
        told = math.sqrt(2) * size / g, size * g * math.sqrt(8) * root, size
        return given.promise("EQ-8", "UG√(8T)", *told)
    _require_sized(domain, given)
    wide = domain.diameter(given.d)
    if not wide < math.inf:
        raise PartError(f"η/√t needs a bounded domain to promise anything, not {domain.name}: use L2Ball")
    return given.promise("THM-4.1.3", "DG√(2T)", wide / (g * math.sqrt(2)), wide * g * math.sqrt(2) * root, wide)


def _of_adagrad(rule: AdaGrad, given: Given) -> Promise:
    """ADAGRAD with η = D_∞/√2: √2·D_∞Σ_j√S_j + D_∞dβ/√2, and Σ_j√S_j ≤ G√(dT) by Cauchy and Schwarz."""
    _refuse_late(given)
    if not rule.domain.reach(math.inf, given.d) < math.inf:
        raise PartError("AdaGrad promises something on bounded domains only: use AdaGrad(eta, Box(low, high))")
    _require_counted(given)
    wide = min(2 * rule.domain.reach(math.inf, given.d), rule.domain.diameter(given.d))
    bound = math.sqrt(2 * given.d * given.rounds) * wide * given.lipschitz + wide * given.d * rule.beta / math.sqrt(2)
    return given.promise("ADAGRAD", "D_∞G√(2dT) + D_∞dβ/√2", wide / math.sqrt(2), bound, wide)


def _require_counted(given: Given) -> None:
    if not given.counted:
        raise PartError("its best rate depends on the number of coordinates: give dimension")


def _require_sized(domain: Domain, given: Given) -> None:
    """Refuse a set whose size depends on the number of coordinates, which was not told: a box of d is √d as wide."""
    if not (given.counted or isinstance(domain, Reals | L2Ball | L1Ball)):
        raise PartError(f"the size of a {domain.name} depends on the number of coordinates: give dimension")


def _refuse_late(given: Given) -> None:
    if given.delay:
        raise PartError("late answers are tuned for at a constant rate: use zoo.ogd_eager or zoo.ogd_lazy")
