"""Tables in memory whose labels are given apart: pandas and polars frames, Arrow tables.

Columns mean what they do in files (`arrow_rows.py`), so that a row has the same slots wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lowregret.errors import DataError, PartError
from lowregret.rows import Sparse
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.batch import Batch, has_arrow_stream, raise_faults
from lowregret.stream.columns import BITS
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.leaves import leaves
from lowregret.stream.notice import Notices
from lowregret.stream.record_batches import record_batches
from lowregret.types import Vector

Names = str | Sequence[str]

SLOTS = 1 << BITS
_NUMBERS = "biuf"  # kinds of types in which pandas keeps numbers


@dataclass(frozen=True)
class Frame:
    """A stream of the rows of a table, a label for each, and a weight unless all are 1."""

    table: Any
    form: TableFormat
    labels: Any
    weights: Vector
    notices: Notices = field(default_factory=Notices)

    @property
    def size(self) -> int:
        return 0

    def batches(self) -> Iterator[Batch]:
        begin = 0
        for batch in raise_faults(_read(self.table, self.form, self.notices).batches(), ""):
            end = begin + len(batch)
            labels, weights = self.labels[begin:end], self.weights[begin:end]
            yield replace(batch, labels=labels, weights=weights, unlabelled=0, names=None, fault=None)
            begin = end


def table_form(text: Names, ngrams: int, date: Names, categorical: Names) -> TableFormat:
    """How to read tables whose columns of text and dates, and those whose numbers are names, are called this.

    Columns of Arrow's own dates need not be named.
    """
    words, dates, names = (
        _column_names("text", text),
        _column_names("date", date),
        _column_names("categorical", categorical),
    )
    return TableFormat(text=words, ngrams=ngrams, date=dates, categorical=names, labelled=False, typed=True)


def _column_names(option: str, given: Names) -> tuple[str, ...]:
    """The columns that an option names."""
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise PartError(f"{option} must be the name of a column or a list of such, got {given!r}")
    return names


def frame_rows(table: Any, form: TableFormat) -> Iterator[Sparse]:
    """The rows of a table in batches, each valid until the next, with a column for every slot."""
    for batch in raise_faults(_read(table, form).batches(), ""):
        if len(batch):  # else there is a fault to come
            yield replace(batch.rows, columns=SLOTS)


def takes_table(data: Any, form: TableFormat, hashed: bool | None) -> bool:
    """Whether rows are read as a table, as the first ones were (None: these are the first).

    A matrix they are if all columns are of numbers, and none is named.
    """
    others, named = not_numbers(data), form.column_names
    if named and not has_arrow_stream(data):
        raise DataError(f"there is no column {named[0]!r} in a matrix: give a pandas, polars or Arrow table")
    if hashed is None:
        return bool(others or named)
    if others and not hashed:
        raise DataError(f"the column {others[0]!r} is not of numbers, as all were in the first rows: repair it")
    if hashed and not has_arrow_stream(data):
        raise DataError("the first rows were a table with columns that are not numbers: give such a table again")
    return hashed


def not_numbers(data: Any) -> list[str]:
    """The columns of a table that are not of numbers: texts, categories, dates; of what is no table, none.

    O(columns), unless pandas has to look at its objects.
    """
    if len(getattr(data, "shape", ("rows", "columns"))) == 1:  # one column, which has no name
        return []
    kinds = [getattr(kind, "kind", "") for kind in getattr(data, "dtypes", ())]
    if not has_arrow_stream(data) or (kinds and all(kind and kind in _NUMBERS for kind in kinds)):
        return []
    name = type(data).__name__
    for batch, _ in record_batches(data, name, True):
        return [leaf.name for leaf in leaves(batch.slice(0, 1), (), (), name) if not leaf.is_number]
    return []


def numbered_categories(data: Any, form: TableFormat) -> list[str]:
    """Sentences on columns of a pandas frame that are categories and numbers at once, and are read as numbers."""
    kinds: Any = getattr(data, "dtypes", None)
    named = kinds.items() if hasattr(kinds, "items") and has_arrow_stream(data) else ()
    values = [(str(name), getattr(getattr(kind, "categories", None), "dtype", None)) for name, kind in named]
    return [
        f"the categories of the column {name!r} are numbers, and learnt as numbers: say categorical={name!r} if they "
        "are names, or make the column one of numbers"
        for name, kind in values
        if getattr(kind, "kind", "") in {"i", "u", "f"} and name not in form.categorical
    ]


def _read(table: Any, form: TableFormat, notices: Notices | None = None) -> TableStream:
    return TableStream((table,), form, notices=notices)
