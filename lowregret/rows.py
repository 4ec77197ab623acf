"""Rows of features, dense or sparse, behind one interface for compiled loops: entries `begin(i) … end(i)−1` of row i.

The columns of a row are distinct. Indices are unsigned: signed ones would pay for negative wrap-around.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowregret.error import DataError
from lowregret.part import Part
from lowregret.state import Index

Features: TypeAlias = Any  # array-like, or a SciPy sparse matrix or array


class Rows(Part):
    """A batch of feature rows."""

    @abstractmethod
    def begin(self, i: int) -> Index: ...

    @abstractmethod
    def end(self, i: int) -> Index: ...

    @abstractmethod
    def column(self, i: int, k: Index) -> Index: ...

    @abstractmethod
    def value(self, i: int, k: Index) -> float: ...

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]: ...


class Dense(Rows):
    """The rows of a C-ordered matrix."""

    data: NDArray[Any]

    def begin(self, i: int) -> Index:
        return np.uint64(0)

    def end(self, i: int) -> Index:
        return np.uint64(self.data.shape[1])

    def column(self, i: int, k: Index) -> Index:
        return k

    def value(self, i: int, k: Index) -> float:
        return float(self.data[np.uint64(i), k])

    @property
    def shape(self) -> tuple[int, int]:
        return self.data.shape[0], self.data.shape[1]


class Sparse(Rows):
    """Compressed sparse rows: row i holds entries indptr[i] … indptr[i+1]−1 of `indices` and `data`."""

    indptr: NDArray[Any]
    indices: NDArray[np.unsignedinteger[Any]]
    data: NDArray[Any]
    columns: int

    def begin(self, i: int) -> Index:
        return np.uint64(self.indptr[i])

    def end(self, i: int) -> Index:
        return np.uint64(self.indptr[i + 1])

    def column(self, i: int, k: Index) -> Index:
        return self.indices[k]

    def value(self, i: int, k: Index) -> float:
        return float(self.data[k])

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.columns


def as_rows(features: Features) -> Rows:
    """Wrap a NumPy matrix, nested lists or a SciPy sparse matrix; copies only what has the wrong type or order."""
    if isinstance(features, Rows):
        return features
    if hasattr(features, "tocsr"):
        return _from_sparse(features)
    try:
        matrix = np.asarray(features)
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers: {error}; encode text and categories first") from None
    if matrix.ndim != 2:
        raise DataError(
            f"features must be a matrix, one row per example, not {matrix.ndim}-dimensional: for one row use X[None, :]"
        )
    return Dense(np.ascontiguousarray(matrix))


def _from_sparse(features: Any) -> Sparse:
    matrix = features.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    data = matrix.data
    if data.dtype not in (np.float32, np.float64):
        data = data.astype(np.float64)
    unsigned = np.uint32 if matrix.indices.dtype.itemsize == 4 else np.uint64
    return Sparse(matrix.indptr, matrix.indices.view(unsigned), data, int(matrix.shape[1]))


def describe_entry(x: Rows, i: int) -> str | None:
    """The first entry of row i that is not a finite number, in words; None if all are."""
    for k in range(int(x.begin(i)), int(x.end(i))):
        value = x.value(i, np.uint64(k))
        if not np.isfinite(value):
            return f"feature {int(x.column(i, np.uint64(k)))} is {value}"
    return None
