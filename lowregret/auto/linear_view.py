"""One linear model for the eye: what a feature adds to the mixture's score, per unit, near its usual size."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.auto.bank import SHAPED, WIDTH
from lowregret.auto.classes import ClassMind
from lowregret.auto.learner import PARTITIONS, Mind
from lowregret.auto.stack import SIZE, STACKS
from lowregret.auto.view import COLUMNS, COUNT, DEVIATION, MEAN, ROWS
from lowregret.compile.simd import LANES
from lowregret.state import State
from lowregret.types import Vector


def linear_weights(state: State, mind: Mind) -> Vector:
    """Σ over lanes of (its part in the mixture) · weight/(deviation or root mean square), the bias last: O(d).

    Entries seen as roots are taken by the chord from 0 to their root mean square; lengths of rows are left out.
    """
    return _linear(state.table, mind.pace, mind.bank.reshape(-1, 1, WIDTH), lane_shares(mind.trust, mind.stacks))[:, 0]


def class_weights(mind: ClassMind, lots: int) -> Vector:
    """The linear part of a mixture of many classes: a column of weights for each class."""
    return _linear(mind.measures, mind.pace, mind.bank.reshape(-1, lots, WIDTH), lane_shares(mind.trust, mind.stacks))


def _linear(table: Vector, pace: Vector, bank: Any, part: Vector) -> Vector:
    lanes = bank[:, :, :LANES] * part
    shaped, plain = lanes[:, :, np.array(SHAPED)].sum(axis=2), lanes[:, :, ~np.array(SHAPED)].sum(axis=2)
    known = table.reshape(-1, COLUMNS)
    count, mean, deviation = (known[:, int(column), None] for column in (COUNT, MEAN, DEVIATION))
    variance = deviation / np.maximum(count, 1.0)
    root = np.sqrt(mean**2 + variance)
    centred, used = (2 * count > pace[ROWS]) & (deviation > 0), (deviation > 0) | (count != pace[ROWS])
    per_deviation = shaped / np.sqrt(np.where(centred, variance, 1.0))
    per_root = 1 / np.where(root > 0, root, math.inf)
    w = np.where(used, np.where(centred, per_deviation, shaped * per_root) + plain * per_root, 0.0)
    w[-1] = shaped[-1] + plain[-1] - np.where(centred, mean * per_deviation, 0.0).sum(axis=0)
    return w


def lane_shares(trust: Vector, stacks: Vector) -> Vector:
    """How much each lane's score counts in the mixture: its own trust, and its part in the stacks.

    An expert that joined has no weights of its own on features; it is left out.
    """
    if 0 < trust[PARTITIONS] < 1:
        trust = trust[:PARTITIONS] / trust[:PARTITIONS].sum()
    return trust[:LANES] + trust[LANES:PARTITIONS] @ stacks.reshape(STACKS, SIZE)[:, :LANES]
