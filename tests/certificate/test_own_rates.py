"""Steps of a user's own that grow, though they say otherwise, against comparators that move."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from lowregret import L2Ball, Linear, train
from lowregret.loss import Cost
from lowregret.regret import Moving, RowRecord, Windows, regret
from lowregret.rule import ProjectedGradient
from lowregret.state import ROUNDS, State
from lowregret.step import Step


class Growing(Step):
    """η_t = ηt²"""

    falling: ClassVar[bool] = True
    eta: float

    def rate(self, s: State, present: float) -> float:
        return self.eta * (1.0 + s.counts[ROUNDS]) ** 2


def test_rates_that_grow_have_no_dynamic_bound() -> None:
    x, y = np.ones((6, 1)), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    run = train(Linear(Cost(), ProjectedGradient(L2Ball(1.0), Growing(1e-3))), x, y, compiled=False)
    for comparator in (Moving(-y[:, None]), Windows(3)):
        assert regret(RowRecord(run, x, y), comparator).certificate is None
