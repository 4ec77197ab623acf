"""How far each expert is trusted on log losses: weights by likelihood, a share for all (MIX-SHARE)."""

from __future__ import annotations

import math

import numpy as np

from lowregret.auto.learner import EXPERTS, GAP, LOSSES, PRODUCTS
from lowregret.compile.kernel import apart
from lowregret.compile.simd import LANES, load, somewhere, spread, store, total, where
from lowregret.types import Cells

FAINT = 1e-200  # products of likelihoods below this are made losses

_LOW, _HIGH, _LOSSES = np.uint64(0), np.uint64(LANES), np.uint64(LOSSES)
_FEW = np.array([1.0] * (EXPERTS - LANES) + [0.0] * (2 * LANES - EXPERTS))  # which of the second eight are experts


def share_trust(trust: Cells, likelihoods: Cells, weight: float, t: float, rate: float) -> None:
    """w ← (1 − 1/(t+1))·w·likelihood^(weight·rate)/Σ + (1/(t+1))/N for the N experts whose losses are finite.

    `rate` ≤ 1 is how much of a row's verdict counts, since those of rows that wait together are much alike.

    The loss of an expert is that kept less the logarithm of its product, so that few logarithms are taken.
    """
    if weight == 1.0 and rate == 1.0:
        likely, others = load(likelihoods, _LOW), load(likelihoods, _HIGH)
        store(trust, _LOW, load(trust, _LOW) * likely)
        store(trust, _HIGH, load(trust, _HIGH) * others)
        low, high = load(trust, PRODUCTS + _LOW) * likely, load(trust, PRODUCTS + _HIGH) * others
        store(trust, PRODUCTS + _LOW, low)
        store(trust, PRODUCTS + _HIGH, high)
        if somewhere((spread(FAINT) > low) | (spread(FAINT) > high)):
            settle(trust)
    else:
        weigh(trust, likelihoods, weight, rate)
    low, high = load(trust, _LOW), load(trust, _HIGH)
    share, nil, endless = 1.0 / (t + 1.0), spread(0.0), spread(math.inf)
    here, there = endless > load(trust, _LOSSES), endless > load(trust, _LOSSES + _HIGH)
    few, many = where(here, spread(1.0), nil), where(there, load(_FEW, _LOW), nil)
    kept, each = (1.0 - share) / total(low + high), share / total(few + many)
    store(trust, _LOW, low * kept + few * each)
    store(trust, _HIGH, high * kept + many * each)


@apart
def fade_trust(trust: Cells, power: float) -> None:
    """w ← w^power/Σ, power ≤ 1, for the N experts whose losses are finite: the rate falls by this factor.

    −(ln w)/rate, which an expert has lost beyond the mixture, grows by ln Σ w^power/(power·rate) at most, and
    Σ w^power ≤ N^(1 − power). So rates that fall from r to s cost (1/s − 1/r)·ln N in all.
    """
    mass = 0.0
    for k in range(EXPERTS):
        if trust[LOSSES + k] < math.inf:
            trust[k] = trust[k] ** power
            mass += trust[k]
    for k in range(EXPERTS):
        trust[k] /= mass


@apart
def settle(trust: Cells) -> None:
    """Make losses of the products."""
    for k in range(EXPERTS):
        trust[LOSSES + k] -= math.log(trust[PRODUCTS + np.uint64(k)])
    store(trust, PRODUCTS + _LOW, spread(1.0))
    store(trust, PRODUCTS + _HIGH, spread(1.0))


@apart
def weigh(trust: Cells, likelihoods: Cells, weight: float, rate: float) -> None:
    """w ← w·likelihood^(weight·rate) up to a factor, for weights or rates other than 1.

    The gap is what the mixture lost beyond the mix loss −ln(Σ w·likelihood^power)/rate, power = weight·rate, which is
    nothing for powers ≤ 1.
    """
    power = weight * rate
    mixed = mass = highest = 0.0
    for k in range(EXPERTS):
        if trust[LOSSES + k] < math.inf:
            highest = max(highest, likelihoods[k])
            mixed += trust[k] * likelihoods[k]
    for k in range(EXPERTS):
        if trust[LOSSES + k] < math.inf:
            loss = -weight * math.log(likelihoods[k])
            trust[LOSSES + k] += loss
            trust[k] *= math.exp(-rate * loss - power * math.log(highest))
            mass += trust[k]
    if power > 1.0:
        trust[GAP] += max(math.log(mass) - power * math.log(mixed / highest), 0.0) / rate
