"""How late labels come: a lag for each row, in rows, or in seconds of a clock that rows bring along."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from lowregret.errors import DataError, PartError
from lowregret.learner.delayed import LONGEST_DELAY
from lowregret.learner.validate import settled
from lowregret.stream.batch import Batch
from lowregret.types import Vector

MICROS = 1e6  # a second in the unit in which moments are compared
NO_CLOCK: Vector = np.empty(0)

# ---- met[…]: of the answers that came, all but the last two ----------------------------------------------------------
CAME, ROWS, MOST_ROWS, WAITED, MOST_WAITED = range(5)  # how many; Σ and max of their lags in rows, and in microseconds
CROWD = 5  # the most that were under way together when one came
NOW = 6  # the time of the latest row asked, in microseconds
MET = 7


class Lags(NamedTuple):
    """How late the label of each row comes: `lags` in rows or, where rows have `times`, in seconds after these."""

    lags: Any
    times: Vector = NO_CLOCK

    @property
    def timed(self) -> bool:
        """Whether lags are in seconds."""
        return bool(self.times.size)

    def cut(self, end: int) -> Lags:
        """The lags of the first rows."""
        return Lags(self.lags[:end], self.times[:end])


def settled_delay(delay: Any) -> Any:
    """Delays or lags as plain arrays, of which nobody else is asked any more."""
    if isinstance(delay, Lags):
        return Lags(*(settled(given, "delays", "numbers") for given in delay))
    return settled(delay, "delays", "whole numbers ≥ 0")


def first_met() -> Vector:
    """The counts of `met` before the first row."""
    found = np.zeros(MET)
    found[NOW] = -np.inf
    return found


def lags_of(delay: Any, count: int) -> Lags:
    """The lags of a batch of rows, given so or as delays in rows; those of rows without a label may be missing."""
    if not isinstance(delay, Lags):
        return Lags(delays_of(delay, count))
    lags = np.nan_to_num(np.asarray(delay.lags, float))
    return Lags(lags, np.round(MICROS * delay.times)) if delay.timed else Lags(lags.astype(np.int64))


def first_back(now: float, times: Vector) -> int:
    """The first row that comes before an earlier one; how many there are if none does."""
    back = np.diff(times, prepend=now) < 0
    return int(np.argmax(back)) if back.any() else times.size


def rows_known(known: Vector, times: Vector, asked: int) -> Any:
    """The number of rows after which each answer comes: all whose time is not later than when it is known.

    Answers known only after the last row, or at its time, come after more rows than there are yet.
    """
    behind = np.searchsorted(times, known, side="right")
    return asked + behind + (behind == times.size)


def with_delays(batches: Iterable[Batch], delay: Any) -> Iterator[tuple[Batch, Any]]:
    """Batches with the delays of their rows, given one for all or one for each; None if there are none."""
    done = 0
    for batch in batches:
        yield batch, None if delay is None else delays_of(delay, len(batch), done)
        done += len(batch)


def checked_delay(delay: Any) -> int:
    """A delay in rows that every row has; a `PartError` if it is none."""
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or not 0 <= delay <= LONGEST_DELAY:
        raise PartError(f"delay must be a whole number of rows from 0 to {LONGEST_DELAY}, got {delay!r}")
    return int(delay)


def delays_of(delay: Any, count: int, begin: int = 0) -> Any:
    """The delays of rows begin … begin + count − 1, whole numbers ≥ 0, given one for all or one for each."""
    try:
        given = np.asarray(delay)
    except ValueError as error:
        raise DataError(f"delays must be whole numbers ≥ 0, one for each row: {error}") from None
    delays = np.full(count, given) if given.ndim == 0 else given[begin : begin + count]
    if delays.ndim != 1 or delays.dtype.kind not in "iu" or np.any((delays < 0) | (delays > LONGEST_DELAY)):
        raise DataError(f"delays must be whole numbers ≥ 0, at most {LONGEST_DELAY}, got {delay!r}")
    if delays.size < count:
        raise DataError(f"there are more rows than delays ({given.size}): give one for each row")
    return delays.astype(np.int64)
