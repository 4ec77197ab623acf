"""The scaled simplex."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.domain.base import Whole, require_size
from lowregret.types import Vector


class Simplex(Whole):
    """{w ≥ 0, Σw = total}"""

    name: ClassVar[str] = "simplex"
    total: float = 1.0

    def check(self) -> None:
        require_size(self, "total", self.total)

    def project(self, v: Vector) -> None:
        project_simplex(v, self.total)

    def support(self, theta: Vector) -> float:
        return self.total * float(np.max(theta))

    def reach(self, q: float, d: int) -> float:
        return self.total

    def diameter(self, d: int) -> float:
        return self.total * math.sqrt(2) if d > 1 else 0.0

    def bounds(self, d: int) -> tuple[float, float]:
        return (0.0 if d > 1 else self.total), self.total

    def describe(self) -> dict[str, object]:
        return {"set": self.name, "radius": self.total}


@kernel
def simplex_threshold(v: Vector, total: float, absolute: bool) -> tuple[float, float]:
    """(top, τ) with top = max v and Σ[v − top − τ]₊ = total (of |v| if `absolute`).

    Starting from the coordinates within `total` of the top (no other can stay), drop those that end up ≤ 0 and solve
    for τ again until none is dropped (Michelot 1986): allocates nothing; a few O(d) passes in practice, at most d. All
    is taken relative to the top: a common shift would swamp it.
    """
    top = -math.inf
    for x in v:
        top = max(top, abs(x) if absolute else x)
    kept, tau = v.size + 1, -total
    while True:
        count, above = 0, 0.0
        for x in v:
            depth = (abs(x) if absolute else x) - top
            if depth > tau:
                count += 1
                above += depth
        if count >= kept or count == 0:  # none if the numbers are not finite
            return top, tau
        kept, tau = count, (above - total) / count


@kernel
def project_simplex(v: Vector, total: float) -> None:
    """v ← [v − top − τ]₊ on {w ≥ 0, Σw = total}."""
    top, tau = simplex_threshold(v, total, False)
    for j in range(v.size):
        v[j] = max(v[j] - top - tau, 0.0)
