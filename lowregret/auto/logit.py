"""A step of eight lanes on the logistic loss, and of the mixture on log losses."""

from __future__ import annotations

import math

import numpy as np

from lowregret.auto.learner import EXPERTS, GAP, LOSSES, PRODUCTS
from lowregret.compile.kernel import apart
from lowregret.compile.simd import LANES, Eight, between, larger, load, smaller, somewhere, spread, store, total
from lowregret.types import Cells

CERTAIN = 30.0  # scores are kept within ±this: no expert is surer than 1 − 10⁻¹³
FLAT = 1e-4  # least curvature that the filters believe in
CLOSE = np.float32(0.03)  # the last step of Halley's method: what is left is a cube of that
FAINT = 1e-200  # products of likelihoods below this are made losses

_NIL, _ONE, _TWO = np.float32(0), np.float32(1), np.float32(2)
_HALF, _SIXTH, _TWENTY_FOURTH = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_HUNDRED_TWENTIETH = np.float32(1 / 120)
_SHRINK = np.float32(1 / 128)
_C = tuple(1 / math.factorial(n) for n in range(12))
_LOW, _HIGH = np.uint64(0), np.uint64(LANES)
_FEW = np.array([1.0] * (EXPERTS - LANES) + [0.0] * (2 * LANES - EXPERTS))  # which of the second eight are experts


def logistic(u: Eight) -> Eight:
    """1/(1 + e^u), to 10⁻⁴ for |u| ≤ 30: e^u is a polynomial at u/128, squared seven times."""
    y = u * _SHRINK
    square = y * y
    e = (_ONE + y) + square * (_HALF + y * _SIXTH) + square * square * (_TWENTY_FOURTH + y * _HUNDRED_TWENTIETH)
    for _ in range(7):
        e = e * e
    return _ONE / (_ONE + e)


def exponential(u: Eight) -> Eight:
    """e^u for −40 ≤ u ≤ 0 in double precision, to 10⁻¹²: a polynomial at u/128, squared seven times."""
    y = u / 128.0
    y2 = y * y
    y4 = y2 * y2
    high = (_C[8] + y * _C[9]) + y2 * (_C[10] + y * _C[11])
    middle = (_C[4] + y * _C[5]) + y2 * (_C[6] + y * _C[7])
    e = (1.0 + y) + y2 * (_C[2] + y * _C[3]) + y4 * (middle + y4 * high)
    for _ in range(7):
        e = e * e
    return e


def implicit(m: Eight, mu: Eight) -> Eight:
    """σ(−z) at the root z of z = m + μσ(−z), μ ≥ 0, by Halley's method, to a thousandth for μ ≤ 10⁴."""
    z = beginning(m, mu)
    s = logistic(z)
    for _ in range(12):
        step = halley(m, mu, z, s)
        z = z - step
        s = logistic(z)
        if total(abs(step)) < CLOSE:
            break
    return s


def both_implicit(m: Eight, mu: Eight, n: Eight, nu: Eight) -> tuple[Eight, Eight]:
    """`implicit(m, mu)` and `implicit(n, nu)`, side by side in the time of one."""
    z, v = beginning(m, mu), beginning(n, nu)
    s, r = logistic(z), logistic(v)
    for _ in range(12):
        step, other = halley(m, mu, z, s), halley(n, nu, v, r)
        z, v = z - step, v - other
        s, r = logistic(z), logistic(v)
        if total(abs(step) + abs(other)) < CLOSE:
            break
    return s, r


def beginning(m: Eight, mu: Eight) -> Eight:
    """A point that z is not below, since σ(−z) ≥ ½ up to 0."""
    return larger(m, smaller(m + mu * _HALF, spread(_NIL)))


def halley(m: Eight, mu: Eight, z: Eight, s: Eight) -> Eight:
    """A step for z − m − μσ(−z) = 0, to be taken off z."""
    excess, bend = z - m - mu * s, mu * (s * (_ONE - s))
    slope = _ONE + bend
    return _TWO * (excess * slope) / (_TWO * (slope * slope) + excess * bend * (_ONE - _TWO * s))


def margins(p: Eight, y: float) -> Eight:
    """y·p, kept within ±CERTAIN."""
    return between(p * np.float32(y), spread(np.float32(CERTAIN)))


def slopes(p: Eight, y: float, weight: float) -> Eight:
    """The slopes of the loss at the lanes' scores, negated by the label."""
    return logistic(margins(p, y)) * np.float32(weight)


def bends(s: Eight, weight: float) -> Eight:
    """The curvature of the loss where σ(−z) = s."""
    return larger(s * (_ONE - s), spread(np.float32(FLAT))) * np.float32(weight)


def share_trust(trust: Cells, likelihoods: Cells, weight: float, t: float) -> None:
    """w ← (1 − 1/(t+1))·w·likelihood^weight/Σ + (1/(t+1))/N

    The loss of an expert is that kept less the logarithm of its product, so that few logarithms are taken.
    """
    if weight == 1.0:
        likely, others = load(likelihoods, _LOW), load(likelihoods, _HIGH)
        store(trust, _LOW, load(trust, _LOW) * likely)
        store(trust, _HIGH, load(trust, _HIGH) * others)
        low, high = load(trust, PRODUCTS + _LOW) * likely, load(trust, PRODUCTS + _HIGH) * others
        store(trust, PRODUCTS + _LOW, low)
        store(trust, PRODUCTS + _HIGH, high)
        if somewhere((spread(FAINT) > low) | (spread(FAINT) > high)):
            settle(trust)
    else:
        weigh(trust, likelihoods, weight)
    low, high = load(trust, _LOW), load(trust, _HIGH)
    share = 1.0 / (t + 1.0)
    kept, each = (1.0 - share) / total(low + high), share / EXPERTS
    store(trust, _LOW, low * kept + each)
    store(trust, _HIGH, high * kept + load(_FEW, _LOW) * each)


@apart
def settle(trust: Cells) -> None:
    """Make losses of the products."""
    for k in range(EXPERTS):
        trust[LOSSES + k] -= math.log(trust[PRODUCTS + np.uint64(k)])
    store(trust, PRODUCTS + _LOW, spread(1.0))
    store(trust, PRODUCTS + _HIGH, spread(1.0))


@apart
def weigh(trust: Cells, likelihoods: Cells, weight: float) -> None:
    """w ← w·likelihood^weight up to a factor, for weights other than 1.

    The gap is what the mixture lost beyond the mix loss −ln Σ w·likelihood^weight, which is nothing for weights ≤ 1.
    """
    mixed = mass = highest = 0.0
    for k in range(EXPERTS):
        highest = max(highest, likelihoods[k])
        mixed += trust[k] * likelihoods[k]
    for k in range(EXPERTS):
        loss = -weight * math.log(likelihoods[k])
        trust[LOSSES + k] += loss
        trust[k] *= math.exp(-loss - weight * math.log(highest))
        mass += trust[k]
    if weight > 1.0:
        trust[GAP] += max(math.log(mass) - weight * math.log(mixed / highest), 0.0)
