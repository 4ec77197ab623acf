"""Dictionaries, runs and views of Arrow arrays: read as the values they stand for, in the memory of a piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lowregret.errors import DataError
from lowregret.stream import unpack
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.leaves import Leaf, cells
from lowregret.stream.table import read_table
from tests.stream.reading import collect

ROWS, LONG = 1 << 16, 1 << 20  # texts of a long one in each row take 64 GiB


def entries(column: Any) -> list[dict[int, float]]:
    """The features of rows that have this column."""
    table = pa.table({"y": np.ones(len(column)), "x": column})
    return [row.entries for row in collect(TableStream((table,), TableFormat(target="y"))).rows]


def runs(ends: list[int], values: Any) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, pa.int32()), values)


def views(begins: list[int], sizes: list[int], values: Any) -> Any:
    return pa.LargeListViewArray.from_arrays(pa.array(begins, pa.int64()), pa.array(sizes, pa.int64()), values)


HIDDEN = pa.array([False, True, False, True])
LISTS = pa.array([[1, 2], [3]], pa.large_list(pa.int8()))
TEXTS = pa.array(["a", None, "b", ""], pa.string_view())
SAME = {  # an array, and another of the same values
    "runs of a null struct": (
        pa.StructArray.from_arrays([runs([3, 4], pa.array([5, 6]))], ["q"], mask=HIDDEN),
        pa.array([{"q": 5}, None, {"q": 5}, None]),
    ),
    "views in any order": (views([1, 0, 1, 0], [2, 1, 0, 3], pa.array([7, 8, 9])), [[8, 9], [7], [], [7, 8, 9]]),
    "views within lists": (
        pa.array([[[5, -128]], [[1]], None], pa.list_(pa.list_view(pa.int8()), 1)),
        [[[5, -128]], [[1]], None],
    ),
    "a field called list_view": (pa.array([{"list_view": 3}, None]), pa.array([{"list_view": 3}, None])),
    "views within structs": (
        pa.array([{"a": [1, 2]}, None], pa.struct([("a", pa.list_view(pa.int8()))])),
        [{"a": [1, 2]}, None],
    ),
    "views of texts in lists": (pa.LargeListArray.from_arrays([0, 3, 4], TEXTS), [["a", None, "b"], [""]]),
    "runs of texts": (runs([2, 3, 6, 7], TEXTS).slice(1, 5), ["a", None, "b", "b", "b"]),
    "a dictionary with a null": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2, 0], pa.uint8()), TEXTS),
        ["a", None, None, "b", "a"],
    ),
    "a dictionary of lists": (
        pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1], pa.uint8()), LISTS),
        [[3], None, [1, 2], [3]],
    ),
    "a dictionary longer than its column": (
        pa.DictionaryArray.from_arrays(pa.array([3, None, 1, 4], pa.int8()), pa.array(["a", "b", "c", "d", None, "e"])),
        ["d", None, "b", None],
    ),
    "lists of runs": (pa.LargeListArray.from_arrays([0, 1, 4], runs([2, 4], LISTS)), [[[1, 2]], [[1, 2], [3], [3]]]),
}


@pytest.mark.parametrize("name", SAME)
def test_encoded_values_are_those_they_stand_for(name: str) -> None:
    encoded, values = SAME[name]
    assert entries(encoded) == entries(pa.array(values))
    assert entries(encoded.slice(1)) == entries(pa.array(values).slice(1))


def views_of_texts() -> Any:
    """Views that are all of the same long text."""
    one = pa.array(["x" * LONG], pa.string_view()).buffers()
    return pa.Array.from_buffers(pa.string_view(), ROWS, [None, pa.py_buffer(bytes(one[1])[:16] * ROWS), *one[2:]])


NOUGHTS = pa.array(np.zeros(ROWS, np.int32))
BOMBS = {
    "runs of texts": lambda: runs([ROWS], pa.array(["x" * LONG])),
    "a dictionary of texts": lambda: pa.DictionaryArray.from_arrays(NOUGHTS, pa.array(["x" * LONG, None])),
    "a dictionary of lists": lambda: pa.DictionaryArray.from_arrays(NOUGHTS, pa.array([[1] * 60_000])),
    "views of lists": lambda: views([0] * ROWS, [60_000] * ROWS, pa.array(np.ones(60_000, np.int8))),
    "views of texts": views_of_texts,
}


@pytest.mark.parametrize("name", BOMBS)
def test_pieces_of_what_a_kilobyte_stands_for_fit_into_memory(name: str) -> None:
    table = pa.record_batch({"x": BOMBS[name]()})
    first, *others = unpack.pieces(table, 1 << 20)
    assert sum(map(len, others), len(first)) == ROWS
    assert 1 <= len(first) <= 16


@pytest.mark.parametrize("name", ["runs of texts", "a dictionary of texts"])
def test_texts_that_repeat_are_kept_once(name: str) -> None:
    array = BOMBS[name]()
    kept = Leaf("x", array).array
    assert pa.types.is_dictionary(kept.type)
    assert not kept.dictionary.null_count
    assert len(set(map(id, cells(array)))) == 1


@pytest.mark.parametrize("kind", [pa.string(), pa.string_view(), pa.binary_view()])
def test_few_rows_of_a_large_dictionary_are_read_whatever_its_texts_are(kind: pa.DataType) -> None:
    texts = pa.array(["a", None, "c" * 30, "d"], kind)  # as polars hands over categories, whose texts are views
    array = pa.DictionaryArray.from_arrays(pa.array([2, None, 1]), texts)
    for start, length in ((0, 3), (0, 1), (1, 1), (0, 0)):
        part = unpack.plain(array.slice(start, length))
        found = [str(text) for text in part.dictionary.cast(pa.large_string()).to_pylist()]
        told = [None if k is None else found[k] for k in part.indices.to_pylist()]
        assert told == ["c" * 30, None, None][start : start + length]


def test_runs_and_views_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = views([0, ROWS - 1], [1, 1], runs([ROWS], pa.array([1.0])))
    monkeypatch.setattr(unpack, "MOST_RUNS", ROWS - 1)
    with pytest.raises(DataError, match="an array of 65,536 elements in runs cannot be read"):
        entries(lists)
    monkeypatch.setattr(unpack, "MOST_TEXT", 100)
    with pytest.raises(DataError, match="texts of 200 bytes in views cannot be read"):
        entries(pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["x" * 200], pa.string_view())))
    path = tmp_path / "f.arrow"
    with pa.ipc.new_file(path, (table := pa.table({"x": pa.nulls(1000), "y": pa.nulls(1000)})).schema) as writer:
        writer.write_table(table)
    assert len(read_table(str(path))) == 1000
    monkeypatch.setattr("lowregret.compile.memory.free_memory", lambda: 15_999.0)
    with pytest.raises(DataError, match=r"f\.arrow has too many rows to be in memory at once: 1,000 in a batch"):
        read_table(str(path))
