"""Tables in Arrow's memory layout: Parquet and Arrow files, and objects that hand over Arrow data.

What columns mean is said in `columns.py`, and rows are those of the same table as CSV: numbers, decimals and truth
values (1 and 0) are features named after their column; text, dates and times are categories, whatever they look like.
Null, NaN and empty text are absent. Columns in structs are named `outer.inner`, elements of lists `name.0`, `name.1` …
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.error import DataError
from lowregret.kernel import kernel
from lowregret.rows import Sparse
from lowregret.stream.batch import Batch, has_arrow_stream
from lowregret.stream.buffers import (
    DONE,
    ENTRY,
    FULL,
    HIGHEST,
    LINE,
    ROW,
    UNLABELLED,
    WEIGHTED,
    Buffers,
    add,
    close_row,
)
from lowregret.stream.columns import CATEGORICAL, TARGET, WEIGHT, Columns, Tabular
from lowregret.stream.cross import NO_ROOM, begin_group, begin_row, crossed, has_room
from lowregret.stream.leaves import Leaf, leaves
from lowregret.stream.met import POSITIVE, Met
from lowregret.stream.source import STDIN

FIELDS = 1 << 19  # at a time, so that they stay near the processor
ROWS = 1 << 16
_HOLE = np.uint32(2**32 - 1)  # instead of a slot: the field is absent
_U = np.uint64


class TableFormat(Tabular):
    """How to read tables. `drop` also takes the name of a struct or list, with all that is in it."""

    @property
    def named(self) -> list[str]:
        """The columns that the rows of every file must have."""
        crossed_columns = [name for group in self.interactions for name in group]
        judged = (self.target, self.weight) if self.labelled else ()
        return [name for name in (*judged, *self.categorical, *crossed_columns) if name]


@dataclass(frozen=True)
class TableStream:
    """The rows of tables: paths of files, `-`, or objects with Arrow's C stream interface.

    `skip` leaves out rows that cannot be read instead of stopping there. An object that gives its stream only once,
    such as a RecordBatchReader, can be read only once.
    """

    tables: tuple[Any, ...]
    form: TableFormat
    threads: int = 0  # 1: files are decoded by one thread
    skip: bool = False

    @property
    def size(self) -> int:
        return sum(os.path.getsize(table) for table in self.tables if _is_file(table))

    def batches(self) -> Iterator[Batch]:
        before, met = 0, Met()
        for table in self.tables:
            name = _name(table)
            converter = _Converter(self.form, name, self.skip, met)
            size = os.path.getsize(table) if _is_file(table) else 0
            for rows, done in record_batches(table, name, self.threads != 1):
                for batch in converter.batches(rows):
                    batch.position = before + round(done * size)
                    yield batch
                    if batch.fault:
                        return
            before += size


# ---- where record batches come from ---------------------------------------------------------------------------------


def _is_file(table: Any) -> bool:
    return isinstance(table, (str, os.PathLike)) and os.path.isfile(table)


def _name(table: Any) -> str:
    if has_arrow_stream(table):
        return type(table).__name__
    return "standard input" if table == STDIN else os.fspath(table)


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise DataError("tables, Parquet and Arrow files need pyarrow: pip install 'lowregret[arrow]'") from None
    return pyarrow


def record_batches(table: Any, name: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    """Record batches of a table, and which part of it is read then. Its errors become ours."""
    pa = _pyarrow()
    opened = _from_object if has_arrow_stream(table) else _from_file
    try:
        yield from opened(pa, table, use_threads)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None


def _from_object(pa: Any, table: Any, use_threads: bool) -> Iterator[tuple[Any, float]]:
    for batch in pa.RecordBatchReader.from_stream(table):
        yield batch, 0.0


def _from_file(pa: Any, path: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    if path == STDIN:
        with pa.ipc.open_stream(pa.PythonFile(sys.stdin.buffer, "r")) as reader:
            yield from ((batch, 0.0) for batch in reader)
        return
    with open(path, "rb") as file:
        start = file.read(6)
    if start.startswith(b"PAR1"):
        yield from _from_parquet(path, use_threads)
    elif start == b"ARROW1":
        with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
            for k in range(reader.num_record_batches):
                yield reader.get_batch(k), (k + 1) / reader.num_record_batches
    else:
        with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
            size = max(file.size(), 1)
            yield from ((batch, file.tell() / size) for batch in reader)


def _from_parquet(path: str, use_threads: bool) -> Iterator[tuple[Any, float]]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        done, rows = 0, max(file.metadata.num_rows, 1)
        for batch in file.iter_batches(ROWS, use_threads=use_threads):
            done += batch.num_rows
            yield batch, done / rows


# ---- record batches into rows ---------------------------------------------------------------------------------------


class _Converter:
    """Makes batches of the record batches of one table; memory is used again for the next."""

    def __init__(self, form: TableFormat, name: str, skip: bool, met: Met) -> None:
        self.form, self.name, self.skip, self.met = form, name, skip, met
        self.row = 1  # the number of the next
        self._known: dict[tuple[str, ...], Columns] = {}
        self._out = Buffers.sized(0, 0)

    def batches(self, table: Any) -> Iterator[Batch]:
        """The rows of a record batch, some at a time."""
        rows = min(ROWS, max(1, FIELDS // max(table.num_columns, 1)))
        for begin in range(0, table.num_rows, rows):
            part = table.slice(begin, rows)
            yield self._batch(part)
            self.row += part.num_rows

    def _batch(self, table: Any) -> Batch:
        found = leaves(table, self.form.drop, self.form.named, self.name)
        names = tuple(leaf.name for leaf in found)
        if names not in self._known:
            self._known = {names: replace(self.form, drop=()).columns(names, self.name)}
            self._note_columns(names)
        chosen = self._known[names]
        faults = _Faults(table.num_rows)
        labels, weights = np.full(table.num_rows, math.nan), np.ones(table.num_rows)
        features = np.flatnonzero(chosen.kinds <= CATEGORICAL)
        if not chosen.crossing.keys.size:
            features = features[np.argsort(chosen.slots[features], kind="stable")]  # rows need less sorting then
        slots = np.full((features.size, table.num_rows), _HOLE)
        values = np.empty((features.size, table.num_rows))
        texts: dict[float, str] = {}
        for kind, leaf in zip(chosen.kinds, found, strict=True):
            if kind == TARGET and (chosen.classed or chosen.has_classes()) and not leaf.is_number:
                texts = _set_classes(chosen, leaf, labels)
            elif kind == TARGET:
                _set_labels(leaf, labels, faults)
            if kind == TARGET and chosen.has_classes():
                _sign_labels(chosen, leaf, labels, self.met)
            elif kind == WEIGHT:
                _set_weights(leaf, weights, faults)
        for at, column in enumerate(features.tolist()):
            _set_feature(chosen, column, found[column], slots[at], values[at], faults)
        end = faults.first if not self.skip else table.num_rows
        out = self._assembled(chosen, features, end, slots, values, labels, weights, faults.bad)
        told = [f"{self.name}:{self.row + row}: {what}" for row, what in faults.told()]
        fault = told[0] if told and not self.skip else None
        return replace(_made(out, self.name, self.row, told if self.skip else [], fault), names=texts, met=self.met)

    def _note_columns(self, names: tuple[str, ...]) -> None:
        """Take up the names of features; elements that lists have further down come in later."""
        features = (n for n, kind in zip(names, self._known[names].kinds, strict=True) if kind <= CATEGORICAL)
        self.met.tables[self.name] = tuple(dict.fromkeys([*self.met.tables.get(self.name, ()), *features]))

    def _assembled(
        self,
        chosen: Columns,
        features: NDArray[np.int64],
        end: int,
        slots: NDArray[np.uint32],
        values: NDArray[np.float64],
        labels: NDArray[np.float64],
        weights: NDArray[np.float64],
        bad: NDArray[np.bool_],
    ) -> Buffers:
        if self._out.labels.size < labels.size or self._out.values.size < slots.size + 1:
            self._out = Buffers.sized(labels.size, slots.size + 1)
        self._out.cursor[:] = 0
        keys = chosen.keys[features]
        while assemble(chosen, keys, end, slots, values, labels, weights, bad, self._out) == FULL:
            self._out = self._out.with_more_room()
        return self._out


class _Faults:
    """What is wrong with which rows; of several faults of a row the first counts."""

    def __init__(self, rows: int) -> None:
        self.bad = np.zeros(rows, bool)
        self._what: dict[int, str] = {}

    def note(self, rows: Any, expected: str, leaf: Leaf) -> None:
        for row in np.atleast_1d(rows).tolist():
            self._what.setdefault(row, f"{expected} in the column {leaf.name!r}, but found {leaf.shown(row)}")
        self.bad[rows] = True

    @property
    def first(self) -> int:
        """The first row with a fault, or the number of rows."""
        return min(self._what, default=self.bad.size)

    def told(self) -> list[tuple[int, str]]:
        return sorted(self._what.items())


def _sign_labels(chosen: Columns, leaf: Leaf, labels: NDArray[np.float64], met: Met) -> None:
    """Of classes, the positive one becomes +1, all others −1."""
    positive = leaf.equals(chosen.positive.tobytes())
    if leaf.is_number:
        positive = positive | (leaf.numbers() == chosen.positive_number)
    labels[leaf.rows_where(positive & leaf.present())] = POSITIVE
    met.sign(labels, POSITIVE, leaf.text)


def _set_labels(leaf: Leaf, labels: NDArray[np.float64], faults: _Faults) -> None:
    """A target is a number, or a class that is one."""
    present = leaf.present()
    if leaf.is_number:
        labels[leaf.rows] = np.where(present, leaf.numbers(), math.nan)
        faults.note(np.flatnonzero(np.isinf(labels)), "expected a finite number", leaf)
    else:
        what = "expected a number (if it has classes, say with --positive which counts as +1)"
        faults.note(leaf.rows_where(present), what, leaf)


def _set_classes(chosen: Columns, leaf: Leaf, labels: NDArray[np.float64]) -> dict[float, str]:
    """Labels that stand for texts; returns the texts."""
    offsets, data, codes = leaf.texts()
    hashed = np.empty(offsets.size - 1)
    label_texts(chosen, offsets, data, hashed)
    labels[leaf.rows] = np.where(leaf.present(), hashed if codes is None else hashed[codes], math.nan)
    values, first = np.unique(hashed, return_index=True)
    at = [(offsets[k], offsets[k + 1]) for k in first]
    return {
        float(v): data[begin:end].tobytes().decode(errors="replace") for v, (begin, end) in zip(values, at, strict=True)
    }


def _set_weights(leaf: Leaf, weights: NDArray[np.float64], faults: _Faults) -> None:
    weights[:] = -1.0
    if leaf.is_number:
        weights[leaf.rows] = np.where(leaf.present(), leaf.numbers(), -1.0)
    faults.note(np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights))), "expected a number, 0 or more,", leaf)


def _set_feature(
    chosen: Columns, column: int, leaf: Leaf, slots: NDArray[np.uint32], values: NDArray[np.float64], faults: _Faults
) -> None:
    """Slot and value of a column in each row that has it."""
    if leaf.is_number and chosen.kinds[column] != CATEGORICAL:
        numbers = leaf.numbers()
        values[leaf.rows] = numbers
        slots[leaf.rows] = chosen.slots[column]
        faults.note(leaf.rows_where(np.isinf(numbers)), "expected a finite number", leaf)
        return
    offsets, data, codes = leaf.texts()
    hashed = np.empty(offsets.size - 1, np.uint32)
    hash_texts(chosen, column, offsets, data, hashed)
    values[leaf.rows] = 1.0
    slots[leaf.rows] = np.where(leaf.valid(), hashed if codes is None else hashed[codes], _HOLE)


def _made(out: Buffers, name: str, row: int, skipped: list[str], fault: str | None) -> Batch:
    rows, entries = int(out.cursor[ROW]), int(out.cursor[ENTRY])
    labels, weights = out.labels[:rows], out.weights[:rows]
    unlabelled = int(out.cursor[UNLABELLED])
    if unlabelled:
        weights[np.isnan(labels)] = 0.0
    return Batch(
        Sparse(out.starts[: rows + 1], out.columns[:entries], out.values[:entries], int(out.cursor[HIGHEST])),
        labels,
        weights if unlabelled or out.cursor[WEIGHTED] else np.empty(0),
        out.lines[:rows] + row,
        name,
        unlabelled,
        0,
        skipped,
        fault,
    )


# ---- compiled -------------------------------------------------------------------------------------------------------


@kernel
def label_texts(chosen: Columns, offsets: Any, data: Any, labels: Any) -> None:
    """The label that stands for each text data[offsets[i]:offsets[i+1]]."""
    for i in range(labels.size):
        labels[i] = chosen.text_label(data, offsets[i], offsets[i + 1])


@kernel
def hash_texts(chosen: Columns, column: int, offsets: Any, data: Any, slots: Any) -> None:
    """The slot of each category data[offsets[i]:offsets[i+1]] of a column; none if it is empty."""
    for i in range(slots.size):
        if offsets[i] == offsets[i + 1]:
            slots[i] = _HOLE
        else:
            slots[i] = chosen.category(_U(column), data, _U(offsets[i]), _U(offsets[i + 1]))


@kernel
def assemble(
    chosen: Columns,
    keys: Any,
    end: int,
    slots: Any,
    values: Any,
    labels: Any,
    weights: Any,
    bad: Any,
    out: Buffers,
) -> int:
    """The rows before `end` of all fields that are not absent, with their products; leaves out bad ones.

    Fields come column by column. O(fields + products).
    """
    while out.cursor[LINE] < end:
        row = out.cursor[LINE]
        if not bad[row]:
            if not has_room(chosen.crossing, out, slots.shape[0]):
                return FULL
            begin_row(out)
            entry = out.cursor[ENTRY]
            for at in range(slots.shape[0]):
                slot, value = slots[at, row], values[at, row]
                if slot != _HOLE and value == value and value != 0.0:
                    if chosen.crossing.keys.size > 0:
                        begin_group(out, keys[at], entry)
                    add(out, entry, slot, value)
                    entry += 1
            entry = crossed(chosen.crossing, out, entry, chosen.mask())
            if entry == NO_ROOM:
                return FULL
            close_row(out, labels[row], weights[row], entry)
        out.cursor[LINE] += 1
    return DONE
