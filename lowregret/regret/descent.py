"""Projected gradient descent as it went, and what theory says of it against comparators that move.

DYN: with u_t ∈ S, P = Σ_{t<T}‖u_{t+1} − u_t‖, D ≥ ‖w_t − u‖ and rates that do not grow,

    Σ f_t(w_t) − f_t(u_t) ≤ D²/(2η_T) + DΣ_{t<T}‖u_{t+1} − u_t‖/η_t + ½Ση_t‖z_t‖²

as ⟨w_t − u_t, z_t⟩ ≤ (‖w_t − u_t‖² − ‖w_{t+1} − u_t‖²)/(2η_t) + η_t‖z_t‖²/2, and moving the comparator changes the
squared distance from w_{t+1} by at most 2D‖u_{t+1} − u_t‖. At a constant rate D² may be ‖w_1 − u_1‖² in the first term.

Steps are rounded: where w_{t+1} is off by e_t, ‖e_t‖ ≤ c·ε(‖w_t‖ + η_t‖z_t‖) with c operations, its squared distance
from u_t grows by at most 2D‖e_t‖ + ‖e_t‖², which the rounding has, divided by 2η_t and summed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.evidence import keeping, shape
from lowregret.certificate.rounding import EXTRA, VANISHING
from lowregret.compile.altered import is_own
from lowregret.compile.numerics import EPSILON, TOLERANCE, norm, norms, squared, squared_over
from lowregret.domain import Domain
from lowregret.domain.verify import outlier
from lowregret.learner.linear import Linear
from lowregret.rule import ProjectedGradient
from lowregret.state import ENERGY, FIRST_RATE, LAST_RATE, ROUNDS, STEPPED, State
from lowregret.step import Step
from lowregret.types import Vector

AGAIN = "the step gives the rates again that it gave"
SQUARES = "squares of sub-gradients are numbers, without which nobody knows where iterates are"


@dataclass(frozen=True)
class DescentTrace:
    """The domain, η_t and ‖z_t‖ of all rounds, w_1, and the largest ‖w_t‖."""

    domain: Domain
    constant: bool
    rates: Vector
    sizes: Vector
    start: Vector
    longest: float
    trusted: tuple[Premise, ...] = ()  # that parts of the user's own are what they say

    def spread(self, reach: float) -> float:
        """D: the domain's diameter, or what was seen if that is smaller; `reach` bounds ‖u‖."""
        return min(self.domain.diameter(self.start.size), self.longest + reach)

    def against(self, path: Any) -> Certificate:
        """DYN for a sequence of comparators."""
        moves = norms(np.diff(path, axis=0))
        d, eta = self.spread(float(np.max(norms(path)))), self.rates
        first = norm(self.start - path[0]) if self.constant else d
        bound = squared_over(first, 2 * eta[-1]) + d * float(np.sum(moves / eta[:-1])) + self._steps(slice(None))
        head = "‖w₁ − u₁‖²/(2η) + DP/η + (η/2)Σ‖z_t‖²"
        inside = all(self.domain.contains(u) for u in np.unique(path, axis=0))
        return Certificate(
            id="DYN",
            statement="regret against u_1 … u_T ≤ "
            + (head if self.constant else "D²/(2η_T) + DΣ‖u_{t+1} − u_t‖/η_t + ½Ση_t‖z_t‖²"),
            comparator={"set": "path", "length": float(np.sum(moves))},
            linear_regret=None,
            bound=bound,
            premises=(Premise(f"comparators lie in the learner's {self.domain.name}", inside), *self.trusted),
            rounding=self._rounding(slice(None), d, bound),
        )

    def within(self, begin: int, end: int, comparator: Domain) -> Certificate:
        """EAGER-DEC for rounds begin … end−1 alone: it does not matter where a window finds the iterate."""
        d, eta = self.start.size, self.rates[begin:end]
        spread = self.spread(comparator.reach(2, d))
        covered = self.domain.covers(comparator, d) and outlier(self.domain, comparator, d) is None
        trusted = (*self.trusted, *(shape(comparator, d) if comparator != self.domain else ()))
        bound = squared_over(spread, 2 * eta[-1]) + self._steps(slice(begin, end))
        return Certificate(
            id="EAGER-DEC",
            statement=f"regret in rounds {begin + 1} to {end} ≤ D²/(2η) + ½Ση_t‖z_t‖² of these rounds",
            comparator=comparator.describe(),
            linear_regret=None,
            bound=bound,
            premises=(Premise(f"comparators lie in the learner's {self.domain.name}", covered), *trusted),
            rounding=self._rounding(slice(begin, end), spread, bound),
        )

    def _steps(self, rounds: slice) -> float:
        """½Ση_t‖z_t‖² of these rounds."""
        return float(np.sum(self.sizes[rounds] * (self.rates[rounds] * self.sizes[rounds]))) / 2

    def _rounding(self, rounds: slice, spread: float, bound: float) -> float:
        """How far a bound may fall short, as its sums and all steps are rounded: Σ(D + ‖e_t‖)‖e_t‖/η_t and its own."""
        eta, operations = self.rates[rounds], self.start.size + EXTRA
        off = operations * EPSILON * (self.longest + eta * self.sizes[rounds])
        return float(np.sum((spread + off) * off / eta)) + (eta.size + operations) * EPSILON * bound


def descent_of(
    learner: Linear, s: State, sizes: Vector, start: Vector, longest: float, played: Any = None
) -> DescentTrace | None:
    """The steps of an eager rule that weighs all rounds alike, at rates that never grow; None for other rules.

    `s` is the state that it has come to, whose ledger parts of the user's own are held against.
    """
    rule = learner.rule
    if not isinstance(rule, ProjectedGradient) or rule.step.weighted() or not rule.step.falling:
        return None
    rates = rates_of(rule.step, sizes, np.ones(sizes.size, bool) if played is None else played)
    if np.any(np.diff(rates) > 0):  # a user's own, which says otherwise
        return None
    trusted = keeping(rule, start.size, s.sums, np.ascontiguousarray(s.theta))
    if np.any((sizes > 0) & (sizes < VANISHING)):
        trusted += (Premise(SQUARES, False, float(np.min(sizes[sizes > 0]))),)
    if is_own(rule.step):
        trusted += (Premise(AGAIN, _is_as_booked(rates, sizes, s)),)
    return DescentTrace(rule.domain, rule.step.constant, rates, sizes, start, longest, trusted)


def _is_as_booked(rates: Vector, sizes: Vector, s: State) -> bool:
    """Whether rates are those that the ledger tells of, as far as it does."""
    moved = rates[sizes > 0]
    if not moved.size:
        return True
    told, sums = np.array([s.sums[k] for k in (FIRST_RATE, LAST_RATE, STEPPED)]), float(np.sum(sizes * rates * sizes))
    return bool(np.allclose([moved[0], moved[-1], sums], told, rtol=TOLERANCE, atol=0.0))


def rates_of(step: Step, sizes: Vector, played: Any) -> Vector:
    """η_t as the rule had them. A round without gradient takes no step: at the ends it may borrow its neighbour's.

    A row that was not played is no round: the rate is still that of the round before.
    """
    s = State.zeros(1, 1, False)
    rates = np.empty(sizes.size)
    for t, size in enumerate(sizes.tolist()):
        rates[t] = step.rate(s, squared(size)) if played[t] or t == 0 else rates[t - 1]
        s.counts[ROUNDS] += int(played[t])
        s.sums[ENERGY] += squared(size)
    moved = np.flatnonzero(sizes)
    if moved.size:
        rates[: moved[0]] = rates[moved[0]]
        rates[moved[-1] :] = rates[moved[-1]]
    return rates
