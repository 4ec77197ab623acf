"""ALG-OMD-EST: any rule, fed with unbiased estimates of the sub-gradients instead of the sub-gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from lowregret.bandit.schema import EstimatedDescentSchema
from lowregret.certificate import Certificate, Premise, certificates, natural_comparator
from lowregret.compile.signals import let_in
from lowregret.compile.spec import to_json
from lowregret.compile.turns import in_turn
from lowregret.convex.functions import LinearFunction
from lowregret.domain import Domain
from lowregret.errors import DivergedError, PartError
from lowregret.learner.validate import finite_rows, is_whole, require_room
from lowregret.play.player import RuleSeat
from lowregret.rule import Rule
from lowregret.run.round_by_round import Contents, Recorded
from lowregret.state import TOTAL, State
from lowregret.store.file import Arrays
from lowregret.types import Vector


class EstimatedDescent(Recorded):
    """Play `point`, estimate a sub-gradient there from whatever is seen, `learn` the estimate. O(d) a round.

    THM-4.1: if E[z_t | past] ∈ ∂f_t(w_t) and the rule's own theorem bounds Σ⟨w_t − u, z_t⟩ on every path, then its
    expectation bounds E Σ(f_t(w_t) − f_t(u)) for every u fixed in advance.
    """

    kind = "estimated-descent"
    schema = EstimatedDescentSchema()

    def __init__(self, rule: Rule, dimension: int, comparator: Domain | None = None, *, compiled: bool = True) -> None:
        super().__init__()
        if not (isinstance(rule, Rule) and is_whole(dimension, 1)):
            raise PartError(f"a rule and a whole number of coordinates are needed, got {rule!r} and {dimension!r}")
        require_room(int(dimension), "coordinates")
        rule.fits(dimension)
        self.compiled, self.seat = compiled, RuleSeat(rule, dimension, compiled)
        self.comparator = comparator or natural_comparator(self.seat.learner, dimension)
        self.comparator.fits(dimension)

    @property
    def point(self) -> Vector:
        """w_t"""
        w = self.seat.point()
        if not np.all(np.isfinite(w)):
            raise DivergedError("the iterate is not finite: use a smaller step or a bounded domain")
        return w

    @in_turn
    def learn(self, estimates: Any) -> Self:
        """Rounds of estimates z_t, one row each (or a single one): E[z_t | past] is a sub-gradient of f_t at w_t."""
        for z in finite_rows(estimates, "the estimate", self.seat.state.dimension):
            self.seat.see(LinearFunction(z), z)
            self._mark()
            let_in()
        return self

    @property
    def rounds(self) -> int:
        """Estimates learnt."""
        return self.seat.state.rounds

    @property
    def loss(self) -> float:
        """Σ⟨w_t, z_t⟩: the loss of the estimates, as the costs themselves are not seen."""
        return float(self.seat.state.sums[TOTAL])

    @property
    def certificates(self) -> list[Certificate]:
        """THM-4.1 by each of the rule's theorems: both numbers are this run's, and unbiased for their expectations."""
        return [_in_expectation(path) for path in certificates(self.seat.learner, self.seat.state, self.comparator)]

    def _of(self) -> str:
        return type(self.seat.learner.rule).__name__

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description = {
            "rule": to_json(self.seat.learner.rule),
            "comparator": to_json(self.comparator),
            "dimension": self.seat.state.dimension,
            "compiled": self.compiled,
        }
        return description, self.seat.arrays()

    @classmethod
    def _made(cls, found: Contents) -> Self:
        d, compiled = found.tell("dimension", "compiled")
        made = cls(found.part("rule"), d, found.part("comparator"), compiled=compiled)
        made.seat.state = found.record(State)
        return made


def _in_expectation(path: Certificate) -> Certificate:
    """A theorem on every path, whose numbers are of this one, as one on expectations."""
    assumed = (
        Premise("E[z_t | past] is a sub-gradient of f_t at w_t (assumed: it is the caller's estimator)", True),
        Premise("comparators and costs do not depend on the estimator's coins (assumed)", True),
    )
    return replace(
        path,
        id="THM-4.1",
        statement=f"E regret ≤ E of the regret on estimates ≤ E of {path.id}, on this run: {path.statement}",
        premises=(*path.premises, *assumed),
        measure="regret on estimates",
    )
