"""What `auto` shows, by exact arithmetic: a few runs of the fuzzer, and sums whose terms cancel."""

from __future__ import annotations

import random
from copy import deepcopy
from fractions import Fraction

import pytest

from benchmarks.fuzz_auto import fuzz_auto
from benchmarks.fuzzing import fuzzed
from lowregret import zoo
from lowregret.loss import Square
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
