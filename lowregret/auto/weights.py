"""One linear model for the eye: what a feature adds to the mixture's score, per unit, near its usual size."""

from __future__ import annotations

import numpy as np

from lowregret.auto.bank import SHAPED, WIDTH
from lowregret.auto.lanes import LANES
from lowregret.auto.learner import EXPERTS, Mind
from lowregret.auto.stack import INPUTS, SIZE, STACKS
from lowregret.auto.view import COLUMNS, COUNT, DEVIATION, MEAN, ROWS
from lowregret.state import State, Vector


def linear_weights(state: State, mind: Mind) -> Vector:
    """Σ over lanes of (its part in the mixture) · weight/(deviation or root mean square), the bias last: O(d).

    Entries seen as roots are taken by the chord from 0 to their root mean square; lengths of rows are left out.
    """
    lanes = mind.bank.reshape(-1, WIDTH)[:, :LANES] * counted(mind)
    shaped, plain = lanes[:, np.array(SHAPED)].sum(axis=1), lanes[:, ~np.array(SHAPED)].sum(axis=1)
    table = state.table.reshape(-1, COLUMNS)
    count, mean, deviation = (table[:, int(column)] for column in (COUNT, MEAN, DEVIATION))
    with np.errstate(all="ignore"):
        variance = np.where(count > 0, deviation / count, 0.0)
        root = np.sqrt(mean**2 + variance)
        centred = (2 * count > mind.pace[ROWS]) & (deviation > 0)
        rooted = np.where(root > 0, shaped / root, 0.0)
        per_unit = np.where(centred, shaped / np.sqrt(variance), rooted) + np.where(root > 0, plain / root, 0.0)
    w = np.where((deviation == 0) & (count == mind.pace[ROWS]), 0.0, per_unit)
    shift = float((np.where(centred, mean * shaped, 0.0)[centred] / np.sqrt(variance[centred])).sum())
    w[-1] = shaped[-1] + plain[-1] - shift
    return w


def counted(mind: Mind) -> Vector:
    """How much each lane's score counts in the mixture: its own trust, and its part in the stacks."""
    trust, stacks = mind.trust[:EXPERTS], mind.stacks.reshape(STACKS, SIZE)[:, :INPUTS]
    return trust[:LANES] + trust[LANES:] @ stacks[:, :LANES]
