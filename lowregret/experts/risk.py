"""Risk of mixtures: bounds for rounds yet to come, if all are drawn independently from one source.

Online to batch ([docs/risk.md]): the weights w_t of round t have not seen it, so ℓ(p_t, y_t) is a fair look at their
risk C(w_t), the expected loss on a new round. Losses are cut off where the loss of some expert exceeds M, a power of
two that has a share of δ set aside for it, so that it may be read off the rounds; then ℓ(p) ≤ M, for a mixture loses no
more than its worst expert. C is convex in the weights of a mean, so the averaged weights w̄ = (1/T)Σw_t carry the bound.

THM-14.15-HP, the closing remark on Hedge (Azuma, both ways): with probability 1 − δ

    C(w̄) ≤ min_k C(k) + regret/T + M√(2 ln(2/δ)/T)

for the best expert of the source is one fixed expert: its mean loss exceeds C(k) by M√(ln(2/δ)/(2T)) at most.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Premise
from lowregret.experts.state import NAPS, OWN, ROUNDS, TALLEST, UNDER, VARIED, Book, behind_each
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.risk.bounds import HUGE, INDEPENDENT, power_of_two
from lowregret.risk.online_to_batch import DRAWN, RiskCertificate, o2b_eb, o2b_hp, require_delta
from lowregret.types import Vector
from lowregret.words import rounded_up

AVERAGED = "the averaged weights"
WORD = "your word: say independent=True if it is so; rounds that follow each other in time seldom are"


def among_experts(substitution: Substitution) -> list[Premise]:
    """The premise that a mixture loses no more than its worst expert, where nothing is known of who makes forecasts."""
    known = isinstance(substitution, Mean | SquareOn | BrierSimplex)
    name = type(substitution).__name__
    return [] if known else [Premise("a mixture loses no more than its worst expert", False, f"unknown of {name}")]


def mixture_risks(
    s: Book, drift: Vector, delta: float, independent: bool, averaged: bool, premises: Sequence[Premise]
) -> list[RiskCertificate]:
    """O2B-EB, O2B-HP and, if nobody slept, THM-14.15-HP, each with probability 1 − δ by itself: the headline first.

    They speak of the weights that outcomes found, whose losses are less by the drift than those of forecasts given.
    """
    require_delta(delta)
    rounds = int(s.counts[ROUNDS])
    ceiling, price = power_of_two(float(s.sums[TALLEST]))
    if not rounds or not ceiling < HUGE:
        return []
    known = (
        Premise(INDEPENDENT, bool(independent), WORD),
        Premise("no loss of an expert is below 0", bool(s.sums[UNDER] == 0), -float(s.sums[UNDER])),
        *premises,
    )
    output = AVERAGED if averaged else DRAWN
    found = _found(s, drift, delta, ceiling, price, output)
    return [replace(c, premises=known, delta=delta) for c in found]


def _found(
    s: Book, drift: Vector, delta: float, ceiling: float, price: float, output: str
) -> Iterator[RiskCertificate]:
    """The bounds with δ/2 each; the other half pays for how many rounds may lie outside."""
    rounds, total = int(s.counts[ROUNDS]), float(s.sums[OWN] - drift[-1])
    log_inverse = math.log(2 / delta) + price
    outside = log_inverse / rounds
    details = {"outside": outside, "ceiling": ceiling}
    where = f"every expert's loss is ≤ {ceiling:.4g}"
    rest = f"of other rounds, a share of at most {rounded_up(min(outside, 1.0), 2)}, nothing is said"
    said: dict[str, Any] = {"output": output, "of": "loss", "details": details}
    varied = min(float(s.sums[VARIED]), rounds * ceiling**2)  # not known of runs from older files
    for c in (
        o2b_eb(total, varied, rounds, ceiling, log_inverse, delta, **said),
        o2b_hp(total, rounds, rounds, ceiling, log_inverse, delta, **said),
    ):
        yield replace(c, statement=f"E[loss where {where}] ≤ {c.statement}; {rest}")
    if not s.counts[NAPS]:
        regret = float(np.max(behind_each(s) - drift[:-1]))
        bound = regret / rounds + ceiling * math.sqrt(2 * (log_inverse + math.log(2)) / rounds)
        statement = f"C − min_k C(k) where {where} ≤ regret/T + M√(2 ln(2/δ)/T)"
        yield RiskCertificate("THM-14.15-HP", statement, output, "excess", bound, delta, details=details)
