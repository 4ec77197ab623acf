"""Bandit algorithms of one's own: what they choose must be an arm, with a probability."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError
from lowregret.bandit import Bandit
from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm


class Stubborn(BanditAlgorithm):
    """One arm for some rounds, then another, with a probability that it claims."""

    name = "stubborn"
    arm: int
    p: float
    unsaid: bool = False

    def begin(self, s: Any) -> None:
        """Nothing is to be set."""

    def choose(self, s: Any) -> tuple[int, float]:
        if s.counts[0] < 2:
            return 1, 1.0
        return self.arm, math.inf - math.inf if self.unsaid else self.p

    def learn(self, s: Any, arm: int, p: float, y: float) -> None:
        """Nothing is learnt."""

    def policy(self, s: Any, w: Any) -> None:
        for i in range(w.size):
            w[i] = self.p


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "algorithm",
    [Stubborn(-1, 0.5), Stubborn(2, 0.5), Stubborn(0, 0.0), Stubborn(0, 1.5), Stubborn(0, 0.5, True)],
    ids=repr,
)
def test_what_is_no_choice_is_refused(algorithm: Stubborn, compiled: bool, tmp_path: Path) -> None:
    """Arm −1 was counted as the last one; none of these could be saved."""
    costs, why = (
        np.full((4, 2), 0.5),
        f"Stubborn chose arm {algorithm.arm} with probability .*: its `choose` must return",
    )
    for replayed in (False, True):
        bandit = Bandit(2, algorithm, compiled=compiled)
        with pytest.raises(DataError, match=why):
            bandit.replay(np.ones(4, int), costs[:, 0]) if replayed else bandit.learn(costs)
        with pytest.raises(DataError, match=why):
            bandit.choose()
        assert (bandit.rounds, bandit.state.shown.tolist(), bandit.loss) == (2, [0, 2], 1.0)
        bandit.save(tmp_path / "bandit.lr")


def test_what_is_no_policy_is_refused() -> None:
    for p in (0.0, -0.5):
        with pytest.raises(DataError, match=r"Stubborn has the policy .*: `policy` must write"):
            _ = Bandit(2, Stubborn(0, p)).policy
    assert Bandit(2, Stubborn(0, UNKNOWN)).learn(np.zeros((4, 2))).rounds == 4
