"""Answers that come late, in any run on rows: a row is scored by the model of the moment, and learnt with its label.

Rows that come and answers that arrive make up one sequence of events. A row is asked, with weight 0, and goes into the
loop once more as its own answer (`learner/late.py`). So all that follows from rows learnt follows in order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.labels import ClassNames, name_label
from lowregret.learner.late import DRIFT, LEDGER, Waiting, first_unfit
from lowregret.learner.validate import Place
from lowregret.rows import WEIGHTIEST, Rows, Sparse, as_sparse
from lowregret.run.lags import (
    CAME,
    CROWD,
    MICROS,
    MOST_ROWS,
    MOST_WAITED,
    NOW,
    ROWS,
    WAITED,
    Lags,
    checked_delay,
    first_back,
    first_met,
    lags_of,
    rows_known,
)
from lowregret.run.outcome import NOTHING, Learnt
from lowregret.run.outstanding import Events, Outstanding, pick_rows
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch
from lowregret.types import Vector

NAMES = (
    *("indptr", "indices", "data", *Outstanding._fields[1:]),  # of the table
    *("ledger", "ledgers", "met"),
)
_NARROW = 2**32 - 1  # the highest column that needs no more than four bytes


class Late:
    """The rows of a run that wait for their answers, and the ledger of lateness.

    `delay`: row s is answered after row s + delay was asked, unless rows bring lags of their own. A batch costs O(nnz)
    of its rows and of those that wait.
    """

    def __init__(self, delay: int, classes: bool, lots: int, width: int) -> None:
        self.delay, self.asked = checked_delay(delay), 0
        self.names = ClassNames() if classes else None  # of the labels in the table
        self.table = Outstanding.empty(lots, width)
        self.ledger: Vector = np.zeros(LEDGER)
        self.ledgers: list[Vector] = []  # at the marks of the history
        self.met = first_met()  # of lags, see `lags.py`
        self.timed = False  # whether lags are in seconds
        self.orderly = True  # answers came in the order of the rows: else those that came may be of one kind
        self.answers = np.empty(0), NOTHING  # of the latest batch: weights, and how they were predicted
        self.playing = False  # whether rows that a run learns are events of this table

    @property
    def drift(self) -> float:
        """The cost of lateness in regret, exactly: see `certificate/delay.py`."""
        return float(self.ledger[DRIFT])

    @property
    def rate(self) -> float:
        """How much of each verdict on experts counts: 1/n, n the most answers that were under way together."""
        return 1.0 / max(float(self.met[CROWD]), 1.0)

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(
        self, run: Any, x: Rows, labels: Any, w: Vector, place: Place, names: Mapping[float, str] | None, delay: Any
    ) -> Learnt:
        """Ask the rows of a batch, and let the answers arrive that are due meanwhile; reports on the rows asked."""
        given, count = as_sparse(x), len(labels)
        weights = w if w.size else np.ones(count)
        lags = self._checked(lags_of(self.delay if delay is None else delay, count))
        back = first_back(float(self.met[NOW]), lags.times) if self.timed else count
        stop = min(self._first_unfit(run, labels, weights, names), back)
        known = labels if self.names is None else run.classes.encode(labels, np.zeros(count, bool), names)
        if run.tally.recognised(given, np.asarray(known, float)):
            run.end_trial()
        codes = labels[:stop] if self.names is None else self.names.encode(labels[:stop], weights[:stop] != 0, names)
        waited = self.table.size
        self._join(given, np.asarray(codes, float), weights[:stop], lags.cut(stop))
        learnt = self._play(run, waited, place)
        if stop == back < count:
            before = lags.times[back - 1] if back else self.met[NOW]
            raise DataError(
                f"{place(back)}: the time goes back by {(before - lags.times[back]) / MICROS:,.10g} seconds: rows must "
                "come in the order of the time column, so sort them by it"
            )
        if stop < count:
            run.codes = known
            run._refuse(given, name_label(labels[stop], names), weights, stop, place(stop))
        return learnt

    def _checked(self, lags: Lags) -> Lags:
        """Lags of the kind that the run has; a `PartError` if they are of the other."""
        if not self.asked and lags.timed:
            self.timed = True
        if lags.timed != self.timed and len(lags.lags):
            has, given = ("seconds", "rows") if self.timed else ("rows", "seconds")
            raise PartError(f"lags of this run are in {has}, those given in {given}: begin another run for them")
        return lags

    def _join(self, x: Sparse, labels: Vector, weights: Vector, lags: Lags) -> None:
        """Put rows at the end of the table, and find out when answers come."""
        number = self.asked + 1 + np.arange(labels.size)
        if not lags.timed:
            nil = np.zeros(labels.size)
            self.table = self.table.joined(x, labels, weights, number + lags.lags, number, nil, nil)
            return
        known = np.round(MICROS * lags.lags) + lags.times
        self.table = self.table.joined(x, labels, weights, number, number, known, lags.times)
        self.table = self.table._replace(due=rows_known(self.table.known, lags.times, self.asked))

    def _first_unfit(self, run: Any, labels: Any, w: Vector, names: Mapping[float, str] | None) -> int:
        """The first row whose label or weight cannot be learnt, or how many rows there are."""
        if self.names is None:
            return int(run._call(first_unfit, run.learner.loss, labels, w))
        known = run.classes if run.classes.fixed else ClassNames()
        unfit = (w != 0) & ((known.encode(labels, None, names) < 0) | ~((w > 0) & (w <= WEIGHTIEST)))
        return int(np.argmax(unfit)) if unfit.any() else len(labels)

    def deliver(self, run: Any) -> None:
        """Let all answers arrive that are on their way, in the order in which they are due."""
        order = np.argsort(self.table.due, kind="stable")
        self.orderly &= bool(np.all(np.diff(order) > 0))
        table = self.table.picked(order)
        self.table = table._replace(due=np.minimum(table.due, self.asked))
        self._play(run, self.table.size, "row {}".format)

    def _play(self, run: Any, waited: int, place: Place) -> Learnt:
        """Let the events happen that asking the rows from `waited` on brings about."""
        table, events = self.table, Events.of(self.table, waited, self.asked, self.met)
        labels = table.labels[events.row]
        names = None if self.names is None else {float(k): name for k, name in enumerate(self.names.names)}
        slots = np.where(table.weights[events.row] != 0, events.row, -1)
        self.playing, run.learnt = True, NOTHING
        kept = table.scores, table.past, table.beside, self.ledger
        run.slots = Waiting(slots, *kept, *events.rates(self.met))

        def where(i: int) -> str:
            row = int(events.row[i]) - waited
            return place(row) if row >= 0 else f"a row asked {-row:,} rows before {place(0)}, whose answer comes now"

        refused = False
        try:
            run._learn(pick_rows(table.rows, events.row), labels, events.weights, where, names)
        except (DataError, DivergedError):
            refused = True
            raise
        finally:
            self.table = table._replace(scores=run.slots.scores, past=run.slots.past, beside=run.slots.beside)
            run.slots, self.playing = run.no_slots, False
            self._settle(events, waited, run.learnt.done, refused)
            self._report(run, events, run.learnt)
        learnt: Learnt = run.learnt
        return learnt

    def _settle(self, events: Events, waited: int, done: int, refused: bool) -> None:
        """Keep the rows that were asked and wait, and count the lags of the others.

        One whose answer was refused would be so for ever, and is let go.
        """
        asked = int(np.count_nonzero(events.asks[:done]))
        self._count_lags(events, waited, asked, done)
        left = np.arange(self.table.size) < waited + asked
        answered, over = events.row[:done][~events.asks[:done]], done + refused
        self.orderly &= np.array_equal(answered, np.flatnonzero(self.table.weights)[: answered.size])
        left[events.row[:over][~events.asks[:over]]] = False
        left &= self.table.weights != 0
        self.asked += asked
        self.table = self.table.picked(np.flatnonzero(left))

    def _count_lags(self, events: Events, waited: int, asked: int, done: int) -> None:
        """Count the lags of the answers that came among the first `done` events, one after the other."""
        table, met = self.table, self.met
        came = np.flatnonzero(~events.asks[:done])
        rows, micros = events.lags[came], (table.known - table.since)[events.row[came]]
        met[[CAME, ROWS]] += came.size, rows.sum()
        met[WAITED] = np.cumsum(np.append(met[WAITED], micros))[-1]
        met[MOST_ROWS] = max(met[MOST_ROWS], rows.max(initial=0))
        met[MOST_WAITED] = max(met[MOST_WAITED], micros.max(initial=0.0))
        if done:
            met[CROWD] = events.crowds[done - 1]
        if asked and self.timed:
            met[NOW] = table.since[waited + asked - 1]

    def count(self, run: Any, given: Rows, x: Rows, y: Any, w: Vector) -> None:
        """Count the answers among events that happened, and rows that never get one, as a run counts rows."""
        told, arrays = run.learnt, {name: getattr(run, name) for name in run.of_batch}
        done = told.done
        counts = np.flatnonzero((w[:done] != 0) | (run.slots.of[:done] < 0))
        run.learnt = _picked(told, counts)
        for name, array in arrays.items():
            setattr(run, name, array[counts] if len(array) else array)
        try:
            rows = pick_rows(as_sparse(given), counts)
            run._count(rows, rows if x is given else pick_rows(as_sparse(x), counts), y[counts], w[counts])
        finally:
            run.learnt = told
            for name, array in arrays.items():
                setattr(run, name, array)

    def _report(self, run: Any, events: Events, told: Learnt) -> None:
        """Let the run report on the rows asked, and keep what became of the answers."""
        asks = events.asks[: told.done]
        self.answers = events.weights[: told.done][~asks], _picked(told, np.flatnonzero(~asks))
        run.learnt = _picked(told, np.flatnonzero(asks))
        for name in run.of_batch:
            array = getattr(run, name)
            setattr(run, name, array[: told.done][asks] if len(array) else array)

    def to_json(self) -> dict[str, Any]:
        """The public form: rows asked and those that wait, lags of the others, what lateness added to the regret."""
        came, rows, most, waited, longest = self.met[: MOST_WAITED + 1].tolist()
        told: dict[str, Any] = {"rows": self.delay, "asked": self.asked, "pending": self.table.size}
        told |= {"drift": self.drift, "lag": {"mean": rows / (came or 1.0), "largest": int(most)}}
        if self.timed:
            told["seconds"] = {"mean": waited / MICROS / (came or 1.0), "largest": longest / MICROS}
        return told

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays by which a file keeps what waits."""
        described: dict[str, Any] = {"delay": self.delay, "asked": self.asked, "timed": self.timed}
        described["orderly"] = self.orderly
        described |= {} if self.names is None else {"names": self.names.names}
        x = self.table.rows
        rows = {"indptr": x.indptr.astype(np.int64), "indices": x.indices.astype(np.uint64), "data": x.data}
        columns = dict(zip(self.table._fields[1:], self.table[1:], strict=True))
        ledgers = {"ledger": self.ledger, "ledgers": np.array(self.ledgers).reshape(-1, LEDGER), "met": self.met}
        return {"late": described}, {f"late.{name}": array for name, array in (rows | columns | ledgers).items()}

    @classmethod
    def of(cls, described: dict[str, Any], arrays: Arrays) -> Late:
        """The rows that wait, and the ledger, of a file with these contents."""
        found = {name: arrays[f"late.{name}"] for name in NAMES}
        made = cls(described["delay"], "names" in described, found["scores"].shape[1], found["past"].shape[1])
        made.asked, made.ledger, made.ledgers = described["asked"], found["ledger"], list(found["ledgers"])
        made.timed, made.met, made.orderly = described["timed"], found["met"], described["orderly"]
        if made.names is not None:
            made.names = ClassNames(described["names"], False)
        indices = found["indices"] if found["indices"].max(initial=0) > _NARROW else found["indices"].astype(np.uint32)
        rows = Sparse(found["indptr"], indices, found["data"], int(indices.max(initial=0)) + 1)
        made.table = Outstanding(rows, *(found[name] for name in Outstanding._fields[1:]))
        return made

    # ---- the record ----------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """Keep the ledger beside the history of a run."""
        self.ledgers.append(self.ledger.copy())

    def drifts(self, marks: int) -> Vector:
        """The drift at the marks of the history, and now if that is one more."""
        return np.array([*self.ledgers, self.ledger])[:marks, DRIFT]

    def widen(self, waiting: Waiting, lots: int, width: int) -> Waiting:
        """Slots with room for more classes."""
        return waiting._replace(
            scores=_wider(waiting.scores, lots),
            past=_wider(waiting.past, width),
            beside=_wider(waiting.beside, width),
        )


def _wider(kept: Vector, width: int) -> Vector:
    """Columns of numbers with zeros behind them."""
    found = np.zeros((len(kept), width))
    found[:, : kept.shape[1]] = kept
    return found


class Patient:
    """A run whose answers may come late."""

    late: Any = None  # rows that wait for their answers, if these come late

    def deliver(self) -> Self:
        """Let all answers arrive that are on their way, in order."""
        if self.late is not None:
            self.late.deliver(self)
        return self

    @property
    def pending(self) -> int:
        """The number of rows that were asked and wait for their answer."""
        return 0 if self.late is None else int(self.late.table.size)

    @property
    def orderly(self) -> bool:
        """Whether all answers so far came in the order of the rows."""
        return self.late is None or bool(self.late.orderly)

    def require_prompt(self) -> None:
        """Refuse what holds only for answers that come at once."""
        if self.late is not None:
            raise PartError("this bound holds for answers that come at once: use `certificates`, or no delay")

    def _lags(self, batch: Batch, delay: Any) -> Any:
        """The delay of a batch: that given, or else the lags that its rows bring along, if they do."""
        found = Lags(batch.lags, batch.times) if delay is None and batch.lags.size else delay
        self.require_late(found)
        return found

    def require_late(self, delay: Any) -> None:
        """Refuse a delay if the run was not begun with one."""
        if delay is not None and self.late is None:
            raise PartError("answers come late only in runs that were begun so: give delay=N to train or begin")


def _picked(told: Learnt, at: Any) -> Learnt:
    """The report on some of the rows."""
    return Learnt(at.size, told.labels[at], told.guesses[at], told.scores[at])
