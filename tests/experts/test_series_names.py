"""Names of series: whatever differs is another series."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lowregret import DataError
from lowregret.experts import MLPoly, SeriesMixture

TABLE: dict[str, Any] = {"unique_id": ["a", "b"], "ds": [1, 1], "cutoff": [0, 0], "y": [0.5, 0.5]}
TABLE |= {"one": [0.0, 0.5], "two": [1.0, 1.0]}


def test_names_that_differ_in_their_last_nul_alone_are_two_series() -> None:
    """NumPy drops NULs at the ends of text: outcomes of the one were learnt by the weights of the other."""
    names = ["a", "a\0", "a", "a\0", "b"]
    table = {
        "unique_id": np.array(names, object),
        "ds": np.array([1, 1, 2, 2, 2]),
        "cutoff": np.array([0, 0, 1, 1, 1]),
        "y": np.zeros(5),
        "one": np.ones(5),
        "two": np.zeros(5),
    }
    mixture = SeriesMixture(["one", "two"], weights="series", aggregator=MLPoly(), compiled=False).learn(table)
    assert mixture.keys.series == ["a", "a\0", "b"]
    assert mixture.keys.ranks().tolist() == [0, 1, 2]


@pytest.mark.parametrize("missing", [None, math.nan, np.datetime64("NaT"), ""])
def test_a_row_without_a_series_is_refused(missing: Any) -> None:
    """A name of None was a series called None."""
    mixture = SeriesMixture(["one", "two"], compiled=False)
    with pytest.raises(DataError, match="row 1: there is no name of a series in column 'unique_id': name it"):
        mixture.learn(TABLE | {"unique_id": np.array(["a", missing], object)})
    assert mixture.rounds == mixture.asked == 0


def test_what_is_behind_a_mask_is_no_outcome() -> None:
    hidden = np.ma.masked_array([0.5, 9.0], mask=[False, True])
    mixture = SeriesMixture(["one", "two"], compiled=False)
    for column in ("y", "one", "ds"):
        with pytest.raises(DataError, match="some cells of the table are masked"):
            mixture.learn(TABLE | {column: hidden})
    numbers, _ = mixture.ask(TABLE)
    for outcomes, why in ((hidden, "some outcomes are masked"), (["a", "b"], "outcomes must be numbers")):
        with pytest.raises(DataError, match=why):
            mixture.tell(numbers, outcomes)
    with pytest.raises(DataError, match="some weights of the prior are masked"):
        SeriesMixture(["one", "two"], prior=hidden)
