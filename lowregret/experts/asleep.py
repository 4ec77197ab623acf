"""Rounds of a `Layered` mixture in which some sleep: a sleeper says what the mixture says.

    x̃_t[i] = x_t[i] while expert i is awake, p_t while it sleeps

Then Σ_t ℓ(p_t) − ℓ(x̃_t[i]) is the regret to expert i over the rounds in which it was awake, and all that is proved of
rounds in which everybody is awake is so of these. Lane l says p_l = Σ_i w_l[i]x̃[i] and the mixture p = Σ_l c_l p_l, so
p must solve p = Σ_i W[i]x̃[i], W = Σ_l c_l w_l: it is the mean of those awake under the weights W.
(Freund, Schapire, Singer, Warmuth, "Using and combining predictors that specialize", STOC 1997.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lowregret.compile.kernel import apart, kernel
from lowregret.compile.part import Part
from lowregret.experts.advice import absorb, book_trust, judge, look, mix, normalise
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.state import ROUNDS, Book
from lowregret.experts.substitute import Mean
from lowregret.loss import Loss


class NoLanes(Part):
    """The end of a row of lanes."""

    def weigh(self, at: int, s: Book) -> None:
        """Nothing is here."""

    def absorb(self, at: int, s: Book) -> None:
        """Nothing is here."""

    def squares(self, at: int) -> bool:
        """Nothing is here."""
        return False


class Lanes(Part):
    """Aggregators in a row, of which compiled code calls the one at a place."""

    lane: Aggregator
    others: Lanes | NoLanes

    def weigh(self, at: int, s: Book) -> None:
        """The weights of the lane at this place, as `Aggregator.weigh` has them."""
        if at == 0:
            self.lane.weigh(s)
        else:
            self.others.weigh(at - 1, s)

    def absorb(self, at: int, s: Book) -> None:
        """Let the lane at this place learn, as by `Aggregator.absorb`."""
        if at == 0:
            self.lane.absorb(s)
        else:
            self.others.absorb(at - 1, s)

    def squares(self, at: int) -> bool:
        """`Aggregator.squares` of the lane at this place."""
        return self.lane.squares() if at == 0 else self.others.squares(at - 1)


def in_a_row(lanes: Sequence[Aggregator]) -> Lanes | NoLanes:
    """Lanes as one part."""
    row: Lanes | NoLanes = NoLanes()
    for lane in reversed(lanes):
        row = Lanes(lane, row)
    return row


@apart
def weigh_lanes(lanes: Any, books: Any, s: Book) -> None:
    """The weights of every lane over all experts, awake or not, into its book."""
    for at in range(len(books)):
        book = books[at]
        for i in range(s.mass.size):
            book.present[i] = 1.0
            book.mass[i] = 1.0
        lanes.weigh(at, book)
        normalise(book, s.mass.size)


def fill_in(lanes: Any, chief: Aggregator, books: Any, top: Book, s: Book, x: Any, t: int, awake: int) -> None:
    """Let sleepers say what the mixture says, in row t of x, given who is awake in s.present: O(LN).

    s.mass become the weights of those awake. If their W are all 0, any p solves the equation: the mean by the prior.
    """
    weigh_lanes(lanes, books, s)
    for at in range(len(books)):
        top.present[at] = 1.0
        top.mass[at] = 1.0
    chief.weigh(top)
    normalise(top, len(books))
    for i in range(s.mass.size):
        s.mass[i] = 0.0
        for at in range(len(books)):
            s.mass[i] += top.mass[at] * books[at].mass[i]
    normalise(s, awake)
    for k in range(x.shape[1]):
        said = 0.0
        for i in range(s.mass.size):
            said += s.mass[i] * x[t, k, i] if s.present[i] > 0.0 else 0.0
        for i in range(s.mass.size):
            x[t, k, i] = x[t, k, i] if s.present[i] > 0.0 else said


@kernel
def fill_round(lanes: Any, chief: Aggregator, books: Any, top: Book, s: Book, x: Any) -> None:
    """Let sleepers say what the mixture says in the one round x[0]; s.mass become the weights of those awake."""
    awake = look(s, x, 0, x.shape[1])
    if awake > 0:
        fill_in(lanes, chief, books, top, s, x, 0, awake)


@kernel
def learn_layers(
    lanes: Any,
    chief: Aggregator,
    mean: Mean,
    loss: Loss,
    books: Any,
    top: Book,
    s: Book,
    x: Any,
    y: Any,
    voices: Any,
    said: Any,
    p: Any,
    weights: Any,
    trust: Any,
    regrets: Any,
    first: int,
    every: int,
) -> int:
    """Forecast and learn rows of x, some asleep, lane by lane: O(LN) a row; `voices` and `said` are the lanes'.

    Of each `every`-th row, weights and regrets before it are kept: of lanes those by which experts awake were mixed.
    Returns the number of rows done: all of them, or those before one that cannot be learnt.
    """
    kept = 0
    for t in range(x.shape[0]):
        awake = look(s, x, t, x.shape[1])
        if 0 < awake < s.mass.size:
            fill_in(lanes, chief, books, top, s, x, t, awake)
        if awake > 0:
            speak(lanes, chief, mean, books, top, s, x, voices, said, p, t)
        else:
            fall_silent(books, top, s, voices, said, p, t)
        if (first + t) % every == 0:
            keep_weights(books, top, s, awake < s.mass.size, weights, trust, regrets, kept)
            kept += 1
        if (
            awake > 0
            and not math.isnan(y[t, 0])
            and not learn_round(lanes, chief, loss, books, top, x, y, voices, said, p, t)
        ):
            return t
    return int(x.shape[0])


def speak(
    lanes: Any,
    chief: Aggregator,
    mean: Mean,
    books: Any,
    top: Book,
    s: Book,
    x: Any,
    voices: Any,
    said: Any,
    p: Any,
    t: int,
) -> None:
    """The forecasts of the lanes and of the chief for row t."""
    weigh_lanes(lanes, books, s)
    for at in range(len(books)):
        mean.forecast(books[at], x, t, voices[at])
        for k in range(p.shape[1]):
            said[t, k, at] = voices[at, t, k]
    mix(chief, mean, top, said, t, p)


def fall_silent(books: Any, top: Book, s: Book, voices: Any, said: Any, p: Any, t: int) -> None:
    """Nobody was awake in row t: no lane trusts anybody or says anything."""
    for at in range(len(books)):
        top.mass[at] = 0.0
        for i in range(s.mass.size):
            s.mass[i] = 0.0
        for k in range(p.shape[1]):
            voices[at, t, k], said[t, k, at], p[t, k] = math.nan, math.nan, math.nan


def learn_round(
    lanes: Any,
    chief: Aggregator,
    loss: Loss,
    books: Any,
    top: Book,
    x: Any,
    y: Any,
    voices: Any,
    said: Any,
    p: Any,
    t: int,
) -> bool:
    """Let lanes and chief learn row t; False if one of them cannot."""
    for at in range(len(books)):
        book = books[at]
        if not math.isfinite(judge(loss, book, x, t, voices[at], y, True, lanes.squares(at))):
            return False
        book_trust(book)
        lanes.absorb(at, book)
        book.counts[ROUNDS] += 1
    if not math.isfinite(judge(loss, top, said, t, p, y, True, chief.squares())):
        return False
    absorb(chief, top)
    return True


def keep_weights(books: Any, top: Book, s: Book, slept: bool, weights: Any, trust: Any, regrets: Any, at: int) -> None:
    """Keep weights and regrets of lanes and chief for the picture; where some slept, the weights of those awake."""
    for lane in range(len(books)):
        book = books[lane]
        trust[at, lane] = top.mass[lane]
        regrets[lane, at] = book.owed[0] - book.losses[0]
        for i in range(s.mass.size):
            weights[lane, at, i] = s.mass[i] if slept else book.mass[i]
            regrets[lane, at] = max(regrets[lane, at], book.owed[i] - book.losses[i])
    last = len(books)
    regrets[last, at] = top.owed[0] - top.losses[0]
    for lane in range(len(books)):
        regrets[last, at] = max(regrets[last, at], top.owed[lane] - top.losses[lane])
