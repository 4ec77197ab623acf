"""Answers that come late, in any run on rows: a row is scored by the model of the moment, and learnt with its label.

Rows that come and answers that arrive make up one sequence of events. A row is asked, with weight 0, and goes into the
loop once more as its own answer (`learner/late.py`). So all that follows from rows learnt follows in order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.delayed import LONGEST_DELAY
from lowregret.learner.labels import ClassNames, name_label
from lowregret.learner.late import DRIFT, LEDGER, Waiting, first_unfit
from lowregret.learner.validate import Place
from lowregret.rows import Rows, Sparse, as_sparse
from lowregret.run.outcome import NOTHING, Learnt
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch
from lowregret.types import Vector

NAMES = (
    *("indptr", "indices", "data", "labels", "weights", "due", "scores", "past", "beside"),  # of the table
    *("ledger", "ledgers"),
)
_NARROW = 2**32 - 1  # the highest column that needs no more than four bytes
NO_ROWS = Sparse(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), 0)


class Outstanding(NamedTuple):
    """Rows that wait, one after the other as they were asked, with all that is known of each."""

    rows: Sparse
    labels: Vector  # of many classes codes, in an order of their own
    weights: Vector
    due: Any  # the row after which the answer comes, counted from 1
    scores: Vector  # given when they were asked
    past: Vector  # see `Waiting`
    beside: Vector  # likewise

    @classmethod
    def empty(cls, lots: int, width: int) -> Outstanding:
        """No rows, with room for `lots` scores and `width` further numbers of each."""
        columns = np.empty(0), np.empty(0), np.empty(0, np.int64)
        return cls(NO_ROWS, *columns, np.zeros((0, lots)), np.zeros((0, width)), np.zeros((0, width)))

    @property
    def size(self) -> int:
        """How many rows wait."""
        return int(self.labels.size)

    def joined(self, x: Sparse, labels: Vector, weights: Vector, due: Any) -> Outstanding:
        """The table with further rows, which were not asked yet: O(nnz)."""
        rows, count = self.rows, labels.size
        entries = slice(int(x.indptr[0]), int(x.indptr[count]))
        ends = np.concatenate([rows.indptr, rows.indptr[-1] + x.indptr[1 : count + 1] - x.indptr[0]]).astype(np.int64)
        kind = np.result_type(rows.indices, x.indices)
        indices = np.concatenate([rows.indices, x.indices[entries]]).astype(kind)
        data = np.concatenate([rows.data, x.data[entries]])
        return Outstanding(
            Sparse(ends, indices, data, max(rows.columns, x.columns)),
            np.concatenate([self.labels, labels]),
            np.concatenate([self.weights, weights]),
            np.concatenate([self.due, due]),
            *(np.concatenate([kept, np.zeros((count, kept.shape[1]))]) for kept in self[4:]),
        )

    def picked(self, at: Any) -> Outstanding:
        """Some of the rows."""
        return Outstanding(pick_rows(self.rows, at), *(column[at] for column in self[1:]))


def pick_rows(x: Sparse, at: Any) -> Sparse:
    """Some rows of x, in any order, copied: O(nnz)."""
    starts, sizes = x.indptr[:-1][at], np.diff(x.indptr)[at]
    ends = np.append(0, np.cumsum(sizes))
    entries = np.repeat(starts - ends[:-1], sizes) + np.arange(ends[-1])
    return Sparse(ends, x.indices[entries], x.data[entries], x.columns)


class Events(NamedTuple):
    """Rows asked and answers that arrive, one after the other."""

    row: Any  # of the table
    asks: Any  # whether it is asked
    counts: Any  # whether it counts among the rows learnt: an answer, or a row that never gets one
    weights: Vector

    @classmethod
    def of(cls, table: Outstanding, waited: int, asked: int) -> Events:
        """All that happens while the rows from `waited` on are asked; `asked` were before."""
        size = table.size
        arriving = np.flatnonzero((table.weights != 0) & (table.due <= asked + size - waited))
        row = np.concatenate([np.arange(waited, size), arriving])
        asks = np.arange(row.size) < size - waited
        when = np.where(asks, 2 * (asked + 1 + row - waited), 2 * np.maximum(table.due[row], asked) + 1)
        order = np.argsort(when, kind="stable")
        row, asks = row[order], asks[order]
        weights = np.where(asks, 0.0, table.weights[row])
        return cls(row, asks, ~asks | (table.weights[row] == 0), weights)


class Late:
    """The rows of a run that wait for their answers, and the ledger of lateness.

    `delay`: row s is answered after row s + delay was asked. A batch costs O(nnz) of its rows and of those that wait.
    """

    def __init__(self, delay: int, classes: bool, lots: int, width: int) -> None:
        self.delay, self.asked = checked_delay(delay), 0
        self.names = ClassNames() if classes else None  # of the labels in the table
        self.table = Outstanding.empty(lots, width)
        self.ledger: Vector = np.zeros(LEDGER)
        self.ledgers: list[Vector] = []  # at the marks of the history
        self.orderly = True  # answers came in the order of the rows: else those that came may be of one kind
        self.answers = np.empty(0), NOTHING  # of the latest batch: weights, and how they were predicted
        self._events: Events | None = None  # that are happening
        self._done = 0  # of them

    @property
    def drift(self) -> float:
        """The cost of lateness in regret, exactly: see `certificate/delay.py`."""
        return float(self.ledger[DRIFT])

    @property
    def rate(self) -> float:
        """How much of each verdict on experts counts: 1/(1 + delay)."""
        return 1.0 / (1.0 + self.delay)

    @property
    def playing(self) -> bool:
        """Whether rows that a run learns are events of this table."""
        return self._events is not None

    # ---- learning ------------------------------------------------------------------------------------------------

    def learn(
        self, run: Any, x: Rows, labels: Any, w: Vector, place: Place, names: Mapping[float, str] | None, delay: Any
    ) -> Learnt:
        """Ask the rows of a batch, and let the answers arrive that are due meanwhile; reports on the rows asked."""
        given, count = as_sparse(x), len(labels)
        weights = w if w.size else np.ones(count)
        delays = delays_of(self.delay if delay is None else delay, count)
        stop = self._first_unfit(run, labels, weights, names)
        known = labels if self.names is None else run.classes.encode(labels, np.zeros(count, bool), names)
        if run.tally.recognised(given, np.asarray(known, float)):
            run.end_trial()
        codes = labels[:stop] if self.names is None else self.names.encode(labels[:stop], weights[:stop] != 0, names)
        due = self.asked + 1 + np.arange(stop) + delays[:stop]
        waited = self.table.size
        self.table = self.table.joined(given, np.asarray(codes, float), weights[:stop], due)
        learnt = self._play(run, waited, place)
        if stop < count:
            run.codes = known
            run._refuse(given, name_label(labels[stop], names), weights, stop, place(stop))
        return learnt

    def _first_unfit(self, run: Any, labels: Any, w: Vector, names: Mapping[float, str] | None) -> int:
        """The first row whose label or weight cannot be learnt, or how many rows there are."""
        if self.names is None:
            return int(run._call(first_unfit, run.learner.loss, labels, w))
        known = run.classes if run.classes.fixed else ClassNames()
        unfit = (w != 0) & ((known.encode(labels, None, names) < 0) | ~((w > 0) & (w < np.inf)))
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
        table, events = self.table, Events.of(self.table, waited, self.asked)
        labels = table.labels[events.row]
        names = None if self.names is None else {float(k): name for k, name in enumerate(self.names.names)}
        slots = np.where(table.weights[events.row] != 0, events.row, -1)
        self._events, self._done = events, 0
        run.slots = Waiting(slots, table.scores, table.past, table.beside, self.ledger, self.rate)

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
            run.slots, self._events = run.no_slots, None
            self._settle(events, waited, self._done, refused)
        learnt: Learnt = run.learnt
        return learnt

    def _settle(self, events: Events, waited: int, done: int, refused: bool) -> None:
        """Keep the rows that were asked and wait; one whose answer was refused would be so for ever, and is let go."""
        asked = int(np.count_nonzero(events.asks[:done]))
        left = np.arange(self.table.size) < waited + asked
        answered, over = events.row[:done][~events.asks[:done]], done + refused
        self.orderly &= np.array_equal(answered, np.flatnonzero(self.table.weights)[: answered.size])
        left[events.row[:over][~events.asks[:over]]] = False
        left &= self.table.weights != 0
        self.asked += asked
        self.table = self.table.picked(np.flatnonzero(left))

    def count(self, run: Any, x: Rows, y: Any, w: Vector) -> None:
        """Count the answers among the events that happened, as a run counts rows; then report on the rows asked."""
        assert self._events is not None
        self._done = done = run.learnt.done
        asks, counts = self._events.asks[:done], np.flatnonzero(self._events.counts[:done])
        told, arrays = run.learnt, {name: getattr(run, name) for name in run.of_batch}
        run.learnt = _picked(told, counts)
        for name, array in arrays.items():
            setattr(run, name, array[counts] if len(array) else array)
        try:
            rows = pick_rows(as_sparse(x), counts)
            run._count(rows, rows, y[counts], w[counts])
        except BaseException:
            run.learnt = told
            for name, array in arrays.items():
                setattr(run, name, array)
            raise
        self.answers = w[:done][~asks], _picked(told, np.flatnonzero(~asks))
        run.learnt = _picked(told, np.flatnonzero(asks))
        for name, array in arrays.items():
            setattr(run, name, array[:done][asks] if len(array) else array)

    def to_json(self) -> dict[str, Any]:
        """The public form: the delay in rows, rows asked and those that wait, and what lateness added to the regret."""
        return {"rows": self.delay, "asked": self.asked, "pending": self.table.size, "drift": self.drift}

    # ---- files ---------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays by which a file keeps what waits."""
        described: dict[str, Any] = {"delay": self.delay, "asked": self.asked, "orderly": self.orderly}
        described |= {} if self.names is None else {"names": self.names.names}
        x = self.table.rows
        rows = {"indptr": x.indptr.astype(np.int64), "indices": x.indices.astype(np.uint64), "data": x.data}
        columns = dict(zip(self.table._fields[1:], self.table[1:], strict=True))
        ledgers = {"ledger": self.ledger, "ledgers": np.array(self.ledgers).reshape(-1, LEDGER)}
        return {"late": described}, {f"late.{name}": array for name, array in (rows | columns | ledgers).items()}

    @classmethod
    def of(cls, described: dict[str, Any], arrays: Arrays) -> Late:
        """The rows that wait, and the ledger, of a file with these contents."""
        found = {name: arrays[f"late.{name}"] for name in NAMES}
        made = cls(described["delay"], "names" in described, found["scores"].shape[1], found["past"].shape[1])
        made.asked, made.ledger, made.ledgers = described["asked"], found["ledger"], list(found["ledgers"])
        made.orderly = described.get("orderly", True)
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

    def require_late(self, delay: Any) -> None:
        """Refuse a delay if the run was not begun with one."""
        if delay is not None and self.late is None:
            raise PartError("answers come late only in runs that were begun so: give delay=N to train or begin")


def with_delays(batches: Iterable[Batch], delay: Any) -> Iterator[tuple[Batch, Any]]:
    """Batches with the delays of their rows, given one for all or one for each; None if there are none."""
    done = 0
    for batch in batches:
        yield batch, None if delay is None else delays_of(delay, len(batch), done)
        done += len(batch)


def _picked(told: Learnt, at: Any) -> Learnt:
    """The report on some of the rows."""
    return Learnt(at.size, told.labels[at], told.guesses[at], told.scores[at])


def checked_delay(delay: Any) -> int:
    """A delay in rows that every row has; a `PartError` if it is none."""
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer) or not 0 <= delay <= LONGEST_DELAY:
        raise PartError(f"delay must be a whole number of rows from 0 to {LONGEST_DELAY}, got {delay!r}")
    return int(delay)


def delays_of(delay: Any, count: int, begin: int = 0) -> Any:
    """The delays of rows begin … begin + count − 1, whole numbers ≥ 0, given one for all or one for each."""
    given = np.asarray(delay)
    delays = np.full(count, given) if given.ndim == 0 else given[begin : begin + count]
    if delays.ndim != 1 or delays.dtype.kind not in "iu" or np.any((delays < 0) | (delays > LONGEST_DELAY)):
        raise DataError(f"delays must be whole numbers ≥ 0, at most {LONGEST_DELAY}, got {delay!r}")
    if delays.size < count:
        raise DataError(f"there are more rows than delays ({given.size}): give one for each row")
    return delays.astype(np.int64)
