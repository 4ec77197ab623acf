"""Panels with names: tables are read by the names of their columns, in whatever order they come."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lowregret import DataError
from lowregret.experts import AdaHedge, ExpertMixture, Hedge, Layered, LogScore, Review
from tests.experts.cases import random_rounds

NAMES = ["north", "south", "east"]
X, Y = random_rounds(30, 3, 1, 0.1)
TURNED = [2, 0, 1]


def as_dict(names: list[str], x: Any) -> Any:
    return {name: x[:, i].tolist() for i, name in enumerate(names)}


def as_pandas(names: list[str], x: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(x, columns=names).assign(day="monday")


def as_nullable(names: list[str], x: Any) -> Any:
    return pytest.importorskip("pandas").DataFrame(x, columns=names).astype("Float64")


def as_polars(names: list[str], x: Any) -> Any:
    return pytest.importorskip("polars").DataFrame(as_dict(names, x)).fill_nan(None)


def as_arrow(names: list[str], x: Any) -> Any:
    return pytest.importorskip("pyarrow").table(as_dict(names, x))


@pytest.mark.parametrize("made", [as_dict, as_pandas, as_nullable, as_polars, as_arrow])
@pytest.mark.parametrize("kind", ["mixture", "layered"])
def test_a_reordered_table_is_the_same_table(made: Any, kind: str) -> None:
    def panel() -> ExpertMixture:
        return Layered(NAMES, compiled=False) if kind == "layered" else ExpertMixture(NAMES, AdaHedge(), compiled=False)

    plain, named = panel().learn(X, Y), panel()
    table = made([NAMES[i] for i in TURNED], X[:, TURNED])
    named.learn(table, Y)
    assert np.array_equal(named.forecasts, plain.forecasts, equal_nan=True)
    assert np.array_equal(named.weights, plain.weights)
    assert str(Review.of(named, table, Y)) == str(Review.of(plain, X, Y))
    assert list(named.named_weights) == [NAMES[i] for i in np.argsort(-plain.weights)]
    assert list(named.named_weights.values()) == sorted(plain.weights.tolist(), reverse=True)


@pytest.mark.parametrize("panel", [Layered(NAMES, compiled=False), ExpertMixture(NAMES, AdaHedge(), compiled=False)])
def test_a_round_is_asked_by_name(panel: ExpertMixture) -> None:
    pandas = pytest.importorskip("pandas")
    panel.learn(X, Y)
    expected = panel.ask([1.0, 2.0, math.nan])[1]
    for said in ({"east": None, "south": 2.0, "north": 1.0}, {"south": 2, "east": math.nan, "north": 1, "more": 7}):
        assert panel.ask(said)[1] == expected
    assert panel.ask(pandas.Series({"south": 2.0, "east": math.nan, "north": 1.0}))[1] == expected
    with pytest.raises(DataError, match="no forecasts of 'east': the columns are called 'north', 'south'"):
        panel.ask({"north": 1.0, "south": 2.0})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"north": [1.0], "south": [2.0]}, "no forecasts of 'east'.*fill a column with NaN if its expert sleeps"),
        ({"north": [1.0], "south": [2.0], "East": [3.0]}, "no forecasts of 'east': the columns are called .*'East'"),
        (
            {"north": [1.0], "south": [2.0], "east": [3.0, 4.0]},
            "'east' are not one a round, as many as those of 'north'",
        ),
        ({"north": 1.0, "south": 2.0, "east": 3.0}, "'north' are not one a round"),
        ({"north": ["a"], "south": [2.0], "east": [3.0]}, "the forecasts of 'north' must be numbers"),
    ],
)
def test_tables_that_do_not_fit_are_refused(table: Any, message: str) -> None:
    for panel in (Layered(NAMES, compiled=False), ExpertMixture(NAMES, AdaHedge(), compiled=False)):
        with pytest.raises(DataError, match=message):
            panel.learn(table, [1.0])
        assert panel.rounds == 0


def test_columns_of_the_same_name_are_refused() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=NAMES)
    table.insert(0, "south", X[:, 0], allow_duplicates=True)
    with pytest.raises(DataError, match="two columns are called 'south'"):
        ExpertMixture(NAMES, AdaHedge()).learn(table, Y)
    with pytest.raises(DataError, match="two experts are called 'a'"):
        Layered(["a", "b", "a"])
    dates = pandas.DataFrame({"north": pandas.date_range("2024", periods=30), "south": 1.0, "east": 1.0})
    with pytest.raises(DataError, match="the forecasts of 'north' must be numbers"):
        ExpertMixture(NAMES, AdaHedge()).learn(dates, Y)


def test_experts_without_names_are_taken_in_order() -> None:
    pandas = pytest.importorskip("pandas")
    plain = ExpertMixture(3, AdaHedge(), compiled=False).learn(X, Y)
    named = ExpertMixture(3, AdaHedge(), compiled=False).learn(pandas.DataFrame(X, columns=NAMES), Y)
    assert np.array_equal(plain.forecasts, named.forecasts, equal_nan=True)


def test_probabilities_of_classes_by_name() -> None:
    said = np.random.default_rng(0).dirichlet([1, 1, 1], (20, 2))
    plain, named = (
        ExpertMixture(["a", "b"], Hedge(1.0), LogScore(), parts=3, linearised=False, compiled=False) for _ in range(2)
    )
    came = np.arange(20) % 3
    plain.learn(said, came)
    named.learn({"b": said[:, 1], "a": said[:, 0]}, came)
    assert np.array_equal(plain.forecasts, named.forecasts)
    assert np.array_equal(named.ask({"b": said[0, 1], "a": said[0, 0]})[1], plain.ask(said[0])[1])


@pytest.mark.parametrize("experts", [2**40, 2**70])
def test_more_experts_than_fit_into_memory_are_refused(experts: int) -> None:
    """Their names were made until no memory was left."""
    with pytest.raises(DataError, match=f"no room in memory for {experts:,} names of experts"):
        ExpertMixture(experts, AdaHedge())


def test_a_name_that_comes_twice_among_many_is_found_at_once() -> None:
    with pytest.raises(DataError, match="two experts are called 'expert 7'"):
        ExpertMixture([*(f"expert {k}" for k in range(100_000)), "expert 7"], AdaHedge())
