"""Rows of features, dense or sparse, behind one interface for compiled loops: entries `begin(i) … end(i)−1` of row i.

The columns of a row are distinct. Indices are unsigned: signed ones would pay for negative wrap-around.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.types import Index

Features: TypeAlias = Any  # array-like, or a SciPy sparse matrix or array
EVERY = np.empty(0, np.int64)  # where rows can be picked: all of them


class Rows(Part):
    """A batch of feature rows, which belong to whoever gave them: nothing compiled may write to them."""

    read_only: ClassVar[bool] = True

    @abstractmethod
    def begin(self, i: int) -> Index: ...

    @abstractmethod
    def end(self, i: int) -> Index: ...

    @abstractmethod
    def column(self, i: int, k: Index) -> Index: ...

    @abstractmethod
    def value(self, i: int, k: Index) -> float: ...

    def inside(self, i: int) -> bool:
        """Whether all columns of row i exist."""
        return True

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
        return np.float64(self.data[np.uint64(i), k])  # `float` would leave single precision as it is, if compiled

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
        return np.float64(self.data[k])

    def inside(self, i: int) -> bool:
        """Rows are sorted, so their ends say it; a negative index is a huge unsigned one."""
        begin, end = self.begin(i), self.end(i)
        if begin == end:
            return True
        return bool(self.indices[begin] < self.columns and self.indices[end - np.uint64(1)] < self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.columns


def as_rows(features: Features, checked: bool = True) -> Rows:
    """Wrap a NumPy matrix, nested lists or a SciPy sparse matrix; copies only what has the wrong type or order.

    `checked` makes sure that all columns exist, in a pass of its own; a loop that asks `inside` does not need it.
    """
    if isinstance(features, Rows):
        return features
    if hasattr(features, "tocsr"):
        return _from_sparse(features, checked)
    try:
        matrix = _real(np.asarray(features))
    except (TypeError, ValueError) as error:
        raise DataError(f"features must be numbers: {error}; encode text and categories first") from None
    if np.ma.is_masked(features):
        raise DataError("some features are masked: fill them in or leave the rows out")
    if matrix.ndim != 2:
        raise DataError(f"{_NOT_A_MATRIX}, not {matrix.ndim}-dimensional: for one row use X[None, :]")
    return Dense(np.ascontiguousarray(matrix))


_NOT_A_MATRIX = "features must be a matrix, one row per example"
OUTSIDE = "the sparse features have {} columns, but an index is negative or beyond them"


def _real(array: NDArray[Any]) -> NDArray[Any]:
    """Float32 and float64 as they are, everything else as float64 (dates and complex numbers are refused)."""
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "cmM":
        raise TypeError(f"{array.dtype} is not a real number")
    return array.astype(np.float64)


def _from_sparse(features: Any, checked: bool) -> Sparse:
    if len(features.shape) != 2:
        raise DataError(f"{_NOT_A_MATRIX}, not {len(features.shape)}-dimensional: for one row use x.reshape(1, -1)")
    matrix = features.tocsr()
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    try:
        data = _real(matrix.data)
    except TypeError as error:
        raise DataError(f"features must be numbers: {error}") from None
    indices = matrix.indices.view(np.uint32 if matrix.indices.dtype.itemsize == 4 else np.uint64)
    columns = int(matrix.shape[1])
    if checked and matrix.nnz > 0 and indices[: matrix.nnz].max() >= columns:
        raise DataError(OUTSIDE.format(columns))
    return Sparse(matrix.indptr.astype(np.int64, copy=False), indices, data, columns)  # one type, as in streams


def narrow(X: Features) -> Features:
    """A sparse matrix with indices of 32 bits, if they suffice: loops are compiled for each kind of index, too."""
    if not hasattr(X, "indices") or X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def as_sparse(x: Rows) -> Sparse:
    """Rows with all their entries, zeros too, as sparse ones."""
    if isinstance(x, Sparse):
        return x
    rows, columns = x.shape
    indices = np.tile(np.arange(columns, dtype=np.uint32), rows)
    return Sparse(np.arange(rows + 1) * columns, indices, x.data.reshape(-1), columns)  # type: ignore[attr-defined]


def highest(x: Rows, rows: int) -> int:
    """1 + the highest column of the first rows: O(rows)."""
    if not isinstance(x, Sparse):
        return x.shape[1]
    ends = x.indptr[1 : rows + 1]
    ends = ends[ends > x.indptr[:rows]]
    return int(x.indices[ends - 1].max()) + 1 if ends.size else 0


def longest(x: Rows) -> int:
    """The most entries that a row has: O(rows)."""
    return int(np.diff(x.indptr).max(initial=0)) if isinstance(x, Sparse) else x.shape[1]


def largest_entry(x: Rows, i: int) -> tuple[int, float] | None:
    """The column and value of the largest entry of row i, which is finite; None if the row is empty."""
    entries = range(int(x.begin(i)), int(x.end(i)))
    k = max(entries, key=lambda k: abs(x.value(i, np.uint64(k))), default=None)
    return None if k is None else (int(x.column(i, np.uint64(k))), float(x.value(i, np.uint64(k))))


def describe_entry(x: Rows, i: int) -> str | None:
    """The first entry of row i that is not a finite number, in words; None if all are."""
    for k in range(int(x.begin(i)), int(x.end(i))):
        value = x.value(i, np.uint64(k))
        if not np.isfinite(value):
            return f"feature {int(x.column(i, np.uint64(k)))} is {value}"
    return None
