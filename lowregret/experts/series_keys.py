"""Series, origins and horizons that a mixture has met, and to which of its sets of weights a row belongs."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.errors import DataError, PartError
from lowregret.experts.long import LongTable, numbered, time_text
from lowregret.experts.origins import cutoffs_before, horizons
from lowregret.experts.waiting import WaitingForecasts, first_twice
from lowregret.types import Vector

WEIGHTS = ("pooled", "series", "horizon", "shrunk")


class RowKeys(NamedTuple):
    """The keys of each row of a table."""

    series: Any  # which of those met
    time: Vector
    cutoff: Vector
    group: Any  # whose weights it has
    old: Any  # whether the series had an origin as late before


class SeriesKeys:
    """All that was met so far; `weighing` is one of `WEIGHTS`. Nothing is changed in place."""

    def __init__(self, weighing: str) -> None:
        if weighing not in WEIGHTS:
            raise PartError(f"weights are {', '.join(WEIGHTS[:-1])} or {WEIGHTS[-1]}, got {weighing!r}")
        self.weighing = weighing
        self.series: list[str] = []
        self.steps: list[int] = []  # horizons that have weights of their own
        self.last: Vector = np.empty(0)  # the latest origin of each series
        self.clock = self.latest = -math.inf  # the latest origin, and the latest time that was forecast
        self.dated: bool | None = None  # whether times are dates, once there are some
        self.zoned: bool | None = None  # whether these say their offset from UTC, if that is known

    @property
    def groups(self) -> list[str]:
        """The series or horizons that have weights of their own; one without a name if none has."""
        if self.weighing == "horizon":
            return [str(step) for step in self.steps]
        return [""] if self.weighing == "pooled" else list(self.series)

    def meet(self, given: LongTable, waiting: WaitingForecasts | None = None) -> RowKeys:
        """The keys of a table's rows, whose series, horizons and origins are known from now on: O(n log n).

        Without cutoffs a row that is among those `waiting` has the one at which it was forecast.
        """
        self._require_kind(given)
        series = self._numbered(given.series)
        cutoff = self._cutoffs(given.time, series, waiting) if given.cutoff is None else given.cutoff
        twice = first_twice(series, given.time, cutoff)
        if twice >= 0:
            raise DataError(f"{given.place(twice)}: an earlier row has the same series, time and cutoff: leave one out")
        last = np.append(self.last, np.full(len(self.series) - self.last.size, math.nan))
        old = cutoff <= last[series]
        self._require_order(given, series, cutoff, old)
        steps = given.horizon if given.horizon is not None else horizons(series, given.time, cutoff)
        group = self._grouped(series, steps)
        np.fmax.at(last, series, cutoff)
        self.last = last
        if not old.all():
            self.clock = max(self.clock, float(cutoff.max()))
            self.latest = max(self.latest, float(given.time.max()))
        return RowKeys(series, given.time, cutoff, group, old)

    def ranks(self) -> Any:
        """The place of each series in the order of names, so that the order of rows in a table is of no matter."""
        ranks = np.empty(len(self.series), np.int64)
        ranks[sorted(range(len(self.series)), key=self.series.__getitem__)] = np.arange(len(self.series))
        return ranks

    def _cutoffs(self, time: Vector, series: Any, waiting: WaitingForecasts | None) -> Vector:
        """The time before each, or the latest cutoff at which a row that waits was forecast."""
        cutoff = cutoffs_before(time, self.clock, self.latest)
        if waiting is None or not waiting.size:
            return cutoff
        keys = zip(waiting.series.tolist(), waiting.time.tolist(), strict=True)
        known = dict(sorted(zip(keys, waiting.cutoff.tolist(), strict=True)))
        rows = zip(series.tolist(), time.tolist(), cutoff.tolist(), strict=True)
        return np.array([known.get((which, moment), before) for which, moment, before in rows])

    def _numbered(self, names: Any) -> Any:
        """Which series each row is of; new ones are put behind those known."""
        found, which = numbered(names.tolist())
        known = {name: k for k, name in enumerate(self.series)}
        new = [name for name in found if name not in known]
        self.series = [*self.series, *new]
        known |= {name: len(known) + k for k, name in enumerate(new)}
        return np.array([known[name] for name in found], np.int64)[which]

    def _grouped(self, series: Any, steps: Any) -> Any:
        """Whose weights each row has."""
        if self.weighing == "pooled":
            return np.zeros(series.size, np.int64)
        if self.weighing != "horizon":
            return series
        found, which = np.unique(steps, return_inverse=True)
        self.steps = [*self.steps, *(step for step in found.tolist() if step not in self.steps)]
        return np.array([self.steps.index(step) for step in found.tolist()], np.int64)[which.reshape(-1)]

    def _require_kind(self, given: LongTable) -> None:
        """Refuse times that are not of the kind met before: 12:00 is not the moment 12:00+02:00."""
        if not given.y.size:
            return
        if self.dated not in (None, given.dated):
            raise DataError(f"times are {_kind(given.dated)} in this table, and were {_kind(not given.dated)} before")
        if given.dated and self.zoned not in (None, given.zoned):
            now, before = ("say", "did not") if given.zoned else ("do not say", "did")
            raise DataError(f"dates {now} their offset from UTC in this table, and {before} before")
        self.dated, self.zoned = given.dated, given.zoned if given.dated else None

    def _require_order(self, given: LongTable, series: Any, cutoff: Vector, old: Any) -> None:
        """Refuse forecasts from before the latest origin: weights know outcomes that they could not know."""
        late = np.flatnonzero(~old & (cutoff < self.clock))
        if late.size:
            row = int(late[0])
            origin, clock = (time_text(float(t), given.dated) for t in (cutoff[row], self.clock))
            raise DataError(
                f"{given.place(row)}: series {self.series[series[row]]!r} was forecast at {origin}, before the latest "
                f"origin {clock} of this mixture, whose weights know more by now: learn all origins in order, in one "
                "table or one after the other"
            )


def _kind(dated: bool) -> str:
    return "dates" if dated else "numbers"
