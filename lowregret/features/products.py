"""Products of features."""

from __future__ import annotations

from typing import Any

from lowregret.features.base import FeatureMap

WIDEST = 2048  # features whose products are taken: about two million columns


class Products(FeatureMap):
    """x_i·x_j for all i ≤ j: a linear learner on them learns quadratic functions of the row, squares included."""

    def columns(self, features: int) -> int:
        self.require(
            features <= WIDEST,
            f"rows of {features} features have {features * (features + 1) // 2:,} products: "
            f"leave features out, up to {WIDEST:,} are taken",
        )
        return features * (features + 1) // 2

    def write(self, row: Any, columns: Any, values: Any) -> int:
        count = begin = 0
        for i in range(row.size):
            if row[i] != 0.0:
                for j in range(i, row.size):
                    if row[j] != 0.0:
                        columns[count], values[count] = begin + j - i, row[i] * row[j]
                        count += 1
            begin += row.size - i
        return count
