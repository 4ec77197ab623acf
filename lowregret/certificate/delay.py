"""Certificates of answers that come late, and the ledger of lateness that they read.

Round s is decided with w_s; when its answer arrives, the iterate is v_s, and it moves by z_s = ∂f_s(w_s). In order of
arrival this is an undelayed run on the linear losses z_s, which plays the v_s: all theorems about LinReg hold for it.
The rest of what lateness costs is the *drift*, which is known exactly:

    Σ_s⟨w_s − u, z_s⟩ = Σ_s⟨v_s − u, z_s⟩ + Σ_s⟨w_s − v_s, z_s⟩

and is bounded by how far the iterate travelled meanwhile. A step of a projected or mirrored rule is at most η‖z‖_*/σ
long (projections do not lengthen steps; the link is 1/σ-Lipschitz), so with A the sum of η‖z‖_* over the steps so far,

    ⟨w_s − v_s, z_s⟩ ≤ ‖z_s‖_*·(A at arrival − A at decision)/σ                                            (DELAY)

Theorems that know more of a loss than its tangent (how it curves, what it adds to the dual) know it around w_s, where
the rule no longer is: of late answers they say nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace

from lowregret.certificate.certificate import Certificate
from lowregret.certificate.theorems import LINEARISED
from lowregret.learner.late import DRIFT, LAGGED
from lowregret.learner.linear import Learner, Linear
from lowregret.mirror.base import dual_exponent as dual_of
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.types import Vector

NAMES = ("travelled", "lagged", "drift", "weight", "wrong")
WEIGHT = 3  # Σ of the importance weights of answers
WRONG = 4  # the same over mistakes
BOOK = len(NAMES)


def dual_exponent(learner: Linear) -> float:
    """The p of the norm ‖·‖_p in which steps are measured; NaN where none is known."""
    rule = learner.rule
    return dual_of(rule.mirror.exponent) if isinstance(rule, MirrorDescent) else 2.0


def late_name(theorem: str) -> str:
    """The name of a theorem to whose bound the drift was added; the linearised regret is that of late answers too."""
    return theorem if theorem == LINEARISED.id else f"{theorem}+DRIFT"


def late_certificates(learner: Learner, found: list[Certificate], ledger: Vector, pending: int) -> list[Certificate]:
    """Certificates of a delayed run: those of the run in order of arrival, plus the drift.

    DELAY bounds the drift too, in advance: it holds for every order of arrival, and every rate that does not grow.
    The drift is a sum of as many terms, each the difference of two that are no larger than those of Σ⟨v_s, z_s⟩, and
    so of twice its rounding.
    """
    drift, lagged = float(ledger[DRIFT]), float(ledger[LAGGED])
    details = {"drift": drift, "pending": float(pending)}
    about = f", over the rounds answered ({pending} pending)" if pending else ""
    if drift == 0.0 and lagged == 0.0:  # no answer was late
        return [replace(c, statement=c.statement + about, details=details) for c in found]
    late = [
        replace(
            c,
            id=late_name(c.id),
            statement=f"{c.statement}{'' if c.id == LINEARISED.id else ' + Σ⟨w_s − v_s, z_s⟩'}{about}",
            linear_regret=None if c.linear_regret is None else c.linear_regret + drift,
            bound=c.bound + drift,
            details=details,
            rounding=3 * c.rounding,
        )
        for c in found
    ]
    base, strength = _base(learner) if isinstance(learner, Linear) and not learner.ridge else ("", 1.0)
    late += [
        replace(
            c,
            id="DELAY",
            statement=f"{found[k].statement} + Σ‖z_s‖(A'_s − A_s){about}",
            bound=found[k].bound + lagged / strength,
        )
        for k, c in enumerate(late)
        if found[k].id == base
    ]
    return sorted(late, key=lambda c: (not c.premises_hold, c.bound))


def _base(learner: Linear) -> tuple[str, float]:
    """The theorem that DELAY rests on, and σ; none where nothing is known about the length of a step."""
    rule = learner.rule
    if isinstance(rule, ProjectedGradient):
        return ("THM-14.5" if rule.step.constant else "EAGER-DEC"), 1.0
    if not isinstance(rule, MirrorDescent):
        return "", 1.0
    known = rule.step.constant and not math.isnan(dual_exponent(learner))
    return ("THM-2.21" if known else ""), rule.mirror.strength()
