"""Certificates: theorems evaluated on observed quantities, their premises checked on the data."""

from __future__ import annotations

from dataclasses import replace

from lowregret.certificate.certificate import Certificate, Premise, no_theorem
from lowregret.certificate.evidence import Evidence, evidence, natural_comparator, support
from lowregret.certificate.promise import Promise, Tuned, tuned
from lowregret.certificate.theorems import LINEARISED, THEOREMS, Theorem
from lowregret.domain import Domain
from lowregret.learner.linear import Learner
from lowregret.loss.verify import MetScores
from lowregret.state import State

__all__ = [
    "THEOREMS",
    "Certificate",
    "Evidence",
    "Premise",
    "Promise",
    "Theorem",
    "Tuned",
    "certificates",
    "evaluate",
    "evidence",
    "natural_comparator",
    "no_theorem",
    "support",
    "tightest",
    "tuned",
]


def certificates(
    learner: Learner,
    state: State,
    comparator: Domain | None = None,
    met: MetScores | None = None,
    late: bool = False,
) -> list[Certificate]:
    """Every certificate that speaks of this learner, tightest first: those whose premises fail come last.

    `late`: slopes are those at earlier scores, so that how losses curve does not help.
    """
    found = evidence(learner, state, comparator or natural_comparator(learner, state.dimension), met)
    return evaluate(replace(found, curvature=0.0) if late else found, late)


def evaluate(e: Evidence, late: bool = False) -> list[Certificate]:
    """Every theorem on one piece of evidence, tightest first; LEM-2.5 alone where no other speaks of the learner."""
    spoken = [t for t in THEOREMS if t.applies(e.learner) and not t.lacks(e) and not (late and t.curved)]
    if all(t.beside for t in spoken):
        spoken.append(LINEARISED)
    return sorted((t.evaluate(e) for t in spoken), key=lambda c: (not c.premises_hold, c.bound))


def tightest(found: list[Certificate]) -> Certificate:
    """The headline: the smallest bound among those whose premises hold, or the first failed one, which says why."""
    return found[0]
