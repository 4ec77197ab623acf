"""Convex sets: projections, support functions and sizes against solvers, samples and closed forms."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lowregret import Constant, Euclidean, MirrorDescent, play
from lowregret.domain import (
    Box,
    CvxSet,
    Domain,
    Intersection,
    L1Ball,
    L2Ball,
    LqBall,
    Orthant,
    Point,
    Reals,
    Simplex,
    Spectrahedron,
    Whole,
)
from lowregret.domain.ball import _project_l1
from lowregret.domain.simplex import project_simplex
from lowregret.errors import PartError
from lowregret.types import Vector
from tests.strategies import SIZES, points, several, vectors, wild

cp: Any = pytest.importorskip("cvxpy", reason="cvxpy is the reference for projections")

D = 4  # a dimension in which every set below exists

CLOSED: list[Domain] = [
    Reals(),
    L2Ball(2.0),
    L1Ball(1.5),
    Simplex(),
    Simplex(3.0),
    Box(-1.0, 0.5),
    Box(np.array([-1.0, 0.0, 1.0, -3.0]), np.array([1.0, 0.0, 2.0, -1.0])),
    Box(-1.0, np.array([0.0, 1.0, 2.0, 3.0])),
    Orthant(),
    Spectrahedron(2.0),
]
MET: list[Domain] = [
    Intersection((Simplex(), Box(0.0, 0.4))),
    Intersection((L2Ball(1.0), L1Ball(1.4), Box(-0.3, 1.0))),
    Intersection((Orthant(), L2Ball(2.0))),
]
PROJECTED = CLOSED + MET
CAPPED = CvxSet(lambda w: [cp.sum(w) == 1, w >= 0, w <= 0.4], reach2=1.0)
COMPARATORS: list[Domain] = [LqBall(2.0, 1.0), LqBall(1.0, 1.5), LqBall(1.5, 4.0), LqBall(0.7, math.inf)]
EVERY = [*PROJECTED, *COMPARATORS, Point([1.0, -2.0, 0.0, 0.5])]

projected = pytest.mark.parametrize("domain", PROJECTED, ids=repr)
every = pytest.mark.parametrize("domain", EVERY, ids=repr)
few = settings(max_examples=15)  # splitting takes hundreds of sweeps per projection


def constraints(domain: Domain, w: Any) -> list[Any]:
    """The set as its definition reads."""
    match domain:
        case Reals():
            return []
        case L2Ball(r):
            return [cp.norm(w, 2) <= r]
        case L1Ball(r):
            return [cp.norm(w, 1) <= r]
        case LqBall(r, q):
            return [cp.pnorm(w, q) <= r] if q < math.inf else [cp.abs(w) <= r]
        case Simplex(total):
            return [w >= 0, cp.sum(w) == total]
        case Box(low, high):
            return [w >= low, w <= high]
        case Orthant():
            return [w >= 0]
        case Point(u):
            return [w == u]
        case Spectrahedron(trace):
            n = math.isqrt(w.size)
            matrix = cp.Variable((n, n), PSD=True)
            return [w == cp.vec(matrix, order="F"), cp.trace(matrix) == trace]
        case Intersection(sets):
            return [c for s in sets for c in constraints(s, w)]
    raise AssertionError(domain)


@cache
def sampled(domain: Domain, count: int) -> Any:
    return points(domain, D, count)


def solve(objective: Any, limits: list[Any]) -> float:
    problem = cp.Problem(objective, limits)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


# ---- projections -----------------------------------------------------------------------------------------------------


@projected
@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0])
def test_projection_is_the_nearest_point(domain: Domain, spread: float) -> None:
    v = np.random.default_rng(0).normal(size=D) * spread
    mine = domain.projection(v)
    w = cp.Variable(D)
    nearest = solve(cp.Minimize(cp.norm(w - v, 2)), constraints(domain, w))
    # Feasible by definition, and as near as the solver's point, which is exact to about 1e-8.
    assert solve(cp.Minimize(cp.norm(w - mine, 2)), constraints(domain, w)) <= 1e-7
    assert np.linalg.norm(mine - v) == pytest.approx(nearest, rel=1e-6, abs=1e-6)


@pytest.mark.sampled(2)
@projected
@few
@given(data=st.data())
def test_projection_identities(domain: Domain, data: st.DataObject) -> None:
    """Idempotent, non-expansive, and ⟨v − Πv, u − Πv⟩ ≤ 0 for u ∈ S."""
    v, x = data.draw(several(2, d=D))
    w, y = domain.projection(v), domain.projection(x)
    assert np.linalg.norm(domain.projection(w) - w) <= 1e-9 * (1 + np.linalg.norm(w))
    assert np.linalg.norm(w - y) <= np.linalg.norm(v - x) * (1 + 1e-9) + 1e-9
    for u in sampled(domain, 10):
        assert (v - w) @ (u - w) <= 1e-8 * (1 + np.linalg.norm(v)) * (1 + np.linalg.norm(u))


def test_projection_where_sets_touch() -> None:
    """The box touches the ball from outside; the nearest point is that of the ball alone."""
    v = np.array([0.0, 0.0, 6.24539033, 0.03125])
    found = Intersection((L2Ball(1.0), L1Ball(1.4), Box(-0.3, 1.0))).projection(v)
    assert found == pytest.approx(v / np.linalg.norm(v), abs=1e-9)


@projected
def test_projection_leaves_its_argument_alone(domain: Domain) -> None:
    v = np.array([3.0, -1.0, 0.5, 4.0])
    domain.projection(v)
    assert v.tolist() == [3.0, -1.0, 0.5, 4.0]


@given(vectors(bound=100.0), SIZES)
@example(np.zeros(3), 1.0)
@example(np.full(5, 7.0), 2.0)
def test_simplex_projection_by_sorting(v: Vector, total: float) -> None:
    """[v − τ]₊ with τ from the sorted entries."""
    down = np.sort(v)[::-1]
    excess = (np.cumsum(down) - total) / np.arange(1, v.size + 1)
    tau = excess[np.flatnonzero(down > excess)[-1]]
    mine = Simplex(total).projection(v)
    np.testing.assert_allclose(mine, np.maximum(v - tau, 0), atol=1e-12 * (100 + total))
    assert mine.sum() == pytest.approx(total, rel=1e-12)
    assert mine.min() >= 0


@given(vectors(bound=100.0), SIZES)
def test_l1_projection_is_the_simplex_projection_of_the_sizes(v: Vector, radius: float) -> None:
    mine = L1Ball(radius).projection(v)
    inside = np.abs(v).sum() <= radius
    expected = v if inside else np.sign(v) * Simplex(radius).projection(np.abs(v))
    np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12 * radius)
    assert np.abs(mine).sum() <= radius * (1 + 1e-12)


@given(wild(), SIZES)
@example(np.array([1e300, 1e300, 0.0]), 1.0)
@example(np.array([1.7e308, -1.7e308, -1.7e308]), 1.0)
@example(np.array([-1e300, -1e300]), 1.0)
@example(np.array([1e-300, 0.0]), 1e-3)
def test_projections_of_wild_vectors_stay_in_the_set(v: Vector, size: float) -> None:
    simplex = Simplex(size).projection(v)
    assert simplex.sum() == pytest.approx(size, rel=1e-12)
    assert simplex.min() >= 0
    assert np.abs(L1Ball(size).projection(v)).sum() <= size * (1 + 1e-12)
    ball = L2Ball(size).projection(v)
    assert np.linalg.norm(ball) <= size * (1 + 1e-12)
    if np.abs(v).max() > 2 * size:  # outside, so on the sphere and in the direction of v
        assert np.linalg.norm(ball) == pytest.approx(size, rel=1e-12)
        top = np.argmax(np.abs(v))
        np.testing.assert_allclose(ball / ball[top], v / v[top], rtol=1e-12, atol=1e-300)
    box = Box(-size, size).projection(v)
    assert np.abs(box).max() <= size


@pytest.mark.parametrize("kernel", [project_simplex, _project_l1])
def test_compiled_projections_are_the_interpreted_ones(kernel: Any) -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 7, 50):
        v = rng.normal(size=2 * d) * 10.0 ** rng.uniform(-3, 3)
        compiled, interpreted = v.copy()[::2], v.copy()[::2]  # strided, as in a learner's table
        kernel(compiled, 1.5)
        kernel.py_func(interpreted, 1.5)
        assert compiled.tobytes() == interpreted.tobytes()


@pytest.mark.parametrize("v", [[math.nan, 1.0], [math.inf, 1.0], [-math.inf, -math.inf]])
def test_what_is_not_finite_does_not_hang(v: list[float]) -> None:
    for kernel in (project_simplex, _project_l1):
        kernel(np.array(v), 1.0)


def test_intersections_from_afar_and_empty_ones() -> None:
    domain = Intersection((Simplex(), Box(0.0, 0.4)))
    far = domain.projection(np.array([3e8, 2e8, 1e8, 0.0]))
    np.testing.assert_allclose(far, [0.4, 0.4, 0.2, 0.0], atol=1e-9)
    with pytest.raises(PartError, match="is the intersection empty"):
        Intersection((Box(0.0, 1.0), Box(2.0, 3.0))).projection(np.zeros(2))


# ---- support functions -----------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every
@few
@given(data=st.data())
def test_support_bounds_every_point_and_scales(domain: Domain, data: st.DataObject) -> None:
    theta = data.draw(vectors(D))
    highest = domain.support(theta)
    if highest == math.inf:
        return
    size = float(np.linalg.norm(theta))
    for u in sampled(domain, 20):  # those of intersections lie in the set to about 1e-12
        assert u @ theta <= highest + 1e-11 * (1 + size) * (1 + np.linalg.norm(u))
    assert domain.support(3 * theta) == pytest.approx(3 * highest, rel=1e-8, abs=1e-8 * (1 + size))


@every
@pytest.mark.parametrize("seed", range(4))
def test_support_is_attained(domain: Domain, seed: int) -> None:
    theta = np.random.default_rng(seed).normal(size=D)
    highest = domain.support(theta)
    if highest == math.inf:
        assert isinstance(domain, Reals | Orthant)
        return
    w = cp.Variable(D)
    assert highest == pytest.approx(solve(cp.Maximize(theta @ w), constraints(domain, w)), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("domain", [d for d in EVERY if d not in MET], ids=repr)
@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_support_at_the_ends_of_the_number_range(domain: Domain, size: float) -> None:
    theta = np.array([1.0, -0.5, 0.25, 0.0])
    assert domain.support(size * theta) == pytest.approx(size * domain.support(theta), rel=1e-12)
    assert domain.support(np.zeros(D)) == 0.0


def test_unbounded_sets_have_infinite_support_where_they_are_unbounded() -> None:
    assert Reals().support(np.array([0.0, 1e-9])) == math.inf
    assert Orthant().support(np.array([-1.0, 1e-9])) == math.inf
    assert Orthant().support(np.array([-1.0, 0.0])) == 0.0
    both = Intersection((Orthant(), Reals()))
    assert both.support(np.array([-1.0, 1.0])) == math.inf
    assert both.support(np.array([-1.0, -1.0])) == 0.0


def test_an_intersection_with_one_unbounded_set() -> None:
    theta = np.array([-5.0, 3.0, 4.0, -1.0])
    assert Intersection((Orthant(), L2Ball(2.0))).support(theta) == pytest.approx(10.0, rel=1e-9)


# ---- cvxpy sets ------------------------------------------------------------------------------------------------------


def test_cvx_sets_agree_with_the_same_intersection() -> None:
    same = Intersection((Simplex(), Box(0.0, 0.4)))
    for v in np.random.default_rng(0).normal(size=(5, D)) * [[0.1], [1], [10], [1e3], [1e9]]:
        np.testing.assert_allclose(CAPPED.projection(v), same.projection(v), atol=1e-5)
        exact = same.support(v)
        assert exact - 1e-9 * np.linalg.norm(v) <= CAPPED.support(v) <= exact + 1e-6 * np.linalg.norm(v)
    assert CAPPED.contains(np.full(D, 0.25))
    assert not CAPPED.contains(np.array([0.5, 0.5, 0.0, 0.0]))
    assert CAPPED.support(np.zeros(D)) == 0.0
    assert CAPPED.support(np.full(D, 1e300)) == pytest.approx(1e300, rel=1e-6)
    assert (CAPPED.reach(2, D), CAPPED.reach(1, D), CAPPED.diameter(D)) == (1.0, 2.0, 2.0)


def test_cvx_sets_without_a_solution_say_so() -> None:
    with pytest.raises(PartError, match="empty or unbounded"):
        CvxSet(lambda w: [w >= 1, w <= 0], reach2=1.0).projection(np.zeros(2))


# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every
@pytest.mark.parametrize("q", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_no_point_is_further_than_the_reach(domain: Domain, q: float) -> None:
    inside = sampled(domain, 60)
    assert np.linalg.norm(inside, q, axis=1).max() <= domain.reach(q, D) * (1 + 1e-9)
    gaps = np.linalg.norm(inside[:, None] - inside[None], axis=2)
    assert gaps.max() <= domain.diameter(D) * (1 + 1e-9)
    low, high = domain.bounds(D)
    assert np.all(inside >= low - 1e-9)
    assert np.all(inside <= high + 1e-9)


FAR: list[tuple[Domain, Vector, float]] = [
    (L2Ball(2.0), np.array([2.0, 0, 0, 0]), 2.0),
    (L2Ball(2.0), np.array([2.0, 0, 0, 0]), math.inf),
    (L2Ball(2.0), np.ones(4), 1.0),
    (L2Ball(2.0), np.ones(4), 1.5),
    (L1Ball(3.0), np.array([3.0, 0, 0, 0]), 1.0),
    (L1Ball(3.0), np.array([3.0, 0, 0, 0]), 5.0),
    (LqBall(2.0, 4.0), np.full(4, 2 / 4**0.25), 2.0),
    (LqBall(2.0, math.inf), np.full(4, 2.0), 1.0),
    (LqBall(2.0, 1.5), np.array([0, -2.0, 0, 0]), 2.0),
    (Simplex(3.0), np.array([0, 3.0, 0, 0]), 1.5),
    (Box(-1.0, 0.5), np.full(4, -1.0), 1.0),
    (Box(np.array([-1.0, 0, 0, 0]), np.array([0.5, 2, 0, 1])), np.array([-1.0, 2, 0, 1]), 2.0),
    (Spectrahedron(2.0), np.array([2.0, 0, 0, 0]), 2.0),
    (Spectrahedron(2.0), np.ones(4), 1.0),
    (Spectrahedron(2.0), np.ones(4), 1.5),
    (Point([3.0, 4.0, 0.0, 0.0]), np.array([3.0, 4, 0, 0]), 2.0),
]


@pytest.mark.parametrize(("domain", "u", "q"), FAR, ids=lambda x: repr(x) if isinstance(x, Domain) else "")
def test_the_reach_is_attained(domain: Domain, u: Vector, q: float) -> None:
    assert domain.contains(u, 1e-9)
    assert np.linalg.norm(u, q) == pytest.approx(domain.reach(q, D), rel=1e-12)


@pytest.mark.parametrize(
    ("domain", "diameter"),
    [
        (L2Ball(2.0), 4.0),
        (L1Ball(2.0), 4.0),
        (LqBall(2.0, 1.5), 4.0),
        (LqBall(2.0, math.inf), 8.0),
        (Simplex(3.0), 3 * math.sqrt(2)),
        (Box(-1.0, 0.5), 3.0),
        (Box(-1.0, np.array([0.0, 1.0, 2.0, 3.0])), math.sqrt(1 + 4 + 9 + 16)),
        (Spectrahedron(2.0), 2 * math.sqrt(2)),
        (Point([1.0, 2.0, 3.0, 4.0]), 0.0),
        (Reals(), math.inf),
        (Orthant(), math.inf),
        (Intersection((L2Ball(5.0), Simplex(3.0))), 3 * math.sqrt(2)),
    ],
    ids=repr,
)
def test_diameters(domain: Domain, diameter: float) -> None:
    assert domain.diameter(D) == pytest.approx(diameter, rel=1e-14)


@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [
        (L2Ball(2.0), -2, 2),
        (L1Ball(2.0), -2, 2),
        (Simplex(3.0), 3, 3),
        (Box(-1.0, 0.5), -1, 0.5),
        (Spectrahedron(2.0), 2, 2),
        (Point([7.0]), 7, 7),
    ],
    ids=repr,
)
def test_one_dimension(domain: Domain, low: float, high: float) -> None:
    """Every bounded set of R¹ is an interval."""
    assert domain.support(np.array([2.0])) == 2 * high
    assert domain.support(np.array([-2.0])) == -2 * low
    for q in (1.0, 2.0, math.inf):
        assert domain.reach(q, 1) == max(-low, high)
    assert domain.diameter(1) == high - low
    assert domain.projection(np.array([100.0])) == high
    assert domain.projection(np.array([-100.0])) == low


class HalfSpace(Whole):
    """u₁ ≤ 1"""

    def projection(self, v: Vector) -> Vector:
        w = np.array(v, float)
        w[0] = min(w[0], 1.0)
        return w

    def support(self, theta: Vector) -> float:
        return float(theta[0]) if theta[0] >= 0 and not np.any(theta[1:]) else math.inf

    def reach(self, q: float, d: int) -> float:
        return math.inf

    def diameter(self, d: int) -> float:
        return math.inf


def test_a_set_of_ones_own_is_named_by_its_class_where_it_has_no_name() -> None:
    game = play(MirrorDescent(Euclidean(HalfSpace()), Constant(0.1)), np.eye(2), compiled=False)
    assert "half-space" in str(game)
