"""Rounds whose sub-gradient is 0 by rounding: their scores cancel, and the loss is not what it seems."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lowregret.domain import L2Ball
from lowregret.mirror import Euclidean
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from lowregret.structured import Chain, Classes, LabelTree, Ranking, Structured, choices, sequences
from lowregret.train import train

RULE = MirrorDescent(Euclidean(), Constant(2.0**40))  # weights are large, and bounds far below their products with rows
FIRST = 1 + np.random.default_rng(1).random(8)
TREE = LabelTree([-1, -1])


def given(space: Any, x: Any) -> tuple[Any, ...]:
    """Rows of class 1, as the space takes them."""
    labels = np.ones(len(x), int)
    return (sequences(x, labels, lengths=labels),) if isinstance(space, Chain) else (x, labels)


def silent_rows(w: Any, wanted: int) -> Any:
    """Rows of length 2⁶⁰ whose product with w comes out far above 0, and is below 0 in fractions; the sum of these."""
    rng, rows, sums = np.random.default_rng(0), list[Any](), list[Fraction]()
    while len(rows) < wanted:
        x = 2.0**60 * rng.normal(size=w.size)
        x[-1] = -(w[:-1] @ x[:-1]) / w[-1]
        exact, rounded = Fraction(), 0.0
        for a, b in zip(w.tolist(), x.tolist(), strict=True):
            exact, rounded = exact + Fraction(a) * Fraction(b), rounded + a * b
        if exact < 0 and rounded > 2**10:
            rows.append(x)
            sums.append(exact)
    return np.array(rows), sum(sums, Fraction())


@pytest.mark.parametrize("space", [Classes(2), TREE, Chain(2, ends=False)], ids=["classes", "tree", "chain"])
def test_silent_structures_are_within_the_rounding_of_the_bound(space: Any) -> None:
    """Scores of 2¹⁰⁰ cancel: the run saw neither loss nor sub-gradient where its loss was far beyond the bound."""
    learner = Structured(space, RULE)
    run = train(learner, *given(space, FIRST[None]), comparator=L2Ball(1.0), compiled=False)
    emission = run.weights[: 2 * FIRST.size].reshape(FIRST.size, 2)
    x, total = silent_rows(emission[:, 1] - emission[:, 0], 40)
    before = run.certificate
    run.learn(*given(space, x))
    assert run.loss == pytest.approx(before.linear_regret, abs=2.0**41)
    regret = float(-total) - run.rounds * 2  # to u = 0, which has a loss of 1 or 2 a round
    assert regret > 4 * run.certificate.bound
    assert regret <= run.certificate.bound + run.certificate.rounding
    assert regret <= min(float(told) for told in re.findall(r"regret ≤ ([^ >]*)", repr(run)))
    assert regret <= min(float(told) for told in re.findall(r"at most ([^ ]*)", str(run)))


def test_silent_rankings_are_within_the_rounding_of_the_bound() -> None:
    run = train(
        Ranking(RULE), choices(np.stack([FIRST, 0 * FIRST]), [0], lengths=[2]), comparator=L2Ball(1.0), compiled=False
    )
    x, total = silent_rows(run.weights, 40)
    run.learn(choices(np.stack([x, 0 * x], axis=1).reshape(-1, FIRST.size), np.zeros(40, int), lengths=[2] * 40))
    regret = float(-total) - run.rounds
    assert regret > 4 * run.certificate.bound
    assert regret <= run.certificate.bound + run.certificate.rounding
