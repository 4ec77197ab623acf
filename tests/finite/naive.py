"""The textbook's finite classes in plain Python, slow and readable."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.bool_]
Rows = frozenset[int]


def everyone(matrix: Matrix) -> Rows:
    return frozenset(range(len(matrix)))


def half(matrix: Matrix, rows: Rows, x: int, y: int) -> Rows:
    return frozenset(row for row in rows if matrix[row, x] == y)


def ldim(matrix: Matrix, rows: Rows, known: dict[Rows, int] | None = None) -> int:
    """The recursion of ALG-LDIM, memoised if a dict is given."""
    if known is not None and rows in known:
        return known[rows]
    best = -1 if not rows else 0
    for x in range(matrix.shape[1]):
        zeros, ones = half(matrix, rows, x, 0), half(matrix, rows, x, 1)
        if zeros and ones:
            best = max(best, 1 + min(ldim(matrix, zeros, known), ldim(matrix, ones, known)))
    if known is not None:
        known[rows] = best
    return best


def vcdim(matrix: Matrix) -> int:
    """The largest set of columns with all patterns, by trying all."""
    k = 0
    while any(
        len({tuple(row) for row in matrix[:, columns].tolist()}) == 2 ** (k + 1)
        for columns in map(list, itertools.combinations(range(matrix.shape[1]), k + 1))
    ):
        k += 1
    return k


def consistent(matrix: Matrix, rows: Rows, x: int) -> int:
    """ALG-CONSISTENT: what the first hypothesis of V says."""
    return int(matrix[min(rows), x])


def halving(matrix: Matrix, rows: Rows, x: int) -> int:
    """ALG-HALVING: what most of V say, 1 if they are even."""
    return int(len(half(matrix, rows, x, 1)) >= len(half(matrix, rows, x, 0)))


def soa(matrix: Matrix, rows: Rows, x: int) -> int:
    """ALG-SOA: the label that leaves the larger Littlestone dimension, 1 if they are equal."""
    return soa_label(matrix, rows, x, {})


def version_spaces(matrix: Matrix, points: list[int], target: int) -> list[Rows]:
    """V_1, V_2, …: who agrees with a hypothesis on all points before."""
    spaces = [everyone(matrix)]
    for x in points:
        spaces.append(half(matrix, spaces[-1], x, int(matrix[target, x])))
    return spaces[:-1]


def soa_label(matrix: Matrix, rows: Rows, x: int, known: dict[Rows, int], tie: int = 1) -> int:
    zeros, ones = (ldim(matrix, half(matrix, rows, x, y), known) for y in (0, 1))
    return tie if zeros == ones else int(ones > zeros)


def expert(
    matrix: Matrix, points: list[int], flips: tuple[int, ...], known: dict[Rows, int], tie: int = 1
) -> list[int]:
    """Expert(I) on a sequence of points: SOA on its own predictions, flipped in the rounds of I."""
    rows, said = everyone(matrix), []
    for t, x in enumerate(points):
        said.append(soa_label(matrix, rows, x, known, tie) ^ (t in flips))
        rows = half(matrix, rows, x, said[-1])
    return said


def mistakes_of_soa(matrix: Matrix, points: list[int], target: int, known: dict[Rows, int]) -> tuple[int, ...]:
    """The rounds in which SOA errs on a hypothesis: the index set of LEM-3.7."""
    rows, found = everyone(matrix), []
    for t, x in enumerate(points):
        y = int(matrix[target, x])
        if soa_label(matrix, rows, x, known) != y:
            found.append(t)
        rows = half(matrix, rows, x, y)
    return tuple(found)


def all_experts(matrix: Matrix, points: list[int]) -> list[list[int]]:
    """What all Σ_{L≤ℓ} C(T,L) experts say."""
    known: dict[Rows, int] = {}
    depth = ldim(matrix, everyone(matrix), known)
    rounds = range(len(points))
    chosen = itertools.chain.from_iterable(itertools.combinations(rounds, size) for size in range(depth + 1))
    return [expert(matrix, points, flips, known) for flips in chosen]


def weighted_majority(said: NDArray[Any], labels: list[int], eta: float) -> list[float]:
    """p_t of exponential weights over the rows of `said`."""
    losses, found = np.zeros(len(said)), []
    for t, y in enumerate(labels):
        weights = np.exp(-eta * (losses - losses.min()))
        found.append(float(weights @ said[:, t] / weights.sum()))
        losses += np.abs(said[:, t] - y)
    return found


def surrogate_halving(matrix: Matrix, points: list[int], labels: list[int]) -> tuple[list[int], float]:
    """Predictions with η = 1 as the formulas say, and min_i F(e_i)."""
    d = len(matrix)
    weights, said, costs = np.full(d, 1 / d), [], np.zeros(d)
    for x, y in zip(points, labels, strict=True):
        v = matrix[:, x].astype(float)
        said.append(int(weights @ v >= 0.5 - 1e-12))
        if said[-1] != y:
            z = 2 * v if y == 0 else -2 * v
            weights = weights * np.exp(-z)
            weights /= weights.sum()
            costs += 2 * np.abs(v - y)
    return said, float(costs.min())


def random_class(rng: np.random.Generator, most: int = 8, points: int = 4) -> Matrix:
    """A small class without repetitions."""
    shape = int(rng.integers(1, most + 1)), int(rng.integers(1, points + 1))
    return np.unique(rng.random(shape) < rng.choice([0.2, 0.5, 0.7]), axis=0)


def log2(n: int) -> int:
    """⌊log2 n⌋"""
    return math.floor(math.log2(n))
