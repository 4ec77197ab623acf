"""Tables in memory: which columns are numbers, and the same rows as from a file."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from lowregret.errors import DataError
from lowregret.stream.batch import Stream
from lowregret.stream.frame import SLOTS, Frame, frame_rows, not_numbers, table_form
from lowregret.stream.read import read

PLAIN = table_form((), 1, (), ())
CELLS = {
    "size": [1.5, 0.0, None, -2.0],
    "n": [1, 2, 3, 4],
    "big": [True, False, True, True],
    "hue": ["a", "b", "a", ""],
}


def entries(rows: Any) -> list[tuple[list[int], list[float]]]:
    """Columns and values of each row."""
    ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [(rows.indices[i:j].tolist(), rows.data[i:j].tolist()) for i, j in ends]


@pytest.mark.parametrize(
    ("column", "number"),
    [
        (pa.array([1, None], pa.int8()), True),
        (pa.array([True, False]), True),
        (pa.array([0.5, 1.0], pa.float32()), True),
        (pa.array(["1", "2"]), False),
        (pa.array(["a", "b"]).dictionary_encode(), False),
        (pa.array([datetime.date(2020, 1, 1)] * 2), False),
    ],
)
def test_which_columns_are_numbers(column: Any, number: bool) -> None:
    assert not_numbers(pa.table({"x": [1.0, 2.0], "c": column})) == ([] if number else ["c"])


@pytest.mark.parametrize("data", [np.ones((2, 2)), [["a", "b"]], pa.table({"c": pa.array([], pa.string())})], ids=type)
def test_what_is_no_table_has_no_columns(data: Any) -> None:
    assert not_numbers(data) == []


def test_rows_are_those_of_a_file(tmp_path: Path) -> None:
    table = pa.table({name: CELLS[name] for name in ("size", "n", "hue")})
    pa.csv.write_csv(table.append_column("y", pa.array([1, 2, 3, 4])), tmp_path / "t.csv")
    (batch,) = read(tmp_path / "t.csv", target="y").batches()
    (rows,) = frame_rows(table, PLAIN)
    assert entries(rows) == entries(batch.rows)
    assert rows.columns == SLOTS


def test_labels_and_weights_are_given_apart() -> None:
    tables = [pa.table(CELLS).slice(k, 1) for k in range(4)]
    labels, weights = np.array(["a", "b", "c", "d"]), np.arange(4.0)
    frame = Frame(pa.concat_tables(tables), PLAIN, labels, weights)
    assert isinstance(frame, Stream)
    batches = list(frame.batches())
    assert [label for batch in batches for label in batch.labels] == labels.tolist()
    assert [weight for batch in batches for weight in batch.weights] == weights.tolist()
    assert not any(batch.unlabelled for batch in batches)
    assert all(batch.weights.size == 0 for batch in Frame(tables[0], PLAIN, labels, np.empty(0)).batches())


def test_numbers_that_are_none_are_named() -> None:
    with pytest.raises(DataError, match=r"Table:2: expected a finite number in the column 'x', but found inf$"):
        list(frame_rows(pa.table({"x": [1.0, np.inf], "c": ["a", "b"]}), PLAIN))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_are_tables(package: str) -> None:
    frames = pytest.importorskip(package)
    numbers = frames.DataFrame({"x": [1.0, 2.0], "n": [1, 2], "b": [True, False]})
    assert not_numbers(numbers) == []
    frame = frames.DataFrame({"x": [1.0, 2.0], "c": ["a", "b"]})
    assert not_numbers(frame) == ["c"]
    (theirs,), (ours,) = (
        map(entries, frame_rows(f, PLAIN)) for f in (pa.table({"x": [1.0, 2.0], "c": ["a", "b"]}), frame)
    )
    assert theirs == ours


def test_names_of_rows_are_no_feature() -> None:
    pandas = pytest.importorskip("pandas")
    cells = {"x": [1.0, 2.0], "c": ["a", "b"]}
    (plain,), (named,) = (
        map(entries, frame_rows(pandas.DataFrame(cells, index=index), PLAIN)) for index in (None, ["one", "two"])
    )
    assert plain == named


def test_objects_of_python_are_refused_not_read_as_addresses() -> None:
    """Polars hands over where they lie in memory, as texts of eight bytes."""
    polars = pytest.importorskip("polars")
    column = polars.Series("o", [object(), object()], dtype=polars.Object)
    frame = polars.DataFrame({"x": [1.0, 2.0], "o": column})
    with pytest.raises(DataError, match=r"the column 'o' holds objects of Python .*: drop it, or give numbers"):
        list(frame_rows(frame, PLAIN))
