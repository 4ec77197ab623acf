"""Mixtures of many series as a slow loop that anybody can follow: an origin asks all before it learns anything new."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.loss import Loss
from lowregret.types import Vector
from tests.experts import naive

LANES = (naive.ml_poly(), naive.ml_poly(0.99), naive.ml_poly(0.9), naive.adahedge(), naive.squint())


class Mixture:
    """One aggregator, which sees all it has learnt anew every time."""

    def __init__(self, weigh: naive.Weigh, prior: Vector, loss: Loss) -> None:
        self.weigh, self.prior, self.loss, self.past = weigh, prior, loss, list[Vector]()

    def forecast(self, x: Vector) -> float:
        awake = ~np.isnan(x)
        total = np.sum(self.past, axis=0) if self.past else np.zeros(x.size)
        w = np.where(awake, self.weigh(self.prior, total, awake, self.past), 0.0)
        w = w / w.sum() if w.sum() > 0 else np.where(awake, self.prior, 0.0) / self.prior[awake].sum()
        return float(w[awake] @ x[awake])

    def learn(self, x: Vector, y: float) -> None:
        p = self.forecast(x)
        slope = self.loss.at(p, y)[1]
        self.past.append(np.where(np.isnan(x), 0.0, slope * (p - np.nan_to_num(x))))


class Layers:
    """Lanes, and one more that mixes them."""

    def __init__(self, prior: Vector, loss: Loss) -> None:
        self.lanes = [Mixture(lane, prior, loss) for lane in LANES]
        self.chief = Mixture(naive.ml_poly(), np.full(len(LANES), 1 / len(LANES)), loss)

    def _said(self, x: Vector) -> Vector:
        return np.array([lane.forecast(x) for lane in self.lanes])

    def forecast(self, x: Vector) -> float:
        return self.chief.forecast(self._said(x))

    def learn(self, x: Vector, y: float) -> None:
        self.chief.learn(self._said(x), y)
        for lane in self.lanes:
            lane.learn(x, y)


class Shrunk:
    """The mixture of a series, of which the pooled one is the first expert, that all series share."""

    def __init__(self, pool: Any, own: Any) -> None:
        self.pool, self.own = pool, own

    def forecast(self, x: Vector) -> float:
        return float(self.own.forecast(np.append(self.pool.forecast(x), x)))

    def learn(self, x: Vector, y: float) -> None:
        self.own.learn(np.append(self.pool.forecast(x), x), y)
        self.pool.learn(x, y)


def loop(
    rows: list[tuple[str, float, float, int, Vector, float]], weighing: str, loss: Loss, weigh: naive.Weigh | None
) -> tuple[list[float], list[float]]:
    """(series, time, cutoff, horizon, forecasts, outcome) in any order → forecasts given, and those outcomes find.

    All outcomes are learnt in the end, those of times after the last origin too.
    """
    n = rows[0][4].size
    even = np.full(n, 1 / n)

    def make(prior: Vector) -> Any:
        return Layers(prior, loss) if weigh is None else Mixture(weigh, prior, loss)

    pool, mixtures = make(even), dict[Any, Any]()
    given, found = [np.nan] * len(rows), [np.nan] * len(rows)
    waiting: list[int] = []
    for origin in [*sorted({row[2] for row in rows}), np.inf]:
        known = [t for t in waiting if rows[t][1] <= origin]
        for t in sorted(known, key=lambda t: (rows[t][1], rows[t][2], rows[t][0])):
            mixture, (_, _, _, _, x, y) = mixtures[_key(rows[t], weighing)], rows[t]
            found[t] = mixture.forecast(x)
            mixture.learn(x, y)
            waiting.remove(t)
        for t in [t for t, row in enumerate(rows) if row[2] == origin]:
            key = _key(rows[t], weighing)
            if key not in mixtures:
                shrunk = np.append(0.5, even / 2)
                mixtures[key] = Shrunk(pool, make(shrunk)) if weighing == "shrunk" else make(even)
            given[t] = mixtures[key].forecast(rows[t][4])
            waiting += [] if np.isnan(rows[t][5]) else [t]
    return given, found


def _key(row: Any, weighing: str) -> Any:
    return {"pooled": 0, "horizon": row[3]}.get(weighing, row[0])
