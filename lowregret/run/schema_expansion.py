"""The schema of what runs and predictors keep of added columns: the map, and of partitions the sample or the forest."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from lowregret.features import FeatureMap, Forest, Partitions
from lowregret.features.base import MOST, require_sound
from lowregret.features.schema import PREFIX, STORED, forest_arrays, forest_demands
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.schema import Demands
from lowregret.run.expansion import NOTES, OFFSET, SETTLED
from lowregret.run.schema_curve import SAMPLED, are_labels, row_demands, sample_arrays
from lowregret.store.schema import Array, Arrays, Field, Told, floats, maybe, part, record, whole, wholes

LEFT = Field("a reason why there are no partitions", lambda value: isinstance(value, str) and value in NOTES)
EXPAND = record({"map": part(FeatureMap, Partitions), "offset": whole(1, MOST), "left": maybe(LEFT)})._replace(
    needed=False
)


def expansion_arrays(told: Told, present: Collection[str]) -> dict[str, Array]:
    """The arrays that a file keeps of added columns, if there are any."""
    found: dict[str, Array] = {}
    if "expand" in told:
        if any(name.startswith(SAMPLED) for name in present):
            found |= sample_arrays()
            found |= {f"{SAMPLED}data": floats("entries"), f"{SAMPLED}weights": floats("sample", low=0)}
        if any(name.startswith(PREFIX) for name in present):
            found |= forest_arrays() | {"asked": wholes("asked", high=told["expand"]["offset"] - 1, kind="uint64")}
    return found


def expansion_demands(told: Told, arrays: Arrays, rounds: int, room: int) -> Demands:
    """Conditions on added columns of a run with `room` places for features, if they are known."""
    if "expand" not in told:
        return
    added, offset, left = (told["expand"][name] for name in ("map", "offset", "left"))
    yield isinstance(told["learner"], Linear | Multiclass), "a linear learner for added columns"
    sample, forest = f"{SAMPLED}labels" in arrays, f"{PREFIX}nodes" in arrays
    if isinstance(added, FeatureMap):
        yield told["seen"] is None and not (sample or forest or left), "a fixed map for features that are known"
        require_sound(added, offset)
        yield offset + added.columns(offset) == room, f"room for {room - offset} added columns"
        return
    yield added.trees > 0 and not added.alone, "partitions with trees"
    known = offset + added.most_cells(SETTLED) == room if told["seen"] is None else offset == OFFSET
    yield known and offset <= OFFSET, "a place for each cell"
    yield sample + forest + (left is not None) <= 1, "rows to grow partitions on, or partitions, or neither"
    yield rounds >= SETTLED or not (forest or left == "wide"), f"partitions after {SETTLED} rounds"
    if sample:
        labels = arrays[f"{SAMPLED}labels"]
        yield labels.size == rounds <= SETTLED, "a sample of all rows"
        yield from row_demands(arrays, offset)
        yield are_labels(labels, told), "sample.labels that the loss takes"
    if forest:
        yield from forest_demands(arrays)
        stored, asked = Forest.stored(*(arrays[f"{PREFIX}{name}"] for name in STORED)), arrays["asked"]
        yield stored.trees == added.trees and stored.width <= added.most_cells(SETTLED), "no more cells than said"
        yield asked.size == stored.features and np.all(asked[1:] > asked[:-1]), "asked: a column for each feature"
