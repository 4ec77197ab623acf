"""Products of features: all pairs or triples of entries from named groups (namespaces, columns), hashed as entries.

A row's parser calls `begin_row`, then `begin_group` before the entries of each group, then `append_products` and
`close_row`. The hashes are those of Vowpal Wabbit's `-q` and `--cubic`; a group crossed with itself gives each
unordered pair once, squares among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.stream.buffers import ENTRY, GROUP, GROUPS, KEPT, NAMED, Buffers

NO_ROOM = -1

_U = np.uint64
_PRIME = _U(16777619)


class Crossing(Part):
    """The groups to multiply: three keys for each product, the third −1 if it is one of two groups."""

    keys: NDArray[np.int64]

    @classmethod
    def of(cls, products: Iterable[Sequence[int]]) -> Crossing:
        """The crossing of tuples of two or three keys.

        Of tuples that name the same groups only the first in order counts. The order within a tuple only
        matters to the hash; one that names a group twice is sorted, as in Vowpal Wabbit.
        """
        chosen: dict[tuple[int, ...], tuple[int, ...]] = {}
        for product in products:
            keys, groups = tuple(product), tuple(sorted(product))
            if not 2 <= len(keys) <= 3:
                raise PartError(f"a product takes two or three groups, got {len(keys)}: {keys}")
            if len(set(keys)) < len(keys):
                keys = groups
            chosen[groups] = min(keys, chosen.get(groups, keys))
        return cls(np.array([(*keys, -1)[:3] for keys in chosen.values()], np.int64).ravel())

    def check(self) -> None:
        self.require(self.keys.ndim == 1 and self.keys.dtype == np.int64, f"keys must be whole numbers: {self.keys!r}")
        self.require(self.keys.size % 3 == 0, f"keys must come by threes, got {self.keys.size}")


NOTHING = Crossing(np.empty(0, np.int64))


# ---- compiled --------------------------------------------------------------------------------------------------------


def has_room(crossing: Crossing, out: Buffers, entries: int) -> bool:
    """Whether this many entries still fit: ask before each row, for products may have taken the room of later rows."""
    return crossing.keys.size == 0 or out.values.size - out.cursor[ENTRY] >= entries


def begin_row(out: Buffers) -> None:
    """Begin a row: no groups yet, and no names."""
    out.cursor[GROUPS] = 0
    out.cursor[NAMED] = out.cursor[KEPT]


def begin_group(out: Buffers, key: Any, entry: int) -> None:
    """Begin a group: entries from `entry` on have this key, until the next group begins."""
    at = GROUP * out.cursor[GROUPS]
    if at < out.groups.size:  # else `append_products` asks for more room
        out.groups[at], out.groups[at + 1] = key, entry
    out.cursor[GROUPS] += 1


def append_products(crossing: Crossing, out: Buffers, entry: int, mask: Any) -> int:
    """Append the products of the row that ends at `entry`; returns its new end, or NO_ROOM. O(groups + products)."""
    if crossing.keys.size == 0:
        return entry
    if GROUP * out.cursor[GROUPS] > out.groups.size:
        return NO_ROOM
    end = entry
    for at in range(0, crossing.keys.size, 3):
        second = third = _link(out, crossing.keys[at + 1], entry)
        if crossing.keys[at + 2] >= 0:
            third = _link(out, crossing.keys[at + 2], entry)
        if third < out.cursor[GROUPS]:
            for group in range(out.cursor[GROUPS]):
                if out.groups[GROUP * group] == crossing.keys[at]:
                    for k in range(out.groups[GROUP * group + 1], _end(out, group, entry)):
                        end = _second(crossing, out, at, (group, second, third), k, entry, end, mask)
                        if end < 0:
                            return NO_ROOM
    return end


def _link(out: Buffers, key: int, entry: int) -> int:
    """Lead from each group of this key to the next that has entries; returns the first one. The end is GROUPS.

    A line may have as many groups as entries: who looked for each entry at all of them would take quadratic time.
    """
    found = out.cursor[GROUPS]
    for group in range(out.cursor[GROUPS] - 1, -1, -1):
        if out.groups[GROUP * group] == key:
            out.groups[GROUP * group + 2] = found
            if out.groups[GROUP * group + 1] < _end(out, group, entry):
                found = group
    return found


def _second(
    crossing: Crossing, out: Buffers, at: int, groups: tuple[int, int, int], k: int, entry: int, end: int, mask: Any
) -> int:
    """Append the products of entry k, of the first of these groups, with all of the second key and the third."""
    first, group, third = groups
    same = crossing.keys[at + 1] == crossing.keys[at]
    number, value = _U(out.columns[k]) * _PRIME, out.values[k]
    if same:
        group = first
    while group < out.cursor[GROUPS]:
        begin, stop = out.groups[GROUP * group + 1], _end(out, group, entry)
        if same and group == first:
            begin = k
        if crossing.keys[at + 2] < 0:
            end = _products(out, begin, stop, number, value, end, mask)
        else:
            for i in range(begin, stop):
                pair = (number ^ _U(out.columns[i])) * _PRIME
                end = _third(crossing, out, at, (group, third), i, pair, value * out.values[i], entry, end, mask)
                if end < 0:
                    return NO_ROOM
        if end < 0:
            return NO_ROOM
        group = out.groups[GROUP * group + 2]
    return end


def _third(
    crossing: Crossing,
    out: Buffers,
    at: int,
    groups: tuple[int, int],
    i: int,
    number: Any,
    value: float,
    entry: int,
    end: int,
    mask: Any,
) -> int:
    """Append the products of a pair, its latter entry i in the first of these groups, with all of the third key."""
    second, group = groups
    same = crossing.keys[at + 2] == crossing.keys[at + 1]
    if same:
        group = second
    while group < out.cursor[GROUPS]:
        begin = i if same and group == second else out.groups[GROUP * group + 1]
        end = _products(out, begin, _end(out, group, entry), number, value, end, mask)
        if end < 0:
            return NO_ROOM
        group = out.groups[GROUP * group + 2]
    return end


def _products(out: Buffers, begin: int, stop: int, number: Any, value: float, end: int, mask: Any) -> int:
    """Append number ^ column, value · value for the entries from `begin` to `stop`."""
    if end + stop - begin > out.values.size:
        return NO_ROOM
    for k in range(begin, stop):
        out.columns[end] = (number ^ _U(out.columns[k])) & _U(mask)
        out.values[end] = value * out.values[k]
        end += 1
    return end


def _end(out: Buffers, group: int, entry: int) -> int:
    """Where the entries of a group end."""
    return out.groups[GROUP * (group + 1) + 1] if group + 1 < out.cursor[GROUPS] else entry
