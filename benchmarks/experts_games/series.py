"""Mixtures of many series: every bit against a slow loop of single mixtures, figures and certificates in fractions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from benchmarks.exact import exact, loss_at, near
from benchmarks.experts_games.mixtures import demand, saved
from benchmarks.experts_games.tables import Dice, aggregator, loss_of_numbers, numbers
from lowregret.experts import ExpertMixture, MLPoly, Percentage, SeriesMixture
from lowregret.experts.join import join_mixture
from lowregret.experts.layered import LANES
from lowregret.experts.series import POOLED
from lowregret.experts.state import Book
from lowregret.loss import Loss

DAY = np.timedelta64(1, "D")


class Rows(NamedTuple):
    """A long table, row by row."""

    series: Any
    time: Any
    cutoff: Any
    x: Any
    y: Any

    def picked(self, at: Any) -> Rows:
        """Some of the rows, in any order."""
        return Rows(*(column[at] for column in self))

    def table(self, dated: bool) -> dict[str, Any]:
        """As a user brings it, in Nixtla's layout."""
        first = np.datetime64("2024-02-27")
        times = [first + np.floor(a).astype(int) * DAY if dated else a for a in (self.time, self.cutoff)]
        table = {"unique_id": self.series, "ds": times[0], "cutoff": times[1], "y": self.y}
        return table | {f"m{i}": self.x[:, i] for i in range(self.x.shape[1])}


class Slow:
    """One aggregator, or lanes and a chief, as single mixtures that are asked and told one round at a time."""

    def __init__(self, loss: Loss, aggregator: Any, prior: Any, linearised: bool) -> None:
        def make(mixed: Any, trust: Any) -> ExpertMixture:
            made = ExpertMixture(len(trust), mixed, loss, linearised=linearised, compiled=False)
            made.book = Book.fresh(trust)  # to the bit, where a sum of trust is rounded
            return made

        self.lanes = [make(lane, prior) for lane in (LANES if aggregator is None else [aggregator])]
        self.chief = make(MLPoly(), np.full(len(LANES), 1 / len(LANES))) if aggregator is None else None

    def forecast(self, x: Any) -> float:
        """The forecast by the weights of the moment."""
        said = [_said(lane, x) for lane in self.lanes]
        return said[0] if self.chief is None else _said(self.chief, np.array(said))

    def join(self, experts: int) -> None:
        """Let experts join, each mixture on its own."""
        for lane in self.lanes:
            join_mixture(lane, [f"new {len(lane.names) + k}" for k in range(experts)])

    def learn(self, x: Any, y: float) -> None:
        """Learn a round as if it were asked now."""
        said = [lane.learn(x[None], [y]).forecasts[0] for lane in self.lanes]
        if self.chief is not None:
            self.chief.learn(np.array(said)[None], [y])


def _said(mixture: ExpertMixture, x: Any) -> float:
    return float(mixture.learn(x[None], [math.nan]).forecasts[0])


def series_game(dice: Dice, folder: str) -> None:
    """Learn a long table in parts, and check all that is said of it."""
    rows, loss = _rows(dice), loss_of_numbers(dice)
    if isinstance(loss, Percentage):
        rows = rows._replace(y=np.where(rows.y == 0, 1.0, rows.y))
    mixed = dice.choice([None, aggregator(dice), aggregator(dice)])
    weighing, linearised = dice.choice(["pooled", "series", "shrunk"]), mixed is None or dice.often(0.7)
    trust = dice.choice([None, dice.arrays.dirichlet(np.ones(rows.x.shape[1]))])
    names, dated = [f"m{i}" for i in range(rows.x.shape[1])], dice.often(0.3)

    def make() -> SeriesMixture:
        return SeriesMixture(
            names, loss, weights=weighing, aggregator=mixed, linearised=linearised, prior=trust, compiled=False
        )

    whole = make().learn(rows.table(dated))
    given = whole.forecasts
    whole.deliver()
    slow, found = slow_loop(rows, loss, mixed, weighing, linearised, trust)
    demand(np.array_equal(slow, given, equal_nan=True), "forecasts are not those of a slow loop")
    check_series(whole, rows, loss, given, found)
    check_parts(dice, make(), rows, dated, given, whole, folder)


def _rows(dice: Dice) -> Rows:
    """Series, origins and horizons in any order, with gaps."""
    count, origins, ahead, experts = (dice.randint(1, most) for most in (3, 5, 3, 4))
    keys = [(s, float(o), float(o + h)) for s in range(count) for o in range(origins) for h in range(1, ahead + 1)]
    keys = [key for key in keys if dice.often(0.85)] or keys[:1]
    dice.shuffle(keys)
    x, y = numbers(dice, len(keys), experts)
    if dice.often(0.4):
        x[dice.arrays.random(x.shape) < dice.choice([0.1, 0.5])] = np.nan
    series, cutoff, time = (np.array(column) for column in zip(*keys, strict=True))
    return Rows(np.array([f"s{s}" for s in series]), time, cutoff, x, y)


def slow_loop(
    rows: Rows,
    loss: Loss,
    mixed: Any,
    weighing: str,
    linearised: bool,
    prior: Any,
    joins: Mapping[float, int] = MappingProxyType({}),
) -> tuple[Any, dict[int, float]]:
    """Forecasts given, and those that outcomes found; all outcomes are learnt in the end.

    `joins`: how many experts join before an origin learns the outcomes that it knows; they are the last of the columns.
    """
    n = rows.x.shape[1] - sum(joins.values())
    trust, came = np.full(n, 1 / n) if prior is None else prior / prior.sum(), list[int]()
    pool = Slow(loss, mixed, trust, linearised) if weighing == "shrunk" else None
    own: dict[str, Slow] = {}
    given, found = np.full(len(rows.y), math.nan), dict[int, float]()
    left = [t for t in range(len(rows.y)) if not np.isnan(rows.x[t]).all()]

    def heard(t: int) -> Any:
        x = rows.x[t, : n + sum(came)]
        return x if pool is None else np.append(pool.forecast(x), x)

    def of(t: int) -> Slow:
        key = "" if weighing == "pooled" else str(rows.series[t])
        if key not in own:
            known = np.append(POOLED, trust * (1 - POOLED)) if pool is not None else trust
            own[key] = Slow(loss, mixed, known, linearised)
            for more in came:
                own[key].join(more)
        return own[key]

    for origin in [*sorted(set(rows.cutoff.tolist())), math.inf]:
        if origin in joins:
            for slow in [*own.values(), *([] if pool is None else [pool])]:
                slow.join(joins[origin])
            came.append(joins[origin])
        for t in sorted(left, key=lambda t: (rows.time[t], rows.cutoff[t], rows.series[t])):
            if rows.cutoff[t] < origin and rows.time[t] <= origin:
                x = heard(t)
                found[t] = of(t).forecast(x)
                of(t).learn(x, float(rows.y[t]))
                if pool is not None:
                    pool.learn(rows.x[t, : n + sum(came)], float(rows.y[t]))
                left.remove(t)
        for t in (t for t in left if rows.cutoff[t] == origin):
            given[t] = of(t).forecast(heard(t))
    return given, found


def check_series(mixture: SeriesMixture, rows: Rows, loss: Loss, given: Any, found: dict[int, float]) -> None:
    """Losses, drift, regrets and certificates of all rows."""
    own = {t: loss_at(loss, exact(given[t]), exact(rows.y[t])) for t in found}
    size, total = sum(own.values(), Fraction(0)), sum(own.values(), Fraction(0))
    demand(mixture.rounds == len(found), "rounds", mixture.rounds, len(found))
    demand(near(mixture.loss, total, size, len(found)), "loss", mixture.loss, float(total))
    behind = {t: loss_at(loss, exact(found[t]), exact(rows.y[t])) for t in found}
    drift = total - sum(behind.values(), Fraction(0))
    fine = near(mixture.drift, drift, size + sum(behind.values(), Fraction(0)), len(found))
    demand(fine, "drift", mixture.drift, float(drift))
    n, groups = rows.x.shape[1], {t: "" if mixture.keys.weighing == "pooled" else str(rows.series[t]) for t in found}
    lead = {
        (t, i): own[t] - loss_at(loss, exact(rows.x[t, i]), exact(rows.y[t]))
        for t in found
        for i in range(n)
        if _awake(rows, t, i)
    }
    regrets = [sum((lead[t, i] for t in found if (t, i) in lead), Fraction(0)) for i in range(n)]
    paid = max(
        (sum((own[t] + abs(v) for (t, k), v in lead.items() if k == i), Fraction(0)) for i in range(n)), default=0
    )
    demand(
        not found or near(mixture.regret, max(regrets), size + paid, len(found)),
        "regret",
        mixture.regret,
        float(max(regrets)),
    )
    layered = mixture.own.chief is not None
    best = Fraction(0)
    for group in set(groups.values()):
        mine = [t for t in found if groups[t] == group]
        each = [[lead[t, i] for t in mine if (t, i) in lead] for i in range(n)]
        rivals = [sum(one, Fraction(0)) for one in each if one and (len(one) == len(mine) or not layered)]
        best += max(rivals) if rivals else -(10**400)
    always = [r for i, r in enumerate(regrets) if all((t, i) in lead for t in found)]
    for c in mixture.certificates:
        if not c.premises_hold:
            continue
        demand(c.holds, c.id, "does not hold:", c.regret, c.linear_regret, c.bound, c.rounding)
        regret = best if "all series" not in c.comparator["of"] else max(always, default=-(10**400))
        for said in (c.linear_regret, c.bound):
            if said is not None and math.isfinite(said):
                fine = regret <= exact(said) + exact(c.rounding)
                demand(fine, c.id, "regret", float(regret), "above", said, "rounding", c.rounding)


def _awake(rows: Rows, t: int, i: int) -> bool:
    return not math.isnan(rows.x[t, i])


def check_parts(
    dice: Dice, mixture: SeriesMixture, rows: Rows, dated: bool, given: Any, whole: SeriesMixture, folder: str
) -> None:
    """Origin after origin in tables of their own, in any order of rows, with files between: the bits of one table."""
    said = np.full(len(given), math.nan)
    origins = sorted(set(rows.cutoff.tolist()))
    cuts = sorted({*dice.sample(origins, dice.randint(0, len(origins))), origins[-1]})
    before = -math.inf
    for cut in cuts:
        at = np.flatnonzero((rows.cutoff > before) & (rows.cutoff <= cut))
        dice.arrays.shuffle(at)
        mixture.learn(rows.picked(at).table(dated))
        said[at] = mixture.forecasts
        mixture = saved(mixture, folder) if dice.often(0.5) else mixture
        before = cut
    demand(np.array_equal(said, given, equal_nan=True), "tables of some origins are not the whole")
    mixture.deliver()
    order = [whole.keys.series.index(name) for name in mixture.keys.series]
    for name in mixture.accounts._fields:
        one, other = getattr(mixture.accounts, name), getattr(whole.accounts, name)
        same = one if mixture.keys.weighing == "pooled" else one[np.argsort(order)]
        demand(np.array_equal(same, other, equal_nan=True), "tables of some origins are not the whole:", name)
