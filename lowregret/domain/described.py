"""Sets that cvxpy can describe, which are projected on and measured by its solvers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.domain.base import Domain, Whole, require_size
from lowregret.errors import PartError
from lowregret.types import Vector

PREMISE = "reach2 is as large as the set, and the solver's value is an upper bound"
SLACK = 1e-4  # of `reach2`: by how much a solver's point may lie outside of the set
TRUSTED = 1e-5  # of `reach2`: what is added to a solver's value that nothing proves, and how far two may differ
ATTEMPTS = 2  # in units of `reach2`, and in the user's own
CLIMBS, STEPS = 3, 4  # in search of a long point, and steps of each
ROUNDING = 1e-13  # of the terms of a bound
KINDS = ("Inequality", "Equality", "PSD")  # of constraints whose multipliers say what they prove


@dataclass(frozen=True)
class Solved:
    """A problem that was solved, its variable, which counts in `unit`, and the constraints of v = w/reach2."""

    problem: Any
    variable: Any
    unit: float
    v: Any
    inside: list[Any]

    @property
    def point(self) -> Vector:
        return np.asarray(self.variable.value, float) / self.unit

    def fits(self) -> bool:
        """Whether the point is one of the set, up to the solver's tolerance."""
        if self.variable.value is None:
            return False
        self.v.value = self.point
        return all(float(np.max(c.violation(), initial=0.0)) <= SLACK for c in self.inside)

    def highest(self, direction: Vector) -> float:
        """max_u L(u) over ‖u‖ ≤ 1, at most, by the solver's multipliers; inf if there are none that say so."""
        try:
            found = _by_multipliers(self.problem.constraints, self.variable, self.unit, direction)
        except (NotImplementedError, ValueError):  # of functions whose gradients cvxpy does not know
            return np.inf
        return found if found < np.inf else np.inf


class CvxSet(Whole):
    """Any bounded set that cvxpy can describe: `constraints` maps a cvxpy expression to a list of constraints.

    CvxSet(lambda w: [cp.sum(w) == 1, w >= 0, w <= 0.3], reach2=1.0) needs the extra `cvx`. `reach2` bounds ‖u‖₂
    over the set; it enters the certificates, and is refused when a longer point is found.
    """

    name: ClassVar[str] = "cvx"
    compilable: ClassVar[bool] = False
    stepwise: ClassVar[bool] = True
    constraints: Callable[[Any], list[Any]]
    reach2: float

    def check(self) -> None:
        self.require(callable(self.constraints), "constraints must be a function of a cvxpy variable")
        require_size(self, "reach2", self.reach2)

    def _solve(self, d: int, objective: Callable[[Any, Any], Any]) -> Solved:
        """The problem solved, so that it ends in a point of the set."""
        return next(self._solutions(d, objective))

    def _farthest(self, way: Vector) -> Solved:
        return self._solve(way.size, lambda cp, x: cp.Maximize(way @ x))

    def _solutions(self, d: int, objective: Callable[[Any, Any], Any]) -> Iterator[Solved]:
        """The problem solved in units of `reach2` and in the user's own, as far as that ends in a point of the set."""
        try:
            import cvxpy as cp
        except ImportError:
            raise PartError("CvxSet needs cvxpy: pip install 'lowregret[cvx]'") from None
        status, found = "", 0
        for solved in self._attempts(cp, d, objective):
            status = solved.problem.status or "none"
            if not solved.fits():
                continue
            length, found = norm(solved.point), found + 1
            self.require(
                length <= 1 + SLACK,
                f"reach2 = {self.reach2:g} is false: a point of the set is {length * self.reach2:.6g} long",
            )
            yield solved
        self.require(
            found > 0,
            f"cvxpy found no solution (status {status}); is the set empty or unbounded, or far from 1 in size?",
        )

    def _attempts(self, cp: Any, d: int, objective: Callable[[Any, Any], Any]) -> Iterator[Solved]:
        v, w = cp.Variable(d), cp.Variable(d)
        inside = _in_units(v, self.constraints(self.reach2 * v))
        for x, unit, constraints in ((v, 1.0, inside), (w, self.reach2, self.constraints(w))):
            problem = cp.Problem(objective(cp, x / unit), constraints)
            _run(cp, problem)
            yield Solved(problem, x, unit, v, inside)

    def project(self, v: Vector) -> None:
        """Minimise ‖w‖² − 2⟨w,v⟩, scaled so that a far v asks nothing of the solver's range."""
        far = max(norm(v) / self.reach2, 1.0)
        target = v / self.reach2 / far
        found = self._solve(v.size, lambda cp, x: cp.Minimize(cp.sum_squares(x) / far - 2 * target @ x))
        v[:] = self.reach2 * found.point

    def contains(self, w: Vector, tolerance: float = 1e-6) -> bool:
        """Whether w lies in the set up to the tolerance, relative to `reach2`: the solver knows no better."""
        return norm(w - self.projection(w)) <= tolerance * self.reach2

    def support(self, theta: Vector) -> float:
        """An upper bound: of the solver's multipliers, whatever they are, or of its value with some on top.

        With λ ≥ 0 and g ≤ 0 convex, ⟨u,θ⟩ ≤ L(u) = ⟨u,θ⟩ − Σλg(u) ≤ L(û) + ‖∇L(û)‖(‖û‖ + reach2) for all u of the set
        and any û. Where ∇L(û) is not next to 0, as at kinks of g, the solver is trusted if it says the same in two
        units: see `trusted`. Else the bound is what multipliers prove, or reach2·‖θ‖.
        """
        return self._highest(theta)[0]

    def trusted(self, theta: Vector) -> bool:
        """Whether what `support` says rests on the solver's word, and not on multipliers that prove it."""
        return not self._highest(theta)[1]

    def _highest(self, theta: Vector) -> tuple[float, bool]:
        size = norm(theta)
        if size == 0:
            return 0.0, True
        direction = np.asarray(theta, float) / size
        longest = _longest(self, direction.size)
        values, bound, sure = [], 1.0, True
        for found in self._solutions(direction.size, lambda cp, x: cp.Maximize(direction @ x)):
            values.append(float(direction @ found.point))
            bound, sure = min(bound, found.highest(direction)), sure and found.problem.status == "optimal"
            if bound <= max(values) + TRUSTED:
                break
        known = max(values) + TRUSTED
        agreed = sure and len(values) == ATTEMPTS and known - min(values) <= 2 * TRUSTED
        best = max(min(known, bound) if agreed else bound, float(direction @ longest))
        return size * (self.reach2 * best), bound <= known or not agreed

    def reach(self, q: float, d: int) -> float:
        return self.reach2 * d ** max(0.0, 1 / q - 0.5)

    def diameter(self, d: int) -> float:
        return 2 * self.reach2

    def describe(self) -> dict[str, Any]:
        return {"set": self.name, "radius": self.reach2}


@lru_cache(64)
def _longest(domain: CvxSet, d: int) -> Vector:
    """A long point in units of `reach2`, sought once: u ← argmax ⟨u, w⟩ over w of the set never shortens u."""
    rng, best = np.random.default_rng(0), np.zeros(d)
    for _ in range(CLIMBS):
        way = rng.normal(size=d)
        for _ in range(STEPS):
            way = way / (norm(way) or 1.0)
            way = domain._farthest(way).point
            best = way if norm(way) > norm(best) else best
    return best


def _run(cp: Any, problem: Any) -> None:
    """Solve by the solver with the finest tolerances, or by that which cvxpy chooses."""
    for solver in ("CLARABEL", None) if "CLARABEL" in cp.installed_solvers() else (None,):
        try:
            with warnings.catch_warnings():  # that it may be inaccurate is what is asked afterwards
                warnings.simplefilter("ignore", UserWarning)
                problem.solve(**({} if solver is None else {"solver": solver}))
        except cp.SolverError:
            continue
        if problem.status in ("optimal", "infeasible", "unbounded"):
            return


def _in_units(v: Any, constraints: list[Any]) -> list[Any]:
    """Constraints, each divided by how large it is in the unit ball: solvers stop by absolute tolerances."""
    rng, found = np.random.default_rng(0), []
    for c in constraints:
        kind, sizes = type(c).__name__, []
        if kind not in KINDS:
            found.append(c)
            continue
        side = _side(c)
        for point in (np.zeros(v.size), *rng.normal(size=(4, v.size)) / np.sqrt(v.size)):
            v.value = point
            values = np.abs(np.asarray(side.value, float)) if side.value is not None else np.zeros(1)
            sizes.append(float(np.max(values[np.isfinite(values)], initial=0.0)))
        side = side / (max(sizes) or 1.0)
        found.append(side >> 0 if kind == "PSD" else side == 0 if kind == "Equality" else side <= 0)
    v.value = None
    return found


def _by_multipliers(constraints: list[Any], x: Any, unit: float, direction: Vector) -> float:
    at = np.asarray(x.value, float) / unit
    value, slope, size = float(direction @ at), direction.copy(), norm(direction) * (1 + norm(at))
    for c in constraints:
        if type(c).__name__ not in KINDS or c.dual_value is None:
            return np.inf
        side, weight = _side(c), _admissible(type(c).__name__, np.asarray(c.dual_value, float))
        there = np.ravel(np.asarray(side.value, float), order="F")
        value -= float(weight @ there)
        size += float(abs(weight) @ abs(there))
        gradient = side.grad.get(x) if side.variables() else None
        if gradient is not None:
            steps = unit * np.reshape(gradient.toarray() if hasattr(gradient, "toarray") else gradient, (at.size, -1))
            slope -= steps @ weight
            size += float(np.sum(abs(steps) @ abs(weight))) * (1 + norm(at))
        elif side.variables():
            return np.inf
    return value + norm(slope) * (1 + SLACK + norm(at)) + ROUNDING * size


def _side(c: Any) -> Any:
    """g of a constraint g ≤ 0, g = 0 or g ⪰ 0."""
    return c.args[0] if type(c).__name__ == "PSD" else c.args[0] - c.args[1]


def _admissible(kind: str, dual: Vector) -> Vector:
    """The multipliers of a constraint written g ≤ 0 or g = 0, or −g ⪰ 0, with the signs that they must have."""
    if kind == "Equality":
        return np.ravel(dual, order="F")
    if kind == "Inequality":
        return np.maximum(np.ravel(dual, order="F"), 0.0)
    values, vectors = np.linalg.eigh((dual + dual.T) / 2)
    values = np.maximum(values, 0.0)
    return -np.ravel((vectors * values) @ vectors.T, order="F")


def missed(domain: Domain, pull: Vector, kappa: float, u: Vector) -> float:
    """By how much ⟨·,pull⟩ − (κ/2)‖·‖² may be more on the set than at u, a projection that is found step by step.

    It is concave: at most max_v ⟨v − u, pull − κu⟩ more, 0 at the exact projection of pull/κ.
    """
    if not domain.stepwise:
        return 0.0
    slope = pull - kappa * u
    return max(domain.support(slope) - float(slope @ u), 0.0)
