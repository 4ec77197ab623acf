"""Estimates, from a log, of the rewards of another policy: weights w_t = π(a_t)/p_t, each estimate with an interval.

IPS     mean of w_t r_t                                        unbiased
SNIPS   Σ w_t r_t / Σ w_t                                      nearly unbiased, steadier
DR      mean of Σ_a π(a) q(a) + w_t (r_t − q(a_t))             unbiased whatever the reward model q

The largest weight need not have been seen, so no interval may rest on it. w_t r_t is at least 0, and bets on its mean
bound that from below however large it may become (`lowest_mean`); E w_t(1 − r_t) ≤ 1 − the value, so the same bound of
w_t(1 − r_t) bounds the value from above (Karampatziakis, Mineiro, Ramdas 2021). Both hold for independent rows with
true propensities, though rewards and propensities drift, also where an arm could not be chosen at all; the value is the
mean over these rows. A c ≥ q makes DR a number from 0 on, as E w_t c ≤ c:

    value + c ≥ E[w_t(r_t − q(a_t) + c) + Σ_a π(a)q(a)].

Where one propensity holds for all choices, weights have a known end, and DR has an empirical Bernstein interval (Maurer
and Pontil 2009), which is narrower. SNIPS has a normal approximation, which is no more than that. Every estimate says
what its interval assumes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from numbers import Real
from statistics import NormalDist
from typing import Any

import numpy as np

from lowregret.bandit.log import BanditLog
from lowregret.errors import DataError, PartError
from lowregret.types import Vector

BERNSTEIN, BETTING, NORMAL, AZUMA = "empirical Bernstein", "betting", "normal approximation", "Azuma-Hoeffding"
ASSUMES = {
    BETTING: "rows are independent, propensities true; no weight is assumed to be the largest",
    BERNSTEIN: "rows are independent, every choice is made with the propensity of the log",
    NORMAL: "rows are independent, and so many that their mean is normal, whatever weights were not seen: no proof",
    AZUMA: "every choice is made with the propensity of the log, the number of rows is fixed in advance",
}
HUGE = 1e150  # a weight: larger ones are taken for this, which lowers what is a bound from below
NEAR = 1e-9  # of the largest mean there can be: how near a bound comes to what can be proved

Model = Callable[[Any], Any]  # row numbers → (rows × arms) predicted rewards or costs


@dataclass(frozen=True)
class Estimate:
    """A value with an interval, by which method, and how many rows it rests on in effect: (Σw)²/Σw².

    `assumes` says under what conditions the interval is true. It is proved for itself: a value may lie outside of it.
    """

    method: str
    value: float
    low: float
    high: float
    interval: str
    rows: int
    effective_rows: float
    assumes: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def logged_value(log: BanditLog, delta: float = 0.05) -> Estimate:
    """The mean of what the logging policy got."""
    r = _scaled(log)
    value, half = float(np.mean(r)), bernstein(r, 1.0, delta)
    found = _told(log, "mean", value, (value - half, value + half), BERNSTEIN, np.ones(len(log)))
    return replace(found, assumes="rows are independent")


def ips(log: BanditLog, policy: Any, delta: float = 0.05) -> Estimate:
    """Inverse propensity scoring. The policy: an arm, K probabilities, or rows × K of them."""
    w, r = _weights(log, _policy(log, policy)), _scaled(log)
    half = require_delta(delta) / 2
    ends = lowest_mean(w * r, 1.0, half), 1 - lowest_mean(w * (1 - r), 1.0, half)
    return _told(log, "IPS", float(np.mean(w * r)), ends, BETTING, w)


def snips(log: BanditLog, policy: Any, delta: float = 0.05) -> Estimate:
    """Self-normalised inverse propensity scoring, with the delta method's normal interval."""
    w, r = _weights(log, _policy(log, policy)), _scaled(log)
    total = float(np.sum(w))
    if total == 0:
        raise DataError("the policy chooses no arm of the log: nothing can be said of its value")
    value = min(float(w @ r) / total, 1.0)  # a mean of rewards, but for rounding
    spread = math.sqrt(float(w**2 @ (r - value) ** 2)) / total
    half = (
        NormalDist().inv_cdf(1 - require_delta(delta) / 2) * spread if spread > 0 else math.inf
    )  # all alike: it cannot say
    return _told(log, "SNIPS", value, (value - half, value + half), NORMAL, w)


def doubly_robust(log: BanditLog, policy: Any, delta: float = 0.05, model: Model | None = None) -> Estimate:
    """Doubly robust. Without a model, each half of the rows is judged by the mean per arm of the other half.

    The two halves' intervals hold with 1 − δ/2 each. A `model` must not have been fitted to these rows.
    """
    pi, r, everyone = _policy(log, policy), _scaled(log), np.arange(len(log))
    w, _ = _weights(log, pi), require_delta(delta)
    if model is not None:
        parts = [(everyone, _predicted(log, model))]
    else:
        halves = (everyone[::2], everyone[1::2]), (everyone[1::2], everyone[::2])
        parts = [(part, _means(log, r, other)) for part, other in halves if part.size]
    value = low = high = 0.0
    for rows, q in parts:
        share, (x, least, most) = rows.size / len(log), _robust(log, pi, w, r, rows, q, delta / len(parts))
        value, low, high = value + share * x, low + share * least, high + share * most
    return _told(log, "DR", value, (low, high), BERNSTEIN if log.uniform else BETTING, w)


def arm_values(log: BanditLog) -> Vector:
    """The SNIPS value of always choosing each arm, all at once: O(n + K). NaN for arms that are not in the log."""
    w = _weights(log, np.ones(len(log.names)))
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
    require_delta(delta)
    if x.size < 2:
        return math.inf
    log_term = math.log(4 / delta)
    return math.sqrt(2 * float(np.var(x, ddof=1)) * log_term / x.size) + 7 * span * log_term / (3 * (x.size - 1))


def lowest_mean(x: Vector, most: float, delta: float) -> float:
    """A number that the mean of the means of independent x ≥ 0 exceeds with probability ≥ 1 − δ, if it is ≤ `most`.

    For that mean m and a bet λ ≤ 1/m settled in advance, the product of 1 + λ(x_t − m) ≥ 0 has the expectation
    Π(1 + λ(E x_t − m)) ≤ 1, for no product of numbers exceeds the power of their mean: whatever each x_t has for its
    own, rows may drift. So it is G/δ or more with probability δ/G at most (Markov), and some product of G bets with δ
    at most. Each falls in m, so what it excludes lies below one number. λ = 2⁻ʲ/most, down to 1/(n·most); a bet that
    were learnt from earlier x would need the same mean in every row.
    """
    bets = 0.5 ** np.arange(math.ceil(math.log2(max(x.size, 1))) + 1) / most
    needed, low = math.log(bets.size / delta), 0.0
    spread = min(max(float(np.var(x)), most * most / HUGE), HUGE) if x.size else 1.0
    likely = math.sqrt(2 * needed / (max(x.size, 1) * spread))
    with np.errstate(divide="ignore"):
        for bet in sorted(bets, key=lambda bet: abs(math.log(bet / likely))):  # the others rarely exclude more
            low = _excluded(x, float(bet), low, most, needed)
    return low


def _excluded(x: Vector, bet: float, low: float, high: float, needed: float) -> float:
    """The largest m in [low, high] for which ln of the product of 1 + bet·(x − m) is at least `needed`, or else low."""

    def excludes(m: float) -> bool:
        return float(np.sum(np.log1p(bet * (x - m)))) >= needed

    if not excludes(low):
        return low
    near = NEAR * high
    while high - low > near:
        middle = (low + high) / 2
        low, high = (middle, high) if excludes(middle) else (low, middle)
    return low


def require_delta(delta: Any) -> float:
    """The δ of an interval, or an error if it is none."""
    if not (isinstance(delta, Real) and 0 < float(delta) < 1):
        raise PartError(f"delta must lie between 0 and 1, got {delta!r}")
    return float(delta)


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
    try:
        pi = np.asarray(policy, float)
    except (TypeError, ValueError) as error:
        raise DataError(f"a policy must be numbers: {error}") from None
    if pi.shape not in ((k,), (n, k)):
        raise DataError(f"a policy is an arm, {k} probabilities, or {n} rows of them; got shape {pi.shape}")
    if not (np.all(pi >= 0) and np.all(np.abs(np.sum(pi, axis=-1) - 1) <= 1e-6)):
        raise DataError("a policy's probabilities must not be below 0, and must sum to 1")
    return pi


def _weights(log: BanditLog, pi: Vector) -> Vector:
    chosen = pi[log.arms] if pi.ndim == 1 else pi[np.arange(len(log)), log.arms]
    with np.errstate(over="ignore"):
        return np.minimum(chosen / log.propensities, HUGE)


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
    log: BanditLog, pi: Vector, w: Vector, r: Vector, rows: Any, q: Vector, delta: float
) -> tuple[float, float, float]:
    """The mean of Σ_a π(a) q(a) + w_t (r_t − q(a_t)) over some rows, and what the value lies between with 1 − δ.

    q is per arm, and was known before these rows; or it is per row and arm.
    """
    arms = log.arms[rows]
    of_policy = np.sum((pi if pi.ndim == 1 else pi[rows]) * (q if q.ndim == 1 else q[rows]), axis=-1)
    of_policy = np.broadcast_to(of_policy, rows.shape)
    of_action, told, weights = (q[arms] if q.ndim == 1 else q[rows, arms]), r[rows], w[rows]
    x = of_policy + weights * (told - of_action)
    value = float(np.mean(x))
    if log.uniform:
        width, most = float(np.ptp(q)), min(float(np.max(pi)) / float(log.propensities[0]), HUGE)
        half = bernstein(x, most * (1 + width) + (width if pi.ndim > 1 or q.ndim > 1 else 0.0), delta)
        return value, value - half, value + half
    top, bottom = (1.0, 0.0) if q.ndim > 1 else (float(np.max(q)), float(np.min(q)))
    over = weights * (told - of_action + top) + of_policy
    under = weights * (of_action - told + 1 - bottom) + 1 - of_policy
    ends = (lowest_mean(over, 1 + top, delta / 2) - top, lowest_mean(under, 2 - bottom, delta / 2) - (1 - bottom))
    return value, ends[0], 1 - ends[1]


def _told(log: BanditLog, method: str, value: float, ends: tuple[float, float], interval: str, w: Vector) -> Estimate:
    """In the log's units; the interval is cut to what is possible, and is all of that if its ends contradict.

    They do so with probability δ at most, or where propensities are not those of the log's policy.
    """
    low, high = (min(max(end, 0.0), 1.0) for end in (ends if ends[0] <= ends[1] else (0.0, 1.0)))
    shares = w / (float(np.max(w)) or 1.0)
    squares = float(shares @ shares)
    effective = float(np.sum(shares)) ** 2 / squares if squares else 0.0
    value, low, high = (log.low + log.unit * v for v in (value, low, high))
    return Estimate(method, value, low, high, interval, len(log), effective, ASSUMES[interval])
