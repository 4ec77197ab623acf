"""Schemas of files of learners of finite classes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from lowregret.experts.schema import MixtureSchema
from lowregret.finite.hypotheses import BITS, as_masks
from lowregret.run.schema_rounds import SMALL, WORDS, Demands, RecordedSchema
from lowregret.store.kinds import class_of
from lowregret.store.schema import TEXT, Array, Arrays, Field, Told, floats, items, number, record, whole, wholes

RESTARTED = ("weighted-majority", "agnostic")  # kinds of learners that can be tuned for a number of rounds


class FiniteSchema(RecordedSchema):
    """A class of hypotheses, and what every learner counts."""

    def own_fields(self) -> dict[str, Field]:
        return {"points": items(TEXT, 1), "given": whole(1), "rounds": whole(), "loss": number(0)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {
            "matrix": wholes("hypotheses", -(-len(told["points"]) // 8), high=255, kind="uint8"),
            "numbers": wholes("hypotheses", high=told["given"] - 1),
            "errors": wholes("hypotheses", high=told["rounds"]),
        }

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        matrix = arrays["matrix"]
        yield len(matrix) >= 1, "at least one hypothesis"
        beyond = (1 << -len(told["points"]) % 8) - 1  # bits of the last byte that are of no point
        yield not np.any(matrix[:, -1] & np.uint8(beyond)), "labels of its points alone"
        yield len(np.unique(matrix, axis=0)) == len(matrix), "hypotheses that differ"


class VersionSchema(FiniteSchema):
    """A learner that keeps a version space."""

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return super().own_arrays(told) | {"version": wholes("words", high=WORDS, kind="uint64")}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        yield _are_masks(arrays["version"][None], len(arrays["matrix"])), "a version space of its hypotheses"
        yield arrays["version"].any(), "a version space that is not empty"


class WeightedMajoritySchema(FiniteSchema):
    """A `WeightedMajority`: the mixture of its hypotheses."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"mixture": MixtureSchema()}

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"horizon": whole(1)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        same = len(told["mixture"]["names"]) == len(arrays["matrix"]) and told["mixture"]["parts"] == 1
        yield same, "a mixture of its hypotheses"


class SurrogateHalvingSchema(FiniteSchema):
    """A `SurrogateHalving`; files that say no rate are of rate 1."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"eta": number(SMALL, 2 - SMALL)._replace(needed=False)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        rounds = told["rounds"]
        moved = {"logs": wholes("hypotheses", low=-rounds, high=rounds)}
        return super().own_arrays(told) | moved | {"surrogates": wholes("hypotheses", high=2 * rounds)}


class AgnosticSchema(FiniteSchema):
    """An `Agnostic` learner: its nodes."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"horizon": whole(1)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return super().own_arrays(told) | {
            "node.version": wholes("nodes", "words", high=WORDS, kind="uint64"),
            "node.flips": wholes("nodes", high=BITS),
            "node.weight": floats("nodes", high=0),
        }

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        versions = arrays["node.version"]
        yield len(versions) and _are_masks(versions, len(arrays["matrix"])), "nodes of its hypotheses"


class RestartingSchema(FiniteSchema):
    """A `Restarting` learner: what its present block holds depends on which learner it restarts."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {} if told is None else {"block": _schema_of(told["learner"])}

    def own_fields(self) -> dict[str, Field]:
        restarted = Field(f"one of {', '.join(RESTARTED)}", lambda value: value in RESTARTED)
        block = Field("an object", lambda value: isinstance(value, dict))
        return super().own_fields() | {"learner": restarted, "block": block, "length": whole(1), "before": number()}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        inside = _schema_of("weighted-majority").slots(present)  # the other has none
        return super().slots(present) | {f"block.{name}": names for name, names in inside.items()}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        told["block"] = record(_schema_of(told["learner"]).fields()).made(told["block"])
        return super().arrays(told, present)

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        yield np.array_equal(arrays["block.matrix"], arrays["matrix"]), "a block that learns the same class"
        yield told["block"]["horizon"] == told["length"], "a block of its length"


def _schema_of(kind: str) -> Any:
    return class_of(kind).schema


def _are_masks(masks: Any, hypotheses: int) -> bool:
    """Whether masks are of this many hypotheses."""
    everything = as_masks(np.ones((1, hypotheses), bool))[0]
    return masks.shape[1] == everything.size and not (masks & ~everything).any()
