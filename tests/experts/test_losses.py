"""Losses by their usual names: percentages, symmetric ones, scaled errors."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lowregret import DataError
from lowregret.experts import AdaHedge, ExpertMixture, Layered, SymmetricPercentage, naive_scales
from lowregret.loss.verify import PREMISE


def test_smape_and_its_slope() -> None:
    loss = SymmetricPercentage()
    for p, y in ((2.0, 1.0), (0.3, 1.0), (-3.0, -1.0), (1.0, 1.0), (2.0, -1.0), (1.0, 0.0), (0.0, 2.0), (0.0, 0.0)):
        value, slope = loss.at(p, y)
        assert value == (0.0 if p == y else pytest.approx(200 * abs(p - y) / (abs(p) + abs(y))))
        if p not in (y, 0.0):
            assert slope == pytest.approx((loss.at(p + 1e-6, y)[0] - loss.at(p - 1e-6, y)[0]) / 2e-6, abs=1e-6)


def test_nothing_is_proved_of_smape() -> None:
    """A mean of forecasts loses more than they do in the mean, so a mixture that trusts both alike owes ever more."""
    assert SymmetricPercentage().at(5.0, 1.0)[0] > (SymmetricPercentage().at(2.0, 1.0)[0] + 155.6) / 2
    x, y = np.random.default_rng(0).uniform(1, 9, (40, 3)), np.ones(40)
    for panel in (
        Layered(3, SymmetricPercentage(), compiled=False),
        ExpertMixture(3, AdaHedge(), SymmetricPercentage(), linearised=False, compiled=False),
    ):
        found = panel.learn(x, y).certificate
        assert [p.name for p in found.premises if not p.holds] == [PREMISE]
        assert found.linear_regret is None
        assert panel.best.loss == pytest.approx((200 * (x - 1) / (x + 1)).sum(0)[panel.best.index])


@pytest.mark.parametrize("season", [1, 3, 50])
def test_scales_are_known_before(season: int) -> None:
    y = np.random.default_rng(1).normal(size=30)
    y[[4, 11]] = math.nan
    found = naive_scales(y, season)
    for t in range(30):
        apart = [abs(y[s] - y[s - season]) for s in range(season, t) if not math.isnan(y[s] - y[s - season])]
        assert found[t] == pytest.approx(np.mean(apart)) if apart else math.isnan(found[t])
    later = y.copy()
    later[20:] = 99.0
    assert np.array_equal(naive_scales(later, season)[:21], found[:21], equal_nan=True)


def test_scales_of_what_does_not_change_are_not_known() -> None:
    assert np.isnan(naive_scales(np.ones(5))).all()
    assert naive_scales([]).size == 0
    with pytest.raises(DataError, match="season from 1 on"):
        naive_scales(np.ones(5), 0)
