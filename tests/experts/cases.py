"""Aggregators and sequences of forecasts that every law is tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret import Absolute
from lowregret.experts import (
    BOA,
    AdaHedge,
    Aggregator,
    Descent,
    ExpertMixture,
    FixedShare,
    Hedge,
    MLPoly,
    ScaledHedge,
    Squint,
)
from tests.experts import naive

Rounds = tuple[Any, Any]  # forecasts and outcomes

AGGREGATORS: list[tuple[Aggregator, naive.Weigh]] = [
    (Hedge(0.3), naive.hedge(0.3)),
    (FixedShare(0.3, 0.05), naive.fixed_share(0.3, 0.05)),
    (AdaHedge(), naive.adahedge()),
    (MLPoly(), naive.ml_poly()),
    (MLPoly(0.9), naive.ml_poly(0.9)),
    (Squint(), naive.squint()),
    (Descent(0.1), naive.descent(0.1)),
    (BOA(), naive.boa()),
    (ScaledHedge(0.5), naive.scaled_hedge(0.5)),
]
PROVED = [aggregator for aggregator, _ in AGGREGATORS if aggregator != MLPoly(0.9)]


def random_rounds(rounds: int, experts: int, seed: int, asleep: float = 0.0) -> Rounds:
    """Experts with an error of their own each, some of the time asleep."""
    rng = np.random.default_rng(seed)
    y = rng.normal(size=rounds)
    x = y[:, None] + rng.normal(size=(rounds, experts)) * rng.uniform(0.2, 2, experts)
    x[rng.random(x.shape) < asleep] = np.nan
    return x, y


def changing(rounds: int = 150) -> Rounds:
    """The best expert changes four times."""
    y = np.zeros(rounds)
    x = np.ones((rounds, 5))
    for part in range(5):
        x[part * rounds // 5 : (part + 1) * rounds // 5, part] = 0.1
    return x, y


def all_equal(rounds: int = 50) -> Rounds:
    return np.tile(np.linspace(1, 2, rounds)[:, None], 4), np.zeros(rounds)


def huge(rounds: int = 80) -> Rounds:
    rng = np.random.default_rng(5)
    return rng.choice([-1e6, 1e6], (rounds, 4)), rng.choice([-1e6, 1e6], rounds)


def jumping(rounds: int = 120) -> Rounds:
    """The scale jumps by 1e12, up and down again."""
    x, y = random_rounds(rounds, 4, 6)
    scale = np.where(np.arange(rounds) // 30 % 2 == 1, 1e12, 1.0)
    return x * scale[:, None], y * scale


def comeback(rounds: int = 160) -> Rounds:
    """An expert falls so far behind that its weight is 0 in floating point, overtakes in one round, and stays ahead."""
    x = np.zeros((rounds, 3))
    x[: rounds // 2, 0], x[rounds // 2 :, 1:] = 50.0, 80.0
    x[rounds // 2, 1:] = 1e4
    return x, np.zeros(rounds)


def only_the_worst_awake(rounds: int = 120) -> Rounds:
    """After long, only experts whose weights have underflown beside the leader's are awake, one far better."""
    x = np.zeros((rounds, 3))
    x[:80, 1], x[:80, 2] = 60.0, 61.0
    x[80:, 0], x[80:, 1], x[80:, 2] = np.nan, 1.0, 2.0
    return x, np.zeros(rounds)


def adversarial(aggregator: Aggregator) -> Rounds:
    """Whoever is trusted most is wrong in the next round."""
    panel = ExpertMixture(3, aggregator, Absolute(), compiled=False)
    rows = []
    for _ in range(60):
        row = np.zeros(3)
        row[int(np.argmax(panel.weights))] = 1.0
        panel.learn(row[None], [0.0])
        rows.append(row)
    return np.array(rows), np.zeros(60)


SEQUENCES = {
    "random": random_rounds(120, 5, 1),
    "sleeping": random_rounds(120, 5, 2, 0.4),
    "one": random_rounds(40, 1, 3),
    "changing": changing(),
    "all equal": all_equal(),
    "huge": huge(),
    "jumping": jumping(),
    "comeback": comeback(),
    "only the worst awake": only_the_worst_awake(),
}
