"""The scaled simplex."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from lowregret.domain.kind import Whole
from lowregret.kernel import kernel
from lowregret.state import Vector


class Simplex(Whole):
    """{w ≥ 0, Σw = total}"""

    name: ClassVar[str] = "simplex"
    total: float = 1.0

    def check(self) -> None:
        self.require(0 < self.total < math.inf, f"total must be a positive number, got {self.total}")

    def project(self, v: Vector) -> None:
        project_simplex(v, self.total)

    def support(self, theta: Vector) -> float:
        return self.total * float(np.max(theta))

    def reach(self, q: float, d: int) -> float:
        return self.total

    def diameter(self, d: int) -> float:
        return self.total * math.sqrt(2) if d > 1 else 0.0

    def describe(self) -> dict[str, object]:
        return {"set": self.name, "radius": self.total}


@kernel
def simplex_threshold(v: Vector, total: float, absolute: bool) -> float:
    """τ with Σ[v − τ]₊ = total (of |v| if `absolute`).

    Starting from all coordinates, drop those that end up ≤ 0 and solve for τ again until none is dropped
    (Michelot 1986): allocates nothing; a few O(d) passes in practice, at most d.
    """
    top = -math.inf  # sums are taken relative to the largest: a common shift would swamp them
    for x in v:
        top = max(top, abs(x) if absolute else x)
    kept, tau = 0, -math.inf
    while True:
        count, above = 0, 0.0
        for x in v:
            depth = (abs(x) if absolute else x) - top
            if depth > tau:
                count += 1
                above += depth
        if count == kept:
            return top + tau
        kept, tau = count, (above - total) / count


@kernel
def project_simplex(v: Vector, total: float) -> None:
    """v ← [v − τ]₊ on {w ≥ 0, Σw = total}."""
    tau = simplex_threshold(v, total, False)
    for j in range(v.size):
        v[j] = max(v[j] - tau, 0.0)
