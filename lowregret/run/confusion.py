"""The confusion matrix of a run on many classes, counted as the rows go by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lowregret.compile.memory import room
from lowregret.errors import DataError
from lowregret.run.metrics import unlike
from lowregret.types import Vector

MATRICES = 3  # that there is to be room for: a run and its session have one each, which grow by being copied
WORST = 10  # confusions that are worth telling
WEIGHT, WRONG, LOSS = range(3)  # sums[…, y] over the rows of class y: Σc, Σc·[wrong], Σc·φ


class Confusion:
    """counts[y, ŷ]: rows of class y that were taken for ŷ; the last column counts rows taken for no class, the last row
    those of no known class.

    A row of importance weight c counts as c rows in every share and mean; counts are of rows.
    """

    def __init__(self, counts: Any = None, sums: Vector | None = None) -> None:
        self.counts = np.zeros((1, 1), np.int64) if counts is None else np.ascontiguousarray(counts)
        self.sums = np.zeros((3, len(self.counts))) if sums is None else sums
        self.given = 0  # rows, with those of weight 0
        self.unlike = False  # whether a row counted otherwise than once
        self.judged = False  # whether rows came with their losses

    def see(self, classes: int, codes: Any, guesses: Any, weights: Vector, losses: Vector | None = None) -> None:
        """Count rows by their importance; no weights: all 1. A code below 0 stands for none of the classes.

        `losses` are those of the rows; the loss of a row of no known class is not used.
        """
        self.make_room(classes)
        codes, guesses = codes.astype(np.int64, copy=False), guesses.astype(np.int64, copy=False)  # of no rows, any
        weights = weights if weights.size else np.ones(codes.size)
        counted = np.flatnonzero(weights)
        own, guesses, weights = np.where(codes < 0, classes, codes)[counted], guesses[counted], weights[counted]
        self.given, self.unlike = self.given + codes.size, self.unlike or unlike(weights)
        sums = self.sums.copy()
        np.add.at(sums[WEIGHT], own, weights)  # one after the other: batches change no bit
        np.add.at(sums[WRONG], own, np.where(own == guesses, 0.0, weights))
        if losses is not None:
            np.add.at(sums[LOSS], own, weights * losses[counted])
        pairs = own * (classes + 1) + np.where(guesses < 0, classes, guesses)
        np.add.at(self.counts.reshape(-1), pairs, 1)  # where it lies: it may be large
        self.sums, self.judged = sums, losses is not None

    def require_room(self, classes: int) -> None:
        """Raise a `DataError` if counts of this many classes do not fit into memory."""
        if len(self.counts) <= classes and MATRICES * 8 * (classes + 1) ** 2 > room():
            raise DataError(
                f"there is no room in memory to count which of {classes:,} classes is taken for which, one by one: "
                "learn groups of them, or rows of fewer"
            )

    def make_room(self, classes: int) -> None:
        """Enlarge the counts, if need be, to hold at least this many classes."""
        size = len(self.counts) - 1
        if size < classes:
            larger, sums = np.zeros((classes + 1, classes + 1), np.int64), np.zeros((3, classes + 1))
            larger[:size, :size] = self.counts[:size, :size]
            larger[:size, -1], larger[-1, :size] = self.counts[:size, -1], self.counts[-1, :size]
            larger[-1, -1] = self.counts[-1, -1]
            sums[:, :size], sums[:, -1] = self.sums[:, :size], self.sums[:, -1]
            self.counts, self.sums = larger, sums

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def unknown(self) -> int:
        """Rows of no known class, which have no loss and are wrong."""
        return int(self.counts[-1].sum())

    @property
    def matrix(self) -> Any:
        """counts[y, ŷ] of the classes alone."""
        return self.counts[:-1, :-1]

    @property
    def weight(self) -> float:
        """Σ c over all rows: their number if all weights are 1."""
        return float(self.sums[WEIGHT].sum())

    @property
    def alike(self) -> bool:
        """Whether all rows have importance weight 1, which is more than that the weights sum to their number."""
        return self.weight == self.rows and not self.unlike

    @property
    def total(self) -> float:
        """Σ c·φ over rows of known classes."""
        return float(self.sums[LOSS, :-1].sum())

    @property
    def mean_loss(self) -> float | None:
        """Σ c·φ / Σ c over rows of known classes; None if there are none, or losses were not given."""
        return self.total / float(self.sums[WEIGHT, :-1].sum()) if self.rows > self.unknown and self.judged else None

    @property
    def error(self) -> float | None:
        """Σ c·[wrong] / Σ c, the share of rows whose class was not predicted."""
        return float(self.sums[WRONG].sum()) / self.weight if self.rows else None

    @property
    def recall(self) -> Vector:
        """Σ c·[right] / Σ c over the rows of each class, the share that was found; NaN for a class without rows."""
        of_class = self.of_class
        with np.errstate(invalid="ignore"):
            return (of_class - self.sums[WRONG, :-1]) / of_class

    @property
    def of_class(self) -> Vector:
        """Σ c over the rows of each class."""
        return self.sums[WEIGHT, :-1]

    @property
    def commonest(self) -> tuple[int, float]:
        """The class with the largest share of rows, and the error of always guessing it."""
        of_class = self.of_class
        k = int(np.argmax(of_class))
        return k, 1.0 - float(of_class[k]) / (self.weight or 1.0)

    def worst(self, count: int = WORST) -> Iterator[tuple[int, int, int]]:
        """The most frequent confusions: the class, the class it was taken for, and the number of rows."""
        wrong = self.matrix - np.diag(np.diagonal(self.matrix))
        for place in np.argsort(-wrong, axis=None, kind="stable")[:count].tolist():
            y, guess = divmod(place, len(wrong))
            if wrong[y, guess]:
                yield y, guess, int(wrong[y, guess])

    def arrays(self) -> dict[str, Any]:
        """The arrays from which counting can go on."""
        return {"confusion": self.counts, "sums": self.sums}

    def to_json(self, names: Sequence[Any]) -> dict[str, Any]:
        """Recall by class, and the whole matrix in the order of the classes."""
        recall = {str(name): None if r != r else float(r) for name, r in zip(names, self.recall, strict=False)}
        worst = [{"class": names[y], "taken_for": names[g], "rows": n} for y, g, n in self.worst()]
        return {
            "weight": self.weight,
            "classes": list(names),
            "recall": recall,
            "confusion": self.matrix.tolist(),
            "worst_confusions": worst,
            "unknown_class": self.unknown,
        }
