"""Rows of features, dense or sparse, behind one interface for compiled loops: entries `begin(i) … end(i)−1` of row i.

The columns of a row are distinct. Indices are unsigned: signed ones would pay for negative wrap-around.
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.types import Index

Features: TypeAlias = Any  # array-like, or a SciPy sparse matrix or array
WEIGHTIEST = 1e290  # importance of a row up to which sums over all rows are numbers
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
        begin, end, columns = self.begin(i), self.end(i), np.uint64(self.columns)  # with a sign, they would be rounded
        if begin == end:
            return True
        return bool(self.indices[begin] < columns and self.indices[end - np.uint64(1)] < columns)

    @property
    def shape(self) -> tuple[int, int]:
        return self.indptr.size - 1, self.columns


class Checked(NamedTuple):
    """Rows that `as_rows` made a moment ago and nobody else has seen, so that it need not look at them again."""

    rows: Rows


def as_rows(features: Features) -> Rows:
    """Wrap a NumPy matrix, nested lists or a SciPy sparse matrix; copies only what has the wrong type or order.

    Every index of sparse rows is looked at: SciPy's flags, or whoever made them, may speak of what is not so.
    """
    if isinstance(features, Checked):
        return features.rows
    if isinstance(features, Rows):
        return _from_rows(features)
    if hasattr(features, "tocsr"):
        return _from_sparse(features)
    try:
        matrix = _real(np.asarray(features))
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"features must be numbers: {error}; encode text and categories first") from None
    if np.ma.is_masked(features):
        raise DataError("some features are masked: fill them in or leave the rows out")
    if matrix.ndim != 2:
        raise DataError(f"{_NOT_A_MATRIX}, not {matrix.ndim}-dimensional: for one row use X[None, :]")
    return Dense(np.require(matrix, requirements=["C", "A"]))


def _real(array: NDArray[Any]) -> NDArray[Any]:
    """Float32 and float64 as they are, everything else as float64 (dates and complex numbers are refused)."""
    if array.dtype in (np.float32, np.float64):
        return array
    if array.dtype.kind in "cmMV":
        raise TypeError(f"{array.dtype} is not a real number")
    return array.astype(np.float64)


_NOT_A_MATRIX = "features must be a matrix, one row per example"
OUTSIDE = "the sparse features have {} columns, but an index is negative or beyond them"


def _from_rows(x: Rows) -> Rows:
    """Rows that were made before or by hand: as they are if they are sound, with other arrays if these do not fit."""
    if type(x) is Dense:
        data = x.data
        fits = isinstance(data, np.ndarray) and data.dtype in (np.float32, np.float64) and data.ndim == 2
        return x if fits and data.flags.c_contiguous and data.flags.aligned else as_rows(data)
    if type(x) is not Sparse:
        return x  # of the user's own
    try:
        found = _sparse(x.indptr, x.indices, x.data, len(x.indptr) - 1, x.columns)
    except (TypeError, ValueError, IndexError, AttributeError) as error:
        raise DataError(f"the sparse rows are not sound: {error}; make them with scipy.sparse.csr_array") from None
    if not canonical(found):
        _require_indices(found.indices[int(found.indptr[0]) : int(found.indptr[-1])], found.columns)
        raise DataError("the columns of sparse rows must ascend: give a matrix of SciPy, whose rows are sorted here")
    same = all(getattr(x, name) is getattr(found, name) for name in ("indptr", "indices", "data"))
    return x if same else found


# ---- matrices of SciPy ----------------------------------------------------------------------------------------------


def _from_sparse(features: Any) -> Sparse:
    """The rows of a SciPy matrix, each with distinct columns in ascending order; the matrix is left as it is."""
    if len(features.shape) != 2:
        raise DataError(f"{_NOT_A_MATRIX}, not {len(features.shape)}-dimensional: for one row use x.reshape(1, -1)")
    try:
        matrix = _compressed(features)
        x = _wrapped(matrix)
        if canonical(x):
            return x
        entries = slice(int(x.indptr[-1]))
        _require_indices(x.indices[entries], x.columns)
        parts = x.data[entries].copy(), _signed(x.indices[entries]).copy(), x.indptr.copy()
        matrix = type(matrix)(parts, shape=matrix.shape)  # with flags of its own, which say nothing yet
        matrix.sum_duplicates()
        return _wrapped(matrix)
    except (TypeError, ValueError, IndexError, ArithmeticError, AttributeError, MemoryError) as error:
        raise DataError(f"features must be numbers in a sound sparse matrix: {error}") from None


def _compressed(features: Any) -> Any:
    """A matrix as compressed rows of real numbers. SciPy converts without checks of bounds, so they are made before."""
    kind, shape = getattr(features, "format", ""), features.shape
    if kind == "csr":
        return features
    if kind in ("csc", "bsr"):
        block = features.data.shape[1:] if kind == "bsr" else (1, 1)
        major, minor = (shape[1], shape[0]) if kind == "csc" else (shape[0] // block[0], shape[1] // block[1])
        _require_start(features.indptr)
        _require_ends(features.indptr, major, min(len(features.indices), len(features.data)))
        _require_indices(features.indices, minor)
    if kind == "coo":
        for indices, size in zip(features.coords, shape, strict=True):
            _require_indices(indices, size)
            if indices.shape != features.data.shape:
                raise ValueError(f"{features.data.size} numbers, but {indices.size} indices")
    if kind == "lil":
        _require_lists(features.rows, features.data, shape[0])
    if kind == "dia":
        _require_diagonals(features.offsets, features.data, shape)
    if kind in ("csc", "bsr", "coo"):
        features = type(features)(features, dtype=_real(features.data[:0]).dtype)  # sums of small integers overflow
    return features.tocsr()


def _wrapped(matrix: Any) -> Sparse:
    """The rows of a matrix of compressed rows, in its memory where types allow it, duplicates and all."""
    _require_start(matrix.indptr)
    return _sparse(matrix.indptr, matrix.indices, matrix.data, *matrix.shape)


def _sparse(indptr: NDArray[Any], indices: NDArray[Any], numbers: NDArray[Any], rows: int, columns: int) -> Sparse:
    """Sparse rows of these arrays, in their memory where types allow it; the order of columns is not looked at."""
    data = _real(numbers)
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise TypeError(f"indices of type {indices.dtype} and {indptr.dtype}")
    if indices.dtype.itemsize not in (4, 8) or not indices.dtype.isnative:
        indices = indices.astype(np.int64)
    if data.ndim != 1 or indices.ndim != 1:
        raise ValueError("arrays of data and indices that are no vectors")
    _require_ends(indptr, rows, min(data.size, indices.size))
    indices = np.require(indices, requirements=["C", "A"])
    unsigned = indices if indices.dtype.kind == "u" else indices.view(f"u{indices.dtype.itemsize}")
    ends = np.require(indptr, np.int64, ["C", "A"])  # one type, as in streams
    if not 0 <= operator.index(columns) < 1 << 63:
        raise ValueError(f"{columns} columns")
    return Sparse(ends, unsigned, np.require(data, requirements=["C", "A"]), operator.index(columns))


def _signed(indices: NDArray[Any]) -> NDArray[Any]:
    """Indices as SciPy has them."""
    return indices.view(np.int32 if indices.dtype.itemsize == 4 else np.int64)


def _require_start(indptr: NDArray[Any]) -> None:
    """Refuse a matrix of SciPy whose first row does not begin with its first entry."""
    if not indptr.size or indptr[0] != 0:
        raise ValueError("`indptr` must begin with 0")


def _require_ends(indptr: NDArray[Any], rows: int, entries: int) -> None:
    """Refuse ends of rows that do not ascend from 0 or above to at most the number of entries."""
    if indptr.shape != (max(rows, 0) + 1,) or indptr[0] < 0 or np.any(indptr[1:] < indptr[:-1]):
        raise ValueError(f"`indptr` must ascend from 0 and have {rows + 1} entries")
    if indptr[-1] > entries:
        raise ValueError(f"`indptr` speaks of {indptr[-1]} entries, but there are {entries}")


def _require_lists(rows: NDArray[Any], data: NDArray[Any], size: int) -> None:
    """Refuse lists of indices and numbers that are not as many as there are rows, or that differ in length."""
    if not rows.shape == data.shape == (size,):
        raise ValueError(f"lists of shapes {rows.shape} and {data.shape} for {size} rows")
    if any(len(indices) != len(numbers) for indices, numbers in zip(rows, data, strict=True)):
        raise ValueError("a row has more indices than numbers, or fewer")


def _require_diagonals(offsets: NDArray[Any], data: NDArray[Any], shape: tuple[int, int]) -> None:
    """Refuse diagonals without an offset, and offsets that lead far out of a matrix of this shape."""
    if data.ndim != 2 or offsets.shape != data.shape[:1]:
        raise ValueError("more diagonals than offsets, or fewer")
    if offsets.dtype.kind not in "iu" or (offsets.size and max(-int(offsets.min()), int(offsets.max())) > max(shape)):
        raise ValueError("offsets of diagonals that are not in the matrix")


def _require_indices(indices: NDArray[Any], size: int) -> None:
    """Refuse indices below 0 or beyond the last, and what is no whole number: NaN would pass for any."""
    if indices.dtype.kind not in "iu":
        raise TypeError(f"indices of type {indices.dtype}")
    if indices.size and (indices.min() < 0 or indices.max() >= size):
        raise DataError(OUTSIDE.format(size))


@kernel
def canonical(x: Sparse) -> bool:
    """Whether the columns of every row ascend, and exist: O(nnz), eight at a time."""
    one = np.uint64(1)
    for i in range(np.uint64(x.indptr.size) - one):
        k, end, disorder = np.uint64(x.indptr[i]), np.uint64(x.indptr[i + one]), 0
        if k < end:
            last = end - one
            while k < last:
                disorder += x.indices[k] >= x.indices[k + one]
                k += one
            if disorder > 0 or x.indices[last] >= np.uint64(x.columns):
                return False
    return True


def narrow(features: Features) -> Rows:
    """Rows with indices of 32 bits, if they suffice: loops are compiled for each kind of index, too."""
    x = as_rows(features)
    if not isinstance(x, Sparse) or x.indices.dtype == np.uint32 or x.columns > np.iinfo(np.int32).max:
        return x
    return replace(x, indices=x.indices.astype(np.uint32))


def copied(x: Rows) -> Rows:
    """Rows in memory of their own, which nobody else can change."""
    return replace(
        x, **{name: np.array(value) for name, value in x.parameters.items() if isinstance(value, np.ndarray)}
    )


def as_sparse(x: Rows) -> Sparse:
    """Rows with all their entries, zeros too, as sparse ones."""
    if isinstance(x, Sparse):
        return x
    rows, columns = x.shape
    indices = np.tile(np.arange(columns, dtype=np.uint32), rows)
    return Sparse(np.arange(rows + 1) * columns, indices, x.data.reshape(-1), columns)  # type: ignore[attr-defined]


def without_zeros(x: Dense, begin: int, end: int) -> Sparse:
    """Rows begin … end−1 as sparse ones, with their entries that are not 0."""
    data = x.data[begin:end]
    rows, columns = np.nonzero(data)
    ends = np.append(0, np.cumsum(np.bincount(rows, minlength=len(data))))
    return Sparse(ends, columns.astype(np.uint32), data[rows, columns], x.shape[1])


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


def mean_size(x: Rows) -> float:
    """The number of entries that a row has on average."""
    if not isinstance(x, Sparse):
        return x.shape[1]
    return float(x.indptr[-1] - x.indptr[0]) / max(x.shape[0], 1)


def length(x: Rows) -> float:
    """‖x_i‖ of the longest row: O(nnz)."""
    if not isinstance(x, Sparse):
        return float(np.max(np.linalg.norm(x.data, axis=1), initial=0.0))  # type: ignore[attr-defined]
    size = float(np.max(np.abs(x.data[x.indptr[0] : x.indptr[-1]]), initial=0.0))
    total = np.append(0.0, np.cumsum(np.square(np.asarray(x.data, float) / (size or 1.0))))  # no entry overflows
    return size * math.sqrt(float(np.max(np.diff(total[x.indptr]), initial=0.0)))


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
