"""The schema of the rows that runs of `auto` keep, which came since their model was frozen."""

from __future__ import annotations

import numpy as np

from lowregret.learner.schema import Demands
from lowregret.risk.kept_trial import FIRST
from lowregret.run.reserve import PREFIX, chosen, level_of
from lowregret.run.schema_curve import are_labels, row_arrays
from lowregret.store.schema import Array, Arrays, Told, wholes


def reserve_arrays() -> dict[str, Array]:
    """The arrays that a file keeps of them."""
    return {f"{PREFIX}numbers": wholes(f"{PREFIX}rows")} | row_arrays(PREFIX)


def reserve_demands(arrays: Arrays, rounds: int, told: Told) -> Demands:
    """Conditions on them, in the file of a run of this many rounds."""
    names = ("numbers", "labels", "weights", "indptr", "indices", "data")
    numbers, labels, weights, ends, columns, data = (arrays[f"{PREFIX}{name}"] for name in names)
    trial, ended = len(arrays["trial"]), told["ended"]
    came = (rounds if ended is None else ended) - (FIRST << max(trial - 1, 0))
    yield trial > 0, "rows that are kept if a model was frozen"
    yield np.all(np.diff(numbers) > 0), "reserve.numbers that rise"
    yield came > 0 and np.all(np.isin(numbers, chosen(0, came, level_of(came)))), "reserve.numbers of rows to be kept"
    yield np.all(weights > 0), "reserve.weights of rows that were learnt"
    yield ends.size == numbers.size + 1 and ends[0] == 0 and ends[-1] == columns.size, "reserve.indptr: ends of rows"
    yield np.all(np.diff(ends) >= 0), "reserve.indptr: rows one after the other"
    yield np.all(columns < (told["room"] if told["seen"] is None else told["seen"])), "reserve.indices: features met"
    places = np.repeat(np.arange(numbers.size, dtype=np.int64) << 32, np.diff(ends)) + columns
    yield np.all(np.diff(places) > 0), "reserve.indices: ascending ones in a row"
    yield np.all(data != 0), "reserve.data without zeros"
    yield are_labels(labels, told), "reserve.labels that the loss takes"
