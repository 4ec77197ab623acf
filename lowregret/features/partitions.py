"""How random partitions are grown: how many trees, with how many cells."""

from __future__ import annotations

from typing import Any

from lowregret.compile.part import Part
from lowregret.features.forest import COARSE, Forest
from lowregret.features.grow import aims_of, grow_forest

MOST = 1 << 31  # cells: columns that rows may have more
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
        for name, low, high in (("trees", 0, 4096), ("cells", 1, MOST), ("seed", -(1 << 63), (1 << 63) - 1)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
            self.require(whole, f"{name} must be a whole number from {low:,} to {high:,}, got {value!r}")
        self.require(isinstance(self.alone, bool), f"alone must be True or False, got {self.alone!r}")
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
