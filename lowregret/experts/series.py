"""Forecasts of many series in one mixture: origins, horizons, outcomes that come late, thousands of series at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate
from lowregret.compile.call import call, compilable
from lowregret.compile.numerics import summed
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import require_fitting, why_refused
from lowregret.experts.aggregator import Aggregator, MLPoly
from lowregret.experts.best import BestExpert
from lowregret.experts.given import given_names
from lowregret.experts.group_mixture import GroupMixture, MixedForecasts, Refusal, Way
from lowregret.experts.groups import GroupAccounts, account_events, more_experts, more_groups
from lowregret.experts.layered import LANES
from lowregret.experts.long import LongTable, long_table
from lowregret.experts.origins import OriginEvents, events_of, in_order
from lowregret.experts.schema_series import SeriesSchema
from lowregret.experts.series_certify import series_certificates
from lowregret.experts.series_file import read_series, write_series
from lowregret.experts.series_keys import RowKeys, SeriesKeys
from lowregret.experts.state import OWN, ROUNDS, Book, as_prior, behind_all
from lowregret.experts.substitute import Mean
from lowregret.experts.waiting import WaitingForecasts, places_of
from lowregret.learner.validate import real_numbers
from lowregret.loss import Loss, Square
from lowregret.loss.verify import first_met
from lowregret.run.round_by_round import Contents, Recorded, elsewhere
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted, listed

Matrix = NDArray[np.float64]
POOLED = 0.5  # trust in the pooled mixture at the beginning, of series that are shrunk to it


class SeriesMixture(Recorded):
    """Experts who forecast many series, several steps ahead, and how their forecasts become one.

    `weights`: one set for all series ("pooled"), one for each series or for each horizon, or one for each series in
    which the pooled mixture is one more expert ("shrunk"), with half of the trust at the beginning.
    `aggregator`: None for the lanes of `Layered`. `forecasts` and `numbers` are those of the latest `learn` or `ask`,
    one a row of its table. `recording`: whether `weights_over_time` is kept of the latest `learn`.
    """

    kind = "series-experts"
    schema = SeriesSchema()

    def __init__(
        self,
        experts: int | list[str],
        loss: Loss = Square(),
        *,
        weights: str = "shrunk",
        aggregator: Aggregator | None = None,
        linearised: bool = True,
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        super().__init__()
        self.names = given_names(experts)
        _require(loss, aggregator, linearised)
        lanes = LANES if aggregator is None else (aggregator,)
        self.way = Way(loss, Mean(), bool(linearised), compiled and all(map(compilable, (loss, *lanes))))
        self.aggregator = aggregator
        chief = MLPoly() if aggregator is None else None
        trust = as_prior(prior, len(self.names))
        self.pool = GroupMixture(lanes, chief, trust, 1) if weights == "shrunk" else None
        own = np.append(POOLED, trust * (1 - POOLED)) if weights == "shrunk" else trust
        self.own = GroupMixture(lanes, chief, own, 1 if weights == "pooled" else 0)
        self.accounts = GroupAccounts.fresh(1 if weights == "pooled" else 0, len(self.names))
        self.keys = SeriesKeys(weights)
        self.waiting = WaitingForecasts.empty(len(self.names))
        self.asked = self.ahead = self.first = 0  # forecasts; numbers less forecasts; the first so numbered
        self.called: str | None = None  # the name that its loss was given, of which it may have several
        self.met = first_met(loss)
        self.forecasts, self.numbers = np.empty(0), np.empty(0, np.int64)
        self.skipped = 0  # rows of the latest table that were learnt before
        self.joined: list[str] = []  # experts that came with the latest table
        self.retired: list[str] = []  # experts that it does not have
        self.recording, self._trail = False, list[tuple[float, int, Vector]]()

    # ---- rounds ------------------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, table: Any, **columns: Any) -> Self:
        """Forecast all rows, origin after origin, and learn outcomes as they become known: O(rows · N), all or none.

        `table` is a frame or mapping, read by `long_table`, whose options `columns` are. Rows may be in any order. Rows
        without an outcome are forecast and wait for it: in a later table that has the row again, or by `tell`. Rows
        that were learnt before are skipped, so that a table that grows may be given as a whole.
        """
        given = long_table(table, expected=self.names, **columns)
        with self._all_or_none():
            self._learn(given)
        return self

    def ask(self, table: Any, **columns: Any) -> tuple[Any, Vector]:
        """Numbers and forecasts of rows whose outcomes are yet to come."""
        given = long_table(table, expected=self.names, **columns)
        self.learn(LongTable(**{**vars(given), "y": np.full(len(given.y), math.nan)}))
        return self.numbers, self.forecasts

    @in_turn
    def tell(self, numbers: Any, outcomes: Any) -> Vector:
        """Learn outcomes of forecasts that were asked, in this order, now; returns the losses."""
        end = self.asked + self.ahead
        at = places_of(self.waiting, np.atleast_1d(numbers), self.first + self.ahead, end, self.ahead > 0)
        y = real_numbers(outcomes, "outcomes")
        if y.shape != at.shape or np.isnan(y).any():
            raise DataError(f"{counted(at.size, 'forecast')} want as many outcomes, each a number; got {outcomes}")
        require_fitting(self.way.loss, y, "forecast {}".format, self.way.compiled)
        known = self.waiting.y.copy()
        known[at] = y
        given = self.waiting.p[at]
        with self._all_or_none():
            self.waiting = self.waiting._replace(y=known)
            self._settle(OriginEvents(at, np.zeros(at.size, bool)), self.waiting.size, "waiting row {}".format)
        return np.array([self.way.loss.at(p, o)[0] for p, o in zip(given.tolist(), y.tolist(), strict=True)])

    @in_turn
    def deliver(self) -> Self:
        """Learn all outcomes that are known and wait for an origin after their time."""
        with self._all_or_none():
            w = self.waiting
            rows = np.flatnonzero(~np.isnan(w.y))
            self._settle(in_order(w.time, w.cutoff, self.keys.ranks()[w.series], rows), w.size, "waiting row {}".format)
        return self

    @property
    def pending(self) -> int:
        """Forecasts whose outcomes are not learnt yet."""
        return self.waiting.size

    def _learn(self, given: LongTable) -> None:
        x = self._aligned(given)
        require_fitting(self.way.loss, given.y, given.place, self.way.compiled)
        keys = self.keys.meet(given, self.waiting)
        self._make_room()
        at = self._take_outcomes(keys, given.y)
        self.skipped = int(np.count_nonzero(at[keys.old] < 0))
        fresh = np.flatnonzero(~keys.old)
        self._wait(keys, fresh, x[fresh], given.y[fresh])
        w, waited = self.waiting, self.waiting.size - fresh.size
        self.numbers = np.where(at >= 0, np.append(w.number, -1)[at], -1)
        self.forecasts = np.where(at >= 0, np.append(w.p, math.nan)[at], math.nan)
        known = ~np.isnan(w.y) & ~np.isnan(w.x).all(1)
        events = events_of(w.time, w.cutoff, self.keys.ranks()[w.series], np.arange(w.size) >= waited, known)
        places = np.append(np.full(waited, -1), fresh)
        self.forecasts[fresh] = self._settle(events, waited, lambda row: _place(given, int(places[row])))[waited:]
        self.numbers[fresh] = w.number[waited:]

    def _wait(self, keys: RowKeys, fresh: Any, x: Matrix, y: Vector) -> None:
        """Put rows among those that wait."""
        number = self.asked + self.ahead + np.arange(fresh.size)
        series, group, time, cutoff = (a[fresh] for a in (keys.series, keys.group, keys.time, keys.cutoff))
        blank = np.full(fresh.size, math.nan)
        self.waiting = self.waiting.joined(WaitingForecasts(number, series, group, time, cutoff, x, y, blank))
        self.asked += fresh.size

    def _take_outcomes(self, keys: RowKeys, y: Vector) -> Any:
        """Note outcomes of rows that wait; where each row of a table waits, −1 for those that do not."""
        at, old = np.full(y.size, -1), np.flatnonzero(keys.old)
        if old.size:
            at[old] = self.waiting.places(keys.series[old], keys.time[old], keys.cutoff[old])
            told = np.flatnonzero((at >= 0) & ~np.isnan(y))
            known = self.waiting.y.copy()
            known[at[told]] = y[told]
            self.waiting = self.waiting._replace(y=known)
        return at

    def _settle(self, events: OriginEvents, waited: int, place: Any) -> Vector:
        """Let events happen to the rows that wait, of which the first `waited` were asked before; all forecasts."""
        w, begin = self.waiting, 0
        given = np.append(w.p[:waited], np.full(w.size - waited, math.nan))
        learnt, self._trail = np.cumsum(~events.asks), []
        while begin < events.rows.size:  # with a stop wherever a point of the curves is due
            before = int(learnt[begin - 1]) if begin else 0
            end = int(np.searchsorted(learnt, before + self.history.due - self.rounds)) + 1
            self._settle_part(OriginEvents(events.rows[begin:end], events.asks[begin:end]), given, place)
            self._mark()
            begin = end
        left = ~np.isnan(given)
        left[events.arrivals] = False
        self.waiting = w._replace(p=given).picked(left)
        return given

    def _settle_part(self, events: OriginEvents, given: Vector, place: Any) -> None:
        """Let events happen to rows that wait, and note the forecasts that are given."""
        w = self.waiting
        rows, at = np.unique(events.rows, return_inverse=True)
        events = OriginEvents(at.reshape(-1), events.asks)
        x, y, group, asked = w.x[rows], w.y[rows, None], w.group[rows], events.rows[events.asks]
        try:
            played = self._play(events, x, y, group, self.recording)
            given[rows[asked]] = played.asked[asked, 0]
            work = Book.fresh(np.full(len(self.names), 1 / len(self.names)))
            arrays = events.arrivals, group, x[:, None], y, given[rows, None], played.found
            done = call(account_events, self.way.compiled, self.way.loss, self.accounts, work, *arrays)
            if done < events.arrivals.size:
                row = int(events.arrivals[done])
                raise Refusal(row, float(given[rows[row]]), "")
        except Refusal as error:
            row = int(rows[error.row])
            told = error.aggregator, [error.forecast], [w.y[row]], int(w.number[row])
            why = error.why or why_refused(self.way.loss, *told)
            raise DataError(f"{place(row)}: {why}") from None
        if self.recording:
            self._record(played.weights[asked], rows[asked])

    def _play(self, events: OriginEvents, x: Matrix, y: Matrix, group: Any, wanted: bool) -> MixedForecasts:
        """Let events happen in the pooled mixture, if there is one, then in those of the groups."""
        if self.pool is None:
            return self.own.play(self.way, events, group, x, x, y, wanted)
        pooled = self.pool.play(self.way, events, np.zeros(len(x), np.int64), x, x, y, wanted)
        asked, found = (np.hstack([mixed, x]) for mixed in (pooled.asked, pooled.found))
        played = self.own.play(self.way, events, group, asked, found, y, wanted)
        return played._replace(weights=played.weights[:, 1:] + played.weights[:, :1] * pooled.weights)

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Forecasts whose outcome was learnt."""
        return int(self.accounts.counts[:, ROUNDS].sum())

    @property
    def loss(self) -> float:
        """Σ ℓ(p_t, y_t) over them, p_t the forecast that was given."""
        return summed(self.accounts.sums[:, OWN])

    @property
    def drift(self) -> float:
        """By how much more the forecasts lost than they would have with the weights that their outcomes found."""
        return summed(self.accounts.late)

    @property
    def weights(self) -> Matrix:
        """Trust in each expert in the coming forecast, if all are awake, a row for each of `keys.groups`: O(GN)."""
        count = len(self.keys.groups)
        events = OriginEvents(np.arange(count), np.ones(count, bool))
        x, y = np.zeros((count, len(self.names))), np.full((count, 1), math.nan)
        return self._play(events, x, y, np.arange(count), True).weights

    @property
    def mean_weights(self) -> Vector:
        """The mean of `weights` over groups, whatever their order: O(GN)."""
        found = self.weights
        return np.array([summed(column) for column in found.T]) / max(len(found), 1)

    @property
    def weights_over_time(self) -> tuple[Vector, list[str], Matrix]:
        """Cutoffs, groups and the weights that the latest `learn` used first there, if it was `recording`."""
        names = self.keys.groups
        cutoffs, groups, weights = zip(*self._trail, strict=True) if self._trail else ((), (), ())
        return np.array(cutoffs), [names[g] for g in groups], np.array(weights).reshape(-1, len(self.names))

    @property
    def regrets(self) -> Vector:
        """Σ(ℓ(p_t) − ℓ(x_t[k])) against each expert k, over the rows in which it had a forecast."""
        return behind_all(self.accounts)

    @property
    def regret(self) -> float:
        """Σ(ℓ(p_t) − ℓ(x_t[k])) against the best expert k for all series, as `ExpertMixture.regret`."""
        return float(np.max(self.regrets))

    @property
    def best(self) -> BestExpert:
        """The best expert for all series."""
        k = int(np.argmax(self.regrets))
        return BestExpert(k, self.names[k], summed(self.accounts.losses[:, k]))

    @property
    def certificates(self) -> list[Certificate]:
        """Bounds on the regret to the best of each group, and through the pooled mixture to the best for all."""
        return series_certificates(self)

    def _of(self) -> str:
        return f"{counted(len(self.names), 'expert')} on {counted(len(self.keys.series), 'series', 'series')}"

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"{type(self.way.loss).__name__} loss {self.loss / max(self.rounds, 1):.4g} a round"
        yield f"weights {self.keys.weighing}"
        if self.pending:
            yield f"{self.pending:,} pending"

    # ---- inside ------------------------------------------------------------------------------------------------------

    @contextmanager
    def _all_or_none(self) -> Iterator[None]:
        """Go back to what was before if a row is refused: O(GN)."""
        before, keys, marks = dict(vars(self)), copy(self.keys), self.history.mark()
        mixtures = [mixture for mixture in (self.pool, self.own) if mixture is not None]
        copies = [mixture.copies() for mixture in mixtures]
        accounts = GroupAccounts(*(a.copy() for a in self.accounts))
        try:
            yield
        except BaseException:
            vars(self).update(before | {"keys": keys, "accounts": accounts})
            self.history.back(marks)
            for mixture, kept in zip(mixtures, copies, strict=True):
                mixture.back(kept)
            raise

    def _make_room(self) -> None:
        """Make room for groups that were not met before."""
        count = len(self.keys.groups)
        if count > len(self.accounts.counts):
            self.own.widen(count)
            self.accounts = more_groups(self.accounts, count)

    def _aligned(self, given: LongTable) -> Matrix:
        """Forecasts in the order of the experts, by name: NaN of those that the table lacks; new ones join."""
        new = [name for name in given.names if name not in self.names]
        self.retired = [name for name in self.names if name not in given.names]
        self.joined = new
        if len(self.retired) == len(self.names):
            raise DataError(f"the table has none of the experts {listed(self.names)}")
        if new:
            self._join(new)
        infinite = np.argwhere(np.isinf(given.x))
        if infinite.size:
            t, i = infinite[0].tolist()
            raise DataError(f"{given.place(t)}: the forecast of {given.names[i]} is infinite")
        x = np.full((len(given.x), len(self.names)), math.nan)
        places = {name: k for k, name in enumerate(self.names)}
        x[:, [places[name] for name in given.names]] = given.x
        if self.met is not None:
            self.met = self.met.wider(x[~np.isnan(x)], given.y[~np.isnan(given.y)])
        return x

    def _join(self, names: list[str]) -> None:
        """Let experts join, as if they had been asleep before."""
        for mixture in (self.pool, self.own):
            if mixture is not None:
                mixture.join(len(names))
        self.names = [*self.names, *names]
        self.accounts = more_experts(self.accounts, len(self.names))
        blank = np.full((self.waiting.size, len(names)), math.nan)
        self.waiting = self.waiting._replace(x=np.hstack([self.waiting.x, blank]))

    def _record(self, weights: Matrix, rows: Any) -> None:
        """Keep the first weights of each origin and group, before all those of a row in which somebody was awake."""
        w, first = self.waiting, max(len(self._trail) - len(self.keys.groups), 0)
        places = {(cutoff, group): first + k for k, (cutoff, group, _) in enumerate(self._trail[first:])}
        for row, used in zip(rows.tolist(), weights, strict=True):
            key = float(w.cutoff[row]), int(w.group[row])
            at = places.setdefault(key, len(self._trail))
            if at == len(self._trail):
                self._trail.append((*key, used.copy()))
            elif used.any() and not self._trail[at][2].any():
                self._trail[at] = (*key, used.copy())

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        return write_series(self)

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = read_series(cls, found)
        made.first, made.ahead = made.asked, elsewhere()
        return made

    def mixtures(self) -> Iterator[tuple[str, GroupMixture]]:
        """The mixtures inside, by the names they have in a file."""
        if self.pool is not None:
            yield "pool", self.pool
        yield "own", self.own


def _place(given: LongTable, row: int) -> str:
    return "a row asked before" if row < 0 else given.place(row)


def _require(loss: Any, aggregator: Any, linearised: bool) -> None:
    """Refuse parts that do not make a mixture."""
    if not isinstance(loss, Loss):
        raise PartError(f"a mixture needs a loss such as Square(), got {loss!r}")
    if aggregator is not None and not isinstance(aggregator, Aggregator):
        raise PartError(f"the aggregator must be one such as AdaHedge() or Hedge(0.1), or None, got {aggregator!r}")
    if aggregator is None and not (linearised and math.isfinite(loss.at(0.0, 1.0)[0])):
        raise PartError("layers are of linearised losses that are finite: name an aggregator, such as Hedge(1.0)")
