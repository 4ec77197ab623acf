"""Names of series: whatever differs is another series."""

from __future__ import annotations

import numpy as np

from lowregret.experts import MLPoly, SeriesMixture


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
