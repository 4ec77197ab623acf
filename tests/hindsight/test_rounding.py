"""What rounding hides is in the gap: of scores, of labels next to scores, of sums that cancel."""

from __future__ import annotations

import decimal
import math
from decimal import Decimal

import numpy as np
import pytest

from benchmarks.fuzz_hindsight import attack
from lowregret import Absolute, Box, EpsilonInsensitive, Hinge, L2Ball, Logistic, Loss, Poisson, Reals, Square, zoo
from lowregret.convex import LinearFunction, ScoreFunction
from lowregret.convex.functions import Sum
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import minimise
from lowregret.domain import Orthant
from lowregret.hindsight import best_in_hindsight
from lowregret.loss import Cost
from lowregret.rows import as_rows
from lowregret.run.begin import begin
from lowregret.run.session import Session
from lowregret.stream.formats.svm import SvmText

CANCEL = np.array([[1e16], [-1.0], [-1e16]])  # a sum of −1, which is 0 in doubles


class Straight(Loss):
    """A loss of somebody's own, found by cutting planes."""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return y * p, y


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [2, 50, 84, 133, 179, 204, 248, 259, 364, 1000, 1001, 1002, 1003, 1004, 8800143])
def test_no_answer_is_false(seed: int) -> None:
    """Problems at random; with the first of them, numbers that were lost in doubles were not in the gap."""
    case, said, _ = attack(seed)
    assert said is None, case


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [48, 49, 50, 51])
def test_no_answer_of_many_columns_is_false(seed: int) -> None:
    """The rounding of linear costs was more than their gap in the first of them."""
    case, said, _ = attack(seed, wide=True)
    assert said is None, case


@pytest.mark.parametrize("share", [3e-17, 3e-16, 1.5e-15, 3.3e-13, 1e-8, 0.3, 0.5, 1 - 1e-9, 1 - 2**-53])
def test_conjugates_of_next_to_nothing_keep_their_digits(share: float) -> None:
    with decimal.localcontext(prec=60):
        s = Decimal(share)
        told = s * s.ln() + (1 - s) * (1 - s).ln()
        assert abs(Decimal(Logistic().conjugate(-share, 1.0)) - told) <= Decimal("1e-15") * abs(told)


def test_the_only_point_of_a_set_loses_what_it_loses() -> None:
    """0.1 + 0.2 − 0.3 is no exact 0."""
    x = np.array([[0.1e17, 0.2e17, -0.3e17 - 4.0]])
    found = best_in_hindsight(Square(), x, [3.0], Box(1.0, 1.0), compiled=False)
    assert abs(found.value - 7.0**2) <= found.rounding <= found.gap


@pytest.mark.parametrize("compiled", [False, True])
def test_the_exact_regret_is_where_it_is_told(compiled: bool) -> None:
    """The best choice may lose more than computed, so that the regret is less than the difference of both sums."""
    x, y = np.array([[1.0, 1e16, -1e16]]), np.array([-3.0])  # a score of 1, which is 0 in doubles
    run = begin(zoo.ogd_eager(Square(), eta=1e-60), 3, comparator=Box(1.0, 1.0), compiled=compiled)
    session = Session(run.learn(x, y), SvmText(), "ogd-eager")
    session.look_back(lambda: [(as_rows(x), y, np.empty(0))])
    found = session.certificate
    assert found.regret is not None
    assert found.regret_interval is not None
    assert found.hindsight is not None
    low, high = found.regret_interval
    assert low <= 3**2 - 4**2 <= high
    assert found.regret == 0.0


@pytest.mark.parametrize("size", [1e8, 1e12])
def test_labels_far_from_scores(size: float) -> None:
    """|p − y| − ε is a small difference of large numbers, and so is its conjugate."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(6, 2)), size + np.abs(rng.normal(size=6))
    found = best_in_hindsight(EpsilonInsensitive(size), x, y, L2Ball(1.0), ridge=0.5, compiled=False)
    assert found.gap >= 1e-16 * size


def test_large_counts() -> None:
    """e^p − y·p + ln y! is some 20 where its terms are 10^17."""
    y = 3e15
    found = best_in_hindsight(Poisson(), [[1.0]], [y], L2Ball(100.0), compiled=False)
    least = 0.5 * math.log(2 * math.pi * y)
    assert found.value - found.gap <= least <= found.value + found.gap
    small = best_in_hindsight(Poisson(), [[1.0], [1.0]], [3.0, 5.0], L2Ball(100.0), compiled=False)
    assert small.gap <= 1e-6


@pytest.mark.parametrize("loss", [Cost(), Straight()], ids=str)
def test_gradients_that_cancel(loss: Loss) -> None:
    found = best_in_hindsight(loss, CANCEL, np.ones(3), Orthant(), ridge=1.0, compiled=False)
    assert found.value - found.gap <= -0.5
    found = best_in_hindsight(loss, CANCEL, np.ones(3), L2Ball(1.0), compiled=False)
    assert found.value - found.gap <= -1.0


def test_a_set_without_end_needs_slopes_that_rounding_cannot_turn() -> None:
    found = best_in_hindsight(Straight(), CANCEL, np.ones(3), Orthant(), compiled=False)
    assert found.gap == math.inf
    found = best_in_hindsight(Straight(), np.ones((3, 1)), np.ones(3), Orthant(), compiled=False)
    assert found.gap <= 1e-9


def test_functions_that_cancel() -> None:
    total = Sum(1, [ScoreFunction(Straight(), row, 1.0) for row in CANCEL])
    found = minimise(FollowTheLeader(L2Ball(1.0)), total, np.zeros(1))
    assert found.value - found.gap <= -1.0
    total = Sum(1, [LinearFunction([1.0]), ScoreFunction(Hinge(), [1.0], 1.0)])
    assert minimise(FollowTheLeader(L2Ball(1.0)), total, np.zeros(1)).gap <= 1e-9


def test_ordinary_gaps_stay_small() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    for loss in (Square(), Absolute(), EpsilonInsensitive(0.1)):
        found = best_in_hindsight(loss, x, y, L2Ball(1.0), tolerance=1e-9, compiled=False)
        assert found.gap <= 2e-9 * (1 + found.value)
    assert best_in_hindsight(Square(), x, y, Reals(), tolerance=1e-9, compiled=False).gap <= 1e-9
