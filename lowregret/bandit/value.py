"""Estimates, from a log, of the rewards of another policy: weights w_t = π(a_t)/p_t, each estimate with an interval.

IPS     mean of w_t r_t                                        unbiased
SNIPS   Σ w_t r_t / Σ w_t                                      nearly unbiased, steadier
DR      mean of Σ_a π(a) q(a) + w_t (r_t − q(a_t))             unbiased whatever the reward model q

IPS and DR have empirical Bernstein intervals (Maurer and Pontil 2009): true for independent rows and weights that
never exceed `largest_weight`. SNIPS has a normal approximation, which is no more than that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from lowregret.bandit.log import BanditLog
from lowregret.errors import DataError, PartError
from lowregret.types import Vector

BERNSTEIN, NORMAL, AZUMA = "empirical Bernstein", "normal approximation", "Azuma-Hoeffding"

Model = Callable[[Any], Any]  # row numbers → (rows × arms) predicted rewards or costs


@dataclass(frozen=True)
class Estimate:
    """A value with an interval, by which method, and how many rows it rests on in effect: (Σw)²/Σw²."""

    method: str
    value: float
    low: float
    high: float
    interval: str
    rows: int
    effective_rows: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def logged_value(log: BanditLog, delta: float = 0.05) -> Estimate:
    """The mean of what the logging policy got."""
    r = _scaled(log)
    return _estimate(log, "mean", r, 1.0, np.ones(len(log)), delta)


def ips(log: BanditLog, policy: Any, delta: float = 0.05) -> Estimate:
    """Inverse propensity scoring. The policy: an arm, K probabilities, or rows × K of them."""
    pi = _policy(log, policy)
    w = _weights(log, pi)
    return _estimate(log, "IPS", w * _scaled(log), largest_weight(log, pi), w, delta)


def snips(log: BanditLog, policy: Any, delta: float = 0.05) -> Estimate:
    """Self-normalised inverse propensity scoring, with the delta method's normal interval."""
    w, r = _weights(log, _policy(log, policy)), _scaled(log)
    total = float(np.sum(w))
    if total == 0:
        raise DataError("the policy chooses no arm of the log: nothing can be said of its value")
    value = float(w @ r) / total
    spread = math.sqrt(float(w**2 @ (r - value) ** 2)) / total
    half = (
        NormalDist().inv_cdf(1 - _checked(delta) / 2) * spread if spread > 0 else math.inf
    )  # all alike: it cannot say
    return _told(log, "SNIPS", value, half, NORMAL, w)


def doubly_robust(log: BanditLog, policy: Any, delta: float = 0.05, model: Model | None = None) -> Estimate:
    """Doubly robust. Without a model, each half of the rows is judged by the mean per arm of the other half.

    The two halves' intervals hold with 1 − δ/2 each. A `model` must not have been fitted to these rows.
    """
    pi = _policy(log, policy)
    w, r = _weights(log, pi), _scaled(log)
    everyone, most = np.arange(len(log)), largest_weight(log, pi)
    if model is not None:
        x, span = _robust(log, pi, w, r, everyone, _predicted(log, model), most)
        return _estimate(log, "DR", x, span, w, delta)
    value, half = 0.0, 0.0
    for part, other in ((everyone[::2], everyone[1::2]), (everyone[1::2], everyone[::2])):
        if part.size:
            x, span = _robust(log, pi, w, r, part, _means(log, r, other), most)
            share = part.size / len(log)
            value += share * float(np.mean(x))
            half += share * bernstein(x, span, delta / 2)
    return _told(log, "DR", value, half, BERNSTEIN, w)


def arm_values(log: BanditLog) -> Vector:
    """The SNIPS value of always choosing each arm, all at once: O(n + K). NaN for arms that are not in the log."""
    w = 1 / log.propensities
    total = np.bincount(log.arms, w, len(log.names))
    with np.errstate(invalid="ignore"):
        return np.bincount(log.arms, w * log.values, len(log.names)) / total


def evaluate(log: BanditLog, policy: Any, delta: float = 0.05) -> list[Estimate]:
    """All estimates of a policy's value."""
    found = [ips(log, policy, delta), doubly_robust(log, policy, delta)]
    return [*found, snips(log, policy, delta)] if found[0].effective_rows else found


def bernstein(x: Vector, span: float, delta: float) -> float:
    """Half the width of an interval for the mean of independent x in an interval of length `span`, 1 − δ.

    √(2V ln(4/δ)/n) + 7·span·ln(4/δ)/(3(n − 1)), V the sample variance.
    """
    _checked(delta)
    if x.size < 2:
        return math.inf
    log_term = math.log(4 / delta)
    return math.sqrt(2 * float(np.var(x, ddof=1)) * log_term / x.size) + 7 * span * log_term / (3 * (x.size - 1))


def largest_weight(log: BanditLog, policy: Vector) -> float:
    """max π(a)/p: over all arms if one propensity holds for all rows, else the largest in the log."""
    if log.uniform:
        return float(np.max(policy) / log.propensities[0])
    return float(np.max(_weights(log, policy), initial=0.0))


# ---- inside ---------------------------------------------------------------------------------------------------------


def _policy(log: BanditLog, policy: Any) -> Vector:
    """Probabilities, K or rows × K."""
    k, n = len(log.names), len(log)
    if isinstance(policy, (int, np.integer)):
        if not 0 <= policy < k:
            raise DataError(f"there is no arm {policy}: the log has arms 0 to {k - 1}")
        always = np.zeros(k)
        always[policy] = 1.0
        return always
    pi = np.asarray(policy, float)
    if pi.shape not in ((k,), (n, k)):
        raise DataError(f"a policy is an arm, {k} probabilities, or {n} rows of them; got shape {pi.shape}")
    if not (np.all(pi >= 0) and np.all(np.abs(np.sum(pi, axis=-1) - 1) <= 1e-6)):
        raise DataError("a policy's probabilities must not be below 0, and must sum to 1")
    return pi


def _weights(log: BanditLog, pi: Vector) -> Vector:
    chosen = pi[log.arms] if pi.ndim == 1 else pi[np.arange(len(log)), log.arms]
    return chosen / log.propensities


def _scaled(log: BanditLog) -> Vector:
    return (log.values - log.low) / log.unit


def _means(log: BanditLog, r: Vector, rows: Any) -> Vector:
    """Mean per arm over some rows, drawn to the mean of all as if by one more row of that value."""
    overall = float(np.mean(r[rows])) if rows.size else 0.5
    counts = np.bincount(log.arms[rows], minlength=len(log.names))
    sums = np.bincount(log.arms[rows], r[rows], len(log.names))
    return (sums + overall) / (counts + 1)


def _predicted(log: BanditLog, model: Model) -> Vector:
    told = np.asarray(model(np.arange(len(log))), float)
    if told.shape != (len(log), len(log.names)):
        raise DataError(f"the model must predict {len(log)} rows × {len(log.names)} arms, got shape {told.shape}")
    if not np.all((told >= log.low) & (told <= log.high)):
        raise DataError(f"the model must predict values between {log.low:g} and {log.high:g}: clip them")
    return (told - log.low) / log.unit


def _robust(
    log: BanditLog, pi: Vector, w: Vector, r: Vector, rows: Any, q: Vector, most: float
) -> tuple[Vector, float]:
    """Σ_a π(a) q(a) + w_t (r_t − q(a_t)) for some rows, and how far apart two of them can be, w_t ≤ most.

    q is per arm, or per row and arm.
    """
    arms = log.arms[rows]
    of_policy = np.sum((pi if pi.ndim == 1 else pi[rows]) * (q if q.ndim == 1 else q[rows]), axis=-1)
    of_action = q[arms] if q.ndim == 1 else q[rows, arms]
    span = most * (1 + float(np.max(q)) - float(np.min(q))) + (float(np.max(q) - np.min(q)) if of_policy.ndim else 0.0)
    return np.broadcast_to(of_policy, rows.shape) + w[rows] * (r[rows] - of_action), span


def _estimate(log: BanditLog, method: str, x: Vector, span: float, w: Vector, delta: float) -> Estimate:
    return _told(log, method, float(np.mean(x)), bernstein(x, span, delta), BERNSTEIN, w)


def _told(log: BanditLog, method: str, value: float, half: float, interval: str, w: Vector) -> Estimate:
    """In the log's units; the interval is cut to what is possible."""
    low, high = max(value - half, 0.0), min(value + half, 1.0)
    low, high = min(low, 1.0), max(high, 0.0)
    squares = float(w @ w)
    effective = float(np.sum(w)) ** 2 / squares if squares else 0.0
    value, low, high = (log.low + log.unit * v for v in (value, low, high))
    return Estimate(method, value, low, high, interval, len(log), effective)


def _checked(delta: float) -> float:
    if not 0 < delta < 1:
        raise PartError(f"delta must lie between 0 and 1, got {delta!r}")
    return delta
