"""`auto` by two threads, one of which looks at rows ahead: the same to the last bit, whatever happens on the way."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import DataError, Logistic, PartError, Softmax, Square, train, zoo
from lowregret.run import auto_pair, notes
from lowregret.run.auto import AutoRun
from lowregret.run.auto_pair import Pair
from lowregret.run.begin import begin
from lowregret.run.pace import Pace

RNG = np.random.default_rng(3)
X: Any = sp.random_array((4000, 40), density=0.3, rng=RNG, format="csr")
SIGNS = np.where(X @ RNG.normal(size=40) + 0.3 * RNG.normal(size=4000) > 0, 1.0, -1.0)
NUMBERS = np.where(RNG.random(4000) < 0.01, 1e6, 1.0) * (X @ RNG.normal(size=40))  # in units that change on the way
WEIGHTS = RNG.integers(0, 3, 4000).astype(float)


@pytest.fixture
def together(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Two threads work whenever they can; notes how many rows they were given."""
    seen: list[int] = []
    two = Pair._two

    def noted(pair: Pair, run: Any, work: Any, x: Any, y: Any, w: Any, i: int, stop: int, beside: Any) -> int:
        seen.append(stop - i)
        return two(pair, run, work, x, y, w, i, stop, beside)

    monkeypatch.setattr(Pair, "_two", noted)
    monkeypatch.setattr(Pace, "together", lambda pace: True)
    monkeypatch.setattr(auto_pair, "ENOUGH", 0)
    monkeypatch.setattr(auto_pair, "LEAST", 0)
    yield seen
    assert sum(seen) > 1000


def contents(run: AutoRun) -> tuple[str, dict[str, bytes]]:
    description, arrays = run.contents()
    return repr(description), {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(("loss", "labels"), [(Logistic(), SIGNS), (Square(), NUMBERS)], ids=["signs", "numbers"])
def test_two_threads_change_no_bit(loss: Any, labels: Any, together: list[int]) -> None:
    runs = [begin(zoo.auto(loss, features="raw"), 40, learners=learners) for learners in (None, 2)]
    for run in runs:
        for first, last in pairwise((0, 7, 1500, 4000)):
            run.learn(X[first:last], labels[first:last], WEIGHTS[first:last])
    assert contents(runs[0]) == contents(runs[1])
    assert runs[0].scores.tobytes() == runs[1].scores.tobytes()


@pytest.mark.parametrize("fault", ["label", "feature"])
def test_an_unfit_row_leaves_all_as_it_was_before_it(fault: str, together: list[int]) -> None:
    x, y = X.copy(), SIGNS.copy()
    if fault == "label":
        y[2345] = 7.0
    else:
        x.data[x.indptr[2345]] = 1e200
    run, alone = (begin(zoo.auto(Logistic(), features="raw"), 40, learners=learners) for learners in (2, None))
    with pytest.raises(DataError, match="row 2345"):
        run.learn(x, y)
    assert contents(run) == contents(alone.learn(X[:2345], SIGNS[:2345]))
    assert contents(run.learn(X[2345:], SIGNS[2345:])) == contents(alone.learn(X[2345:], SIGNS[2345:]))


def test_what_cannot_be_is_refused_and_what_came_of_it_is_said() -> None:
    with pytest.raises(PartError, match="leave block"):
        train(zoo.auto(Logistic()), X, SIGNS, learners=2, block=8)
    with pytest.raises(PartError, match="learners must be a whole number"):
        train(zoo.auto(Logistic()), X, SIGNS, learners=0)
    with pytest.raises(PartError, match="classes"):
        train(zoo.auto(Softmax()), X, SIGNS, learners=2)
    assert "looking at rows ahead" in notes.cores(2, None, 1.4)[0]
