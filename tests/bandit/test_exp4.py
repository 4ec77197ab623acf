"""EXP4 against a slow transcription, by enumeration, and its refusals."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lowregret import DataError, PartError, load
from lowregret.bandit import Exp4
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
    exp4 = Exp4(4, 3, 0.05, seed=2)
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
