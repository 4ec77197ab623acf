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
from typing import Any, NamedTuple

from lowregret.compile.kernel import apart, kernel
from lowregret.compile.part import Part
from lowregret.experts.advice import absorb, book_trust, judge, look, mix, normalise
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.state import ROUNDS, Book, behind
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


class Books(NamedTuple):
    """The books of the lanes, of the chief above them, and of the present round."""

    lanes: tuple[Book, ...]
    chief: Book
    now: Book  # of the round alone: who is awake, and the weights of these


class Said(NamedTuple):
    """Forecasts of rows, to be written."""

    lanes: Any  # [l, t, k]
    beside: Any  # the same as the chief is given them, [t, k, l]
    mixture: Any  # [t, k]


class Marks(NamedTuple):
    """Weights and regrets before some of the rows, for the picture, to be written."""

    weights: Any  # of lanes, [l, t, i]; where some slept, those by which the others were mixed
    trust: Any  # of the chief, [t, l]
    regrets: Any  # of lanes and then of the chief, [l, t]


@apart
def weigh_lanes(lanes: Any, books: Books) -> bool:
    """The weights of every lane over all experts, awake or not, into its book; False if one of them gave no weights."""
    experts = books.now.mass.size
    for at in range(len(books.lanes)):
        book = books.lanes[at]
        for i in range(experts):
            book.present[i] = 1.0
            book.mass[i] = 1.0
        lanes.weigh(at, book)
        if not normalise(book, experts):
            return False
    return True


def fill_in(lanes: Any, chief: Aggregator, books: Books, x: Any, t: int, awake: int) -> bool:
    """Let sleepers say what the mixture says in row t of x, given who is awake: O(LN).

    books.now.mass become the weights of those awake. If their W are all 0, any p solves the equation: the mean by the
    prior does. False is returned, and nothing said, if a lane gave no weights.
    """
    if not weigh_lanes(lanes, books):
        return False
    s, top = books.now, books.chief
    for at in range(top.mass.size):
        top.present[at] = 1.0
        top.mass[at] = 1.0
    chief.weigh(top)
    normalise(top, top.mass.size)
    for i in range(s.mass.size):
        s.mass[i] = 0.0
        for at in range(len(books.lanes)):
            s.mass[i] += top.mass[at] * books.lanes[at].mass[i]
    normalise(s, awake)
    for k in range(x.shape[1]):
        said = 0.0
        for i in range(s.mass.size):
            said += s.mass[i] * x[t, k, i] if s.present[i] > 0.0 else 0.0
        for i in range(s.mass.size):
            x[t, k, i] = x[t, k, i] if s.present[i] > 0.0 else said
    return True


@kernel
def fill_round(lanes: Any, chief: Aggregator, books: Books, x: Any) -> bool:
    """Let sleepers say what the mixture says in the one round x[0]; books.now.mass become the others' weights.

    False is returned if a lane gave no weights.
    """
    awake = look(books.now, x, 0, x.shape[1])
    return awake == 0 or fill_in(lanes, chief, books, x, 0, awake)


@kernel
def learn_layers(
    lanes: Any, chief: Aggregator, loss: Loss, mean: Mean, books: Books, x: Any, y: Any, said: Said, kept: Marks,
    first: int, every: int,
) -> int:  # fmt: skip
    """Forecast and learn rows of x, in which some sleep and are filled in: O(LN) a row; of each `every`-th one is kept.

    Returns the number of rows done: all of them, or those before one that cannot be learnt.
    """
    marks, experts = 0, books.now.mass.size
    for t in range(x.shape[0]):
        awake = look(books.now, x, t, x.shape[1])
        if 0 < awake < experts and not fill_in(lanes, chief, books, x, t, awake):
            return t
        if awake > 0:
            if not speak(lanes, chief, mean, books, x, said, t):
                return t
        else:
            fall_silent(books, said, t)
        if (first + t) % every == 0:
            keep(books, awake < experts, kept, marks)
            marks += 1
        if awake > 0 and not math.isnan(y[t, 0]) and not learn_round(lanes, chief, loss, books, x, y, said, t):
            return t
    return int(x.shape[0])


def speak(lanes: Any, chief: Aggregator, mean: Mean, books: Books, x: Any, said: Said, t: int) -> bool:
    """The forecasts of the lanes and of the chief for row t; False if a lane gave no weights."""
    if not weigh_lanes(lanes, books):
        return False
    for at in range(len(books.lanes)):
        mean.forecast(books.lanes[at], x, t, said.lanes[at])
        for k in range(x.shape[1]):
            said.beside[t, k, at] = said.lanes[at, t, k]
    mix(chief, mean, books.chief, said.beside, t, said.mixture)
    return True


def fall_silent(books: Books, said: Said, t: int) -> None:
    """Nobody was awake in row t: nobody is trusted, and no lane says anything."""
    for i in range(books.now.mass.size):
        books.now.mass[i] = 0.0
    for at in range(len(books.lanes)):
        books.chief.mass[at] = 0.0
        for k in range(said.mixture.shape[1]):
            said.lanes[at, t, k] = math.nan
            said.mixture[t, k] = math.nan


def learn_round(lanes: Any, chief: Aggregator, loss: Loss, books: Books, x: Any, y: Any, said: Said, t: int) -> bool:
    """Let lanes and chief learn row t; False if one of them cannot."""
    for at in range(len(books.lanes)):
        book = books.lanes[at]
        if not math.isfinite(judge(loss, book, x, t, said.lanes[at], y, True, lanes.squares(at))):
            return False
        book_trust(book)
        lanes.absorb(at, book)
        book.counts[ROUNDS] += 1
    if not math.isfinite(judge(loss, books.chief, said.beside, t, said.mixture, y, True, chief.squares())):
        return False
    absorb(chief, books.chief)
    return True


def keep(books: Books, slept: bool, kept: Marks, mark: int) -> None:
    """Keep the weights by which experts were mixed, and the regrets before that."""
    for at in range(len(books.lanes)):
        book = books.lanes[at]
        kept.trust[mark, at] = books.chief.mass[at]
        kept.regrets[at, mark] = largest_regret(book)
        for i in range(book.mass.size):
            kept.weights[at, mark, i] = books.now.mass[i] if slept else book.mass[i]
    kept.regrets[len(books.lanes), mark] = largest_regret(books.chief)


def largest_regret(s: Book) -> float:
    """Σ(ℓ(p_t) − ℓ(x_t[k])) against the best k so far."""
    largest = -math.inf
    for i in range(s.mass.size):
        largest = max(largest, behind(s, i))
    return largest
