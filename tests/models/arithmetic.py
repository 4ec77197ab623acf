"""Which last digits NumPy's arithmetic has on this processor: sums are taken in an order that suits the processor."""

from __future__ import annotations

import hashlib

import numpy as np

SIZES = range(2, 40)


def arithmetic() -> str:
    """A digest of products of matrices and of elementary functions; processors with the same have the same bits."""
    found = hashlib.sha256()
    for n in SIZES:
        x = np.sqrt(np.arange(1.0, n * n + 1.0)).reshape(n, n)
        for value in (x @ x, x @ x[0], x[0] @ x[0], np.linalg.solve(x.T @ x + n * np.eye(n), x[0])):
            found.update(np.asarray(value).tobytes())
        found.update(np.stack([np.exp(-x), np.log(x), np.tanh(x / n), np.full_like(x, x.sum())]).tobytes())
    return found.hexdigest()[:16]
