"""The first rows of a run, kept while something may still be grown on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.rows import Dense, Rows, Sparse, as_sparse
from lowregret.store.file import Arrays
from lowregret.types import Vector


class Sample:
    """Rows that were learnt, with labels (codes of classes) and weights; rows of weight 0 are not among them."""

    def __init__(self, **kept: Any) -> None:
        empty = np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), np.empty(0), np.empty(0)
        given = [[kept.get(name, array)] for name, array in zip(NAMES, empty, strict=True)]
        self._ends, self._indices, self._data, self._labels, self._weights = given  # parts, to be joined when needed

    def add(self, x: Rows, y: Any, w: Vector, begin: int, end: int) -> None:
        """Add those of rows begin, …, end − 1 whose weight is not 0, without the zeros in them: O(nnz)."""
        chosen = np.arange(begin, end)
        if w.size:
            chosen = chosen[w[begin:end] != 0]
        rows = x if isinstance(x, Sparse) else as_sparse(Dense(x.data[begin:end]))  # type: ignore[attr-defined]
        there = chosen if isinstance(x, Sparse) else chosen - begin
        starts, sizes = rows.indptr[there], np.diff(rows.indptr)[there]
        entries = np.repeat(starts - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
        whose = np.repeat(np.arange(sizes.size), sizes)[rows.data[entries] != 0]
        entries, sizes = entries[rows.data[entries] != 0], np.bincount(whose, minlength=sizes.size)
        self._ends.append(sum(data.size for data in self._data) + np.cumsum(sizes))
        self._indices.append(rows.indices[entries].astype(np.uint32))
        self._data.append(np.asarray(rows.data[entries], float))
        self._labels.append(np.asarray(y[chosen], float))
        self._weights.append(w[chosen] if w.size else np.ones(chosen.size))

    @property
    def size(self) -> int:
        """How many rows there are."""
        return sum(labels.size for labels in self._labels)

    def arrays(self) -> Arrays:
        """The arrays that a file keeps of it."""
        for parts in (self._ends, self._indices, self._data, self._labels, self._weights):
            parts[:] = [np.concatenate(parts)]
        found = self._ends, self._indices, self._data, self._labels, self._weights
        return dict(zip(NAMES, (parts[0] for parts in found), strict=True))

    @property
    def rows(self) -> Sparse:
        """The rows."""
        found = self.arrays()
        indices = found["indices"]
        return Sparse(found["indptr"], indices, found["data"], int(indices.max(initial=0)) + 1)

    @property
    def labels(self) -> Vector:
        """Their labels."""
        return self.arrays()["labels"]

    @property
    def weights(self) -> Vector:
        """Their importance weights."""
        return self.arrays()["weights"]

    def is_narrow(self, most: int, sparsest: int) -> bool:
        """Whether at most `most` features occurred, and rows have one of `sparsest` of them on average."""
        found = self.arrays()
        features = np.unique(found["indices"]).size
        return 0 < features <= most and sparsest * found["data"].size >= features * found["labels"].size

    def matrix(self, features: int) -> Any:
        """The first features of all rows as a matrix."""
        x = self.rows
        rows, known = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr)), x.indices < features
        matrix = np.zeros((x.shape[0], features))
        matrix[rows[known], x.indices[known]] = x.data[known]
        return matrix


NAMES = ("indptr", "indices", "data", "labels", "weights")
