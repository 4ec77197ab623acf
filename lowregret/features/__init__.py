"""Further features of rows: the cells of random partitions that they lie in."""

from lowregret.features.forest import Forest
from lowregret.features.grow import aims_of, grow_forest
from lowregret.features.partitions import Partitions

__all__ = ["Forest", "Partitions", "aims_of", "grow_forest"]
