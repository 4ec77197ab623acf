"""The schema of what runs of `auto` keep of random partitions: rows that forests are grown on, and a companion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.auto.learner import HEAVY
from lowregret.features.forest import FAR
from lowregret.learner.schema import Demands
from lowregret.run.curve import LOOKS
from lowregret.store.schema import Array, Arrays, Told, floats, wholes

SAMPLED, COMPANION = "sample.", "curve."


def within(prefix: str, declared: dict[str, Array]) -> dict[str, Array]:
    """Arrays declared under a prefix, the names of sizes too."""
    return {
        f"{prefix}{name}": replace(array, shape=tuple(f"{prefix}{n}" if isinstance(n, str) else n for n in array.shape))
        for name, array in declared.items()
    }


def row_arrays(prefix: str) -> dict[str, Array]:
    """The arrays that a file keeps of some rows under a prefix, with their labels and weights."""
    rows = {
        "labels": floats("rows"),
        "weights": floats("rows", low=0.0, high=HEAVY),
        "indptr": wholes("ends"),
        "indices": wholes("entries", kind="uint32"),
        "data": floats("entries", low=-FAR, high=FAR),
    }
    return within(prefix, rows)


def sample_arrays() -> dict[str, Array]:
    """The arrays that a file keeps of a sample of rows."""
    return row_arrays(SAMPLED)


def sample_demands(arrays: Arrays, rounds: int, told: Told) -> Demands:
    """Conditions on the arrays of a sample, in the file of a run that has played `rounds` rounds."""
    labels = arrays[f"{SAMPLED}labels"]
    yield labels.size == rounds < LOOKS[-1], "a sample of all rows"
    yield from row_demands(arrays, told["room"])
    yield are_labels(labels, told), "sample.labels that the loss takes"


def row_demands(arrays: Arrays, features: int) -> Demands:
    """Conditions on the rows of a sample, which have this many features."""
    labels, weights, ends, columns = (arrays[f"{SAMPLED}{name}"] for name in ("labels", "weights", "indptr", "indices"))
    yield np.all(weights > 0), "sample.weights > 0"
    yield ends.size == labels.size + 1 and ends[0] == 0 and ends[-1] == columns.size, "sample.indptr: ends of rows"
    yield np.all(np.diff(ends) >= 0), "sample.indptr: rows one after the other"
    yield np.all(columns < features), "sample.indices: features that there are"
    rows = np.repeat(np.arange(labels.size), np.diff(ends)) * np.int64(features) + columns
    yield np.unique(rows).size == rows.size, "sample.indices: distinct ones in a row"


def are_labels(labels: Any, told: Told) -> bool:
    """Whether the learner takes these labels, codes of classes if there are any."""
    if "known" in told:
        return bool(np.all((labels >= 0) & (labels < told["known"]) & (labels == np.floor(labels))))
    return all(map(told["learner"].loss.accepts, labels.tolist()))
