"""Feature maps: parts that give rows further columns, computed from the features that they have.

A map of your own is a subclass of `FeatureMap` that says how many columns it adds, and writes those of a row:

    class Squares(FeatureMap):
        def columns(self, features):
            return features

        def write(self, row, columns, values):
            for j in range(row.size):
                columns[j], values[j] = j, row[j] * row[j]
            return row.size

Any linear learner then learns on the features of a row and on those that were added, side by side: the space is a
larger one, the problem as convex as before, and every theorem holds of it. A map is fixed: it must depend on the row
and on its own parameters alone.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.errors import LowRegretError

MOST = 1 << 31  # columns that a map may add
FAR = 1e150  # values that are larger are refused: products of two would overflow


class FeatureMap(Part):
    """x ↦ φ(x): `columns` further columns of a row x, of which `write` gives those that are not 0."""

    @abstractmethod
    def columns(self, features: int) -> int:
        """How many columns are added to rows with this number of features; `PartError` if that makes no sense."""

    def entries(self, features: int) -> int:
        """At most how many of them a row has: all, unless the map knows better."""
        return self.columns(features)

    @abstractmethod
    def write(self, row: Any, columns: Any, values: Any) -> int:
        """Write the added columns of a row, ascending from 0 on, and their values; returns how many were written.

        `row` is the vector of all its features, to be read only. Those that are not written are 0.
        """


def require_sound(added: FeatureMap, features: int) -> None:
    """Refuse a map whose promises make no sense, or are broken for rows of 0 and of 1, interpreted."""
    columns, entries = added.columns(features), added.entries(features)
    for name, count in (("columns", columns), ("entries", entries)):
        sound = isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= MOST
        added.require(sound, f"{name}({features}) must be a whole number from 1 to 2^31, got {count!r}")
    added.require(entries <= columns, f"entries({features}) = {entries} must not exceed its {columns} columns")
    for value in (0.0, 1.0):
        row = np.full(features, value)
        row.flags.writeable = False
        fault = fault_of(added, row, columns, entries)
        added.require(fault is None, f"{fault}, for a row whose {features} features are all {value:g}")


def fault_of(added: FeatureMap, row: Any, columns: int, entries: int) -> str | None:
    """The promise that a map breaks for a row, in words; None if it keeps them all."""
    found, values = np.zeros(entries, np.int64), np.zeros(entries)
    try:
        with np.errstate(all="ignore"):
            count = added.write(row, found, values)
    except IndexError:
        return f"`write` reads or writes beyond its arrays, which have room for entries({row.size}) = {entries}"
    except LowRegretError:
        raise
    except Exception as error:
        return f"`write` fails: {type(error).__name__}: {error}"
    if not isinstance(count, int | np.integer) or not 0 <= count <= entries:
        return f"`write` returns {count!r}, expected how many entries it wrote: 0 to entries({row.size}) = {entries}"
    last = -1
    for column, value in zip(found[:count].tolist(), values[:count].tolist(), strict=True):
        if not 0 <= column < columns:
            return f"`write` gives column {column}, expected one below columns({row.size}) = {columns}"
        if column <= last:
            return f"`write` gives column {column} after column {last}: columns must ascend, each once"
        if not abs(value) < FAR:
            return f"`write` gives column {column} the value {value:g}, expected a number of size below 1e150"
        last = column
    return None
