"""Mixtures of many groups side by side, such as one for each of thousands of series: the compiled loop over events.

Group g has a row of every array. An event is a forecast that is asked for, or an outcome that has become known. In
order of their outcomes, the rounds of a group are those of an undelayed mixture: each is mixed once more, by the
weights that its outcome finds, and learnt as such. A forecast that was asked for earlier had older weights: what that
cost is Σ ℓ(p_t) − ℓ(q_t), p_t the forecast that was given and q_t the one that its outcome finds, known exactly.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.experts.advice import absorb, judge, look, mix
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.state import BOOK_COUNTS, BOOK_SUMS, ROUNDS, Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Loss
from lowregret.types import Vector


class GroupStandings(NamedTuple):
    """All that an aggregator knows of its experts, in every group: see `Book`."""

    regret: Vector
    square: Vector
    rate: Vector
    added: Vector
    sums: Vector
    counts: Any

    @classmethod
    def fresh(cls, groups: int, experts: int) -> Self:
        """Nothing learnt yet."""
        regret, square, rate, added = np.zeros((4, groups, experts))
        sums, counts = np.zeros((groups, BOOK_SUMS)), np.zeros((groups, BOOK_COUNTS), np.int64)
        return cls(regret, square, rate, added, sums, counts)


class GroupAccounts(NamedTuple):
    """Losses of the experts and of the mixture, in every group: see `Book`."""

    losses: Vector
    owed: Vector
    crumbs: Vector
    linear: Vector
    added: Vector
    awake: Vector
    drift: Vector  # Σ ℓ(p_t) − ℓ(q_t) over the rounds in which the expert was awake
    late: Vector  # the same over all rounds, one number a group
    sums: Vector
    counts: Any

    @classmethod
    def fresh(cls, groups: int, experts: int) -> Self:
        """No round yet."""
        losses, owed, crumbs, linear, added, awake, drift = np.zeros((7, groups, experts))
        sums, counts = np.zeros((groups, BOOK_SUMS)), np.zeros((groups, BOOK_COUNTS), np.int64)
        return cls(losses, owed, crumbs, linear, added, awake, drift, np.zeros(groups), sums, counts)


def more_groups(kept: Any, groups: int) -> Any:
    """Standings or accounts with room for further groups, in which nothing is learnt yet."""
    lacking = groups - len(kept.counts)
    return type(kept)(*(np.concatenate([a, np.zeros((lacking, *a.shape[1:]), a.dtype)]) for a in kept))


def more_experts(kept: Any, experts: int) -> Any:
    """Standings or accounts with zeros for further experts."""
    tables = {name: a for name, a in kept._asdict().items() if name not in ("sums", "counts", "late")}
    wide = {name: np.hstack([a, np.zeros((len(a), experts - a.shape[1]))]) for name, a in tables.items()}
    return kept._replace(**wide)


def standing(s: GroupStandings, work: Book, g: int) -> Book:
    """Group g as a book, whose other entries are those of `work`: no room of their own."""
    return Book(
        s.regret[g], s.square[g], s.rate[g], work.prior, work.mass, work.present, work.instant, work.paid, work.losses,
        work.owed, work.crumbs, work.linear, s.added[g], work.awake, work.trust, s.sums[g], s.counts[g],
    )  # fmt: skip


def account(s: GroupAccounts, work: Book, g: int) -> Book:
    """The losses in group g as a book, whose other entries are those of `work`: no room of their own."""
    return Book(
        work.regret, work.square, work.rate, work.prior, work.mass, work.present, work.instant, work.paid, s.losses[g],
        s.owed[g], s.crumbs[g], s.linear[g], s.added[g], s.awake[g], work.trust, s.sums[g], s.counts[g],
    )  # fmt: skip


@kernel
def play_events(
    aggregator: Aggregator, substitution: Substitution, loss: Loss, s: GroupStandings, work: Book, rows: Any, asks: Any,
    group: Any, x: Any, found: Any, y: Any, p: Any, q: Any, weights: Any, linearised: bool,
) -> int:  # fmt: skip
    """Let forecasts be asked and outcomes be learnt, O(N) an event; returns how many, all but for a refusal.

    x[t] are the experts' forecasts of row t when it is asked, found[t] those that its outcome finds. The mixtures of
    them go into p[t] and q[t], and the weights of the former into weights[t] if there is room.
    """
    weighed = -1  # the group whose weights, if all experts are awake, are those of the forecast before
    for e in range(rows.size):
        t = rows[e]
        g, b = group[t], standing(s, work, group[t])
        if asks[e]:
            if g == weighed and look(b, x, t, 1) == b.mass.size:
                substitution.forecast(b, x, t, p)
            else:
                awake = mix(aggregator, substitution, b, x, t, p)
                weighed = g if awake == b.mass.size else -1
                if awake < 0:
                    return e
            for i in range(b.mass.size if weights.shape[0] > 0 else 0):
                weights[t, i] = b.mass[i]
        else:
            weighed = -1
            if mix(aggregator, substitution, b, found, t, q) < 0:
                return e
            if not math.isfinite(judge(loss, b, found, t, q, y, linearised, aggregator.squares())):
                return e
            absorb(aggregator, b)
    return int(rows.size)


@kernel
def account_events(
    loss: Loss, s: GroupAccounts, work: Book, rows: Any, group: Any, x: Any, y: Any, p: Any, q: Any
) -> int:
    """Book outcomes that have become known, in order; returns how many, all but for a refusal."""
    for e in range(rows.size):
        t = rows[e]
        g = group[t]
        given = loss.at(p[t, 0], y[t, 0])[0]
        b = account(s, work, g)
        look(b, x, t, 1)
        found = judge(loss, b, x, t, q, y, True, False, given) if math.isfinite(given) else given
        if not math.isfinite(found):
            return e
        drift = given - found
        for i in range(b.present.size):
            s.drift[g, i] += drift * b.present[i]
        s.late[g] += drift
        b.counts[ROUNDS] += 1
    return int(rows.size)
