"""Where the numbers of a learner of many classes lie: as it works on them, and plainly, as they are saved and proved.

Plain is a row of fields for each weight, weights feature by feature, the bias last. A learner in eights has room for a
multiple of eight classes, and lays out the fields of eight weights one after the other (see `rule/eights.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.auto.memory import zeros
from lowregret.eight import LANES
from lowregret.eight_classes import EightMulticlass
from lowregret.growth import relaid
from lowregret.learner import Learner
from lowregret.rule.adagrad import SQUARES
from lowregret.rule.eights import FIELDS
from lowregret.state import State


def stride(worker: Learner, lanes: int) -> int:
    """Lanes that the table has where there is room for so many classes."""
    return -(-lanes // LANES) * LANES if isinstance(worker, EightMulticlass) else lanes


def begun(worker: Any, features: int, lanes: int) -> State:
    """The state before round 1, as the learner works on it."""
    state: State = worker.start(features, stride(worker, lanes))
    return state._replace(table=zeros(state.table.size, float)) if isinstance(worker, EightMulticlass) else state


def laid(worker: Learner, s: State, lanes: int) -> State:
    """A plain state with room for so many classes, as the learner works on it: O(d)."""
    if not isinstance(worker, EightMulticlass):
        return s
    places = s.dimension // lanes
    s = relaid(s, (places, lanes), (places, stride(worker, lanes)), False)
    fields = s.table.reshape(-1, LANES, s.table.size // s.dimension).transpose(2, 0, 1)
    table = zeros(s.dimension * FIELDS, float)
    table.reshape(-1, FIELDS, LANES)[...] = np.stack([*fields[:SQUARES], np.sqrt(fields[SQUARES])], axis=1)
    return s._replace(table=table)


def plain(worker: Learner, s: State, wide: int, lanes: int) -> State:
    """The plain state with room for so many classes, of a table with so many lanes: O(d)."""
    if not isinstance(worker, EightMulticlass):
        return s
    theta, w, root = s.table.reshape(-1, FIELDS, LANES).transpose(1, 0, 2)
    squares = root * root
    pull = worker.rule.precision.of_all(squares) * w - theta  # Σ(P_t − P_{t−1})w_t, for w_1 = 0
    table = np.stack([theta, w, squares, pull], axis=2).ravel()
    places = s.dimension // wide
    return relaid(s._replace(table=table), (places, wide), (places, lanes), False)
