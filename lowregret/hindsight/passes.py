"""The best fixed choice by passes over the rows: for rows that do not fit into memory, any loss and any set.

A pass gives the sum and a sub-gradient at one point, O(nnz); cutting planes (see `minimise`) choose the points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.convex.functions import Convex, Pieces, QuadraticFunction, Sum
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import Solution, minimise
from lowregret.domain import Domain
from lowregret.hindsight.objective import ROUNDING, Report, off_by
from lowregret.learner.linear import Linear
from lowregret.rows import Rows
from lowregret.types import Vector

Pass = Callable[[], Iterable[tuple[Rows, Vector, Vector]]]  # rows, labels, weights; as often as asked for


@kernel
def add_gradient(
    learner: Linear, w: Vector, x: Rows, y: Vector, weights: Vector, gradient: Vector, sizes: Vector
) -> tuple[float, float]:
    """Σ weight·ℓ(⟨w, x_i⟩, y_i), and by how much it may be off: O(nnz).

    Its sub-gradient is added to `gradient`, and the sizes of what that is a sum of to `sizes`.
    """
    total = rounding = 0.0
    for i in range(y.size):
        weight = weights[i] if weights.size > 0 else 1.0
        if weight == 0.0:
            continue
        p = learner.score(w, x, i)
        value, slope = learner.loss.at(p, y[i])
        total += weight * value
        slope *= weight
        size = abs(learner.bias * w[w.size - 1])
        for k in range(x.begin(i), x.end(i)):
            size += abs(x.value(i, k) * w[x.column(i, k)])
            if slope != 0.0:
                gradient[x.column(i, k)] += slope * x.value(i, k)
                sizes[x.column(i, k)] += abs(slope * x.value(i, k))
        if slope != 0.0 and learner.bias != 0.0:
            gradient[gradient.size - 1] += slope * learner.bias
            sizes[gradient.size - 1] += abs(slope * learner.bias)
        rounding += off_by(learner.loss, p, y[i], weight, size, float(x.end(i) - x.begin(i)))
    return total, rounding


@dataclass(eq=False)
class _Latest:
    """The point of the latest pass, and what it found."""

    w: Vector | None = None
    value: float = 0.0
    blur: float = 0.0  # by how much the value may be off
    gradient: Vector | None = None
    steepness: Vector | None = None
    passes: int = 0


class PassLoss(Convex):
    """Σ weight_i·ℓ(⟨w, x_i⟩, y_i) over all rows of a pass."""

    compilable: ClassVar[bool] = False
    learner: Linear
    rows: Any
    compiled: bool
    latest: Any
    report: Any

    def value(self, w: Vector) -> float:
        return self._at(w).value

    def subgradient(self, w: Vector) -> Vector:
        gradient = self._at(w).gradient
        assert gradient is not None
        return gradient

    def steepness(self, w: Vector, z: Vector) -> Vector:
        found = self._at(w).steepness
        assert found is not None
        return found

    def blur(self, w: Vector) -> float:
        return self._at(w).blur

    def pieces(self) -> Pieces:
        return Pieces(rest=self)

    def _at(self, w: Vector) -> _Latest:
        """One pass, unless the latest one was for the same point."""
        latest: _Latest = self.latest
        if latest.w is None or not np.array_equal(latest.w, w):
            total, blur, rows, gradient, sizes = 0.0, 0.0, 0, np.zeros(w.size), np.zeros(w.size)
            for x, y, weights in self.rows():
                into = gradient, sizes
                value, off = call(add_gradient, self.compiled, self.learner, w, x, y, weights, *into)
                total, blur, rows = total + float(value), blur + float(off), rows + y.size
            latest.w, latest.value, latest.gradient = w.copy(), total, gradient
            latest.blur, latest.steepness = blur + ROUNDING * math.sqrt(rows) * abs(total), math.sqrt(rows) * sizes
            latest.passes += 1
            self.report(latest.passes, total, math.inf)
        return latest


def by_passes(
    learner: Linear,
    comparator: Domain,
    rows: Pass,
    start: Vector,
    kappa: float,
    compiled: bool,
    tolerance: float,
    report: Report,
    until: float = math.inf,
) -> Solution:
    """The best u of the comparators, its loss, and a gap: the minimum is at least loss − gap."""
    total = Sum(start.size, [PassLoss(learner, rows, compiled, _Latest(), report)])
    if kappa > 0:
        total.add(QuadraticFunction(np.zeros(start.size), kappa))
    return minimise(FollowTheLeader(comparator), total, comparator.projection(start), tolerance, until)
