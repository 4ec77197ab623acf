"""Experts on real data: figures that are known, certificates that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Square
from lowregret.experts import (
    AdaHedge,
    Aggregator,
    BrierSimplex,
    ExpertMixture,
    Hedge,
    Layered,
    LogScore,
    MLPoly,
    OnlineNewton,
    Percentage,
    Review,
    Squint,
    best_rebalanced,
)
from lowregret.loss import LogWealth
from lowregret.stream.table import read_table

Find = Callable[[str], Path]


def load(find: Find) -> tuple[list[str], Any, Any]:
    table = read_table(str(find("french_load_experts.csv.gz")))
    names = [name for name in table.columns if name not in ("date", "load")]
    return names, np.column_stack([table.numbers(name) for name in names]), table.numbers("load")


def odds(find: Find) -> tuple[list[str], Any, Any]:
    table = read_table(str(find("football_odds.csv.gz")))
    names = [name.removesuffix("H") for name in table.columns if name.endswith("H")]
    x = 1 / np.stack([np.column_stack([table.numbers(name + c) for c in "HDA"]) for name in names], 1)
    return names, x / x.sum(2, keepdims=True), np.array(["HDA".index(word) for word in table.words("result")])


def test_layers_beat_what_was_asked_of_them(data_file: Find) -> None:
    names, x, y = load(data_file)
    panel = Layered(names)
    p = panel.learn(x, y).forecasts
    assert ((p - y) ** 2).mean() <= 1.117e6
    assert (100 * np.abs(p / y - 1)).mean() <= 1.380
    review = Review.of(panel, x, y)
    assert review.certificate.holds
    assert review.combination is not None
    assert panel.loss < review.combination.value  # better than any fixed weights: the lockdown moved them
    by_percent = Layered(names, Percentage(), compiled=False)
    assert (100 * np.abs(by_percent.learn(x, y).forecasts / y - 1)).mean() <= 1.380
    assert by_percent.certificate.holds


@pytest.mark.parametrize("aggregator", [Hedge(1e-9), AdaHedge(), MLPoly(), Squint()], ids=repr)
def test_load_certificates(data_file: Find, aggregator: Aggregator) -> None:
    names, x, y = load(data_file)
    panel = ExpertMixture(names, aggregator)
    panel.learn(x, y)
    certificate = Review.of(panel, x, y).certificate
    assert certificate.holds, certificate
    assert certificate.regret is not None
    assert certificate.regret <= panel.certificate.linear_regret  # type: ignore[operator]


def test_bookmakers(data_file: Find) -> None:
    names, x, y = odds(data_file)
    bayes = ExpertMixture(names, Hedge(1.0), LogScore(), parts=3, linearised=False)
    bayes.learn(x, y)
    assert bayes.loss <= 18_289.10 + math.log(8)
    assert bayes.best.name == "B365"
    assert bayes.certificate.holds
    assert bayes.regret <= math.log(8)
    brier = ExpertMixture(names, Hedge(1.0), Square(), parts=3, linearised=False, substitution=BrierSimplex())
    brier.learn(x, y)
    assert brier.best.loss == pytest.approx(10_996.13, abs=0.01)
    assert brier.regret <= math.log(8)
    assert brier.certificate.holds


def test_new_york(data_file: Find) -> None:
    x = np.loadtxt(data_file("relatives_nyse_o.csv.gz"), delimiter=",")
    best = best_rebalanced(x)
    assert np.prod(x.mean(1)) == pytest.approx(27.08, abs=0.01)
    assert math.exp(-best.value) == pytest.approx(250.6, abs=0.05)
    assert best.gap < 1e-6
    others = OnlineNewton(36, beta=1.0, delta=0.125)
    others.learn(x)
    assert others.wealth >= 109
    ours, eg = OnlineNewton(36), ExpertMixture(36, Hedge(0.05), LogWealth())
    ours.learn(x)
    eg.learn(x, np.ones(len(x)))
    for panel in (ours, eg):
        assert panel.certificate.holds
        assert panel.loss - best.value <= panel.certificate.bound
    hold = ExpertMixture(36, Hedge(1.0), LogWealth(), linearised=False)  # buy and hold
    hold.learn(x, np.ones(len(x)))
    assert math.exp(-hold.loss) == pytest.approx(14.50, abs=0.01)
    assert math.exp(-hold.best.loss) == pytest.approx(54.14, abs=0.01)


def test_large_companies(data_file: Find) -> None:
    x = np.loadtxt(data_file("relatives_sp500.csv.gz"), delimiter=",")
    assert np.prod(x.mean(1)) == pytest.approx(1.65, abs=0.01)
    assert x.prod(0).max() == pytest.approx(3.78, abs=0.01)
    best = best_rebalanced(x)
    for panel in (OnlineNewton(25), ExpertMixture(25, AdaHedge(), LogWealth(), compiled=False)):
        panel.learn(x, np.ones(len(x)))
        assert panel.certificate.holds
        assert panel.loss - best.value <= panel.certificate.bound
