"""Figures on predictions, such as error, area under the curve and log loss, in one pass over scores and labels.

A row of importance weight c counts as c rows in every mean and share, Σ c·ℓ / Σ c; counts are of rows. Every sum is
taken row by row in compiled code, so the figures do not depend on how the rows came in batches.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.loss import Logistic, Loss
from lowregret.stream.word import bits
from lowregret.types import Vector

NAMES = (
    *("rows", "loss", "absolute", "squared", "positive_right", "positive_wrong", "negative_right", "negative_wrong"),
    *("label", "label_spread", "weight", "wrong", "positive"),
)  # of sums[…]
ROWS, LOSS, ABSOLUTE, SQUARED = range(4)  # Σ1, Σc·ℓ, Σc|q−y|, Σc(q−y)² of numbers q predicted
POSITIVE_RIGHT, POSITIVE_WRONG, NEGATIVE_RIGHT, NEGATIVE_WRONG = range(4, 8)  # rows
LABEL, LABEL_SPREAD = 8, 9  # mean of y, and Σc(y − mean)², brought up to date row by row
WEIGHT, WRONG, POSITIVE = 10, 11, 12  # Σc of all rows, of those predicted wrongly, of those labelled +1
METRIC_SUMS = len(NAMES)

LEAST = 5e-324  # that labels spread if they are not all the same, though their squares be too small for numbers
LOST = 1e12 * LEAST  # of a unit of weight or a row: where squares sum to more, underflow spoils no digit that is shown

SIGNS = "+1", "-1"  # what labels are called that have no other names

BINS = 1 << 17  # of scores: sign, exponent and eight bits of the fraction, so a bin is 0.4 % wide
_ORIGIN = BINS // 2
_FRACTION = np.uint64(44)  # bits of a double that a bin does not see
_LOWEST = (1023 - 126) * 256 - 1


def bin_of(p: float) -> int:
    """The bin of a score p, monotone in p: its sign, its octave from 2^−126 to 2^128, and 256 steps in each octave."""
    step = min(max(int(bits(abs(p)) >> _FRACTION) - _LOWEST, 0), _ORIGIN - 1)
    return _ORIGIN + step if p > 0.0 else _ORIGIN - step


@kernel
def tally(loss: Loss, y: Vector, weights: Vector, scores: Vector, numbers: Vector, sums: Vector, bins: Vector) -> None:
    """Add all rows but those of weight 0 to the sums and, if there are any, the bins; scores predict the `numbers`."""
    for i in range(y.size):
        weight = weights[i] if weights.size > 0 else 1.0
        if weight == 0.0:
            continue
        p, q, label = scores[i], numbers[i], y[i]
        value, _ = loss.at(p, label)
        sums[ROWS] += 1.0
        sums[WEIGHT] += weight
        sums[LOSS] += weight * value
        sums[ABSOLUTE] += weight * abs(q - label)
        sums[SQUARED] += weight * ((q - label) * (q - label))
        off = label - sums[LABEL]
        sums[LABEL] += off * (weight / sums[WEIGHT])
        apart = weight * (off * (label - sums[LABEL]))
        if off != 0.0 and sums[ROWS] > 1.0:
            apart = max(apart, LEAST)
        sums[LABEL_SPREAD] += apart
        if bins.size > 0:
            positive, wrong = label > 0.0, loss.wrong(p, label)
            sums[(POSITIVE_RIGHT if positive else NEGATIVE_RIGHT) + (1 if wrong else 0)] += 1.0
            sums[WRONG] += weight if wrong else 0.0
            sums[POSITIVE] += weight if positive else 0.0
            bins[2 * bin_of(p) + (1 if positive else 0)] += weight


def unlike(weights: Vector) -> bool:
    """Whether some row that counts has another importance than 1."""
    return bool(np.any((weights != 0.0) & (weights != 1.0)))


def _near_one(weights: Vector) -> Vector:
    """Weights over a power of two that brings the largest near 1: products of those far from it are no numbers."""
    return np.ldexp(weights, -math.frexp(float(np.max(weights, initial=0.0)))[1])


class Metrics:
    """Error, confusion, area under the curve and log loss of a classifier; mean errors of a regression."""

    def __init__(self, loss: Loss, sums: Vector | None = None, bins: Any = None) -> None:
        self.loss = loss
        self.given, self.unlike = 0, False  # rows, with those of weight 0; whether one counted otherwise than once
        self.sums = np.zeros(METRIC_SUMS) if sums is None else sums
        size = 2 * BINS if loss.classifies else 0
        self.bins = np.zeros(size)
        if bins is not None:
            self.bins[bins[0].astype(np.int64)] = bins[1]

    def see(self, labels: Vector, weights: Vector, scores: Vector) -> None:
        """Count rows by their importance; no weights: all 1."""
        self.unlike = self.unlike or unlike(weights)
        with np.errstate(over="ignore"):
            numbers = scores if self.loss.classifies else self.loss.predictions(scores)
        tally(self.loss, labels, weights, scores, numbers, self.sums, self.bins)
        self.given += labels.size

    @property
    def rows(self) -> int:
        return int(self.sums[ROWS])

    @property
    def weight(self) -> float:
        """Σ c over all rows: their number if all weights are 1."""
        return float(self.sums[WEIGHT])

    @property
    def alike(self) -> bool:
        """Whether all rows have importance weight 1, which is more than that the weights sum to their number."""
        return self.weight == self.rows and not self.unlike

    @property
    def total(self) -> float:
        """Σ c·ℓ, the loss of all rows."""
        return float(self.sums[LOSS])

    @property
    def mean_loss(self) -> float | None:
        """Σ c·ℓ / Σ c, the loss per unit of weight."""
        return self._mean(LOSS) if self.rows else None

    @property
    def error(self) -> float | None:
        """Σ c·[wrong] / Σ c, the share of rows predicted wrongly."""
        return self._mean(WRONG) if self.loss.classifies and self.rows else None

    @property
    def positives(self) -> float:
        """The share of rows labelled +1."""
        return self._mean(POSITIVE)

    @property
    def spread(self) -> float | None:
        """Root mean square error of always guessing the mean label; None if squares are too small or too large."""
        return self._root(LABEL_SPREAD, self.constant is not None)

    def _root(self, of: int, none: bool) -> float | None:
        """The root of a mean of squares, all 0 if `none` is said; None if they leave the range of numbers."""
        found = float(self.sums[of])
        if none or not self.rows:
            return 0.0
        return math.sqrt(self._mean(of)) if LOST * (self.weight + self.rows) < found < math.inf else None

    def _mean(self, of: int) -> float:
        return float(self.sums[of]) / (self.weight or 1.0)

    @property
    def constant(self) -> float | None:
        """The label of all rows, if they have the same; else None."""
        return float(self.sums[LABEL]) if self.rows and self.sums[LABEL_SPREAD] == 0 else None

    @property
    def auc(self) -> tuple[float, float] | None:
        """The chance that a positive row scores above a negative one, and the largest error that binning can cause."""
        negative, positive = _near_one(self.bins[0::2]), _near_one(self.bins[1::2])
        pairs = float(negative.sum() * positive.sum())
        if not pairs:
            return None
        below = np.cumsum(negative) - negative
        ties = float(positive @ negative)
        return (float(positive @ below) + ties / 2) / pairs, ties / 2 / pairs

    def to_json(self, signs: tuple[str, str] = SIGNS) -> dict[str, Any]:
        """The public form: the figures that fit the loss; `signs` are the names of +1 and −1."""
        if not self.loss.classifies:
            return {
                "weight": self.weight,
                "mae": self._mean(ABSOLUTE) if self.rows else None,
                "rmse": self._root(SQUARED, not self.sums[ABSOLUTE]) if self.rows else None,
            }
        right, wrong, right_negative, wrong_negative = (int(n) for n in self.sums[POSITIVE_RIGHT : NEGATIVE_WRONG + 1])
        up, down = signs
        found: dict[str, Any] = {
            "weight": self.weight,
            "confusion": {up: {up: right, down: wrong}, down: {up: wrong_negative, down: right_negative}},
        }
        if self.auc is not None:
            found["auc"], found["auc_resolution"] = self.auc
        if isinstance(self.loss, Logistic):
            found["log_loss"] = self.mean_loss
        return found

    def arrays(self) -> dict[str, Any]:
        """The arrays from which counting can go on."""
        filled = np.flatnonzero(self.bins)
        return {"sums": self.sums, "bins": np.array([filled, self.bins[filled]])}
