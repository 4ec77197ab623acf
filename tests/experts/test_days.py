"""Tables that go on from day to day without saying cutoffs: each time is forecast at the time before."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.errors import DataError
from lowregret.experts import SeriesMixture

Y = np.array([3.0, 1.0, 4.0, 1.0, 5.0])


def rows(*days: int, known: int) -> dict[str, Any]:
    """Rows of some days, with the outcomes of the first few that are known."""
    at = np.array(days)
    y = np.where(at < known, Y[at], math.nan)
    return {"unique_id": ["s"] * at.size, "ds": at + 1.0, "y": y, "one": Y[at] + 0.5, "two": Y[at] * 0.0 + at}


def mixture() -> SeriesMixture:
    return SeriesMixture(["one", "two"], weights="pooled", compiled=False)


@pytest.mark.parametrize("whole", [True, False])
def test_an_outcome_finds_its_forecast_whatever_else_is_in_the_table(whole: bool) -> None:
    """The cutoff of a row was that of another where the row before it was left out: its outcome was lost."""
    together, said = mixture().learn(rows(*range(5), known=5)), []
    daily = mixture()
    for day in range(5):
        first = 0 if whole else max(day - 1, 0)
        daily.learn(rows(*range(first, day + 1), known=day))
        said.append(daily.forecasts[-1])
    daily.learn(rows(4, known=5))
    assert said == together.forecasts.tolist()
    assert daily.deliver().loss == together.deliver().loss
    assert daily.rounds == 5


def test_a_series_that_begins_at_the_latest_time_does_not_know_its_outcomes() -> None:
    """At the time that was forecast last nothing later is known: a further series is forecast as the others were."""
    grown = rows(0, 1, known=2)
    further = rows(1, known=2) | {"unique_id": ["t"]}
    together = {name: [*column, *further[name]] for name, column in grown.items()}
    expected = mixture().learn({name: np.array(column) for name, column in together.items()})
    found = mixture().learn(grown).learn(further)
    assert found.forecasts[0] == expected.forecasts[2]
    with pytest.raises(DataError, match="before the latest origin"):
        found.learn(rows(0, known=1) | {"unique_id": ["u"]})


@pytest.mark.parametrize(
    ("ds", "cutoff"),
    [
        (["2024-01-02T00:00-05:00", "2024-01-03T00:00-05:00"], ["2024-01-01", "2024-01-02"]),
        (["2024-01-02", "2024-01-03T00:00Z"], ["2024-01-01", "2024-01-02"]),
    ],
)
def test_times_say_their_offset_all_or_none(ds: list[str], cutoff: list[str]) -> None:
    """Midnight at an offset of −5 hours is five hours later than midnight: outcomes would be known before they are."""
    with pytest.raises(DataError, match="offset from UTC"):
        mixture().learn(rows(0, 1, known=2) | {"ds": ds, "cutoff": cutoff})


def test_offsets_that_differ_are_the_same_moments() -> None:
    days = rows(0, 1, 2, known=3)
    moments = {"ds": ["2024-01-02T00:00Z", "2024-01-03T01:00+01:00", "2024-01-03T18:30-0530"]}
    plain = {"ds": ["2024-01-02", "2024-01-03", "2024-01-04"]}
    one, other = (mixture().learn(days | times) for times in (moments, plain))
    assert np.array_equal(one.forecasts, other.forecasts)


def test_dates_beyond_all_microseconds_are_refused() -> None:
    """They came out before all others."""
    far = {"ds": np.array(["2024-01-01", "300000-01-01"], "datetime64[D]")}
    with pytest.raises(DataError, match="there is no time"):
        mixture().learn(rows(0, 1, known=2) | far)


def test_forecasts_with_missing_cells_of_any_kind_are_numbers() -> None:
    """Columns of objects were no experts: the expert was taken for one that had retired."""
    days = rows(0, 1, 2, known=3)
    one = mixture().learn(days | {"one": np.array([3.5, None, 4.5], object)})
    other = mixture().learn(days | {"one": np.array([3.5, math.nan, 4.5])})
    assert not one.retired
    assert np.array_equal(one.forecasts, other.forecasts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"one": np.array(["3.5", "x"], object)}, "holds no numbers but cells such as '3.5'"),
        ({"y": np.array(["3.5", "x"], object)}, "holds no numbers"),
        ({"one": [3.5]}, "expected a cell for each row"),
        ({"one": np.ones((2, 2))}, "expected a cell for each row"),
        ({"h": [1e300, 1]}, "is not a number of steps"),
    ],
)
def test_columns_that_are_no_numbers_are_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        mixture().learn(rows(0, 1, known=2) | change)


@pytest.mark.parametrize("numbers", [["a"], [[0, 1]], [0.5]])
def test_numbers_of_forecasts_are_whole(numbers: Any) -> None:
    asked = mixture()
    asked.ask(rows(0, 1, known=0))
    with pytest.raises(DataError, match="whole numbers"):
        asked.tell(numbers, np.ones(np.size(numbers)))


def test_dates_with_and_without_an_offset_do_not_go_on_from_each_other(tmp_path: Path) -> None:
    """12:00+02:00 is two hours before 12:00: what was known when would be another thing in the second table."""

    def day(*texts: str) -> dict[str, Any]:
        return rows(*range(len(texts)), known=0) | {"ds": list(texts)}

    zoned = mixture().learn(day("2024-01-01T12:00+01:00", "2024-01-01T14:00+02:00"))
    zoned.learn(day("2024-01-01T12:00+01:00") | {"ds": ["2024-01-01T13:00+02:00"]})  # the same moment, and no new row
    assert zoned.asked == 2
    zoned.save(tmp_path / "a.lr")
    for met in (zoned, lowregret.load(tmp_path / "a.lr")):
        with pytest.raises(DataError, match="do not say their offset from UTC in this table, and did before"):
            met.learn(day("2024-01-01T12:30"))
        assert met.learn(day("2024-01-01T15:00+01:00")).asked == 3
    local = mixture().learn(day("2024-01-01T12:00"))
    with pytest.raises(DataError, match="dates say their offset from UTC in this table, and did not before"):
        local.learn(day("2024-01-01T15:00+02:00"))
