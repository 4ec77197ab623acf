"""Schemas of files of runs that keep the points of their curves themselves, and perhaps hold other such runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate.history import WIDTH
from lowregret.store.schema import MOST, TEXT, Array, Arrays, Field, Schema, Told, anything, record

Demands = Iterator[tuple[Any, str]]

SMALL = 5e-324  # the smallest positive number
WORDS = (1 << 64) - 1


class RecordedSchema(Schema):
    """The base of these schemas: a subclass declares its own fields, slots, arrays and demands, and the runs inside."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        """Schemas of the runs inside, by name; those that depend on the description are left out if `told` is None."""
        return {}

    def own_fields(self) -> dict[str, Field]:
        """The fields of the description, but for the theorem and the runs inside."""
        return {}

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        """For arrays stored by name, the names along their last axis."""
        return {}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        """The arrays, but for the history and those of the runs inside."""
        return {}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        """Pairs (whether it holds, a condition) beyond types, sizes and ranges."""
        yield from ()

    # ---- with what all have ------------------------------------------------------------------------------------------

    def fields(self) -> dict[str, Field]:
        inside = {name: record(schema.fields()) for name, schema in self.inner().items()}
        return self.own_fields() | {"theorem": TEXT} | inside

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        found = self.own_slots()
        for name, schema in self.inner().items():
            found |= {f"{name}.{key}": names for key, names in schema.slots(present).items()}
        return found

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        found = self.own_arrays(told) | {"history": anything("points", WIDTH)}
        for name, schema in self.inner(told).items():
            inside = schema.arrays(told[name], present)
            found |= {f"{name}.{key}": _within(name, array) for key, array in inside.items()}
        return found

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        rounds = arrays["history"][:, 0]
        yield np.all(np.diff(rounds, prepend=0.0) >= 1) and np.all(rounds <= MOST), "rounds of the history that ascend"
        for name, schema in self.inner(told).items():
            for holds, demand in schema.demands(told[name], inside(name, arrays)):
                yield holds, f"{name}: {demand}"
        yield from self.own_demands(told, arrays)


def _within(name: str, array: Array) -> Array:
    """An array of a run inside, whose sizes have names of their own."""
    return replace(array, shape=tuple(f"{name}.{size}" if isinstance(size, str) else size for size in array.shape))


def inside(name: str, arrays: Arrays) -> Arrays:
    """The arrays of a run inside, under their own names."""
    begin = f"{name}."
    return {key.removeprefix(begin): array for key, array in arrays.items() if key.startswith(begin)}
