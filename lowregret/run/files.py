"""Contents of the files of runs: learner, comparator, state and history; for runs on rows also features and risk."""

from __future__ import annotations

import os
from typing import Any

from lowregret.compile.spec import from_json, to_json
from lowregret.domain import Domain
from lowregret.errors import StoreError
from lowregret.learner.growth import join, split
from lowregret.loss.verify import MetScores
from lowregret.risk.kept_trial import Trial
from lowregret.run.expansion import stored_expansion
from lowregret.run.late import Late
from lowregret.run.record import RunRecord
from lowregret.state import State
from lowregret.store.file import Arrays
from lowregret.stream.places import Places

BY_FEATURE = ("table", "lag")  # arrays of a state with cells for each feature
KEPT = ("seen", "uniform", "certify")  # attributes of a run on rows that its file describes as they are


def proof_contents(run: Any) -> tuple[dict[str, Any], Arrays]:
    """A description of learner and comparator, and the arrays of the state and its record."""
    description, arrays = run.record.contents(run)
    description |= {
        "learner": to_json(run.learner),
        "comparator": to_json(run.comparator),
        "compiled": run.compiled,
    }
    return description, run.state._asdict() | arrays


def proof_given(description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
    """Arguments of a run's constructor, beside learner and comparator, found in its `proof_contents`."""
    return {
        "state": State(*(arrays[name] for name in State._fields)),
        "record": RunRecord(arrays["history"]),
        "compiled": description["compiled"],
    }


def parts(path: str | os.PathLike[str], description: dict[str, Any], learns: type) -> tuple[Any, Domain]:
    """The learner, which must be one of `learns`, and the comparator that a file describes."""
    learner, comparator = from_json(description["learner"]), from_json(description["comparator"])
    if not (isinstance(learner, learns) and isinstance(comparator, Domain)):
        raise StoreError(f"{path} holds a {type(learner).__name__} against a {type(comparator).__name__}")
    return learner, comparator


# ---- runs on rows ---------------------------------------------------------------------------------------------------


def contents(run: Any, state: State, places: int) -> tuple[dict[str, Any], Arrays]:
    """The description and arrays of a run on rows; `state` is the form to be filed, with room for `places` features."""
    description, arrays = proof_contents(run)
    description |= {name: getattr(run, name) for name in KEPT}
    description |= {"room": run._places, "ended": run.trial.ended}
    description |= {} if run.met is None else {"met": run.met.to_json()}
    for name in BY_FEATURE:
        arrays |= split(name, getattr(state, name), places, min(run._met, places), run.learner.bias > 0)
    if run.places is not None:
        arrays["columns"] = run.places.columns
    if run.expansion is not None:
        told, kept = run.expansion.contents(run)
        description, arrays = description | told, arrays | kept
    if run.late is not None:
        told, kept = run.late.contents()
        description, arrays = description | told, arrays | kept
    return description, arrays | run.tally.arrays() | {"trial": run.trial.records} | run.record.frozen_arrays(run)


def given(description: dict[str, Any], arrays: Arrays, state: State) -> dict[str, Any]:
    """Arguments of the constructor of a run on rows, beside learner and comparator, found in its `contents`."""
    expand = description.get("expand")
    wider: dict[str, Any] = {} if expand is None else {"expansion": stored_expansion(expand, arrays)}
    if "late" in description:
        wider["late"] = Late.of(description["late"], arrays)
    return (
        wider
        | proof_given(description, arrays)
        | {
            "state": state,
            **{name: description[name] for name in KEPT},
            "met": MetScores.of(description["met"]) if "met" in description else None,
            "places": Places(arrays["columns"]) if "columns" in arrays else None,
            "trial": Trial(arrays["trial"], description["ended"]),
            "frozen": join("frozen", arrays, description["room"]) if "frozen" in arrays else None,
        }
    )


def with_room(state: State, arrays: Arrays, places: int) -> State:
    """The state with cells for this many features; the file kept only the cells of features that were met."""
    return state._replace(**{name: join(name, arrays, places) for name in BY_FEATURE})
