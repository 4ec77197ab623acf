"""EXP4 against a slow transcription, by enumeration, and its refusals."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lowregret import DataError, PartError, load
from lowregret.bandit import Exp4
from lowregret.bandit.exp4 import learn_advised
from lowregret.bandit.state import SHIFT
from lowregret.compile.call import call
from lowregret.compile.random import new_chance, uniform
from lowregret.types import Vector


def game(rounds: int, experts: int, arms: int, seed: int = 0) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(seed)
    return rng.random((rounds, arms)), rng.dirichlet(np.full(arms, 0.4), (rounds, experts))


def test_a_slow_transcription() -> None:
    costs, advice = game(200, 4, 3)
    chance, estimates, arms = new_chance(2), np.zeros(4), []
    for y, xi in zip(costs, advice, strict=True):
        q = np.exp(-0.05 * estimates)
        p = q / q.sum() @ xi
        with np.errstate(over="ignore"):
            arm = int(np.searchsorted(np.cumsum(p), uniform(chance), side="right"))
        arms.append(arm)
        estimates += xi[:, arm] * y[arm] / p[arm]
    exp4 = Exp4(4, 3, 0.05, seed=2, centred=False)
    played = exp4.learn(costs, advice).played
    assert np.array_equal(played.arms, arms)
    assert np.allclose(exp4.state.estimates, estimates)
    assert played.regret == pytest.approx(np.sum(played.costs) - min(np.sum(advice[:, n] * costs) for n in range(4)))


def test_expected_regret_and_every_path_by_enumeration() -> None:
    """E regret against the best expert ≤ ln N/η + ηKT/2; the pathwise certificate on all 3^5 paths."""
    costs, advice = game(5, 2, 3, seed=1)
    eta, expected, unbiased = 0.6, 0.0, np.zeros(2)
    for arms in product(range(3), repeat=5):
        estimates, chance, paid, local = np.zeros(2), 1.0, 0.0, 0.0
        for t, arm in enumerate(arms):
            q = np.exp(-eta * estimates) / np.sum(np.exp(-eta * estimates))
            p = float(q @ advice[t, :, arm])
            z = advice[t, :, arm] * costs[t, arm] / p
            chance, paid, local = chance * p, paid + costs[t, arm], local + float(q @ z**2)
            estimates += z
        expected += chance * paid
        unbiased += chance * estimates
        assert paid <= np.min(estimates) + np.log(2) / eta + eta / 2 * local + 1e-9
    of_experts = np.einsum("tnk,tk->n", advice, costs)
    assert np.allclose(unbiased, of_experts)
    assert expected <= np.min(of_experts) + np.log(2) / eta + eta * 3 * 5 / 2


def best_centre(level: float, eta: float, p: Vector, advice: Vector) -> float:
    """The largest b up to the level with b² ≤ 1 − ηb·a_i/(3p_i) for every arm."""
    low, high = 0.0, level
    for _ in range(100):
        b = (low + high) / 2
        low, high = (b, high) if np.all(b * b <= 1 - eta * b * advice.max(0) / (3 * p)) else (low, b)
    return low


@pytest.mark.parametrize("seed", range(4))
def test_centred_costs_by_enumeration(seed: int) -> None:
    """Unbiased up to the baselines, no dearer in expectation than promised, and every path has its certificate."""
    costs, advice = game(4, 2, 3, seed)
    costs = 1 - 0.3 * costs if seed % 2 else np.round(costs)
    eta, expected, unbiased = 0.4, 0.0, np.zeros(2)
    for arms in product(range(3), repeat=4):
        exp4, chance, paid, level = Exp4(2, 3, eta, compiled=False), 1.0, 0.0, 0.0
        for t, arm in enumerate(arms):
            q, p = exp4.weights, exp4.weights @ advice[t]
            b = best_centre(level, eta, p, advice[t])
            call(learn_advised, False, exp4.state, eta, advice[t, :, arm], p[arm], costs[t, arm], b)
            z = advice[t].T * ((costs[t] - b) / p)[:, None]
            grown = np.exp(-eta * z) - 1 + eta * z
            assert p @ (grown @ q) / eta <= eta * 3 / 2 + 1e-12
            chance, paid = chance * p[arm], paid + costs[t, arm]
            level += (costs[t, arm] - level) / (t + 1)
        expected += chance * paid
        unbiased += chance * (exp4.state.estimates + exp4.state.sums[SHIFT])
        assert exp4.certificates[0].holds
    of_experts = np.einsum("tnk,tk->n", advice, costs)
    assert np.allclose(unbiased, of_experts)
    assert expected <= np.min(of_experts) + np.log(2) / eta + eta * 3 * 4 / 2


def test_the_baseline_is_settled_before_the_draw_and_within_its_limit() -> None:
    costs, advice = game(300, 4, 3, seed=5)
    exp4, level = Exp4(4, 3, 0.3), 0.0
    for t, (y, xi) in enumerate(zip(0.7 + 0.3 * costs, advice, strict=True)):
        q = exp4.weights
        number, arm = exp4.choose(xi)
        baseline = exp4.choices.pending[number][2]
        assert baseline == pytest.approx(best_centre(level, 0.3, q @ xi, xi), abs=1e-9)
        exp4.reward(number, cost=y[arm])
        level += (y[arm] - level) / min(t + 1, 100)
    assert exp4.certificates[0].holds


def test_experts_whose_weights_vanished_come_back() -> None:
    """An expert falls behind until his weight is 0; his arm then costs nothing, and nobody else says it."""
    costs, advice = np.zeros((40_000, 2)), np.empty((40_000, 2, 2))
    costs[:10_000, 1] = costs[10_000:, 0] = 1.0
    advice[:10_000], advice[10_000:] = [[0.5, 0.5], [0.0, 1.0]], np.eye(2)
    regrets = []
    for seed in range(3):
        exp4 = Exp4(2, 2, 0.2, seed=seed)
        exp4.learn(costs[:10_000], advice[:10_000])
        assert exp4.weights[1] == 0
        before, after = exp4.played.regret, exp4.learn(costs[10_000:], advice[10_000:]).played.regret
        assert before is not None
        assert after is not None
        regrets.append(before + after)
    (expected,) = (c for c in exp4.certificates if c.id == "EXP4")
    assert expected.premises_hold
    assert np.mean(regrets) <= expected.bound


def test_costs_that_are_nearly_alike_are_told_apart() -> None:
    """Five experts on five banners: with costs of 0.95 to 0.99, estimates about a baseline have less noise."""
    rng, paid = np.random.default_rng(0), dict.fromkeys((True, False), 0.0)
    means = np.array([0.99, 0.98, 0.97, 0.96, 0.95])
    for seed in range(8):
        costs = (rng.random((20_000, 5)) < means).astype(float)
        advice = np.broadcast_to(np.stack([0.8 * np.eye(5)[k] + 0.04 for k in range(5)]), (20_000, 5, 5))
        for centred in paid:
            exp4 = Exp4(5, 5, 0.02, seed=seed, centred=centred)
            arms = exp4.learn(costs, advice).played.arms
            paid[centred] += float(means[arms].mean()) / 8
            assert exp4.certificates[0].holds
    assert paid[True] < paid[False] - 0.002


def test_one_by_one_late_and_saved(tmp_path: Path) -> None:
    costs, advice = game(60, 3, 4, seed=2)
    whole, single = Exp4(3, 4, 0.1), Exp4(3, 4, 0.1)
    whole.learn(costs, advice)
    for y, xi in zip(costs, advice, strict=True):
        number, arm = single.choose(xi)
        single.reward(number, cost=y[arm])
    assert np.array_equal(whole.weights, single.weights)
    number, arm = single.choose(advice[0])
    again = load(single.save(tmp_path / "exp4.lr"))
    assert isinstance(again, Exp4)
    for exp4 in (single, again):
        later, _ = exp4.choose(advice[1])
        exp4.reward(number, 0.5)
        exp4.reward(later, 0.1)
    assert np.array_equal(again.weights, single.weights)
    path, promised = again.certificates
    assert path.holds
    assert not promised.premises_hold


def test_the_expert_who_knows_is_believed() -> None:
    costs, advice = game(2000, 5, 4, seed=3)
    advice[:, 0] = np.eye(4)[np.argmin(costs, axis=1)]
    exp4 = Exp4(5, 4, 0.05)
    exp4.learn(costs, advice)
    assert exp4.weights[0] > 0.9
    assert all(c.holds for c in exp4.certificates)


def test_refusals() -> None:
    exp4 = Exp4(2, 3, 0.1)
    for wrong in (np.ones((2, 3)), np.ones((3, 2)) / 2, [[1.5, -0.5, 0], [1, 0, 0]], [[np.nan, 1, 0], [1, 0, 0]]):
        with pytest.raises(DataError, match="advice"):
            exp4.choose(wrong)
    with pytest.raises(DataError, match="rounds × 3 arms"):
        exp4.learn(np.zeros((4, 2)), np.full((4, 2, 3), 1 / 3))
    with pytest.raises(DataError, match="between 0 and 1"):
        exp4.learn(np.full((4, 3), 2.0), np.full((4, 2, 3), 1 / 3))
    with pytest.raises(PartError):
        Exp4(2, 3, 0.0)


def test_what_is_proved_is_said_of_experts_and_not_of_arms() -> None:
    """The third arm costs nothing, and no expert names it: the best expert is met, the best arm is not."""
    costs, advice = np.tile([1.0, 1.0, 0.0], (2_000, 1)), np.tile(np.eye(2, 3), (2_000, 1, 1))
    exp4 = Exp4(2, 3, 0.05, compiled=False).learn(costs, advice)
    assert all(c.holds and c.promised < exp4.loss - costs[:, 2].sum() for c in exp4.certificates)
    for certificate in exp4.certificates:
        assert certificate.comparator == {"set": "experts", "count": 2}
        assert "expert" in certificate.statement
        assert "arm" not in certificate.statement
    assert "against every expert" in str(exp4)
    assert "every arm" not in str(exp4)
