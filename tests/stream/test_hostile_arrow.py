"""Arrow and Parquet files that do not keep what they promise are refused: nothing reads where an offset leads."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from benchmarks.fuzz_models import watched
from benchmarks.fuzz_tables import KINDS, ROWS
from lowregret.bandit.log import read_log
from lowregret.errors import DataError
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.leaves import Leaf
from lowregret.stream.table import read_table
from tests.stream.reading import collect


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_read_or_refused(kind: str) -> None:
    """In a process of its own: one file in 25 ended it before record batches were validated."""
    counts, faults = watched(kind, 40, 3, "benchmarks.fuzz_tables")
    assert not faults
    assert counts.changes == 40
    assert counts.refused < 40


def test_a_file_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """In a process of its own: pages of a memory map that are gone end it."""
    code = f"from tests.stream.test_hostile_arrow import read_and_cut; read_and_cut({str(tmp_path / 'f.arrow')!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n"), done.stderr[-2000:]


def read_and_cut(path: str) -> None:
    """Cut a file after its first rows were read, and say whether the others are refused."""
    found = pa.table({"y": np.ones(50_000), "x": np.arange(50_000.0)})
    with pa.ipc.new_file(path, found.schema) as writer:
        writer.write_table(found, max_chunksize=10_000)
    batches = TableStream((path,), TableFormat(target="y")).batches()
    next(batches)
    os.truncate(path, 5000)
    try:
        list(batches)
    except DataError:
        print("refused")


def raw(kind: Any, value: int, size: str = "int64") -> Any:
    """A column of values that its type does not allow."""
    return pa.Array.from_buffers(kind, ROWS, [None, pa.py_buffer(np.full(ROWS, value, size).tobytes())])


@pytest.mark.parametrize("unit", ["us", "ns"])
@pytest.mark.parametrize("value", [-1, 2**62, 86400 * 10**9])
def test_times_beyond_a_day_are_refused(unit: str, value: int, tmp_path: Path) -> None:
    found = pa.table({"y": np.ones(ROWS), "x": raw(pa.time64(unit), value)})
    pyarrow.parquet.write_table(found, tmp_path / "f.parquet")
    for source in (str(tmp_path / "f.parquet"), found):
        with pytest.raises(DataError, match=r"cannot read .*not within the acceptable range"):
            collect(TableStream((source,), TableFormat(target="y")))
    with pytest.raises(DataError, match="not within the acceptable range"):
        read_table(str(tmp_path / "f.parquet"))


def test_times_beyond_those_of_python_are_shown() -> None:
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "Etc/GMT+9"), pa.duration("s")):
        assert Leaf("x", raw(kind, 2**63 - 1)).shown(0)[:3] in ("'22", "'92")
    assert Leaf("x", raw(pa.time64("ns"), 1)).shown(0) == "'00:00:00.000000001'"
    assert Leaf("x", pa.nulls(1, pa.timestamp("ns"))).shown(0) == "nothing"


@pytest.mark.filterwarnings("error")
def test_lags_and_times_without_bounds_are_refused() -> None:
    far = [math.inf, -math.inf, 1e308, -1e308]
    found = pa.table({"y": np.ones(16), "lag": far * 4, "time": np.repeat(far, 4)})
    form = TableFormat(target="y", delay_column="lag", time_column="time")
    [batch] = TableStream((found,), form, skip=True).batches()
    assert (len(batch), len(batch.faults)) == (0, 16)


def test_bytes_behind_the_offsets_are_not_looked_at() -> None:
    buffers = [None, pa.py_buffer(np.arange(ROWS + 1, dtype=np.int32).tobytes() + b"odd"), pa.py_buffer(b"u" * ROWS)]
    leaf = Leaf("x", pa.Array.from_buffers(pa.string(), ROWS, buffers).slice(3))
    assert leaf.texts()[0].tolist() == list(range(3, ROWS + 1))


def test_a_decimal_that_is_no_number_is_refused(tmp_path: Path) -> None:
    numbers = pa.py_buffer(np.ones(2 * ROWS, np.int64).tobytes())
    x = pa.Array.from_buffers(pa.decimal128(20, 2**28), ROWS, [None, numbers])
    path, found = tmp_path / "f.arrow", pa.table({"y": np.ones(ROWS), "x": x})
    with pa.ipc.new_file(path, found.schema) as writer:
        writer.write_table(found)
    with pytest.raises(DataError, match=r"cannot read .*f\.arrow: a decimal number"):
        read_table(str(path))


# ---- lists, which become columns ------------------------------------------------------------------------------------


def equal_numbers(*sizes: int) -> Any:
    """A row whose list has lists in it, of this many elements at each level: a few bytes of a file."""
    found = pa.array(np.ones(math.prod(sizes), np.int8))
    for size in reversed(sizes):
        found = pa.ListArray.from_arrays(np.arange(len(found) // size + 1, dtype=np.int32) * size, found)
    return found


LONG = {
    "list": equal_numbers(400_000),
    "fixed": pa.FixedSizeListArray.from_arrays(pa.array(np.ones(400_000, np.int8)), 400_000),
    "structs in a list": pa.array([[{f"f{k}": 1 for k in range(2000)}] * 40]),
}


@pytest.mark.parametrize("kind", LONG)
def test_long_lists_are_refused_before_anything_is_made_of_them(kind: str, tmp_path: Path) -> None:
    path = str(tmp_path / "f.parquet")
    pyarrow.parquet.write_table(pa.table({"y": [1.0], "x": LONG[kind]}), path)
    tracemalloc.start()
    with pytest.raises(DataError, match=r"f\.parquet: the column 'x' has lists of [\d,]+ elements.*65,536.*drop it"):
        collect(TableStream((path,), TableFormat(target="y")))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 200 << 20
    assert len(collect(TableStream((path,), TableFormat(target="y", drop=("x",)))).rows) == 1


def test_long_lists_in_several_columns_count_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowregret.stream.leaves.MOST_ELEMENTS", 12)
    fits = pa.table({"y": [1.0], "a": equal_numbers(5), "b": equal_numbers(7)})
    assert len(collect(TableStream((fits,), TableFormat(target="y"))).rows[0].entries) == 12
    with pytest.raises(DataError, match="Table: the column 'c' has lists of 1 elements"):
        collect(TableStream((fits.append_column("c", equal_numbers(1)),), TableFormat(target="y")))
    with pytest.raises(DataError, match="Table: the column 'x' has lists of 4 elements"):
        collect(TableStream((pa.table({"y": [1.0], "x": equal_numbers(3, 4)}),), TableFormat(target="y")))


@pytest.mark.parametrize("kind", ["list", "struct"])
def test_long_names_times_many_columns_are_refused(kind: str) -> None:
    inner = equal_numbers(2000) if kind == "list" else pa.array([{f"f{k}": 1 for k in range(2000)}])
    with pytest.raises(DataError, match=r"Table: the column 'kkk.* has too long a name for all that is in it"):
        collect(TableStream((pa.table({"y": [1.0], "k" * 10_000: inner}),), TableFormat(target="y")))


def test_rows_beside_a_long_list_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields are rows times columns: one long list would make those of 65,535 short ones long."""
    lists = [[float(k)] * (k % 7) for k in range(1, 400)] + [[1.0] * 90] + [[2.0]] * 100
    stream = TableStream((pa.table({"y": np.arange(500.0), "x": lists}),), TableFormat(target="y"))
    whole = collect(stream)
    monkeypatch.setattr("lowregret.stream.arrow_rows.MOST_FIELDS", 1000)
    assert collect(stream) == whole
    sizes = [(len(batch), int(np.diff(batch.rows.indptr).max())) for batch in stream.batches()]
    assert all(rows * (2 + longest) <= 1000 for rows, longest in sizes)
    assert len(sizes) < 25


# ---- whole tables ---------------------------------------------------------------------------------------------------

ODD = {
    "list": pa.array([[1.0, 2.0]] * 3),
    "struct": pa.array([{"a": 1.0}] * 3),
    "map": pa.array([[("a", 1.0)]] * 3, pa.map_(pa.string(), pa.float64())),
    "view": pa.array([[1.0]] * 3, pa.list_view(pa.float64())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array([1, 2, 3])]),
}


@pytest.mark.parametrize("name", ODD)
def test_cells_that_are_no_single_values(name: str, tmp_path: Path) -> None:
    path, found = tmp_path / "f.arrow", pa.table({"y": [1.0, 0.0, 1.0], "x": ODD[name]})
    with pa.ipc.new_file(path, found.schema) as writer:
        writer.write_table(found)
    read = read_table(str(path))
    assert not read.is_numeric("x")
    assert read.numbers("y").tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(DataError, match=r"f\.arrow: the column 'x' is of type .*: make it one of numbers or of text"):
        read_log(path, action="x", reward="y")


def test_cells_of_every_plain_type(tmp_path: Path) -> None:
    stamps = pa.array([0, None, 86400], pa.timestamp("s"))
    found = {"t": stamps, "d": pa.array([1, None, 3], pa.duration("s")), "c": pa.array(["1", None, "b"])}
    found |= {"e": found["c"].dictionary_encode(), "n": pa.nulls(3), "f": pa.array([1, 2, None], pa.decimal128(5, 1))}
    pyarrow.parquet.write_table(pa.table(found), tmp_path / "f.parquet")
    read = read_table(str(tmp_path / "f.parquet"))
    assert read.words("t") == ["1970-01-01 00:00:00.000", "", "1970-01-02 00:00:00.000"]
    assert read.words("e") == read.words("c") == ["1", "", "b"]
    np.testing.assert_array_equal(read.numbers("d"), [1.0, np.nan, 3.0])
    np.testing.assert_array_equal(read.numbers("f"), [1.0, 2.0, np.nan])
    assert [read.is_numeric(name) for name in "tdnf"] == [False, True, False, True]


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    found = pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pa.ipc.new_file(tmp_path / "f.arrow", found.schema) as writer:
        writer.write_table(found)
    with pytest.raises(DataError, match=r"two columns called 'a'"):
        read_table(str(tmp_path / "f.arrow"))
