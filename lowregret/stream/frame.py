"""Tables in memory whose labels are given apart: pandas and polars frames, Arrow tables.

Columns mean what they do in files (`arrow.py`), so that a row has the same slots wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from lowregret.rows import Sparse
from lowregret.state import Vector
from lowregret.stream.arrow import TableFormat, TableStream, record_batches
from lowregret.stream.batch import Batch, has_arrow_stream, sound
from lowregret.stream.columns import BITS
from lowregret.stream.leaves import leaves

SLOTS = 1 << BITS
_NUMBERS = "biuf"  # kinds of types in which pandas keeps numbers


@dataclass(frozen=True)
class Frame:
    """A stream of the rows of a table, a label for each, and a weight unless all are 1."""

    table: Any
    labels: Any
    weights: Vector

    @property
    def size(self) -> int:
        return 0

    def batches(self) -> Iterator[Batch]:
        begin = 0
        for batch in sound(_read(self.table).batches(), ""):
            end = begin + len(batch)
            labels, weights = self.labels[begin:end], self.weights[begin:end]
            yield replace(batch, labels=labels, weights=weights, unlabelled=0, names=None, fault=None)
            begin = end


def frame_rows(table: Any) -> Iterator[Sparse]:
    """The rows of a table in batches, each valid until the next, with a column for every slot."""
    for batch in sound(_read(table).batches(), ""):
        yield replace(batch.rows, columns=SLOTS)


def not_numbers(data: Any) -> list[str]:
    """The columns of a table that are not of numbers: texts, categories, dates; of what is no table, none.

    O(columns), unless pandas has to look at its objects.
    """
    kinds = [getattr(kind, "kind", "") for kind in getattr(data, "dtypes", ())]
    if not has_arrow_stream(data) or (kinds and all(kind and kind in _NUMBERS for kind in kinds)):
        return []
    name = type(data).__name__
    for batch, _ in record_batches(_bare(data), name, True):
        return [leaf.name for leaf in leaves(batch.slice(0, 1), (), (), name) if not leaf.is_number]
    return []


def _read(table: Any) -> TableStream:
    return TableStream((_bare(table),), TableFormat(labelled=False))


def _bare(table: Any) -> Any:
    """Without the names of rows, which pandas would hand over as a column."""
    return table.reset_index(drop=True) if hasattr(table, "iloc") else table
