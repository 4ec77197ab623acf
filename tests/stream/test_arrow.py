"""Arrow tables and files against the same tables as CSV, and against plain Python."""

from __future__ import annotations

import datetime
import math
import os
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lowregret.compile.spec import from_json, to_json
from lowregret.errors import DataError, PartError
from lowregret.stream import arrow_rows
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.batch import Stream
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.hashing import hash_name
from lowregret.stream.text import text_stream
from tests.stream.reading import Result, collect, content

BITS = 18


def slots(**features: float) -> dict[int, float]:
    """By name; `__` stands for a point, `_is_` for an equals sign."""
    return {hash_name(k.replace("__", ".").replace("_is_", "=")) % 2**BITS: v for k, v in features.items()}


def entries(table: Any, **options: Any) -> list[dict[int, float]]:
    return [row.entries for row in collect(TableStream((table,), TableFormat(**options))).rows]


def labels(table: Any, **options: Any) -> list[float]:
    return [row.label for row in collect(TableStream((table,), TableFormat(**options))).rows]


# ---- the same as CSV ------------------------------------------------------------------------------------------------

names = st.sampled_from(["a", "b", "c d", "é", "12", "x=y"])
whole = st.integers(-(2**63), 2**63 - 1)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"), max_size=9).filter(
    lambda text: not text.strip(" \t") or not text.strip(" \t+-.")[:1].isdigit()
)
moments = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2200, 1, 1))
KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    (pa.int64(), whole),
    (pa.int8(), st.integers(-128, 127)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    (pa.string(), words),
    (pa.large_string(), words),
    (pa.dictionary(pa.int32(), pa.string()), words),
    (pa.timestamp("ms"), moments),
    (pa.date32(), moments.map(lambda moment: moment.date())),
    (pa.decimal128(12, 3), st.decimals(-999_999_999, 999_999_999, places=3)),
]


@st.composite
def tables(draw: st.DrawFn) -> Any:
    rows = draw(st.integers(1, 12))
    columns: dict[str, Any] = {"y": pa.array(draw(st.lists(st.integers(-5, 5), min_size=rows, max_size=rows)))}
    for name in draw(st.lists(names, min_size=1, unique=True)):
        kind, values = draw(st.sampled_from(KINDS))
        cells = st.one_of(values, st.none())
        columns[name] = pa.array(draw(st.lists(cells, min_size=rows, max_size=rows)), kind)
    return pa.table(columns)


@given(tables(), st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_table_gives_the_rows_of_its_csv(tmp_path: Path, table: Any, data: st.DataObject) -> None:
    others = [name for name in table.schema.names if name != "y"]
    options: dict[str, Any] = {"target": "y"}
    for role in ("categorical", "drop"):
        chosen = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
        options[role] = tuple(chosen)
        others = [name for name in others if name not in chosen]
    if others:
        options["interactions"] = tuple(data.draw(st.lists(st.tuples(*2 * [st.sampled_from(others)]), max_size=2)))
    missing = {"NA", "NaN", "null", "None"}  # words in CSV that an Arrow table has as text
    for column in table.columns:
        if missing & {str(value).strip() for value in column.to_pylist()}:
            return
    pyarrow.csv.write_csv(table, tmp_path / "table.csv")
    wanted = collect(text_stream(tmp_path / "table.csv", DelimitedText(**options), 1))
    found = collect(TableStream((table,), TableFormat(**options)))
    assert found.fault is None
    assert wanted.fault is None
    assert len(found.rows) == len(wanted.rows)
    for one, other in zip(found.rows, wanted.rows, strict=True):
        assert (one.label, one.weight) == (other.label, other.weight)
        assert one.entries == pytest.approx(other.entries, rel=1e-12, abs=1e-12)


# ---- what columns mean ----------------------------------------------------------------------------------------------


def test_numbers_and_truth_values_are_features() -> None:
    table = pa.table(
        {"i": [3, None], "f": [0.5, math.nan], "b": [True, False], "h": pa.array([1.5, 2.5], pa.float16())}
    )
    assert entries(table) == [slots(i=3.0, f=0.5, b=1.0, h=1.5), slots(h=2.5)]
    assert entries(table, categorical=("b", "i")) == [
        slots(i_is_3=1.0, f=0.5, b_is_true=1.0, h=1.5),
        slots(b_is_false=1.0, h=2.5),
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary()])
def test_text_is_a_category_whatever_it_looks_like(kind: Any) -> None:
    table = pa.table({"s": pa.array(["red", "5", "", None, "NA"], pa.string()).cast(kind)})
    assert entries(table) == [slots(s_is_red=1.0), slots(s_is_5=1.0), {}, {}, slots(s_is_NA=1.0)]


def test_dictionaries() -> None:
    text = pa.array(["a", "b", None, "a", ""]).dictionary_encode()
    number = pa.array([5, 6, None, 5, 6]).dictionary_encode()
    nothing = pa.DictionaryArray.from_arrays(pa.array([None] * 5, pa.int32()), pa.array([], pa.string()))
    rows = entries(pa.table({"t": text, "n": number, "o": nothing}))
    assert rows == [slots(t_is_a=1.0, n=5.0), slots(t_is_b=1.0, n=6.0), {}, slots(t_is_a=1.0, n=5.0), slots(n=6.0)]


def test_runs_and_nothing_at_all() -> None:
    runs = pa.RunEndEncodedArray.from_arrays([2, 3], ["a", "b"])
    assert entries(pa.table({"r": runs, "n": pa.nulls(3)})) == [slots(r_is_a=1.0)] * 2 + [slots(r_is_b=1.0)]


def test_dates_times_and_decimals() -> None:
    table = pa.table(
        {
            "d": [datetime.date(2020, 2, 29)],
            "t": [datetime.time(1, 2, 3)],
            "x": [Decimal("0.30")],
            "e": pa.array([90], pa.duration("s")),
        }
    )
    day, time = "d=2020-02-29", "t=01:02:03.000000"
    wanted = {hash_name(name) % 2**BITS: 1.0 for name in (day, time)} | slots(x=0.3, e=90.0)
    assert entries(table) == [wanted]


def test_structs_and_lists_are_flattened() -> None:
    table = pa.table(
        {
            "s": [{"u": 1, "v": [1, 2]}, {"u": None, "v": []}, None],
            "l": [[{"k": "a"}], None, [{"k": "b"}, {"k": None}]],
            "f": pa.array([[1.0, 2.0], [3.0, None], None], pa.list_(pa.float64(), 2)),
        }
    )
    assert entries(table) == [
        slots(s__u=1.0, s__v__0=1.0, s__v__1=2.0, l__0__k_is_a=1.0, f__0=1.0, f__1=2.0),
        slots(f__0=3.0),
        slots(l__0__k_is_b=1.0),
    ]
    assert entries(table.slice(1)) == entries(table)[1:]
    assert entries(table, drop=("s", "f.1", "l")) == [slots(f__0=1.0), slots(f__0=3.0), {}]
    assert labels(table, target="s.v.1") == pytest.approx([2.0, math.nan, math.nan], nan_ok=True)
    assert labels(table.slice(1), target="s.v.1") == pytest.approx([math.nan, math.nan], nan_ok=True)


def test_what_cannot_be_read_says_so() -> None:
    table = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), "x": [1]})
    with pytest.raises(DataError, match=r"Table: columns of type map<string, int64> cannot be read: drop 'm'"):
        entries(table)
    assert entries(table, drop=("m",)) == [slots(x=1.0)]


# ---- labels and weights ---------------------------------------------------------------------------------------------


def test_labels() -> None:
    table = pa.table({"n": [2, 3, None], "c": ["yes", "no", ""], "b": [True, False, None], "f": [3.0, math.nan, 1.0]})
    nan = math.nan
    for options, wanted in (
        ({"target": "n"}, [2.0, 3.0, nan]),
        ({"target": "n", "positive": "3"}, [-1.0, 1.0, nan]),
        ({"target": "n", "positive": "3.0"}, [-1.0, 1.0, nan]),
        ({"target": "c", "positive": "yes"}, [1.0, -1.0, nan]),
        ({"target": "b"}, [1.0, 0.0, nan]),
        ({"target": "b", "positive": "true"}, [1.0, -1.0, nan]),
        ({"target": "b", "positive": "0"}, [-1.0, 1.0, nan]),
        ({"target": "f", "positive": "3"}, [1.0, nan, -1.0]),
        ({}, [nan, nan, nan]),
    ):
        assert labels(table, **options) == pytest.approx(wanted, nan_ok=True), options
    rows = collect(TableStream((table,), TableFormat(target="n"))).rows
    assert [row.weight for row in rows] == [1.0, 1.0, 0.0]
    coded = pa.table({"c": table["c"].combine_chunks().dictionary_encode()})
    assert labels(coded, target="c", positive="no")[:2] == [-1.0, 1.0]


FAULTS: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"x": [1.0, 2.0, math.inf, 4.0]}, {}, "expected a finite number in the column 'x', but found inf"),
    ({"x": [1, 2, 3, 4], "w": [1.0, 0.0, -1.0, 1.0]}, {"weight": "w"}, "0 or more, in the column 'w', but found -1.0"),
    ({"x": [1, 2, 3, 4], "w": [1, 0, None, 1]}, {"weight": "w"}, "0 or more, in the column 'w', but found nothing"),
    (
        {"x": [1, 2, 3, 4], "y": [1.0, 2.0, -math.inf, 0.0]},
        {"target": "y"},
        "expected a finite number in the column 'y'",
    ),
    ({"x": [1, 2, 3, 4], "y": [None, None, "a", None]}, {"target": "y"}, "expected a number (if it has classes, say"),
    (
        {"l": [[1.0], [2.0, 3.0], [1.0, math.inf], []]},
        {},
        "expected a finite number in the column 'l.1', but found inf",
    ),
]


@pytest.mark.parametrize(("data", "options", "said"), FAULTS)
def test_faults(data: dict[str, Any], options: dict[str, Any], said: str) -> None:
    table = pa.table(data)
    stopped = collect(TableStream((table,), TableFormat(**options)))
    assert [row.place for row in stopped.rows] == ["Table:1", "Table:2"]
    assert stopped.fault is not None
    assert stopped.fault.startswith("Table:3: ")
    assert said in stopped.fault
    skipped = collect(TableStream((table,), TableFormat(**options), skip=True))
    assert [row.place for row in skipped.rows] == ["Table:1", "Table:2", "Table:4"]
    assert skipped.skipped == [stopped.fault]
    good = table.take([0, 1, 3])
    assert content(skipped.rows) == content(collect(TableStream((good,), TableFormat(**options))).rows)


def test_columns_that_are_not_there() -> None:
    table = pa.table({"price": [1], "size": [2]})
    for option in ("target", "weight"):
        with pytest.raises(DataError, match="Table has no column 'prise'; it has 'price'"):
            entries(table, **{option: "prise"})
    for option in ("drop", "categorical"):
        with pytest.raises(DataError, match="Table has no column 'prise'; it has 'price'"):
            entries(table, **{option: ("prise",)})
    with pytest.raises(DataError, match="Table has two columns 'a'"):
        entries(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["a", "a"]))


def test_options_are_a_part() -> None:
    form = TableFormat("y", "w", "yes", ("a",), ("b", "c"), (("b", "c"),), 20)
    assert from_json(to_json(form)) == form
    with pytest.raises(PartError, match="bits must be from 1 to 31"):
        TableFormat(bits=0)
    with pytest.raises(DataError, match="cannot be both"):
        TableFormat(target="y", drop=("y",))


# ---- where tables come from -----------------------------------------------------------------------------------------


def some_table(rows: int) -> Any:
    rng = random.Random(rows)
    return pa.table(
        {
            "y": [rng.choice((-1, 1)) for _ in range(rows)],
            "x": [rng.choice((None, rng.uniform(-9, 9))) for _ in range(rows)],
            "c": [rng.choice(("red", "green", None)) for _ in range(rows)],
            "l": [[1.0] * rng.randrange(4) for _ in range(rows)],
        }
    )


def read_table(table: Any) -> Result:
    return collect(TableStream((table,), TableFormat(target="y")))


@pytest.mark.parametrize("kind", ["parquet", "feather", "file", "stream"])
def test_files(tmp_path: Path, kind: str) -> None:
    table, path = some_table(3000), tmp_path / "table"
    if kind == "parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=700)
    elif kind == "feather":
        pyarrow.feather.write_feather(table, path)
    else:
        with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=700)
    stream = TableStream((str(path), str(path)), TableFormat(target="y"), 1)
    assert isinstance(stream, Stream)
    assert stream.size == 2 * os.path.getsize(path)
    wanted = content(read_table(table).rows)
    assert content(collect(stream).rows) == wanted * 2
    assert content(collect(stream).rows) == wanted * 2, "again"
    positions = [batch.position for batch in stream.batches()]
    assert positions == sorted(positions)
    assert positions[-1] == pytest.approx(stream.size, rel=0.1)
    assert collect(stream).rows[-1].place == f"{path}:3000"


def test_objects() -> None:
    table = some_table(500)
    wanted = content(read_table(table).rows)
    assert content(read_table(table.to_reader(max_chunksize=99)).rows) == wanted
    assert content(read_table(pa.concat_tables([table.slice(0, 120), table.slice(120)])).rows) == wanted
    assert content(read_table(table.combine_chunks().to_batches()[0].slice(33)).rows) == wanted[33:]

    class Frame:
        """What polars and pandas offer."""

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return table.__arrow_c_stream__(requested_schema)

    result = read_table(Frame())
    assert content(result.rows) == wanted
    assert result.rows[4].place == "Frame:5"


@pytest.mark.parametrize("fields", [1, 40, 1000])
def test_rows_do_not_depend_on_how_many_are_converted_at_a_time(fields: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = some_table(300)
    wanted = read_table(table)
    monkeypatch.setattr(arrow_rows, "FIELDS", fields)
    assert read_table(table) == wanted


def test_products_that_need_more_room() -> None:
    table = pa.table({f"x{k}": np.arange(50.0) + 1 for k in range(20)})
    crossed = tuple((f"x{i}", f"x{j}") for i in range(20) for j in range(i, 20))
    rows = collect(TableStream((table,), TableFormat(interactions=crossed, bits=30))).rows
    assert [len(row.entries) for row in rows] == [20 + 210] * 50


def test_standard_input(tmp_path: Path) -> None:
    table = some_table(100)
    with pa.ipc.new_stream(tmp_path / "stream", table.schema) as writer:
        writer.write_table(table)
    script = """
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.formats.parquet import TableFormat
for batch in TableStream(("-",), TableFormat(target="y")).batches():
    print(len(batch), batch.place(99))
"""
    with open(tmp_path / "stream", "rb") as given_:
        done = subprocess.run([sys.executable, "-c", script], stdin=given_, capture_output=True, check=True)
    assert done.stdout == b"100 standard input:100\n"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read .*missing: No such file"):
        read_table(str(tmp_path / "missing"))
    (tmp_path / "text").write_bytes(b"a,b\n1,2\n")
    with pytest.raises(DataError, match=r"cannot read .*text: "):
        read_table(str(tmp_path / "text"))
    pyarrow.parquet.write_table(some_table(1000), tmp_path / "whole")
    (tmp_path / "cut").write_bytes((tmp_path / "whole").read_bytes()[:-50])
    with pytest.raises(DataError, match=r"cannot read .*cut: "):
        read_table(str(tmp_path / "cut"))


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    table = some_table(3)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"need pyarrow: pip install 'lowregret\[arrow\]'"):
        read_table(table)


def test_an_arrow_too_old_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 24 ended with an AttributeError, and views of texts were refused as unknown."""
    monkeypatch.setattr(pa, "__version__", "24.0.0")
    with pytest.raises(DataError, match=r"pyarrow 24\.0\.0 cannot read .* pip install -U 'pyarrow>=25'"):
        entries(pa.table({"i": [1]}))
