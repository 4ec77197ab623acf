"""A step of eight lanes on the logistic loss, and of the mixture on log losses."""

from __future__ import annotations

import math

import numpy as np

from lowregret.auto.lanes import Eight, between, larger, smaller, spread, total
from lowregret.state import Cells

CERTAIN = 30.0  # scores are kept within ±this: no expert is surer than 1 − 10⁻¹³
FLAT = 1e-4  # least curvature that the filters believe in
CLOSE = np.float32(0.1)  # the last step of Halley's method: what is left is a cube of that
FAINT = 1e-200  # products of likelihoods below this are made losses

_NIL, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)
_HALF, _SIXTH, _TWENTY_FOURTH = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_SHRINK = np.float32(1 / 128)


def logistic(u: Eight) -> Eight:
    """1/(1 + e^u), to a thousandth for |u| ≤ 40: e^u is a polynomial at u/128, squared seven times."""
    y = u * _SHRINK
    square = y * y
    e = (_ONE + y) + square * (_HALF + y * _SIXTH) + square * square * _TWENTY_FOURTH
    for _ in range(7):
        e = e * e
    return _ONE / (_ONE + e)


def implicit(m: Eight, mu: Eight) -> Eight:
    """σ(−z) at the root z of z = m + μσ(−z), μ ≥ 0, by Halley's method, to a thousandth for μ ≤ 10⁴.

    It begins where z cannot be below: σ(−z) ≥ ½ up to 0.
    """
    z = larger(m, smaller(m + mu * _HALF, spread(_NIL)))
    s = logistic(z)
    for _ in range(5):
        excess, bend = z - m - mu * s, mu * (s * (_ONE - s))
        slope = _ONE + bend
        step = _TWO * (excess * slope) / (_TWO * (slope * slope) + excess * bend * (_ONE - _TWO * s))
        z = z - step
        s = logistic(z)
        if total(abs(step)) < CLOSE:
            break
    return s


def margins(p: Eight, y: float) -> Eight:
    """y·p, kept within ±CERTAIN."""
    return between(p * np.float32(y), spread(np.float32(CERTAIN)))


def slopes(p: Eight, y: float, weight: float) -> Eight:
    """Of the loss at the lanes' scores, negated by the label."""
    return logistic(margins(p, y)) * np.float32(weight)


def logit_answer(p: Eight, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
    """The implicit slope of each lane, negated, if ⟨z, H⁻¹z⟩ = q, and the curvature there."""
    much = np.float32(weight)
    s = implicit(margins(p, y), q * much)
    bend = larger(s * (_ONE - s), spread(np.float32(FLAT)))
    return s * np.float32(weight * y), bend * much


def share_trust(trust: Cells, likelihoods: Cells, at: tuple[int, int, int, int], weight: float, t: float) -> None:
    """w ← (1 − 1/(t+1))·w·likelihood^weight/Σ + (1/(t+1))/N; `at`: where losses, products and the gap are, and N.

    The loss of an expert is that kept less the logarithm of its product, so that few logarithms are taken. The gap is
    what the mixture lost beyond the mix loss −ln Σ w·likelihood^weight, which is nothing for weights ≤ 1.
    """
    losses, products, gap, count = at
    mixed = total = highest = 0.0
    lowest = 1.0
    for k in range(count):
        highest = max(highest, likelihoods[k])
        mixed += trust[k] * likelihoods[k]
    for k in range(count):
        chance = likelihoods[k]
        if weight == 1.0:
            trust[products + k] *= chance
            lowest = min(lowest, trust[products + k])
            trust[k] *= chance
        else:
            loss = -weight * math.log(chance)
            trust[losses + k] += loss
            trust[k] *= math.exp(-loss - weight * math.log(highest))
        total += trust[k]
    if lowest < FAINT:
        for k in range(count):
            trust[losses + k] -= math.log(trust[products + k])
            trust[products + k] = 1.0
    if weight > 1.0:
        trust[gap] += max(math.log(total) - weight * math.log(mixed / highest), 0.0)
    share = 1.0 / (t + 1.0)
    keep, each = (1.0 - share) / total, share / count
    for k in range(count):
        trust[k] = keep * trust[k] + each
