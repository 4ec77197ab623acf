"""Approximate inverses of XXᵀ + μI, rows scaled by the roots of their weights.

Up to 5,000 rows the matrix itself is factored: O(n³/3). With more, the 2,000 columns C of largest squares are taken as
they are and the others by the diagonal of what they add: (CCᵀ + Δ)⁻¹ = Δ⁻¹ − Δ⁻¹C(I + CᵀΔ⁻¹C)⁻¹CᵀΔ⁻¹ (Woodbury).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from lowregret.check import call
from lowregret.hindsight.gather import as_matrix
from lowregret.hindsight.newton import add_gram
from lowregret.hindsight.objective import Objective
from lowregret.rows import as_rows
from lowregret.state import Vector

ROWS = 5000  # up to which the matrix is factored
COLUMNS = 2000  # taken as they are
SHIFT = 1e-13  # least μ, relative to the trace

Inverse = Callable[[Vector], Vector]


class Preconditioner:
    """What does not depend on μ."""

    def __init__(self, o: Objective) -> None:
        self.compiled, self.squares = o.compiled, o.c * o.squares
        matrix = sp.csr_array(as_matrix(o.x), dtype=np.float64)
        matrix = sp.csr_array(sp.diags_array(np.sqrt(o.c)) @ matrix)
        self.kernel: Any = None
        if o.rows <= ROWS:
            self.kernel = (matrix @ matrix.T).toarray()
            return
        sizes = matrix.multiply(matrix).sum(axis=0)
        top = np.sort(np.argsort(-sizes, kind="stable")[:COLUMNS])
        self.top = sp.csr_array(matrix[:, top])
        self.top.sort_indices()
        self.turned = sp.csr_array(self.top.T)
        self.rest = np.maximum(self.squares - self.top.multiply(self.top).sum(axis=1), 0.0)

    def inverse(self, mu: float) -> Inverse:
        """r ↦ nearly (XXᵀ + μI)⁻¹r"""
        mu = max(mu, SHIFT * float(np.sum(self.squares)))
        if self.kernel is not None:
            shifted = self.kernel.copy()
            shifted[np.diag_indices_from(shifted)] += mu
            whole = la.cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
            return lambda r: la.cho_solve(whole, r, check_finite=False)
        delta = self.rest + mu
        inner = np.zeros((self.top.shape[1],) * 2)
        call(add_gram, self.compiled, as_rows(self.top), 1.0 / delta, inner)
        inner[np.diag_indices_from(inner)] += 1.0
        factor = la.cho_factor(inner, lower=True, overwrite_a=True, check_finite=False)

        def solve(r: Vector) -> Vector:
            scaled = r / delta
            return scaled - (self.top @ la.cho_solve(factor, self.turned @ scaled, check_finite=False)) / delta

        return solve
