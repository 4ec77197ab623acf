"""The schemas of files of intervals and quantiles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lowregret.errors import StoreError
from lowregret.experts.schema import NUMBERS, SLACK, LayeredSchema, MixtureSchema
from lowregret.experts.tracking import (
    ABOVE,
    BASE,
    COVER_COUNT_NAMES,
    COVER_SUM_NAMES,
    LARGEST,
    LOSS,
    MISSES,
    PRICE,
    PULL,
    ROUNDS,
    SCORES,
    TRACKERS,
    WIDTH,
    WINDOW,
)
from lowregret.run.schema_rounds import Demands, RecordedSchema
from lowregret.store.schema import (
    FLAG,
    TEXT,
    Array,
    Arrays,
    Field,
    Told,
    anything,
    floats,
    items,
    number,
    record,
    whole,
    wholes,
)

BELOW_ONE = 1 - 2.0**-53
MOST_LEVELS = 99  # of a set of quantiles
LANES = 5  # of a `Layered` mixture


class ConformalSchema(RecordedSchema):
    """`ConformalIntervals`: the mixture of its trackers."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"mixture": MixtureSchema()}

    def own_fields(self) -> dict[str, Field]:
        wholes = {"delay": whole(), "worst": whole(-1), "every": whole(1)}
        return {"wanted": number(5e-324, BELOW_ONE), "budget": number(1), "compiled": FLAG} | wholes

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        return {"sums": COVER_SUM_NAMES, "counts": COVER_COUNT_NAMES}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        book = {"trackers": floats(TRACKERS)} | {name: floats(TRACKERS, low=0) for name in ("spent", "began")}
        book |= {"sums": floats(len(COVER_SUM_NAMES)), "counts": wholes(len(COVER_COUNT_NAMES))}
        waiting = {
            "pending.round": wholes("pending", high=NUMBERS),
            "pending.given": anything("pending", 3),
            "pending.state": wholes("pending", 2, low=-1),
            "pending.trackers": floats("pending", TRACKERS),
        }
        return book | waiting | {"window": floats("window", low=0, high=1), "curve": floats("shown", 4)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        counts, inner = arrays["counts"], told["mixture"]
        yield max(counts[MISSES], counts[ABOVE]) <= counts[ROUNDS] <= counts[SCORES], "counts: misses ≤ rounds ≤ scores"
        yield from _cover_demands(arrays["sums"], int(counts[ROUNDS]))
        yield len(inner["names"]) == TRACKERS and inner["parts"] == 1, f"a mixture of {TRACKERS} trackers"
        same = np.array_equal(np.sort(arrays["pending.round"]), np.sort(arrays["mixture.pending.number"]))
        yield same, "pending rounds that wait in the mixture, too"
        yield told["every"].bit_count() == 1, "every: a power of two"
        yield len(arrays["window"]) == min(int(counts[ROUNDS]), WINDOW), f"the latest {WINDOW} rounds in the window"
        yield len(arrays["curve"]) == int(counts[ROUNDS]) // told["every"], "a point of the curve for rounds kept"


def _cover_demands(sums: Any, rounds: int) -> Demands:
    """Conditions on sums over rounds whose scores, and the guesses of whose radii, are at most B, and radii 2B."""
    yield (
        np.all(sums[[LARGEST, BASE, LOSS, WIDTH]] >= 0) and sums[BASE] <= sums[LARGEST],
        "sums ≥ 0 where they are sizes",
    )
    most = sums[LARGEST] * rounds * (1 + SLACK)
    yield max(sums[LOSS], abs(sums[PULL]), sums[WIDTH] / 2) <= 2 * most, "sums of radii and scores"
    guessed = sums[LOSS] - sums[PRICE]  # Σρ of the guesses
    yield -SLACK * most <= guessed <= most + SLACK * most, "sums: a price of radii that were guessed"


class QuantilesSchema(RecordedSchema):
    """`Quantiles`: a `Layered` mixture for each level."""

    def __init__(self) -> None:
        self.level = LayeredSchema(LANES)

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        names = [f"level {level}" for level in range(0 if told is None else len(told["levels"]))]
        for name in names:
            if told is not None and name not in told:
                raise StoreError(f"lacks {name!r}, which this version of lowregret needs: train again")
        return dict.fromkeys(names, self.level)

    def fields(self) -> dict[str, Field]:
        level = record(self.level.fields())._replace(needed=False)
        return super().fields() | {f"level {place}": level for place in range(MOST_LEVELS)}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        levels = {name.partition(".")[0] for name in present if name.startswith("level ")}
        slots = self.level.slots(present)
        return {f"{level}.{key}": names for level in levels for key, names in slots.items()}

    def own_fields(self) -> dict[str, Field]:
        return {"names": items(TEXT, 1), "levels": items(number(5e-324, BELOW_ONE), 1), "compiled": FLAG}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        levels = len(told["levels"])
        waiting = {
            "pending.numbers": wholes("pending", levels, high=NUMBERS),
            "pending.said": floats("pending", levels),
        }
        return {"losses": floats(levels, low=0), "below": wholes(levels), "gained": floats(levels)} | waiting

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        mixtures = [told[f"level {level}"] for level in range(len(told["levels"]))]
        yield sum(name.startswith("level ") for name in told) == len(mixtures), f"{len(mixtures)} levels and no more"
        yield all(m["names"] == told["names"] and m["parts"] == 1 for m in mixtures), "levels of the same experts"
        waiting = arrays["pending.numbers"]
        for level in range(len(mixtures)):
            there = np.sort(arrays[f"level {level}.pending.number"])
            yield np.array_equal(np.sort(waiting[:, level]), there), f"rounds that wait at level {level}"
