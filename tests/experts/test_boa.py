"""Bernstein online aggregation, and exponential weights in units of the largest loss: their proofs step by step."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret.experts import BOA, ExpertMixture, ScaledHedge
from lowregret.experts.boa import growth
from lowregret.experts.certify import bound_against
from lowregret.experts.state import ENERGY, LARGEST
from lowregret.loss import Cost


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6), st.floats(0, 8), st.sampled_from([0.0, 0.4]))
def test_every_expert_is_owed_no_more_than_promised(n: int, rounds: int, seed: int, size: float, asleep: float) -> None:
    """Not only the best one, and after every round; Φ never exceeds 1 + E."""
    rng = np.random.default_rng(seed)
    costs = rng.choice([-1.0, 0.0, 0.3, 1.0], (rounds, n)) * 10.0 ** (size * rng.random((rounds, 1)))
    costs[rng.random(costs.shape) < asleep] = np.nan
    prior = rng.dirichlet(np.ones(n))
    for aggregator in (BOA(), ScaledHedge(0.5)):
        panel = ExpertMixture(n, aggregator, Cost(), prior=prior, compiled=False)
        for row in costs:
            panel.learn(row[None], [1.0])
            s = panel.book
            for k in range(n):
                bound = bound_against(aggregator, False, s, k)[2]
                assert s.owed[k] - s.losses[k] <= bound + 1e-9 * s.sums[LARGEST] * rounds
            if isinstance(aggregator, BOA) and s.sums[LARGEST] > 0:
                assert aggregator.potential(s) <= (1 + s.sums[ENERGY]) * (1 + 1e-9)
                assert np.all(s.rate * s.sums[LARGEST] <= 0.5 * (1 + 1e-12))


def test_growth_is_the_largest_gap() -> None:
    z = np.linspace(0, 1, 100_001)
    for share in (0.01, 0.3, 0.5, 0.9, 0.999):
        assert abs(growth(share) - np.max(z**share - z)) < 1e-6
    assert growth(1.0) == 0.0


def test_units_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    costs = rng.random((60, 4))
    for aggregator in (BOA(), ScaledHedge(2.0)):
        one, other = (
            ExpertMixture(4, aggregator, Cost(), compiled=False).learn(c, np.ones(60)) for c in (costs, costs * 2.0**40)
        )
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)
