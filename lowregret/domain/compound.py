"""Sets that are not compiled: matrices, intersections, and anything cvxpy can describe. They run interpreted."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowregret.domain.kind import Domain, Whole
from lowregret.domain.simplex import project_simplex
from lowregret.error import PartError
from lowregret.state import Vector


class Spectrahedron(Whole):
    """{X ⪰ 0, tr X = trace}: symmetric n×n matrices, stored as vectors of n² numbers"""

    name: ClassVar[str] = "spectrahedron"
    compilable: ClassVar[bool] = False
    trace: float = 1.0

    def check(self) -> None:
        self.require(0 < self.trace < math.inf, f"trace must be a positive number, got {self.trace}")

    def fits(self, d: int) -> None:
        self.require(math.isqrt(d) ** 2 == d, f"{d} coordinates are not a square matrix")

    def project(self, v: Vector) -> None:
        """Project the eigenvalues on the simplex: O(n³)."""
        values, vectors = np.linalg.eigh(_symmetric(v))
        project_simplex(values, self.trace)
        v[:] = ((vectors * values) @ vectors.T).ravel()

    def support(self, theta: Vector) -> float:
        return self.trace * float(np.linalg.eigvalsh(_symmetric(theta))[-1])

    def reach(self, q: float, d: int) -> float:
        """Exact for q = 2; for other norms the bound that holds for every vector of that length."""
        return self.trace * d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return self.trace * math.sqrt(2) if d > 1 else 0.0


def _symmetric(v: Vector) -> Any:
    n = math.isqrt(v.size)
    matrix = np.reshape(v, (n, n))
    return (matrix + matrix.T) / 2


class Intersection(Whole):
    """S₁ ∩ S₂ ∩ …: projection by Dykstra's alternating projections"""

    name: ClassVar[str] = "intersection"
    compilable: ClassVar[bool] = False
    sets: tuple[Domain, ...]

    def check(self) -> None:
        self.require(len(self.sets) >= 2, "needs at least two sets")

    def fits(self, d: int) -> None:
        for s in self.sets:
            s.fits(d)

    def project(self, v: Vector) -> None:
        v[:], _ = self._dykstra(v)

    def _dykstra(self, v: Vector, tolerance: float = 1e-12, sweeps: int = 100_000) -> tuple[Vector, list[Vector]]:
        """The projection w and normals n_i ∈ N_{S_i}(w) with v = w + Σn_i."""
        w = np.array(v, float)
        normals = [np.zeros_like(w) for _ in self.sets]
        for _ in range(sweeps):
            before = w.copy()
            moved = 0.0
            for i, s in enumerate(self.sets):
                shifted = w + normals[i]
                w = s.projection(shifted)
                moved += float(np.sum((normals[i] - (shifted - w)) ** 2))
                normals[i] = shifted - w
            if moved + np.sum((w - before) ** 2) <= (tolerance * (1 + np.linalg.norm(w))) ** 2:
                break
        if not all(s.contains(w, 1e-6) for s in self.sets):
            raise PartError("Intersection: alternating projections found no common point; is the intersection empty?")
        return w, normals

    def support(self, theta: Vector) -> float:
        """A certified upper bound, tight to about 1e-6 relative.

        Project cθ for a large c: the normals split cθ − w = Σn_i, so for every u in all sets
        c⟨u,θ⟩ = ⟨u,w⟩ + Σ⟨u,n_i⟩ ≤ min_i h_i(w) + Σ h_i(n_i), h_i the support function of S_i.
        """
        norm = float(np.linalg.norm(theta))
        if norm == 0:
            return 0.0
        c = 1e6 * (1 + min(s.reach(2, theta.size) for s in self.sets)) / norm
        w, normals = self._dykstra(c * theta)
        split = sum(s.support(n) if np.any(n) else 0.0 for s, n in zip(self.sets, normals, strict=True))
        rest = min(s.support(w) for s in self.sets)
        loosest = min(s.support(theta) for s in self.sets)
        return min(loosest, (split + rest) / c) if math.isfinite(c) else loosest

    def reach(self, q: float, d: int) -> float:
        """An upper bound: the smallest reach of the sets."""
        return min(s.reach(q, d) for s in self.sets)

    def diameter(self, d: int) -> float:
        """An upper bound: the smallest diameter of the sets."""
        return min(s.diameter(d) for s in self.sets)

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "sets": [s.describe() for s in self.sets]}


class CvxSet(Whole):
    """Any bounded set that cvxpy can describe: `constraints` maps a cvxpy variable to a list of constraints.

    CvxSet(lambda w: [cp.sum(w) == 1, w >= 0, w <= 0.3], reach2=1.0) needs the extra `cvx`. `reach2` bounds ‖u‖₂
    over the set; it enters the certificates.
    """

    name: ClassVar[str] = "cvx"
    compilable: ClassVar[bool] = False
    constraints: Callable[[Any], list[Any]]
    reach2: float

    def check(self) -> None:
        self.require(callable(self.constraints), "constraints must be a function of a cvxpy variable")
        self.require(0 < self.reach2 < math.inf, f"reach2 must be a positive number, got {self.reach2}")

    def _solve(self, d: int, objective: Callable[[Any, Any], Any]) -> tuple[float, Vector]:
        try:
            import cvxpy as cp
        except ImportError:
            raise PartError("CvxSet needs cvxpy: pip install 'lowregret[cvx]'") from None
        w = cp.Variable(d)
        problem = cp.Problem(objective(cp, w), self.constraints(w))
        problem.solve()  # type: ignore[no-untyped-call]
        self.require(
            w.value is not None, f"cvxpy found no solution (status {problem.status}); is the set empty or unbounded?"
        )
        return float(problem.value), np.asarray(w.value)

    def project(self, v: Vector) -> None:
        v[:] = self._solve(v.size, lambda cp, w: cp.Minimize(cp.sum_squares(w - np.array(v))))[1]

    def contains(self, w: Vector, tolerance: float = 1e-6) -> bool:
        return super().contains(w, tolerance)

    def support(self, theta: Vector) -> float:
        return self._solve(theta.size, lambda cp, w: cp.Maximize(theta @ w))[0]

    def reach(self, q: float, d: int) -> float:
        return self.reach2 * d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return 2 * self.reach2

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "radius": self.reach2}
