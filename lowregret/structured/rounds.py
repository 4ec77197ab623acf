"""Sequences of rows, and lists of items of which one is chosen: what structured learners and rankings learn from.

sequences(X, y, lengths=[3, 5, 2])        rows one after the other, and how many belong to each sequence
sequences(X, y, by=word)                  rows with the same mark, side by side, are a sequence
sequences([(X1, y1), (X2, y2)])           pairs
sequences(X)                              without labels, to be predicted
choices(X, chosen, lengths=[4, 9])        4 items, then 9; chosen[t] is the number of the one that was clicked
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.hindsight.gather import sound
from lowregret.learner.labels import require_known
from lowregret.learner.validate import real_numbers
from lowregret.rows import Features, Rows, as_rows
from lowregret.words import listed

Whole = NDArray[np.int64]


class Rounds(Part):
    """Rows in groups, as compiled loops see them: round t has the rows offsets[t] … offsets[t+1] − 1.

    `labels` has one entry per row, or one per round, as the learner wants it.
    """

    rows: Rows
    offsets: Any
    labels: Any
    features: int

    def count(self) -> int:
        return self.offsets.size - 1

    def begin(self, t: int) -> int:
        return self.offsets[t]

    def end(self, t: int) -> int:
        return self.offsets[t + 1]


@dataclass(frozen=True, eq=False)
class Grouped:
    """A matrix of features whose rows belong together in groups, none of them empty."""

    features: Any  # a NumPy matrix, or a SciPy matrix in CSR form
    offsets: Whole

    def __len__(self) -> int:
        return self.offsets.size - 1

    @property
    def lengths(self) -> Whole:
        return np.diff(self.offsets)

    def split(self, values: Any) -> list[Any]:
        """One piece of `values`, which has an entry per row, for each group."""
        return np.split(np.asarray(values), self.offsets[1:-1])

    def _choose(self, which: Any) -> Whole:
        """Numbers of groups from a slice, a mask or numbers."""
        return np.atleast_1d(np.arange(len(self))[which])

    def _rows_of(self, groups: Whole) -> Whole:
        pieces = [np.arange(self.offsets[t], self.offsets[t + 1]) for t in groups.tolist()]
        return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Sequences(Grouped):
    """Sequences of rows, with a label for every row, or without labels. `seqs[:100]` are the first hundred.

    Labels are integers 0, 1, …, or names.
    """

    labels: Any = None

    def __getitem__(self, which: Any) -> Self:
        groups = self._choose(which)
        rows = self._rows_of(groups)
        labels = None if self.labels is None else self.labels[rows]
        return type(self)(self.features[rows], offsets_of(self.lengths[groups]), labels)


@dataclass(frozen=True, eq=False)
class Choices(Grouped):
    """Lists of items, a row of features each, and which item of each list was chosen, counted from 0."""

    chosen: Any = None

    def __getitem__(self, which: Any) -> Self:
        groups = self._choose(which)
        chosen = None if self.chosen is None else self.chosen[groups]
        return type(self)(self.features[self._rows_of(groups)], offsets_of(self.lengths[groups]), chosen)


def offsets_of(lengths: Any) -> Whole:
    """0, l_1, l_1 + l_2, …"""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def sequences(features: Any, labels: Any = None, *, lengths: Any = None, by: Any = None) -> Sequences:
    """Sequences from a matrix with `lengths` or marks `by`, or from a list of pairs (rows, labels): see the module."""
    if lengths is None and by is None:
        if labels is not None:
            raise DataError("say which rows belong together: lengths=[3, 5, …] or by=[a mark per row]")
        features, labels, lengths = _join(features, "sequence", per_row=True)
    matrix = _matrix(features)
    lengths = _lengths(matrix.shape[0], lengths, by, "sequence")
    if labels is not None:
        labels = as_labels(labels, matrix.shape[0], "rows")
    return Sequences(matrix, offsets_of(lengths), labels)


def choices(features: Any, chosen: Any = None, *, lengths: Any = None, by: Any = None) -> Choices:
    """Lists of items from a matrix with `lengths` or marks `by`, or from a list of pairs (rows, chosen)."""
    if lengths is None and by is None:
        if chosen is not None:
            raise DataError("say which items were shown together: lengths=[4, 9, …] or by=[a mark per item]")
        features, chosen, lengths = _join(features, "list", per_row=False)
    matrix = _matrix(features)
    lengths = _lengths(matrix.shape[0], lengths, by, "list")
    if chosen is not None:
        chosen = as_labels(chosen, lengths.size, "lists")
        require_chosen(chosen, lengths)
    return Choices(matrix, offsets_of(lengths), chosen)


def table_sequences(table: Any, by: str, label: str | None = None, features: Sequence[str] | None = None) -> Sequences:
    """Sequences from the columns of a table (a frame, an Arrow table, a dict); without `features`, of all others."""
    called = getattr(table, "column_names", getattr(table, "columns", table))
    if not isinstance(called, Iterable):
        raise DataError(f"expected a table: a frame, an Arrow table or a dict of columns, got {table!r}")
    names = [str(name) for name in called]
    for name in (by, *([label] if label else []), *(features or [])):
        if name not in names:
            raise DataError(f"the table has no column {name!r}; it has {listed(names)}")
    used = features or [name for name in names if name not in (by, label)]
    if not used:
        raise DataError(f"the table has no columns of features beside {listed([by, *([label] if label else [])])}")
    try:
        matrix = np.column_stack([real_numbers(table[name], f"those of {name!r}") for name in used])
    except DataError as error:
        raise DataError(f"features must be columns of numbers: {error}; name them in `features`") from None
    return sequences(matrix, None if label is None else table[label], by=table[by])


def as_rounds(data: Grouped, labels: Any) -> Rounds:
    """The form that compiled loops take; groups are looked at once more, for arrays can be changed by who has them."""
    offsets, codes = np.array(data.offsets), np.array(labels, np.int64)
    rows = as_rows(data.features)
    if rows.shape[0] == 0:
        raise DataError("there are no rows")
    whole = offsets.ndim == 1 and offsets.dtype.kind in "iu" and offsets.size > 1
    if not (whole and offsets[0] == 0 and offsets[-1] == rows.shape[0] and np.all(offsets[1:] > offsets[:-1])):
        raise DataError(f"offsets must rise from 0 to the number of rows, {rows.shape[0]}: 0, l₁, l₁ + l₂, …")
    if codes.shape not in ((rows.shape[0],), (offsets.size - 1,)):
        raise DataError(f"there are {rows.shape[0]} rows, but labels of shape {codes.shape}: give one label for each")
    return Rounds(rows, offsets.astype(np.int64), codes, rows.shape[1])


# ---- reading what users give -----------------------------------------------------------------------------------------


def as_labels(labels: Any, size: int, what: str) -> Any:
    """A vector of integers or of names, one for each of the rows or lists."""
    vector = np.asarray(labels)
    if vector.ndim != 1 or vector.size != size:
        raise DataError(f"there are {size} {what}, but labels of shape {vector.shape}: give one label for each")
    if vector.dtype.kind in "iub":
        return vector.astype(np.int64)
    if vector.dtype.kind == "f":
        bad = np.flatnonzero(vector != np.floor(vector))
        if bad.size or not np.all(np.isfinite(vector)):
            raise DataError(f"label {vector[bad[0]] if bad.size else vector.max()} is neither an integer nor a name")
        return vector.astype(np.int64)
    require_known(vector, "label")
    return vector.astype(str)


def require_integers(labels: Any, what: str) -> None:
    """Refuse names where numbers are counted."""
    if labels.dtype.kind != "i":
        raise DataError(f"{what} must be integers counted from 0, got {labels[0]!r}")


def require_chosen(chosen: Any, lengths: Any) -> None:
    """Refuse a choice of what is no item of its list."""
    require_integers(chosen, "chosen")
    bad = np.flatnonzero((chosen < 0) | (chosen >= lengths))
    if bad.size:
        t = int(bad[0])
        raise DataError(f"list {t}: item {chosen[t]} was chosen, but its items are numbered 0 … {lengths[t] - 1}")


def _matrix(features: Features) -> Any:
    """A matrix of finite numbers."""
    rows = as_rows(features)
    matrix: Any = sound(features) if hasattr(features, "tocsr") else rows.parameters["data"]
    if rows.shape[0] == 0:
        raise DataError("there are no rows")
    values = matrix.data if hasattr(matrix, "tocsr") else matrix
    if not np.all(np.isfinite(values)):
        dense = matrix.tocoo() if hasattr(matrix, "tocoo") else None
        bad = np.argwhere(~np.isfinite(values))[0]
        i, j = (dense.row[bad[0]], dense.col[bad[0]]) if dense is not None else bad
        raise DataError(f"row {i}: feature {j} is {values[tuple(bad)]}; remove or repair the row")
    return matrix


def _lengths(rows: int, lengths: Any, by: Any, what: str) -> Whole:
    if lengths is not None and by is not None:
        raise DataError("give lengths or by, not both")
    if by is not None:
        return _runs(np.asarray(by), rows, what)
    found = np.asarray(lengths)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise DataError(f"lengths must be a vector of integers, got {found.dtype} of shape {found.shape}")
    empty = np.flatnonzero(found < 1)
    if empty.size:
        raise DataError(f"{what} {empty[0]} has {found[empty[0]]} rows: leave empty ones out")
    if found.sum() != rows:
        raise DataError(f"the lengths sum to {found.sum()}, but there are {rows} rows")
    return found.astype(np.int64)


def _runs(marks: Any, rows: int, what: str) -> Whole:
    """Lengths of stretches of equal marks."""
    if marks.shape != (rows,):
        raise DataError(f"there are {rows} rows, but marks of shape {marks.shape}: give one mark for each")
    require_known(marks, "mark")
    starts = np.flatnonzero(np.concatenate([[True], marks[1:] != marks[:-1]]))
    first = marks[starts]
    names, counts = np.unique(first, return_counts=True)
    if np.any(counts > 1):
        again = names[np.argmax(counts > 1)]
        raise DataError(f"the rows of {what} {again} are not side by side: sort the table by that column first")
    return np.diff(np.append(starts, rows)).astype(np.int64)


def _join(given: Iterable[Any], what: str, per_row: bool) -> tuple[Any, Any, Whole]:
    """One matrix, one vector of labels, and lengths, from pairs; from matrices alone, no labels."""
    pairs = _pairs(given, what)
    if not pairs:
        raise DataError(f"there is no {what}")
    blocks: list[Any] = []
    for t, (x, y) in enumerate(pairs):
        matrix = sound(x) if hasattr(x, "tocsr") else np.atleast_2d(np.asarray(x))
        if matrix.shape[0] == 0 or matrix.shape[1] == 0:
            raise DataError(f"{what} {t} is empty: leave it out")
        if blocks and matrix.shape[1] != blocks[0].shape[1]:
            raise DataError(f"{what} {t} has {matrix.shape[1]} features, those before it {blocks[0].shape[1]}")
        if y is not None and np.shape(y) != ((matrix.shape[0],) if per_row else ()):
            expected = f"{matrix.shape[0]} labels, one a row" if per_row else "the number of one item"
            raise DataError(f"{what} {t} has {matrix.shape[0]} rows and labels of shape {np.shape(y)}: give {expected}")
        blocks.append(matrix)
    lengths = np.array([matrix.shape[0] for matrix in blocks], np.int64)
    labels = [y for _, y in pairs]
    if labels[0] is None:
        return _stack(blocks), None, lengths
    return _stack(blocks), np.concatenate(labels) if per_row else np.array(labels), lengths


def _pairs(given: Iterable[Any], what: str) -> list[tuple[Any, Any]]:
    """Pairs (rows, labels), or all of them (rows, None)."""
    try:
        items = list(given)
        if items and all(getattr(item, "ndim", 0) == 2 for item in items):
            return [(x, None) for x in items]
        return [(x, y) for x, y in items]
    except (TypeError, ValueError):
        raise DataError(f"expected pairs (rows, labels), one a {what}, or a matrix with lengths or by") from None


def _stack(blocks: list[Any]) -> Any:
    if hasattr(blocks[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(blocks, format="csr")
    return np.vstack(blocks)
