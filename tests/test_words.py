"""Counts as people read them."""

from __future__ import annotations

import pytest

from lowregret.bandit import Bandit, Exp3
from lowregret.words import counted


@pytest.mark.parametrize(
    ("count", "things", "told"),
    [
        (0, ("round",), "0 rounds"),
        (1, ("round",), "1 round"),
        (2_000, ("round",), "2,000 rounds"),
        (1.0, ("class", "classes"), "1 class"),
        (3, ("class", "classes"), "3 classes"),
    ],
)
def test_one_thing_and_many(count: float, things: tuple[str, ...], told: str) -> None:
    assert counted(count, *things) == told


def test_a_bandit_of_one_round() -> None:
    bandit = Bandit(1, Exp3(eta=0.1), compiled=False)
    number, _ = bandit.choose()
    assert str(bandit).startswith("0 rounds of exp3 on 1 arm, loss 0 (0 a round), 1 choice waits for its cost")
    bandit.choose()
    bandit.reward(number, 1.0)
    assert str(bandit).startswith("1 round of exp3 on 1 arm, loss 0 (0 a round), 1 choice waits for its cost")
    bandit.choose()
    assert "2 choices wait for their costs" in str(bandit)
