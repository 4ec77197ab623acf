"""The schema of the files of predictors."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from lowregret.auto.classes import SHARES, AutoMulticlass
from lowregret.auto.learner import EXPERTS, PAST, Auto
from lowregret.auto.stack import SIZE, STACKS
from lowregret.auto.view import COLUMNS as MEASURES
from lowregret.auto.view import PACE, ROWS
from lowregret.compile.simd import LANES
from lowregret.features import Forest
from lowregret.features.schema import PREFIX, STORED, forest_arrays, forest_demands
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.schema import Demands
from lowregret.risk.kept_trial import FIELDS, PARTS, freezes
from lowregret.run.schema import COLUMNS, FED
from lowregret.run.schema_classes import CLASS_NAME, are_measures, are_weights, is_pace
from lowregret.run.schema_curve import COMPANION, SAMPLED, within
from lowregret.run.schema_expansion import EXPAND, expansion_arrays, expansion_demands
from lowregret.store.schema import (
    FLAG,
    MOST,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    anything,
    floats,
    items,
    maybe,
    part,
    record,
    whole,
    wholes,
)


class PredictorSchema(Schema):
    """The schema of a predictor: a learner, places of features, classes, the weights, and how good they were."""

    def fields(self) -> dict[str, Field]:
        return {
            "learner": part(Linear, Multiclass, Auto, AutoMulticlass),
            "compiled": FLAG,
            "seen": maybe(whole(0, COLUMNS)),
            "classes": maybe(items(CLASS_NAME, 1)),
            "rounds": whole(),
            "ended": maybe(whole()),
            "expand": EXPAND,
            "session": record(FED)._replace(needed=False),
        }

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        found = {"trial": anything("freezes", PARTS, FIELDS)}
        if told["seen"] is not None:
            found["columns"] = wholes("met", high=max(told["seen"] - 1, 0), kind="uint64")
        learner, names = told["learner"], told["classes"]
        classes = 1 if names is None else len(names)
        if isinstance(learner, Linear | Multiclass):
            found |= expansion_arrays(told, [name for name in present if not name.startswith(SAMPLED)])
            return found | _by_feature("weights", classes, int(learner.bias > 0), "float64")
        many = isinstance(learner, AutoMulticlass)
        found |= {
            "measures": floats("met", MEASURES - 1),
            "pace": floats(PACE, low=0.0),
            "stacks": floats(STACKS * SIZE),
            "trust": floats(EXPERTS, low=0.0, high=1.0),
            "past": floats(SHARES + 2 * classes if many else PAST),
        }
        banks = ["lanes", *["means"] * any(name.startswith("means") for name in present)]
        for name in banks:
            found |= _by_feature(name, classes * LANES, 1, "float32")
        if any(name.startswith(PREFIX) for name in present):
            names = [name.removeprefix(COMPANION) for name in present if name.startswith(COMPANION)]
            nested = self.arrays(companion(told), names)
            found |= forest_arrays() | within(COMPANION, {name: nested[name] for name in nested if name != "trial"})
        return found

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        learner, names, rounds = told["learner"], told["classes"], told["rounds"]
        many = isinstance(learner, Multiclass | AutoMulticlass)
        yield many == (names is not None), "names of classes if there are many"
        if names is not None:
            learner.loss.fits(len(names))
            yield len(set(names)) == len(names), "a name for each class"
        room = len(arrays["measures" if "measures" in arrays else "weights"])
        if told["seen"] is None:
            yield room >= 1, "at least one feature"
        else:
            yield np.unique(arrays["columns"]).size == len(arrays["columns"]), "a place for each column"
        ended, trial = told["ended"], arrays["trial"]
        yield ended is None or ended <= rounds, "a trial that ended in a round that was played"
        yield len(trial) <= freezes(rounds), f"at most {freezes(rounds)} models frozen in {rounds} rounds"
        yield np.all((trial[:, :, 0] >= 0) & (trial[:, :, 0] <= MOST)), "counts of rows that were judged"
        if isinstance(learner, Auto | AutoMulticlass):
            yield are_weights(arrays["trust"][None]), "trust in each expert"
            yield arrays["pace"][ROWS] == rounds and is_pace(arrays["pace"]), f"measures of {rounds} rows"
            yield are_measures(arrays["measures"]), "measures: counts and deviations ≥ 0"
            yield not many or np.all(arrays["past"][SHARES:] >= 0), "shares of classes"
        yield from expansion_demands(told, arrays, rounds, room)
        if f"{PREFIX}nodes" in arrays and "expand" not in told:
            yield isinstance(learner, Auto | AutoMulticlass) and learner.partitions.trees > 0, "partitions with trees"
            yield from forest_demands(arrays)
            nested = {name.removeprefix(COMPANION): a for name, a in arrays.items() if name.startswith(COMPANION)}
            forest = Forest.stored(*(arrays[f"{PREFIX}{name}"] for name in STORED))
            yield len(nested["measures"]) == forest.columns, "a feature for each cell"
            yield from self.demands(companion(told), nested | {"trial": trial})


def companion(told: Told) -> Told:
    """The description of a companion's model, which stands under a prefix."""
    return told | {"learner": told["learner"].plain(), "seen": None}


def _by_feature(name: str, cells: int, bias: int, kind: str) -> dict[str, Any]:
    return {name: floats("met", cells, kind=kind), f"{name}.bias": floats(bias, cells, kind=kind)}
