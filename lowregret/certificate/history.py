"""The curves of a run, kept while it goes on: one point at 1, 2, 3, 4, 6, 8, 12, … rounds (see `trace`)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate.certificate import Certificate
from lowregret.certificate.trace import Trace, next_mark

WIDTH = 4  # numbers of a point: rounds, loss, measured regret, bound


class History:
    """Points kept so far, and `due`, the number of rounds after which the next one is: always more than were played."""

    def __init__(self, points: NDArray[np.float64] | None = None, theorem: str = "", rounds: int = 0) -> None:
        self._points: list[list[float]] = [] if points is None else points.tolist()
        self.theorem = theorem  # whose bound the latest point has
        self.due = next_mark(rounds)

    def keep(self, rounds: int, loss: float, found: Certificate) -> None:
        """The point of this many rounds: the linearised regret, or the exact one where that is known instead, and the
        bound with its rounding."""
        known = found.regret if found.linear_regret is None else found.linear_regret
        bound = found.promised if found.premises_hold and math.isfinite(found.bound) else math.nan
        self._points.append([float(rounds), loss, math.nan if known is None else known, bound])
        self.theorem, self.due = found.id, next_mark(rounds)

    def mark(self) -> tuple[int, str, int]:
        """Where the curves end, to come `back` to."""
        return len(self._points), self.theorem, self.due

    def back(self, mark: tuple[int, str, int]) -> None:
        """Forget the points kept since a mark."""
        count, self.theorem, self.due = mark
        del self._points[count:]

    @property
    def points(self) -> NDArray[np.float64]:
        """All points, one a row."""
        return np.array(self._points, float).reshape(-1, WIDTH)

    @property
    def trace(self) -> Trace:
        """The points as curves."""
        rounds, loss, regret, bound = self.points.T
        return Trace(rounds.astype(np.int64), loss, regret, bound, self.theorem)
