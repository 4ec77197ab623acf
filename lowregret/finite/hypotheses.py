"""A finite class of hypotheses: a 0/1 matrix, a row each, a column for each point, and the same as bits.

Version spaces are masks: bit i of a mask (word i // 64, bit i % 64) stands for hypothesis i. A column's mask has
those with h(x) = 1, so that V^1_x = V ∧ column and V^0_x = V ∧ ¬column cost n/64 words each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError, PartError
from lowregret.learner.validate import is_whole
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays
from lowregret.stream.table import text_of

Mask = NDArray[np.uint64]
BITS = 64  # of a word
TILE = 256  # rows and columns that are transposed at a time


def require_hypotheses(given: Any) -> None:
    """Raise `PartError` if something is no class of hypotheses."""
    if not isinstance(given, Hypotheses):
        raise PartError(f"expected Hypotheses(matrix) or make_hypotheses('thresholds:4'), got {given!r}")


class Hypotheses:
    """Distinct hypotheses on finitely many points.

    `matrix[i, x]` is h_i(x); `numbers[i]` says which row of the given matrix h_i was (the first, of rows alike);
    `names[x]` is what point x is called; `columns[x]` is the mask of the hypotheses with h(x) = 1.
    """

    def __init__(self, matrix: Any, names: Sequence[object] | None = None) -> None:
        given = _booleans(matrix)
        self.given = len(given)
        packed = np.packbits(given, axis=1)
        _, first = np.unique(packed.view(f"V{packed.shape[1]}"), return_index=True)
        self.numbers = np.sort(first)
        self.matrix = given if self.numbers.size == self.given else np.ascontiguousarray(given[self.numbers])
        self.by_point = _transposed(self.matrix)
        self.columns = as_masks(self.by_point)
        self._freeze()
        self.names = [str(name) for name in (range(self.points) if names is None else names)]
        if len(self.names) != self.points:
            raise DataError(f"there are {self.points} points, but {len(self.names)} names for them")

    @classmethod
    def of(cls, functions: Iterable[Callable[[Any], Any]], domain: Iterable[Any]) -> Hypotheses:
        """The class of these functions, each 0 or 1 on the points of a domain: O(n·m) calls."""
        points = list(domain)
        return cls([[function(point) for point in points] for function in functions], points)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Hypotheses:
        """A CSV file of 0 and 1 without header, a row each hypothesis; compressed or not, `-` for standard input."""
        text, name = text_of(os.fspath(path))
        lines = text.rstrip().splitlines()
        if not lines:
            raise DataError(f"{name} is empty: expected rows of 0 and 1 separated by commas, one a hypothesis")
        rows = [_cells(line, f"{name}:{number}") for number, line in enumerate(lines, 1)]
        for number, row in enumerate(rows, 1):
            if row.size != rows[0].size:
                raise DataError(
                    f"{name}:{number}: {row.size} columns, expected {rows[0].size} as in row 1: one for each point"
                )
        return cls(np.array(rows))

    def written(self) -> tuple[dict[str, Any], Arrays]:
        """The class as a description and arrays, for a file."""
        rows: Arrays = {"matrix": np.packbits(self.matrix, axis=1), "numbers": self.numbers.astype(np.int64)}
        return {"points": self.names, "given": self.given}, rows

    @classmethod
    def made(cls, found: Contents) -> Hypotheses:
        """The class of hypotheses in a file."""
        names, given = found.tell("points", "given")
        made = cls(np.unpackbits(found.arrays["matrix"], axis=1, count=len(names)), names)
        made.given, made.numbers = given, found.arrays["numbers"]
        made._freeze()
        return made

    def _freeze(self) -> None:
        """Let nobody write to the class: whoever learns it would be judged by another one than was played."""
        for array in (self.numbers, self.matrix, self.by_point, self.columns):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.matrix)

    def __repr__(self) -> str:
        return f"Hypotheses({len(self)} on {self.points} points)"

    @property
    def points(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def words(self) -> int:
        """The number of words of a mask."""
        return int(self.columns.shape[1])

    @property
    def everything(self) -> Mask:
        """The mask of all hypotheses."""
        return as_masks(np.ones((1, len(self)), bool))[0]

    def agreeing(self, mask: Mask, x: int, y: int) -> Mask:
        """V^y_x, the hypotheses of a mask with h(x) = y: O(n/64)."""
        return mask & (self.columns[x] if y else ~self.columns[x])

    def members(self, mask: Mask) -> NDArray[np.intp]:
        """The hypotheses in a mask, in order: O(n)."""
        return np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))

    def check_round(self, x: int, y: int) -> None:
        """Refuse what is no point or no label."""
        self.check_point(x)
        if y not in (0, 1):
            raise DataError(f"a label is 0 or 1, got {y!r}")

    def check_point(self, x: int) -> None:
        """Refuse what is no point."""
        if not (is_whole(x) and x < self.points):
            raise DataError(f"there is no point {x!r}: the points are 0 to {self.points - 1}")


def as_masks(rows: NDArray[np.bool_]) -> Mask:
    """Each row of booleans as a mask."""
    width = -(-rows.shape[1] // BITS) * BITS // 8
    masks = np.zeros((len(rows), width), np.uint8)
    packed = np.packbits(rows, axis=1, bitorder="little")
    masks[:, : packed.shape[1]] = packed
    return masks.view("<u8").astype(np.uint64, copy=False)


def size_of(mask: Mask) -> int:
    """How many hypotheses a mask has."""
    return int(np.bitwise_count(mask).sum())


def _booleans(matrix: Any) -> NDArray[np.bool_]:
    try:
        given = np.asarray(matrix)
    except ValueError:
        given = np.empty(0)  # rows of different lengths
    if given.ndim != 2 or 0 in given.shape:
        raise DataError(
            "hypotheses are a matrix of 0 and 1, a row each and a column for each point, at least one of both; "
            f"got shape {given.shape}"
        )
    bad = np.empty(0) if given.dtype == bool else np.argwhere((given != 0) & (given != 1))
    if bad.size:
        i, x = bad[0].tolist()
        raise DataError(f"hypotheses[{i}, {x}] is {given[i, x]!r}: hypotheses say 0 or 1")
    return np.array(given, bool, order="C")


def _transposed(matrix: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The matrix by columns, a few at a time, which fit into the cache."""
    turned = np.empty(matrix.shape[::-1], bool)
    for i in range(0, matrix.shape[0], TILE):
        for j in range(0, matrix.shape[1], TILE):
            turned[j : j + TILE, i : i + TILE] = matrix[i : i + TILE, j : j + TILE].T
    return turned


def _cells(line: str, place: str) -> NDArray[np.bool_]:
    """The 0s and 1s of a line: O(length), without a loop over cells as long as there is nothing to complain about."""
    codes = np.frombuffer("".join(line.split()).encode(), np.uint8)
    cells, commas = codes[::2], codes[1::2]
    if codes.size % 2 and np.all(commas == ord(",")) and np.all((cells == ord("0")) | (cells == ord("1"))):
        return cells == ord("1")
    split = enumerate((cell.strip() for cell in line.split(",")), 1)
    column, cell = next((column, cell) for column, cell in split if cell not in ("0", "1"))
    header = " (a header? the file must not have one)" if place.endswith(":1") else ""
    raise DataError(f"{place}:{column}: expected 0 or 1, got {cell!r}{header}")
