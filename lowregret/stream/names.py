"""Facts that the rows of a stream have shown so far: names of labels, columns, and what never occurred."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from lowregret.types import Vector

KEPT_LABELS = 5  # names of labels that are kept
POSITIVE = -math.inf  # what formats with named labels read the positive one as, which no number in a file is


@dataclass
class Met:
    """Grows as the stream goes by."""

    labels: list[str] = field(default_factory=list)  # other than the positive one, in their order, at most KEPT_LABELS
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of each file with columns, those of features
    weighted: set[str] = field(default_factory=set)  # files that have the weight's column
    spelt: dict[str, dict[str, str]] = field(default_factory=dict)  # of each file, what columns hold: see `spelling`
    idle: tuple[str, ...] = ()  # columns or namespaces that were asked for and have not occurred
    _values: list[float] = field(default_factory=list)  # of `labels`

    @property
    def columns(self) -> dict[str, None]:
        """All columns of features, in their order."""
        return dict.fromkeys(name for names in self.tables.values() for name in names)

    @property
    def spelling(self) -> dict[str, str]:
        """The kind of values of each column, where all files agree."""
        found: dict[str, set[str]] = {}
        for spelt in self.spelt.values():
            for name, what in spelt.items():
                found.setdefault(name, set()).add(what)
        return {name: min(said) for name, said in found.items() if len(said) == 1}

    def sign(self, labels: Vector, positive: float, name: Callable[[int], str]) -> None:
        """Make +1 of the positive label and −1 of all others; `name` tells that of row i. Rows without one keep none.

        O(rows), and a look at each of the first KEPT_LABELS labels.
        """
        new = ~np.isnan(labels) & (labels != positive)
        for value in self._values:
            new &= labels != value
        while len(self._values) < KEPT_LABELS and new.any():
            row = int(np.argmax(new))
            self._values.append(float(labels[row]))
            self.take(name(row))
            new &= labels != labels[row]
        labels[:] = np.where(np.isnan(labels), labels, np.where(labels == positive, 1.0, -1.0))

    def take(self, label: str) -> None:
        """Keep the name of a label, if it is new and there is room."""
        if label not in self.labels and len(self.labels) < KEPT_LABELS:
            self.labels.append(label)

    def join(self, other: Met) -> None:
        """Take over what another stream has met; what is idle there is idle here."""
        for label in other.labels:
            self.take(label)
        self.tables |= other.tables
        self.weighted |= other.weighted
        self.spelt |= other.spelt
        self.idle = other.idle


NUMBERS, NAMES, DATES = "numbers", "names", "dates"


def spelling(numbers: int, names: int) -> str | None:
    """The kind of a column with this many numbers and names: NUMBERS if all are, NAMES if half are, else None."""
    if numbers and not names:
        return NUMBERS
    return NAMES if names and names >= numbers else None


def number_name(value: float) -> str:
    """A label that is a number, as people write it."""
    return str(int(value)) if value.is_integer() else repr(float(value))
