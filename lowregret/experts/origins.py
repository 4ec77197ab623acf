"""The order of events: forecasts of one origin are all made before any outcome that was not known at that origin.

The outcome for a time is known at origins from that time on: at a cutoff of Friday, that of Friday is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.types import Vector


class OriginEvents(NamedTuple):
    """Rows whose forecasts are asked for, or whose outcomes have become known, one after the other."""

    rows: Any
    asks: Any  # whether the forecast is asked for

    @property
    def arrivals(self) -> Any:
        """The rows whose outcomes become known, in order."""
        return self.rows[~self.asks]


def events_of(time: Vector, cutoff: Vector, rank: Any, fresh: Any, known: Any) -> OriginEvents:
    """All that happens when the rows that are `fresh` are asked, origin after origin: O(n log n).

    At each origin the outcomes that are `known` up to it are learnt, in order of time, cutoff and rank; then its
    forecasts are asked for. Outcomes of times after the last origin wait.
    """
    origins = np.unique(cutoff[fresh])
    asked = np.flatnonzero(fresh)
    place = np.searchsorted(origins, time)
    arriving = np.flatnonzero(known & (place < origins.size))
    rows = np.concatenate([arriving, asked])
    asks = np.arange(rows.size) >= arriving.size
    when = np.concatenate([place[arriving], np.searchsorted(origins, cutoff[asked])])
    by_time = np.where(asks, 0.0, time[rows])  # forecasts of an origin in order of series, whose weights are the same
    order = np.lexsort((rank[rows], cutoff[rows], by_time, asks, when))
    return OriginEvents(rows[order], asks[order])


def in_order(time: Vector, cutoff: Vector, rank: Any, rows: Any) -> OriginEvents:
    """The outcomes of these rows, learnt in order of time, cutoff and rank."""
    order = np.lexsort((rank[rows], cutoff[rows], time[rows]))
    return OriginEvents(rows[order], np.zeros(rows.size, bool))


def horizons(series: Any, time: Vector, cutoff: Vector) -> Any:
    """How many steps ahead each row is: its place among the times that its series has at its cutoff, from 1 on."""
    order = np.lexsort((time, cutoff, series))
    which, origin = series[order], cutoff[order]  # infinite origins have no difference
    new = np.append(True, (which[1:] != which[:-1]) | (origin[1:] != origin[:-1]))
    begin = np.maximum.accumulate(np.where(new, np.arange(order.size), 0)) if order.size else np.empty(0, np.int64)
    steps = np.empty(order.size, np.int64)
    steps[order] = np.arange(order.size) - begin + 1
    return steps


def cutoffs_before(time: Vector, clock: float, latest: float) -> Vector:
    """For tables without cutoffs: the time before each, so that its outcomes are known, here or among those met.

    `latest` is the latest time that was forecast before, at `clock`.
    """
    times = np.unique(np.concatenate([[-np.inf, clock, latest], time]))
    return np.where(time == latest, clock, times[np.maximum(np.searchsorted(times, time) - 1, 0)])
