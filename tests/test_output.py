"""Averages of iterates, kept in O(nnz), are their averages; an iterate drawn at random is one that was played."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lowregret.domain import Box, L2Ball, Reals, Simplex
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge, Logistic
from lowregret.mirror import Entropy, Euclidean, PNorm, UnnormalisedEntropy
from lowregret.output import Average, Last, Output, Random, WeightedAverage
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from tests.compositions import COMPOSITIONS, Composition, Rows, rows_for
from tests.naive import Vector
from tests.running import bits, costs, labelled, learn, model, point


def margins(n: int, d: int = 4, seed: int = 0) -> Rows:
    rows = rows_for("margin", n, d, seed)
    return labelled(rows.X, rows.y)


def gains(n: int, size: float = 1.0) -> Rows:
    """Costs ≤ 0: the weights under an entropy only grow."""
    return costs(-size * np.abs(rows_for("costs", n, 4, 0, density=0.5).X))


def both_ways(n: int, size: float) -> Rows:
    return costs(size * rows_for("costs", n, 4, 0).X)


def stored(learner: Linear, rows: Rows) -> tuple[Vector, Vector]:
    """The learner's average, and the same from stored iterates (interpreted: the code is the same, compiled or not)."""
    state = learner.start(rows.X.shape[1])
    total, divisor = np.zeros(state.dimension), 0.0
    for i in range(len(rows.y)):
        weight = learner.output.weight(i + 1)
        total += weight * point(learner, state)
        divisor += weight
        learn(learner, Rows(*(a[i : i + 1] for a in rows)), state=state, compiled=False)
    return model(learner, state), total / divisor


CASES = {
    "a ball that always binds": (
        Linear(Hinge(), ProjectedGradient(L2Ball(0.1), Constant(1.0)), Average()),
        margins(400),
    ),
    "a tiny ball": (Linear(Logistic(), ProjectedGradient(L2Ball(1e-6), Constant(10.0)), Average()), margins(200)),
    "decay": (Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)), Average(), ridge=0.5), margins(800)),
    "decay with changing sign": (
        Linear(Hinge(), ProjectedGradient(Reals(), Constant(1.0)), Average(), ridge=1.9),
        margins(400),
    ),
    "growth": (Linear(Hinge(), ProjectedGradient(L2Ball(5.0), Constant(1.0)), Average(), ridge=4.0), margins(400)),
    "1 − ηλ = 0": (Linear(Hinge(), ProjectedGradient(Reals(), InverseTime(0.5)), Average(), ridge=0.5), margins(200)),
    "1 − ηλ = 1e-16": (
        Linear(Hinge(), ProjectedGradient(Reals(), InverseTime(49.0)), Average(), ridge=49.0),
        margins(200),
    ),
    "strongly convex, weighted": (
        Linear(Hinge(), ProjectedGradient(Reals(), WeightedInverseTime(0.3)), WeightedAverage(), ridge=0.3),
        margins(400),
    ),
    "strongly convex, weighted, plain average": (
        Linear(Hinge(), ProjectedGradient(L2Ball(1.0), WeightedInverseTime(0.3)), Average(), ridge=0.3),
        margins(400),
    ),
    "gains under an entropy": (Linear(Cost(), MirrorDescent(Entropy(2.0), Constant(1.0)), Average()), gains(900)),
    "costs under an entropy": (
        Linear(Cost(), MirrorDescent(Entropy(2.0), Constant(1.0)), WeightedAverage()),
        gains(900, -1.0),
    ),
    "an exponential that overflows": (
        Linear(Cost(), MirrorDescent(Entropy(), Constant(1.0)), Average()),
        gains(20, 2000.0),
    ),
    "one that also underflows": (
        Linear(Cost(), MirrorDescent(Entropy(), Constant(1.0)), Average()),
        both_ways(60, 800.0),
    ),
    "a changing rate under an entropy": (
        Linear(Cost(), MirrorDescent(Entropy(), InverseSqrt(3.0)), Average()),
        both_ways(100, 1.0),
    ),
    "unnormalised": (
        Linear(Cost(), MirrorDescent(UnnormalisedEntropy(0.2), Constant(0.3)), Average()),
        both_ways(200, 1.0),
    ),
    "a high power": (Linear(Cost(), MirrorDescent(PNorm(20.0), Constant(0.1)), Average()), gains(300)),
    "a high power, both ways": (
        Linear(Cost(), MirrorDescent(PNorm(20.0), Constant(0.1)), Average()),
        both_ways(300, 5.0),
    ),
    "a box and a changing rate": (
        Linear(Hinge(), MirrorDescent(Euclidean(Box(-0.3, 0.2)), InverseSqrt(1.0)), Average()),
        margins(200),
    ),
    "a simplex and a changing rate": (
        Linear(Hinge(), MirrorDescent(Euclidean(Simplex(3.0)), InverseSqrt(1.0)), WeightedAverage()),
        margins(200),
    ),
    "an adaptive rate that falls at once": (
        Linear(Cost(), MirrorDescent(Euclidean(L2Ball(1.0)), Adaptive()), Average()),
        both_ways(100, 1e8),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_average_is_that_of_the_iterates(case: str) -> None:
    learner, rows = CASES[case]
    average, expected = stored(learner, rows)
    np.testing.assert_allclose(average, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_a_long_average_keeps_its_digits() -> None:
    """Compiled: 100,000 rounds under a ball that always binds, where the common factor falls by e^{-10,000}."""
    rows = margins(100_000, 3)
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(0.1), Constant(0.05)), Average())
    average = model(learner, learn(learner, rows).state)
    w, total = np.zeros(3), np.zeros(3)
    for x, y in zip(rows.X, rows.y, strict=True):
        total += w
        if y * (w @ x) < 1:
            w = w + 0.05 * y * x
            w *= min(1.0, 0.1 / np.sqrt(w @ w))
    np.testing.assert_allclose(average, total / len(rows.y), rtol=1e-9)


def test_only_averages_cost_memory() -> None:
    rule = MirrorDescent(Euclidean(), Constant(0.1))
    assert Linear(Hinge(), rule, Last()).start(5).lag.size == 0
    assert Linear(Hinge(), rule, Average()).start(5).lag.size == 10


@pytest.mark.parametrize(
    ("output", "weights"), [(Average(), [1.0, 1.0, 1.0]), (WeightedAverage(), [2.0, 3.0, 4.0])], ids=repr
)
def test_weights(output: Output, weights: list[float]) -> None:
    assert [output.weight(t) for t in (1, 2, 3)] == weights
    assert output.averages()
    assert not Last().averages()
    assert sum(WeightedAverage().weight(t) for t in range(1, 11)) == 10 * 13 / 2


# ---- one iterate, drawn at random ------------------------------------------------------------------------------------


def kept_round(output: Random, rounds: int) -> int:
    """Which iterate is kept after so many rounds."""
    with np.errstate(over="ignore"):
        return max(t for t in range(1, rounds + 1) if output.weight(t) > 0)


def drawn_and_stored(learner: Linear, rows: Rows, compiled: bool = False) -> tuple[Vector, Vector]:
    """The learner's random iterate, and the same one as it was when it was played."""
    points, state = [], learner.start(rows.X.shape[1])
    for i in range(len(rows.y)):
        points.append(point(learner, state))
        learn(learner, Rows(*(a[i : i + 1] for a in rows)), state=state, compiled=compiled)
    assert isinstance(learner.output, Random)
    return model(learner, state), points[kept_round(learner.output, len(rows.y)) - 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, 3, -5])
def test_the_random_iterate_is_one_that_was_played(case: str, seed: int) -> None:
    """Through every change of scale, offset and unit, to the last bit."""
    learner, rows = CASES[case]
    drawn, expected = drawn_and_stored(replace(learner, output=Random(seed)), Rows(*(a[:200] for a in rows)))
    assert drawn.tobytes() == expected.tobytes()


@pytest.mark.parametrize("composition", COMPOSITIONS, ids=lambda c: c.name)
def test_every_composition_draws_what_it_played(composition: Composition) -> None:
    rows = rows_for(composition.task, 60, 6, 5)
    learner = replace(composition.learner(6), output=Random(2))
    kept = rows.counted
    drawn, expected = drawn_and_stored(learner, Rows(*kept))
    assert drawn.tobytes() == expected.tobytes()
    with_idle_rows = learn(learner, rows, compiled=False).state  # rows of weight 0 are no rounds
    assert model(learner, with_idle_rows).tobytes() == drawn.tobytes()


def test_drawing_is_compiled_and_split_to_the_bit() -> None:
    rows = margins(500, 8)
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(0.3), InverseSqrt(0.5)), Random(7), ridge=0.1, bias=1.0)
    whole, slow = learn(learner, rows).state, learn(learner, rows, compiled=False).state
    assert bits(whole) == bits(slow)
    for cut in (1, 63, 499):
        state = learn(learner, Rows(*(a[:cut] for a in rows))).state
        learn(learner, Rows(*(a[cut:] for a in rows)), state=state)
        assert bits(state) == bits(whole)


def test_every_iterate_is_as_likely() -> None:
    """Pearson's statistic over 4,000 seeds is below its 99.9 % quantile, for each T."""
    for rounds, quantile in ((1, 0.0), (2, 10.83), (5, 18.47), (12, 31.26)):
        counts = np.bincount([kept_round(Random(seed), rounds) for seed in range(4000)], minlength=rounds + 1)[1:]
        assert np.sum((counts - 4000 / rounds) ** 2) / (4000 / rounds) <= quantile


def test_hashes_look_uniform_in_seed_and_round() -> None:
    outputs = [Random(seed) for seed in (*range(50), 2**40, -7)]
    with np.errstate(over="ignore"):
        draws = np.array([[output.coin(t) for t in range(1, 201)] for output in outputs])
        assert outputs[0].coin(2**33 + 1) != outputs[0].coin(1)
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 4 * np.sqrt(1 / 12 / draws.size)
    assert abs(draws.var() - 1 / 12) < 0.003
    assert np.unique(draws).size == draws.size
    assert abs(np.corrcoef(draws[:, 1:].ravel(), draws[:, :-1].ravel())[0, 1]) < 0.04
    assert abs(np.corrcoef(draws[1:].ravel(), draws[:-1].ravel())[0, 1]) < 0.04


@pytest.mark.parametrize("seed", [0.5, True, 2**63, "1"])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(PartError, match="seed must be a whole number"):
        Random(seed)
