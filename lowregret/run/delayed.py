"""Asking and telling: predictions are made now, their answers come later, in any order, or never.

    run = delayed(zoo.ogd_eager(Logistic(), eta=0.1), features=3)
    rounds, scores = run.ask(X)          # decided with the present weights
    run.tell(rounds[::-1], y[::-1])      # whenever the labels are known

`certificate/delay.py` says why this can be certified.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, ParamSpec, Self, TypeVar

import numpy as np

from lowregret.certificate import Certificate, certificates
from lowregret.certificate.delay import BOOK, WEIGHT, WRONG, dual_exponent, late_certificates
from lowregret.compile.signals import Unbroken, let_in
from lowregret.domain import Domain
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.late import DRIFT, LAGGED, LEDGER
from lowregret.learner.linear import Linear
from lowregret.learner.validate import (
    Place,
    numbers,
    require_bounded,
    require_finite,
    require_label,
    require_weight,
    settled,
)
from lowregret.rows import Features, Rows, Sparse
from lowregret.run.begin import begin
from lowregret.run.careful import REACH, on_trial, whole
from lowregret.run.delayed_loop import ask_and_learn
from lowregret.run.lags import delays_of, settled_delay
from lowregret.run.linear import LinearRun
from lowregret.run.outcome import NOTHING as NO_ROWS
from lowregret.run.outcome import Learnt
from lowregret.run.pending import NEVER, Numbers, Pending
from lowregret.run.round_by_round import elsewhere
from lowregret.run.schema import DelayedSchema
from lowregret.store.file import Arrays
from lowregret.stream.batch import Batch, Stream, is_stream, raise_faults
from lowregret.stream.places import NOTHING, Placed
from lowregret.types import Vector
from lowregret.words import counted

NOBODY = Placed(Sparse(np.zeros(1, np.int64), np.empty(0, np.uint32), np.empty(0), 0), np.empty(0, np.int64))
CHUNK = 4096  # rows asked at a time, or as many as wait: long batches are not copied whole, nor sorted often


def delayed(
    learner: Linear, features: int | None = None, comparator: Domain | None = None, *, compiled: bool = True
) -> DelayedRun:
    """A run before its first round, whose answers may come late; `features` None: as many as there turn out to be.

    Round s is decided with the present w_s; when its answer comes, the present iterate v moves by the sub-gradient
    ∂f_s(w_s) (ALG-OGD-DELAY, for every rule and every order of arrival). The step counts the answers, not the rounds. A
    ridge is known without an answer: it is that of v.
    """
    if not isinstance(learner, Linear):
        raise PartError(
            f"the learner must be a Linear such as zoo.ogd_eager(Hinge(), eta=0.1), got {learner!r}; "
            "others take train(…, delay=N)"
        )
    if learner.rule.schedule().weighted():
        raise PartError(
            "a schedule that weighs the rounds needs w_s when the answer to round s comes, and only its score is kept: "
            "use a step such as Constant or InverseSqrt"
        )
    first = begin(learner, features, comparator=comparator, compiled=compiled)
    return DelayedRun(learner, first.state, first.comparator, seen=first.seen, compiled=compiled)


class Asked(NamedTuple):
    """A batch of rows, those from `first` on still to be asked."""

    x: Rows
    placed: Placed
    first: int
    place: Place


P = ParamSpec("P")
R = TypeVar("R")


def alone(method: Callable[P, R]) -> Callable[P, R]:
    """The method, which no other thread and no signal comes in the way of."""

    @wraps(method)
    def held(*args: P.args, **options: P.kwargs) -> R:
        run: Any = args[0]
        with Unbroken(), run._alone():
            return method(*args, **options)

    return held


class DelayedRun(LinearRun):
    """A `LinearRun` that separates asking and telling; its results are of the rounds that were answered.

    `asked` counts the rounds decided, `rounds` those answered (weight 0 not counted), `pending` those that wait.

    Rounds are numbered 1, 2, 3, … In a run from a file numbers go on elsewhere (`elsewhere`), and rounds that wait keep
    theirs: no answer is taken for that to another round, though an older save be restored.
    """

    kind = "delayed-run"
    schema = DelayedSchema(Linear)

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.asked = 0
        self.ledger: Vector = np.zeros(BOOK)
        self._pending = Pending()
        self._numbers = Numbers()
        self._ledgers: list[Vector] = []  # at the rounds of the history

    # ---- asking and telling --------------------------------------------------------------------------------------

    def ask(self, features: Features) -> tuple[Any, Vector]:
        """Decide rows, one round each; returns the rounds' numbers, and scores. All rows or none: O(nnz)."""
        x = self._rows(features)
        if not np.isfinite(x.data).all():  # type: ignore[attr-defined]
            for i in range(x.shape[0]):
                require_finite(x, i, f"row {i}")
        before, scores = self._decide(x, None, "row {}".format)
        return self._numbers.of(np.arange(before + 1, before + len(scores) + 1)), scores

    @alone
    def tell(self, rounds: Any, labels: Any, weights: Any = None) -> Self:
        """Learn the answers to some rounds in the order given. Weight 0: there is no answer, the round is forgotten.

        Nothing is learnt unless all rounds wait and all labels fit.
        """
        told, at = self._waiting(rounds)
        y = numbers(np.atleast_1d(labels), "labels", told.size)
        w = np.ones(told.size) if weights is None else numbers(np.atleast_1d(weights), "weights", told.size)
        loss, pending = self.learner.loss, self._pending
        for i, (round_, label) in enumerate(zip(told.tolist(), y.tolist(), strict=True)):
            require_weight(w, i, f"round {round_}")
            if w[i] != 0:
                require_label(label, f"round {round_}", loss.accepts(label), type(loss).__name__, loss.labels)
        self.uniform &= bool(np.all(w == 1))
        self._meet(NOBODY.rows, np.empty(0), y[w != 0])
        pending.send(at, y, w, self.asked)
        try:
            self._run(at, pending.size)
        finally:
            left = pending.find(self._numbers.rounds(told.astype(np.int64)))
            pending.recall(left[left >= 0])
        return self

    @alone
    def deliver(self) -> Self:
        """Let all answers arrive that `learn` has sent and that are still on their way, in order."""
        at = self._pending.arriving()
        due = self._pending.slots.due
        due[at] = np.minimum(due[at], self.asked)
        self._run(at, self._pending.size)
        return self

    def learn(self, features: Features | Stream, labels: Any = None, weights: Any = None, *, delay: Any = 0) -> Self:
        """Ask rows and learn them late: round s is answered after round s + delay was decided. O(nnz) per row.

        `delay`: a number, or one per row. Answers due after the last row arrive as more rounds are asked, or by
        `deliver`. Splitting the rows over several calls changes nothing, not even the last bit. An answer at which a
        loss of your own raises an error stays due and is tried again by the next call: nothing is learnt before it.
        """
        labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
        delay = settled_delay(delay)
        if is_stream(features):
            done = 0
            for batch in raise_faults(features.batches()):
                self.learn_batch(batch, delays_of(delay, len(batch), done))
                done += len(batch)
            return self
        x = self._rows(features)
        y = numbers(labels, "labels", x.shape[0])
        w = np.empty(0) if weights is None else numbers(weights, "weights", x.shape[0])
        if np.ndim(delay) and len(delay) != y.size:
            raise DataError(f"give one delay for all rows, or one for each of {y.size}; got {len(delay)}")
        self._decide(x, (y, w, delays_of(delay, y.size)), "row {}".format)
        return self

    def learn_batch(self, batch: Batch, delay: Any = 0) -> Learnt:
        """Ask the rows of a batch and learn them late; if one is refused, `learnt` tells how many were asked."""
        if batch.lags.size:
            raise PartError("these rows bring lags of their own: train(learner, stream) lets their labels come so late")
        delays = delays_of(delay, len(batch))
        self._decide(batch.rows, (batch.labels, batch.weights, delays), batch.place)
        return self.learnt

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """The number of rounds that were asked and wait for their answer."""
        return len(self._pending)

    @property
    def waiting(self) -> Any:
        """The numbers of the rounds that wait for their answer; whose answer is on its way has that of its place."""
        used = self._pending.used
        rounds, due = used.rounds[used.waiting], used.due[used.waiting]
        return np.where(due < NEVER, rounds, self._numbers.of(rounds))

    @property
    def weight(self) -> float:
        return float(self.ledger[WEIGHT])

    @property
    def wrong(self) -> float:
        return float(self.ledger[WRONG])

    @property
    def alike(self) -> bool:
        return self.uniform

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner and of late answers, tightest first."""
        found = certificates(self.learner, self.state, self.comparator, self.met, late=self._waited)
        return late_certificates(self.learner, found, self.ledger, self.pending)

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_s,z_s⟩ + max_u⟨u,−Σz_s⟩ over the rounds answered, w_s the iterate that decided round s: O(d)."""
        return super().linear_regret(comparator) + float(self.ledger[DRIFT])

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Raise a `PartError`: no mistake bound speaks of late answers."""
        raise PartError("the mistake bounds hold for answers that come at once: use train, or the certificates")

    @property
    def _waited(self) -> bool:
        """Whether an answer came when the iterate had moved on."""
        return bool(self.ledger[DRIFT] or self.ledger[LAGGED])

    def drifts(self, marks: int) -> Vector | None:
        return np.array([*self._ledgers, self.ledger[:LEDGER]])[:marks, DRIFT] if self._waited else None

    def __str__(self) -> str:
        return f"{super().__str__()}\npending    {self.pending:,} of {counted(self.asked, 'round')} asked"

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        ledgers = np.array(self._ledgers).reshape(-1, LEDGER)
        late = {"ledger": self.ledger, "ledgers": ledgers} | self._pending.arrays()
        late["pending.numbers"] = self.waiting
        return description | {"asked": self.asked}, arrays | late

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        run = super().of(path, description, arrays)
        run.asked, run.ledger = description["asked"], arrays["ledger"]
        run._ledgers, run._pending = list(arrays["ledgers"]), Pending.of(arrays)
        run._numbers = Numbers(run.asked, elsewhere(), arrays["pending.rounds"], arrays["pending.numbers"])
        return run

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _waiting(self, rounds: Any) -> tuple[Any, Any]:
        """The rounds told and their places in the table, if all wait for an answer from outside, each once."""
        told = np.atleast_1d(np.asarray(rounds))
        if told.dtype.kind not in "iu" or told.ndim != 1:
            raise DataError(f"rounds must be numbers that ask gave, got {rounds!r}")
        at, seen = self._pending.find(self._numbers.rounds(told.astype(np.int64))), set[int]()
        for round_, place in zip(told.tolist(), at.tolist(), strict=True):
            if round_ in seen:
                raise DataError(f"round {round_} is told twice in one call: give one answer for each round")
            if place < 0:
                raise DataError(f"round {round_} {self._numbers.why_not(round_, self.asked)}")
            if self._pending.slots.due[place] < NEVER:
                raise DataError(f"round {round_} was learnt with its label, which is on its way: do not tell it")
            seen.add(round_)
        return told, at

    @alone
    def _decide(self, x: Rows, answers: tuple[Vector, Vector, Any] | None, place: Place) -> tuple[int, Vector]:
        """Ask rows in chunks; `answers` are labels, weights and delays, if they are known.

        Returns how many were asked before, and their scores.
        """
        self.learnt, self.scores, asked = NO_ROWS, np.full(x.shape[0], np.nan), self.asked
        pending, begin, count = self._pending, 0, x.shape[0]
        placed = self._placed(x, NOTHING)
        while begin < count:
            end = min(begin + max(CHUNK, pending.size), count)
            first, before = pending.size, self.asked
            pending.append(placed.rows, begin, end, before + 1)
            if answers is not None:
                y, w, delays = answers
                weights = w[begin:end] if w.size else np.ones(end - begin)
                new = slice(first, pending.size)
                pending.send(new, y[begin:end], weights, pending.slots.rounds[new] + delays[begin:end])
                self.uniform &= bool(np.all(weights == 1))
            try:
                self._run(pending.arriving(before + end - begin), first, Asked(x, placed, begin, place))
                let_in()
            except BaseException:
                self._settle(x, placed, begin + self.asked - before)
                raise
            finally:
                begin += self.asked - before
                labels = np.empty(0) if answers is None else answers[0][:begin]
                self.learnt = Learnt(begin, labels, self.scores[:begin], self.scores[:begin])
                self._meet(x, self.scores[:begin], labels)
        self._settle(x, placed, count)
        return asked, self.scores

    def _run(self, arrivals: Any, i: int, rows: Asked | None = None) -> None:
        """Ask `rows`, which are the table's rows from i on, and learn the `arrivals` that fall due meanwhile."""
        pending, first, asked, e = self._pending, i, self.asked, 0
        row, placed = (rows.first, rows.placed) if rows else (0, NOBODY)
        slots, p = pending.slots, dual_exponent(self.learner)
        try:
            while True:
                mark = self._next_mark()
                x, end = pending.rows(self._places), first + placed.fitting(self._places) - row
                clock, fixed = asked + i - first, (arrivals, self.ledger, p)
                end = min(end, pending.size)
                given = ask_and_learn, self.learner, self.state, x, slots
                with whole(self.learner, self._carried()):
                    i, e = self._call(*given, *fixed, clock, end, i, e, mark, REACH)
                due = e < arrivals.size and slots.due[arrivals[e]] <= asked + i - first
                if due and self.state.rounds < mark:
                    self._learn_alone_late(given, arrivals[e : e + 1], p)
                    e += 1
                if self.state.rounds == mark:
                    self._at_mark()
                elif due:
                    continue
                elif rows is None or i == pending.size:
                    break
                elif not self._grow(placed, NOTHING, row + i - first):
                    weight, at = slots.weights[i] if slots.due[i] < NEVER else 0.0, row + i - first
                    weights, shown = (
                        np.full(at + 1, weight),
                        rows.x if self.places is not None else self.located(rows.x),
                    )
                    self._refuse(shown, slots.labels[i], weights, at, rows.place(at))
        finally:
            self.asked = asked + i - first
            self.scores[row : row + i - first] = slots.scores[first:i]
            pending.cut(i)
            pending.answered(arrivals[:e])
        require_bounded(self.state)

    def _carried(self) -> Sequence[Any]:
        return *self.state, self.ledger

    def _learn_alone_late(self, given: Any, at: Any, p: float) -> None:
        """Learn one answer that may overflow, or raise a `DivergedError`: its round then waits for another answer."""

        def learn() -> bool:
            fixed = at, self.ledger, p, NEVER, 0, 0, 0, self.state.rounds + 1
            return bool(self._call(*given, *fixed, math.inf)[1])

        if not on_trial(learn, self._carried(), self.state.sums):
            self._pending.recall(at)
            raise self._diverged(int(self._numbers.of(self._pending.slots.rounds[at])[0]))

    def _at_mark(self) -> None:
        now = self.ledger[:LEDGER].copy()
        super()._at_mark()
        self._ledgers.append(now)

    def _diverged(self, round_: int) -> DivergedError:
        return DivergedError(
            f"round {round_}: the score or loss left the range of numbers: the weights diverged (use a smaller step, "
            "a bounded domain or scaled features) or the loss is not defined there; the round is still pending: tell "
            "it weight 0 to forget it"
        )
