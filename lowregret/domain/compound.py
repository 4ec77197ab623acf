"""Sets that are not compiled: matrices and intersections. They run interpreted."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import TOLERANCE, norm
from lowregret.domain.base import Domain, Whole, require_size, rounded
from lowregret.domain.simplex import project_simplex
from lowregret.types import Vector

TINY = 1e-300


class Spectrahedron(Whole):
    """{X ⪰ 0, tr X = trace}: symmetric n×n matrices, stored as vectors of n² numbers"""

    name: ClassVar[str] = "spectrahedron"
    compilable: ClassVar[bool] = False
    stepwise: ClassVar[bool] = True
    trace: float = 1.0

    def check(self) -> None:
        require_size(self, "trace", self.trace)

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
        """Attained by a single entry on the diagonal for q ≥ 2, by equal entries for q ≤ 2."""
        return self.trace * d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return self.trace * math.sqrt(2) if d > 1 else 0.0


def _symmetric(v: Vector) -> Any:
    n = math.isqrt(v.size)
    matrix = np.reshape(v, (n, n))
    return matrix / 2 + matrix.T / 2


class Intersection(Whole):
    """S₁ ∩ S₂ ∩ …, projected on by splitting"""

    name: ClassVar[str] = "intersection"
    compilable: ClassVar[bool] = False
    stepwise: ClassVar[bool] = True
    sets: tuple[Domain, ...]

    def check(self) -> None:
        inner = (s.sets if isinstance(s, Intersection) else (s,) for s in self.sets)  # else each sweep would be many
        object.__setattr__(self, "sets", tuple(chain.from_iterable(inner)))
        self.require(len(self.sets) >= 2, "needs at least two sets")
        for s in self.sets:
            self.require(isinstance(s, Domain) and s.playable, f"needs sets that can be projected on, got {s!r}")

    def fits(self, d: int) -> None:
        for s in self.sets:
            s.fits(d)

    def contains(self, w: Vector, tolerance: float = TOLERANCE) -> bool:
        """Whether w lies in every set up to the tolerance, relative to the intersection (to w if it is unbounded)."""
        w = np.asarray(w, float)
        self.fits(w.size)
        width, off = self.diameter(w.size), rounded(w.size) * norm(w)
        slack = tolerance * (width if width < math.inf else norm(w)) + off
        return all(norm(w - s.projection(w)) <= slack for s in self.sets)

    def project(self, v: Vector) -> None:
        w, _ = self._split(np.array(v))
        for s in self.sets:  # what splitting leaves is far below the set's size, but not below that of a point near 0
            w = s.projection(w)
        self.require(self.contains(w, 1e-6), "found no common point of the sets; is the intersection empty?")
        v[:] = w

    def _split(self, v: Vector, tolerance: float = 1e-12, sweeps: int = 20_000) -> tuple[Vector, list[Vector]]:
        """The projection w and normals n_i = ρy_i ∈ N_{S_i}(x_i), x_i → w, with v → w + Σn_i.

        Consensus ADMM on min ½‖w − v‖² with copies x_i = w in S_i (Boyd et al. 2011, §7). The penalty ρ starts at the
        distance of v in units of the set, so that far points cost no more than near ones, and balances the residuals
        while the run is young. Where sets touch, normals slide from one to the other more and more slowly: ρ is raised.
        """
        x = [s.projection(v) for s in self.sets]
        y = [np.zeros_like(v) for _ in x]
        for i, a in enumerate(x):  # the nearest point of one set, if it lies in all, is nearest in the intersection
            if all(norm(a - s.projection(a)) <= rounded(a.size) * norm(a) for s in self.sets):
                return a, [*y[:i], v - a, *y[i + 1 :]]
        far = max(norm(v - a) for a in x)
        width = self.diameter(v.size)
        width = width if 0 < width < math.inf else far
        rho = max(1.0, far / width) if far > 0 else 1.0
        w = v
        for sweep in range(1, sweeps if far > 0 else 0):
            w = (v + rho * sum(a - b for a, b in zip(x, y, strict=True))) / (1 + rho * len(x))
            before = np.sum(x, axis=0)
            x = [s.projection(w + b) for s, b in zip(self.sets, y, strict=True)]
            y = [b + w - a for a, b in zip(x, y, strict=True)]
            apart, drift = max(norm(w - a) for a in x), norm(np.sum(x, axis=0) - before)
            size, pull = norm(w) + width, max(norm(b) for b in y)
            if apart <= tolerance * size and rho * drift <= tolerance * (size + norm(v - w)):
                break
            if sweep % 20 == 0 and sweep < 2000:
                ratio = apart * pull / max(drift * size, TINY)
                factor = 2.0 if ratio > 5 else 0.5 if ratio < 0.2 else 1.0
                rho, y = rho * factor, [b / factor for b in y]
            elif sweep % 5000 == 0:
                rho, y = rho * 10, [b / 10 for b in y]
        return (x[-1] if far > 0 else v), [rho * b for b in y]

    def support(self, theta: Vector) -> float:
        """An upper bound, exact to about 1e-9 relative.

        Climb w ← Π(w + cθ) (proximal point). With any n_i and the rest r = cθ − Σn_i, for every u in all sets
        c⟨u,θ⟩ = ⟨u,r⟩ + Σ⟨u,n_i⟩ ≤ min_i h_i(r) + Σ h_i(n_i), h_i the support function of S_i, however far the climb
        and the projections have got; the normals at the top make it an equality.
        """
        theta = np.asarray(theta, float)
        size, reach = norm(theta), self.reach(2, theta.size)
        best = self._loosest(theta)
        if size == 0 or not math.isfinite(reach):
            return best
        step = 1e3 * reach * (theta / size)
        w, _ = self._split(np.zeros_like(theta))
        for _ in range(20):
            w, normals = self._split(w + step)
            split = sum(s.support(n) for s, n in zip(self.sets, normals, strict=True) if np.any(n))
            bound = size * ((split + self._loosest(step - np.sum(normals, axis=0))) / (1e3 * reach))
            progress, best = best - bound, min(best, bound)
            if progress <= 1e-10 * size * reach:
                break
        return best

    def _loosest(self, theta: Vector) -> float:
        return min(s.support(theta) for s in self.sets)

    def reach(self, q: float, d: int) -> float:
        """An upper bound: the smallest reach of the sets."""
        return min(s.reach(q, d) for s in self.sets)

    def diameter(self, d: int) -> float:
        """An upper bound: the smallest diameter of the sets."""
        return min(s.diameter(d) for s in self.sets)

    def bounds(self, d: int) -> tuple[Any, Any]:
        low, high = self.sets[0].bounds(d)
        for s in self.sets[1:]:
            below, above = s.bounds(d)
            low, high = np.maximum(low, below), np.minimum(high, above)
        return low, high

    def surrounds(self, other: Domain, d: int) -> bool:
        return all(s.covers(other, d) for s in self.sets)

    def lies_in(self, other: Domain, d: int) -> bool:
        return any(other.covers(s, d) for s in self.sets)

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "sets": [s.describe() for s in self.sets]}
