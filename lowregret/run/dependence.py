"""Partial dependence: what a model predicts on average over rows, if one feature has the same value in all of them.

    dependence(v) = mean over rows x of f(x with v in place of feature j)        (Friedman, Annals of Statistics 2001)

Where features go together, some of the rows so made are like none that occur.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lowregret.rows import Sparse
from lowregret.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS = 20  # between the least and the largest value of a feature, as many rows in each


@dataclass(frozen=True)
class Dependence:
    """Mean predictions of the kept model over rows in which a feature was set to each value of a grid."""

    feature: int
    name: str
    grid: Vector
    means: Vector  # a number for each value; of many classes a row, with the mean chance of each
    what: str  # that is predicted, in words
    classes: tuple[str, ...]  # names of the columns of `means`; none if it is a vector
    rows: int

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The curve, or one for each class."""
        from lowregret.show.meaning import plot_dependence

        return plot_dependence([self], path)


def quantiles(x: Sparse, feature: int) -> Vector:
    """Values of a feature that part the rows into equal shares, the least and the largest among them."""
    values = np.zeros(x.shape[0])
    at = x.indices == feature
    values[np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))[at]] = x.data[at]
    return np.unique(np.quantile(values, np.linspace(0, 1, STEPS + 1), method="nearest"))


def mean_predictions(x: Sparse, w: Vector, feature: int, grid: Vector, predict: Callable[[Sparse], Vector]) -> Vector:
    """The mean prediction over rows of these weights for each value of the grid: O(grid · nnz)."""
    return np.array([w @ predict(with_value(x, feature, value)) / w.sum() for value in grid.tolist()])


def with_value(x: Sparse, feature: int, value: float) -> Sparse:
    """Rows in which a feature has this value, and which have no zeros if they had none."""
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    others = x.indices != feature
    rows, indices, data = rows[others], x.indices[others], x.data[others]
    if value != 0:
        every = np.arange(x.shape[0])
        rows = np.concatenate([rows, every])
        indices = np.concatenate([indices, np.full(every.size, feature, indices.dtype)])
        data = np.concatenate([data, np.full(every.size, value)])
    order = np.lexsort((indices, rows))
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=x.shape[0])))
    return Sparse(ends, indices[order], data[order], x.columns)
