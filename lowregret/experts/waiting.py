"""Forecasts of many series that were given and whose outcomes are still to be learnt."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError
from lowregret.types import Vector

Matrix = NDArray[np.float64]


class WaitingForecasts(NamedTuple):
    """Rows, one after the other as they were asked, with all that is needed to learn them."""

    number: Any
    series: Any  # which of the mixture's
    group: Any  # whose weights they have
    time: Vector
    cutoff: Vector
    x: Matrix  # forecasts of the experts
    y: Vector  # NaN while it is not known
    p: Vector  # the forecast that was given

    @classmethod
    def empty(cls, experts: int) -> WaitingForecasts:
        """No rows."""
        whole, real = np.empty(0, np.int64), np.empty(0)
        return cls(whole, whole, whole, real, real, np.empty((0, experts)), real, real)

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.number.size)

    def joined(self, more: WaitingForecasts) -> WaitingForecasts:
        """These rows and more."""
        return WaitingForecasts(*(np.concatenate(pair) for pair in zip(self, more, strict=True)))

    def picked(self, at: Any) -> WaitingForecasts:
        """Some of the rows."""
        return WaitingForecasts(*(column[at] for column in self))

    def places(self, series: Any, time: Vector, cutoff: Vector) -> Any:
        """Where the rows of these keys are; −1 where they are not: O(n)."""
        keys = zip(self.series.tolist(), self.time.tolist(), self.cutoff.tolist(), strict=True)
        known = {key: at for at, key in enumerate(keys)}
        wanted = zip(series.tolist(), time.tolist(), cutoff.tolist(), strict=True)
        return np.array([known.get(key, -1) for key in wanted], np.int64)


def first_twice(series: Any, time: Vector, cutoff: Vector) -> int:
    """The second of two rows with the same keys; −1 if there are none: O(n log n)."""
    order = np.lexsort((cutoff, time, series))
    same = (np.diff(series[order]) == 0) & (np.diff(time[order]) == 0) & (cutoff[order][1:] == cutoff[order][:-1])
    return int(order[1:][same].min()) if same.any() else -1


def places_of(waiting: WaitingForecasts, numbers: Any, first: int, end: int, resumed: bool) -> Any:
    """Where the rows of these numbers are, each once; or an error that says why there is no such row."""
    known = {number: at for at, number in enumerate(waiting.number.tolist())}
    if np.ndim(numbers) > 1 or np.any([not isinstance(number, int) for number in np.ravel(numbers).tolist()]):
        raise DataError(f"numbers of forecasts are whole numbers, as `ask` gave them, got {numbers!r}")
    found = []
    for number in np.asarray(numbers).tolist():
        if number not in known:
            why = "its outcome was told before" if first <= number < end else f"{end - first} were asked"
            if resumed and not first <= number < end:
                why = "its outcome was told before, or it was asked after the save that this run goes on from"
            raise DataError(f"forecast {number} waits for no outcome: {why}")
        found.append(known.pop(number))
    return np.array(found, np.int64)
