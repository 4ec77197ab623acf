"""A few columns of a table, whole: for logs that fit in memory. CSV of any delimiter, Parquet; compressed or not."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, BinaryIO, cast

from lowregret.error import DataError
from lowregret.stream.source import Source

DELIMITERS = ",\t;|"
PARQUET = b"PAR1"


def read_fields(path: str, columns: Sequence[str]) -> list[list[Any]]:
    """The values of these columns, one list each: text from CSV, what is stored from Parquet. O(file)."""
    source = Source(path)
    try:
        stream = io.BufferedReader(_Bytes(source), 1 << 20)
        if stream.peek(4)[:4] == PARQUET:
            return _from_parquet(source.name, stream.read(), columns)
        return _from_text(source.name, cast(BinaryIO, stream), columns)
    finally:
        source.close()


class _Bytes(io.RawIOBase):
    """A source as a plain file, which raises at the place where the source is damaged."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._source.readinto(memoryview(buffer))
        if not count and self._source.failure:
            raise self._source.failure
        return count


def _from_text(name: str, stream: BinaryIO, columns: Sequence[str]) -> list[list[Any]]:
    try:
        text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        header = text.readline()
        found = {d: next(csv.reader([header], delimiter=d), []) for d in DELIMITERS}
        delimiter = max(DELIMITERS, key=lambda d: (sum(c in found[d] for c in columns), len(found[d])))
        names = [n.strip() for n in found[delimiter]]
        at = [_place(name, names, column) for column in columns]
        values: list[list[Any]] = [[] for _ in columns]
        for row in csv.reader(text, delimiter=delimiter):
            if not row:
                continue
            if len(row) != len(names):
                where = len(values[0]) + 1 if values else 1
                raise DataError(f"{name}: data row {where} has {len(row)} fields, the header {len(names)}")
            for kept, k in zip(values, at, strict=True):
                kept.append(row[k])
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text: {error.reason} at byte {error.start}") from None
    except csv.Error as error:
        raise DataError(f"{name} is not a table: {error}") from None
    return values


def _place(name: str, names: Sequence[str], column: str) -> int:
    if column not in names:
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        raise DataError(f"{name} has no column {column!r}; it has {shown}")
    return list(names).index(column)


def _from_parquet(name: str, content: bytes, columns: Sequence[str]) -> list[list[Any]]:
    try:
        from pyarrow import ArrowException, BufferReader, parquet
    except ImportError:
        raise DataError("Parquet files need pyarrow: pip install 'lowregret[arrow]'") from None
    try:
        file = parquet.ParquetFile(BufferReader(content))
        for column in columns:
            _place(name, file.schema_arrow.names, column)
        table = file.read(columns=list(dict.fromkeys(columns)))
    except (ArrowException, OSError) as error:
        raise DataError(f"{name} is damaged: {error}") from None
    return [table.column(column).to_pylist() for column in columns]
