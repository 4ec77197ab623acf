"""ALG-OMD-EST: any rule, fed with unbiased estimates of the sub-gradients instead of the sub-gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise, certificates, natural_comparator
from lowregret.convex.functions import LinearFunction
from lowregret.domain import Domain
from lowregret.errors import DivergedError
from lowregret.learner.validate import finite_numbers
from lowregret.play.player import RuleSeat
from lowregret.rule import Rule
from lowregret.types import Vector


class EstimatedDescent:
    """Play `point`, estimate a sub-gradient there from whatever is seen, `see` the estimate. O(d) a round.

    THM-4.1: if E[z_t | past] ∈ ∂f_t(w_t) and the rule's own theorem bounds Σ⟨w_t − u, z_t⟩ on every path, then its
    expectation bounds E Σ(f_t(w_t) − f_t(u)) for every u fixed in advance.
    """

    def __init__(self, rule: Rule, dimension: int, comparator: Domain | None = None, *, compiled: bool = True) -> None:
        rule.fits(dimension)
        self.seat = RuleSeat(rule, dimension, compiled)
        self.comparator = comparator or natural_comparator(self.seat.learner, dimension)
        self.comparator.fits(dimension)

    @property
    def point(self) -> Vector:
        """w_t"""
        w = self.seat.point()
        if not np.all(np.isfinite(w)):
            raise DivergedError("the iterate is not finite: use a smaller step or a bounded domain")
        return w

    def see(self, estimate: Any) -> None:
        """An estimate z_t, its expectation given the past a sub-gradient of f_t at w_t."""
        z = finite_numbers(estimate, "the estimate", self.seat.state.dimension)
        self.seat.see(LinearFunction(z), z)

    @property
    def rounds(self) -> int:
        return self.seat.state.rounds

    @property
    def certificate(self) -> Certificate:
        """THM-4.1 by the rule's tightest theorem: both numbers are this run's, and unbiased for their expectations."""
        path = certificates(self.seat.learner, self.seat.state, self.comparator)[0]
        assumed = (
            Premise("E[z_t | past] is a sub-gradient of f_t at w_t (assumed: it is the caller's estimator)", True),
            Premise("comparators and costs do not depend on the estimator's coins (assumed)", True),
        )
        return replace(
            path,
            id="THM-4.1",
            statement=f"E regret ≤ E of the regret on estimates ≤ E of {path.id}: {path.statement}",
            premises=(*path.premises, *assumed),
            measure="expected regret, by the regret on estimates",
        )
