"""Identities between algorithms of experts: one under many names."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Absolute, train, zoo
from lowregret.experts import ExpertMixture, Hedge
from lowregret.loss import Cost
from lowregret.types import Vector

costs = st.tuples(st.integers(1, 30), st.integers(2, 6), st.integers(0, 10**6)).map(
    lambda shape: np.random.default_rng(shape[2]).normal(size=shape[:2])
)
rates = st.floats(0.01, 3.0)


def hedge(z: Vector, eta: float, linearised: bool = True, prior: Any = None) -> ExpertMixture:
    panel = ExpertMixture(z.shape[1], Hedge(eta), Cost(), linearised=linearised, prior=prior, compiled=False)
    panel.learn(z, np.ones(len(z)))
    return panel


@settings(max_examples=15)
@given(costs, rates)
def test_mirror_descent_is_eg_is_weighted_majority_is_hedge(z: Vector, eta: float) -> None:
    run = train(zoo.eg(Cost(), eta), z, np.ones(len(z)), compiled=False)
    for linearised in (True, False):  # the costs are linear, so nothing changes
        panel = hedge(z, eta, linearised)
        np.testing.assert_allclose(panel.weights, run.weights, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(panel.loss, run.loss, rtol=1e-9, atol=1e-9)
    w = np.full(z.shape[1], 1 / z.shape[1])
    for row in z:
        w = w * np.exp(-eta * row)
        w /= w.sum()
    np.testing.assert_allclose(panel.weights, w, rtol=1e-9, atol=1e-12)


@given(costs, rates)
def test_eg_divergence_softmax_shifts_and_labels(z: Vector, eta: float) -> None:
    weights = np.vstack([hedge(z, eta).weights_over_time[1], hedge(z, eta).weights])
    total = np.vstack([np.zeros(z.shape[1]), np.cumsum(z, 0)])
    soft = np.exp(-eta * (total - total.min(1, keepdims=True)))
    np.testing.assert_allclose(weights, soft / soft.sum(1, keepdims=True), rtol=1e-9, atol=1e-12)
    for before, after, row in zip(weights[:-1], weights[1:], z, strict=True):
        step = math.log(before @ np.exp(-eta * row)) / eta + before @ row
        kept = before > 1e-200
        divergence = float(np.sum(before[kept] * np.log(before[kept] / after[kept]))) / eta
        np.testing.assert_allclose(step, divergence, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(hedge(z + 7.0, eta).weights, weights[-1], rtol=1e-9, atol=1e-12)
    order = np.random.default_rng(0).permutation(z.shape[1])
    np.testing.assert_allclose(hedge(z[:, order], eta).weights, weights[-1][order], rtol=1e-9, atol=1e-12)


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_a_large_eta_and_a_threshold_are_halving(points: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = ((np.arange(2**points)[:, None] >> np.arange(points)) & 1).astype(float)  # all functions on the points
    truth, alive = table[rng.integers(len(table))], np.ones(len(table), bool)
    panel = ExpertMixture(len(table), Hedge(1e3), Absolute(), linearised=False, compiled=False)
    for x in rng.integers(0, points, 12):
        number, p = panel.ask(table[:, x])
        assert (p >= 0.5 - 1e-9) == (table[alive, x].mean() >= 0.5)  # a tie is 1
        panel.tell(number, truth[x])
        alive &= table[:, x] == truth[x]


@given(costs, rates, st.integers(0, 100))
def test_hedge_is_its_potential_plus_gaps(z: Vector, eta: float, seed: int) -> None:
    prior = np.random.default_rng(seed).dirichlet(np.ones(z.shape[1]))
    panel = hedge(z, eta, prior=prior)
    weights = panel.weights_over_time[1]
    gaps = np.array([w @ row + math.log(w @ np.exp(-eta * row)) / eta for w, row in zip(weights, z, strict=True)])
    total = z.sum(0)
    low = total.min()
    potential = low - math.log(prior @ np.exp(-eta * (total - low))) / eta
    np.testing.assert_allclose(panel.loss, potential + gaps.sum(), rtol=1e-9, atol=1e-9)
    assert np.all(gaps >= -1e-12)
    assert np.all(gaps <= eta / 8 * np.ptp(z, axis=1) ** 2 + 1e-12)
    np.testing.assert_allclose(hedge(z + 2.0, eta, prior=prior).loss, panel.loss + 2.0 * len(z), rtol=1e-9)


@given(costs, rates, st.integers(0, 30))
def test_what_was_learnt_is_a_prior(z: Vector, eta: float, cut: int) -> None:
    cut = min(cut, len(z) - 1)
    whole, first = hedge(z, eta), hedge(z[:cut], eta)
    rest = hedge(z[cut:], eta, prior=first.weights)
    np.testing.assert_allclose(whole.weights, rest.weights, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(whole.loss, first.loss + rest.loss, rtol=1e-9, atol=1e-9)
