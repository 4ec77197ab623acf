"""Threads that work together: an error in one of them ends all, and is raised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowregret import Constant, Euclidean, Linear, Loss, MirrorDescent
from lowregret.run.begin import begin
from lowregret.run.helpers import Helpers
from lowregret.run.pace import Pace


class Touchy(Loss):
    """A loss that cannot bear a label of 7."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        if y == 7.0:
            raise ValueError("seven")
        return (p - y) * (p - y), 2.0 * (p - y)


def test_what_ends_a_thread_is_raised_and_the_others_are_let_go() -> None:
    released: list[int] = []

    def work(k: int) -> None:
        if k == 2:
            raise ValueError("two")

    with pytest.raises(ValueError, match="two"), Helpers(work, 3, lambda: released.append(1)):
        pass
    assert released == [1]


def test_an_error_of_the_block_itself_is_raised_and_the_others_are_let_go() -> None:
    released: list[int] = []
    with pytest.raises(KeyError), Helpers(lambda k: None, 1, lambda: released.append(1)):
        raise KeyError
    assert released == [1]


@pytest.mark.parametrize("options", [{"block": 8}, {"block": "free"}], ids=["blocks", "free"])
@pytest.mark.parametrize("where", [4_999, 5_000])
def test_no_thread_waits_for_one_whose_loss_failed(
    options: dict[str, Any], where: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Pace, "together", lambda self: True)
    learner = Linear(Touchy(), MirrorDescent(Euclidean(), Constant(1e-3)))
    x, y = np.random.default_rng(0).normal(size=(10_000, 30)), np.ones(10_000)
    y[where] = 7.0
    run = begin(learner, 30, learners=2, **options)
    with pytest.raises(ValueError, match="seven"):
        run.learn(x, y)
