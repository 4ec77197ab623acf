"""The loop over rounds: weigh the experts, mix their forecasts, see the outcome, learn. O(N) a round, compiled.

x[t, k, i] is expert i's forecast of part k in round t (one part, or one per class); one that is not a number means that
the expert sleeps. An outcome that is not a number means that there is none: forecast, but do not learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.errors import DataError
from lowregret.experts.aggregator import LEAST, MOST, Aggregator
from lowregret.experts.state import BLUR, LARGEST, NAPS, OWN, ROUNDS, SECOND, TALLEST, UNDER, VARIED, Book, behind, owe
from lowregret.experts.substitute import Substitution
from lowregret.loss import Loss

UNWEIGHED = -1  # instead of how many experts are awake, whose weights are no weights
UNSAID = -2  # likewise, if what they become is no number
NO_NUMBER = (
    "what the mixture says is no number: scale forecasts and outcomes; a substitution of your own must write numbers "
    "into p[t], all of them, in its `forecast`"
)


def mix(aggregator: Aggregator, substitution: Substitution, s: Book, x: Any, t: int, p: Any) -> int:
    """Weights of round t into s.mass, the mixed forecast into p[t]; returns how many experts are awake.

    UNWEIGHED is returned, and no number said, if the aggregator gave what are no weights, which are left in s.mass;
    UNSAID if the substitution said no number.
    """
    awake = look(s, x, t, p.shape[1])
    for i in range(s.mass.size):
        s.mass[i] = s.present[i]
    if awake == 0:
        for k in range(p.shape[1]):
            p[t, k] = math.nan
        return 0
    aggregator.weigh(s)
    if not normalise(s, awake):
        for k in range(p.shape[1]):
            p[t, k] = math.nan
        return UNWEIGHED
    for k in range(p.shape[1]):
        p[t, k] = math.nan
    substitution.forecast(s, x, t, p)
    for k in range(p.shape[1]):
        awake = UNSAID if math.isnan(p[t, k]) else awake
    return awake


def normalise(s: Book, awake: int) -> bool:
    """Make the weights s.mass of those awake sum to 1: as at the beginning if nobody awake has earned any.

    False is returned, and they are left as they are, if one of them is below 0 or no number, or their sum is none.
    """
    total, fair = 0.0, True
    for i in range(s.mass.size):
        if s.present[i] == 0.0:
            s.mass[i] = 0.0
        fair = fair and s.mass[i] >= 0.0
        total += s.mass[i]
    if not (fair and total < math.inf):
        return False
    if total == 0.0:
        for i in range(s.mass.size):
            s.mass[i] = s.present[i] * s.prior[i]
            total += s.mass[i]
    if total == 0.0:
        for i in range(s.mass.size):
            s.mass[i] = s.present[i]
        total = float(awake)
    for i in range(s.mass.size):
        s.mass[i] /= total
    return True


def look(s: Book, x: Any, t: int, parts: int) -> int:
    """Who said something in round t, into s.present; returns how many."""
    for i in range(s.present.size):
        s.present[i] = 1.0
    for k in range(parts):
        for i in range(s.present.size):
            s.present[i] = 0.0 if math.isnan(x[t, k, i]) else s.present[i]
    awake = 0
    for i in range(s.present.size):
        awake += 1 if s.present[i] > 0.0 else 0
    return awake


def judge(
    loss: Loss, s: Book, x: Any, t: int, p: Any, y: Any, linearised: bool, squares: bool, given: float = math.nan
) -> float:
    """r_t into s.instant, losses into the book; returns ℓ(p_t, y_t). Changes nothing if that is not finite.

    `given`: the loss of the forecast that was given, which the mixture owes, if that was another one, made earlier.

    NaN is returned, and nothing changed, if r_t is to be squared and too large or too small for that.
    """
    own, blur = 0.0, 0.0
    for i in range(s.mass.size):
        s.instant[i] = 0.0
        s.paid[i] = 0.0
    for k in range(p.shape[1]):
        value, slope = loss.at(p[t, k], y[t, k])
        own += value
        size = 0.0
        for i in range(s.mass.size):
            size += s.mass[i] * abs(x[t, k, i]) if s.mass[i] > 0.0 and s.present[i] > 0.0 else 0.0
            s.instant[i] += slope * (p[t, k] - x[t, k, i])
            s.paid[i] += loss.at(x[t, k, i], y[t, k])[0]
        blur += abs(slope) * size
    if not math.isfinite(own):
        return own
    if squares and not squarable(s, own, linearised):
        return math.nan
    said = own if math.isnan(given) else given
    book_losses(s, own, said, linearised)
    book_sizes(s)
    book_own(s, own, said)
    s.sums[BLUR] += blur
    return own


def book_losses(s: Book, own: float, given: float, linearised: bool) -> None:
    """Book the losses of those awake and of the forecast that was given; s.instant becomes r_t."""
    awake = 0.0
    for i in range(s.mass.size):
        if s.present[i] > 0.0:
            owe(s, i, given, s.paid[i])
            s.linear[i] += s.instant[i]
            s.added[i] += abs(s.paid[i]) + abs(own) + abs(s.instant[i]) + abs(given - own)
            s.instant[i] = s.instant[i] if linearised else own - s.paid[i]
        else:
            s.instant[i] = 0.0
        s.awake[i] += s.present[i]
        awake += s.present[i]
    s.counts[NAPS] += 1 if awake < s.mass.size else 0


def book_sizes(s: Book) -> None:
    """Book how large the losses of the experts awake are: s.paid, under the weights s.mass."""
    for i in range(s.mass.size):
        if s.present[i] > 0.0:
            s.sums[UNDER] = max(s.sums[UNDER], -s.paid[i])
            s.sums[TALLEST] = max(s.sums[TALLEST], s.paid[i])
            s.sums[SECOND] += s.mass[i] * s.paid[i] * s.paid[i] if s.mass[i] > 0.0 else 0.0


def book_own(s: Book, own: float, given: float) -> None:
    """Book the loss of the forecast that was given, and how far that of the present one is from the mean before."""
    away = own - s.sums[OWN] / s.counts[ROUNDS] if s.counts[ROUNDS] > 0 else own
    s.sums[VARIED] += away * away
    s.sums[OWN] += given


def absorb(aggregator: Aggregator, s: Book) -> None:
    """Learn a round that was judged."""
    book_trust(s)
    aggregator.absorb(s)
    s.counts[ROUNDS] += 1


def book_trust(s: Book) -> None:
    """Book the weights of a round."""
    for i in range(s.mass.size):
        s.trust[i] += s.mass[i]


def squarable(s: Book, own: float, linearised: bool) -> bool:
    """Whether the largest |r| so far, in this round too, is 0 or has a square that is a number."""
    largest = s.sums[LARGEST]
    for i in range(s.mass.size):
        r = s.instant[i] if linearised else own - s.paid[i]
        if s.present[i] > 0.0 and r > -math.inf:
            largest = max(largest, abs(r))
    return largest == 0.0 or LEAST <= largest <= MOST


@kernel
def forecast_rows(
    aggregator: Aggregator, substitution: Substitution, s: Book, x: Any, p: Any, weights: Any, t: int
) -> int:
    """Mix row t without learning; returns how many experts are awake, or why there is no number."""
    awake = mix(aggregator, substitution, s, x, t, p)
    for i in range(s.mass.size):
        weights[t, i] = s.mass[i]
    return awake


@kernel
def learn_rows(
    aggregator: Aggregator,
    substitution: Substitution,
    loss: Loss,
    s: Book,
    x: Any,
    y: Any,
    p: Any,
    weights: Any,
    regrets: Any,
    first: int,
    every: int,
    linearised: bool,
    until: int,
) -> int:
    """Forecast and learn rows, numbered from `first`; of each `every`-th, weights and the regret before it are kept.

    Returns the number of rows done; stops once `until` rounds are learnt, and before a row that cannot be learnt.
    """
    kept = 0
    for t in range(x.shape[0]):
        awake = mix(aggregator, substitution, s, x, t, p)
        if awake < 0:
            return t
        if (first + t) % every == 0:
            regrets[kept] = -math.inf
            for i in range(s.mass.size):
                weights[kept, i] = s.mass[i]
                regrets[kept] = max(behind(s, i), regrets[kept])
            kept += 1
        if awake > 0 and not math.isnan(y[t, 0]):
            if not math.isfinite(judge(loss, s, x, t, p, y, linearised, aggregator.squares())):
                return t
            absorb(aggregator, s)
            if s.counts[ROUNDS] == until:
                return t + 1
    return int(x.shape[0])


@kernel
def learn_late(
    aggregator: Aggregator, substitution: Substitution, loss: Loss, s: Book, x: Any, y: Any, q: Any, linearised: bool,
    given: float,
) -> float:  # fmt: skip
    """Learn one round, forecast earlier at a loss of `given`, as if it were asked now; returns the loss of q[0]."""
    if mix(aggregator, substitution, s, x, 0, q) < 0:
        return math.nan
    own = judge(loss, s, x, 0, q, y, linearised, aggregator.squares(), given)
    if math.isfinite(own):
        absorb(aggregator, s)
    return own


@kernel
def loss_rows(loss: Loss, x: Any, y: Any, losses: Any) -> None:
    """losses[t, i] = ℓ(x_t[i], y_t), infinite while i sleeps."""
    parts = y.shape[1]
    for t in range(x.shape[0]):
        for i in range(losses.shape[1]):
            losses[t, i] = 0.0
            for k in range(parts):
                said = x[t, k, i]
                losses[t, i] += math.inf if math.isnan(said) else loss.at(said, y[t, k])[0]


@kernel
def first_refused(loss: Loss, y: Any) -> int:
    """The first outcome that is known and not one that the loss takes; how many there are if there is none."""
    for t in range(y.size):
        if not math.isnan(y[t]) and not loss.accepts(y[t]):
            return t
    return int(y.size)


@kernel
def book_rows(loss: Loss, s: Book, x: Any, y: Any, p: Any, regrets: Any) -> None:
    """Book forecasts p that were made elsewhere, and the regret before each round."""
    for t in range(x.shape[0]):
        regrets[t] = behind(s, 0)
        for i in range(s.mass.size):
            regrets[t] = max(regrets[t], behind(s, i))
        if not math.isnan(p[t, 0]) and not math.isnan(y[t, 0]):
            look(s, x, t, p.shape[1])
            judge(loss, s, x, t, p, y, True, False)
            s.counts[ROUNDS] += 1


def require_awake(awake: int, aggregator: Aggregator, s: Book, number: int) -> None:
    """Raise a `DataError` if nobody is awake, or those who are were given no weights."""
    if awake == UNWEIGHED:
        raise DataError(f"round {number}: {why_unweighed(type(aggregator).__name__, s)}")
    if awake == UNSAID:
        raise DataError(f"round {number}: {NO_NUMBER}")
    if awake == 0:
        raise DataError("no expert has a forecast: all are NaN")


def why_unweighed(aggregator: str, s: Book) -> str:
    """The reason why what an aggregator wrote into s.mass are no weights; there they are forgotten."""
    i = int(np.argmin(np.where(np.isnan(s.mass), -math.inf, s.mass)))
    i = i if not s.mass[i] >= 0 else int(np.argmax(s.mass))
    weight = float(s.mass[i])
    s.mass[:] = s.prior
    return (
        f"{aggregator} gave expert {i} the weight {weight:g}: its `weigh` must write numbers from 0 on into s.mass, "
        "whose sum is a number"
    )


def is_unweighed(s: Book) -> bool:
    """Whether s.mass are no weights."""
    return not (np.all(s.mass >= 0) and sum(s.mass.tolist()) < math.inf)


def why_refused(loss: Loss, aggregator: str, forecast: Any, outcome: Any, number: int, s: Book | None = None) -> str:
    """The reason why a mixture's forecast for the round of this number could not be judged, and what to do."""
    if s is not None and np.isnan(forecast).any() and is_unweighed(s):
        return f"round {number}: {why_unweighed(aggregator, s)}"
    if np.isnan(forecast).any():
        return f"round {number}: {NO_NUMBER}"
    if math.isfinite(sum(loss.at(float(p), float(y))[0] for p, y in zip(forecast, outcome, strict=True))):
        return (
            f"round {number}: losses differ by more than {MOST:g} or by less than {LEAST:g}, whose squares "
            f"{aggregator} cannot sum: scale forecasts and outcomes, or use AdaHedge()"
        )
    return (
        f"round {number}: the loss of the mixture {forecast} is not finite for the outcome {outcome}; "
        "no expert with any weight thought this outcome possible. Give every class some probability"
    )


def require_fitting(loss: Loss, y: Any, place: Callable[[int], str], compiled: bool) -> None:
    """Raise a `DataError` that tells of the first outcome that the loss does not take, and where it is."""
    t = call(first_refused, compiled, loss, y)
    if t < y.size:
        raise DataError(
            f"{place(t)}: the outcome {y[t]:g} does not fit {type(loss).__name__}, which takes {loss.labels}"
        )
