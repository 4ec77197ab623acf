"""Bandit descent: exact gradients over a spherical design, feasible play, and the corrected bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Box, DataError, Domain, L1Ball, L2Ball, PartError, Simplex, StoreError
from lowregret.bandit import BanditDescent
from lowregret.bandit.descent import Shape
from lowregret.compile.random import new_chance, normal
from lowregret.types import Vector

DOMAINS = [(L2Ball(2.0), 3), (Box(-1.0, 3.0), 2), (Box([0.0, 1.0], [1.0, 5.0]), 2), (Simplex(), 4), (Simplex(3.0), 2)]


def test_the_cross_polytope_gives_exact_gradients_of_quadratics() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(4, 4))
    a, b, w, delta = a + a.T, rng.normal(size=4), rng.normal(size=4), 0.3
    design = [sign * e for e in np.eye(4) for sign in (1, -1)]

    def f(x: Vector) -> float:
        return float(x @ a @ x / 2 + b @ x + 1)

    one = np.mean([4 / delta * f(w + delta * v) * v for v in design], axis=0)
    two = np.mean([2 / delta * (f(w + delta * v) - f(w - delta * v)) * v for v in design], axis=0)
    assert np.allclose(one, a @ w + b)
    assert np.allclose(two, a @ w + b)
    assert np.mean([v / 0.1 * (1 + v * 0.1) ** 2 for v in (1, -1)]) == pytest.approx(2)


@pytest.mark.parametrize("points", [1, 2])
def test_a_slow_transcription(points: int) -> None:
    """On the unit ball, whose shrunk form is the ball of radius 1 − δ."""
    eta, delta, goal = 0.02, 0.3, np.array([0.4, -0.9, 0.0])
    chance, theta, total = new_chance(5), np.zeros(3), 0.0

    def f(x: Vector) -> float:
        return float(np.linalg.norm(x - goal))

    for _ in range(50):
        w = eta * theta
        w *= min(1.0, (1 - delta) / max(float(np.linalg.norm(w)), 1e-300))
        with np.errstate(over="ignore"):
            v = np.array([normal(chance) for _ in range(3)])
        v /= np.linalg.norm(v)
        up, down = f(w + delta * v), f(w - delta * v)
        theta -= (3 / delta * up if points == 1 else 3 / (2 * delta) * (up - down)) * v
        total += up if points == 1 else (up + down) / 2
    player = BanditDescent(L2Ball(1.0), 3, eta, delta, points=points, seed=5).learn(lambda _t, x: f(x), 50)
    assert np.allclose(player.theta, theta)
    assert player.loss == pytest.approx(total)


@pytest.mark.parametrize(("domain", "d"), DOMAINS, ids=str)
def test_the_ball_in_the_set(domain: Domain, d: int) -> None:
    """The in-radius is that of a ball that just fits; B is the distance of the farthest point."""
    s, rng = Shape(domain, d), np.random.default_rng(1)
    directions = [s.within(rng.normal(size=d)) for _ in range(4000)]
    directions = [v / np.linalg.norm(v) for v in directions]
    assert domain.contains(s.centre)
    assert all(domain.contains(s.centre + s.inner * v, 1e-9) for v in directions)
    assert not all(domain.contains(s.centre + 1.3 * s.inner * v, 1e-9) for v in directions)
    farthest = max(np.linalg.norm(domain.projection(s.centre + 100 * v) - s.centre) for v in directions)
    assert 0.8 * s.outer < farthest <= s.outer * (1 + 1e-9)


@given(st.sampled_from(DOMAINS), st.sampled_from([1, 2]), st.floats(0.01, 1.0), st.floats(0.01, 100.0))
@settings(max_examples=30)
def test_every_point_played_lies_in_the_set(pair: tuple[Domain, int], points: int, share: float, eta: float) -> None:
    domain, d = pair
    delta, seen = share * Shape(domain, d).inner / 2, []

    def cost(t: int, w: Vector) -> float:
        seen.append(w)
        return float(np.sum(np.abs(w))) + math.sin(t)

    BanditDescent(domain, d, eta, delta, points=points).learn(cost, 30)
    assert len(seen) == 30 * points
    assert all(domain.contains(w, 1e-9) for w in seen)


@pytest.mark.parametrize(("domain", "d"), [DOMAINS[0], DOMAINS[1], DOMAINS[3]], ids=str)
@pytest.mark.parametrize("points", [1, 2])
def test_mean_regret_is_below_the_corrected_bound(domain: Domain, d: int, points: int) -> None:
    goal, rounds, found = np.linspace(-0.3, 0.4, d), 300, []
    best = float(np.linalg.norm(domain.projection(goal) - goal))
    most = float(np.linalg.norm(Shape(domain, d).centre - goal)) + Shape(domain, d).outer
    for seed in range(12):
        player = BanditDescent.tuned(domain, d, rounds, 1.0, most, points=points, seed=seed)
        player.learn(lambda _t, w: float(np.linalg.norm(w - goal)), rounds)
        found.append(player.loss - rounds * best)
    certificate = player.certificate
    assert np.mean(found) <= certificate.bound
    assert certificate.premises_hold
    assert player.largest_seen <= player.largest == most
    if points == 2:
        assert np.linalg.norm(player.average - domain.projection(goal)) < 0.25


def test_two_points_beat_one() -> None:
    goal = np.array([0.5, -0.2, 0.1])
    one, two = (
        BanditDescent.tuned(L2Ball(1.0), 3, 2000, 1.0, 2.0, points=p).learn(
            lambda _t, w: float(np.linalg.norm(w - goal)), 2000
        )
        for p in (1, 2)
    )
    assert two.loss < one.loss / 2


def test_a_premise_that_fails_is_seen() -> None:
    player = BanditDescent(L2Ball(1.0), 2, 0.01, 0.2, lipschitz=1.0, largest=1.0).learn(lambda _t, w: 50.0, 20)
    assert not player.certificate.premises_hold


def test_nothing_is_promised_where_nobody_says_how_large_costs_are() -> None:
    cases = [(1, 1.0, 2.0, True), (2, 1.0, math.inf, True), (1, 1.0, math.inf, False), (2, math.inf, 2.0, False)]
    for points, steepest, most, enough in cases:
        player = BanditDescent(L2Ball(1.0), 2, 0.1, 0.1, points=points, lipschitz=steepest, largest=most)
        player.learn(lambda _t, w: float(w[0]), 5)
        assert player.certificate.premises_hold == math.isfinite(player.certificate.bound) == enough


def test_refusals() -> None:
    with pytest.raises(PartError, match="in-radius"):
        BanditDescent(L2Ball(1.0), 2, 0.1, 0.6)
    with pytest.raises(PartError, match="L2Ball, a Box or a Simplex"):
        BanditDescent(L1Ball(1.0), 2, 0.1, 0.1)
    with pytest.raises(PartError, match="nothing to explore"):
        BanditDescent(Simplex(), 1, 0.1, 0.1)
    with pytest.raises(PartError, match="points"):
        BanditDescent(L2Ball(1.0), 2, 0.1, 0.1, points=3)
    with pytest.raises(DataError, match="round 0: the cost is nan"):
        BanditDescent(L2Ball(1.0), 2, 0.1, 0.1).learn(lambda _t, w: math.nan, 1)


@pytest.mark.parametrize("rounds", [0, 15, 24, 255, 2**31])
def test_a_file_whose_rounds_do_not_fit_its_curves_is_refused(rounds: int) -> None:
    player = BanditDescent(L2Ball(1.0), 2, 0.1, 0.1).learn(lambda _t, w: float(w[0]), 20)
    description, arrays = player.to_file()
    assert BanditDescent.from_file("f", description, arrays).rounds == 20
    with pytest.raises(StoreError, match="rounds that go on from the last point of the curves, 16"):
        BanditDescent.from_file("f", description | {"rounds": rounds}, arrays)


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1.0, 1e100])
def test_tuning_at_any_scale(scale: float, points: int) -> None:
    """Sets and slopes that are tiny together made δ = 0, which was divided by."""
    player = BanditDescent.tuned(L2Ball(scale), 3, 50, scale, 2 * scale * scale, points=points)
    assert 0 < player.delta <= scale / 2
    assert 0 < player.eta < math.inf


@pytest.mark.parametrize(("lipschitz", "largest"), [(0.0, 1.0), (math.inf, 1.0), (1.0, 0.0), (math.nan, 1.0)])
def test_tuning_needs_numbers_above_0(lipschitz: float, largest: float) -> None:
    with pytest.raises(PartError, match="numbers above 0"):
        BanditDescent.tuned(L2Ball(1.0), 3, 50, lipschitz, largest)


def test_sizes_below_nothing_promise_nothing() -> None:
    """A steepness of −1 would be a promise of less than no regret."""
    for told in ({"lipschitz": -1.0}, {"lipschitz": 1.0, "largest": -1.0}, {"lipschitz": "a"}):
        with pytest.raises(PartError, match="numbers from 0 on"):
            BanditDescent(L2Ball(1.0), 2, 0.1, 0.1, **told)
    with pytest.raises(PartError, match="whole number of rounds"):
        BanditDescent.tuned(L2Ball(1.0), 2, 0, 1.0, 1.0)
