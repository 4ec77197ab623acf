"""The names behind the slots of a hashed format: each name once, with its slot, in the order they came.

Parsers note names with `buffers.record`, if there is room for them; a dictionary takes them up block by block. Memory
is that of the distinct names.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.compile.random import SECRET, mix
from lowregret.stream.buffers import AS_IT_STANDS, KEPT, NAME, WORDS_ESCAPED, Buffers
from lowregret.stream.tokens import write_words
from lowregret.stream.word import word

_U = np.uint64
_SLACK = 8  # bytes behind a text that `word` may look at
_TEXTS, _ENDS, _SLOTS = "names", "name_ends", "name_slots"


class _Book(NamedTuple):
    """Name i is text[ends[i−1] … ends[i]−1]; a hash table holds 1 + i, or 0. There are count[0] names."""

    text: Any
    ends: Any  # ends[i + 1] of name i
    slots: Any
    table: Any
    count: Any
    secret: Any = SECRET  # with which names are hashed: those that are made to collide would take quadratic time


class Names(NamedTuple):
    """Name i is text[ends[i] … ends[i+1]−1], of the slot slots[i]."""

    text: Any
    ends: Any
    slots: Any


class Dictionary:
    """Names and their slots. A name is `namespace^feature`, `column`, `column=value` or `column=words`."""

    def __init__(self) -> None:
        empty = np.empty(0, np.int64)
        self._book = _Book(np.empty(0, np.uint8), np.zeros(1, np.int64), empty, empty, np.zeros(1, np.int64))
        self._order = np.empty(0, np.int64)

    def __len__(self) -> int:
        return int(self._book.count[0])

    def see(self, text: Any, out: Buffers, header: bytes = b"", joint: bytes = b"=") -> None:
        """Take up the names recorded for the rows of a block of text. O(names), a hash and a comparison each."""
        self._take(np.frombuffer(text, np.uint8), out.names, int(out.cursor[KEPT]), header, joint)

    def note(self, text: Any, records: Any, header: bytes) -> None:
        """Take up names of which there are records, a line each, as `buffers.record` writes them. O(names)."""
        self._take(text, np.ascontiguousarray(records).ravel(), len(records), header)

    def add(self, names: Names) -> None:
        """Take up names that another dictionary has, as `since` gave them."""
        records = np.zeros((names.slots.size, NAME), np.int64)
        records[:, 0], records[:, 3], records[:, 4], records[:, 5] = (
            names.slots,
            names.ends[:-1],
            names.ends[1:],
            AS_IT_STANDS,
        )
        self._take(names.text, records.ravel(), names.slots.size)

    def since(self, count: int) -> Names:
        """The names that came after the first `count`."""
        ends = self._book.ends[count : len(self) + 1]
        return Names(self._book.text[ends[0] : ends[-1]].copy(), ends - ends[0], self.slots[count:].copy())

    def _take(self, text: Any, records: Any, total: int, header: bytes = b"", joint: bytes = b"=") -> None:
        head, between = (np.frombuffer(part, np.uint8) for part in (header, joint))
        done = 0
        while (done := _see(self._book, text, head, between, records, done, total)) < total:
            _, space, space_end, name, name_end, _ = records[NAME * done : NAME * (done + 1)].tolist()
            self._grow(abs(space_end - space) + len(joint) + abs(name_end - name))

    def names(self, slot: int) -> list[str]:
        """The names with this slot, in the order they came; more than one if they collide."""
        slots = self.slots
        if self._order.size != slots.size:
            self._order = np.argsort(slots, kind="stable")
        first, last = (np.searchsorted(slots, slot, side, sorter=self._order) for side in ("left", "right"))
        return [self._name(int(i)) for i in self._order[first:last]]

    @property
    def slots(self) -> NDArray[np.int64]:
        """The slot of each name."""
        return self._book.slots[: len(self)]

    @property
    def collisions(self) -> int:
        """How many names share their slot with another."""
        _, counts = np.unique(self.slots, return_counts=True)
        return int(counts[counts > 1].sum())

    def save(self) -> dict[str, NDArray[Any]]:
        """The dictionary as arrays, for a model file."""
        ends = self._book.ends[1 : len(self) + 1]
        size = int(ends[-1]) if ends.size else 0
        return {_TEXTS: self._book.text[:size].copy(), _ENDS: ends.copy(), _SLOTS: self.slots.copy()}

    @classmethod
    def load(cls, arrays: dict[str, NDArray[Any]]) -> Dictionary:
        """The dictionary of arrays that `save` gave."""
        made = cls()
        text, ends, slots = arrays[_TEXTS], arrays[_ENDS], arrays[_SLOTS]
        made._book = made._book._replace(
            text=text,
            ends=np.concatenate([np.zeros(1, np.int64), ends.astype(np.int64)]),
            slots=slots.astype(np.int64),
            table=np.empty(0, np.int64),
            count=np.array([slots.size], np.int64),
        )
        made._grow(0)
        return made

    def _name(self, i: int) -> str:
        begin, end = self._book.ends[i : i + 2]
        return self._book.text[begin:end].tobytes().decode(errors="replace")

    def _grow(self, more: int) -> None:
        """Make room for another name of at most `more` bytes, and for as many again as there are."""
        count, used = len(self), int(self._book.ends[len(self)])
        self._book = self._book._replace(
            text=_longer(self._book.text, used + more + _SLACK),
            ends=_longer(self._book.ends, 2 * count + 4),
            slots=_longer(self._book.slots, count + 1),
        )
        if self._book.table.size <= 2 * count:
            self._book = self._book._replace(table=np.zeros(1 << max(12, (4 * count).bit_length()), np.int64))
            _fill(self._book)


def _longer(array: NDArray[Any], least: int) -> NDArray[Any]:
    """An array of at least this length; if that takes a copy, of twice it."""
    if array.size >= least:
        return array
    longer = np.empty(2 * least, array.dtype)
    longer[: array.size] = array
    return longer


# ---- compiled --------------------------------------------------------------------------------------------------------


@kernel
def _see(book: _Book, text: Any, header: Any, joint: Any, names: Any, done: int, total: int) -> int:
    """Take up records `done` … `total` − 1; returns the first for which there is no room."""
    for k in range(done, total):
        slot, space, space_end = names[NAME * k], names[NAME * k + 1], names[NAME * k + 2]
        name, name_end, how = names[NAME * k + 3], names[NAME * k + 4], names[NAME * k + 5]
        count = book.count[0]
        begin = book.ends[count]
        room = begin + abs(space_end - space) + joint.size + abs(name_end - name) + _SLACK
        if room > book.text.size or count == book.slots.size or 2 * count >= book.table.size:
            return k
        end = begin
        if space < 0:
            end = _append(book, end, header, -1 - space, -1 - space_end)
        else:
            end = _append(book, end, text, space, space_end)
        if name >= 0:
            if end > begin:
                end = _append(book, end, joint, 0, joint.size)
            if how == AS_IT_STANDS:
                end = _append(book, end, text, name, name_end)
            else:
                end = np.int64(write_words(text, _U(name), _U(name_end), how == WORDS_ESCAPED, book.text, _U(end)))
        at = _place(book, begin, end, slot)
        if book.table[at] == 0:
            book.table[at] = count + 1
            book.slots[count] = slot
            book.ends[count + 1] = end
            book.count[0] = count + 1
    return total


@kernel
def _fill(book: _Book) -> int:
    """Put all names into an empty table."""
    for k in range(book.count[0]):
        book.table[_place(book, book.ends[k], book.ends[k + 1], book.slots[k])] = k + 1
    return 0


def _append(book: _Book, at: int, text: Any, begin: int, end: int) -> int:
    """Copy text[begin:end] to the names; returns where it ends."""
    for k in range(begin, end):
        book.text[_U(at + k - begin)] = text[_U(k)]
    return at + end - begin


def _place(book: _Book, begin: int, end: int, slot: int) -> Any:
    """Where the table holds this name, or an empty place for it."""
    mask = _U(book.table.size - 1)
    at = _hash(book, _U(begin), _U(end), slot) & mask
    while book.table[at] != 0 and not _same(book, book.table[at] - 1, begin, end, slot):
        at = (at + _U(1)) & mask
    return at


def _hash(book: _Book, k: Any, end: Any, slot: int) -> Any:
    """A hash of the slot and of text[k:end], behind which the text goes on for eight bytes."""
    h = mix(_U(slot) ^ book.secret)
    while k + _U(8) < end:
        h = mix(h ^ word(book.text, k))
        k += _U(8)
    rest = (end - k) << _U(3)  # bits, at most 64
    return mix(h ^ word(book.text, k) << (_U(64) - rest)) if rest > _U(0) else h


def _same(book: _Book, i: int, begin: int, end: int, slot: int) -> bool:
    """Whether name i is text[begin:end] with this slot."""
    other = book.ends[i]
    if book.slots[i] != slot or book.ends[i + 1] - other != end - begin:
        return False
    for k in range(0, end - begin - 7, 8):
        if word(book.text, _U(begin + k)) != word(book.text, _U(other + k)):
            return False
    for k in range((end - begin) // 8 * 8, end - begin):  # noqa: SIM110 compiled code has no generators
        if book.text[_U(begin + k)] != book.text[_U(other + k)]:
            return False
    return True
