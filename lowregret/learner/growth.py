"""Learners that do not know their features in advance: the state grows, by doubling, when a row needs it (`places.py`).

New coordinates begin as zeros, so only learners whose first iterate is 0 in every dimension can grow. The size after
a row depends on the rows up to it alone, never on how they came in batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.memory import extend, roomy
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.rule import Rule
from lowregret.state import DIMENSION, MASS, State
from lowregret.types import Cells, Vector

FIRST = 1024  # features that there is room for in the beginning

Shape = tuple[int, int]  # features without the bias, lanes


def require_growth(learner: Linear | Multiclass) -> None:
    """Refuse a learner whose start, or whose size, depends on the number of features."""
    require_zeros(_smallest(learner), learner.rule, "features", "give it as dimension (--dimension N)")


def require_more_classes(learner: Multiclass) -> None:
    """Refuse a learner whose start, or whose size, depends on the number of classes."""
    require_zeros(_smallest(learner), learner.rule, "classes", "name them: classes=[…] (--classes A,B,…)")


def grows(learner: Linear | Multiclass) -> bool:
    """Whether a learner begins with zeros, whatever the number of features."""
    return learner.rule.grows() and not _is_nonzero(_smallest(learner))


def _smallest(learner: Linear | Multiclass) -> State:
    """The state that a learner begins with on one feature; a `PartError` if it is made for another number of them."""
    return learner.start(1, 1) if isinstance(learner, Multiclass) else learner.start(1)


def _is_nonzero(s: State) -> bool:
    return bool(np.any(s.table) or s.sums[MASS] != 0)


def require_zeros(s: State, rule: Rule, of: str, remedy: str) -> None:
    """Refuse to let a learner grow that does not start from zeros."""
    if _is_nonzero(s):
        raise PartError(
            f"the first iterate of {rule} depends on the number of {of}, which a stream does not tell: {remedy}"
        )
    if not rule.grows():
        raise PartError(
            f"the link of {rule} may mix coordinates, so it must know the number of {of} beforehand: {remedy}"
        )


def double_room(room: int, needed: int) -> int:
    """Double `room` until there is as much as needed."""
    while room < needed:
        room *= 2
    return room


class Together:
    """Arrays that grow together, or not at all: if there is no memory for one, all are as they were.

    Arrays may grow where they lie, and biases are moved at the end of the `with` block: from then on, the old arrays
    are of no use.
    """

    def __init__(self) -> None:
        self._moves: list[tuple[Cells, slice, Cells]] = []  # grown arrays, where their biases were, and the biases

    def __enter__(self) -> Together:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for cells, before, last in self._moves if kind is None else ():
            cells[before] = 0
            cells[cells.size - last.size :] = last

    def grow(self, s: State, features: int, bias: bool) -> State:
        """Make room in a state for at least this many features; the bias stays last: amortised O(1)."""
        d = double_room(FIRST, features) + bias
        counts = s.counts.copy()
        counts[DIMENSION] = d
        table, lag = (self.lengthen(cells, s.dimension, d, bias) for cells in (s.table, s.lag))
        return State(table, lag, s.sums, counts)

    def lengthen(self, cells: Cells, old: int, new: int, bias: bool) -> Cells:
        """Make cells of `old` places those of `new` places, the bias the last of both: amortised O(1)."""
        width = cells.size // old
        before = slice((old - bias) * width, old * width)
        longer = extend(cells, new * width)
        self._moves.append((longer, before, cells[before].copy()))
        return longer

    def refit_state(self, s: State, old: Shape, new: Shape, bias: bool) -> State:
        """Fit a state of (features, lanes) into room for more or fewer of both; the bias stays last: O(d)."""
        if new == old:
            return s
        counts = s.counts.copy()
        counts[DIMENSION] = (new[0] + bias) * new[1]
        table, lag = (self.refit(cells, old, new, bias) for cells in (s.table, s.lag))
        return State(table, lag, s.sums, counts)

    def refit(self, cells: Cells, old: Shape, new: Shape, bias: bool) -> Cells:
        """Lay cells of (features, lanes), equally many a weight, out for more or fewer of both; the bias stays last."""
        if old[1] == new[1] and old[0] <= new[0]:
            return self.lengthen(cells, old[0] + bias, new[0] + bias, bias)
        width = cells.size // ((old[0] + bias) * old[1])
        before = cells.reshape(old[0] + bias, old[1], width)
        fitted = roomy((new[0] + bias) * new[1] * width, cells.dtype)
        after = fitted.reshape(new[0] + bias, new[1], width)
        features, lanes = min(old[0], new[0]), min(old[1], new[1])
        met = np.flatnonzero(before[:features].any(axis=(1, 2)))  # memory that is never written to is never taken
        after[met, :lanes] = before[met, :lanes]
        if bias:
            after[-1, :lanes] = before[-1, :lanes]
        return fitted


def resize(w: Vector, features: int, bias: bool) -> Vector:
    """Fit a model w to another number of features: cut, or filled up with zeros; the bias stays last."""
    if w.size == features + bias:
        return w
    model = np.zeros(features + bias)
    kept = min(features, w.size - bias)
    model[:kept] = w[:kept]
    if bias:
        model[-1] = w[-1]
    return model


def split(name: str, cells: Cells, places: int, met: int, bias: bool) -> dict[str, Any]:
    """Pick the cells that a file keeps, read-only: those of the first `met` places, and those of the bias."""
    rows = cells.reshape(places + bias, cells.size // (places + bias))
    rows.flags.writeable = False
    return {name: rows[:met], f"{name}.bias": rows[places:]}


def join(name: str, arrays: dict[str, Any], places: int) -> Cells:
    """Make the cells of all places of those that `split` gave to a file."""
    kept, last = arrays[name], arrays[f"{name}.bias"]
    cells = extend(kept.reshape(-1), (places + len(last)) * kept.shape[1])
    cells[cells.size - last.size :] = last.reshape(-1)
    return cells


def refit_state(s: State, old: Shape, new: Shape, bias: bool) -> State:
    """Fit a state of (features, lanes) into room for more or fewer of both, as `Together.refit_state` does."""
    with Together() as together:
        return together.refit_state(s, old, new, bias)
