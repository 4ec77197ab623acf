"""Rows that were asked and wait for their answer: a table that grows, is answered in any order, and is compacted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.rows import Rows, Sparse
from lowregret.types import Vector

NEVER = 1 << 62  # a round that does not come: nobody has sent the answer yet
ROOM = 64  # rows, and entries, that there is room for in the beginning


class Slots(NamedTuple):
    """One row of the table per round asked, in order; `indptr` has one more, `indices` and `data` one per entry."""

    rounds: Any  # the round's number
    due: Any  # the round after which its answer arrives
    labels: Any
    weights: Any
    scores: Any  # made when the round was asked
    heights: Any  # Σ η‖z‖ over the steps taken until then
    waiting: Any
    indptr: Any
    indices: Any
    data: Any


ROW = (np.int64, np.int64, np.float64, np.float64, np.float64, np.float64, np.bool_)


class Pending:
    """A table of rows that wait for their answer. Appending and answering cost amortised O(nnz)."""

    def __init__(self, slots: Slots | None = None) -> None:
        entries = (np.zeros(ROOM + 1, np.int64), np.zeros(ROOM, np.uint64), np.zeros(ROOM))
        self.slots = slots or Slots._make([*(np.zeros(ROOM, kind) for kind in ROW), *entries])
        self.size = 0 if slots is None else slots.rounds.size
        self._dead = 0
        self._sent = 0 if slots is None else int(np.count_nonzero(slots.due < NEVER))
        self._rows = Sparse(self.slots.indptr, self.slots.indices, self.slots.data, 0)

    def __len__(self) -> int:
        return self.size - self._dead

    @property
    def used(self) -> Slots:
        """Views of the part of the table that is in use."""
        s, n = self.slots, self.size
        entries = int(s.indptr[n])
        return Slots._make(
            [*(column[:n] for column in s[:7]), s.indptr[: n + 1], s.indices[:entries], s.data[:entries]]
        )

    def rows(self, columns: int) -> Sparse:
        """All rows of the table, for compiled loops: one object while the arrays stay, for Numba's sake."""
        s, known = self.slots, self._rows
        same = known.indptr is s.indptr and known.indices is s.indices and known.data is s.data
        if not same or known.columns != columns:
            self._rows = Sparse(s.indptr, s.indices, s.data, columns)
        return self._rows

    def append(self, x: Rows, begin: int, end: int, first: int) -> None:
        """Append rows begin … end−1 of x as rounds `first`, `first` + 1, …, with all entries, zeros too."""
        count, size = end - begin, self.size
        lengths, indices, data = _entries(x, begin, end)
        at = int(self.slots.indptr[size])
        sizes = [size + count] * 7 + [size + count + 1, at + indices.size, at + data.size]
        s = self.slots = Slots._make(map(_with_room, self.slots, sizes))
        s.rounds[size : size + count] = first + np.arange(count)
        s.due[size : size + count] = NEVER
        s.weights[size : size + count] = 1.0
        s.labels[size : size + count] = np.nan
        s.waiting[size : size + count] = True
        s.indptr[size + 1 : size + count + 1] = at + np.cumsum(lengths)
        s.indices[at : at + indices.size] = indices
        s.data[at : at + data.size] = data
        self.size += count

    def cut(self, size: int) -> None:
        """Forget all rows from this one on, none of which was answered."""
        self._sent -= int(np.count_nonzero(self.slots.due[size : self.size] < NEVER))
        self.size = size

    def send(self, at: Any, labels: Vector, weights: Any, due: Any) -> None:
        """Enter the answers to the rows `at`, which arrive after the rounds `due`."""
        s = self.slots
        s.labels[at], s.weights[at], s.due[at] = labels, weights, due
        self._sent += labels.size

    def recall(self, at: Any) -> None:
        """Withdraw the answers to the rows `at`, which were not learnt: these rows wait for others."""
        self._sent -= int(np.count_nonzero(self.slots.due[at] < NEVER))
        self.slots.due[at] = NEVER

    def find(self, rounds: Any) -> Any:
        """The places of these rounds in the table, −1 for those that do not wait: O(log n) each."""
        known = self.slots.rounds[: self.size]
        at = np.minimum(np.searchsorted(known, rounds), max(self.size - 1, 0))
        if self.size == 0:
            return np.full(np.shape(rounds), -1)
        return np.where((known[at] == rounds) & self.slots.waiting[at], at, -1)

    def arriving(self, until: int = NEVER - 1) -> Any:
        """The waiting rows whose answer arrives by round `until`, in order of arrival: O(n), and a sort of them."""
        s, n = self.slots, self.size
        if self._sent == 0:
            return np.zeros(0, np.int64)
        found = np.flatnonzero(s.waiting[:n] & (s.due[:n] <= until))
        return found[np.lexsort((found, s.due[found]))]

    def answered(self, at: Any) -> None:
        """Mark the rows `at` as learnt; once most rows of the table are, they are removed."""
        self.slots.waiting[at] = False
        self._sent -= len(at)
        self._dead += len(at)
        if 2 * self._dead > self.size:
            self._compact()

    def _compact(self) -> None:
        """Remove answered rows by moving the waiting ones to the front."""
        s = self.used
        kept, lengths = s.waiting.copy(), np.diff(s.indptr)
        entries = np.repeat(kept, lengths)
        for column in s[:7]:
            _move(column, column[kept])
        for column in (s.indices, s.data):
            _move(column, column[entries])
        _move(s.indptr[1:], np.cumsum(lengths[kept]))
        self.size, self._dead = int(np.count_nonzero(kept)), 0

    def arrays(self) -> dict[str, Any]:
        """The arrays that a file keeps: columns of the table, with the waiting rows alone."""
        self._compact()
        return {f"pending.{name}": column for name, column in self.used._asdict().items()}

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> Pending:
        """The table with these `arrays`."""
        return cls(Slots(*(arrays[f"pending.{name}"] for name in Slots._fields)))


class Numbers:
    """The numbers of rounds: in a new run the rounds 1, 2, 3, … themselves, in one from a file others from there on.

    `first` rounds were asked before, of which those that wait keep their numbers; later ones have theirs `ahead`.
    """

    def __init__(self, first: int = 0, ahead: int = 0, waiting: Any = (), numbers: Any = ()) -> None:
        self.first, self.ahead = first, ahead
        self._known = np.array(waiting, np.int64), np.array(numbers, np.int64)  # rounds in order, and their numbers
        self._order = np.argsort(self._known[1])

    def of(self, rounds: Any) -> Any:
        """The numbers of rounds, those asked before being among those that waited."""
        if not self._order.size:
            return rounds + self.ahead
        waited, numbers = self._known
        at = np.minimum(np.searchsorted(waited, rounds), waited.size - 1)
        return np.where(rounds > self.first, rounds + self.ahead, numbers[at])

    def rounds(self, numbers: Any) -> Any:
        """The rounds that have these numbers, 0 where there is none: O(log n) each."""
        later = numbers - self.ahead
        found = np.where((later > self.first) & (numbers > self.ahead), later, 0)
        if not self._order.size:
            return found
        waited, known = self._known
        at = self._order[np.minimum(np.searchsorted(known, numbers, sorter=self._order), known.size - 1)]
        return np.where(known[at] == numbers, waited[at], found)

    def why_not(self, number: int, asked: int) -> str:
        """Say why no answer to a number is waited for."""
        if self.first < number - self.ahead <= asked:
            return "was told already: an answer can be given once"
        if self.ahead == 0:
            return f"was not asked: those asked so far are 1 to {asked}"
        return "does not wait: it was told already, or asked after the save that this run goes on from, and is lost"


def _entries(x: Rows, begin: int, end: int) -> tuple[Any, Any, Vector]:
    """The lengths of some rows, their columns, and their values."""
    if isinstance(x, Sparse):
        indptr = x.indptr[begin : end + 1]
        inside = slice(int(indptr[0]), int(indptr[-1]))
        return np.diff(indptr), x.indices[inside], x.data[inside]
    columns = x.shape[1]
    data: Vector = x.data[begin:end].reshape(-1)  # type: ignore[attr-defined]
    return np.full(end - begin, columns), np.tile(np.arange(columns), end - begin), data


def _move(column: Any, values: Any) -> None:
    column[: values.size] = values


def _with_room(column: Any, size: int) -> Any:
    """The column if it has this size, else a copy at least twice as long, so that growing costs amortised O(1)."""
    if size <= column.size:
        return column
    longer = np.zeros(max(size, 2 * column.size), column.dtype)
    longer[: column.size] = column
    return longer
