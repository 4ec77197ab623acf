"""Learners that do not know their features in advance: the state grows, by doubling, when a row needs it.

New coordinates begin as zeros, so only learners whose first iterate is 0 in every dimension can grow. The size after
a row depends on the rows up to it alone, never on how they came in batches.
"""

from __future__ import annotations

import numpy as np

from lowregret.error import PartError
from lowregret.learner import Linear
from lowregret.state import DIMENSION, MASS, State, Vector

FIRST = 1024  # features that there is room for in the beginning


def require_growth(learner: Linear) -> None:
    """Refuse a learner whose start depends on the number of features."""
    s = learner.start(1)
    if np.any(s.table) or s.sums[MASS] != 0:
        raise PartError(
            f"the first iterate of {learner.rule} depends on the number of features, which a stream does not tell: "
            "give it as dimension (--dimension N)"
        )


def grown(s: State, features: int, bias: bool) -> State:
    """The same state with room for at least this many features; the bias stays last: O(d), amortised O(1)."""
    room = FIRST
    while room < features:
        room *= 2
    d = room + bias
    counts = s.counts.copy()
    counts[DIMENSION] = d
    table, lag = (_extended(cells, s.dimension, d, bias) for cells in (s.table, s.lag))
    return State(table, lag, s.sums, counts)


def _extended(cells: Vector, old: int, new: int, bias: bool) -> Vector:
    width, kept = cells.size // old, old - bias
    extended = np.zeros(new * width)
    extended[: kept * width] = cells[: kept * width]
    if bias:
        extended[extended.size - width :] = cells[cells.size - width :]
    return extended


def resized(w: Vector, features: int, bias: bool) -> Vector:
    """A model w for another number of features: cut, or filled up with zeros; the bias stays last."""
    if w.size == features + bias:
        return w
    model = np.zeros(features + bias)
    kept = min(features, w.size - bias)
    model[:kept] = w[:kept]
    if bias:
        model[-1] = w[-1]
    return model
