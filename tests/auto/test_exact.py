"""What `auto` shows, by exact arithmetic: a few runs of the fuzzer, and sums whose terms cancel."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.fuzz_auto import Told, check_experts, fuzz_auto, learn_one_by_one
from benchmarks.fuzzing import fuzzed
from lowregret import train, zoo
from lowregret.auto.logit import exponential
from lowregret.compile.numerics import EPSILON
from lowregret.loss import Logistic, Square
from lowregret.run.auto_experts import Standings
from lowregret.run.begin import begin

STEP = 2.0**-53  # between numbers near those that are learnt


def test_a_few_runs_of_the_fuzzer() -> None:
    assert sum(claims for _, claims in fuzzed([fuzz_auto], 8, 100, refuses=False)) > 8


@pytest.mark.parametrize("seed", [17, 30, 33])
def test_rounding_of_terms_that_cancel(seed: int) -> None:
    """Labels differ in their last digits, and slopes sum to 0: what is left of Σ g·s is what rounding made of it."""
    r = random.Random(seed)
    c = r.uniform(0.6, 0.9)
    run = begin(zoo.auto(Square(), "raw"), 1, compiled=False)
    run.learn([[0.0]], [c], [1e-200])
    big, many, slopes, told = r.choice([1, 3, 3, 10, 1000]), r.choice([3, 5, 12]), 0.0, []
    for t in range(many):
        p = float(deepcopy(run).learn([[0.0]], [c], [1.0]).scores[0])
        y = c + STEP * r.randint(-big, big) if t < many - 1 else p + slopes / 2
        run.learn([[0.0]], [y], [1.0])
        slopes += 2 * (p - y)
        told.append((Fraction(p), Fraction(y)))
    best = sum(y for _, y in told) / many  # of all constants, which the bias can be
    regret = sum((p - y) ** 2 - (best - y) ** 2 for p, y in told)
    assert run.fixed_certificate.holds
    assert regret <= Fraction(run.fixed_certificate.proved)


@pytest.mark.parametrize("seed", [27, 33])
def test_rounding_of_chances_grows_with_weights(seed: int) -> None:
    """The logarithm of a chance is off by hundreds of ε, as often as the row counts: so is what the best one lost."""
    x = np.random.default_rng(seed).normal(size=(5, 1))
    learner, y, weights = zoo.auto(Logistic(), "raw"), np.where(x[:, 0] > 0, 1.0, -1.0), np.array([1.0] * 4 + [1e9])
    run, told = begin(learner, 1, compiled=False), Told(learner, {})
    learn_one_by_one(told, run, x, y, weights)
    assert check_experts(told, run) == 1


def test_kept_experts_that_agree_book_their_rounding() -> None:
    """Chances of 1 − 10⁻⁸ are off by ε, and so is the loss of a mixture of experts of which none lost more."""
    assert sum(claims for _, claims in fuzzed([fuzz_auto], 1, 770116, refuses=False)) == 2


def test_chances_are_as_near_as_the_rounding_of_mixtures_takes_them() -> None:
    """−ln(chance) of an expert of two classes is off by less than 643ε, whatever its score: step (i) of the proof."""
    rng = np.random.default_rng(5)
    with localcontext(prec=50):
        for u in [-30.0, *(-30 * rng.random(2000)).tolist(), *(-np.exp(rng.uniform(-9, 3.4, 500))).tolist()]:
            e, true = Decimal(float(exponential(np.float64(u)))), Decimal(u).exp()
            assert abs(e / true - 1) < 640 * Decimal(EPSILON)


def test_rounding_grows_with_classes_and_as_verdicts_count_less() -> None:
    """Sums of K chances have K roundings, and what trust loses at the rate r costs 1/r as much."""
    trust = train(zoo.auto(Logistic(), "raw"), np.eye(2), [1.0, -1.0], compiled=False).record.mind.trust
    few = Standings(1.0, 100, trust, True, weight=100.0)
    assert replace(few, classes=1001).rounding - few.rounding == pytest.approx(1000 * 4 * 200 * EPSILON)
    assert replace(few, rate=0.1).rounding - few.rounding > 900 * 1024 * EPSILON
    numbers = replace(few, classifies=False)
    assert numbers.rounding > few.rounding
