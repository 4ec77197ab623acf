"""All rows of a stream in memory, the bias as one more column, rows that do not count left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from lowregret.errors import DataError
from lowregret.hindsight.passes import Pass
from lowregret.learner.validate import refuse, require_finite
from lowregret.loss import Loss
from lowregret.rows import WEIGHTIEST, Dense, Features, Rows, Sparse, as_rows
from lowregret.types import Vector

BUDGET = 2e9  # bytes of rows that are kept


def gather_rows(loss: Loss, rows: Pass, bias: float, budget: float = BUDGET) -> tuple[Rows, Vector, Vector] | None:
    """Features, labels and weights of all rows; None if they do not fit. Refuses what cannot be learnt from."""
    parts: list[tuple[Any, Vector, Vector]] = []
    size, done = 0.0, 0
    for x, y, weights in rows():
        counted = np.ones(y.size, bool) if weights.size == 0 else weights != 0
        _check(loss, x, y, weights, counted, done)
        matrix = as_matrix(x)
        size += matrix.data.nbytes * (1 if isinstance(x, Dense) else 2) + 16 * y.size
        if size > budget:
            return None
        matrix = matrix.copy() if counted.all() else matrix[counted]  # a batch is valid only until the next
        parts.append((matrix, y[counted].astype(float), (weights[counted] if weights.size else np.ones(y.size))))
        done += y.size
    if sum(y.size for _, y, _ in parts) == 0:
        raise DataError("there are no rows that count, so no best choice on them")
    features = _join([matrix for matrix, _, _ in parts], bias)
    y, c = (np.ascontiguousarray(np.concatenate(column), float) for column in zip(*(p[1:] for p in parts), strict=True))
    return as_rows(features), y, c


def _check(loss: Loss, x: Rows, y: Vector, weights: Vector, counted: Vector, done: int) -> None:
    """Refuse labels, weights and features that are not acceptable, by row."""
    values = x.data if isinstance(x, Dense | Sparse) else np.empty(0)
    if not np.isfinite(values).all():
        for i in np.flatnonzero(counted).tolist():
            require_finite(x, i, f"row {done + i}")
    wrong = [i for i in np.flatnonzero(counted).tolist() if not loss.accepts(y[i])]
    if weights.size:
        wrong += np.flatnonzero(~((weights >= 0) & (weights <= WEIGHTIEST))).tolist()
    if wrong:
        refuse(loss, x, y[wrong[0]], weights, wrong[0], f"row {done + wrong[0]}")


def sound(features: Features) -> Features:
    """A SciPy matrix as compressed rows, all of it checked; anything else as it is."""
    return as_matrix(as_rows(features)) if hasattr(features, "tocsr") else features


def as_matrix(x: Rows) -> Any:
    """The rows as a matrix of NumPy or SciPy, in the same memory."""
    if isinstance(x, Dense):
        return x.data
    assert isinstance(x, Sparse)
    begin, end = int(x.indptr[0]), int(x.indptr[-1])
    indices = x.indices[begin:end]
    signed = indices.view(np.int32 if indices.dtype.itemsize == 4 else np.int64)
    return sp.csr_array((x.data[begin:end], signed, x.indptr - begin), shape=(x.indptr.size - 1, x.columns))


def _join(parts: list[Any], bias: float) -> Any:
    stack: Any = np if all(isinstance(part, np.ndarray) for part in parts) else sp
    whole = stack.vstack(parts)
    if bias == 0:
        return whole
    exact = float(whole.dtype.type(bias)) == bias  # 0.1 is another number in single precision
    column = np.full((whole.shape[0], 1), bias, whole.dtype if exact else np.float64)
    return stack.hstack([whole, column if stack is np else sp.csr_array(column)])
