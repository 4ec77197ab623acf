"""Sequences and lists of items, from whatever people have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_matrix

from lowregret.errors import DataError
from lowregret.structured import Choices, Sequences, choices, sequences, table_sequences

X = np.arange(10.0).reshape(5, 2)
Y = [0, 1, 0, 2, 1]


def same(a: Sequences, b: Sequences) -> bool:
    dense = [q.features.toarray() if hasattr(q.features, "toarray") else q.features for q in (a, b)]
    return np.array_equal(*dense) and np.array_equal(a.offsets, b.offsets) and np.array_equal(a.labels, b.labels)


def test_all_ways_give_the_same_sequences() -> None:
    wanted = sequences(X, Y, lengths=[2, 3])
    assert wanted.offsets.tolist() == [0, 2, 5]
    assert len(wanted) == 2
    assert same(wanted, sequences(X, Y, by=["a", "a", "b", "b", "b"]))
    assert same(wanted, sequences([(X[:2], Y[:2]), (X[2:].tolist(), Y[2:])]))
    assert same(wanted, sequences([(csr_matrix(X[:2]), Y[:2]), (csr_matrix(X[2:]), Y[2:])]))
    table = {"word": [7, 7, 9, 9, 9], "p": X[:, 0], "q": X[:, 1], "letter": Y}
    assert same(wanted, table_sequences(table, by="word", label="letter"))
    assert same(wanted, table_sequences(pa.table(table), by="word", label="letter"))
    assert same(wanted, table_sequences(table, by="word", label="letter", features=["p", "q"]))
    assert table_sequences(table, by="word", features=["q"]).labels is None
    bare = sequences([X[:2], X[2:]])
    assert (bare.labels, bare.offsets.tolist(), bare.features.tolist()) == (None, [0, 2, 5], X.tolist())


def test_choosing_sequences() -> None:
    data = sequences(X, Y, lengths=[2, 1, 2])
    assert data[1].features.tolist() == [[4, 5]]
    assert same(data[[True, False, True]], sequences(X[[0, 1, 3, 4]], [0, 1, 2, 1], lengths=[2, 2]))
    assert same(data[::-1], sequences(X[[3, 4, 2, 0, 1]], [2, 1, 0, 0, 1], lengths=[2, 1, 2]))
    assert [piece.tolist() for piece in data.split(data.labels)] == [[0, 1], [0], [2, 1]]


def test_choices() -> None:
    data = choices(X, [1, 0], lengths=[2, 3])
    other = choices([(X[:2], 1), (X[2:], 0)])
    assert isinstance(other, Choices)
    assert (other.chosen.tolist(), other.offsets.tolist()) == (data.chosen.tolist(), data.offsets.tolist())
    assert data[1:].chosen.tolist() == [0]
    assert data[1:].features.shape == (3, 2)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "an empty sequence": (lambda: sequences(X, Y, lengths=[2, 0, 3]), "sequence 1 has 0 rows"),
    "an empty pair": (lambda: sequences([(X, Y), (np.zeros((0, 2)), [])]), "sequence 1 is empty"),
    "nothing": (lambda: sequences([]), "there is no sequence"),
    "no rows": (lambda: sequences(np.zeros((0, 2)), [], lengths=[]), "no rows"),
    "lengths that do not fit": (lambda: sequences(X, Y, lengths=[2, 2]), "sum to 4, but there are 5 rows"),
    "lengths that are no integers": (lambda: sequences(X, Y, lengths=[2.0, 3.0]), "vector of integers"),
    "labels that do not fit": (lambda: sequences(X, Y[:4], lengths=[5]), "5 rows, but labels of shape"),
    "a pair that does not fit": (lambda: sequences([(X, Y[:4])]), "5 rows and labels of shape"),
    "another number of features": (lambda: sequences([(X, Y), (X[:, :1], Y)]), "sequence 1 has 1 features"),
    "labels that are fractions": (lambda: sequences(X, [0.5] * 5, lengths=[5]), "neither an integer nor a name"),
    "a feature that is no number": (lambda: sequences([[1.0], [np.nan]], lengths=[2]), "row 1: feature 0 is nan"),
    "a sparse one": (lambda: sequences(csr_matrix([[0.0], [np.inf]]), lengths=[2]), "row 1: feature 0 is inf"),
    "marks apart": (lambda: sequences(X, Y, by=[1, 2, 1, 1, 1]), "sequence 1 are not side by side"),
    "marks that do not fit": (lambda: sequences(X, Y, by=[1, 2]), "5 rows, but marks of shape"),
    "both": (lambda: sequences(X, Y, by=Y, lengths=[5]), "not both"),
    "neither": (lambda: sequences(X, Y), "which rows belong together"),
    "no pairs": (lambda: sequences(3), "expected pairs"),
    "an item that is not there": (lambda: choices(X, [2, 0], lengths=[2, 3]), "list 0: item 2 was chosen"),
    "an item by name": (lambda: choices(X, ["a", "b"], lengths=[2, 3]), "integers counted from 0"),
    "two clicks": (lambda: choices([(X, [0, 1])]), "the number of one item"),
    "a column that is not there": (lambda: table_sequences({"a": [1]}, by="b"), "no column 'b'; it has a"),
    "a label that is missing": (
        lambda: sequences(X, ["u", None, "u", "u", "u"], lengths=[5]),
        "row 1: the label is miss",
    ),
    "one that is no number": (
        lambda: sequences(X, np.array(["u", np.nan] * 2 + ["u"], object), lengths=[5]),
        "row 1: the la",
    ),
    "a mark that is missing": (lambda: sequences(X, Y, by=[1, 1, np.nan, 2, 2]), "row 2: the mark is missing"),
    "a name that is missing": (lambda: sequences(X, Y, by=["a", "a", None, "b", "b"]), "row 2: the mark is missing"),
    "a column of dates": (
        lambda: table_sequences({"a": [1], "b": np.array(["2024-01-31"], "datetime64[s]")}, by="a"),
        "those of 'b' must be numbers: datetime64",
    ),
    "no other column": (lambda: table_sequences({"a": [1]}, by="a"), "no columns of features beside a"),
    "a column of text": (lambda: table_sequences({"a": [1], "b": ["x"]}, by="a"), "columns of numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(DataError, match=message):
        make()
