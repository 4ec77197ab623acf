"""Learners that do not know their features in advance: the state grows, by doubling, when a row needs it.

New coordinates begin as zeros, so only learners whose first iterate is 0 in every dimension can grow. The size after
a row depends on the rows up to it alone, never on how they came in batches.
"""

from __future__ import annotations

import numpy as np

from lowregret.error import PartError
from lowregret.learner import Linear
from lowregret.memory import zeros
from lowregret.rule import Rule
from lowregret.state import DIMENSION, MASS, State, Vector

FIRST = 1024  # features that there is room for in the beginning


def require_growth(learner: Linear) -> None:
    """Refuse a learner whose start depends on the number of features."""
    require_zeros(learner.start(1), learner.rule, "features", "give it as dimension (--dimension N)")


def require_zeros(s: State, rule: Rule, of: str, remedy: str) -> None:
    """Refuse to let a learner grow that does not start from zeros."""
    if np.any(s.table) or s.sums[MASS] != 0:
        raise PartError(
            f"the first iterate of {rule} depends on the number of {of}, which a stream does not tell: {remedy}"
        )


def doubled(room: int, needed: int) -> int:
    """`room`, doubled until it is enough."""
    while room < needed:
        room *= 2
    return room


def grown(s: State, features: int, bias: bool) -> State:
    """The same state with room for at least this many features; the bias stays last: O(d), amortised O(1)."""
    d = doubled(FIRST, features) + bias
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


Shape = tuple[int, int]  # features without the bias, lanes


def relaid(s: State, old: Shape, new: Shape, bias: bool) -> State:
    """The state of (features, lanes) in room for more or fewer of both; the bias stays the last feature: O(d)."""
    if new == old:
        return s
    counts = s.counts.copy()
    counts[DIMENSION] = (new[0] + bias) * new[1]
    table, lag = (refitted(cells, old, new, bias) for cells in (s.table, s.lag))
    return State(table, lag, s.sums, counts)


def refitted(cells: Vector, old: Shape, new: Shape, bias: bool) -> Vector:
    """Likewise the same number of cells for each weight."""
    width = cells.size // ((old[0] + bias) * old[1])
    before = cells.reshape(old[0] + bias, old[1], width)
    fitted = zeros((new[0] + bias) * new[1] * width, float)
    after = fitted.reshape(new[0] + bias, new[1], width)
    features, lanes = min(old[0], new[0]), min(old[1], new[1])
    met = np.flatnonzero(before[:features].any(axis=(1, 2)))  # memory that is never written to is never taken
    after[met, :lanes] = before[met, :lanes]
    if bias:
        after[-1, :lanes] = before[-1, :lanes]
    return fitted
