"""Where the numbers of a learner of many classes lie: as it works on them, and plainly, as they are saved and proved.

Plain is a row of fields for each weight, weights feature by feature, the bias last. A learner in eights has room for a
multiple of eight classes, and lays out the fields of eight weights one after the other (see `rule/eights.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES
from lowregret.learner.growth import Shape, refit_state
from lowregret.learner.linear import Learner
from lowregret.learner.multiclass_simd import EightMulticlass
from lowregret.rule.adagrad import SQUARES
from lowregret.rule.eights import FIELDS, DiagonalEights
from lowregret.state import DIMENSION, State
from lowregret.types import Vector

_PLAIN = 4  # fields of a weight in the plain table of AdaGrad


def stride(worker: Learner, lanes: int) -> int:
    """The lanes that a table with room for `lanes` classes has."""
    return -(-lanes // LANES) * LANES if isinstance(worker, EightMulticlass) else lanes


def more_lanes(lanes: int, needed: int) -> int:
    """Room for a quarter more classes, until it is enough: each time, all there is must be laid out anew."""
    while lanes < needed:
        lanes += -(-lanes // 16) * 4
    return lanes


def begun(worker: Any, features: int, lanes: int) -> State:
    """The state before round 1, as the learner works on it."""
    state: State = worker.start(features, stride(worker, lanes))
    return state._replace(table=zeros(state.table.size, float)) if isinstance(worker, EightMulticlass) else state


def laid(worker: Learner, s: State, lanes: int) -> State:
    """A plain state with room for `lanes` classes, laid out as the learner works on it: O(d)."""
    if not isinstance(worker, EightMulticlass):
        return s
    places = s.dimension // lanes
    s = refit_state(s, (places, lanes), (places, stride(worker, lanes)), False)
    fields = s.table.reshape(-1, LANES, _PLAIN).transpose(2, 0, 1)
    table = zeros(s.dimension * FIELDS, float)
    table.reshape(-1, FIELDS, LANES)[...] = np.stack([*fields[:SQUARES], np.sqrt(fields[SQUARES])], axis=1)
    return s._replace(table=table)


def filed(worker: Learner, s: State, lanes: int, met: int) -> tuple[State, int]:
    """The plain state to be saved, with room for `lanes` classes, and the places it has: O(d) for work in eights."""
    bias = worker.bias > 0
    places = s.dimension // stride(worker, lanes) - bias
    if not isinstance(worker, EightMulticlass):
        return s, places
    state = plain(worker, s, stride(worker, lanes), (max(met, 1), lanes))
    return state._replace(table=state.table.ravel()), max(met, 1)


def restored(worker: Learner, s: State, lanes: int, room: int) -> State:
    """A saved plain state, laid out as the learner works on it, with room for `room` features."""
    bias, lots = worker.bias > 0, stride(worker, lanes)
    s = laid(worker, s, lanes)
    return refit_state(s, (s.dimension // lots - bias, lots), (room, lots), bias)


def plain(worker: Learner, s: State, lanes: int, shape: Shape) -> State:
    """The plain state of (features, classes), from a table with `lanes` lanes; its table may be a matrix: O(d)."""
    bias = worker.bias > 0
    old = s.dimension // lanes - bias, lanes
    if not isinstance(worker, EightMulticlass):
        return refit_state(s, old, shape, bias)
    table = np.empty((_PLAIN, (shape[0] + bias) * shape[1])).T  # proofs look at whole columns
    write_plain(worker.rule, s.table, lanes, shape[0], shape[1], table)
    return refit_state(s._replace(table=s.table[:0]), old, shape, bias)._replace(table=table)


def summed(worker: Learner, s: State, lanes: int) -> State:
    """The state of a table with room for `lanes` classes, of which θ alone matters: O(d)."""
    if not isinstance(worker, EightMulticlass):
        return s
    counts = s.counts.copy()
    counts[DIMENSION] = s.dimension // stride(worker, lanes) * lanes
    theta = s.table.reshape(-1, FIELDS, LANES)[:, 0].reshape(-1, stride(worker, lanes))
    return s._replace(table=theta[:, :lanes].reshape(-1), counts=counts)


@kernel
def write_plain(rule: DiagonalEights, table: Vector, lanes: int, features: int, classes: int, out: Any) -> None:
    """θ, w, S and Σ(P_t − P_{t−1})w_t of (features, classes), the bias last: O(d)."""
    for j in range(out.shape[0]):
        place, lane = j // classes, j % classes
        first = place * lanes if place < features else table.size // FIELDS - lanes
        theta, w, squares = rule.fields(table, first + lane)
        out[j, 0], out[j, 1], out[j, 2] = theta, w, squares
        out[j, 3] = rule.precision(squares) * w - theta  # for w_1 = 0
