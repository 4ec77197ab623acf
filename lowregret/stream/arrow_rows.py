"""Tables in Arrow's memory layout: Parquet and Arrow files, and objects that hand over Arrow data.

The meaning of columns is that of `columns.py`, and rows are those of the same table as CSV: numbers, decimals and truth
values (1 and 0) are features named after their column; text and times are categories, whatever they look like, and so
are dates unless they are said to be some.
Null, NaN and empty text are absent. Columns in structs are named `outer.inner`, elements of lists `name.0`, `name.1` …
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.kernel import kernel
from lowregret.rows import Sparse
from lowregret.stream.arrow import arrow_errors
from lowregret.stream.batch import Batch
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
from lowregret.stream.columns import DATE, TARGET, WEIGHT, Columns
from lowregret.stream.cross import NO_ROOM, append_products, begin_group, begin_row, has_room
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.fields import HOLE, Faults, Fields, fields_of, lags_of, spelt_in, texts_of
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.leaves import Leaf, leaves
from lowregret.stream.names import POSITIVE, Met
from lowregret.stream.notice import Notices
from lowregret.stream.record_batches import ROWS, is_file, name_of, record_batches
from lowregret.stream.table_names import take_names
from lowregret.stream.unpack import pieces

FIELDS = 1 << 19  # at a time, so that they stay near the processor
MOST_FIELDS = 1 << 24  # at a time, once lists are taken apart and encodings undone


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
    notices: Notices | None = None  # which are told of the first rows
    dictionary: Dictionary | None = None  # which takes up the names of features

    @property
    def size(self) -> int:
        return sum(os.path.getsize(table) for table in self.tables if is_file(table))

    def batches(self) -> Iterator[Batch]:
        before, met = 0, Met()
        for table in self.tables:
            name = name_of(table)
            converter = _Converter(self.form, name, self.skip, met, self.notices, self.dictionary)
            size = os.path.getsize(table) if is_file(table) else 0
            for rows, done in record_batches(table, name, self.threads != 1):
                for batch in _converted(converter, rows):
                    batch.position = before + round(done * size)
                    yield batch
                    if batch.fault:
                        return
            before += size


def _converted(converter: _Converter, rows: Any) -> Iterator[Batch]:
    with arrow_errors(converter.name):
        yield from converter.batches(rows)


# ---- record batches into rows ---------------------------------------------------------------------------------------


class _Converter:
    """Makes batches of the record batches of one table; memory is used again for the next."""

    def __init__(
        self,
        form: TableFormat,
        name: str,
        skip: bool,
        met: Met,
        notices: Notices | None = None,
        dictionary: Dictionary | None = None,
    ) -> None:
        self.form, self.name, self.skip, self.met = form, name, skip, met
        self.notices, self.dictionary = notices, dictionary
        self.row = 1  # the number of the next
        self._known: dict[tuple[tuple[str, bool], ...], Columns] = {}
        self._out = Buffers.sized(0, 0)

    def batches(self, table: Any) -> Iterator[Batch]:
        """The rows of a record batch, some at a time."""
        rows = min(ROWS, max(1, FIELDS // max(table.num_columns, 1)))
        for begin in range(0, table.num_rows, rows):
            for piece in pieces(table.slice(begin, rows), MOST_FIELDS):
                yield self._batch(piece.num_rows, self._leaves(piece))

    def _leaves(self, table: Any) -> list[Leaf]:
        return leaves(table, self.form.drop, self.form.column_names, self.name, self.form.whole)

    def _batch(self, rows: int, found: list[Leaf]) -> Batch:
        """The next rows, which have these columns."""
        known = tuple((leaf.name, leaf.is_date) for leaf in found)
        if known not in self._known:
            self._known = {known: self.form.of_types(known).columns([name for name, _ in known], self.name)}
            self._note_columns(found, self._known[known])
        chosen = self._known[known]
        if self.notices is not None and self.notices.wanted:
            self.notices.see(texts_of(chosen, found))
        faults = Faults(rows)
        labels, weights = np.full(rows, math.nan), np.ones(rows)
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
        fields = fields_of(chosen, found, rows, faults)
        lags, times = lags_of(chosen, found, labels, faults)
        end = faults.first if not self.skip else rows
        out = self._assemble(chosen, fields, end, labels, weights, faults.bad)
        if self.dictionary is not None:
            take_names(self.dictionary, chosen, found, ~faults.bad & (np.arange(rows) < end))
        told = [f"{self.name}:{self.row + row}: {what}" for row, what in faults.in_order()]
        fault = told[0] if told and not self.skip else None
        made = _make_batch(out, self.name, self.row, told if self.skip else [], fault)
        at = made.lines - self.row
        self.row += rows
        lags, times = lags[at if lags.size else ...], times[at if times.size else ...]
        return replace(made, names=texts, met=self.met, lags=lags, times=times)

    def _note_columns(self, found: Sequence[Leaf], chosen: Columns) -> None:
        """Take up the names of features, and what they hold; elements that lists have further down come in later."""
        features = [leaf.name for leaf, kind in zip(found, chosen.kinds, strict=True) if kind <= DATE]
        self.met.spelt[self.name] = spelt_in(chosen, found) | self.met.spelt.get(self.name, {})
        self.met.weighted |= {self.name} if np.any(chosen.kinds == WEIGHT) else set()
        self.met.tables[self.name] = tuple(dict.fromkeys([*self.met.tables.get(self.name, ()), *features]))

    def _assemble(
        self,
        chosen: Columns,
        fields: Fields,
        end: int,
        labels: NDArray[np.float64],
        weights: NDArray[np.float64],
        bad: NDArray[np.bool_],
    ) -> Buffers:
        entries = fields.slots.size + int((fields.ends - fields.begins).sum()) + 1
        if self._out.labels.size < labels.size or self._out.values.size < entries:
            self._out = Buffers.sized(labels.size, entries)
        self._out.cursor[:] = 0
        while assemble(chosen, fields, end, labels, weights, bad, self._out) == FULL:
            self._out = self._out.with_more_room()
        return self._out


def _sign_labels(chosen: Columns, leaf: Leaf, labels: NDArray[np.float64], met: Met) -> None:
    """Turn the positive class into +1, all others into −1."""
    positive = leaf.equals(chosen.positive.tobytes())
    if leaf.is_number:
        positive = positive | (leaf.numbers() == chosen.positive_number)
    labels[leaf.rows_where(positive & leaf.present())] = POSITIVE
    met.sign(labels, POSITIVE, leaf.text)


def _set_labels(leaf: Leaf, labels: NDArray[np.float64], faults: Faults) -> None:
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


def _set_weights(leaf: Leaf, weights: NDArray[np.float64], faults: Faults) -> None:
    weights[:] = -1.0
    if leaf.is_number:
        weights[leaf.rows] = np.where(leaf.present(), leaf.numbers(), -1.0)
    faults.note(np.flatnonzero(~((weights >= 0.0) & np.isfinite(weights))), "expected a number, 0 or more,", leaf)


def _make_batch(out: Buffers, name: str, row: int, skipped: list[str], fault: str | None) -> Batch:
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
def assemble(chosen: Columns, fields: Fields, end: int, labels: Any, weights: Any, bad: Any, out: Buffers) -> int:
    """The rows before `end` of all fields that are not absent, with their products; leaves out bad ones.

    Fields come column by column. O(fields + words + products).
    """
    while out.cursor[LINE] < end:
        row = out.cursor[LINE]
        if not bad[row]:
            if not has_room(chosen.crossing, out, fields.slots.shape[0] + words_in(fields, row)):
                return FULL
            begin_row(out)
            entry = add_words_of(chosen, fields, row, add_fields(chosen, fields, row, out.cursor[ENTRY], out), out)
            entry = append_products(chosen.crossing, out, entry, chosen.mask())
            if entry == NO_ROOM:
                return FULL
            close_row(out, labels[row], weights[row], entry)
        out.cursor[LINE] += 1
    return DONE


def words_in(fields: Fields, row: int) -> int:
    """How many words a row has."""
    count = 0
    for at in range(fields.begins.shape[0]):
        count += fields.ends[at, row] - fields.begins[at, row]
    return count


def add_fields(chosen: Columns, fields: Fields, row: int, entry: int, out: Buffers) -> int:
    """Add the fields of a row that have one feature; returns the end of the entries."""
    for at in range(fields.slots.shape[0]):
        slot, value = fields.slots[at, row], fields.values[at, row]
        if slot != HOLE and value == value and value != 0.0:
            if chosen.crossing.keys.size > 0:
                begin_group(out, fields.keys[at], entry)
            add(out, entry, slot, value)
            entry += 1
    return entry


def add_words_of(chosen: Columns, fields: Fields, row: int, entry: int, out: Buffers) -> int:
    """Add the words of a row; returns the end of the entries."""
    for at in range(fields.begins.shape[0]):
        if chosen.crossing.keys.size > 0:
            begin_group(out, fields.text_keys[at], entry)
        for k in range(fields.begins[at, row], fields.ends[at, row]):
            add(out, entry, fields.words[k], 1.0)
            entry += 1
    return entry
