"""Figures of several workers put together."""

from __future__ import annotations

import numpy as np

from lowregret import zoo
from lowregret.loss import Hinge
from lowregret.run.begin import begin
from lowregret.spread.figures import add_tallies


def test_rows_that_came_again_to_one_worker_came_again() -> None:
    """In one call, only the order of the rows gives that away, and together they have none."""
    x = np.random.default_rng(0).normal(size=(100, 3))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    once, tiled = (begin(zoo.ogd(Hinge()), 3, compiled=False).learn(*given).tally for given in (
        (x, y), (np.tile(x, (4, 1)), np.tile(y, 4)),
    ))  # fmt: skip
    assert tiled.repeated
    assert add_tallies(once, tiled).repeated
    assert add_tallies(tiled, once).repeated
    assert not add_tallies(once, once).repeated
