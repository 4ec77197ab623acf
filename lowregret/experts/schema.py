"""The schemas of files of mixtures of experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.experts.aggregator import AdaHedge, Aggregator, Descent, Hedge, MLPoly, Squint
from lowregret.experts.scaled import ScaledHedge
from lowregret.experts.state import BOOK_COUNT_NAMES, BOOK_COUNTS, BOOK_SUM_NAMES, BOOK_SUMS, NAPS, ROUNDS, Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Cost, Loss
from lowregret.run.schema_rounds import SMALL, Demands, RecordedSchema
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
    number,
    part,
    whole,
    wholes,
)

SIZES = ("square", "rate", "prior", "mass", "added", "awake", "trust")  # of the book, which are not below 0
SIGNED = ("losses", "owed", "crumbs", "linear")  # sums whose terms count in `added` by their absolute value
SLACK = 1e-6  # of sums that are rounded
MET = {"met": items(number(), 3)._replace(needed=False)}  # where a loss of the user's own is put to the test
NUMBERS = 2**53  # of rounds that wait, at most: in runs from files they go on at a random place
SEEDS = 2**64 - 1  # of which no two are the same


def book_arrays(experts: int) -> dict[str, Array]:
    """The book of this many experts."""
    book = {name: extended(experts, low=0.0) if name in SIZES else extended(experts) for name in Book._fields[:-2]}
    book |= {name: anything(experts) for name in ("paid", "instant")}  # of the latest round, in which some may sleep
    book |= {"regret": extended(experts, high=LARGEST)}  # −∞ of experts that lost all
    return book | {"sums": extended(BOOK_SUMS), "counts": wholes(BOOK_COUNTS)}


def book_demands(arrays: Arrays) -> Demands:
    """Conditions that the arrays of a book meet, each with the words that state it."""
    yield arrays["counts"][NAPS] <= arrays["counts"][ROUNDS], "counts: naps ≤ rounds"
    yield abs(arrays["prior"].sum() - 1) <= SLACK, "prior that sums to 1"
    yield np.all(arrays["sums"][1:] >= 0), "sums ≥ 0"
    for name in SIGNED:
        yield are_sums(arrays[name], arrays["added"]), f"{name}: no more than was added"


def are_sums(found: Any, added: Any) -> bool:
    """Whether numbers of any sign can be sums of terms whose absolute values were added up."""
    with np.errstate(over="ignore"):
        return bool(np.all(np.abs(found) <= added * (1 + SLACK)))


def sums_regret(aggregator: Aggregator) -> bool:
    """Whether the regret in the book of an aggregator is Σ r_t as it is."""
    kinds = Hedge | AdaHedge | Squint | ScaledHedge | Descent
    return isinstance(aggregator, kinds) or (isinstance(aggregator, MLPoly) and aggregator.memory == 1)


def is_regret(arrays: Arrays, linearised: bool, drift: Any = 0.0) -> bool:
    """Whether the regret in a book is what its sums say, or 0 of all experts: then nothing is mixed by it."""
    with np.errstate(all="ignore"):
        wanted = arrays["linear"] if linearised else arrays["owed"] - arrays["losses"] + arrays["crumbs"] - drift
        off = np.abs(arrays["regret"] - wanted) <= SLACK * arrays["added"]
    return not np.any(arrays["regret"]) or bool(np.all(off | ~np.isfinite(arrays["regret"] + wanted)))


class BookSchema(RecordedSchema):
    """A run with a book of experts."""

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        return {"sums": BOOK_SUM_NAMES, "counts": BOOK_COUNT_NAMES}


class MixtureSchema(BookSchema):
    """An `ExpertMixture`; `pictured`: whether it keeps weights for a picture."""

    def __init__(self, pictured: bool = True) -> None:
        self.pictured = pictured

    def own_fields(self) -> dict[str, Field]:
        parts = {"aggregator": part(Aggregator), "loss": part(Loss), "substitution": part(Substitution)}
        counts = {"parts": whole(1), "late": whole(), "asked": whole(), "every": whole(1)}
        flags = dict.fromkeys(("linearised", "compiled", "inside", "orderly"), FLAG)
        return {"names": items(TEXT, 1), "called": maybe(TEXT)} | parts | counts | flags | MET

    def width(self, told: Told) -> int:
        """Weights kept of a round."""
        return len(told["names"])

    def own_arrays(self, told: Told) -> dict[str, Array]:
        n, width, parts = len(told["names"]), self.width(told), told["parts"]
        return book_arrays(n) | {
            "weights": floats("shown", width, low=0),
            "regrets": anything("shown"),
            "pending.number": wholes("pending", high=NUMBERS),
            "pending.round": wholes("pending", high=max(told["asked"] - 1, 0)),
            "pending.forecasts": anything("pending", parts, n),
            "pending.mixture": floats("pending", parts),
            "drift": floats(n + 1),
        }

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from book_demands(arrays)
        asked, every, pending = told["asked"], told["every"], arrays["pending.round"]
        yield every.bit_count() == 1, "every: a power of two"
        shown = -(-asked // every) if self.pictured else 0
        yield len(arrays["weights"]) == shown, f"weights of {shown} rounds"
        yield arrays["counts"][ROUNDS] <= asked, f"at most {asked} rounds"
        yield np.unique(pending).size == pending.size <= asked, "pending rounds that were asked"
        yield np.unique(arrays["pending.number"]).size == pending.size, "pending rounds of different numbers"
        yield not np.isinf(arrays["pending.forecasts"]).any(), "forecasts that are finite, or not there"
        drift, total = arrays["drift"][:-1], arrays["drift"][-1]
        possible = are_sums(drift, arrays["added"]) and are_sums(total, arrays["added"].sum())
        yield possible, "drift: no more than was added"
        if sums_regret(told["aggregator"]) and not told["late"]:
            yield is_regret(arrays, told["linearised"], drift), "regret: what the sums say"


class LayeredSchema(MixtureSchema):
    """A `Layered` mixture: lanes, and the chief that mixes them."""

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = [f"lane {i}" for i in range(lanes)]

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {name: MixtureSchema() for name in (*self.lanes, "chief")}

    def width(self, told: Told) -> int:
        return 0

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return super().own_arrays(told) | {"pending.inside": wholes("pending", len(self.lanes) + 1, high=NUMBERS)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        for i, name in enumerate(self.inner()):
            experts, inner = len(told["names"]) if name in self.lanes else len(self.lanes), told[name]
            same = all(inner[key] == told[key] for key in ("asked", "every", "parts"))
            yield same and len(inner["names"]) == experts, f"{name} of the same rounds and experts"
            known = np.isin(arrays["pending.inside"][:, i], arrays[f"{name}.pending.number"])
            yield np.all(known), f"rounds that wait in {name}"


class DrawingSchema(RecordedSchema):
    """A `Drawing`."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"mixture": MixtureSchema(pictured=False)}

    def own_fields(self) -> dict[str, Field]:
        return {"seed": whole(-MOST, SEEDS), "realised": number()}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        mixture = told["mixture"]
        yield isinstance(mixture["loss"], Cost) and mixture["parts"] == 1, "a mixture of costs"


class SpecialistsSchema(BookSchema):
    """`Specialists`."""

    def own_fields(self) -> dict[str, Field]:
        flags = {"linearised": FLAG, "compiled": FLAG}
        return {"experts": whole(1), "eta": number(SMALL), "loss": part(Loss)} | flags | MET

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return book_arrays(told["experts"])

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from book_demands(arrays)
        yield is_regret(arrays, told["linearised"]), "regret: what the sums say"


class DrawerSchema(RecordedSchema):
    """One that draws a point each round."""

    def own_fields(self) -> dict[str, Field]:
        return {"rounds": whole(), "loss": number(), "coins": Field("the state of a random generator", are_coins)}


class BoxHedgeSchema(DrawerSchema):
    """A `BoxHedge`."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"eta": number(SMALL), "spread": number(0), "realised": number()}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {name: floats("sides") for name in ("low", "high", "sum")} | {"behind": floats(2, "sides")}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield np.all(arrays["low"] < arrays["high"]) and arrays["low"].size, "sides that have a length"


class SampledHedgeSchema(DrawerSchema):
    """A `SampledHedge` whose sampler and losses are parts."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"sampler": part(Part), "losses": items(part(Part))}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield all(map(callable, (told["sampler"], *told["losses"]))), "a sampler and losses with a method __call__"
        yield len(told["losses"]) == told["rounds"], "a loss for each round"


def are_coins(state: Any) -> bool:
    """Whether NumPy's default generator can go on from this state."""
    try:
        np.random.default_rng(0).bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
        return False
    return True
