"""Mirror maps on vectors: conjugacy, divergences, strong convexity, comparators and tuned rates."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret.compile.numerics import norm
from lowregret.domain import (
    Box,
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
from lowregret.errors import PartError
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.step import Constant
from lowregret.types import Vector
from tests.strategies import points, several, vectors, wild

D = 4
EUCLIDEAN: list[Mirror] = [
    Euclidean(),
    Euclidean(L2Ball(1.5)),
    Euclidean(L1Ball(1.5)),
    Euclidean(Simplex(2.0)),
    Euclidean(Box(-1.0, np.array([0.0, 1.0, 2.0, 3.0]))),
    Euclidean(Orthant()),
    Euclidean(Spectrahedron()),
    Euclidean(Intersection((Orthant(), L2Ball(1.0)))),
]
ENTROPIC: list[Mirror] = [Entropy(), Entropy(3.0), Entropy(0.2), UnnormalisedEntropy(1.0), UnnormalisedEntropy(0.1)]
NORMS: list[Mirror] = [PNorm(2.0), PNorm(3.0), PNorm(8.0), PNorm(30.0)]
MIRRORS = EUCLIDEAN + ENTROPIC + NORMS

each = pytest.mark.parametrize("mirror", MIRRORS, ids=repr)
few = settings(max_examples=30)
thetas = vectors(D, 4.0)


@cache
def inside(mirror: Mirror, count: int) -> Any:
    """Points where R is finite, on the boundary and off it."""
    return points(mirror.domain, D, count)


def interior(mirror: Mirror, theta: Vector) -> Vector:
    """A point of the domain where R is differentiable."""
    if isinstance(mirror, PNorm):
        return np.copysign(1 + np.abs(theta), theta)
    return mirror.link(theta) if mirror in ENTROPIC else inside(mirror, 20)[np.argmax(theta)]


# ---- conjugacy -------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@each
@few
@given(theta=thetas)
def test_link_attains_the_conjugate(mirror: Mirror, theta: Vector) -> None:
    """FY(u,θ) = R(u) + R*(θ) − ⟨u,θ⟩ is 0 at the link and ≥ 0 elsewhere."""
    w, highest = mirror.link(theta), mirror.conjugate(theta)
    assert mirror.domain.contains(w)
    assert mirror.value(w) + highest - w @ theta == pytest.approx(0, abs=1e-9 * (1 + abs(highest)))
    for u in inside(mirror, 20):
        gap = mirror.value(u) + highest - u @ theta
        assert gap >= -1e-9 * (1 + abs(highest) + abs(u @ theta) + abs(mirror.value(u)))


@each
@few
@given(theta=thetas, direction=vectors(D, 1.0))
def test_link_is_the_gradient_of_the_conjugate(mirror: Mirror, theta: Vector, direction: Vector) -> None:
    h = 1e-4
    numeric = (mirror.conjugate(theta + h * direction) - mirror.conjugate(theta - h * direction)) / (2 * h)
    # R* is 1/σ-smooth, so its slope moves by at most h/σ·‖direction‖_*² over the step, whatever kinks its slope has.
    smooth = h * D / mirror.strength() if mirror.strength() > 0 else h * np.abs(mirror.link(theta)).max()
    assert numeric == pytest.approx(mirror.link(theta) @ direction, abs=float(smooth) + 1e-7)


@each
@few
@given(both=several(2, 4.0, d=D))
def test_divergence_of_the_conjugate(mirror: Mirror, both: tuple[Vector, Vector]) -> None:
    """D_{R*}(θ'‖θ) = R(w) − R(w') − ⟨θ', w − w'⟩ ≥ 0, and ≤ ‖θ' − θ‖_*²/(2σ)."""
    before, after = both
    w, x = mirror.link(before), mirror.link(after)
    direct = mirror.conjugate(after) - mirror.conjugate(before) - w @ (after - before)
    primal = mirror.value(w) - mirror.value(x) - after @ (w - x)
    rounding = 1e-9 * (1 + abs(mirror.conjugate(after)) + abs(mirror.conjugate(before)) + float(abs(after @ (w - x))))
    assert direct == pytest.approx(primal, abs=rounding)
    assert direct >= -rounding
    if mirror.strength() > 0:
        assert direct <= dual_norm(mirror, after - before) ** 2 / (2 * mirror.strength()) + rounding


def dual_norm(mirror: Mirror, z: Vector) -> float:
    return norm(z, mirror.p if isinstance(mirror, PNorm) else math.inf if isinstance(mirror, Entropy) else 2.0)


def primal_norm(mirror: Mirror, w: Vector) -> float:
    return norm(w, mirror.q if isinstance(mirror, PNorm) else 1.0 if isinstance(mirror, Entropy) else 2.0)


@pytest.mark.sampled(3)
@each
@few
@given(theta=thetas)
def test_divergence_is_what_a_tangent_misses_and_strongly_convex(mirror: Mirror, theta: Vector) -> None:
    u = interior(mirror, theta)
    for w in inside(mirror, 20):
        divergence = mirror.divergence(w, u)
        h = 1e-6  # the derivative along the chord, which stays in the domain
        tangent = (mirror.value(u + h * (w - u)) - mirror.value(u)) / h
        # one-sided difference: error h/2 times the curvature along the chord, which for entropies is Σ(w−u)²/u
        bend = 20 * (1 + float(np.sum((w - u) ** 2 / u)) if mirror in ENTROPIC else 1 + float((w - u) @ (w - u)))
        missed = mirror.value(w) - mirror.value(u) - tangent
        rounding = 1e-9 * (1 + abs(mirror.value(w)) + abs(mirror.value(u)))
        assert divergence == pytest.approx(missed, abs=h * bend + rounding)
        length = primal_norm(mirror, w - u)
        assert divergence >= mirror.strength() / 2 * length * length - 1e-12 * (1 + abs(mirror.value(w)))
        assert divergence >= -1e-12 * (1 + abs(mirror.value(w)) + abs(mirror.value(u)))
    assert mirror.divergence(u, u) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("mirror", [m for m in MIRRORS if m.strength() > 0], ids=repr)
def test_strength_is_tight(mirror: Mirror) -> None:
    """Some pair of points shows that σ cannot be larger: 2D_R/‖w−u‖² comes down to it."""
    flat = np.full(D, 1 / D)
    tilt = np.array([1.0, -1.0, 1.0, -1.0]) / D * 1e-3
    if isinstance(mirror, Entropy):
        w, u = mirror.total * (flat + tilt), mirror.total * flat
    elif isinstance(mirror, PNorm):
        w, u = flat + tilt, flat  # equal sizes, perturbed with ⟨∇R, w − u⟩ = 0
    else:
        w, u = inside(mirror, 20)[0], inside(mirror, 20)[1]
    length = primal_norm(mirror, w - u)
    ratio = 2 * mirror.divergence(w, u) / (length * length)
    assert ratio == pytest.approx(mirror.strength(), rel=1e-3)


# ---- the table of conjugates, at a rate η ----------------------------------------------------------------------------


@given(thetas, st.floats(0.1, 3.0), st.floats(0.1, 3.0), st.floats(2.0, 10.0))
def test_the_table(theta: Vector, eta: float, size: float, p: float) -> None:
    """(1/η)R ↔ (1/η)R*(ηθ), and the closed forms of every row."""

    def row(mirror: Mirror, conjugate: float, link: Vector) -> None:
        assert mirror.conjugate(eta * theta) / eta == pytest.approx(conjugate, rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(mirror.link(eta * theta), link, rtol=1e-10, atol=1e-12)

    total = np.exp(eta * theta).sum()
    row(Euclidean(), eta / 2 * float(theta @ theta), eta * theta)
    w = np.clip(eta * theta, -size, size)
    row(Euclidean(Box(-size, size)), float(w @ theta - w @ w / (2 * eta)), w)
    row(Entropy(size), size / eta * (math.log(total) - math.log(size)), size * np.exp(eta * theta) / total)
    row(UnnormalisedEntropy(size), size / eta * total, size * np.exp(eta * theta))
    length = float(np.sum(np.abs(theta) ** p)) ** (1 / p)
    gradient = np.sign(theta) * np.abs(theta) ** (p - 1) / length ** (p - 2) if length > 0 else 0 * theta
    row(PNorm(p), eta / 2 * length**2, eta * gradient)


@given(several(2, 5.0))
def test_two_is_euclidean(both: tuple[Vector, Vector]) -> None:
    w, u = both
    two, euclid = PNorm(2.0), Euclidean()
    assert two.value(w) == pytest.approx(euclid.value(w), rel=1e-12)
    assert two.conjugate(w) == pytest.approx(euclid.conjugate(w), rel=1e-12)
    np.testing.assert_allclose(two.link(w), euclid.link(w), rtol=1e-12)
    assert two.divergence(w, u) == pytest.approx(
        euclid.divergence(w, u), rel=1e-9, abs=1e-12 * float(1 + w @ w + u @ u)
    )
    assert two.strength() == euclid.strength() == 1.0
    assert two.highest(L1Ball(3.0), D) == euclid.highest(L1Ball(3.0), D)


def test_worked_examples() -> None:
    np.testing.assert_allclose(PNorm(3.0).link(np.ones(2)), [2 ** (-1 / 3)] * 2)
    np.testing.assert_allclose(Entropy().link(np.log([1.0, 2.0])), [1 / 3, 2 / 3])
    assert PNorm(5.0).link(np.zeros(3)).tolist() == [0, 0, 0]
    assert Entropy().divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(math.log(2))
    assert Entropy().divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf
    assert UnnormalisedEntropy(1.0).divergence(np.array([0.0]), np.array([2.0])) == 2.0


def test_values_outside_the_domain_are_infinite() -> None:
    assert Euclidean(L2Ball(1.0)).value(np.array([1.0, 1.0])) == math.inf
    assert Entropy().value(np.array([0.5, 0.6])) == math.inf
    assert Entropy().value(np.array([1.5, -0.5])) == math.inf
    assert UnnormalisedEntropy(1.0).value(np.array([1.0, -1e-3])) == math.inf
    assert UnnormalisedEntropy(1.0).value(np.array([1.0, 0.0])) == -1.0


# ---- the ends of the number range ------------------------------------------------------------------------------------


@given(wild(200.0), st.sampled_from([2.0, 3.0, 30.0]))
def test_pnorm_of_wild_vectors(theta: Vector, p: float) -> None:
    """Homogeneous: link(cθ) = c·link(θ), with ⟨link(θ), θ⟩ = ‖θ‖_p² and ‖link(θ)‖_q = ‖θ‖_p."""
    mirror = PNorm(p)
    w, length = mirror.link(theta), norm(theta, p)
    assert np.isfinite(w).all()
    assert norm(w, mirror.q) == pytest.approx(length, rel=1e-9)
    if length > 0:
        assert (w / length) @ (theta / length) == pytest.approx(1.0, rel=1e-9)
        tiny = max(1e-300, 1e-322 / length)  # digits that a subnormal w[j] has lost
        np.testing.assert_allclose(w / length, mirror.link(theta / length), rtol=1e-9, atol=tiny)


@given(vectors(5, 1e6), st.floats(0.1, 10.0))
def test_entropy_of_extreme_sums(theta: Vector, total: float) -> None:
    mirror = Entropy(total)
    w = mirror.link(theta)
    assert np.isfinite(w).all()
    assert w.sum() == pytest.approx(total, rel=1e-12)
    assert w[np.argmax(theta)] == w.max()
    assert mirror.conjugate(theta) >= total * (theta.max() - math.log(total)) - 1e-9 * 1e6 * total
    assert mirror.conjugate(theta) <= total * (theta.max() + math.log(5) - math.log(total)) + 1e-9 * 1e6 * total


def test_unnormalised_weights_out_of_range_are_infinite() -> None:
    mirror = UnnormalisedEntropy(0.5)
    assert mirror.link(np.array([1e6, -1e6])).tolist() == [math.inf, 0.0]
    assert mirror.conjugate(np.array([1e6, 0.0])) == math.inf


# ---- comparators -----------------------------------------------------------------------------------------------------

NON_NEGATIVE: list[Domain] = [
    Simplex(),
    Simplex(0.3),
    Simplex(5.0),
    Box(0.0, 2.0),
    Box(np.array([0.0, 0.5, 1.0, 0.0]), np.array([0.1, 0.5, 3.0, 1.0])),
    Intersection((Orthant(), L1Ball(2.0))),
    Intersection((Orthant(), L2Ball(2.0))),
    Point([0.3, 0.2, 0.0, 0.5]),
]
SETS = [*NON_NEGATIVE, L2Ball(2.0), L1Ball(2.0), LqBall(2.0, 1.5), Box(-1.0, 2.0), Point([1.0, -2.0, 0.0, 0.5])]
CORNERS = np.array(list(product([-1.0, 0.0, 1.0], repeat=D))) * 1e3  # projected: vertices, corners, faces' middles


@cache
def comparators(domain: Domain) -> Any:
    corners = [] if isinstance(domain, LqBall) else [domain.projection(v) for v in CORNERS]
    return np.vstack([points(domain, D, 40), *corners])


@pytest.mark.parametrize("domain", SETS, ids=repr)
@pytest.mark.parametrize("mirror", [Euclidean(), PNorm(4.0), UnnormalisedEntropy(0.25), UnnormalisedEntropy(2.0)])
def test_highest_exceeds_every_comparator(mirror: Mirror, domain: Domain) -> None:
    highest = mirror.highest(domain, D)
    seen = [mirror.value(u) for u in comparators(domain) if mirror.domain.contains(u, 0.0)]
    assert all(value <= highest + 1e-9 * (1 + abs(highest)) for value in seen)
    exact = isinstance(domain, Simplex | Point | L1Ball) or (isinstance(domain, Box) and domain in NON_NEGATIVE)
    if exact and isinstance(mirror, UnnormalisedEntropy) and seen:
        assert max(seen) == pytest.approx(highest, rel=1e-9, abs=1e-9)


def test_highest_of_the_entropy_is_a_vertex() -> None:
    for total in (0.2, 1.0, 3.0):
        mirror, simplex = Entropy(total), Simplex(total)
        assert mirror.highest(simplex, D) == pytest.approx(mirror.value(np.array([0, total, 0, 0])))
        assert all(mirror.value(u) <= mirror.highest(simplex, D) + 1e-12 for u in points(simplex, D))
    u = np.array([0.3, 0.2, 0.0, 0.5])
    assert Entropy().highest(Point(u), D) == Entropy().value(u) < 0
    assert Entropy().highest(Point([1.0, 1.0]), 2) == math.inf


def test_highest_of_unbounded_sets() -> None:
    for mirror in (Euclidean(), PNorm(3.0), UnnormalisedEntropy(0.5)):
        assert mirror.highest(Reals(), D) == math.inf
        assert mirror.highest(Orthant(), D) == math.inf


# ---- tuned rates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mirror", "comparator", "radius", "norms"),
    [
        (Euclidean(L2Ball(2.0)), L2Ball(2.0), 2.0, 1.0),
        (PNorm(3.0), LqBall(2.0, 1.5), 2.0, 1.0),
        (PNorm(12.0), LqBall(0.5, 12 / 11), 0.5, 1.0),
        (Entropy(), Simplex(), 1.0, 1.0),
        (Entropy(3.0), Simplex(3.0), 3.0, 1.0),
        (UnnormalisedEntropy(1 / 16), Simplex(1.0), 1.0, 1.0),
        (UnnormalisedEntropy(0.5), Simplex(3.0), 3.0, 8.0),
    ],
    ids=repr,
)
def test_tuned_rate_minimises_the_bound(mirror: Mirror, comparator: Domain, radius: float, norms: float) -> None:
    """(max R(u) − R(w₁))/η + η·T·L²/(2σ) over a grid of η; for the local norms of THM-2.23+, 1/σ is Σw ≤ dλ."""
    d, rounds, lipschitz = 16, 1000, 1.7
    first = mirror.highest(comparator, d) - mirror.value(mirror.link(np.zeros(d)))
    inverse = norms if mirror.strength() == 0 else 1 / mirror.strength()

    def bound(eta: float) -> float:
        return first / eta + eta * rounds * lipschitz**2 * inverse / 2

    tuned = mirror.tuned(radius=radius, lipschitz=lipschitz, rounds=rounds, dimension=d)
    assert isinstance(tuned, Constant)
    assert tuned.eta == mirror.tuned_rate(radius, lipschitz, rounds, d)
    assert all(bound(tuned.eta) <= bound(tuned.eta * factor) for factor in np.geomspace(0.01, 100, 401))
    assert bound(tuned.eta) == pytest.approx(lipschitz * math.sqrt(2 * first * inverse * rounds), rel=1e-12)


def test_tuned_needs_sense() -> None:
    good: dict[str, Any] = {"radius": 1.0, "lipschitz": 1.0, "rounds": 10, "dimension": 3}
    assert Euclidean().tuned(radius=2.0, lipschitz=4.0, rounds=25) == Constant(0.1)
    assert Entropy().tuned(**good | {"dimension": 1}).eta > 0
    for wrong in (
        {"radius": 0.0},
        {"radius": math.nan},
        {"lipschitz": -1.0},
        {"lipschitz": math.inf},
        {"rounds": 0},
        {"dimension": 0},
    ):
        with pytest.raises(PartError, match=next(iter(wrong))):
            Entropy().tuned(**good | wrong)
    with pytest.raises(PartError, match="give dimension"):
        Entropy().tuned(radius=1.0, lipschitz=1.0, rounds=10)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PNorm(1.9), "p must be at least 2"),
        (lambda: PNorm(math.inf), "p must be at least 2"),
        (lambda: Entropy(0.0), "total must be"),
        (lambda: UnnormalisedEntropy(-1.0), "start must be"),
        (lambda: Euclidean(LqBall(1.0, 3.0)), "projected on"),
        (lambda: Euclidean(Point([1.0])), "projected on"),
        (lambda: Euclidean(3.0), "projected on"),  # type: ignore[arg-type]
        (lambda: Euclidean(Box([0.0, 0.0], 1.0)).fits(3), "coordinates"),
        (lambda: Entropy().fits(0), "at least one coordinate"),
    ],
)
def test_senseless_mirrors_are_refused(make: Any, words: str) -> None:
    with pytest.raises(PartError, match=words):
        make()


@pytest.mark.filterwarnings("error")
def test_conjugates_of_vectors_beyond_numbers_are_infinite() -> None:
    """NumPy warned of them, and ∞ − ∞ was no number."""
    assert Euclidean().conjugate(np.full(2, 1e300)) == math.inf
    assert Euclidean(L2Ball(1.0)).conjugate(np.full(2, 1e300)) == pytest.approx(math.sqrt(2) * 1e300)
