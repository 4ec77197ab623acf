"""A whole table in memory, column by column: CSV and TSV, compressed or not, Parquet and Arrow.

For what needs all rows at once and knows its columns by name. Cells that are empty, or NA, NaN, null or None, are
missing. Cost: O(cells).
"""

from __future__ import annotations

import csv
import io
import math
import os
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from lowregret.compile.memory import room
from lowregret.errors import DataError
from lowregret.stream.source import STDIN, Source
from lowregret.types import Vector

DELIMITERS = ",\t;|"
MISSING = frozenset(["", "na", "nan", "null", "none"])
_ARROW = (b"PAR1", b"ARROW1")
_CELL = 8  # bytes that a cell takes at least


@dataclass
class Table:
    """Columns by name; a cell is a text, or what Arrow says it is."""

    name: str
    columns: dict[str, Any]
    first: int  # the number of the first row in the file
    odd: dict[str, str] = field(default_factory=dict)  # types of columns whose cells are neither numbers nor texts
    kinds: dict[str, str] = field(default_factory=dict)  # types of columns, if the file knows them

    def __len__(self) -> int:
        return max(map(len, self.columns.values()), default=0)

    def column(self, name: str) -> Any:
        """The cells of a column."""
        if name not in self.columns:
            known = ", ".join(list(self.columns)[:20])
            raise DataError(f"{self.name} has no column {name!r}; its columns are {known}")
        if name in self.odd:
            raise DataError(
                f"{self.name}: the column {name!r} is of type {self.odd[name]}: make it one of numbers or of text"
            )
        return self.columns[name]

    def is_numeric(self, name: str) -> bool:
        """Whether the first cell that is not missing is a number: one that is none further down is an error, then."""
        for cell in self.columns[name] if name in self.odd else self.column(name):
            if not is_missing(cell):
                return _number(cell) is not None
        return False

    def numbers(self, name: str) -> Vector:
        """A column as numbers, NaN where they are missing."""
        cells = self.column(name)
        try:
            found = np.asarray(cells, np.float64)
        except (TypeError, ValueError):
            found = np.array([math.nan if is_missing(cell) else _number(cell) for cell in cells], np.float64)
        bad = np.flatnonzero(np.isnan(found) | np.isinf(found)).tolist()
        for row in bad:
            if not is_missing(cells[row]):
                raise DataError(
                    f"{self.place(row)}: {str(cells[row])!r} in column {name!r} is not a finite number: repair it, "
                    "or empty the cell if it is not known"
                )
        return found

    def words(self, name: str) -> list[str]:
        """A column as texts, empty where they are missing."""
        return ["" if is_missing(cell) else str(cell).strip() for cell in self.column(name)]

    def place(self, row: int) -> str:
        """Where a row is, for people."""
        return f"{self.name}:{self.first + row}"


def is_missing(cell: Any) -> bool:
    """Whether a cell says nothing."""
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().lower() in MISSING)


def _number(cell: Any) -> float | None:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return None


def read_table(
    path: str, *, header: bool = True, delimiter: str | None = None, wanted: Collection[str] | None = None
) -> Table:
    """Read a file, or standard input: all columns, or those wanted, which must exist."""
    if path != STDIN and os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(6).startswith(_ARROW):
                return _choose(_from_arrow(path, wanted), wanted)
    return _choose(_from_text(path, header, delimiter, wanted), wanted)


def _choose(table: Table, wanted: Collection[str] | None) -> Table:
    for name in wanted or ():
        table.column(name)  # which says what there is, if not this
    return table


def _from_arrow(path: str, wanted: Collection[str] | None) -> Table:
    from lowregret.stream.arrow import arrow_errors
    from lowregret.stream.leaves import cells
    from lowregret.stream.record_batches import record_batches
    from lowregret.stream.unpack import value_kind

    parts: dict[str, list[Any]] = {}
    odd: dict[str, str] = {}
    kinds: dict[str, str] = {}
    most, size = room(), 0
    with arrow_errors(path):
        for batch, _ in record_batches(path, path, True):
            _require_one_each(batch.schema.names, path)
            size += _CELL * batch.num_rows * batch.num_columns
            if size > most:
                raise DataError(f"{path} has too many rows to be in memory at once: {batch.num_rows:,} in a batch")
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                found = cells(column) if wanted is None or name in wanted else np.empty(0)
                kinds[name] = str(value_kind(column.type))
                if found is None:
                    odd[name] = str(column.type)
                parts.setdefault(name, []).append(np.full(len(column), None) if found is None else found)
    return Table(path, {name: np.concatenate(columns) for name, columns in parts.items()}, 1, odd, kinds)


def _require_one_each(names: list[str], file: str) -> None:
    """Refuse columns that have the same name."""
    twice = {column for column, count in Counter(names).items() if count > 1}
    if twice:
        raise DataError(f"{file} has two columns called {min(twice)!r}: rename one, or say --no-header")


def _from_text(path: str, header: bool, delimiter: str | None, wanted: Collection[str] | None) -> Table:
    text, name = text_of(path)
    line = text[: text.find("\n") + 1 or len(text)].rstrip("\r\n")
    if not line:
        raise DataError(f"{name} is empty: expected {'the names of its columns' if header else 'rows'}")
    try:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter or max(DELIMITERS, key=line.count))
    except (TypeError, ValueError):
        raise DataError(f"expected one character between columns (--delimiter), such as ;, got {delimiter!r}") from None
    rows = (row for row in reader if row)
    try:
        first = next(rows)
        names = [cell.strip() for cell in first] if header else [str(k + 1) for k in range(len(first))]
        _require_one_each(names, name)
        columns: dict[str, list[str]] = {column: [] for column in names}
        kept = [(columns[column], k) for k, column in enumerate(names) if wanted is None or column in wanted]
        for cells in rows if header else chain([first], rows):
            if len(cells) != len(names):
                raise DataError(
                    f"{name}:{reader.line_num}: {len(cells)} fields, expected {len(names)} as in the first line"
                )
            for column, k in kept:
                column.append(cells[k])
    except csv.Error as error:
        raise DataError(f"{name}:{reader.line_num}: {error}") from None
    return Table(name, columns, 2 if header else 1)


def text_of(path: str) -> tuple[str, str]:
    """All of a file, decompressed, and its name."""
    source, parts = Source(path), list[bytes]()
    buffer = bytearray(1 << 20)
    try:
        while count := source.readinto(memoryview(buffer)):
            parts.append(bytes(buffer[:count]))
    finally:
        source.close()
    if source.failure:
        raise source.failure
    whole = b"".join(parts)
    try:
        return whole.decode("utf-8-sig"), source.name
    except UnicodeDecodeError as error:
        line = whole.count(b"\n", 0, error.start) + 1
        raise DataError(f"{source.name}:{line}: not UTF-8 text ({error.reason}): save the table as UTF-8") from None
