"""What is no number of arms, rounds or coordinates, no rate and no cost is refused by an error of the package's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from lowregret import Constant, Euclidean, L2Ball, LowRegretError, MirrorDescent
from lowregret.bandit import Bandit, BanditDescent, BernoulliCosts, EstimatedDescent, Exp3, Exp3IX, Exp4, ExpertRanking
from lowregret.bandit.proof import promised

BALL: Any = L2Ball(1.0)
MAKE: Any = BanditDescent
REFUSED: dict[str, Callable[[Any], Any]] = {
    "rounds that a rate is tuned for": lambda x: Exp3.tuned(2, x),
    "arms that a rate is tuned for": lambda x: Exp3IX.tuned(x, 2),
    "experts": lambda x: Exp4(x, 2, 0.1),
    "advice": lambda x: Exp4(2, 2, 0.1).choose(x),
    "costs of advice": lambda x: Exp4(2, 2, 0.1).learn(x, [[[1, 0], [0, 1]]]),
    "arms": lambda x: Bandit(x),
    "rounds": lambda x: Bandit(2, compiled=False).learn(BernoulliCosts([0.5, 0.5]), x),
    "choices": lambda x: Bandit(2, compiled=False).probability(x),
    "delta": lambda x: Bandit(2, compiled=False).certificates_at(x),
    "means": lambda x: BernoulliCosts([[x]]),
    "promised rounds": lambda x: promised(Exp3(0.1), 2, x),
    "coordinates": lambda x: MAKE(BALL, x, 0.1, 0.1),
    "delta of descent": lambda x: MAKE(BALL, 2, 0.1, x),
    "rounds of descent": lambda x: MAKE(BALL, 2, 0.1, 0.1).learn(lambda t, w: 0.0, x),
    "tuned for rounds": lambda x: BanditDescent.tuned(BALL, 2, x, 1.0, 1.0),
    "tuned for steepness": lambda x: BanditDescent.tuned(BALL, 2, 100, x, 1.0),
    "coordinates of estimates": lambda x: EstimatedDescent(MirrorDescent(Euclidean(), Constant(0.1)), x),
    "items": lambda x: ExpertRanking(2, x, 0.1),
}


@pytest.mark.parametrize("given", ["x", None, [[1], [0, 1]], True, math.nan, -2.5])
@pytest.mark.parametrize("what", REFUSED)
def test_it_is_refused(what: str, given: Any) -> None:
    with pytest.raises(LowRegretError):
        REFUSED[what](given)


@pytest.mark.parametrize("given", [2**40, 2**70])
@pytest.mark.parametrize("what", ["arms", "experts", "coordinates", "coordinates of estimates"])
def test_what_does_not_fit_into_memory_is_refused(what: str, given: int) -> None:
    with pytest.raises(LowRegretError, match="no room in memory for"):
        REFUSED[what](given)


@pytest.mark.parametrize(
    ("sizes", "told"), [((2**40, 3), "1,099,511,627,776 experts"), ((3, 2**40), "1,099,511,627,776 arms")]
)
def test_what_there_is_no_room_for_is_named(sizes: tuple[int, int], told: str) -> None:
    with pytest.raises(LowRegretError, match=f"no room in memory for {told}: take fewer"):
        Exp4(*sizes, 0.1)


@pytest.mark.parametrize("cost", ["a", None, [1.0, 2.0]])
def test_costs_of_points_are_numbers(cost: Any) -> None:
    with pytest.raises(LowRegretError, match="must be finite"):
        BanditDescent(BALL, 2, 0.1, 0.1).learn(lambda t, w: cost, 1)
