"""What people ask of predictions, in one pass over scores that were made before their rows were learnt.

Every sum is taken row by row in compiled code, so the figures do not depend on how the rows came in batches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.kernel import kernel
from lowregret.loss import Logistic, Loss
from lowregret.state import Vector
from lowregret.stream.word import bits

ROWS, LOSS, ABSOLUTE, SQUARED = range(4)  # Σ1, Σℓ, Σ|p−y|, Σ(p−y)²
POSITIVE_RIGHT, POSITIVE_WRONG, NEGATIVE_RIGHT, NEGATIVE_WRONG = range(4, 8)
LABEL, LABEL_SPREAD = 8, 9  # mean of y, and Σ(y − mean)², brought up to date row by row
SUMS = 10

BINS = 1 << 17  # of scores: sign, exponent and eight bits of the fraction, so a bin is 0.4 % wide
_ORIGIN = BINS // 2
_FRACTION = np.uint64(44)  # bits of a double that a bin does not see
_LOWEST = (1023 - 126) * 256 - 1


def bin_of(p: float) -> int:
    """A bin that never falls when p rises: sign, octave from 2^−126 to 2^128, and 256 steps within."""
    step = min(max(int(bits(abs(p)) >> _FRACTION) - _LOWEST, 0), _ORIGIN - 1)
    return _ORIGIN + step if p > 0.0 else _ORIGIN - step


@kernel
def tally(loss: Loss, y: Vector, weights: Vector, scores: Vector, sums: Vector, bins: Any, counted: Any) -> None:
    """Add rows to the sums; a row of weight 0 counts if `counted` (of held-out rows) says so, with weight 1."""
    for i in range(y.size):
        weight = weights[i] if weights.size > 0 else 1.0
        if counted.size > 0:
            weight = 1.0 if counted[i] else 0.0
        if weight == 0.0:
            continue
        p, label = scores[i], y[i]
        value, _ = loss.at(p, label)
        sums[ROWS] += 1.0
        sums[LOSS] += weight * value
        sums[ABSOLUTE] += abs(p - label)
        sums[SQUARED] += (p - label) * (p - label)
        off = label - sums[LABEL]
        sums[LABEL] += off / sums[ROWS]
        sums[LABEL_SPREAD] += off * (label - sums[LABEL])
        if bins.size > 0:
            positive, wrong = label > 0.0, loss.wrong(p, label)
            sums[(POSITIVE_RIGHT if positive else NEGATIVE_RIGHT) + (1 if wrong else 0)] += 1.0
            bins[2 * bin_of(p) + (1 if positive else 0)] += 1


class Metrics:
    """Error, confusion, area under the curve and log loss of a classifier; mean errors of a regression."""

    def __init__(self, loss: Loss, sums: Vector | None = None, bins: Any = None) -> None:
        self.loss = loss
        self.sums = np.zeros(SUMS) if sums is None else sums
        size = 2 * BINS if loss.classifies else 0
        self.bins = np.zeros(size, np.int64)
        if bins is not None:
            self.bins[bins[0]] = bins[1]

    def see(self, labels: Vector, weights: Vector, scores: Vector, held: Any = None) -> None:
        """Count rows that were learnt, or with `held` just those that it marks."""
        counted = np.empty(0, np.bool_) if held is None else held
        tally(self.loss, labels, weights, scores, self.sums, self.bins, counted)

    @property
    def rows(self) -> int:
        return int(self.sums[ROWS])

    @property
    def error(self) -> float | None:
        """Share of rows predicted wrongly."""
        if not self.loss.classifies or not self.rows:
            return None
        return float(self.sums[POSITIVE_WRONG] + self.sums[NEGATIVE_WRONG]) / self.rows

    @property
    def spread(self) -> float:
        """Root mean square error of always guessing the mean label."""
        return math.sqrt(self.sums[LABEL_SPREAD] / max(self.rows, 1))

    @property
    def constant(self) -> float | None:
        """The label, if all that were seen are the same."""
        return float(self.sums[LABEL]) if self.rows and self.sums[LABEL_SPREAD] == 0 else None

    @property
    def auc(self) -> tuple[float, float] | None:
        """The chance that a positive row scores above a negative one, and how far it can be off for want of bins."""
        negative, positive = (self.bins[k::2].astype(float) for k in (0, 1))
        pairs = negative.sum() * positive.sum()
        if not pairs:
            return None
        below = np.cumsum(negative) - negative
        ties = float(positive @ negative)
        return (float(positive @ below) + ties / 2) / pairs, ties / 2 / pairs

    def to_json(self) -> dict[str, Any]:
        """All that fits the loss."""
        rows = max(self.rows, 1)
        if not self.loss.classifies:
            return {"mae": self.sums[ABSOLUTE] / rows, "rmse": math.sqrt(self.sums[SQUARED] / rows)}
        right, wrong, right_negative, wrong_negative = (int(n) for n in self.sums[POSITIVE_RIGHT : NEGATIVE_WRONG + 1])
        found: dict[str, Any] = {
            "confusion": {"+1": {"+1": right, "-1": wrong}, "-1": {"+1": wrong_negative, "-1": right_negative}}
        }
        if self.auc is not None:
            found["auc"], found["auc_resolution"] = self.auc
        if isinstance(self.loss, Logistic):
            found["log_loss"] = self.sums[LOSS] / rows
        return found

    def arrays(self) -> dict[str, Any]:
        """What must be kept to go on counting."""
        filled = np.flatnonzero(self.bins)
        return {"sums": self.sums, "bins": np.array([filled, self.bins[filled]])}
