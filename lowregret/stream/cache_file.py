"""The file of a cache: an Arrow file whose record batches are the batches of a stream, as they were read.

Each row has its label, weight and line, and its entries as a list of (index, value, rank): compressed sparse rows,
which are used where they lie, mapped into memory. Ranks number features in the order in which they come, as runs place
them (`places.py`), so that these need not look them up. What rows cannot say stands beside them as JSON: of the file
how it was made, of a batch where it comes from. The names of features stand in the first row of the batch in which they
first occur.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

import numpy as np

from lowregret.errors import DataError
from lowregret.rows import Sparse, as_rows
from lowregret.stream.arrow import arrow_errors, pyarrow
from lowregret.stream.batch import Batch
from lowregret.stream.dictionary import Names
from lowregret.stream.lags import are_lags
from lowregret.stream.places import NOTHING, Places, Ranks, follow_ranks
from lowregret.types import Vector

KEY = b"lowregret"
_MOST_COLUMNS = 1 << 32
_KINDS = {"double": np.float64, "int64": np.int64, "uint32": np.uint32}
NO_NAMES = Names(np.empty(0, np.uint8), np.zeros(1, np.int64), np.empty(0, np.int64))


_NONE: Vector = np.empty(0)
_LATE = ("lag", "time")


class Stored(NamedTuple):
    """One batch as the file holds it: labels and weights in memory of their own, all else in that of the file."""

    rows: Sparse
    ranks: Ranks
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
    fields = {"index": pa.uint32(), "value": real, "rank": pa.uint32()}
    entry = pa.struct([pa.field(name, kind, False) for name, kind in fields.items()])
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
        self._places = Places()

    def write(self, batch: Batch, about: dict[str, Any], names: Names = NO_NAMES) -> None:
        """Write a batch, with the names that are new in it: O(rows + entries)."""
        pa, schema, rows = self._pa, self._schema, batch.rows
        end, placed = int(rows.indptr[-1]), self._places.place(rows, NOTHING, compiled=True)
        weights = batch.weights if batch.weights.size else np.ones(len(batch))
        ends = np.full(len(batch) + 1, names.slots.size)
        ends[0] = 0
        columns = [
            pa.array(batch.labels),
            pa.array(weights),
            pa.array(np.asarray(batch.lines, np.int64)),
            _lists(
                pa,
                schema.field("entries").type,
                rows.indptr,
                [pa.array(each[:end]) for each in (rows.indices, rows.data, placed.indices)],
            ),
            _lists(pa, schema.field("names").type, ends, [pa.array(names.slots), _texts(pa, names)]),
            *(pa.array(column) for column in (batch.lags, batch.times)[: self._late]),
        ]
        made = pa.RecordBatch.from_arrays(columns, schema=schema)
        said = about | {"columns": rows.columns, "weighted": bool(batch.weights.size)}
        self._writer.write_batch(made, custom_metadata={KEY: json.dumps(said).encode()})
        self._places.give_back(placed)

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
    """An open cache. Nothing of a file is believed: types, offsets, indices and JSON are looked at before use.

    A batch that was looked at once is not again, as long as the file is open.
    """

    def __init__(self, name: str, reader: Any) -> None:
        self.name, self._reader = name, reader
        self._columns = np.empty(0, np.uint64)  # of the features in the batches that were looked at, by rank
        self._met = [0]  # how many these are before each batch
        known = [_schema(pyarrow(), late) for late in range(len(_LATE) + 1)]
        fitting = (late for late, schema in enumerate(known) if reader.schema.equals(schema, check_metadata=False))
        self.late = next(fitting, -1)  # how many columns say how late labels come
        if self.late < 0:
            raise DataError(f"{name} is no cache of this version: make it again with `lowregret convert`")
        self.about = _said(name, reader.schema.metadata)

    def records(self, named: bool = False) -> Iterator[Stored]:
        """All batches in order, if `named` with the names of features."""
        count = self._reader.num_record_batches
        for k in range(count):
            with arrow_errors(self.name):
                found = self._reader.get_batch_with_custom_metadata(k)
                if k + 1 == len(self._met):
                    found.batch.validate(full=True)
                about = _said(self.name, found.custom_metadata)
                yield self._record(k, found.batch, about, named)._replace(share=(k + 1) / count)

    def _record(self, k: int, batch: Any, about: dict[str, Any], named: bool) -> Stored:
        label, weight, line, entries, names, *late = batch.columns
        ends, (index, value, rank) = self._elements(entries)
        columns, weighted, new = about.get("columns"), about.get("weighted"), k + 1 == len(self._met)
        if type(columns) is not int or not 0 <= columns <= _MOST_COLUMNS or type(weighted) is not bool:
            raise self._damaged("what it says of a batch does not fit")
        rows, ranks = Sparse(ends, _numbers(index), _numbers(value), columns), _numbers(rank)
        labels, weights = _numbers(label).copy(), _numbers(weight)
        needs = self._look_at(batch, rows, ranks, labels, weights) if new else None
        before, all_of_them = self._met[k : k + 2]
        numbered = Ranks(ranks, needs, self._columns[:all_of_them], before, self)
        found = self._names(names) if named else None
        weights = weights.copy() if weighted else np.empty(0)
        lateness = [_numbers(column).copy() for column in late]
        if new and late and not are_lags(lateness[0], lateness[1] if self.late > 1 else _NONE, labels):
            raise self._damaged("a lag or a time is none")
        return Stored(rows, numbered, labels, weights, _numbers(line), found, about, 0.0, *lateness)

    def _look_at(self, batch: Any, rows: Sparse, ranks: Any, labels: Vector, weights: Vector) -> Any:
        """Refuse the next batch if it is not sound, and take up its features; returns what its rows need of ranks."""
        try:
            as_rows(rows)
        except DataError as error:
            raise self._damaged(str(error)) from None
        if any(column.null_count for column in batch.columns):
            raise self._damaged("values are missing")
        if not np.all((weights >= 0) & np.isfinite(weights) & np.isfinite(np.where(weights > 0, labels, 0))):
            raise self._damaged("a weight or label is no number that can be learnt")
        before, needs = self._met[-1], np.empty(labels.size, np.int64)
        met = max(before, int(ranks.max(initial=0)) + 1 if ranks.size else 0)
        columns = np.zeros(min(met, before + ranks.size), np.uint64)
        columns[:before] = self._columns
        if not follow_ranks(rows, ranks, before, columns, needs):
            raise self._damaged("features are not numbered as they come")
        self._columns = columns
        self._met.append(columns.size)
        return needs

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


def mapped(file: IO[bytes], name: str) -> CacheFile:
    """A cache, mapped into memory as long as somebody uses it or one of its batches."""
    pa = pyarrow()
    with arrow_errors(name):
        if not os.fstat(file.fileno()).st_size:
            raise DataError(f"cannot read {name}, which is empty: make it again with `lowregret convert`")
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return CacheFile(name, pa.ipc.open_file(pa.BufferReader(pa.py_buffer(pages))))


Identified = tuple[tuple[int, ...], CacheFile]  # which file it is and when it was changed, and the cache in it


def opened(path: str | os.PathLike[str], known: Identified | None = None) -> Identified:
    """The cache of this name; `known` is returned if that is what still lies there, unchanged."""
    name = os.fspath(path)
    with arrow_errors(name), open(name, "rb") as file:
        found = os.fstat(file.fileno())
        identity = found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
        return known if known is not None and known[0] == identity else (identity, mapped(file, name))
