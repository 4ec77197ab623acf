"""Bandit descent: exact gradients over a spherical design, feasible play, and the corrected bound."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import (
    Box,
    DataError,
    DivergedError,
    Domain,
    Intersection,
    L1Ball,
    L2Ball,
    Orthant,
    PartError,
    Reals,
    Simplex,
    StoreError,
    load,
)
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


# ---- played outside the set, as the textbook has it -----------------------------------------------------------------

ANY = [(L1Ball(1.5), 3), (Simplex(), 3), (Intersection((L2Ball(1.0), Orthant())), 2), (Box(1.0, 2.0), 2)]


@pytest.mark.parametrize(("domain", "d"), ANY, ids=str)
@pytest.mark.parametrize("points", [1, 2])
def test_a_slow_transcription_of_the_textbook(domain: Domain, d: int, points: int) -> None:
    """w_t = argmin_{w∈S}‖w − ηθ_t‖, w_t + δv_t is played, z_t = (d/δ)f_t(w_t + δv_t)v_t."""
    eta, delta, goal, seen = 0.05, 0.4, np.linspace(-1, 1, d), []
    chance, theta, total = new_chance(9), np.zeros(d), 0.0

    def f(x: Vector) -> float:
        return float(np.linalg.norm(x - goal))

    def cost(_t: int, x: Vector) -> float:
        seen.append(x)
        return f(x)

    player = BanditDescent(domain, d, eta, delta, points=points, seed=9, outside=True).learn(cost, 30)
    played = []
    for _ in range(30):
        w = domain.projection(eta * theta)
        with np.errstate(over="ignore"):
            v = np.array([normal(chance) for _ in range(d)])
        v /= np.linalg.norm(v)
        up, down = f(w + delta * v), f(w - delta * v)
        played += [w + delta * v, w - delta * v][:points]
        theta -= (d / delta * up if points == 1 else d / (2 * delta) * (up - down)) * v
        total += up if points == 1 else (up + down) / 2
    assert np.allclose(player.theta, theta)
    assert player.loss == pytest.approx(total)
    assert np.allclose(seen, played)
    assert not all(domain.contains(x) for x in seen)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("domain", "d"), ANY, ids=str)
@pytest.mark.parametrize("points", [1, 2])
def test_mean_regret_outside_is_below_the_corrected_bound(domain: Domain, d: int, points: int) -> None:
    goal, rounds, found = np.linspace(-0.3, 0.4, d), 300, []
    best = float(np.linalg.norm(domain.projection(goal) - goal))
    most = domain.reach(2, d) + float(np.linalg.norm(goal))
    for seed in range(12):
        player = BanditDescent.tuned(domain, d, rounds, 1.0, most, points=points, seed=seed, outside=True)
        player.learn(lambda _t, w: float(np.linalg.norm(w - goal)), rounds)
        found.append(player.loss - rounds * best)
    b, eta, delta = domain.reach(2, d), player.eta, player.delta
    scale = most / delta + 1.0 if points == 1 else 1.0
    told = 2 * delta * rounds + b**2 / (2 * eta) + eta / 2 * rounds * (d * scale) ** 2
    assert player.certificate.bound == pytest.approx(told)
    assert player.certificate.id == ("COR-4.5-OUT" if points == 1 else "COR-4.5-2-OUT")
    assert player.certificate.premises_hold
    assert np.mean(found) <= told


def test_the_tuned_bound_of_the_textbook() -> None:
    """2√(2BdFL)·T^{3/4} + BdL√T, at η = B/(d(F/δ + L)√T) and δ = √(BdF/(2L))·T^{−1/4}."""
    b, d, most, steep, rounds = 2.0, 3, 5.0, 1.5, 10_000
    player = BanditDescent.tuned(L2Ball(b), d, rounds, steep, most, outside=True)
    assert player.delta == pytest.approx(math.sqrt(b * d * most / (2 * steep)) * rounds**-0.25)
    assert player.eta == pytest.approx(b / (d * (most / player.delta + steep) * math.sqrt(rounds)))
    player.rounds = rounds
    promised = 2 * math.sqrt(2 * b * d * most * steep) * rounds**0.75 + b * d * steep * math.sqrt(rounds)
    assert player.certificate.bound == pytest.approx(promised)
    assert BanditDescent.tuned(L2Ball(1.0), 1, 10_000, 1.0, 1.0, outside=True).delta == pytest.approx(0.5**0.5 / 10)


def test_the_largest_cost_is_meant_in_size() -> None:
    """E26: F = max f_t, as printed, is 0 of costs in [−10, 0]; the bound then speaks of less than was seen."""
    for largest, known in ((0.0, False), (10.0, True)):
        player = BanditDescent(L1Ball(1.0), 2, 0.01, 0.2, lipschitz=1.0, largest=largest, outside=True)
        player.learn(lambda _t, w: float(w[0]) - 9.0, 20)
        assert player.certificate.premises_hold == known


def test_the_estimate_is_the_gradient_of_the_smoothed_function_outside_too() -> None:
    """By the cross-polytope, a spherical 3-design: exact for quadratics, also at the edge of the set."""
    w, delta = L1Ball(1.0).projection(np.array([3.0, -1.0])), 0.5
    design = [sign * e for e in np.eye(2) for sign in (1, -1)]
    mean = np.mean([2 / delta * float((w + delta * v) @ (w + delta * v)) * v for v in design], axis=0)
    assert np.allclose(mean, 2 * w)


def test_outside_in_a_file_and_without_the_word(tmp_path: Path) -> None:
    player = BanditDescent(L1Ball(1.0), 2, 0.1, 0.7, lipschitz=1.0, largest=9.0, outside=True)
    player.learn(lambda _t, w: float(w[0]), 20)
    again = load(player.save(tmp_path / "outside.lr"))
    assert again.outside
    assert again.learn(lambda _t, w: float(w[1]), 9).loss == player.learn(lambda _t, w: float(w[1]), 9).loss
    before = BanditDescent(L2Ball(1.0), 2, 0.1, 0.1).learn(lambda _t, w: float(w[0]), 20)
    description, arrays = before.to_file()
    del description["outside"]
    assert not BanditDescent.from_file("f", description, arrays).outside


def test_refusals_outside() -> None:
    with pytest.raises(PartError, match="eta must be positive and delta above 0; got"):
        BanditDescent(L1Ball(1.0), 2, 0.1, math.inf, outside=True)
    with pytest.raises(PartError, match="outside=True plays around any convex set"):
        BanditDescent(L1Ball(1.0), 2, 0.1, 0.1)
    with pytest.raises(PartError, match="a bounded set to compare with, not a reals"):
        BanditDescent.tuned(Reals(), 2, 10, 1.0, 1.0, outside=True)
    unbounded = BanditDescent(Reals(), 2, 0.1, 0.1, lipschitz=1.0, largest=1.0, outside=True)
    assert unbounded.learn(lambda _t, w: 0.0, 3).certificate.bound == math.inf


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


@pytest.mark.parametrize("points", [1, 2])
def test_estimates_beyond_numbers_are_refused(points: int) -> None:
    """They made θ infinite, and every later point NaN."""
    player = BanditDescent(L2Ball(1.0), 3, 0.1, 1e-3, points=points).learn(lambda t, w: float(w[0]), 5)
    before = player.point
    with pytest.raises(DivergedError, match="round 5"):
        player.learn(lambda t, w: 1e308 if w[0] > 0 else -1e308, 5)
    assert player.rounds == 5
    assert np.array_equal(player.point, before)
    assert np.isfinite(player.loss)


@pytest.mark.parametrize("unit", [1e-170, 1e-300, 1e150])
def test_bounds_do_not_hang_on_units(unit: float) -> None:
    """B²/(2η) was 0 where B² is no number: lengths, costs and η in another unit have the bound in that unit."""

    def bound(size: float) -> float:
        made = BanditDescent(L2Ball(size), 2, 0.1 * size, 0.1 * size, lipschitz=1.0, largest=2 * size)
        return made.certificate.bound

    assert bound(unit) / unit == pytest.approx(bound(1.0))


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("points", [1, 2])
def test_costs_beyond_what_was_said_are_seen(points: int, outside: bool, tmp_path: Path) -> None:
    """The word that was given stood as a premise that held, whatever was seen of single rounds."""
    for excess in (1.0, 5.0):
        played = BanditDescent(L2Ball(1.0), 2, 0.01, 0.1, points=points, lipschitz=1.0, largest=1.0, outside=outside)

        def cost(t: int, w: Vector, excess: float = excess) -> float:
            size = excess if t == 7 else 0.1
            return size if points == 1 else size * float(w[0])

        played.learn(cost, 200)
        for run in (played, load(played.save(tmp_path / "descent.lr"))):
            failed = [p.name for p in run.certificate.premises if not p.holds]
            what = ("larger", "steeper")[points - 1]
            assert failed == ([] if excess == 1.0 else [f"no cost that was seen is {what} than that"])
