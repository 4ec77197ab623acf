"""The Perceptron in kernel form: half-spaces of a space that is only ever seen through its inner products K(a, b).

A kernel of your own is a subclass of `Kernel` with a method `value`, or of `Coordinatewise` with two shorter ones:

    class Laplace(Coordinatewise):
        gamma: float

        def inner(self, a, b):
            return abs(a - b)

        def outer(self, total):
            return math.exp(-self.gamma * total)

Compiled code cannot allocate: write loops over the coordinates, not expressions of arrays such as `a - b`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.loss import Hinge, OnMistakes
from lowregret.rows import Rows
from lowregret.state import COUNTS, DIMENSION, ENERGY, LARGEST, MISTAKES, ROUNDS, SUMS, TOTAL
from lowregret.types import Cells, Vector

HIGHEST = 1024  # degree: each costs a product
CAPACITY = 16  # rows for which a new support set has room


# ---- kernels -----------------------------------------------------------------------------------------------------


class Kernel(Part):
    """K(a, b) = ⟨φ(a), φ(b)⟩: symmetric and positive semi-definite."""

    @abstractmethod
    def value(self, a: Vector, b: Vector) -> float:
        """K(a, b) of two dense vectors."""


class Coordinatewise(Kernel):
    """K(a, b) = outer(Σ_j inner(a[j], b[j]))"""

    @abstractmethod
    def inner(self, a: float, b: float) -> float:
        """One coordinate's share."""

    @abstractmethod
    def outer(self, total: float) -> float:
        """K(a, b), given the sum over coordinates."""

    def value(self, a: Vector, b: Vector) -> float:
        """Four sums: fast, in an order of addition that never changes."""
        j, end = np.uint64(0), np.uint64(a.size)
        one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
        p0 = p1 = p2 = p3 = 0.0
        while j + four <= end:
            p0 += self.inner(a[j], b[j])
            p1 += self.inner(a[j + one], b[j + one])
            p2 += self.inner(a[j + two], b[j + two])
            p3 += self.inner(a[j + three], b[j + three])
            j += four
        while j < end:
            p0 += self.inner(a[j], b[j])
            j += one
        return self.outer((p0 + p1) + (p2 + p3))


class InnerProduct(Coordinatewise):
    """K(a, b) = ⟨a, b⟩: the plain Perceptron"""

    def inner(self, a: float, b: float) -> float:
        return a * b

    def outer(self, total: float) -> float:
        return total


class Polynomial(Coordinatewise):
    """K(a, b) = (⟨a, b⟩ + offset)^degree: products of up to `degree` features (exactly `degree` if offset = 0)"""

    degree: int = 2
    offset: float = 1.0

    def check(self) -> None:
        self.require(
            isinstance(self.degree, int) and 1 <= self.degree <= HIGHEST,
            f"degree must be 1, 2, 3, …, at most {HIGHEST:,}, got {self.degree!r}",
        )
        self.require(0 <= self.offset < math.inf, f"offset must be ≥ 0, else K is no kernel; got {self.offset}")

    def inner(self, a: float, b: float) -> float:
        return a * b

    def outer(self, total: float) -> float:
        base, power = total + self.offset, 1.0
        for _ in range(self.degree):
            power *= base
        return power


class Gaussian(Coordinatewise):
    """K(a, b) = e^{−γ‖a − b‖²}"""

    gamma: float = 1.0

    def check(self) -> None:
        self.require(0 < self.gamma < math.inf, f"gamma must be a positive number, got {self.gamma}")

    def inner(self, a: float, b: float) -> float:
        return (a - b) * (a - b)

    def outer(self, total: float) -> float:
        return math.exp(-self.gamma * total)


# ---- the learner ---------------------------------------------------------------------------------------------------


class Support(NamedTuple):
    """A function Σ_i c_i K(x_i, ·) with room for more terms, and the ledger of the rounds that made it.

    The first `counts[MISTAKES]` rows and coefficients are in use. `sums` and `counts` are those of `State`; ‖z_t‖² is
    K(x_t, x_t) in rounds with a mistake.
    """

    rows: Cells  # (capacity, dimension)
    coefficients: Cells  # (capacity,)
    sums: Cells
    counts: Cells

    @classmethod
    def of(cls, rows: Cells, coefficients: Cells) -> Support:
        """A given function."""
        counts = np.zeros(COUNTS, np.int64)
        counts[MISTAKES], counts[DIMENSION] = rows.shape
        return cls(rows, coefficients, np.zeros(SUMS), counts)

    @property
    def dimension(self) -> int:
        return int(self.counts[DIMENSION])

    @property
    def size(self) -> int:
        return int(self.counts[MISTAKES])

    @property
    def full(self) -> bool:
        return self.size == self.coefficients.size

    def resized(self, capacity: int) -> Support:
        """The support in room for this many rows."""
        rows, coefficients = np.zeros((capacity, self.dimension)), np.zeros(capacity)
        rows[: self.size], coefficients[: self.size] = self.rows[: self.size], self.coefficients[: self.size]
        return self._replace(rows=rows, coefficients=coefficients)


class KernelPerceptron(Part):
    """p_t = Σ_{i∈M} y_i K(x_i, x_t); if y_t p_t ≤ 0, a mistake, (x_t, y_t) joins the support set (ALG-PERCEPTRON).

    A zero score always counts as a mistake. O(|M|) kernels per row. Rows are copied into one dense scratch row first,
    O(d) also for sparse ones, and support rows are kept dense.
    """

    kernel: Kernel

    def check(self) -> None:
        self.require(isinstance(self.kernel, Kernel), f"needs a Kernel such as Gaussian(1.0), got {self.kernel!r}")

    @property
    def loss(self) -> OnMistakes:
        """f_t = [1 − y_t p]₊ in rounds with a mistake, else 0."""
        return OnMistakes(Hinge())

    def start(self, features: int) -> Support:
        """The empty support set before round 1."""
        if features < 1:
            raise PartError("a learner needs at least one feature")
        return Support.of(np.zeros((0, features)), np.zeros(0)).resized(CAPACITY)

    # ---- compiled ----------------------------------------------------------------------------------------------------

    def score(self, s: Support, row: Vector) -> float:
        """Σ_i c_i K(x_i, row)"""
        p = 0.0
        for k in range(s.counts[MISTAKES]):
            p += s.coefficients[k] * self.kernel.value(s.rows[k], row)
        return p

    def learn(self, s: Support, row: Vector, y: float) -> float:
        """One round: returns the score made before the row was learnt; NaN means that nothing was learnt."""
        p = self.score(s, row)
        wrong = y * p <= 0.0
        square = self.kernel.value(row, row) if wrong else 0.0
        if not (math.isfinite(p) and 0.0 <= square < math.inf):
            return math.nan
        if wrong:
            if not math.isfinite(s.sums[TOTAL] - y * p + s.sums[ENERGY] + square):
                return math.nan
            k = s.counts[MISTAKES]
            for j in range(row.size):
                s.rows[k, j] = row[j]
            s.coefficients[k] = y
            s.counts[MISTAKES] += 1
            s.sums[TOTAL] += 1.0 - y * p
            s.sums[ENERGY] += square
            s.sums[LARGEST] = max(s.sums[LARGEST], square)
        s.counts[ROUNDS] += 1
        return p


@kernel
def spread_row(x: Rows, i: int, row: Vector) -> bool:
    """Write row i into a dense vector: O(d). Returns whether all its numbers are finite."""
    row[:] = 0.0
    finite = True
    for k in range(x.begin(i), x.end(i)):
        value = x.value(i, k)
        finite = finite and math.isfinite(value)
        row[x.column(i, k)] = value
    return finite


@kernel
def learn_kernel_rows(
    learner: KernelPerceptron, s: Support, x: Rows, y: Vector, scores: Vector, row: Vector, i: int
) -> int:
    """Learn rows i, i+1, … while there is room; returns the first row not learnt. `row` is scratch.

    Stops early at a row that cannot be learnt, leaving the support set as it was before that row.
    """
    while i < y.size and s.counts[MISTAKES] < s.coefficients.size:
        if abs(y[i]) != 1.0 or not spread_row(x, i, row):
            break
        p = learner.learn(s, row, y[i])
        if not math.isfinite(p):
            break
        scores[i] = p
        i += 1
    return i


@kernel
def score_kernel_rows(learner: KernelPerceptron, s: Support, x: Rows, scores: Vector, row: Vector) -> None:
    """scores[i] = Σ_k c_k K(x_k, row i), NaN if the row is not finite. `row` is scratch."""
    for i in range(scores.size):
        scores[i] = learner.score(s, row) if spread_row(x, i, row) else math.nan
