"""A step of eight lanes on the logistic loss, and of the mixture on log losses."""

from __future__ import annotations

import math

import numpy as np

from lowregret.auto.lanes import Eight, all_of, at_least, between, implicit, logistic, minus, times
from lowregret.state import Cells

CERTAIN = 30.0  # scores are kept within ±this: no expert is surer than 1 − 10⁻¹³
FLAT = 1e-4  # least curvature that the filters believe in


def margins(p: Eight, y: float) -> Eight:
    """y·p, kept within ±CERTAIN."""
    return between(times(all_of(np.float32(y)), p), np.float32(CERTAIN))


def squared_slopes(p: Eight, y: float, weight: float) -> Eight:
    """Of each AdaGrad lane; 0 for the others."""
    g, nil = times(all_of(np.float32(weight)), logistic(margins(p, y))), np.float32(0)
    return (g[0] * g[0], g[1] * g[1], g[2] * g[2], g[3] * g[3], nil, nil, nil, nil)


def logit_answer(p: Eight, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
    """The implicit slope of each lane, negated, if ⟨z, H⁻¹z⟩ = q, and the curvature there."""
    much = all_of(np.float32(weight))
    s = implicit(margins(p, y), times(much, q))
    bend = at_least(times(s, minus(all_of(np.float32(1)), s)), np.float32(FLAT))
    return times(times(much, all_of(np.float32(y))), s), times(much, bend)


def share_trust(trust: Cells, likelihoods: Cells, at: tuple[int, int, int], weight: float, t: float) -> None:
    """w ← (1 − 1/(t+1))·w·likelihood^weight/Σ + (1/(t+1))/N; `at`: where N losses and the gap are kept, and N.

    The gap is what the mixture lost beyond the mix loss −ln Σ w·likelihood^weight, which is nothing for weights ≤ 1.
    """
    losses, gap, count = at
    mixed = total = highest = 0.0
    for k in range(count):
        highest = max(highest, likelihoods[k])
        mixed += trust[k] * likelihoods[k]
    for k in range(count):
        chance = likelihoods[k]
        loss = -weight * math.log(chance)
        trust[losses + k] += loss
        trust[k] *= chance if weight == 1.0 else math.exp(-loss - weight * math.log(highest))
        total += trust[k]
    if weight > 1.0:
        trust[gap] += max(math.log(total) - weight * math.log(mixed / highest), 0.0)
    share = 1.0 / (t + 1.0)
    for k in range(count):
        trust[k] = (1.0 - share) * trust[k] / total + share / count
