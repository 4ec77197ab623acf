"""The schema of files of mixtures of many series."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from lowregret.experts.aggregator import Aggregator
from lowregret.experts.groups import GroupAccounts, GroupStandings
from lowregret.experts.schema import MET, NUMBERS, SIGNED, SIZES, SLACK, are_sums, sums_regret
from lowregret.experts.series_keys import WEIGHTS
from lowregret.experts.state import BOOK_COUNT_NAMES, BOOK_COUNTS, BOOK_SUM_NAMES, BOOK_SUMS, NAPS, ROUNDS
from lowregret.loss import Loss
from lowregret.run.schema_rounds import Demands, RecordedSchema
from lowregret.store.schema import (
    FLAG,
    LARGEST,
    MOST,
    TEXT,
    Array,
    Arrays,
    Field,
    Told,
    anything,
    extended,
    floats,
    items,
    maybe,
    part,
    whole,
    wholes,
)

SHARED = ("sums", "counts", "late")  # of a group, not of its experts


def _tables(kind: type[GroupStandings] | type[GroupAccounts], groups: int, experts: int) -> dict[str, Array]:
    """GroupStandings or accounts of this many groups and experts."""
    found = {
        name: extended(groups, experts, low=0.0) if name in SIZES else extended(groups, experts)
        for name in kind._fields
        if name not in SHARED
    }
    if "regret" in found:
        found["regret"] = extended(groups, experts, high=LARGEST)  # −∞ of experts that lost all
    if "late" in kind._fields:
        found["late"] = floats(groups)
    return found | {"sums": extended(groups, BOOK_SUMS), "counts": wholes(groups, BOOK_COUNTS)}


class SeriesSchema(RecordedSchema):
    """A `SeriesMixture`."""

    def own_fields(self) -> dict[str, Field]:
        counts = {"steps": items(whole(-MOST)), "asked": whole()}
        flags = {"linearised": FLAG, "compiled": FLAG, "dated": maybe(FLAG), "zoned": maybe(FLAG)}
        texts = {"names": items(TEXT, 1), "series": items(TEXT), "called": maybe(TEXT)}
        weighing = {"weighing": Field(f"one of {', '.join(WEIGHTS)}", lambda value: value in WEIGHTS)}
        lanes = {"lanes": items(part(Aggregator), 1), "chief": maybe(part(Aggregator)), "loss": part(Loss)}
        return lanes | texts | counts | flags | weighing | MET

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        sums = {name: BOOK_SUM_NAMES for name in present if name.endswith(".sums")}
        return sums | {name: BOOK_COUNT_NAMES for name in present if name.endswith(".counts")}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        n, groups = len(told["names"]), self._groups(told)
        found = {"last": anything(len(told["series"])), "clocks": extended(2)}
        found["waiting.number"] = wholes("waiting", high=NUMBERS)
        found["waiting.series"] = wholes("waiting", high=max(len(told["series"]) - 1, 0))
        found["waiting.group"] = wholes("waiting", high=max(groups - 1, 0))
        found |= {"waiting.time": floats("waiting"), "waiting.cutoff": extended("waiting")}
        found |= {"waiting.x": anything("waiting", n), "waiting.y": anything("waiting"), "waiting.p": floats("waiting")}
        found |= {f"accounts.{name}": array for name, array in _tables(GroupAccounts, groups, n).items()}
        for name, count, experts in self._mixtures(told):
            found[f"{name}.prior"] = floats(experts, low=0)
            lanes = len(told["lanes"])
            for stage in range(lanes + (told["chief"] is not None)):
                size = experts if stage < lanes else lanes
                found |= {f"{name}.{stage}.{key}": array for key, array in _tables(GroupStandings, count, size).items()}
        return found

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        for name in ("names", "series", "steps"):
            yield len(set(told[name])) == len(told[name]), f"different {name}"
        yield (told["chief"] is None) == (len(told["lanes"]) == 1), "one lane, or several and a chief"
        for name, _, _ in self._mixtures(told):
            yield abs(arrays[f"{name}.prior"].sum() - 1) <= SLACK, f"{name}: a prior that sums to 1"
        for name, array in arrays.items():
            if name.endswith(".counts"):
                yield np.all(array[:, NAPS] <= array[:, ROUNDS]), f"{name}: naps ≤ rounds"
            if name.endswith(".sums"):
                yield np.all(array[:, 1:] >= 0), f"{name} ≥ 0"
        for name in (*SIGNED, "drift"):
            yield are_sums(arrays[f"accounts.{name}"], arrays["accounts.added"]), f"{name}: no more than was added"
        yield are_sums(arrays["accounts.late"], arrays["accounts.added"].sum(1)), "late: no more than was added"
        for name, aggregator in self._standings(told):
            if sums_regret(aggregator):
                possible = are_sums(arrays[f"{name}.regret"], arrays[f"{name}.added"])
                yield possible, f"{name}.regret: no more than was added"
        waiting, x = arrays["waiting.number"].size, arrays["waiting.x"]
        yield waiting <= told["asked"], "forecasts that wait and were asked"
        yield np.unique(arrays["waiting.number"]).size == waiting, "forecasts that wait under different numbers"
        yield not waiting or (told["series"] and self._groups(told)), "forecasts that wait in a series that is known"
        yield not np.isinf(x).any() and not np.isnan(x).all(1).any(), "forecasts that wait and that somebody gave"
        yield all(map(told["loss"].accepts, arrays["waiting.y"][~np.isnan(arrays["waiting.y"])].tolist())), "outcomes"

    def _standings(self, told: Told) -> list[tuple[str, Aggregator]]:
        """The names of all standings, and the aggregators whose they are."""
        stages = [*told["lanes"], *([] if told["chief"] is None else [told["chief"]])]
        return [(f"{name}.{k}", stage) for name, _, _ in self._mixtures(told) for k, stage in enumerate(stages)]

    def _groups(self, told: Told) -> int:
        """Sets of weights."""
        return {"pooled": 1, "horizon": len(told["steps"])}.get(told["weighing"], len(told["series"]))

    def _mixtures(self, told: Told) -> list[tuple[str, int, int]]:
        """The mixtures inside: name, groups and experts."""
        n, shrunk = len(told["names"]), told["weighing"] == "shrunk"
        own = [("own", self._groups(told), n + shrunk)]
        return [("pool", 1, n), *own] if shrunk else own
