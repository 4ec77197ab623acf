"""Where record batches come from: Parquet and Arrow files, pipes, and objects that hand over Arrow data.

Tables may state more rows, and rows more values, than their bytes can be worth: constants and nothing take no room in
them. So how many rows there are, and how many are unpacked at once, is bounded by what they take. Needs pyarrow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from itertools import chain
from typing import Any, BinaryIO

from lowregret.errors import DataError
from lowregret.stream.arrow import arrow_errors, pyarrow
from lowregret.stream.batch import has_arrow_stream
from lowregret.stream.leaves import MOST_ELEMENTS
from lowregret.stream.source import STDIN, is_pipe

ROWS = 1 << 16  # of a Parquet file at a time
FREE_ROWS = 1 << 24  # that a table may have whatever its size
PER_BYTE = 1 << 13  # rows of a Parquet file beyond those
ROOM = 1 << 28  # bytes that the values of a Parquet file take at a time, unpacked
_NUMBER, _CODE = 8, 4  # bytes of a number, and of one that stands for a text
Batches = Generator[tuple[Any, float], None, None]  # and which part of the table is read then
_TEXTS = ("STRING", "NONE", "ENUM", "JSON", "BSON")


def is_file(table: Any) -> bool:
    """Whether a table is the name of a regular file."""
    return isinstance(table, (str, os.PathLike)) and os.path.isfile(table)


def name_of(table: Any) -> str:
    """The name of a table in messages."""
    if has_arrow_stream(table):
        return type(table).__name__
    return "standard input" if table == STDIN else os.fspath(table)


def record_batches(table: Any, name: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    """Record batches of a table, and which part of it is read then. Its errors become ours."""
    pa = pyarrow()
    opened = _from_object if has_arrow_stream(table) else _from_file
    rows = size = 0
    with arrow_errors(name):
        for batch, part in opened(pa, table, use_threads):
            rows, size = rows + batch.num_rows, size + batch.nbytes
            _require_few_rows(rows, FREE_ROWS + 8 * size, name)  # a truth value takes a bit
            batch.validate(full=True)  # offsets and codes of a file are anybody's, and nothing checks them later
            yield batch, part


def _require_few_rows(rows: int, most: int, name: str) -> None:
    """Refuse more rows than there are bytes for."""
    if rows > most:
        raise DataError(f"{name} states {rows:,} rows, but holds nothing for most of them: is it damaged?")


def _from_object(pa: Any, table: Any, use_threads: bool) -> Iterator[tuple[Any, float]]:
    bare = table.reset_index(drop=True) if hasattr(table, "iloc") else table  # pandas would hand over names of rows
    _require_no_objects(table)
    try:
        reader = pa.RecordBatchReader.from_stream(bare)
    except (TypeError, ValueError, ArithmeticError) as error:  # of whoever made the object
        raise DataError(f"cannot read {name_of(table)}: {error}") from None
    for batch in reader:
        yield batch, 0.0


def _require_no_objects(table: Any) -> None:
    """Refuse columns of Python's objects in a frame of polars, which hands over their addresses as bytes."""
    schema = getattr(table, "schema", None)
    for name, kind in schema.items() if isinstance(schema, Mapping) else ():
        if "Object" in str(kind):
            raise DataError(f"the column {name!r} holds objects of Python ({kind}): drop it, or give numbers or texts")


def _from_file(pa: Any, path: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    if path == STDIN:
        yield from _from_pipe(pa, sys.stdin.buffer)
        return
    with open(path, "rb") as pipe:  # which says in fewer words than Arrow why it cannot
        if is_pipe(path):
            yield from _from_pipe(pa, pipe)
            return
    with pa.OSFile(os.fsencode(path)) as file:  # a memory map ends with the file
        yield from _unchanged(pa, file, path, use_threads)


def _unchanged(pa: Any, file: Any, path: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    """Record batches of an open file, unless it is written to meanwhile: they would be those of none of its versions.

    A stream may grow: nothing in it says where things lie.
    """
    before, start = os.fstat(file.fileno()), file.read(6)
    file.seek(0)
    grows = not start.startswith((b"PAR1", b"ARROW1"))
    if start.startswith(b"PAR1"):
        batches = _from_parquet(file, path, use_threads)
    else:
        batches = _from_stream(pa, file) if grows else _from_arrow(pa, file)
    with closing(batches):
        for found in chain(batches, [None]):
            now = os.fstat(file.fileno())
            grown = grows and now.st_size > before.st_size
            if not grown and (now.st_size, now.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
                raise DataError(f"{path} has changed while it was read: begin again once it stays as it is")
            if found is not None:
                yield found


def _from_arrow(pa: Any, file: Any) -> Batches:
    with pa.ipc.open_file(file) as reader:
        for k in range(reader.num_record_batches):
            yield reader.get_batch(k), (k + 1) / reader.num_record_batches


def _from_stream(pa: Any, file: Any) -> Batches:
    with pa.ipc.open_stream(file) as reader:
        size = max(file.size(), 1)
        yield from ((batch, file.tell() / size) for batch in reader)


def _from_pipe(pa: Any, file: BinaryIO) -> Iterator[tuple[Any, float]]:
    """Record batches of Arrow's streams, the one kind of table that is written from its beginning to its end."""
    with pa.ipc.open_stream(pa.PythonFile(file, "r")) as reader:
        yield from ((batch, 0.0) for batch in reader)


# ---- Parquet --------------------------------------------------------------------------------------------------------


def _from_parquet(source: Any, path: str, use_threads: bool) -> Batches:
    from pyarrow import parquet

    with parquet.ParquetFile(source) as file:
        found, texts = file.metadata, _text_columns(file.schema)
    _require_few_rows(found.num_rows, FREE_ROWS + PER_BYTE * source.size(), path)
    with parquet.ParquetFile(source, metadata=found, read_dictionary=texts) as file:
        done, rows = 0, max(found.num_rows, 1)
        for k in range(found.num_row_groups):
            most = _rows_at_once(found.row_group(k), file)
            for batch in file.iter_batches(most, row_groups=[k], use_threads=use_threads):
                done += batch.num_rows
                yield batch, done / rows


def _text_columns(schema: Any) -> list[str]:
    """The columns of texts, to be read with their dictionaries: a long text that all rows have is one, then."""
    columns = [schema.column(k) for k in range(len(schema))]
    return [c.path for c in columns if c.physical_type == "BYTE_ARRAY" and c.logical_type.type in _TEXTS]


def _rows_at_once(group: Any, file: Any) -> int:
    """How many rows of a row group take at most `ROOM` unpacked, however its values are spread over lists."""
    flat = lists = whole = 0
    for k in range(group.num_columns):
        column, values = file.schema.column(k), group.column(k).num_values
        width = _CODE if column.physical_type == "BYTE_ARRAY" else max(_NUMBER, column.length)
        whole += width * values
        if column.max_repetition_level:
            lists += width * min(values, MOST_ELEMENTS)
        else:
            flat += width
    return ROWS if whole <= ROOM else min(ROWS, max(1, ROOM // max(flat + lists, 1)))
