"""Which class was taken for which, counted as the rows go by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lowregret.state import Vector

WORST = 10  # confusions that are worth telling


class Confusion:
    """counts[y, ŷ]: rows of class y that were taken for ŷ; last column: for none, last row: of no known class"""

    def __init__(self, counts: Any = None) -> None:
        self.counts = np.zeros((1, 1), np.int64) if counts is None else counts

    def see(self, classes: int, codes: Any, guesses: Any, counted: Any = None) -> None:
        """Count rows, or with `counted` just those that it marks. Codes below 0 are none of the classes."""
        self.make_room(classes)
        if counted is not None:
            codes, guesses = codes[counted], guesses[counted]
        size = classes + 1
        pairs = np.where(codes < 0, classes, codes) * size + np.where(guesses < 0, classes, guesses)
        self.counts += np.bincount(pairs, minlength=size * size).reshape(size, size)

    def make_room(self, classes: int) -> None:
        """At least so many classes."""
        size = len(self.counts) - 1
        if size < classes:
            larger = np.zeros((classes + 1, classes + 1), np.int64)
            larger[:size, :size] = self.counts[:size, :size]
            larger[:size, -1], larger[-1, :size] = self.counts[:size, -1], self.counts[-1, :size]
            larger[-1, -1] = self.counts[-1, -1]
            self.counts = larger

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def matrix(self) -> Any:
        """counts[y, ŷ] of the classes alone."""
        return self.counts[:-1, :-1]

    @property
    def error(self) -> float | None:
        """Share of rows whose class was not predicted."""
        return (self.rows - int(np.trace(self.matrix))) / self.rows if self.rows else None

    @property
    def recall(self) -> Vector:
        """Share of each class's rows that were predicted to be of it; NaN for a class without rows."""
        of_class = self.counts[:-1].sum(axis=1)
        return np.where(of_class > 0, np.diagonal(self.matrix) / np.maximum(of_class, 1), np.nan)

    @property
    def commonest(self) -> tuple[int, float]:
        """The class with most rows, and the error of always guessing it."""
        of_class = self.counts[:-1].sum(axis=1)
        k = int(np.argmax(of_class))
        return k, 1.0 - int(of_class[k]) / max(self.rows, 1)

    def worst(self, count: int = WORST) -> Iterator[tuple[int, int, int]]:
        """The most frequent confusions: class, taken for, rows."""
        wrong = self.matrix - np.diag(np.diagonal(self.matrix))
        for place in np.argsort(-wrong, axis=None, kind="stable")[:count].tolist():
            y, guess = divmod(place, len(wrong))
            if wrong[y, guess]:
                yield y, guess, int(wrong[y, guess])

    def arrays(self) -> dict[str, Any]:
        """What must be kept to go on counting."""
        return {"confusion": self.counts}

    def to_json(self, names: Sequence[Any]) -> dict[str, Any]:
        """Recall by class, and the whole matrix in the order of the classes."""
        recall = {str(name): None if r != r else float(r) for name, r in zip(names, self.recall, strict=False)}
        worst = [{"class": names[y], "taken_for": names[g], "rows": n} for y, g, n in self.worst()]
        return {
            "classes": list(names),
            "recall": recall,
            "confusion": self.matrix.tolist(),
            "worst_confusions": worst,
            "unknown_class": int(self.counts[-1].sum()),
        }
