"""Approximate inverses of XXᵀ + μI, rows scaled by the roots of their weights.

Up to 5,000 rows the matrix itself is factored: O(n³/3). With more, some columns C are taken as they are and
the others by B, the diagonal of what they add and μ, or its blocks for rows that are alike:
(CCᵀ + B)⁻¹ = B⁻¹ − B⁻¹C(I + CᵀB⁻¹C)⁻¹CᵀB⁻¹ (Woodbury). With k columns and blocks of m rows O(nk(m + k) + nm²) once,
O(nm + k²) each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.compile.call import call
from lowregret.hindsight.cluster import Numbers, clusters
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.newton import add_gram
from lowregret.hindsight.objective import Objective
from lowregret.rows import as_rows
from lowregret.types import Vector

ROWS = 5000  # up to which the matrix is factored
COLUMNS, COMMONEST = 2000, 3000  # taken as they are: with the diagonal, with blocks
BLOCK, MEMORY = 1000, 400e6  # rows of a block, and bytes of all of them, at most
SHIFT = 1e-13  # least μ, relative to the trace

Inverse = Callable[[Vector], Vector]


class Preconditioner:
    """A preconditioner for every μ: the part of the work that does not depend on it."""

    def __init__(self, o: Objective) -> None:
        self.compiled, self.trace = o.compiled, float(np.sum(o.c * o.squares))
        matrix = sp.csr_array(as_matrix(o.x), dtype=np.float64)
        self.matrix = sp.csr_array(sp.diags_array(np.sqrt(o.c)) @ matrix)
        self.kernel: Any = None
        self.blocks: list[Numbers] = []
        if o.rows <= ROWS:
            self.kernel = (self.matrix @ self.matrix.T).toarray()
        else:
            self._split(self.matrix.multiply(self.matrix).sum(axis=0), COLUMNS)

    def refine(self) -> bool:
        """Use blocks from now on, and the commonest columns; False if that is no news."""
        if self.kernel is not None or self.blocks:
            return False
        self._split(np.bincount(self.matrix.indices, minlength=self.matrix.shape[1]), COMMONEST)
        room = MEMORY / 8 / self.matrix.shape[0]
        self.blocks = clusters(self.others, int(min(BLOCK, max(1.0, room))), self.compiled)
        return True

    def _split(self, weights: Any, most: int) -> None:
        """C are the columns of largest weights."""
        first = np.zeros(weights.size, dtype=np.bool_)
        first[np.argsort(-weights, kind="stable")[:most]] = True
        self.top, self.others = (sp.csr_array(self.matrix[:, np.flatnonzero(part)]) for part in (first, ~first))
        self.top.sort_indices()
        self.turned = sp.csr_array(self.top.T)

    def inverse(self, mu: float) -> Inverse:
        """r ↦ nearly (XXᵀ + μI)⁻¹r"""
        mu = max(mu, SHIFT * self.trace)
        if self.kernel is not None:
            shifted = self.kernel.copy()
            shifted[np.diag_indices_from(shifted)] += mu
            whole = la.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            return lambda r: la.cho_solve(whole, r, check_finite=False)
        part, inner = self._by_blocks(mu) if self.blocks else self._by_diagonal(mu)
        inner[np.diag_indices_from(inner)] += 1.0
        factor = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve(r: Vector) -> Vector:
            scaled = part(r)
            return scaled - part(self.top @ la.cho_solve(factor, self.turned @ scaled, check_finite=False))

        return solve

    def _by_diagonal(self, mu: float) -> tuple[Inverse, Vector]:
        """r ↦ B⁻¹r and CᵀB⁻¹C, below the diagonal."""
        delta = self.others.multiply(self.others).sum(axis=1) + mu
        inner = np.zeros((self.top.shape[1],) * 2)
        call(add_gram, self.compiled, as_rows(self.top), 1.0 / delta, inner)
        return lambda r: r / delta, inner

    def _by_blocks(self, mu: float) -> tuple[Inverse, Vector]:
        inner = np.zeros((self.top.shape[1],) * 2)
        inverses = []
        for block in self.blocks:
            rows = sp.csr_array(self.others[block])
            square = (rows @ rows.T).toarray()
            square[np.diag_indices_from(square)] += mu
            factor = la.cholesky(square, lower=True, overwrite_a=True, check_finite=False)
            top: Any = self.top[block].toarray()
            half = la.solve_triangular(factor, top, lower=True, check_finite=False)
            inner += half.T @ half
            inverses.append(la.cho_solve((factor, True), np.eye(block.size), overwrite_b=True, check_finite=False))

        def solve(r: Vector) -> Vector:
            found = np.empty_like(r)
            for block, inverse in zip(self.blocks, inverses, strict=True):
                found[block] = inverse @ r[block]
            return found

        return solve, inner
