"""The file of a cache: an Arrow file whose record batches are the batches of a stream, as they were read.

Each row has its label, weight and line, and its entries as a list of (index, value): compressed sparse rows, which are
used where they lie. What rows cannot say stands beside them as JSON: of the file how it was made, of a batch where it
comes from. The names of features stand in the first row of the batch in which they first occur.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import numpy as np

from lowregret.errors import DataError
from lowregret.rows import Sparse, as_rows
from lowregret.stream.arrow import arrow_errors, pyarrow
from lowregret.stream.batch import Batch
from lowregret.stream.dictionary import Names
from lowregret.types import Vector

KEY = b"lowregret"
_MOST_COLUMNS = 1 << 32
_KINDS = {"double": np.float64, "int64": np.int64, "uint32": np.uint32}
NO_NAMES = Names(np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.int64))


_NONE: Vector = np.empty(0)
_LATE = ("lag", "time")


class Stored(NamedTuple):
    """One batch as the file holds it, in memory of its own."""

    rows: Sparse
    labels: Vector
    weights: Vector
    lines: Any
    names: Names | None  # of features that occur first in this batch, if they were asked for
    about: dict[str, Any]
    share: float  # of the file that has been read then
    lags: Vector = _NONE  # if rows say how late their labels come
    times: Vector = _NONE


def _schema(pa: Any, late: int = 0) -> Any:
    """The columns of a cache; `late`: how many of _LATE rows have."""
    real, whole = pa.float64(), pa.int64()
    entry = pa.struct([pa.field("index", pa.uint32(), False), pa.field("value", real, False)])
    name = pa.struct([pa.field("slot", whole, False), pa.field("name", pa.large_binary(), False)])
    return pa.schema(
        [
            pa.field("label", real, False),
            pa.field("weight", real, False),
            pa.field("line", whole, False),
            pa.field("entries", pa.large_list(pa.field("item", entry, False)), False),
            pa.field("names", pa.large_list(pa.field("item", name, False)), False),
            *(pa.field(name, real, False) for name in _LATE[:late]),
        ]
    )


# ---- writing --------------------------------------------------------------------------------------------------------


class Writer:
    """Writes batches to a file; what `about` says of all of them comes first."""

    def __init__(self, file: IO[bytes], about: dict[str, Any], late: int = 0) -> None:
        self._pa = pyarrow()
        self._schema, self._late = _schema(self._pa, late), late
        said = self._schema.with_metadata({KEY: json.dumps(about).encode()})
        self._sink = self._pa.PythonFile(file, "w")
        self._writer = self._pa.ipc.new_file(self._sink, said)

    def write(self, batch: Batch, about: dict[str, Any], names: Names = NO_NAMES) -> None:
        """Write a batch, with the names that are new in it: O(rows + entries)."""
        pa, schema, rows = self._pa, self._schema, batch.rows
        end = int(rows.indptr[-1])
        weights = batch.weights if batch.weights.size else np.ones(len(batch))
        ends = np.full(len(batch) + 1, names.slots.size)
        ends[0] = 0
        columns = [
            pa.array(batch.labels),
            pa.array(weights),
            pa.array(np.asarray(batch.lines, np.int64)),
            _lists(
                pa, schema.field("entries").type, rows.indptr, [pa.array(rows.indices[:end]), pa.array(rows.data[:end])]
            ),
            _lists(pa, schema.field("names").type, ends, [pa.array(names.slots), _texts(pa, names)]),
            *(pa.array(column) for column in (batch.lags, batch.times)[: self._late]),
        ]
        made = pa.RecordBatch.from_arrays(columns, schema=schema)
        said = about | {"columns": rows.columns, "weighted": bool(batch.weights.size)}
        self._writer.write_batch(made, custom_metadata={KEY: json.dumps(said).encode()})

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


def _lists(pa: Any, kind: Any, ends: Any, fields: list[Any]) -> Any:
    """A column of lists, list i being elements ends[i] … ends[i+1]−1 of all fields."""
    items = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
    return pa.LargeListArray.from_arrays(pa.array(ends), items, type=kind)


def _texts(pa: Any, names: Names) -> Any:
    buffers = [None, pa.py_buffer(np.ascontiguousarray(names.ends)), pa.py_buffer(names.text)]
    return pa.Array.from_buffers(pa.large_binary(), names.slots.size, buffers)


# ---- reading --------------------------------------------------------------------------------------------------------


class CacheFile:
    """An open cache. Nothing of a file is believed: types, offsets, indices and JSON are looked at before use."""

    def __init__(self, name: str, reader: Any) -> None:
        self.name, self._reader = name, reader
        known = (_schema(pyarrow(), late) for late in range(len(_LATE) + 1))
        if not any(reader.schema.equals(schema, check_metadata=False) for schema in known):
            raise DataError(f"{name} is no cache of this version: make it again with `lowregret convert`")
        self.about = _said(name, reader.schema.metadata)

    def records(self, named: bool = False) -> Iterator[Stored]:
        """All batches in order, if `named` with the names of features."""
        count = self._reader.num_record_batches
        for k in range(count):
            with arrow_errors(self.name):
                found = self._reader.get_batch_with_custom_metadata(k)
                found.batch.validate(full=True)
                about = _said(self.name, found.custom_metadata)
                yield self._record(found.batch, about, named, (k + 1) / count)

    def _record(self, batch: Any, about: dict[str, Any], named: bool, share: float) -> Stored:
        label, weight, line, entries, names, *late = batch.columns
        ends, (index, value) = self._elements(entries)
        columns, weighted = about.get("columns"), about.get("weighted")
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS or type(weighted) is not bool:
            raise self._damaged("what it says of a batch does not fit")
        try:
            rows = as_rows(Sparse(ends, _numbers(index), _numbers(value), columns))
        except DataError as error:
            raise self._damaged(str(error)) from None
        if any(column.null_count for column in batch.columns):
            raise self._damaged("values are missing")
        labels, weights, lines = (_numbers(column).copy() for column in (label, weight, line))
        if not np.all((weights >= 0) & np.isfinite(weights) & np.isfinite(np.where(weights > 0, labels, 0))):
            raise self._damaged("a weight or label is no number that can be learnt")
        assert isinstance(rows, Sparse)
        found = self._names(names) if named else None
        lateness = [_numbers(column).copy() for column in late]
        if any(np.any(column < low) for column, low in zip(lateness, (0.0, -np.inf), strict=False)):
            raise self._damaged("a lag is negative")
        return Stored(rows, labels, weights if weighted else np.empty(0), lines, found, about, share, *lateness)

    def _elements(self, lists: Any) -> tuple[Any, list[Any]]:
        """Where lists end, and the fields of their elements, which must all be there and used."""
        items, ends = lists.values, _numbers(lists.offsets)
        fields = [items.field(k) for k in range(items.type.num_fields)]
        if items.null_count or any(field.null_count for field in fields) or ends[0] != 0 or ends[-1] != len(items):
            raise self._damaged("elements of rows are missing or left over")
        return ends, fields

    def _names(self, lists: Any) -> Names:
        _, (slots, texts) = self._elements(lists)
        offsets = texts.buffers()[1]
        if not len(texts) or offsets is None:
            return NO_NAMES
        ends = np.frombuffer(offsets, np.int64, len(texts) + 1, 8 * texts.offset)
        text = np.frombuffer(texts.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
        return Names(text.copy(), ends - ends[0], _numbers(slots).copy())

    def _damaged(self, what: str) -> DataError:
        return DataError(f"{self.name} is damaged: {what}; make it again with `lowregret convert`")


def _numbers(column: Any) -> Any:
    """The numbers of a column without copying them (Arrow's own `to_numpy` would import pandas)."""
    kind = np.dtype(_KINDS[str(column.type)])
    data = column.buffers()[1]
    return np.empty(0, kind) if data is None else np.frombuffer(data, kind, len(column), kind.itemsize * column.offset)


def _said(name: str, metadata: Any) -> dict[str, Any]:
    """The JSON object of a file or batch."""
    try:
        found = json.loads((metadata or {})[KEY])
    except (KeyError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise DataError(f"{name} is no cache, or damaged: make it with `lowregret convert`")
    return found


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[CacheFile]:
    """A cache, open to be read; not mapped into memory, for a file cut while it is read would end the process."""
    pa, name = pyarrow(), os.fspath(path)
    with arrow_errors(name), pa.OSFile(name) as file, pa.ipc.open_file(file) as reader:
        yield CacheFile(name, reader)


@contextmanager
def mapped(file: IO[bytes], name: str) -> Iterator[CacheFile]:
    """A cache in a file that has no name, so that nobody can cut it: its rows are used where they lie."""
    pa = pyarrow()
    with arrow_errors(name):
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with pa.ipc.open_file(pa.BufferReader(pa.py_buffer(pages))) as reader:
            yield CacheFile(name, reader)
