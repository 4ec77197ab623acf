"""Which points and which comparator sets lie in a set, and what sets refuse."""

from __future__ import annotations

import math
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
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
)
from lowregret.domain.base import Separable
from lowregret.errors import PartError
from lowregret.types import Vector
from tests.strategies import SIZES, points, vectors

D = 4
VARIED: list[Domain] = [
    Reals(),
    Orthant(),
    L2Ball(1.0),
    L2Ball(2.5),
    L1Ball(1.0),
    L1Ball(2.0),
    LqBall(1.0, 1.5),
    LqBall(2.0, 4.0),
    LqBall(1.0, math.inf),
    Simplex(),
    Simplex(2.0),
    Box(),
    Box(0.0, 1.0),
    Box(0.2, 0.3),
    Box(np.array([-1.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0, 2.0])),
    Spectrahedron(),
    Point(np.full(D, 0.25)),
    Point([1.0, 0.0, 0.0, 1.0]),
    Point([-0.5, 0.0, 0.5, 0.0]),
    Intersection((Simplex(), Box(0.0, 0.4))),
    Intersection((Orthant(), L1Ball(2.0))),
]


def far_points(domain: Domain) -> Any:
    """Points that a too generous answer would miss: corners, axes and the diagonal, projected, besides random ones."""
    corners = np.array(list(product([-1.0, 0.0, 1.0], repeat=D))) * 100
    found = [points(domain, D, 100)]
    if not isinstance(domain, LqBall):
        found.append(np.array([domain.projection(v) for v in corners]))
    else:
        lengths = np.maximum(np.linalg.norm(corners, domain.q, axis=1, keepdims=True), 1e-9)
        found.append(domain.radius * corners / lengths)
    return np.vstack(found)


@pytest.fixture(scope="module")
def samples() -> dict[Domain, Any]:
    return {domain: far_points(domain) for domain in VARIED}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("outer", VARIED)
def test_covers_is_never_wrongly_true(outer: Domain, samples: dict[Domain, Any]) -> None:
    for inner in VARIED:
        if outer.covers(inner, D):
            assert all(outer.contains(u, 1e-8) for u in samples[inner]), inner


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        *[(Reals(), domain) for domain in VARIED],
        *[(domain, domain) for domain in VARIED],
        (Orthant(), Simplex(7.0)),
        (Orthant(), Box(0.0, 2.0)),
        (Orthant(), Point(np.ones(D))),
        (Orthant(), Intersection((Orthant(), L1Ball(2.0)))),
        (L2Ball(1.0), Simplex()),
        (L2Ball(1.0), L1Ball(1.0)),
        (L2Ball(2.0), Box()),
        (L2Ball(2.0), LqBall(1.0, math.inf)),
        (L2Ball(1.0), L2Ball(1.0 + 1e-13)),
        (L2Ball(1.0), Spectrahedron()),
        (L1Ball(2.0), L2Ball(1.0)),
        (L1Ball(1.0), Simplex()),
        (LqBall(1.0, 1.5), L1Ball(1.0)),
        (LqBall(2.0, 1.0), L2Ball(1.0)),
        (Box(), L2Ball(1.0)),
        (Box(), LqBall(1.0, 7.0)),
        (Box(), Simplex()),
        (Box(0.0, 1.0), Simplex()),
        (Box(0.0, 1.0), Box(0.2, 0.3)),
        (Box(0.0, 0.4), Intersection((Simplex(), Box(0.0, 0.4)))),
        (Box(0.0, 1.0), Point(np.full(D, 0.5))),
        (Simplex(), Point(np.full(D, 0.25))),
        (Simplex(), Intersection((Simplex(), Box(0.0, 0.4)))),
        (Intersection((Orthant(), L1Ball(2.0))), Simplex(2.0)),
        (Intersection((Orthant(), L2Ball(1.0))), Point(np.full(D, 0.5))),
        (Spectrahedron(), Point([0.5, 0.0, 0.0, 0.5])),
    ],
)
def test_known_to_be_covered(outer: Domain, inner: Domain) -> None:
    assert outer.covers(inner, D)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        *[(domain, Reals()) for domain in VARIED if domain != Reals()],
        (Orthant(), L2Ball(1e-6)),
        (Orthant(), Point([0.0, -1e-3, 0.0, 0.0])),
        (L2Ball(1.0), Orthant()),
        (L2Ball(1.0), Box()),
        (L2Ball(1.0), L2Ball(1.0 + 1e-9)),
        (L1Ball(1.0), L2Ball(1.0)),
        (Box(0.0, 1.0), L2Ball(0.5)),
        (Box(0.0, 1.0), Simplex(1.001)),
        (Box(0.1, 1.0), Simplex()),
        (Box(), Orthant()),
        (Simplex(), Simplex(2.0)),
        (Simplex(), Point(np.full(D, 0.3))),
        (Intersection((Orthant(), L1Ball(1.0))), Simplex(2.0)),
    ],
)
def test_known_not_to_be_covered(outer: Domain, inner: Domain) -> None:
    assert not outer.covers(inner, D)


def test_one_dimension_of_the_simplex_is_a_point() -> None:
    assert Box(1.5, 3.0).covers(Simplex(2.0), 1)
    assert not Box(1.5, 3.0).covers(Simplex(2.0), 2)


@given(st.sampled_from([d for d in VARIED if not isinstance(d, Intersection)]), vectors(D), SIZES)
def test_balls_scale(domain: Domain, u: Vector, size: float) -> None:
    """A ball covers every set that reaches no further, and no point beyond it."""
    assert L2Ball(size).covers(domain, D) == (domain.reach(2, D) <= size * (1 + 1e-12))
    length = float(np.linalg.norm(u))
    if abs(length - size) > 1e-6 * (1 + length):
        assert L2Ball(size).covers(Point(u), D) == (length <= size)
        assert L2Ball(size).contains(u) == (length <= size)


def test_points_just_outside_are_not_contained() -> None:
    inside = np.full(D, 0.25)
    for domain, outward in (
        (Simplex(), np.array([1e-6, 0, 0, 0])),
        (Box(0.0, 0.25), np.array([1e-6, 0, 0, 0])),
        (Orthant(), np.array([-0.250001, 0, 0, 0])),
        (L1Ball(1.0), np.array([1e-6, 0, 0, 0])),
        (L2Ball(0.5), np.full(4, 1e-6)),
        (LqBall(0.25, math.inf), np.array([0, 1e-6, 0, 0])),
        (Point(inside), np.array([0, 1e-6, 0, 0])),
        (Intersection((Simplex(), Box(0.0, 0.25))), np.array([1e-6, -1e-6, 0, 0])),
    ):
        assert domain.contains(inside)
        assert not domain.contains(inside + outward)
    assert Reals().contains(inside * 1e300)
    assert not Spectrahedron().contains(np.array([0.5, 0.6, 0.6, 0.5]))  # trace 1, but not positive
    assert Spectrahedron().contains(np.array([0.5, 0.5, 0.5, 0.5]))


# ---- what sets refuse ------------------------------------------------------------------------------------------------

SIZED: list[Any] = [L2Ball, L1Ball, LqBall, Simplex, Spectrahedron, lambda r: CvxSet(lambda w: [], reach2=r)]


@pytest.mark.parametrize("make", SIZED)
@pytest.mark.parametrize("size", [0.0, -1.0, math.nan, math.inf, "1"])
def test_sizes_must_be_positive_numbers(make: Any, size: Any) -> None:
    with pytest.raises(PartError, match="must be a"):
        make(size)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: LqBall(1.0, 0.5), "q must be at least 1"),
        (lambda: Box(1.0, 0.0), "low must not exceed high"),
        (lambda: Box([0.0, 2.0], [1.0, 1.0]), "low must not exceed high"),
        (lambda: Box([0.0, 0.0], [1.0, 1.0, 1.0]), "low has 2 entries, high 3"),
        (lambda: Box(math.nan, 1.0), "low must be a finite number"),
        (lambda: Box(0.0, math.inf), "high must be a finite number"),
        (lambda: Box([], 1.0), "low must be a finite number"),
        (lambda: Box(np.zeros((2, 2)), 1.0), "low must be a finite number"),
        (lambda: Box("a", 1.0), "low must be a finite number"),
        (lambda: Point([1.0, math.nan]), "u must be a finite number"),
        (lambda: Point([[1.0]]), "u must be a finite number"),
        (lambda: Intersection((L2Ball(),)), "at least two"),
        (lambda: Intersection((L2Ball(), LqBall())), "projected on"),
        (lambda: Intersection((L2Ball(), 3.0)), "projected on"),  # type: ignore[arg-type]
        (lambda: CvxSet(3.0, reach2=1.0), "must be a function"),  # type: ignore[arg-type]
    ],
)
def test_senseless_sets_are_refused(make: Any, words: str) -> None:
    with pytest.raises(PartError, match=words):
        make()


@pytest.mark.parametrize(
    ("domain", "d"),
    [
        (Box([0.0, 0.0], 1.0), 3),
        (Point([1.0, 2.0]), 1),
        (Point([1.0]), 2),
        (Spectrahedron(), 3),
        (Intersection((L2Ball(), Box([0.0, 0.0], 1.0))), 3),
    ],
)
def test_wrong_dimensions_are_refused(domain: Domain, d: int) -> None:
    with pytest.raises(PartError, match="coordinates"):
        domain.fits(d)
    with pytest.raises(PartError, match="coordinates"):
        domain.contains(np.zeros(d))
    with pytest.raises(PartError, match="coordinates"):
        Reals().covers(domain, d)


def test_a_comparator_set_cannot_be_projected_on() -> None:
    assert LqBall(1.0, 3.0).projection(np.array([0.5, 0.5])).tolist() == [0.5, 0.5]
    with pytest.raises(PartError, match="comparator set"):
        LqBall(1.0, 3.0).projection(np.array([2.0, 0.5]))


def test_sets_keep_private_copies() -> None:
    low, u = np.array([0.0, 0.0]), np.array([1.0, 2.0])
    box, point = Box(low, 1.0), Point(u)
    low[0] = u[0] = 5.0
    assert box == Box([0.0, 0.0], 1.0)
    assert point == Point([1.0, 2.0])
    with pytest.raises(ValueError, match="read-only"):
        box.low[0] = 3.0


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (L2Ball(2.0), {"set": "l2-ball", "radius": 2.0}),
        (L1Ball(2.0), {"set": "l1-ball", "radius": 2.0}),
        (LqBall(2.0, 3.0), {"set": "lq-ball", "radius": 2.0, "q": 3.0}),
        (Simplex(2.0), {"set": "simplex", "radius": 2.0}),
        (Box(-2.0, 2.0), {"set": "linf-ball", "radius": 2.0}),
        (Box(0.0, 2.0), {"set": "box", "low": [0.0], "high": [2.0]}),
        (Point([3.0, 4.0]), {"set": "point", "radius": 5.0}),
        (Reals(), {"set": "reals"}),
        (
            Intersection((Orthant(), L2Ball(1.0))),
            {"set": "intersection", "sets": [{"set": "orthant"}, {"set": "l2-ball", "radius": 1.0}]},
        ),
        (CvxSet(lambda w: [], reach2=2.0), {"set": "cvx", "radius": 2.0}),
    ],
)
def test_descriptions(domain: Domain, expected: dict[str, Any]) -> None:
    assert domain.describe() == expected


class Overwriting(Separable):
    """[−1, 1]^d, projected on in place, which changes vectors that others go on with"""

    name: ClassVar[str] = "cube"

    def clip(self, j: Any, v: float) -> float:
        return min(max(v, -1.0), 1.0)

    def projection(self, v: Vector) -> Vector:
        return np.clip(v, -1.0, 1.0, out=v)

    def support(self, theta: Vector) -> float:
        return float(np.sum(np.abs(theta)))

    def reach(self, q: float, d: int) -> float:
        return float(d ** (1 / q))

    def diameter(self, d: int) -> float:
        return 2 * math.sqrt(d)


def test_a_set_that_overwrites_what_it_is_given_is_told() -> None:
    """LEM-2.20 would promise less than the regret: it goes on with the vector that was projected."""
    costs = np.random.default_rng(0).normal(size=(60, 3))
    game = play(MirrorDescent(Euclidean(Overwriting()), Constant(0.3)), costs, compiled=False)
    told = [str(p.observed) for c in game.certificates for p in c.premises if not p.holds]
    assert len(told) == len(game.certificates)
    assert all("projecting changes the vector" in fault for fault in told)


@pytest.mark.parametrize("size", ["reach", "diameter", "support"])
@pytest.mark.parametrize("known", [None, math.nan])
def test_a_set_of_ones_own_that_says_no_size_is_told(
    size: str, known: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates ended in a TypeError of Python's own."""
    monkeypatch.setattr(Overwriting, size, lambda self, *about: known)
    with pytest.raises(PartError, match=rf"Overwriting: {size}\(.*\) gave {known} for d = 3: it must be a number"):
        play(MirrorDescent(Euclidean(Overwriting()), Constant(0.3)), np.ones((1, 3)), compiled=False)
