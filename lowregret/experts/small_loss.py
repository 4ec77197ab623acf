"""THM-3.1: exponential weights on losses in [0, 1], in terms of the loss of the best expert and in terms of T.

With L[k] the loss of expert k, π[k] its prior and L(p) = Σℓ(p_t, y_t) ≤ Σ_tΣ_i w_t[i]ℓ_t[i], for every k

    (1)   L(p) ≤ L[k] + ln(1/π[k])/η + ηT                          (1) +   … + min(ηT/8, (η/2)Σ_tΣ_i w_t[i]ℓ_t[i]²)
    (2)   L(p) ≤ (L[k] + ln(1/π[k])/η)/(1 − η),  η < 1             (2) +   (ηL[k] + ln(1/π[k]))/(1 − e^{−η})

(1) of + is THM-2.22+ and Hoeffding's lemma. (2) of +: e^{−ηℓ} ≤ 1 − (1 − e^{−η})ℓ on [0, 1], so that a round multiplies
Σπe^{−ηL} by at most exp(−(1 − e^{−η})Σ_i w_t[i]ℓ_t[i]).
"""

from __future__ import annotations

import math
from sys import float_info
from typing import NamedTuple

import numpy as np

from lowregret.certificate import Premise
from lowregret.experts.state import NAPS, ROUNDS, SECOND, TALLEST, UNDER, Book
from lowregret.types import Vector


class SmallLoss(NamedTuple):
    """One form of THM-3.1: `loss` bounds Σℓ(p_t, y_t), `formula` says how."""

    id: str
    formula: str
    loss: float
    premises: tuple[Premise, ...] = ()


def small_losses(eta: float, rounds: int, losses: Vector, prior: Vector, second: float) -> list[SmallLoss]:
    """The four forms, each at the expert that makes it smallest: O(N). `second` is Σ_tΣ_i w_t[i]ℓ_t[i]²."""
    known = prior > 0
    owed = float(np.min(losses[known] - np.log(prior[known]) / eta))  # min_k L[k] + ln(1/π[k])/η
    slow = Premise("η < 1", eta < 1, eta)
    curved = min(eta * rounds / 8, eta / 2 * second)
    return [
        SmallLoss("THM-3.1(1)", "L[k] + ln(1/π[k])/η + ηT", owed + eta * rounds),
        SmallLoss("THM-3.1(2)", "(L[k] + ln(1/π[k])/η)/(1 − η)", owed / (1 - eta) if eta < 1 else math.inf, (slow,)),
        SmallLoss("THM-3.1+(1)", "L[k] + ln(1/π[k])/η + min(ηT/8, (η/2)ΣΣw_tℓ_t²)", owed + curved),
        SmallLoss("THM-3.1+(2)", "(ηL[k] + ln(1/π[k]))/(1 − e^{−η})", eta * owed / -math.expm1(-eta)),
    ]


def small_losses_of(eta: float, s: Book) -> list[SmallLoss]:
    """The four forms of a book of exponential weights on the losses as they are, with what must be so."""
    low, high = float(s.sums[UNDER]), float(s.sums[TALLEST])
    unit = Premise("losses of experts lie in [0, 1]", low == 0 and high <= 1, (-low, high))
    awake = Premise("no expert slept", int(s.counts[NAPS]) == 0, int(s.counts[NAPS]))
    rounds = int(s.counts[ROUNDS])
    second = float(s.sums[SECOND]) + rounds * s.prior.size * float_info.min  # squares that vanish are no 0
    found = small_losses(eta, rounds, s.losses, s.prior, second)
    return [c._replace(premises=(unit, awake, *c.premises)) for c in found]
