"""Whole tables in memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lowregret import DataError
from lowregret.stream.table import read_table

TEXT = 'name,a,"b, c"\n"x ""y""",1,2.5\nz,,NA\n\n,1e3,-4\n'


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_cells(tmp_path: Path, packed: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(packed(TEXT.encode("utf-8-sig")))
    table = read_table(str(path))
    assert list(table.columns) == ["name", "a", "b, c"]
    assert len(table) == 3
    assert table.words("name") == ['x "y"', "z", ""]
    np.testing.assert_array_equal(table.numbers("a"), [1.0, math.nan, 1000.0])
    np.testing.assert_array_equal(table.numbers("b, c"), [2.5, math.nan, -4.0])
    assert table.is_numeric("a")
    assert not table.is_numeric("name")
    assert table.place(0) == f"{path}:2"


@pytest.mark.parametrize("gap", [",", "\t", ";", "|"])
def test_delimiters_and_no_header(tmp_path: Path, gap: str) -> None:
    (tmp_path / "t").write_text(f"1{gap}2\n3{gap}4")
    table = read_table(str(tmp_path / "t"), header=False)
    assert list(table.columns) == ["1", "2"]
    assert table.numbers("2").tolist() == [2.0, 4.0]
    assert table.place(1).endswith(":2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty: expected the names of its columns"),
        ("a,b\n1\n", "t:2: 1 fields, expected 2"),
        ("a,a\n1,2\n", "two columns called 'a'"),
    ],
)
def test_tables_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(str(tmp_path / "t"))


def test_cells_that_are_no_numbers(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a,b\n1,x\ninf,1\n")
    table = read_table(str(tmp_path / "t"))
    with pytest.raises(DataError, match="t:3: 'inf' in column 'a' is not a finite number"):
        table.numbers("a")
    with pytest.raises(DataError, match="t:2: 'x' in column 'b'"):
        table.numbers("b")
    with pytest.raises(DataError, match="no column 'c'; its columns are a, b"):
        table.numbers("c")


def test_only_a_header(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("a,b\n")
    assert len(read_table(str(tmp_path / "t"))) == 0


def test_the_time_of_many_columns_is_that_of_their_text(tmp_path: Path) -> None:
    """Each name was looked for among all: a line of a few megabytes took hours."""
    names = [f"expert number {k}" for k in range(40_000)]
    (tmp_path / "t").write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    begin = time.process_time()
    assert list(read_table(str(tmp_path / "t")).columns) == names
    assert time.process_time() - begin < 5.0  # of this process, whatever else the machine does
