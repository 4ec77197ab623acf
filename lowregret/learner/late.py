"""Rows that were asked and wait for their answer, as compiled loops see them.

Where answers come late, a row goes through the loop twice: when it is asked, with weight 0, and when its answer comes.
Its score and what the learner knew of labels are kept in between, in a slot.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.loss import Loss
from lowregret.rows import WEIGHTIEST
from lowregret.types import Vector

# ---- ledger[…], which `certificate/delay.py` reads ------------------------------------------------------------------
TRAVELLED = 0  # A = Σ η‖z‖_*, over the steps taken so far
LAGGED = 1  # Σ ‖z_s‖_*·(A at arrival − A at decision)
DRIFT = 2  # Σ ⟨w_s − v_s, z_s⟩; of `auto`, Σ (loss of the score given − loss of the one that the answer finds)
LEDGER = 3  # what the history keeps


class Waiting(NamedTuple):
    """The slots of rows that wait, and which of them each row of a batch has."""

    of: Any  # (rows,) the slot of each row, −1 for rows without one; empty if no answer comes late
    scores: Any  # (slots, scores of a row); no slots: a row is judged by the score made when its answer comes
    past: Any  # (slots, …) whatever else the learner keeps of the moment when a row was asked
    beside: Any  # likewise, of a companion that plays along
    ledger: Any
    rates: Any  # (rows,) how much of each verdict on experts counts: 1/n if n answers were under way together so far
    fades: Any  # (rows,) the rate over that before: trust is raised to this power when the rate falls

    def part(self, whole: Waiting, begin: int, end: int) -> Waiting:
        """These slots for rows begin, …, end − 1 of the batch that the whole is of."""
        return self._replace(of=whole.of[begin:end], rates=whole.rates[begin:end], fades=whole.fades[begin:end])

    def companion(self, begin: int, end: int) -> Waiting:
        """The slots of rows begin, …, end − 1 of the batch as a companion sees them: it is judged when answers come."""
        return self.part(self, begin, end)._replace(scores=self.scores[:0], past=self.beside)


def rate_at(late: Waiting, i: int) -> float:
    """How much the verdict of row i on experts counts."""
    return float(late.rates[i]) if late.rates.size > 0 else 1.0


def nobody() -> Waiting:
    """No slots: all answers come at once."""
    none, at_once = np.empty((0, 1)), np.empty(0)
    return Waiting(np.empty(0, np.int64), none, none, none, np.zeros(LEDGER), at_once, at_once)


@kernel
def first_unfit(loss: Loss, y: Vector, weights: Vector) -> int:
    """The first row whose label or weight cannot be learnt, or how many rows there are."""
    for i in range(y.size):
        if weights[i] != 0.0 and not (0.0 < weights[i] <= WEIGHTIEST and loss.accepts(y[i])):
            return i
    return int(y.size)
