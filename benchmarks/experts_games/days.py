"""Mixtures that go on from day to day: tables that grow or overlap, late outcomes, experts that join, zones.

Each day's table has the rows of its origins, outcomes as far as they are known, rows of earlier days whose outcomes
have come, and some that were learnt already. All must be as in a slow loop over the whole, to the bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np

from benchmarks.experts_games.mixtures import JOINED, demand, saved
from benchmarks.experts_games.series import Rows, check_series, slow_loop
from benchmarks.experts_games.tables import Dice, aggregator, loss_of_numbers, numbers
from lowregret.experts import Hedge, Percentage, SeriesMixture

FIRST = datetime(2024, 2, 27, tzinfo=UTC)  # before a leap day
ZONES = [timezone(timedelta(hours=h)) for h in (-11, -5.5, 0, 1, 9, 14)]
Dress = Callable[[Any], Any]


def days_game(dice: Dice, folder: str) -> None:
    """Learn a long table day by day, and check every forecast and all that is said in the end."""
    dated = dice.often(0.8)
    rows = _rows(dice)
    loss = loss_of_numbers(dice)
    if isinstance(loss, Percentage):
        rows = rows._replace(y=np.where(rows.y == 0, 1.0, rows.y))
    days = _days(dice, rows)
    joins = _joins(dice, rows, days)
    mixed = dice.choice([None, aggregator(dice)] if not joins else [None, *JOINED, Hedge(10 ** dice.uniform(-3, 3))])
    weighing, linearised = dice.choice(["pooled", "series", "shrunk"]), mixed is None or dice.often(0.7)
    n = rows.x.shape[1] - sum(joins.values())
    trust = dice.choice([None, dice.arrays.dirichlet(np.ones(n))])
    mixture = SeriesMixture(
        [f"m{i}" for i in range(n)], loss, weights=weighing, aggregator=mixed, linearised=linearised, prior=trust,
        compiled=False,
    )  # fmt: skip
    wanted, found = slow_loop(rows, loss, mixed, weighing, linearised, trust, joins)
    play = Days(dice, rows, _dress(dice, dated), joins)
    mixture = play.learn(mixture, days, folder)
    demand(np.array_equal(play.said, wanted, equal_nan=True), "forecasts day by day are not those of a slow loop")
    check_series(mixture.deliver(), rows, loss, wanted, found)


def _rows(dice: Dice) -> Rows:
    """Series that begin and end, several steps ahead or one; cutoffs are the times before where they are not said."""
    count, times, experts, ahead = dice.randint(1, 3), dice.randint(2, 6), dice.randint(1, 4), dice.choice([1, 3])
    keys = [(s, float(o), float(o + h)) for s in range(count) for o in range(times) for h in range(1, ahead + 1)]
    keys = [key for key in keys if dice.often(0.8)] or keys[:1]
    dice.shuffle(keys)
    x, y = numbers(dice, len(keys), experts)
    if dice.often(0.4):
        x[dice.arrays.random(x.shape) < dice.choice([0.1, 0.5])] = np.nan
    series, cutoff, time = (np.array(column) for column in zip(*keys, strict=True))
    if ahead == 1:
        known = np.append(-1.0, np.unique(time))
        cutoff = known[np.searchsorted(known, time) - 1]
    return Rows(np.array([f"s{s}" for s in series], object), time, cutoff, x, y)


def _days(dice: Dice, rows: Rows) -> list[float]:
    """The last origin of each day's table."""
    origins = sorted(set(rows.cutoff.tolist()))
    return sorted({*dice.sample(origins, dice.randint(0, len(origins))), origins[-1]})


def _joins(dice: Dice, rows: Rows, days: list[float]) -> dict[float, int]:
    """How many experts join with the first origin of which day; they have no forecasts in `rows` before."""
    left, found = rows.x.shape[1] - 1, dict[float, int]()
    origins = sorted(set(rows.cutoff.tolist()))
    for before in days[:-1] if dice.often(0.5) else []:
        more = dice.randint(0, left)
        if more:
            first = next(origin for origin in origins if origin > before)
            left, found[first] = left - more, more
    n = rows.x.shape[1] - sum(found.values())
    for first, more in found.items():
        rows.x[rows.cutoff < first, n:] = math.nan
        n += more
    return found


def _dress(dice: Dice, dated: bool) -> Dress:
    """Times as numbers, or as dates in one of the ways in which people write them."""
    if not dated:
        return dice.choice([lambda t: t, lambda t: t * 1e9 + 1.7e18, lambda t: t / 8 - 100])
    step = dice.choice([timedelta(days=1), timedelta(hours=1), timedelta(microseconds=1)])

    def moments(times: Any) -> list[datetime]:
        return [FIRST + step * t for t in times.tolist()]

    def zoned(times: Any) -> Any:
        return np.array([m.astimezone(dice.choice(ZONES)).isoformat() for m in moments(times)], object)

    def bare(times: Any) -> Any:
        return np.array([m.replace(tzinfo=None).isoformat(dice.choice(" T")) for m in moments(times)], object)

    def typed(times: Any) -> Any:
        return np.array([m.replace(tzinfo=None) for m in moments(times)], f"datetime64[{dice.choice(['us', 'ns'])}]")

    def whole(times: Any) -> Any:
        return np.array([int(f"{FIRST + timedelta(days=t):%Y%m%d}") for t in times.tolist()])

    return dice.choice([zoned, bare, typed, whole])


class Days:
    """A table that is brought day by day."""

    def __init__(self, dice: Dice, rows: Rows, dress: Dress, joins: dict[float, int]) -> None:
        self.dice, self.rows, self.dress, self.joins = dice, rows, dress, joins
        self.stepwise = dice.often(0.5) and is_stepwise(rows)  # whether cutoffs are not said
        self.said = np.full(len(rows.y), math.nan)
        self.told = np.zeros(len(rows.y), bool)  # whose outcomes were brought

    def learn(self, mixture: SeriesMixture, days: list[float], folder: str) -> SeriesMixture:
        """Bring all days, and outcomes that are left on a last one."""
        before = -math.inf
        for last in days:
            fresh = (self.rows.cutoff > before) & (self.rows.cutoff <= last)
            mixture = saved(mixture, folder) if self.dice.often(0.4) else mixture
            self._bring(mixture, fresh, self.rows.cutoff <= before, last)
            before = last
        self._bring(mixture, np.zeros(len(self.told), bool), np.ones(len(self.told), bool), math.inf)
        return mixture

    def _bring(self, mixture: SeriesMixture, fresh: Any, old: Any, last: float) -> None:
        """One day's table: what is new, what has come, and what was there before."""
        rows, chance = self.rows, self.dice.arrays.random(len(self.told))
        due = old & ~self.told & (rows.time <= last)
        at = np.flatnonzero(fresh | due | (old & (chance < self.dice.choice([0, 0.3, 1]))))
        if not at.size:
            return
        self.dice.arrays.shuffle(at)
        known = (rows.time <= last) | (chance < 0.5)
        mixture.learn(self._table(at, np.where(known, rows.y, math.nan), fresh))
        new = fresh[at]
        self.said[at[new]] = mixture.forecasts[new]
        again = ~new & ~np.isnan(mixture.forecasts)
        demand(np.array_equal(mixture.forecasts[again], self.said[at[again]]), "a forecast that was given is another")
        demand(
            not np.any(due[at] & np.isnan(mixture.forecasts) & ~np.isnan(self.said[at])), "an outcome came to nobody"
        )
        self.told[at[known[at]]] = True

    def _table(self, at: Any, y: Any, fresh: Any) -> dict[str, Any]:
        """Rows as a user brings them, some without the columns in which nobody says anything."""
        rows, dice = self.rows, self.dice
        table = {"unique_id": rows.series[at], "ds": self.dress(rows.time[at]), "y": y[at]}
        if not self.stepwise:
            table["cutoff"] = self.dress(rows.cutoff[at])
        began = rows.cutoff[fresh].min(initial=math.inf) if fresh.any() else math.inf
        joining = sum(more for first, more in self.joins.items() if first <= began or not fresh.any())
        n = rows.x.shape[1] - sum(self.joins.values()) + joining
        held = n - self.joins.get(began, 0)
        silent = [i for i in range(held) if np.isnan(rows.x[fresh, i]).all() and dice.often(0.5)]
        kept = [i for i in range(n) if i not in silent] or [0]
        return table | {f"m{i}": np.where(fresh[at], rows.x[at, i], math.nan) for i in kept}


def is_stepwise(rows: Rows) -> bool:
    """Whether every cutoff is the time before."""
    known = np.append(-math.inf, np.unique(rows.time))
    before = known[np.searchsorted(known, rows.time) - 1]
    return bool(np.all((before == rows.cutoff) | (before == -math.inf)))
