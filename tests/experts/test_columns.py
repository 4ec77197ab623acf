"""Who is an expert: numbers that are forecasts, and no others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lowregret.experts.columns import off_scale, times, unused_origin, why_by_name, why_by_numbers

RNG = np.random.default_rng(0)
Y = RNG.normal(50, 5, 40)
DAYS = np.array([20240100 + d for d in range(1, 31)] + [20240200 + d for d in range(1, 11)], float)
EPOCH = 1.7e9 + 3600.0 * np.arange(40)


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("ds", "", "a time"),
        ("when", "timestamp[us]", "a time"),
        ("when", "date32[day]", "a time"),
        ("took", "duration[ns]", "a time"),
        ("holiday", "bool", "truth values"),
        ("unique_id", "", "names of rows"),
        ("store id", "", "names of rows"),
        ("Cutoff", "", "an origin"),
        ("AutoARIMA-lo-80", "", "a bound of an interval"),
        ("AutoARIMA-hi-99.5", "", "a bound of an interval"),
        ("yhat_lower", "", "a bound of an interval"),
        ("Upper 95%", "", "a bound of an interval"),
        ("NHITS_q0.9", "", "a quantile"),
        ("NHITS-quantile-10", "", "a quantile"),
        ("AutoARIMA", "", None),
        ("nat0.5", "", None),
        ("model_low", "", None),  # without one that is high
        ("lower", "", None),
        ("Theta", "double", None),
        ("solo", "", None),
        ("philo-80", "", None),
    ],
)
def test_names(name: str, kind: str, reason: str | None) -> None:
    names = ["AutoARIMA", "yhat", "yhat_lower", "yhat_upper", "Upper 95%", "model_low", "lower"]
    assert why_by_name(name, names, kind) == reason


@pytest.mark.parametrize(
    ("name", "cells", "reason"),
    [
        ("a", DAYS, "dates as whole numbers"),
        ("a", np.repeat([202311.0, 202312.0, 202401.0, 202402.0], 10), "dates as whole numbers"),
        ("a", EPOCH, "time since 1970"),
        ("a", EPOCH * 1e9, "time since 1970"),
        ("a", np.arange(40.0), "a count of rows"),
        ("a", np.arange(1.0, 41.0), "a count of rows"),
        ("a", 1000.0 + 7 * np.arange(40), "whole numbers that grow from row to row"),
        ("h", np.tile([1.0, 2.0], 20), "a horizon"),
        ("Horizon", np.ones(40), "a horizon"),
        ("month", np.tile([1.0, 2.0], 20), "a part of a date"),
        ("index", np.tile([4.0, 2.0], 20), "names of rows"),
        ("index", Y, None),
        ("a", np.tile([0.0, 1.0], 20), "truth values"),
        ("h", Y, None),  # a model of that name
        ("a", np.round(Y), None),
        ("a", np.full(40, np.nan), None),
        ("a", np.where(np.arange(40) % 2, np.nan, 1e9 + np.round(RNG.normal(size=40) * 1e8)), None),  # large, no order
        ("a", np.arange(30.0, 70.0), None),  # a trend among outcomes of that size
    ],
)
def test_numbers(name: str, cells: Any, reason: str | None) -> None:
    assert why_by_numbers(name, cells, Y) == reason


def test_numbers_like_dates_are_forecasts_of_numbers_like_dates() -> None:
    assert why_by_numbers("a", DAYS, DAYS + 1.0) is None
    assert why_by_numbers("a", np.arange(40.0), np.arange(40.0) + 0.5) is None
    assert why_by_numbers("day", np.arange(40.0), None) == "a part of a date"


def test_origins_that_are_not_used() -> None:
    assert unused_origin("cutoff", ["2024-01-01", "2024-01-01"])
    assert unused_origin("cutoff", ["2024-01-01", "2024-01-02"]) is None
    assert unused_origin("h", ["1", "2"])
    assert unused_origin("h", [1.0, 1.0]) is None
    assert unused_origin("arima", [1.0, 1.0]) is None


def test_other_units() -> None:
    assert off_scale("a", Y, Y) is None
    assert off_scale("a", Y / 50, Y) is None
    assert "says 4.935e+04 where 49.35 comes" in str(off_scale("a", Y * 1000, Y))
    assert off_scale("a", Y / 1000, Y)
    assert off_scale("a", RNG.normal(size=40), RNG.normal(size=40)) is None
    assert off_scale("a", np.full(3, np.nan), Y) is None
    assert off_scale("a", Y, np.zeros(40)) is None


def test_times() -> None:
    expected = np.array(["2024-01-31", "2024-02-01"], "datetime64[s]")
    for cells in (
        ["2024-01-31", "2024-02-01"],
        [20240131.0, 20240201.0],
        ["2024-01-31 00:00:00.000", "2024-02-01T00:00Z"],
    ):
        assert np.array_equal(times(cells), expected)
    for cells in ([1.0, 2.0], ["a", "b"], [20241331.0, 20240201.0], ["31/01/2024", "01/02/2024"]):
        assert times(cells) is None
