"""Mistake bounds in numbers so large, or so small, that rounding decides; and sums whose terms cancel."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.fuzz_certificates import FURTHER
from benchmarks.fuzzing import fuzzed
from lowregret import Hinge, Linear, MirrorDescent, train, zoo
from lowregret.learner.kernel_perceptron import Polynomial
from lowregret.loss import Cost
from lowregret.mirror import UnnormalisedEntropy
from lowregret.rule import COCOB, KT, NAG, FreeGrad
from lowregret.run.begin import begin
from lowregret.step import InverseSqrt

RNG = np.random.default_rng(4)


def test_further_kinds_of_runs() -> None:
    kinds = [kind for kind in FURTHER if kind.__name__ != "fuzz_workers"]  # which compiles
    assert sum(claims for _, claims in fuzzed(kinds, 40, 7)) > 100


@pytest.mark.parametrize("learner", [zoo.pa(C=1e16), zoo.pa(), zoo.pa_ii(C=1e16), zoo.arow(r=1e-16)], ids=str)
def test_passive_aggressive_bounds_in_large_units(learner: Linear) -> None:
    """⟨u, x⟩ is rounded by more than the losses that the bounds add up."""
    for _ in range(20):
        x, y = RNG.normal(size=(10, 2)) * 1e16, RNG.choice([-1.0, 1.0], 10)
        run = train(learner, x, y, compiled=False)
        for u in (run.weights, run.weights * 1e-3, RNG.normal(size=2) * 1e-16):
            assert all(c.holds for c in run.mistake_certificates(u, x, y) if c.premises_hold)


def test_rows_whose_squares_vanish() -> None:
    """Σ‖x‖² is 0 of rows of 10⁻¹⁷⁰, and F(u) too: the bound of one mistake is no 0."""
    x, y = np.array([[1e-170]]), np.array([1.0])
    run = train(zoo.perceptron(), x, y, compiled=False)
    found = {c.id: c for c in run.mistake_certificates([2e170], x, y)}
    assert run.mistakes == 1
    assert found["PERC-OBS"].holds
    assert all(c.holds for c in found.values() if c.premises_hold)


def test_a_disjunction_beside_a_tiny_bias() -> None:
    """1/(4b²) is no number where b² is 0, and PERC-OR says nothing."""
    x, y = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, -1.0])
    run = train(Linear(zoo.perceptron().loss, zoo.perceptron().rule, bias=1e-170), x, y, compiled=False)
    assert all(c.id != "PERC-OR" for c in run.mistake_certificates([1.0, 0.0, 0.0], x, y))


def test_arow_counts_mistakes_that_cost_one() -> None:
    """A mistake costs the margin at least, which may be next to nothing."""
    x, y = np.ones((4, 1)), np.array([1.0, -1.0, 1.0, -1.0])
    run = train(zoo.arow(Hinge(1e-9)), x, y, compiled=False)
    (found,) = (c for c in run.mistake_certificates([0.0], x, y) if c.id == "AROW")
    assert run.mistakes is not None
    assert run.mistakes > found.bound
    assert not found.premises_hold


def test_kernels_whose_length_cancels() -> None:
    """u = 10¹²(x₂ − x₁) = (1) has ‖u‖² = αᵀKα of terms 10²⁴ times as large."""
    x, y = np.array([[1.0], [1.0 + 1e-12]]), np.array([1.0, -1.0])
    run = train(zoo.kernel_perceptron(Polynomial(1, 0.0)), x, y, compiled=False)
    found = {c.id: c for c in run.mistake_certificates([-1e12, 1e12], x, y)}
    f = Fraction(2) + Fraction(10**12) * (Fraction(x[1, 0]) - 1) * (Fraction(x[1, 0]) - 1)
    assert abs(Fraction(found["PERC-OBS"].details["F"]) - f) <= Fraction(found["PERC-OBS"].rounding)


@pytest.mark.parametrize(
    "rule",
    [NAG(1e12), KT(1e12, 1.0), FreeGrad(1e12), COCOB(2.0), MirrorDescent(UnnormalisedEntropy(1.0), InverseSqrt(30.0))],
    ids=lambda rule: type(rule).__name__,
)
def test_sums_of_scores_that_cancel(rule: Any) -> None:
    """Σ⟨w_t,z_t⟩ ≈ 0 of large terms is off by more than its own size tells: rounding knows how long iterates were."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        run = begin(Linear(Cost(), rule), 1, compiled=False)
        paid, theta = Fraction(0), Fraction(0)
        for _ in range(30):
            at, y = float(run.point[0]), float(rng.normal())
            if at != 0 and rng.random() < 0.7:
                y = float(np.clip(float(-paid) / at, -1, 1))
            run.learn([[1.0]], [y])
            paid, theta = paid + Fraction(float(run.scores[0])) * Fraction(y), theta + Fraction(y)
            worst = paid - theta if isinstance(rule, MirrorDescent) else paid + abs(theta)
            assert all(not c.holds or worst <= Fraction(c.proved) for c in run.certificates if np.isfinite(c.proved))
