"""Mixtures of one series: figures, certificates and hindsight against fractions; bits against other orders of calls."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import lowregret
from benchmarks.exact import exact, near, total_loss
from benchmarks.experts_games.tables import Composition, Dice, composition
from lowregret.errors import DataError
from lowregret.experts import (
    AdaHedge,
    Calibrated,
    ExpertMixture,
    FixedShare,
    Hedge,
    Layered,
    Mean,
    MLPoly,
    Review,
    Squint,
)
from lowregret.experts.forecast import BinaryLogScore, LogScore
from lowregret.experts.join import join_mixture

Make = Callable[[], ExpertMixture]
JOINED = (AdaHedge(), Hedge(0.5), MLPoly(), Squint())  # whom experts can join
OF_THE_ROUND = ("mass", "present", "instant", "paid")  # of a book: what is left of the latest round


class FalsehoodError(Exception):
    """A figure, a certificate or a bit that is not so."""


def demand(true: bool, *words: Any) -> None:
    """Raise a `FalsehoodError` that says what is not so."""
    if not true:
        raise FalsehoodError(" ".join(map(str, words)))


class Played:
    """A mixture, with the forecasts that it gave and the rounds whose outcomes it learnt, as fractions."""

    def __init__(self, c: Composition) -> None:
        self.c, self.x = c, c.x.reshape(len(c.x), c.x.shape[1], c.parts)
        self.given: dict[int, Any] = {}
        self.order: list[int] = []  # of outcomes
        self.in_order = True

    def outcome(self, t: int) -> list[float]:
        """The outcome of a round, as 0s and a 1 if it is a class."""
        y = float(self.c.y[t])
        return [y] if self.c.parts == 1 else [float(k == y) for k in range(self.c.parts)]

    def awake(self, t: int, i: int) -> bool:
        """Whether an expert had a forecast."""
        return not np.isnan(self.x[t, i]).any()

    def own(self, t: int) -> Fraction:
        """ℓ(p_t, y_t)"""
        return total_loss(self.c.loss, self.given[t], self.outcome(t))

    def expert(self, t: int, i: int) -> Fraction:
        """ℓ(x_t[i], y_t)"""
        return total_loss(self.c.loss, self.x[t, i], self.outcome(t))

    def combined(self, t: int, u: list[Fraction]) -> Fraction:
        """The loss of fixed weights, whose sleepers say what the mixture said."""
        said = [self.x[t, i] if self.awake(t, i) else self.given[t] for i in range(len(u))]
        mixed = [sum((a * exact(s[k]) for a, s in zip(u, said, strict=True)), Fraction(0)) for k in range(self.c.parts)]
        return total_loss(self.c.loss, mixed, self.outcome(t))


def mixture_game(dice: Dice, folder: str) -> None:
    """Play a mixture by random calls, and check all that it says."""
    c = composition(dice)
    make = _maker(dice, c)
    played = Played(c)
    mixture = play(dice, make(), played, folder)
    check_figures(mixture, played)
    check_certificates(dice, mixture, played)
    check_hindsight(dice, mixture, played)
    check_bits(dice, make, c, folder)


def joining_game(dice: Dice, folder: str) -> None:
    """Play a mixture that experts join, and check all that it says: they were asleep before."""
    c = composition(dice)
    late, at = dice.randint(0, c.x.shape[1] - 1), dice.randrange(len(c.x))
    c.x[:at, c.x.shape[1] - late :] = math.nan
    few = c._replace(x=c.x[:, : c.x.shape[1] - late], prior=None, aggregator=dice.choice((*JOINED, c.aggregator)))
    played = Played(c)
    mixture = play(dice, _maker(dice, few)(), played, folder, at)
    check_figures(mixture, played)
    check_certificates(dice, mixture, played)


def _maker(dice: Dice, c: Composition) -> Make:
    layers = dice.choice([None, Layered, Calibrated])
    experts, compiled = c.x.shape[1], dice.often(0.002)
    finite = not isinstance(c.loss, BinaryLogScore | LogScore)
    if layers is not None and finite and isinstance(c.substitution, Mean):
        return lambda: layers(experts, c.loss, parts=c.parts, prior=c.prior, compiled=compiled)
    return lambda: ExpertMixture(
        experts, c.aggregator, c.loss, parts=c.parts, linearised=c.linearised, substitution=c.substitution,
        prior=c.prior, compiled=compiled,
    )  # fmt: skip


def saved(mixture: Any, folder: str) -> Any:
    """The same, from a file."""
    path = os.path.join(folder, "mixture.lr")
    mixture.save(path)
    return lowregret.load(path)


def play(dice: Dice, mixture: ExpertMixture, played: Played, folder: str, joins: int = 0) -> ExpertMixture:
    """Let rounds be learnt in parts, or asked and told in any order, with files between; returns the last.

    `joins`: the round before which the experts join that the mixture lacks.
    """
    x, y, t = played.c.x, played.c.y, 0
    waiting: dict[int, int] = {}
    while t < len(x) or waiting:
        call, n = dice.random(), len(mixture.names)
        if t >= joins and n < x.shape[1]:
            join_mixture(mixture, [f"new {i}" for i in range(n, x.shape[1])])
            n = x.shape[1]
        if call < 0.3 and t < len(x):
            end = dice.randint(t + 1, len(x) if n == x.shape[1] else joins)
            mixture.learn(x[t:end, :n], y[t:end])
            for s, p in zip(range(t, end), mixture.forecasts, strict=True):
                if not np.isnan(p).any():
                    played.given[s] = np.atleast_1d(p)
                    played.order += [] if math.isnan(y[s]) else [s]
            t = end
        elif call < 0.7 and t < len(x):
            if any(played.awake(t, i) for i in range(n)):
                number, p = mixture.ask(x[t, :n])
                played.given[t] = np.atleast_1d(p)
                waiting |= {} if math.isnan(y[t]) else {number: t}
            t += 1
        elif call < 0.9 and waiting:
            number = dice.choice(list(waiting))
            played.in_order &= waiting[number] == t - 1
            mixture.tell(number, y[waiting[number]])
            played.order.append(waiting.pop(number))
        elif call > 0.95:
            mixture = saved(mixture, folder)
    return mixture


def check_figures(mixture: ExpertMixture, played: Played) -> None:
    """Losses, regrets and counts, to the last digits."""
    rounds = played.order
    own = {t: played.own(t) for t in rounds}
    demand(mixture.rounds == len(rounds), "rounds", mixture.rounds, len(rounds))
    size = sum(map(abs, own.values()), Fraction(0))
    total = sum(own.values(), Fraction(0))
    demand(near(mixture.loss, total, size, len(rounds)), "loss", mixture.loss, float(total))
    best, largest = None, Fraction(0)
    for i in range(played.x.shape[1]):
        mine = [t for t in rounds if played.awake(t, i)]
        demand(mixture.book.awake[i] == len(mine), "rounds awake of expert", i)
        try:
            lost = {t: played.expert(t, i) for t in mine}
        except OverflowError:
            demand(mixture.book.losses[i] == math.inf, "infinite loss of expert", i)
            continue
        paid = sum(map(abs, lost.values()), Fraction(0))
        theirs = sum(lost.values(), Fraction(0))
        shown = float(mixture.book.losses[i])
        demand(near(shown, theirs, paid, len(mine)), "loss of expert", i, shown, float(theirs))
        behind = sum((own[t] - lost[t] for t in mine), Fraction(0))
        best, largest = (behind if best is None else max(best, behind)), max(largest, paid)
    if best is not None:
        demand(near(mixture.regret, best, size + largest, len(rounds)), "regret", mixture.regret, float(best))


def check_certificates(dice: Dice, mixture: ExpertMixture, played: Played) -> None:
    """The regret to each expert, to fixed weights and to paths, against what certificates say."""
    experts, rounds = played.x.shape[1], played.order
    regrets = []
    for i in range(experts):
        try:
            regrets.append(
                sum((played.own(t) - played.expert(t, i) for t in rounds if played.awake(t, i)), Fraction(0))
            )
        except OverflowError:
            continue
    rivals = [_weights(dice, experts) for _ in range(2)]
    for c in mixture.certificates:
        demand(not math.isnan(c.bound), c.id, "has no bound")
        if not c.premises_hold:
            continue
        demand(c.holds, c.id, "does not hold:", c.regret, c.linear_regret, c.bound, c.rounding)
        against = list(regrets)
        if c.comparator.get("set") == "simplex":
            against += [sum((played.own(t) - played.combined(t, u) for t in rounds), Fraction(0)) for u in rivals]
        for said in (c.linear_regret, c.bound):
            if said is not None and math.isfinite(said):
                for regret in against:
                    fine = regret <= exact(said) + exact(c.rounding)
                    demand(fine, c.id, "regret", float(regret), "above", said, "rounding", c.rounding)


def _weights(dice: Dice, experts: int) -> list[Fraction]:
    """Fixed weights that sum to 1 exactly."""
    found = [exact(w) for w in dice.arrays.dirichlet(np.full(experts, dice.choice([0.1, 1.0])))]
    return [w / sum(found) for w in found]


def check_hindsight(dice: Dice, mixture: ExpertMixture, played: Played) -> None:
    """The best weights and paths of a review, and bounds for paths."""
    rounds = sorted(played.order)
    if not rounds or played.c.parts > 1:
        return
    x, y = played.x[rounds, :, 0], played.c.y[rounds]
    said = np.array([played.given[t][0] for t in rounds])
    review = Review.of(mixture, x, y, said)
    demand(bool(str(review)), "a review without words")
    review.to_json()
    best = review.combination
    if best is not None and math.isfinite(best.value):
        w = [exact(v) for v in best.w]
        w = [v / sum(w) for v in w]
        value = sum((played.combined(t, w) for t in rounds), Fraction(0))
        slack = exact(best.gap) + 64 * exact(2.0**-52) * (len(rounds) + 16) * abs(value)
        demand(abs(exact(best.value) - value) <= slack, "loss of the best weights", best.value, float(value))
        for u in [_weights(dice, len(w)) for _ in range(3)] + np.eye(len(w)).astype(int).tolist():
            try:
                other = sum((played.combined(t, [Fraction(v) for v in u]) for t in rounds), Fraction(0))
            except OverflowError:
                continue
            fine = other >= exact(best.value) - slack
            demand(fine, "weights better than the best", float(other), best.value, best.gap)
    if played.in_order and isinstance(mixture.aggregator, FixedShare) and type(mixture) is ExpertMixture:
        for path in review.paths:
            bound = mixture.bound(path.switches)
            fine = mixture.loss - path.loss <= bound + 1e-9 * (abs(mixture.loss) + abs(path.loss))
            demand(not math.isfinite(path.loss) or fine, "a path of", path.switches, "switches beats its bound", bound)


def check_bits(dice: Dice, make: Make, c: Composition, folder: str) -> None:
    """All rounds at once, against one by one with files between; asked and told at once, against learnt."""
    whole, parts, asked = make(), make(), make()
    try:
        whole.learn(c.x, c.y)
    except DataError:
        return
    said = []
    for t in range(len(c.x)):
        parts = saved(parts, folder) if dice.often(0.1) else parts
        said.append(parts.learn(c.x[t : t + 1], c.y[t : t + 1]).forecasts[0])
        p = whole.forecasts[t]
        if not np.isnan(p).any() and not math.isnan(c.y[t]):
            number, given = asked.ask(c.x[t])
            asked.tell(number, c.y[t])
            demand(np.array_equal(given, p), "asked and told is not learnt, in round", t)
    demand(np.array_equal(np.array(said), whole.forecasts, equal_nan=True), "one by one is not the whole")
    one, other = whole.contents()[1], parts.contents()[1]
    for name in one:
        if name.rpartition(".")[2] not in OF_THE_ROUND:
            demand(np.array_equal(one[name], other[name], equal_nan=True), "one by one is not the whole:", name)
