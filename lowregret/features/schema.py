"""The schema of forests in files: walks down their trees end, inside the arrays, whatever a file says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lowregret.features.forest import DEEP, child_of, cut_of, feature_of
from lowregret.store.schema import Array, Arrays, floats, wholes

PREFIX = "forest."
STORED = ("edges", "ends", "nodes", "roots")  # the rest follows from these


def forest_arrays() -> dict[str, Array]:
    """The arrays that a file keeps of a forest."""
    return {
        f"{PREFIX}edges": floats("edges"),
        f"{PREFIX}ends": wholes("ends", kind="uint64"),
        f"{PREFIX}nodes": Array("uint64", ("nodes",)),
        f"{PREFIX}roots": wholes("trees", kind="uint64"),
    }


def forest_demands(arrays: Arrays) -> Iterator[tuple[Any, str]]:
    """Conditions on them, which are as declared."""
    edges, ends, nodes, roots = (arrays[f"{PREFIX}{name}"] for name in STORED)
    ranks = np.diff(ends.astype(np.int64))
    sound = 2 <= ends.size <= DEEP and ends[0] == 0 and ends[-1] == edges.size
    yield sound and np.all(ranks >= 0) and np.all(ranks < DEEP), "forest.ends: where values of features end"
    places, first = np.arange(nodes.size, dtype=np.uint64), roots.astype(np.int64)
    sound = roots.size > 0 and first[0] == 0 and np.all(np.diff(first) > 0) and first[-1] < nodes.size
    yield sound, "forest.roots: a tree after the other"
    last = np.append(roots[1:], np.uint64(nodes.size))[np.searchsorted(first, places, side="right") - 1]
    child, leaf = child_of(nodes), child_of(nodes) == places
    yield np.all(leaf | (child > places) & (child + np.uint64(1) < last)), "forest.nodes: children after their parents"
    yield np.all(feature_of(nodes) < ends.size - 1), "forest.nodes: features that there are"
    yield np.all(~leaf | (cut_of(nodes) == DEEP)), "forest.nodes: leaves that ask nothing"
