"""Promises of tuned aggregators, known before the first round."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from lowregret.certificate import Promise
from lowregret.errors import PartError
from lowregret.experts.aggregator import Aggregator, Descent, FixedShare, Hedge, path_price
from lowregret.experts.state import as_prior

PREMISE = "losses of a round differ by ≤ G"


class Surprise(NamedTuple):
    """How far the expert that a prior trusts least is from it: ln 1/π, and ‖e − π‖²."""

    log: float
    far: float

    @classmethod
    def of(cls, experts: int, prior: Any = None) -> Surprise:
        """The surprise of a prior over this number of experts, uniform if there is none."""
        if prior is None:
            return cls(math.log(max(experts, 1)), 1 - 1 / max(experts, 1))
        trust = as_prior(prior, experts)
        least = float(trust.min())
        return cls(-math.log(least) if least > 0 else math.inf, float(trust @ trust) + 1 - 2 * least)


def promised(
    aggregator: Aggregator, experts: int, rounds: int, spread: float = 1.0, switches: int = 0, prior: Any = None
) -> Promise:
    """The bound on the regret to every expert (to every path of `switches` switches), whatever the losses.

    `spread` is M ≥ max_i ℓ_t[i] − min_i ℓ_t[i] in every round; `prior` is uniform if none is given.
    """
    (surprise, far), grown = Surprise.of(experts, prior), rounds * spread**2
    log, apart = ("ln N", "(1 − 1/N)") if prior is None else ("ln(1/π)", "‖e − π‖²")
    match aggregator:
        case Hedge(eta):
            bound = surprise / eta + eta / 8 * grown
            return Promise("THM-14.15", f"{log}/η + ηG²T/8", eta, bound, 1.0, spread, rounds, PREMISE)
        case FixedShare(eta, share):
            bound = path_price(surprise, share, switches, rounds) / eta + eta / 8 * grown
            return Promise("SHARE", "K/η + ηG²T/8", eta, bound, 1.0, spread, rounds, PREMISE)
        case Descent(eta):
            bound = far / (2 * eta) + eta / 8 * experts * grown
            return Promise("LAZY+", f"{apart}/(2η) + (η/8)NG²T", eta, bound, 1.0, spread, rounds, PREMISE)
    raise PartError(f"{type(aggregator).__name__} has no rate to tune: its bound is on what is observed")
