"""Schemas of the files of runs on rows, and of runs in kernel form."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from lowregret.certificate.delay import BOOK
from lowregret.certificate.delay import NAMES as LATE_NAMES
from lowregret.certificate.trace import NAMES, WIDTH
from lowregret.domain import Domain
from lowregret.learner.doubling import Doubling
from lowregret.learner.growth import FIRST, require_growth
from lowregret.learner.kernel_perceptron import KernelPerceptron
from lowregret.learner.late import LEDGER
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.schema import UNSIGNED, Demands, ledger_arrays, ledger_demands, ledger_slots, table_demands
from lowregret.risk import statistics as tally
from lowregret.risk.kept_trial import FIELDS, PARTS, freezes
from lowregret.run import metrics
from lowregret.run.schema_expansion import EXPAND, expansion_arrays, expansion_demands
from lowregret.run.schema_late import LATE, late_arrays, late_demands
from lowregret.run.schema_tally import tally_arrays, tally_demands
from lowregret.state import COUNT_NAMES, COUNTS, DIMENSION, MISTAKES, ROUNDS, SUM_NAMES, SUMS
from lowregret.store.schema import (
    FLAG,
    LARGEST,
    MOST,
    NUMBER,
    TEXT,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    anything,
    extended,
    flags,
    floats,
    items,
    maybe,
    number,
    part,
    record,
    table,
    whole,
    wholes,
)

ROOM = 1 << 20  # places of features that a file may ask for, or 64 times as many as it has
ANSWERS = 1 << 62  # the latest round after which an answer arrives
COLUMNS = (1 << 63) - 1
COUNTED = range(metrics.POSITIVE_RIGHT, metrics.NEGATIVE_WRONG + 1)  # rows, by label and guess


class ProofSchema(Schema):
    """The schema of a learner, its comparators, sums and counts, and their history."""

    def __init__(self, *learners: type) -> None:
        self.learners = learners

    def fields(self) -> dict[str, Field]:
        return {"learner": part(*self.learners), "comparator": part(Domain), "compiled": FLAG}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return ledger_slots() | {"history": NAMES}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return ledger_arrays() | {"history": anything("marks", WIDTH)}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        dimension, history = self.weights(told), arrays["history"]
        yield from ledger_demands(arrays, dimension)
        counts, sums = history[:, SUMS : SUMS + COUNTS], history[:, :SUMS]
        yield np.all((counts >= 0) & (counts <= MOST)), f"counts of the history from 0 to {MOST}"
        yield np.all(np.diff(counts[:, ROUNDS]) > 0), "rounds of the history that rise"
        yield np.all(counts[:, ROUNDS] <= arrays["counts"][ROUNDS]), "no round of the history after the last"
        yield np.all((counts[:, DIMENSION] >= 1) & (counts[:, DIMENSION] <= dimension)), "dimensions of the history"
        yield not np.isnan(sums).any() and np.all(sums[:, UNSIGNED] >= 0), "sums of the history that are numbers"

    def weights(self, told: Told) -> int:
        """The number of weights that the state has room for."""
        raise NotImplementedError


class LedgerSchema(ProofSchema):
    """The schema of a run on rows: cells for each feature that was met, the counts behind risk, the model on trial."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {
            "seen": maybe(whole(0, COLUMNS)),
            "uniform": FLAG,
            "certify": FLAG,
            "room": whole(1),
            "ended": maybe(whole()),
            "met": items(number(), 3)._replace(needed=False),
            "expand": EXPAND,
            "late": LATE,
            "session": SESSION,
        }

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return super().slots(present) | {"tally.sums": tally.SUM_NAMES, "tally.counts": tally.COUNT_NAMES}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        learner, d = told["learner"], self.weights(told)
        learner.require_weights(d)
        lanes = told.get("lanes", 1)
        found = self.split(told, "table", lanes * self.columns(told))
        found |= self.split(told, "lag", 2 * lanes if learner.output.averages() else 0)
        found |= super().arrays(told, present) | tally_arrays(present) | {"trial": anything("freezes", PARTS, FIELDS)}
        if told["seen"] is not None:
            found["columns"] = wholes("met", high=max(told["seen"] - 1, 0), kind="uint64")
        if any(name.startswith("frozen") for name in present):
            found |= self.frozen(told)
        found |= expansion_arrays(told, present)
        if "late" in told:
            found |= late_arrays(*self.slot_sizes(told))
        return found | (self.session(told, present) if "session" in told else {})

    def split(self, told: Told, name: str, cells: int, kind: str = "float64") -> dict[str, Array]:
        """The arrays that `growth.split` makes: `cells` numbers for each feature that was met, and for the bias."""
        met = told["room"] if told["seen"] is None else "met"
        bias = int(told["learner"].bias > 0)
        return {name: floats(met, cells, kind=kind), f"{name}.bias": floats(bias, cells, kind=kind)}

    def columns(self, told: Told) -> int:
        """How many numbers the table keeps for each weight."""
        return int(told["learner"].rule.columns(self.weights(told)))

    def frozen(self, told: Told) -> dict[str, Array]:
        """The arrays of the model on trial."""
        return self.split(told, "frozen", self.lots(told))

    def lots(self, told: Told) -> int:
        """The number of lanes that the table has for each feature in memory."""
        return 1

    def weights(self, told: Told) -> int:
        return (told["room"] + (told["learner"].bias > 0)) * self.lots(told)

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        met, room = len(arrays["table"]), told["room"]
        if told["seen"] is not None:
            if isinstance(told["learner"], Linear | Multiclass):
                require_growth(told["learner"])
            doubled = room % FIRST == 0 and (room // FIRST).bit_count() == 1
            yield doubled and met < room <= max(ROOM, 64 * (met + 1)), f"room for {met} features and some more"
            yield np.unique(arrays["columns"]).size == met, "a place for each column"
        yield from super().demands(told, arrays)
        if isinstance(told["learner"], Linear | Multiclass):
            tables = [f"{name}{of}" for name in ("table", "decided") if name in arrays for of in ("", ".bias")]
            yield from table_demands(told["learner"], arrays, self.weights(told), *tables)
        yield from self.trial(told, arrays)
        yield from expansion_demands(told, arrays, self.rounds(arrays), room)
        if "late" in told:
            yield from late_demands(told, arrays)
        yield from tally_demands(arrays, self.warm(told))
        yield from session_demands(arrays)

    def slot_sizes(self, told: Told) -> tuple[int, int]:
        """How many scores, and how many further numbers, are kept of a row that waits for its answer."""
        return 1, 1

    def warm(self, told: Told) -> int:
        """The number of rounds before the tally begins to count its bits."""
        return 0 if told["learner"].loss.classifies else tally.BLOCK

    def rounds(self, arrays: Arrays) -> int:
        """The number of rounds that were played."""
        return int(arrays["counts"][ROUNDS])

    def frozen_often(self, told: Told, rounds: int) -> int:
        """The number of models that are frozen in the given number of rounds."""
        return freezes(rounds) if told["certify"] else 0

    def trial(self, told: Told, arrays: Arrays) -> Demands:
        """Conditions on the trial: as many models were frozen as the number of rounds requires."""
        rounds, ended = self.rounds(arrays), told["ended"]
        yield ended is None or ended <= rounds, "a trial that ended in a round that was played"
        wanted, found = self.frozen_often(told, rounds if ended is None else ended), len(arrays["trial"])
        yield found == wanted, f"{wanted} models frozen in {rounds} rounds"
        yield np.all(arrays["trial"][:, :, 0] >= 0), "counts of rows that were judged"
        model = any(name.startswith("frozen") for name in arrays)
        yield model == (found > 0), "a model on trial if one was frozen"

    def session(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        """The further arrays of a run that was fed from files."""
        found: dict[str, Array] = {}
        for name in ("metrics", "held"):
            found |= self.judged(told, name)
        if "names" in present:
            found |= {"names": Array("uint8", ("text",)), "name_ends": wholes("names"), "name_slots": wholes("names")}
        if "unwritten" in present:
            found["unwritten"] = Array("uint8", ("unwritten",))
        return found

    def judged(self, told: Told, name: str) -> dict[str, Array]:
        """The arrays of figures on predictions called `name`."""
        raise NotImplementedError


def _form(spec: Any) -> Any:
    from lowregret.stream.read import form_from_json

    return form_from_json(spec)


FED: dict[str, Field] = {
    "form": Field("the description of a format", lambda value: isinstance(value, dict), _form),
    "algorithm": TEXT,
    "labels": items(TEXT),
    "columns": items(TEXT),
    "spelt": table(TEXT, TEXT),
}
SESSION = record(
    {
        **FED,
        **{name: whole() for name in ("rows", "nonzeros", "unlabelled", "skipped")},
        "seconds": number(0),
        "again": items(NUMBER, 3, 3),
    }
)._replace(needed=False)


def session_demands(arrays: Arrays) -> Demands:
    """Conditions on the texts that a session keeps: names of features, and predictions that wait."""
    if "names" in arrays:
        ends = arrays["name_ends"]
        yield np.all(np.diff(ends, prepend=0) >= 0), "names one after the other"
        yield (ends[-1] if ends.size else 0) == arrays["names"].size, "names up to the end of their text"
    if "unwritten" in arrays:
        lines = arrays["unwritten"].tobytes().decode(errors="replace")
        yield lines.encode() == arrays["unwritten"].tobytes() and lines.endswith("\n"), "unwritten lines of text"


class RowSchema(LedgerSchema):
    """The schema of a run with one score a row."""

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return super().slots(present) | {"metrics.sums": metrics.NAMES, "held.sums": metrics.NAMES}

    def judged(self, told: Told, name: str) -> dict[str, Array]:
        high = 2 * metrics.BINS - 1 if told["learner"].loss.classifies else -1
        bins = floats(2, f"{name}.bins", low=0) if high > 0 else floats(2, 0)
        return {f"{name}.sums": extended(metrics.METRIC_SUMS), f"{name}.bins": bins}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        averaged = told["learner"].output.averages() and arrays["tally.counts"][tally.ROUNDS] > 0
        weights = arrays["tally.sums"][[tally.WEIGHTS, tally.SQUARED_WEIGHTS]]
        yield not averaged or np.all(weights > 0), "tally.sums: weights of the output > 0"
        for name in ("metrics", "held"):
            if f"{name}.bins" in arrays:
                bins = arrays[f"{name}.bins"][0]
                yield np.all((bins < 2 * metrics.BINS) & (bins == np.floor(bins))), f"{name}.bins that there are"
                known = arrays[f"{name}.sums"][[metrics.ROWS, *COUNTED, metrics.WEIGHT]]
                yield np.all((known >= 0) & (known <= LARGEST)), f"{name}.sums: rows and weights"


class DelayedSchema(RowSchema):
    """The schema of a run whose answers come late, with the rows that wait for them."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"asked": whole()}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return super().slots(present) | {"ledger": LATE_NAMES, "ledgers": LATE_NAMES[:LEDGER]}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        numbers, waiting = (
            dict.fromkeys(("scores", "heights"), floats("waiting")),
            {
                "rounds": wholes("waiting", low=1, high=told["asked"]),
                "numbers": wholes("waiting", low=1, high=ANSWERS),
                "due": wholes("waiting", high=ANSWERS),
                "labels": anything("waiting"),
                "weights": floats("waiting", low=0),
                "waiting": flags("waiting"),
                "indptr": wholes("ends"),
                "indices": wholes("entries", high=told["room"] - 1, kind="uint64"),
                "data": floats("entries"),
            },
        )
        late = {f"pending.{name}": array for name, array in (waiting | numbers).items()}
        ledgers = {"ledger": extended(BOOK), "ledgers": extended("marks", LEDGER)}
        return super().arrays(told, present) | late | ledgers

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        rounds, ends = arrays["pending.rounds"], arrays["pending.indptr"]
        yield np.all(np.diff(rounds) > 0), "pending.rounds that rise"
        yield np.unique(arrays["pending.numbers"]).size == rounds.size, "pending.numbers that differ"
        yield np.all(arrays["pending.waiting"]), "pending rows that wait"
        yield ends.size == rounds.size + 1 and ends[0] == 0 and np.all(np.diff(ends) >= 0), "pending rows in order"
        yield ends[-1] == arrays["pending.data"].size, "pending rows up to their last entry"
        yield told["seen"] is None or np.all(arrays["pending.indices"] < len(arrays["table"])), "places of pending rows"

    def frozen_often(self, told: Told, rounds: int) -> int:
        return 0


class DoublingSchema(RowSchema):
    """The schema of a run that restarts, with the sums and counts of the finished blocks."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"player": part(Doubling), "finished": items(table(TEXT, NUMBER))}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return super().slots(present) | ledger_slots("past.")

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        past = ledger_arrays("past.") | {"past.theta": floats("past"), "curves": anything(len(told["finished"]), 4)}
        return super().arrays(told, present) | past

    def rounds(self, arrays: Arrays) -> int:
        return super().rounds(arrays) + int(arrays["past.counts"][ROUNDS])

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        player, blocks, rounds = told["player"], len(told["finished"]), arrays["counts"][ROUNDS]
        yield isinstance(player.base, Linear), "a learner that restarts"
        yield blocks <= 48 and rounds < 1 << blocks, f"at most {1 << min(blocks, 48)} rounds in the present block"
        yield told["learner"] == player.block(1 << blocks), "the learner of the present block"
        yield len({frozenset(block) for block in told["finished"]}) <= 1, "bounds of the same theorems in each block"
        yield arrays["past.counts"][ROUNDS] == (1 << blocks) - 1, "all rounds of the finished blocks"
        past = arrays["past.counts"]
        yield from ledger_demands(arrays, past[DIMENSION], "past.")
        yield past[DIMENSION] <= self.weights(told), "no more weights in the past"
        yield 1 <= arrays["past.theta"].size <= self.weights(told), "sums of sub-gradients of the past"


class KernelSchema(Schema):
    """The schema of a run in kernel form: a support set, sums and counts, and their history."""

    def fields(self) -> dict[str, Field]:
        return {"learner": part(KernelPerceptron), "compiled": FLAG}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return ledger_slots() | ({"history": (*SUM_NAMES, *COUNT_NAMES)} if "history" in present else {})

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        signs = floats("support", low=-1, high=1)
        found = {"rows": floats("support", "features"), "coefficients": signs} | ledger_arrays()
        return found | ({"history": extended("marks", SUMS + COUNTS, low=0.0)} if "history" in present else {})

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        size, features = arrays["rows"].shape
        yield features >= 1, "at least one feature"
        yield arrays["counts"][MISTAKES] == size, "a row of support for each mistake"
        yield from ledger_demands(arrays, features)
        rounds = arrays["history"][:, SUMS + ROUNDS] if "history" in arrays else np.empty(0)
        yield np.all(np.diff(rounds, prepend=0) > 0), "rounds of the history that rise"
        yield np.all(rounds <= arrays["counts"][ROUNDS]), "no round of the history after the last"
