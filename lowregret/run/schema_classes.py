"""Schemas of the files of runs on many classes, and of runs of `auto`."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

from lowregret.auto.bank import WIDTH
from lowregret.auto.class_loop import THEN_CLASSES, THEN_WIDTH
from lowregret.auto.classes import SHARES
from lowregret.auto.frozen import DONE, NOW, VOTES
from lowregret.auto.frozen import GAP as KEPT_GAP
from lowregret.auto.learner import EXPERTS, GAP, LOSSES, PARTITIONS, PAST, PRODUCTS, TRUST, WEIGHTS
from lowregret.auto.mixture import FAINT
from lowregret.auto.row_loop import THEN
from lowregret.auto.stack import SIZE, STACKS
from lowregret.auto.view import COLUMNS, COUNT, DEVIATION, PACE, PLAIN_SQUARE, ROWS, SHAPED_SQUARE
from lowregret.compile.simd import LANES
from lowregret.features import Forest
from lowregret.features.schema import PREFIX, STORED, forest_arrays, forest_demands
from lowregret.learner.growth import require_more_classes
from lowregret.learner.layout import stride
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.multiclass_simd import at_work
from lowregret.learner.schema import Demands
from lowregret.risk import statistics as tally
from lowregret.risk.kept_trial import freezes
from lowregret.run.eras import KEPT, ROUND
from lowregret.run.eras import WIDTH as ERA
from lowregret.run.reserve import PREFIX as RESERVED
from lowregret.run.schema import LedgerSchema, RowSchema
from lowregret.run.schema_curve import COMPANION, SAMPLED, sample_arrays, sample_demands, within
from lowregret.run.schema_reserve import reserve_arrays, reserve_demands
from lowregret.store.schema import (
    FLAG,
    LARGEST,
    TEXT,
    Array,
    Arrays,
    Field,
    Told,
    extended,
    floats,
    items,
    maybe,
    record,
    whole,
    wholes,
)

SLACK = 1e-6  # of sums that are 1
CLASS_NAME = Field(
    "a whole number or a text", lambda value: isinstance(value, int) or (TEXT.accepts(value) and value != "")
)


class ClassSchema(LedgerSchema):
    """The schema of a run on many classes, with their names and the confusion matrix."""

    def fields(self) -> dict[str, Field]:
        numbers = dict.fromkeys(("known", "frozen_known"), whole())
        return super().fields() | {"classes": items(CLASS_NAME), "fixed": FLAG, "lanes": whole(1)} | numbers

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return super().arrays(told, present) | _confusion("confusion", "confusion.sums")

    def judged(self, told: Told, name: str) -> dict[str, Array]:
        return _confusion(f"{name}.confusion", f"{name}.sums")

    def lots(self, told: Told) -> int:
        return stride(at_work(told["learner"]), told["lanes"])

    def slot_sizes(self, told: Told) -> tuple[int, int]:
        return self.lots(told), 2

    def warm(self, told: Told) -> int:
        return tally.BLOCK

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        names, lanes, known = told["classes"], told["lanes"], told["known"]
        told["learner"].loss.fits(len(names) if told["fixed"] else None)
        if isinstance(told["learner"], Multiclass) and not told["fixed"]:
            require_more_classes(told["learner"])
        yield len(set(names)) == len(names) == known, "a name for each class that is known"
        room = lanes == known if told["fixed"] else known <= lanes <= 2 * known + 2 * LANES
        yield room, f"lanes for {known} classes"
        frozen = told["frozen_known"]
        yield frozen <= known and (frozen >= 1 or not len(arrays["trial"])), "classes of the model on trial"
        for name, array in arrays.items():
            if name.endswith("confusion"):
                yield 1 <= len(array) <= known + 1, f"{name} of {known} classes"
                alone = f"{name}.sums"
                weight, wrong, _ = arrays[alone if alone in arrays else f"{name.removesuffix('confusion')}sums"]
                yield np.array_equal(weight > 0, array.any(1)), f"{name}: rows have a weight"
                yield np.all((wrong <= weight) & (weight <= LARGEST)), f"{name}: weights of wrong rows ≤ of all"
        yield from super().demands(told, arrays)


def _confusion(counts: str, sums: str) -> dict[str, Array]:
    return {counts: wholes(counts, counts), sums: extended(3, counts, low=0.0)}


class AutoSchema(LedgerSchema):
    """The schema of a run of `auto`: its mind, the trust in its experts over the rounds, and the kept model."""

    def fields(self) -> dict[str, Field]:
        alone = super().fields() | {"folded": items(whole()), "glance": whole()}
        return alone | {"curve": maybe(record(alone))}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        found = super().slots(present)
        return found | {f"{COMPANION}{name}": names for name, names in found.items()}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        found = super().arrays(told, present) | {
            "contests": extended("marks", TRUST),
            "eras": extended("eras", ERA),
            "votes": extended(VOTES),
            "means": floats(SIZE),
            **_averages("average"),
            **self.mind("mind", told, WIDTH),
        }
        if any(name.startswith(SAMPLED) for name in present) and "curve" in told:
            found |= sample_arrays()
        if any(name.startswith(RESERVED) for name in present) and "curve" in told:
            found |= reserve_arrays()
        if told.get("curve") is not None:
            names = [name.removeprefix(COMPANION) for name in present if name.startswith(COMPANION)]
            found |= forest_arrays() | within(COMPANION, self.arrays(told["curve"], names))
        return found

    def frozen(self, told: Told) -> dict[str, Array]:
        return _averages("frozen.average") | self.mind("frozen.mind", told, LANES) | self.measures(told)

    def mind(self, prefix: str, told: Told, width: int) -> dict[str, Array]:
        """The arrays of a mind, whose bank has `width` numbers for each feature and lane."""
        bank = self.split(told, f"{prefix}.bank", width * self.lots(told), "float32")
        rest = {"pace": floats(PACE, low=0.0), "stacks": floats(STACKS * SIZE), "trust": extended(TRUST)}
        return bank | {f"{prefix}.{name}": array for name, array in (rest | {"past": floats(self.past(told))}).items()}

    def past(self, told: Told) -> int:
        """How many numbers a mind keeps of the labels met before."""
        return PAST

    def measures(self, told: Told) -> dict[str, Array]:
        """The arrays of statistics of features that belong to the model on trial."""
        return self.split(told, "frozen.measures", COLUMNS)

    def frozen_often(self, told: Told, rounds: int) -> int:
        return freezes(rounds)

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        rounds, cells, ends = self.rounds(arrays), LANES * self.lots(told), arrays["eras"][:, ROUND]
        yield len(told["folded"]) == 2 and told["folded"][0] <= rounds, "lanes that were averaged"
        yield arrays["mind.pace"][ROWS] == rounds, f"a mind that saw {rounds} rows"
        yield from mind_demands(arrays)
        for name in ("average", "frozen.average"):
            if name in arrays:
                yield arrays[name].shape[1] in (0, cells), f"{name} of {cells} lanes, or none"
        votes = arrays["votes"]
        judged = np.isfinite(votes[KEPT_GAP]) and np.isfinite((votes[:NOW] + votes[NOW:KEPT_GAP]).min())
        yield judged and votes[KEPT_GAP] >= 0, "votes: losses of the kept experts"
        for trust in (arrays["mind.trust"][None], arrays["contests"], arrays["eras"][:, KEPT:]):
            yield are_weights(trust) and np.all(trust[:, int(PRODUCTS) : GAP] >= FAINT), "trust in each expert"
            gone = trust[:, LOSSES : LOSSES + EXPERTS] == np.inf
            yield not np.any(trust[:, WEIGHTS : WEIGHTS + EXPERTS][gone]), "no trust in those who are not there"
        if "frozen.mind.trust" in arrays:
            yield are_weights(arrays["frozen.mind.trust"][None]), "trust in each expert of the model on trial"
        yield np.all(ends >= 1) and np.all(np.diff(ends) > 0) and np.all(ends <= rounds), "eras one after the other"
        yield from self.curve(told, arrays)

    def curve(self, told: Told, arrays: Arrays) -> Demands:
        """Conditions on the partitions: a companion in step with the run, and rows that forests will be grown on."""
        if "curve" not in told:
            return
        companion, trees = told["curve"], told["learner"].partitions.trees
        live, kept = (math.isfinite(arrays[a][i + PARTITIONS]) for a, i in (("mind.trust", LOSSES), ("votes", DONE)))
        yield live == (companion is not None), "trust in the companion if there is one"
        yield live or not kept, "votes on the companion only if there is one"
        yield trees > 0 or not (companion or f"{SAMPLED}data" in arrays), "partitions if there are trees"
        if f"{RESERVED}data" in arrays:
            yield from reserve_demands(arrays, self.rounds(arrays), told)
        if f"{SAMPLED}data" in arrays:
            yield from sample_demands(arrays, self.rounds(arrays), told)
        if companion is not None:
            yield from forest_demands(arrays)
            nested = {name.removeprefix(COMPANION): a for name, a in arrays.items() if name.startswith(COMPANION)}
            yield companion["learner"] == told["learner"].plain(), "the same learner of the companion"
            yield self.rounds(nested) == self.rounds(arrays), "a companion that is in step"
            forest = Forest.stored(*(arrays[f"{PREFIX}{name}"] for name in STORED))
            yield companion["seen"] is None and companion["room"] == forest.columns, "a feature for each cell"
            yield len(nested["trial"]) == len(arrays["trial"]), "models of the companion on trial"
            for name in ("known", "frozen_known", "fixed"):
                yield companion.get(name) == told.get(name), f"{name}: the same classes of the companion"
            yield from self.demands(companion, nested)


def _averages(name: str) -> dict[str, Array]:
    return {
        name: floats("met", f"{name} lanes", kind="float32"),
        f"{name}.bias": floats(1, f"{name} lanes", kind="float32"),
    }


def mind_demands(arrays: Arrays) -> Demands:
    """Conditions on sums of squares, of which roots are taken: scores would be no numbers else."""
    for name in ("mind.bank", "mind.bank.bias"):
        yield np.min(arrays[name].reshape(-1, WIDTH)[:, LANES:], initial=0) >= 0, f"{name}: sums ≥ 0"
    for name in ("mind.pace", "frozen.mind.pace"):
        yield name not in arrays or is_pace(arrays[name]), f"{name}: lengths of rows"
    for name in ("mind.measures", "frozen.mind.measures", "frozen.measures"):
        yield name not in arrays or are_measures(arrays[name][:, 1:]), f"{name}: counts and deviations ≥ 0"


def are_measures(measures: Any) -> bool:
    """Whether the counts and deviations of features, θ left out, are ≥ 0."""
    return bool(np.min(measures[:, [int(COUNT) - 1, int(DEVIATION) - 1]], initial=0) >= 0)


def is_pace(pace: Any) -> bool:
    """Whether rows from the second on have a length, that of the bias at least."""
    return bool(pace[ROWS] <= 1 or min(pace[SHAPED_SQUARE], pace[PLAIN_SQUARE]) > 0)


def are_weights(trust: Any) -> bool:
    """Whether the weights in each row of trust are ≥ 0 and sum to 1."""
    weights = trust[:, WEIGHTS : WEIGHTS + EXPERTS]
    return bool(np.all(weights >= 0) and np.all(np.abs(weights.sum(axis=1) - 1) <= SLACK))


class AutoRowSchema(AutoSchema, RowSchema):
    """The schema of a run of `auto` with one score a row."""

    def columns(self, told: Told) -> int:
        return COLUMNS

    def slot_sizes(self, told: Told) -> tuple[int, int]:
        return 1, THEN

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        yield are_measures(arrays["table"][:, 1:]), "table: counts and deviations ≥ 0"


class AutoClassSchema(AutoSchema, ClassSchema):
    """The schema of a run of `auto` on many classes."""

    def mind(self, prefix: str, told: Told, width: int) -> dict[str, Array]:
        return super().mind(prefix, told, width) | self.split(told, f"{prefix}.measures", COLUMNS)

    def past(self, told: Told) -> int:
        return SHARES + 2 * int(told["lanes"])

    def slot_sizes(self, told: Told) -> tuple[int, int]:
        return self.lots(told), THEN_CLASSES + THEN_WIDTH * self.lots(told)

    def measures(self, told: Told) -> dict[str, Array]:
        return {}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        for name in ("mind.past", "frozen.mind.past"):
            yield name not in arrays or np.all(arrays[name][SHARES:] >= 0), f"{name}: shares of classes"
