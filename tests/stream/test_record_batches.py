"""Record batches from all that hands them over, and no more of them at once, or in all, than their bytes are worth."""

from __future__ import annotations

import os
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from lowregret.errors import DataError
from lowregret.stream import record_batches as module
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.record_batches import record_batches
from tests.stream.reading import collect, content

FORM = TableFormat(target="y")


def small() -> Any:
    return pa.table({"y": [1.0, 0.0], "x": ["a", "b"]})


def write(table: Any, make: Callable[..., Any], path: str) -> None:
    with make(path, table.schema) as writer:
        writer.write_table(table)


def through_a_pipe(content: bytes, path: Path) -> TableStream:
    """A stream of a table that somebody writes into a pipe with a name."""
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(content,), daemon=True).start()
    return TableStream((str(path),), FORM)


def test_a_pipe_with_a_name_is_read_from_its_first_byte(tmp_path: Path) -> None:
    write(small(), pa.ipc.new_stream, str(tmp_path / "f.arrows"))
    pipe = through_a_pipe((tmp_path / "f.arrows").read_bytes(), tmp_path / "pipe")
    assert content(collect(pipe).rows) == content(collect(TableStream((small(),), FORM)).rows)


def test_a_pipe_that_is_no_arrow_stream_is_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(small(), tmp_path / "f.parquet")
    with pytest.raises(DataError, match=r"cannot read .*pipe"):
        collect(through_a_pipe((tmp_path / "f.parquet").read_bytes(), tmp_path / "pipe"))


def test_names_of_rows_are_no_column() -> None:
    """Rows of a frame that was filtered or shuffled keep their numbers."""
    frame = pd.DataFrame({"y": [1.0, 0.0, 1.0], "x": ["a", "b", "c"]})
    names = [["p", "q", "r"], pd.Index([7, 8, 9], name="id"), pd.MultiIndex.from_tuples([(1, 2), (3, 4), (5, 6)])]
    for index in names:
        assert collect(TableStream((frame.set_axis(index),), FORM)) == collect(TableStream((frame,), FORM))


def test_frames_that_cannot_be_handed_over_are_refused() -> None:
    sparse = pd.DataFrame({"y": [1.0], "x": pd.arrays.SparseArray([1.0])})
    twice = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["y", "x", "x"])
    large = pd.DataFrame({"y": [1.0], "x": np.array([2**64], object)})
    for frame, why in ((sparse, "Sparse"), (twice, "Duplicate column names"), (large, "too large|too big")):
        with pytest.raises(DataError, match=f"cannot read DataFrame: .*({why})"):
            collect(TableStream((frame,), FORM))


# ---- rows that take no bytes ----------------------------------------------------------------------------------------

NOTHING = {
    "null": lambda rows: pa.Array.from_buffers(pa.null(), rows, [None]),
    "runs": lambda rows: pa.RunEndEncodedArray.from_arrays(pa.array([rows], pa.int64()), pa.array([1.0])),
    "structs without fields": lambda rows: pa.Array.from_buffers(pa.struct([]), rows, [None]),
    "texts of no bytes": lambda rows: pa.Array.from_buffers(pa.binary(0), rows, [None, pa.py_buffer(b"")]),
}


@pytest.mark.parametrize("name", NOTHING)
def test_rows_of_nothing_come_to_an_end(name: str, tmp_path: Path) -> None:
    batch, path = pa.record_batch([NOTHING[name](1 << 40)], ["x"]), str(tmp_path / "f.arrow")
    with pa.ipc.new_file(path, batch.schema, options=pa.ipc.IpcWriteOptions(allow_64bit=True)) as writer:
        writer.write_batch(batch)
    with pytest.raises(DataError, match=r"f\.arrow states 1,099,511,627,776 rows, but holds nothing for most"):
        list(record_batches(path, path, True))


def test_rows_of_nothing_are_counted_over_all_batches() -> None:
    batch = pa.record_batch([NOTHING["runs"](module.FREE_ROWS)], ["x"])
    many = pa.RecordBatchReader.from_batches(batch.schema, [batch] * 3)
    with pytest.raises(DataError, match="states 33,554,432 rows"):
        list(record_batches(many, "many", True))


# ---- Parquet --------------------------------------------------------------------------------------------------------


def peak(table: Any, path: Path) -> int:
    """The most bytes that Arrow and Python had when the table was read from a Parquet file."""
    pyarrow.parquet.write_table(table, path, compression="zstd", store_schema=False)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        rows = sum(batch.num_rows for batch, _ in record_batches(str(path), "f", False))
        assert rows == table.num_rows
        return tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


def codes(rows: int) -> Any:
    return pa.array(np.zeros(rows, np.int32))


def test_a_long_text_of_many_rows_is_one_in_parquet_files(tmp_path: Path) -> None:
    """Unpacked they take a gigabyte."""
    long = pa.DictionaryArray.from_arrays(codes(1 << 16), pa.array(["x" * (1 << 13)]))
    lists = pa.ListArray.from_arrays(np.arange(len(long) + 1, dtype=np.int32), long)
    assert peak(pa.table({"x": long, "l": lists}), tmp_path / "f.parquet") < 32 << 20


def test_values_of_parquet_files_are_unpacked_as_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOM", 1 << 20)
    lists = [[1.0] * 1000] * 100 + [[1.0]] * 890 + [[1.0] * 13_000] * 10
    fixed = pa.array([b"x" * 1000] * 1000, pa.binary(1000))
    for table in (
        pa.table({"l": lists}),
        pa.table({"f": fixed}),
        pa.table([np.ones(1000)] * 300, list(map(str, range(300)))),
    ):
        pyarrow.parquet.write_table(table, tmp_path / "f.parquet", row_group_size=990)
        batches = [batch for batch, _ in record_batches(str(tmp_path / "f.parquet"), "f", False)]
        assert pa.Table.from_batches(batches) == table
        assert max(batch.nbytes for batch in batches) <= 1.1 * module.ROOM


def test_parquet_files_of_more_rows_than_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "f.parquet")
    pyarrow.parquet.write_table(pa.table({"x": np.ones(1 << 17)}), path)
    assert len(list(record_batches(path, path, True))) == 2
    monkeypatch.setattr(module, "FREE_ROWS", 0)
    monkeypatch.setattr(module, "PER_BYTE", 1)
    with pytest.raises(DataError, match=r"f\.parquet states 131,072 rows"):
        list(record_batches(path, path, True))


@pytest.mark.parametrize("change", ["again", "cut"])
@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows"])
def test_a_table_that_is_written_while_it_is_read_is_refused(ending: str, change: str, tmp_path: Path) -> None:
    """Rows were those of none of its versions; a stream that was cut between two batches had ended."""
    path = tmp_path / f"f.{ending}"
    write_in_parts(path, pa.table({"x": np.zeros(300)}))
    batches = record_batches(str(path), "f", False)
    next(batches)
    if change == "again":
        os.utime(path, ns=(0, 0))  # as if somebody wrote as many other numbers
    else:
        os.truncate(path, 0)
    with pytest.raises(
        DataError, match="has changed while it was read" if ending == "arrows" or change == "again" else "f"
    ):
        list(batches)


def test_a_stream_in_a_file_may_grow(tmp_path: Path) -> None:
    path = tmp_path / "f.arrows"
    write_in_parts(path, pa.table({"x": np.zeros(300)}))
    batches = record_batches(str(path), "f", False)
    next(batches)
    with path.open("ab") as file:
        file.write(bytes(8))
    assert sum(batch.num_rows for batch, _ in batches) == 200


def write_in_parts(path: Path, table: pa.Table) -> None:
    """Write a table as three batches of a hundred rows."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=100)
        return
    with (pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream)(str(path), table.schema) as writer:
        writer.write_table(table, 100)
