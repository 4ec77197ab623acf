"""From online to batch: identities by enumeration, worked examples, failure rates by simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, Hinge
from lowregret.output import Average, Output, WeightedAverage
from lowregret.risk.online_to_batch import (
    AVERAGE,
    DRAWN,
    RiskCertificate,
    cor_5_2,
    cor_13,
    deviation,
    o2b_eb,
    o2b_hp,
    o2b_small,
    prop_3,
    prop_4,
    thm_14_9,
)
from lowregret.train import train
from tests.naive import Vector
from tests.running import costs, iterates, labelled

# ---- identities ------------------------------------------------------------------------------------------------------

PSI = [(np.array([1.0, 0.5]), 1.0), (np.array([-0.5, 2.0]), -1.0), (np.array([0.3, -1.0]), 1.0)]
ROUNDS = 4


def hinge(w: Vector, x: Vector, y: float) -> float:
    return max(0.0, 1 - y * float(w @ x))


def risk(w: Vector) -> float:
    return float(np.mean([hinge(w, x, y) for x, y in PSI]))


def test_every_sample_of_a_finite_source() -> None:
    """THM-5.1: E mean C(w_t) = E (1/T)Σf_t(w_t) to rounding; Jensen for averages, plain and weighted."""
    drawn, observed, averaged, weighted, mixed = [], [], [], [], []
    share = np.array([2 * (t + 1) / (ROUNDS * (ROUNDS + 3)) for t in range(1, ROUNDS + 1)])
    assert share.sum() == pytest.approx(1)
    for sample in itertools.product(PSI, repeat=ROUNDS):
        w, points, losses = np.zeros(2), [], []
        for x, y in sample:
            points.append(w)
            losses.append(hinge(w, x, y))
            w = w + 0.7 * y * x * (losses[-1] > 0)
        risks = np.array([risk(p) for p in points])
        drawn.append(risks.mean())
        observed.append(np.mean(losses))
        averaged.append(risk(np.mean(points, axis=0)))
        weighted.append(risk(share @ np.array(points)))
        mixed.append(share @ np.array(losses))
        assert averaged[-1] <= risks.mean() + 1e-12
        assert weighted[-1] <= share @ risks + 1e-12
    assert np.mean(drawn) == pytest.approx(np.mean(observed), rel=1e-12)
    assert np.mean(averaged) <= np.mean(observed)
    assert np.mean(weighted) <= np.mean(mixed)


@pytest.mark.parametrize("output", [Average(), WeightedAverage()], ids=repr)
def test_one_round_is_its_own_average(output: Output) -> None:
    run = train(zoo.ogd_eager(Hinge(), 0.3, output=output), [[1.0, 2.0]], [1.0], compiled=False)
    assert run.weights.tolist() == [0.0, 0.0]
    assert run.point.tolist() != [0.0, 0.0]


@given(st.integers(1, 30), st.floats(0.01, 2.0), st.integers(0, 99))
def test_sums_of_iterates(rounds: int, eta: float, seed: int) -> None:
    """Streaming average = stored mean, and for gradient descent Σw_t = T·w_{T+1} + ηΣt·z_t."""
    z = np.random.default_rng(seed).normal(size=(rounds, 3))
    learner = zoo.ogd(Cost(), eta, Average())
    run = train(learner, z, np.ones(rounds), compiled=False)
    points = np.vstack([np.zeros(3), -eta * np.cumsum(z, axis=0)])
    np.testing.assert_allclose(run.weights, points[:-1].mean(axis=0), atol=1e-12)
    total = rounds * points[-1] + eta * np.arange(1, rounds + 1) @ z
    np.testing.assert_allclose(rounds * run.weights, total, atol=1e-9)


def test_stored_iterates_of_a_bounded_learner() -> None:
    rng = np.random.default_rng(1)
    rows = labelled(rng.normal(size=(40, 3)), rng.choice([-1.0, 1.0], 40))
    learner: Linear = zoo.ogd_lazy(Absolute(), 0.3, 0.5, Average())
    stored = iterates(learner, rows)[:-1].mean(axis=0)
    np.testing.assert_allclose(train(learner, rows.X, rows.y, compiled=False).weights, stored, rtol=1e-12)
    assert costs(rows.X).y.tolist() == [1.0] * 40


# ---- worked examples -------------------------------------------------------------------------------------------------

EXAMPLES: list[tuple[Callable[[], RiskCertificate], str, float, float]] = [
    (lambda: o2b_hp(0, 100, 100, 1, math.log(20), 0.05, output=AVERAGE, of="loss"), "O2B-HP", 0.122, 5e-4),
    (lambda: prop_4(4, 100, 0.05), "PROP-4", 0.1107, 5e-5),
    (lambda: thm_14_9(0, 1, 0.1, 1, 1, 100, 0.05), "THM-14.9", 0.372, 5e-4),
    (lambda: cor_13(0.1, 1, 1, 1000), "COR-13a", 0.0478, 5e-5),
    (lambda: cor_13(0.1, 1, 1, 1000, weighted=True), "COR-13b", 0.0241, 5e-5),
    (lambda: o2b_small(4, 100, 0.05, output=DRAWN, of="error"), "O2B-SMALL", (4 + math.log(20)) / 63.212, 1e-4),
    (lambda: cor_5_2(12.0, 100, output=AVERAGE), "COR-5.2", 0.12, 1e-12),
    (lambda: prop_3(0.0, 1.0, 1.0, 1.0, 50), "PROP-3", 1 / 50, 1e-12),  # a point mass: one mistake, both sides 1/T
]


@pytest.mark.parametrize(("make", "name", "value", "off"), EXAMPLES, ids=[row[1] for row in EXAMPLES])
def test_worked_examples(make: Callable[[], RiskCertificate], name: str, value: float, off: float) -> None:
    found = make()
    assert found.id == name
    assert found.bound == pytest.approx(value, abs=off)
    assert found.premises_hold
    assert found.to_json()["bound"] == found.bound


def test_a_perceptron_on_one_point_errs_once() -> None:
    """PROP-3 holds with equality: E err(w_s) = 1/T."""
    run = train(zoo.perceptron(), np.tile([1.0, 0.0], (50, 1)), np.ones(50), compiled=False)
    assert run.mistakes == 1
    assert prop_3(0.0, 1.0, 1.0, 1.0, 50).bound == run.mistakes / 50
    assert not prop_3(0.0, 1.0, 1.0, -1.0, 50).premises_hold
    assert not prop_3(0.0, 1.0, 1.0, 0.0, 50).premises_hold


# ---- empirical Bernstein ---------------------------------------------------------------------------------------------


@given(st.floats(0, 1e7), st.floats(0.1, 60))
def test_the_mixture_is_no_worse_than_its_best_member(spread: float, log_inverse: float) -> None:
    k = np.arange(90)
    lam = 0.95 * 0.5 ** (k / 2)
    union = ((-np.log1p(-lam) - lam) * spread + log_inverse + np.log((k + 1.0) * (k + 2.0))) / lam
    assert 0 <= deviation(spread, log_inverse) <= union.min() * (1 + 1e-9)
    assert (
        deviation(spread, log_inverse) <= deviation(spread + 1, log_inverse) <= deviation(spread + 1, log_inverse + 1)
    )


@given(st.floats(-1, 1), st.floats(0, 0.99))
def test_the_lemma(xi: float, lam: float) -> None:
    """exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ for ξ ≥ −1"""
    psi = -math.log1p(-lam) - lam
    assert math.exp(lam * xi - psi * xi * xi) <= 1 + lam * xi + 1e-12


def adaptive_losses(runs: int, rounds: int, seed: int) -> tuple[Vector, Vector]:
    """Losses of learners whose chance of a mistake depends on their past; and that chance."""
    rng = np.random.default_rng(seed)
    f, c = np.empty((runs, rounds)), np.empty((runs, rounds))
    for t in range(rounds):
        past = f[:, :t].mean(axis=1) if t else np.zeros(runs)
        c[:, t] = np.where(past > 0.1, 0.05, 0.3)
        f[:, t] = rng.random(runs) < c[:, t]
    return f, c


def test_looking_after_every_round_fails_at_most_as_often_as_promised() -> None:
    """2,000 runs of 400 adaptive rounds at δ = 0.2: Σ C(w_t) may ever exceed the bound in 20 % of them."""
    f, c = adaptive_losses(2000, 400, 3)
    means = np.cumsum(f, axis=1) / np.arange(1, 401)
    predicted = np.hstack([np.zeros((2000, 1)), means[:, :-1]])
    spread = np.cumsum((f - predicted) ** 2, axis=1)
    excess = np.cumsum(c - f, axis=1)
    grid = np.linspace(0, 60, 241)
    bound = np.interp(spread, grid, [deviation(v, math.log(5)) for v in grid])
    ever = float(np.mean(np.any(excess > bound, axis=1)))
    assert 0 < ever <= 0.2  # it does fail now and then, so the bound is not just huge


def test_a_fixed_number_of_rounds_fails_at_most_as_often_as_promised() -> None:
    f, c = adaptive_losses(2000, 200, 4)
    total, truth = f.sum(axis=1), c.mean(axis=1)
    said: dict[str, Any] = {"output": DRAWN, "of": "error"}
    hoeffding = [o2b_hp(s, 200, 200, 1.0, math.log(10), 0.1, **said).bound for s in total]
    small = [o2b_small(s, 200, 0.1, **said).bound for s in total]
    assert np.mean(truth > hoeffding) <= 0.1
    assert np.mean(truth > small) <= 0.1


def test_few_mistakes_cost_little() -> None:
    said = {"output": DRAWN, "of": "error"}
    none = o2b_eb(0, 0, 1000, 1.0, math.log(20), 0.05, **said)
    assert none.bound <= 4 / 1000
    assert none.bound < o2b_hp(0, 1000, 1000, 1.0, math.log(20), 0.05, **said).bound / 9
    assert none.anytime


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, math.nan])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(PartError, match="delta is the probability"):
        prop_4(1, 10, delta)
