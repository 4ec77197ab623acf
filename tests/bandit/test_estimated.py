"""Rules fed with estimates: EXP3 is one of them, and THM-4.1 by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from lowregret import Constant, DataError, Entropy, Euclidean, L2Ball, MirrorDescent, ProjectedGradient, Rule
from lowregret.bandit import Bandit, EstimatedDescent, Exp3
from lowregret.bandit.loops import learn_one


def test_exp3_is_mirror_descent_on_estimates() -> None:
    rng = np.random.default_rng(0)
    descent, bandit = EstimatedDescent(MirrorDescent(Entropy(), Constant(0.1)), 4), Bandit(4, Exp3(0.1, centred=False))
    for _ in range(100):
        w = descent.point
        assert np.allclose(w, bandit.policy)
        arm, y = int(rng.choice(4, p=w / w.sum())), float(rng.random())
        descent.learn(np.eye(4)[arm] * y / w[arm])
        learn_one(bandit.algorithm, bandit.state, arm, w[arm], 0.0, y)
    path = bandit.certificates[0]
    certificate = descent.certificate
    assert certificate.id == "THM-4.1"
    assert certificate.linear_regret == pytest.approx(path.linear_regret)
    assert certificate.bound <= path.bound + 1e-9  # LEM-2.20 is the sharper theorem on a path


@pytest.mark.parametrize(
    "rule",
    [
        MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.2)),
        ProjectedGradient(L2Ball(1.0), Constant(0.2)),
        MirrorDescent(Euclidean(), Constant(0.1)),
    ],
    ids=str,
)
def test_expected_regret_by_enumeration(rule: Rule) -> None:
    """z_t = g_t ± noise with a fair coin: over all 2^5 paths, E regret ≤ E bound, and the bound on every path."""
    rng = np.random.default_rng(1)
    g, noise = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    expected, bound = 0.0, 0.0
    for coins in product((1, -1), repeat=5):
        descent, loss = EstimatedDescent(rule, 3, L2Ball(1.0), compiled=False), 0.0
        for t, coin in enumerate(coins):
            loss += float(descent.point @ g[t])
            descent.learn(g[t] + coin * noise[t])
        assert descent.rounds == 5
        assert descent.certificate.holds
        expected += (loss + float(np.linalg.norm(g.sum(axis=0)))) / 32
        bound += descent.certificate.bound / 32
    assert expected <= bound + 1e-9


def test_estimates_that_are_no_numbers_are_refused() -> None:
    descent = EstimatedDescent(MirrorDescent(Euclidean(), Constant(0.1)), 2)
    for wrong in ([1.0], [np.nan, 0.0], "no"):
        with pytest.raises(DataError):
            descent.learn(wrong)


def test_the_numbers_of_a_run_are_not_called_expectations() -> None:
    """E regret is at most the mean of the regret on estimates, not what that is in one run, which may be far less."""
    rng, paid, seen = np.random.default_rng(0), [], []
    for _ in range(60):
        player, cost = EstimatedDescent(MirrorDescent(Entropy(), Constant(0.3)), 2, compiled=False), 0.0
        for _ in range(10):
            w = player.point
            arm = int(rng.random() < w[1])
            player.learn(np.eye(2)[arm] * (0.5 - 0.1 * arm) / w[arm])
            cost += w[0] * 0.1
        paid.append(cost)
        seen.append(player.certificate.linear_regret or 0.0)
        assert player.certificate.measure == "regret on estimates"
        assert "expected regret" not in str(player)
    assert min(seen) < np.mean(paid) < np.mean(seen)
