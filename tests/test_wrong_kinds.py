"""What is of another kind than is wanted, such as a name for a part, is refused with cause and remedy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lowregret import Box, FollowTheLeader, Hinge, L2Ball, LowRegretError, Square, load, play, train, zoo
from lowregret.bandit import Bandit, bandit_log
from lowregret.experts import Calibrated, ConformalIntervals, Layered, Specialists, best_rebalanced
from lowregret.finite import Halving, Restarting, StandardOptimal, dimensions, make_hypotheses
from lowregret.regret import Weighted, regret
from lowregret.stream.frame import table_form
from lowregret.structured import table_sequences


def of(kind: Any, *given: Any, **said: Any) -> Callable[[], Any]:
    """A call that types would not let pass."""
    return lambda: kind(*given, **said)


MASKED: Any = np.ma.masked_equal([[0.0, 1.0]], 1.0)
ROW: dict[str, Any] = {"features": [[1.0]], "labels": [1.0], "compiled": False}
GIVEN: dict[str, tuple[Callable[[], Any], str]] = {
    "a loss by its name": (of(Layered, 4, "mape"), r"a loss such as Square\(\) .*, got 'mape'"),
    "the class of a loss": (of(Calibrated, 4, Square), r"a loss such as Square\(\)"),
    "a loss of specialists": (of(Specialists, 4, 0.1, "mse"), r"a loss such as Square\(\), got 'mse'"),
    "words for relatives": (of(best_rebalanced, "prices"), "relatives must be numbers"),
    "a matrix of hypotheses": (of(StandardOptimal, [[0, 1]]), r"expected Hypotheses\(matrix\) .*, got \[\[0, 1\]\]"),
    "a class by its name": (of(dimensions, "thresholds:4"), "expected .*, got 'thresholds:4'"),
    "a number of functions": (of(play, FollowTheLeader(Box(-1.0, 1.0)), 5), "one a round, got 5"),
    "numbers for names": (of(Layered, [1, 2]), "names of experts are texts, got 1: give '1'"),
    "an action of None": (of(bandit_log, ["a", None, "b"], reward=[0.0, 1.0, 0.0]), "row 1: there is no action"),
    "a null of Arrow": (of(bandit_log, pa.array(["a", None]), reward=[0.0, 1.0]), "row 1: there is no action"),
    "an action that is NaN": (of(bandit_log, [1.0, math.nan], reward=[0.0, 1.0]), "row 1: there is no action"),
    "a masked action": (of(bandit_log, MASKED[0], reward=[0.0, 1.0]), "some actions are masked"),
    "costs that are masked": (of(Bandit(2).learn, MASKED), "some costs are masked"),
    "costs that are dates": (
        of(Bandit(2).learn, MASKED.data.astype("datetime64[s]")),
        "costs must be numbers: datetime64",
    ),
    "a radius for a set": (of(train, zoo.ogd(Hinge()), comparator=1.0, **ROW), r"a set such as L2Ball\(1.0\), got 1.0"),
    "the class of a set": (
        of(train, zoo.ogd(Hinge()), comparator=L2Ball, **ROW),
        r"a set such as L2Ball\(1.0\), got <",
    ),
    "no path": (of(load, None), "expected the path of a file, got None"),
    "no table": (of(table_sequences, None, "day"), "expected a table: .*, got None"),
    "restarts of what knows no rounds": (
        of(Restarting, Halving, make_hypotheses("thresholds:4")),
        r"restart what is made by learner\(hypotheses, T\)",
    ),
    "weights whose sum is no number": (
        of(lambda: regret(play(FollowTheLeader(Box(-1.0, 1.0)), [[1.0], [-1.0], [1.0]]), Weighted([1e308] * 3))),
        "weights must be 3 numbers ≥ 0, at most 1e",
    ),
    "a word for words in a row": (of(table_form, "a", "2", (), ()), "ngrams must be from 1 to 5, got '2'"),
}


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_of_the_wrong_kind_is_refused_in_words(name: str) -> None:
    given, why = GIVEN[name]
    with pytest.raises(LowRegretError, match=why):
        given()


def test_intervals_of_no_outcome_have_no_coverage() -> None:
    assert repr(ConformalIntervals(0.9)) == "<ConformalIntervals of 0.9 coverage: 0 rounds>"
