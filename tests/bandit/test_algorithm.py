"""Each algorithm against a slow transcription, compiled against interpreted, and where numbers become extreme."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import brentq

from lowregret import PartError
from lowregret.bandit import Bandit, BanditAlgorithm, BernoulliCosts, Exp3, Exp3IX, Thompson, TsallisInf, Ucb1
from lowregret.bandit.rejection import make_algorithm
from lowregret.bandit.state import CLAMPED
from lowregret.compile.random import beta, new_chance, uniform
from lowregret.types import Vector

ALL = [Exp3(0.1), Exp3IX(0.1, 0.05), TsallisInf(), Ucb1(), Thompson()]


def softmax_policy(eta: float) -> Callable[[Vector, int], Vector]:
    def policy(estimates: Vector, _t: int) -> Vector:
        w = np.exp(-eta * (estimates - estimates.min()))
        return w / w.sum()

    return policy


def tsallis_policy(estimates: Vector, t: int) -> Vector:
    rate = 2 / math.sqrt(t)  # as printed: w = 4(η(L − x))^{−2}
    low = estimates.min()

    def excess(x: float) -> float:
        return float(np.sum(4 * (rate * (estimates - x)) ** -2.0) - 1)

    x = brentq(excess, low - 2 * math.sqrt(estimates.size) / rate - 1e-9, low - 2 / rate + 1e-12, xtol=1e-14)
    w = 4 * (rate * (estimates - x)) ** -2.0
    return w / w.sum()


@pytest.mark.parametrize(
    ("algorithm", "policy", "gamma", "room"),
    [
        (Exp3(0.03, centred=False), softmax_policy(0.03), 0.0, None),
        (Exp3IX(0.03, 0.07), softmax_policy(0.03), 0.07, None),
        (TsallisInf(centred=False), tsallis_policy, 0.0, None),
        (Exp3(0.03), softmax_policy(0.03), 0.0, lambda least, _: 3 * least / 0.03),
        (TsallisInf(), tsallis_policy, 0.0, lambda least, t: math.sqrt(least * t)),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_slow_transcription_makes_the_same_choices(
    algorithm: BanditAlgorithm,
    policy: Callable[[Vector, int], Vector],
    gamma: float,
    room: Callable[[float, int], float] | None,
) -> None:
    """At small rates: an error in a weight is multiplied by η/w whenever its arm is drawn."""
    costs = np.random.default_rng(1).random((400, 7))
    chance, estimates, arms, level = new_chance(9), np.zeros(7), [], 0.0
    for t in range(400):
        w = policy(estimates, t + 1)
        with np.errstate(over="ignore"):
            u = uniform(chance)
        arm = int(np.searchsorted(np.cumsum(w), u, side="right"))
        arms.append(arm)
        r = math.nan if room is None else room(float(w.min()), t + 1)
        b = 0.0 if room is None else min(level, float(np.max(np.roots([1.0, 1 / r, -1.0]))))
        estimates += b
        estimates[arm] += (costs[t, arm] - b) / (w[arm] + gamma)
        level += (costs[t, arm] - level) / min(t + 1, 100)
    bandit = Bandit(7, algorithm, seed=9)
    assert np.array_equal(bandit.learn(costs).played.arms, arms)
    assert np.allclose(bandit.estimates, estimates)
    assert np.allclose(bandit.policy, policy(estimates, 401))


def test_ucb1_by_hand() -> None:
    costs = np.random.default_rng(2).random((300, 4))
    sums, counts, arms = np.zeros(4), np.zeros(4), []
    for t in range(300):
        arm = t if t < 4 else int(np.argmin(sums / counts - np.sqrt(2 * np.log(t + 1) / counts)))
        sums[arm] += costs[t, arm]
        counts[arm] += 1
        arms.append(arm)
    assert np.array_equal(Bandit(4, Ucb1()).learn(costs).played.arms, arms)


def test_thompson_by_hand() -> None:
    """Draws from the posteriors in the order of the arms; a cost of 0.3 counts as 1 with that probability."""
    costs = np.random.default_rng(2).random((100, 3))
    chance, ones, counts, arms = new_chance(6), np.zeros(3), np.zeros(3), []
    with np.errstate(over="ignore"):
        for y in costs:
            arm = int(np.argmin([beta(chance, 2 + a, 0.5 + n - a) for a, n in zip(ones, counts, strict=True)]))
            ones[arm] += uniform(chance) < y[arm]
            counts[arm] += 1
            arms.append(arm)
    bandit = Bandit(3, Thompson(2.0, 0.5), seed=6)
    assert np.array_equal(bandit.learn(costs).played.arms, arms)
    assert np.array_equal(bandit.estimates, ones)
    assert int(np.argmax(bandit.policy)) == int(np.argmin((2 + ones) / (2.5 + counts)))


@pytest.mark.parametrize("algorithm", ALL, ids=str)
def test_compiled_is_interpreted_and_one_by_one_is_all_at_once(algorithm: BanditAlgorithm) -> None:
    costs = np.random.default_rng(3).random((150, 5))
    fast, slow, single = (Bandit(5, algorithm, seed=4, compiled=c) for c in (True, False, True))
    assert np.array_equal(fast.learn(costs).played.arms, slow.learn(costs).played.arms)
    for row in costs:
        number, arm = single.choose()
        single.reward(number, cost=row[arm])
    for one, other, third in zip(fast.state, slow.state, single.state, strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, third)


@pytest.mark.parametrize("algorithm", ALL, ids=str)
def test_the_better_arm_is_found(algorithm: BanditAlgorithm) -> None:
    costs = (np.random.default_rng(4).random((5000, 4)) < [0.7, 0.2, 0.7, 0.7]).astype(float)
    bandit = Bandit(4, algorithm)
    played = bandit.learn(costs).played
    assert np.mean(played.arms == 1) > 0.5
    assert int(np.argmax(bandit.policy)) == 1
    assert played.regret == pytest.approx(np.sum(played.costs) - np.min(costs.sum(axis=0)))
    unproved = ["NONE"] if isinstance(algorithm, Ucb1 | Thompson) else []
    assert [c.id for c in bandit.certificates if not c.holds] == unproved


@pytest.mark.parametrize("algorithm", [*ALL, Exp3(1e6), Exp3(1e-12), Exp3IX(1e6, 1e-9)], ids=str)
@pytest.mark.parametrize("arms", [1, 3])
@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_extremes_stay_numbers(algorithm: BanditAlgorithm, arms: int, cost: float) -> None:
    bandit = Bandit(arms, algorithm)
    bandit.learn(np.full((300, arms), cost))
    assert np.all(np.isfinite(bandit.policy))
    assert np.sum(bandit.policy) == pytest.approx(1)
    for certificate in bandit.certificates:
        assert (certificate.holds and math.isfinite(certificate.bound)) or certificate.id == "NONE"


def test_a_probability_that_is_almost_nought_is_raised_and_reported() -> None:
    bandit = Bandit(2, Exp3(1.0), compiled=False)
    bandit.state.estimates[:] = [0.0, 720.0]
    bandit.algorithm.begin(bandit.state)
    bandit.state.weights[2] = 0.0  # all that is left to draw is the other, whose weight is below 1e-300
    number, arm = bandit.choose()
    assert arm == 1
    assert bandit.state.counts[CLAMPED] == 1
    bandit.reward(number, cost=1.0)
    assert np.all(np.isfinite(bandit.policy))
    assert not next(c for c in bandit.certificates if c.id == "COR-4.2+").premises_hold


def test_ten_million_rounds() -> None:
    bandit = Bandit(3, Exp3.tuned(3, 10_000_000))
    costs = BernoulliCosts([0.5, 0.49, 0.52], seed=1)
    for _ in range(10):
        bandit.learn(costs, 1_000_000)
    assert bandit.rounds == 10_000_000
    assert np.sum(bandit.policy) == pytest.approx(1, abs=1e-12)
    assert bandit.policy[1] > 0.99
    assert bandit.loss / 1e7 == pytest.approx(0.49, abs=0.002)
    assert all(c.holds for c in bandit.certificates)


def test_many_arms_cost_little() -> None:
    arms = 100_000
    bandit = Bandit(arms, Exp3.tuned(arms, 100_000))
    bandit.learn(BernoulliCosts(np.linspace(0.1, 0.9, arms)), 100_000)
    w = np.exp(-bandit.algorithm.eta * (bandit.estimates - bandit.estimates.min()))  # type: ignore[attr-defined]
    assert np.allclose(bandit.policy, w / w.sum(), rtol=1e-9)


def test_refusals() -> None:
    for make in (lambda: Exp3(0.0), lambda: Exp3IX(0.1, 0.0), lambda: Thompson(a=0.0), lambda: Bandit(0)):
        with pytest.raises(PartError):
            make()
    with pytest.raises(PartError, match="learning rate"):
        make_algorithm("ucb1", 3, 10, eta=0.1)
    with pytest.raises(PartError, match="choose among"):
        make_algorithm("exp5", 3, 10)
