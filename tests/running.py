"""Running a learner on rows, and looking at what came of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from lowregret.compile.call import call, compilable
from lowregret.features import Partitions
from lowregret.learner.linear import Linear, learn_rows
from lowregret.rows import as_rows
from lowregret.state import State
from tests.compositions import Rows
from tests.naive import Matrix, Vector

ALL = 1 << 60  # rounds
FEW_TREES = Partitions(trees=3)  # interpreted, the usual 64 take ten seconds to grow and go over the rows before


class Learnt(NamedTuple):
    state: State
    scores: Vector
    stopped: int


def learn(
    learner: Linear, rows: Rows, *, x: Any = None, state: State | None = None, compiled: bool = True, until: int = ALL
) -> Learnt:
    """Learn all rows, by default compiled, if the learner can be, and from compressed sparse rows."""
    features = as_rows(sp.csr_matrix(rows.X) if x is None else x)
    state = learner.start(rows.X.shape[1]) if state is None else state
    scores = np.full(len(rows.y), np.nan)
    compiled = compiled and compilable(learner)
    stopped = call(learn_rows, compiled, learner, state, features, rows.y, rows.weights, scores, 0, until, math.inf)
    return Learnt(state, scores, stopped)


def point(learner: Linear, state: State) -> Vector:
    """w_{T+1}"""
    w = np.empty(state.dimension)
    learner.rule.point(state, w)
    return w


def model(learner: Linear, state: State) -> Vector:
    """The iterate handed out."""
    w = np.empty(state.dimension)
    learner.model(state, w)
    return w


def iterates(learner: Linear, rows: Rows) -> Matrix:
    """w_1 … w_{T+1}, interpreted"""
    state, x, scores = learner.start(rows.X.shape[1]), as_rows(sp.csr_matrix(rows.X)), np.empty(len(rows.y))
    points = [point(learner, state)]
    for i in range(len(rows.y)):
        call(learn_rows, False, learner, state, x, rows.y[: i + 1], rows.weights[: i + 1], scores, i, ALL, math.inf)
        points.append(point(learner, state))
    return np.array(points)


def bits(state: State) -> list[bytes]:
    return [array.tobytes() for array in state]


def costs(Z: Any) -> Rows:
    """Rows z_t for the loss ⟨w, z_t⟩."""
    Z = np.asarray(Z, float)
    return Rows(Z, np.ones(len(Z)), np.empty(0))


def labelled(X: Matrix, y: Vector) -> Rows:
    """Rows that all count alike."""
    return Rows(X, y, np.empty(0))
