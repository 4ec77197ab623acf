"""Mixtures of many series as files hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lowregret.compile.spec import from_json, to_json
from lowregret.experts.group_mixture import GroupMixture
from lowregret.experts.groups import GroupAccounts, GroupStandings
from lowregret.experts.waiting import WaitingForecasts
from lowregret.loss.verify import MetScores
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.run.schema_rounds import inside
from lowregret.store.file import Arrays

if TYPE_CHECKING:
    from lowregret.experts.series import SeriesMixture

Kind = TypeVar("Kind", bound="SeriesMixture")


def write_series(m: SeriesMixture) -> tuple[dict[str, Any], Arrays]:
    """The description and arrays of a mixture, with the forecasts that wait."""
    keys, way = m.keys, m.way
    description: dict[str, Any] = {
        "names": m.names,
        "loss": to_json(way.loss),
        "lanes": [to_json(lane.aggregator) for lane in m.own.lanes],
        "chief": None if m.own.chief is None else to_json(m.own.chief.aggregator),
        "linearised": way.linearised,
        "compiled": way.compiled,
        "weighing": keys.weighing,
        "series": keys.series,
        "steps": keys.steps,
        "dated": keys.dated,
        "zoned": keys.zoned,
        "asked": m.asked,
        "called": m.called,
    }
    description |= {} if m.met is None else {"met": m.met.to_json()}
    arrays = {"last": keys.last, "clocks": np.array([keys.clock, keys.latest])}
    arrays |= prefixed("waiting", m.waiting._asdict()) | prefixed("accounts", m.accounts._asdict())
    for name, mixture in m.mixtures():
        arrays[f"{name}.prior"] = mixture.prior
        for k, stage in enumerate(mixture.stages):
            arrays |= prefixed(f"{name}.{k}", stage.standings._asdict())
    return description, arrays


def read_series(kind: type[Kind], found: Contents) -> Kind:
    """The mixture that has these contents."""
    names, weighing, linearised = found.tell("names", "weighing", "linearised")
    lanes: list[Any] = [from_json(lane) for lane in found.description["lanes"]]
    chief: Any = None if found.description["chief"] is None else found.part("chief")
    single = lanes[0] if chief is None else None
    made = kind(names, found.part("loss"), weights=weighing, aggregator=single, linearised=linearised)
    made.way = made.way._replace(compiled=found.description["compiled"])
    keys = made.keys
    keys.series, keys.steps, made.asked, made.called = found.tell("series", "steps", "asked", "called")
    keys.dated, keys.zoned = found.tell("dated", "zoned")
    keys.last, (keys.clock, keys.latest) = found.arrays["last"], found.arrays["clocks"].tolist()
    made.met = MetScores.of(found.description["met"]) if "met" in found.description else made.met
    made.waiting = Contents({}, inside("waiting", found.arrays)).record(WaitingForecasts)
    made.accounts = Contents({}, inside("accounts", found.arrays)).record(GroupAccounts)
    for name in [name for name, _ in made.mixtures()]:
        fresh = GroupMixture(lanes, chief, found.arrays[f"{name}.prior"])
        for k, stage in enumerate(fresh.stages):
            stage.standings = Contents({}, inside(f"{name}.{k}", found.arrays)).record(GroupStandings)
        setattr(made, name, fresh)
    return made
