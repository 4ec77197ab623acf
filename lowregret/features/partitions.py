"""How random partitions are grown: how many trees, with how many cells."""

from __future__ import annotations

from typing import Any

from lowregret.compile.part import Part
from lowregret.features.forest import COARSE, Forest
from lowregret.features.grow import aims_of, grow_forest

LARGEST = 1 << 15  # leaves of a tree: ranks and features are kept in 16 bits


class Partitions(Part):
    """A forest of `trees` random trees, whose leaves and coarser cells are features of a row.

    Memory is taken for at most `cells` cells, a class each if there are many: then trees have fewer leaves. With
    `alone`, a learner that could also do without goes by the partitions only. Without trees there are no partitions.
    """

    trees: int = 64
    cells: int = 1 << 20
    seed: int = 0
    alone: bool = False

    def check(self) -> None:
        self.require(0 <= self.trees <= 4096, f"trees must be a number from 0 to 4096, got {self.trees}")
        self.require(self.cells >= 1, f"cells must be at least 1, got {self.cells}")
        self.require(not self.alone or self.trees > 0, "alone needs trees: give trees=64, or leave out alone")

    def grow(self, sample: Any, labels: Any, classes: int, compiled: bool) -> Forest:
        """The forest that a sample of rows and their labels give, which are codes if there are classes."""
        leaves = self._leaves(classes)
        return grow_forest(sample, aims_of(labels, classes), self.trees, leaves, self.seed, compiled)

    def most_cells(self, rows: int) -> int:
        """The most cells, coarse ones too, that forests have which are grown on this many rows."""
        leaves = max(min(self._leaves(0), rows), 1)
        return self.trees * (leaves + min(leaves, 1 << COARSE))

    def _leaves(self, classes: int) -> int:
        """The most leaves that a tree may have."""
        return min(self.cells // (self.trees * max(classes, 1)), LARGEST)
