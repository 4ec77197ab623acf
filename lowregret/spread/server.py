"""A server of parameters: the rows of the table that belong to some of the features, whoever learns them.

    cells, seen = server.pull(ids)        copies of their rows, zeros for features that nobody learnt yet
    server.push(ids, changes, seen, steps)    what was learnt on such copies, whoever pushed meanwhile

θ is a sum, so the order of pushes does not change it: Σ over servers is −Σz_t of all rows, exactly once each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.certificate.trace import measure
from lowregret.compile.kernel import kernel
from lowregret.learner.growth import FIRST, Together, double_room, require_growth
from lowregret.learner.linear import Linear
from lowregret.rows import Sparse, as_sparse
from lowregret.rule import Rule
from lowregret.state import State
from lowregret.stream.places import NOTHING, Places
from lowregret.types import Cells, Vector

BIAS = 1 << 62  # the constant feature among the others
FEW = 64.0  # steps of a worker on one feature, beyond which those of others are averaged with them rather than added


def owner(ids: Any, servers: int) -> Any:
    """Which server holds each feature: neighbours, which are often as frequent, lie on different ones."""
    return ids % np.uint64(servers)


def routes(ids: Any, servers: int) -> list[Any]:
    """For each server, which of these features it holds, by their positions."""
    held = owner(ids, servers)
    return [np.flatnonzero(held == k) for k in range(servers)]


class FeatureServer:
    """The rows of the table of those features that this server holds, by what their rule keeps of each."""

    def __init__(self, learner: Linear, columns: Any = (), table: Vector | None = None) -> None:
        require_growth(learner)
        self.rule = learner.rule
        self.places = Places(columns)
        self.state = self._room(double_room(FIRST, len(columns) + 1))
        self.pushes = np.zeros(self.state.dimension)  # so far, of each place
        if table is not None:
            self.state.table[: table.size] = table.reshape(-1)

    def _room(self, features: int) -> State:
        return State.zeros(features, self.rule.width(), False)

    @property
    def cells(self) -> Vector:
        """The table, a row for each place."""
        return self.state.table.reshape(self.state.dimension, -1)

    def pull(self, ids: Any) -> tuple[Vector, Vector]:
        """Copies of the rows of these features, and how often each was pushed so far: O(n)."""
        at = as_sparse(self.places.find(_row_of(ids), self.state.dimension, True)).indices
        return self.cells[at], self.pushes[at]

    def push(self, ids: Any, changes: Vector, seen: Vector, steps: Vector) -> None:
        """Join what a worker learnt of these features, each named once, in this many steps since it saw them: O(n).

        Of a feature that few rows have, the steps of several workers add up as they would one after the other; of one
        that they moved far each for itself, they are averaged. In between, the share is between 1 and 1/(1 + others).
        """
        placed = self.places.place(_row_of(ids), NOTHING, True)
        needed = len(self.places) + 1
        if needed > self.state.dimension:
            with Together() as together:
                state = together.grow(self.state, needed, False)
            self.state = state
            self.pushes = np.append(self.pushes, np.zeros(state.dimension - self.pushes.size))
        at = as_sparse(placed.rows).indices
        changes = np.require(changes, requirements=["C", "W"])  # one type, wherever it comes from
        shares = 1.0 / (1.0 + (self.pushes[at] - seen) * steps / (steps + FEW))
        join_changes(self.rule, self.state, at, changes, shares, changes.shape[1])
        self.pushes[at] += 1.0
        self.places.give_back(placed)

    def contents(self) -> tuple[Any, Vector]:
        """The features that were learnt, and their rows: O(d)."""
        met = len(self.places)
        return self.places.columns.copy(), self.cells[:met].copy()

    def norms(self) -> Vector:
        """‖θ‖₂, ‖θ‖₁, ‖θ‖_∞ and max θ of its features: O(d)."""
        found = np.zeros(4)
        measure(self.state.table, self.rule.width(), found)
        return found


def _row_of(ids: Any) -> Sparse:
    """A row that has these features."""
    return Sparse(np.array([0, ids.size]), ids, np.empty(0), 1 << 63)


@kernel
def join_changes(rule: Rule, s: State, places: Cells, changes: Vector, shares: Vector, width: int) -> None:
    """`rule.join` of each place: O(n)."""
    flat = changes.reshape(changes.size)
    for k in range(np.uint64(places.size)):
        rule.join(s, places[k], flat, k * np.uint64(width), shares[k])
