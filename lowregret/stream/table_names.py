"""Names of the features of record batches, for a dictionary: as tables in text record them while they are parsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lowregret.stream.buffers import AS_IT_STANDS, NAME
from lowregret.stream.columns import CATEGORICAL, DATE, DAYS, TEXT, Columns, header
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.fields import FIRST_PARTS, hash_texts, leaf_dates, words_of
from lowregret.stream.leaves import Leaf

Records: TypeAlias = NDArray[np.int64]  # a line for each name, as `buffers.record` writes them
_NOTHING = np.empty(0, np.uint8)


def take_names(dictionary: Dictionary, chosen: Columns, found: Sequence[Leaf], read: NDArray[np.bool_]) -> None:
    """Take up the names of features that rows have which were read (a mask): O(fields + words)."""
    names, ends = header([leaf.name for leaf in found], chosen)
    for column, leaf in enumerate(found):
        kind, here = chosen.kinds[column], read[leaf.rows]
        text = _NOTHING
        if kind == DATE:
            records = _dates(chosen, column, leaf, here, ends)
        elif kind == TEXT:
            text, records = _words(chosen, column, leaf, here, ends)
        elif kind > CATEGORICAL:
            continue
        elif leaf.is_number and kind != CATEGORICAL:
            numbers = leaf.numbers()[here]
            records = _plain(
                chosen.slots[[column] if np.any((numbers == numbers) & (numbers != 0)) else []], [column], ends
            )
        else:
            text, records = _categories(chosen, column, leaf, here, ends)
        dictionary.note(text, records, names.tobytes())


def _plain(slots: Any, names: Any, ends: NDArray[np.int64]) -> Records:
    """Records of names that stand in the header."""
    at = np.broadcast_to(np.asarray(names, np.int64), np.shape(slots))
    records = np.full((at.size, NAME), -1, np.int64)
    records[:, 0], records[:, 1], records[:, 2], records[:, 5] = slots, -1 - ends[at], -1 - ends[at + 1], AS_IT_STANDS
    return records


def _categories(
    chosen: Columns, column: int, leaf: Leaf, here: NDArray[np.bool_], ends: NDArray[np.int64]
) -> tuple[Any, Records]:
    """A column's texts, and records of those that rows have."""
    offsets, data, codes = leaf.texts()
    slots = np.empty(offsets.size - 1, np.uint32)
    hash_texts(chosen, column, offsets, data, slots)
    used = _used(slots.size, codes, here & leaf.valid()) & (offsets[:-1] < offsets[1:])
    records = _plain(slots[used], [column], ends)
    records[:, 3], records[:, 4] = offsets[:-1][used], offsets[1:][used]
    return data, records


def _words(
    chosen: Columns, column: int, leaf: Leaf, here: NDArray[np.bool_], ends: NDArray[np.int64]
) -> tuple[Any, Records]:
    """A column's texts, and records of the words of those that rows have."""
    offsets, data, codes = leaf.texts()
    out, starts = words_of(chosen, column, offsets, data, (-1 - int(ends[column]), -1 - int(ends[column + 1])))
    used = _used(starts.size - 1, codes, here & leaf.valid())
    records = out.names[: NAME * int(starts[-1])].reshape(-1, NAME)
    return data, records[np.repeat(used, np.diff(starts))]


def _dates(chosen: Columns, column: int, leaf: Leaf, here: NDArray[np.bool_], ends: NDArray[np.int64]) -> Records:
    """Records of the parts of a column's dates."""
    parts, dated = leaf_dates(leaf)
    parts = parts[:, dated & here]
    places = np.unique((parts[:3] + FIRST_PARTS)[parts[:3] + FIRST_PARTS >= 0].astype(np.int64))
    at = chosen.date_at[column] + (np.append(places, DAYS) if np.any(parts[3] != 0) else places)
    return _plain(chosen.date_slots[at], chosen.kinds.size + at, ends)


def _used(texts: int, codes: NDArray[np.int64] | None, elements: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """A mask of the texts that some of these elements have."""
    if codes is None:
        return elements
    found = np.zeros(texts, bool)
    found[codes[elements]] = True
    return found
