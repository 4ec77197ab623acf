"""Columns: slots, hashes under way, labels, and headers that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.compile.kernel import kernel
from lowregret.errors import DataError
from lowregret.stream.columns import (
    CATEGORICAL,
    DROPPED,
    FEATURE,
    HASHED_INTERPRETED,
    STATE,
    TARGET,
    WEIGHT,
    columns,
    hash_byte,
    hash_end,
    hash_more,
    is_same,
    number_of,
)
from lowregret.stream.names import POSITIVE
from tests.stream.naive_columns import murmur, number, slot

U = np.uint64


@kernel
def in_three_ways(text: Any, cut: int, other: int, found: Any) -> None:
    h, pending, length = hash_more(U(0), U(0), U(0), text, U(0), U(cut))
    for k in range(cut, other):
        h, pending, length = hash_byte(h, pending, length, text[k])
    h, pending, length = hash_more(h, pending, length, text, U(other), U(text.size))
    found[0], found[1] = hash_end(h, pending, length), length


@given(st.binary(max_size=40), st.data())
def test_a_hash_under_way_is_that_of_all_bytes(text: bytes, data: st.DataObject) -> None:
    cut, other = sorted(data.draw(st.tuples(*[st.integers(0, len(text))] * 2)))
    found = np.zeros(2, np.uint64)
    in_three_ways(np.frombuffer(text, np.uint8), cut, other, found)
    assert found.tolist() == [murmur(text), len(text)]


@kernel
def slots_of(chosen: Any, text: Any, found: Any) -> None:
    for column in range(chosen.kinds.size):
        found[column] = chosen.category(column, text, 0, text.size)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=6, unique=True), st.binary(max_size=12), st.integers(1, 31))
def test_slots_are_hashes_of_names_and_of_categories(names: list[str], value: bytes, bits: int) -> None:
    chosen = columns(names, "file", bits=bits)
    assert chosen.slots.tolist() == [slot(name.encode(), bits) for name in names]
    found = np.zeros(len(names), np.uint64)
    slots_of(chosen, np.frombuffer(value, np.uint8), found)
    assert found.tolist() == [slot(name.encode() + b"=" + value, bits) for name in names]


def test_many_names_are_hashed_as_few_are() -> None:
    names = [
        "9" * 30,
        "é",
        "!",
        "",
        *map(str, range(HASHED_INTERPRETED)),
        *(f"column {k}" for k in range(HASHED_INTERPRETED)),
    ]
    many = columns(names, "file", bits=31)
    for k in range(0, len(names), HASHED_INTERPRETED):
        few = columns(names[k : k + HASHED_INTERPRETED], "file", bits=31)
        assert few.slots.tolist() == many.slots[k : k + HASHED_INTERPRETED].tolist()
        assert few.states.tolist() == many.states[STATE * k : STATE * (k + HASHED_INTERPRETED)].tolist()


def test_digits_are_their_own_slot() -> None:
    assert columns(["12", "7"], "file", bits=3).slots.tolist() == [4, 7]


def test_each_column_has_its_role() -> None:
    chosen = columns(["a", "b", "c", "d", "e"], "file", target="c", weight="a", drop=["b", "b"], categorical=["e"])
    assert chosen.kinds.tolist() == [WEIGHT, DROPPED, TARGET, FEATURE, CATEGORICAL]


def test_rows_to_be_scored_may_lack_target_and_weight_only() -> None:
    asked: dict[str, Any] = {"target": "y", "weight": "w", "drop": ["d"], "labelled": False}
    assert columns(["d", "a"], "file", **asked).kinds.tolist() == [DROPPED, FEATURE]
    assert columns(["w", "d", "y"], "file", **asked).kinds.tolist() == [WEIGHT, DROPPED, TARGET]
    with pytest.raises(DataError, match="file has no column 'd'"):
        columns(["a", "y"], "file", **asked)
    with pytest.raises(DataError, match="file has no column 'y'"):
        columns(["d"], "file", **asked, interactions=[["y", "y"]])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"target": "prise"}, "f.csv has no column 'prise'; it has 'price'"),
        ({"weight": "zzz"}, "f.csv has no column 'zzz'; it has 'price', 'demand', 'date'"),
        ({"drop": ["demamd"]}, "f.csv has no column 'demamd'; it has 'demand'"),
        ({"categorical": ["dat"]}, "f.csv has no column 'dat'; it has 'date'"),
        ({"target": "date", "weight": "date"}, "'date' cannot be both the target and the weight"),
        ({"drop": ["date"], "categorical": ["date"]}, "'date' cannot be both dropped and categorical"),
        ({"target": "date", "interactions": [["price", "date"]]}, "'date' cannot be both the target and multiplied"),
        ({"interactions": [["price", "dates"]]}, "f.csv has no column 'dates'; it has 'date'"),
    ],
)
def test_columns_that_cannot_be_are_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError) as error:
        columns(["price", "demand", "date"], "f.csv", **asked)
    assert said in str(error.value)


def test_two_columns_of_a_name_are_refused() -> None:
    with pytest.raises(DataError, match=r"f\.csv has two columns 'a', 1 and 3: rename one"):
        columns(["a", "b", "a"], "f.csv")


@given(st.from_regex(r"[ +\-.eE0-9]{0,8}", fullmatch=True))
def test_what_looks_like_a_number(text: str) -> None:
    expected = number(text)
    assert number_of(text) == (np.inf if expected is None else expected)


@pytest.mark.parametrize(
    ("positive", "text", "same", "value", "label"),
    [
        ("UP", b"UP", True, 3.0, 3.0),
        ("UP", b"UPS", False, 3.0, 3.0),
        ("UP", b"U", False, 3.0, 3.0),
        ("2", b"2", True, 2.0, POSITIVE),
        ("2.0", b"2", False, 2.0, POSITIVE),
        ("", b"2", False, 2.0, 2.0),
    ],
)
def test_labels(positive: str, text: bytes, same: bool, value: float, label: float) -> None:
    chosen = columns(["a"], "file", target="a", positive=positive)
    assert chosen.is_positive(np.frombuffer(text, np.uint8), 0, len(text)) == same
    assert chosen.label(value) == label


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_same_bytes(one: bytes, other: bytes) -> None:
    left, right = np.frombuffer(one, np.uint8), np.frombuffer(b"x" + other, np.uint8)
    assert is_same(left, U(0), U(len(one)), right, U(1), U(1 + len(other))) == (one == other)
