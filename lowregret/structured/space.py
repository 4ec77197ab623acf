"""Spaces of structures for compiled loops: scores of all parts of a structure, the best structure, its joint features.

    ψ(x, ℓ)   joint features;   ⟨w, ψ(x, ℓ)⟩ is how well ℓ fits x
    γ(y, ℓ)   what ℓ costs where y is right; γ(y, y) = 0

A round has one row per label. Decoding is exact, and of equally good structures the first in lexicographic order wins.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.part import Part
from lowregret.structured.rounds import Rounds, Whole
from lowregret.structured.scratch import Scratch, ScratchSize, add_row, block_scores, row_length
from lowregret.types import Cells, Vector


class Space(Part):
    """A set of structures to predict: how they are scored, and what a wrong one costs."""

    single: ClassVar[bool] = False  # one row and one label a round

    @abstractmethod
    def labels(self) -> int:
        """How many labels a place can have: 0 … labels − 1."""

    @abstractmethod
    def dimension(self, features: int) -> int:
        """Number of weights."""

    @abstractmethod
    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        """The scratch that rounds of up to `longest` rows and `nonzeros` entries need."""

    @abstractmethod
    def blocks(self, weights: Vector, features: int) -> dict[str, Vector]:
        """The weights by what they mean: views."""

    # ---- compiled ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def score(self, reader: Any, s: Any, data: Rounds, t: int, scratch: Scratch) -> float:
        """Write the scores of all parts of round t's structures to the scratch, by the weights `reader` finds in s.

        A number may be taken off the scores of all structures.
        Returns 0, or NaN if one of them is no number.
        """

    def extent(self, data: Rounds, t: int) -> float:
        """Σ of the lengths of all that the score of one structure adds up: no less than ‖ψ(x, ℓ)‖₂, O(nnz)."""
        total = 0.0
        for i in range(data.begin(t), data.end(t)):
            total += row_length(data.rows, i)
        return total

    @abstractmethod
    def best(self, data: Rounds, t: int, margin: float, scratch: Scratch, out: Cells, at: int) -> None:
        """Write argmax_ℓ ⟨w, ψ(x, ℓ)⟩ + margin·γ(y, ℓ) to out[at], out[at + 1], …, after `score`.

        A margin must not be lost beside scores that are large: take them relative to one of them.
        """

    @abstractmethod
    def cost(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> float:
        """γ(y, made)"""

    @abstractmethod
    def difference(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> None:
        """Add ψ(x, made) − ψ(x, y) to the scratch's gradient."""

    @abstractmethod
    def runner_up(self, data: Rounds, t: int, scratch: Scratch) -> float:
        """min_{ℓ≠y} ⟨w, ψ(x, y) − ψ(x, ℓ)⟩, after `score` and `best` with margin 0; inf if y is the only structure."""


def wrong_places(data: Rounds, t: int, made: Cells, at: int) -> int:
    """How many labels of round t differ."""
    wrong = 0
    begin = data.begin(t)
    for i in range(begin, data.end(t)):
        if made[at + i - begin] != data.labels[i]:
            wrong += 1
    return wrong


class Classes(Space):
    """Classes 0 … classes − 1: ψ(x, ℓ) = x in the block of class ℓ; γ(y, ℓ) = 1 if ℓ ≠ y. Weights [feature][class]."""

    single: ClassVar[bool] = True
    classes: int

    def check(self) -> None:
        require_labels(self, self.classes)

    def labels(self) -> int:
        return self.classes

    def dimension(self, features: int) -> int:
        return features * self.classes

    def room(self, longest: int, nonzeros: int) -> ScratchSize:
        return ScratchSize(self.classes, 0, 1, 2 * nonzeros)

    def blocks(self, weights: Vector, features: int) -> dict[str, Vector]:
        return {"classes": weights.reshape(features, self.classes)}

    def score(self, reader: Any, s: Any, data: Rounds, t: int, scratch: Scratch) -> float:
        return block_scores(reader, s, data.rows, t, self.classes, scratch.floats, np.uint64(0))

    def best(self, data: Rounds, t: int, margin: float, scratch: Scratch, out: Cells, at: int) -> None:
        y = data.labels[t] if margin != 0.0 else -1
        own = scratch.floats[y] if margin != 0.0 else 0.0
        found, top = 0, -math.inf
        for c in range(self.classes):
            value = (scratch.floats[c] - own) + (margin if c != y else 0.0)
            if value > top:
                found, top = c, value
        out[at] = found

    def cost(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> float:
        return 1.0 if made[at] != data.labels[t] else 0.0

    def difference(self, data: Rounds, t: int, made: Cells, at: int, scratch: Scratch) -> None:
        if made[at] != data.labels[t]:
            add_row(scratch, data.rows, t, self.classes, made[at], 1.0)
            add_row(scratch, data.rows, t, self.classes, data.labels[t], -1.0)

    def runner_up(self, data: Rounds, t: int, scratch: Scratch) -> float:
        y = data.labels[t]
        least = math.inf
        for c in range(self.classes):
            if c != y:
                least = min(least, scratch.floats[y] - scratch.floats[c])
        return least


def require_labels(space: Space, count: Any) -> None:
    """Refuse what is no number of labels."""
    whole = isinstance(count, int) and not isinstance(count, bool) and count >= 1
    space.require(whole, f"the number of classes must be 1, 2, 3, …, got {count!r}")


def outside(space: Space, labels: Whole) -> int | None:
    """The place of the first label that the space does not have."""
    bad = np.flatnonzero((labels < 0) | (labels >= space.labels()))
    return int(bad[0]) if bad.size else None
