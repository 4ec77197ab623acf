"""Rows that are alike, put together: the small eigenvalues of XXᵀ come from rows that nearly depend on each other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.types import Vector

Numbers: TypeAlias = NDArray[np.int64]  # of rows

ALIKE = 0.05  # least cosine of the angle between two rows that counts
PRODUCTS = 2e8  # of entries in a common column, at most: the commonest columns say least
TOGETHER = 500  # rows compared with all others at once


def clusters(matrix: Any, most: int, compiled: bool) -> list[Numbers]:
    """The rows in sets of at most `most`: joined in the order of their cosines, then by size."""
    cosines, one, other = _alike(matrix)
    order = np.argsort(-cosines, kind="stable")
    parent, size = np.arange(matrix.shape[0]), np.ones(matrix.shape[0], dtype=np.int64)
    call(join, compiled, one[order], other[order], most, parent, size)
    _, labels, sizes = np.unique(parent, return_inverse=True, return_counts=True)
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    found: list[Numbers] = []
    begun: list[Numbers] = []
    room = most
    for k in np.argsort(-sizes, kind="stable").tolist():
        if members[k].size > room:
            found.append(np.concatenate(begun))
            begun, room = [], most
        begun.append(members[k])
        room -= members[k].size
    return [*found, np.concatenate(begun)]


def _alike(matrix: Any) -> tuple[Vector, Numbers, Numbers]:
    """The cosines of pairs of rows, and the pairs: O(Σ count²) over the columns looked at."""
    sizes = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1]).astype(np.float64)
    rarest = np.argsort(counts, kind="stable")
    rarest = np.sort(rarest[np.cumsum(counts[rarest] ** 2) <= PRODUCTS])
    scaled = sp.csr_array(sp.diags_array(np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)) @ matrix)
    scaled = sp.csr_array(scaled[:, rarest])
    turned = sp.csr_array(scaled.T)
    found: list[tuple[Vector, Numbers, Numbers]] = []
    for begin in range(0, matrix.shape[0], TOGETHER):
        product = sp.coo_array(scaled[begin : begin + TOGETHER] @ turned)
        cosines, rows, others = np.abs(product.data), product.row.astype(np.int64) + begin, product.col.astype(np.int64)
        kept = (cosines > ALIKE) & (rows < others)
        found.append((cosines[kept], rows[kept], others[kept]))
    cosines, one, other = zip(*found, strict=True)
    return np.concatenate(cosines), np.concatenate(one), np.concatenate(other)


@kernel
def join(one: Numbers, other: Numbers, most: int, parent: Numbers, size: Numbers) -> None:
    """Unite the sets of each pair unless they are too large together; each row's parent becomes its set's root."""
    for e in range(one.size):
        i, j = root(parent, one[e]), root(parent, other[e])
        if i != j and size[i] + size[j] <= most:
            parent[j] = i
            size[i] += size[j]
    for i in range(parent.size):
        parent[i] = root(parent, i)


def root(parent: Numbers, i: int) -> int:
    """The root of i's set, its path halved."""
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
