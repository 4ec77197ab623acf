"""Promises of tuned aggregators, known before the first round."""

from __future__ import annotations

import math

from lowregret.certificate import Promise
from lowregret.errors import PartError
from lowregret.experts.aggregator import Aggregator, Descent, FixedShare, Hedge, path_price

PREMISE = "losses of a round differ by ≤ G"


def promised(aggregator: Aggregator, experts: int, rounds: int, spread: float = 1.0, switches: int = 0) -> Promise:
    """The bound on the regret to every expert (to every path of `switches` switches), whatever the losses.

    For a uniform prior. `spread` is M ≥ max_i ℓ_t[i] − min_i ℓ_t[i] in every round.
    """
    surprise, grown = math.log(max(experts, 1)), rounds * spread**2
    match aggregator:
        case Hedge(eta):
            bound = surprise / eta + eta / 8 * grown
            return Promise("THM-14.15", "ln N/η + ηG²T/8", eta, bound, 1.0, spread, rounds, PREMISE)
        case FixedShare(eta, share):
            bound = path_price(surprise, share, switches, rounds) / eta + eta / 8 * grown
            return Promise("SHARE", "K/η + ηG²T/8", eta, bound, 1.0, spread, rounds, PREMISE)
        case Descent(eta):
            bound = (1 - 1 / max(experts, 1)) / (2 * eta) + eta / 8 * experts * grown
            return Promise("LAZY+", "(1 − 1/N)/(2η) + (η/8)NG²T", eta, bound, 1.0, spread, rounds, PREMISE)
    raise PartError(f"{type(aggregator).__name__} has no rate to tune: its bound is on what is observed")
