"""The schema of rows that wait for their answers, in files of runs whose answers come late."""

from __future__ import annotations

import numpy as np

from lowregret.learner.delayed import LONGEST_DELAY
from lowregret.learner.late import LEDGER
from lowregret.learner.schema import Demands
from lowregret.run.lags import MET, NOW
from lowregret.store.schema import FLAG, Array, Arrays, Field, Told, extended, floats, items, record, whole, wholes

LATEST = 1 << 62  # the latest row after which an answer arrives
_NAME = Field("a name or a whole number", lambda value: isinstance(value, str | int) and not isinstance(value, bool))
LATE = record(
    {
        "delay": whole(0, LONGEST_DELAY),
        "asked": whole(),
        "timed": FLAG,
        "orderly": FLAG,
        "names": items(_NAME)._replace(needed=False),
    }
)._replace(needed=False)


def late_arrays(lots: int, width: int) -> dict[str, Array]:
    """The arrays of the table, whose rows have `lots` scores and `width` further numbers, and of the ledger."""
    rows = {
        "indptr": wholes("late.ends"),
        "indices": wholes("late.entries", high=(1 << 63) - 1, kind="uint64"),
        "data": floats("late.entries"),
        "labels": floats("late.rows"),
        "weights": floats("late.rows", low=0),
        "due": wholes("late.rows", high=LATEST),
        "number": wholes("late.rows", high=LATEST),
        "known": floats("late.rows"),
        "since": floats("late.rows"),
        "scores": extended("late.rows", lots),
        "past": extended("late.rows", width),
        "beside": extended("late.rows", width),
        "ledger": extended(LEDGER),
        "ledgers": extended("marks", LEDGER),
        "met": extended(MET),
    }
    return {f"late.{name}": array for name, array in rows.items()}


def late_demands(told: Told, arrays: Arrays) -> Demands:
    """Conditions on rows that wait: they are rows, in order, and what indexes classes stays among them."""
    ends, labels = arrays["late.indptr"], arrays["late.labels"]
    yield ends.size == labels.size + 1 and ends[0] == 0 and np.all(np.diff(ends) >= 0), "late rows in order"
    yield ends[-1] == arrays["late.data"].size, "late rows up to their last entry"
    starts = np.zeros(arrays["late.indices"].size, bool)
    starts[ends[:-1][ends[:-1] < starts.size]] = True
    rising = np.diff(arrays["late.indices"].astype(np.int64), prepend=-1) > 0
    yield np.all(rising | starts), "late rows whose columns ascend"
    yield np.all(arrays["late.weights"] > 0) and np.all(arrays["late.due"] >= 1), "late rows that count"
    asked, numbers = told["late"]["asked"], arrays["late.number"]
    yield np.all((numbers >= 1) & (numbers <= asked)) and np.all(np.diff(numbers) > 0), "late rows by their numbers"
    yield np.all(arrays["late.known"] >= arrays["late.since"]), "late answers after their rows"
    yield np.all(arrays["late.met"][:NOW] >= 0), "lags that are not negative"
    names = told["late"].get("names")
    yield (names is not None) == ("classes" in told), "names of late labels if there are classes"
    if names is not None:
        known = (labels >= 0) & (labels < len(names)) & (labels == np.floor(labels))
        yield np.all(known) and len(set(names)) == len(names), "late labels that are named"
        for kept in (arrays["late.past"], arrays["late.beside"]):
            met, guessed = kept[:, 0], kept[:, 1]
            yield np.all((met >= 0) & (met <= told["known"]) & (met == np.floor(met))), "late rows of classes met"
            yield np.all((guessed >= -1) & (guessed < np.maximum(met, 1))), "late guesses among them"
