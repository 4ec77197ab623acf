"""Objects that change the rows while they are asked for labels, weights or a comparator: rows are looked at last."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import lowregret as lr
from lowregret.errors import DataError
from lowregret.learner.validate import settled
from lowregret.regret import RowRecord, regret
from lowregret.structured import choices, click_ranking

ROWS = 60
Y, W, C = np.where(np.arange(ROWS) % 2, 1.0, -1.0), np.ones(ROWS), np.array(list("abc" * (ROWS // 3)))


def matrix() -> Any:
    return sp.random(ROWS, 9, 0.5, format="csr", random_state=0)


class Spoiling:
    """Values that lead rows beyond their ends as soon as they are asked for."""

    def __init__(self, x: Any, values: Any) -> None:
        self.x, self.values = x, np.asarray(values)
        self.shape = self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.x.indices[1::2], self.x.indptr[1:-1] = 2**31 - 5, 2**30
        return self.values.astype(dtype or self.values.dtype)


class Name(str):
    """A name that does the same, to the matrix that `victim` is."""

    victim: Any = None

    def __str__(self) -> str:
        if self.victim is not None:
            np.asarray(Spoiling(self.victim, []))
        return "a"


def trained(labels: Any = Y, learner: Any = None) -> Any:
    return lr.train(learner or lr.zoo.perceptron(), matrix(), labels)


def names(x: Any) -> Any:
    Name.victim = x
    return np.array([Name(name) for name in C], object)


CASES: dict[str, Callable[[Any], Any]] = {
    "train": lambda x: lr.train(lr.zoo.perceptron(), x, Spoiling(x, Y)),
    "weights": lambda x: lr.train(lr.zoo.perceptron(), x, Y, Spoiling(x, W)),
    "learn": lambda x: trained().learn(x, Spoiling(x, Y)),
    "classes": lambda x: lr.train(lr.zoo.mc_perceptron(), x, names(x)),
    "regret, labels": lambda x: trained().regret(np.zeros(9), x, Spoiling(x, Y)),
    "regret, u": lambda x: trained().regret(Spoiling(x, np.zeros(9)), x, Y),
    "against": lambda x: trained().against(Spoiling(x, np.zeros(9)), x, Y),
    "mistakes": lambda x: trained().mistake_certificates(Spoiling(x, np.zeros(9)), x, Y),
    "classes, u": lambda x: trained(C, lr.zoo.mc_perceptron()).regret(Spoiling(x, np.zeros((9, 3))), x, C),
    "importance": lambda x: trained().importance(x, Spoiling(x, Y)),
    "ranking, u": lambda x: ranked_again(shown(x)),
}


def shown(x: Any) -> Any:
    return choices(x, np.zeros(ROWS // 2, int), lengths=np.full(ROWS // 2, 2))


def ranked_again(data: Any) -> Any:
    return lr.train(click_ranking(0.1), data).losses(Spoiling(data.features, np.zeros(9)), data)


def run_all() -> None:
    """Every case in this process, which a read beyond the ends may end."""
    for name, case in CASES.items():
        try:
            case(matrix())
        except DataError:
            continue
        sys.exit(f"{name}: changed rows were taken")


@pytest.mark.filterwarnings("ignore")
def test_rows_are_looked_at_after_all_that_may_change_them() -> None:
    told = subprocess.run(
        [sys.executable, "-c", "from tests.run.test_reentrant import run_all; run_all()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr[-2000:]


def test_a_record_is_of_the_rows_as_they_were() -> None:
    x, run = matrix(), trained(learner=lr.zoo.ogd(lr.Hinge(), eta=0.1))
    record = RowRecord(run, x, Y)
    expected = regret(record, np.full(9, 0.1)).value
    x.data[:] = 0.0
    assert regret(record, np.full(9, 0.1)).value == expected != regret(RowRecord(run, x, Y), np.full(9, 0.1)).value


def test_settled_values_are_plain() -> None:
    found = settled(
        np.array([Name("q"), 3, np.int64(4), None, np.timedelta64(1), object(), b"z", 0.5], object), "labels"
    )
    assert [type(value) for value in found] == [str, int, int, type(None), type(None), type(None), bytes, float]
    given = np.arange(3.0)
    assert settled(given, "labels") is given
    assert settled(None, "weights") is None
    with pytest.raises(DataError, match="labels must be numbers or names, one for each row, not a generator"):
        settled((k for k in range(3)), "labels")
