"""Certificates of learning in blocks where rates fall, and where the terms of the regret cancel."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lowregret import Constant, Euclidean, Linear, MirrorDescent, train
from lowregret.loss import Cost
from lowregret.rule import AdaGrad
from lowregret.run.begin import begin
from lowregret.step import InverseTime


def test_the_first_block_has_one_rate() -> None:
    """‖u‖²/(2η) + (η/2)N² with another η in each term is less than the regret, 2 of two rounds played at 0."""
    learner = Linear(Cost(), MirrorDescent(Euclidean(), InverseTime(math.sqrt(2 / 3))))
    run = train(learner, np.ones((2, 1)), np.ones(2), learners=1, block=2, compiled=False)
    (delay,) = (c for c in run.certificates if c.id == "DELAY")
    assert run.linear_regret() == 2.0 <= delay.bound
    assert delay.holds
    after = run.learn(np.zeros((2, 1)), np.ones(2)).certificates  # a block without a step leaves it so
    assert all(c.bound >= 2.0 and c.holds for c in after)


@pytest.mark.parametrize("rule", [AdaGrad(1e14), MirrorDescent(Euclidean(), Constant(1e14))], ids=["adagrad", "ogd"])
@pytest.mark.parametrize("block", [1, 2, "free"])
def test_large_scores_that_cancel(rule: Any, block: Any) -> None:
    """Σ⟨w_t,z_t⟩ ≈ 0 of terms near 10¹⁴ is off by far more than its own size tells."""
    rng = np.random.default_rng(0)
    run = begin(Linear(Cost(), rule), 1, learners=1, block=block, compiled=False)
    paid, theta = Fraction(0), Fraction(0)
    for _ in range(40):
        at, y = float(run.point[0]), float(rng.normal())
        if at != 0 and rng.random() < 0.7:
            y = float(np.clip(float(-paid) / at, -1, 1))
        run.learn([[1.0]], [y])
        paid, theta = paid + Fraction(float(run.scores[0])) * Fraction(y), theta + Fraction(y)
        for c in run.certificates:
            assert c.holds
            assert paid + abs(theta) <= Fraction(c.proved)
