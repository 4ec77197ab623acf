"""Further features of rows: what feature maps make of them, and the cells of random partitions that they lie in."""

from lowregret.features.base import FeatureMap
from lowregret.features.forest import Forest
from lowregret.features.grow import aims_of, grow_forest
from lowregret.features.partitions import Partitions
from lowregret.features.products import Products

__all__ = ["FeatureMap", "Forest", "Partitions", "Products", "aims_of", "grow_forest"]
