"""What files of mixtures of experts hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from lowregret.errors import StoreError
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.state import COUNT_NAMES, COUNTS, NAPS, ROUNDS, SUM_NAMES, SUMS, Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Loss
from lowregret.store.schema import (
    FLAG,
    LARGEST,
    TEXT,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    anything,
    extended,
    floats,
    items,
    part,
    record,
    table,
    whole,
    wholes,
)

PLAIN = {
    "parts": whole(1),
    "linearised": FLAG,
    "compiled": FLAG,
    "late": whole(),
    "inside": FLAG,
    "asked": whole(),
}
PANEL = {
    "names": items(TEXT, 1),
    "aggregator": part(Aggregator),
    "loss": part(Loss),
    "substitution": part(Substitution),
    "pending": items(whole()),
    "every": whole(1),
    **PLAIN,
}
SIZES = ("square", "rate", "prior", "mass", "awake")  # of the book, which are not below 0

SLACK = 1e-6  # of sums that are 1

Demands = Iterator[tuple[Any, str]]


def panel_arrays(told: Told, prefix: str = "", weights: int | None = None) -> dict[str, Array]:
    """A book, the rounds that are kept for a picture, and those that wait for their outcomes, with so many weights."""
    n, waiting = len(told["names"]), len(told["pending"])
    book = {name: extended(n, low=0.0) if name in SIZES else extended(n) for name in Book._fields[:-2]}
    book |= {"paid": anything(n), "instant": anything(n)}  # of the latest round, in which some may have slept
    book |= {"regret": extended(n, high=LARGEST)}  # −∞ of experts that lost all
    kept = -(-told["asked"] // told["every"])
    found = book | {"sums": extended(SUMS), "counts": wholes(COUNTS, high=told["asked"])}
    found |= {"history": floats(kept, n, low=0), "regrets": anything(kept)}
    found |= {
        "forecasts": anything(waiting, told["parts"], n) if waiting else floats(0, 0),
        "mixture": floats(waiting, told["parts"]) if waiting else floats(0, 0),
        "used": floats(waiting, n if weights is None else weights, low=0) if waiting else floats(0, 0),
    }
    return {f"{prefix}{name}": array for name, array in found.items()}


def panel_demands(told: Told, arrays: Arrays, prefix: str = "") -> Demands:
    """What must be true of a panel."""
    asked, every, pending = told["asked"], told["every"], told["pending"]
    yield every.bit_count() == 1, f"{prefix}every: a power of two"
    distinct = len(set(pending)) == len(pending) and all(number < asked for number in pending)
    yield distinct, f"{prefix}pending rounds that were asked"
    yield arrays[f"{prefix}counts"][NAPS] <= arrays[f"{prefix}counts"][ROUNDS], f"{prefix}counts: naps ≤ rounds"
    yield abs(arrays[f"{prefix}prior"].sum() - 1) <= SLACK, f"{prefix}prior that sums to 1"
    yield not np.isinf(arrays[f"{prefix}forecasts"]).any(), f"{prefix}forecasts that are finite, or not there"
    yield np.all(arrays[f"{prefix}sums"][1:] >= 0), f"{prefix}sums ≥ 0"


class MixtureSchema(Schema):
    """An `ExpertMixture`."""

    def fields(self) -> dict[str, Field]:
        return dict(PANEL)

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {"sums": SUM_NAMES, "counts": COUNT_NAMES}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return panel_arrays(told)

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from panel_demands(told, arrays)


class LayeredSchema(MixtureSchema):
    """A `Layered` mixture: lanes, and the chief that mixes them."""

    def __init__(self, lanes: int) -> None:
        self.lanes = [f"lane {i}" for i in range(lanes)]
        self.chief = f"lane {lanes}"

    @property
    def panels(self) -> list[str]:
        """The lanes, and the chief."""
        return [*self.lanes, self.chief]

    def fields(self) -> dict[str, Field]:
        inner = {name: record(PANEL) for name in self.panels}
        return super().fields() | {"rounds": table(TEXT, items(whole()))} | inner

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        slots = super().slots(present)
        return slots | {f"{at}.{name}": names for at in self.panels for name, names in slots.items()}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        for name in self.panels:
            self._require_like(told, name)
        found = panel_arrays(told, weights=0)
        for name in self.panels:
            found |= panel_arrays(told[name], f"{name}.")
        return found

    def _require_like(self, told: Told, name: str) -> None:
        """A lane has the experts of the whole, the chief an expert for each lane, and both its rounds."""
        names, inner = told["names"] if name in self.lanes else self.lanes, told[name]
        same = all(inner[key] == told[key] for key in ("asked", "every", "parts"))
        if not same or len(inner["names"]) != len(names) or len(inner["pending"]) != len(told["pending"]):
            raise StoreError(f"is damaged or was changed: {name!r} does not belong to the others")

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from panel_demands(told, arrays)
        for name in self.panels:
            yield from panel_demands(told[name], arrays, f"{name}.")
        pending, rounds = told["pending"], told["rounds"]
        yield sorted(rounds) == sorted(map(str, pending)), "rounds of the lanes for each pending one"
        asked = [set(told[name]["pending"]) for name in self.panels]
        inside = all(
            len(numbers) == len(asked) and all(number in known for number, known in zip(numbers, asked, strict=True))
            for numbers in rounds.values()
        )
        yield inside, "rounds that wait in every lane"
