"""One function for all formats: what it takes data for, what it refuses, and what it reads."""

from __future__ import annotations

import gzip
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import Hinge
from lowregret.compile.spec import from_json, to_json
from lowregret.errors import DataError, PartError
from lowregret.stream import formats
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.batch import Stream, raise_faults
from lowregret.stream.formats import FORMATS, Format, by_content
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.jsonl import JsonLines
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.formats.vw import VwText
from lowregret.stream.hashing import hash_name
from lowregret.stream.read import OneLabel, detect, format_of, format_part, read, stream_of
from tests.stream.reading import collect, content


def slot(name: str, bits: int = 18) -> int:
    return hash_name(name) % 2**bits


# ---- which format ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a.svm", "svm"), ("a.libsvm.gz", "svm"), ("a.t.svm.xz", "svm"), ("a.vw", "vw"), ("a.vw.zst", "vw"),
        ("A.CSV", "csv"), ("a.csv.bz2", "csv"), ("a.tsv", "tsv"), ("a.jsonl.gz", "jsonl"), ("a.ndjson", "jsonl"),
        ("a.parquet", "parquet"),
        ("a.feather", "arrow"), ("a.arrow", "arrow"),
    ],
)  # fmt: skip
def test_format_by_name(name: str, wanted: str, tmp_path: Path) -> None:
    assert detect(tmp_path / name) == wanted


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (b"PAR1\x15\x04", "parquet"), (b"ARROW1\0\0", "arrow"), (b"\xff\xff\xff\xff\x10", "arrow"),
        (b'{"a": 1}\n', "jsonl"), (b'\n  {"a|b": 1}\n', "jsonl"), (b"\xef\xbb\xbf{}", "jsonl"),
        (b"1 | a b\n", "vw"), (b"|x 3:4", "vw"), (b"-1 2 'tag|a 1:2\n", "vw"),
        (b"1 3:4\n", "svm"), (b"-1.5e3 qid:3 1:.5 # x\n", "svm"), (b"# c\n1\n-1\n1 7:1", "svm"), (b"1 1:2\r\n", "svm"),
        (b"a,b\n1,2\n", "csv"), (b"1,2\n", "csv"), (b"a\n1\n", "csv"), (b"", "csv"), (b"1\n2\n", "csv"),
        (b"1 a:2\n", "csv"),
        (b"1 2:3 x\n", "csv"), (b"date\ttime\n", "csv"), (b"1" + b" 12:34" * 20_000, "svm"),
    ],
)  # fmt: skip
def test_format_by_content(head: bytes, wanted: str) -> None:
    assert by_content(head[: 1 << 16]) == wanted


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_record_is_true(form: Format, tmp_path: Path) -> None:
    """What it says of endings, beginnings and options is what happens; only caches have no sample and no magic."""
    assert FORMATS[form.name] is form
    assert form.name in form.endings
    assert {detect(tmp_path / f"a.{ending}.gz") for ending in form.endings} == {form.name}
    part = format_part(form.name)
    assert FORMATS[format_of(part)].reader is form.reader
    assert form.reads_as(part)
    assert all(by_content(mark + b"rest") == form.name for mark in form.magic)
    assert form.brings_form or bool(form.sample) != bool(form.magic)
    if form.sample:
        lines = form.sample.encode().splitlines()
        assert {by_content(line) for line in lines} == {form.name if any(map(form.begins, lines)) else "csv"}
        (tmp_path / "rows").write_text(form.sample)
        options: Any = {"target": "y"} if "target" in form.options else {}
        rows = list(read(tmp_path / "rows", format=form.name, **options).batches())
        assert [label for batch in rows for label in batch.labels] == [1.0, -1.0]


@given(st.from_regex(rb"[ {]?[+-]?[0-9.e]{0,4}[ |,:a#'{}0-9qid]{0,12}", fullmatch=True))
def test_no_two_formats_of_a_rank_claim_a_line(line: bytes) -> None:
    """So that the order of their files does not matter."""
    ranks = [form.rank for form in FORMATS.values() if form.begins(line)]
    assert len(ranks) == len(set(ranks))


def test_the_names_of_formats_are_those_of_their_files() -> None:
    files = Path(formats.__file__).parent.glob("[!_]*.py")
    assert list(FORMATS) == sorted(file.stem for file in files)
    with pytest.raises(KeyError):
        FORMATS["__init__"]


def test_names_come_first_then_content(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_bytes(gzip.compress(b"1 3:4\n"))
    (tmp_path / "b.csv").write_bytes(b"1 3:4\n")
    assert detect(tmp_path / "plain.txt") == "svm"
    assert detect(f"{tmp_path}/*.csv") == "csv"
    assert detect([tmp_path / "plain.txt", tmp_path / "b.csv"]) == "csv"


def test_formats_that_cannot_be_told() -> None:
    with pytest.raises(DataError, match=r"a\.svm and b\.csv seem to be of different formats"):
        detect(["a.svm", "b.csv"])
    with pytest.raises(DataError, match="say which format standard input has: arrow, csv"):
        detect("-")
    with pytest.raises(DataError, match="unknown format 'xml': it must be one of arrow"):
        format_part("xml")


@pytest.mark.parametrize(
    ("format", "options", "refused"),
    [
        ("svm", {"target": "y"}, "target"), ("svm", {"drop": "a"}, "drop"),
        ("svm", {"interactions": ["ab"]}, "interactions"),
        ("vw", {"weight": "w"}, "weight"), ("vw", {"one_based": True}, "one_based"),
        ("vw", {"header": False}, "header"),
        ("csv", {"one_based": True}, "one_based"), ("jsonl", {"delimiter": ","}, "delimiter"),
        ("parquet", {"header": False}, "header"), ("arrow", {"delimiter": "\t"}, "delimiter"),
        ("svm", {"categorical": ["a"]}, "categorical"),
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_refused_by_name(format: str, options: dict[str, Any], refused: str) -> None:
    with pytest.raises(DataError, match=f"^{refused} does not fit {format} data, whose options are "):
        format_part(format, **options)


def test_defaults_are_no_options() -> None:
    for format in FORMATS:
        format_part(format, target=None, drop=(), one_based=False, header=True, delimiter=None, bits=None)


def test_other_wrong_options(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="positive must be a number, as all labels of this format are; got 'yes'"):
        format_part("svm", positive="yes")
    with pytest.raises(DataError, match="positive must be a number"):
        format_part("vw", positive=math.nan)
    with pytest.raises(PartError, match="bits"):
        format_part("csv", bits=40)
    with pytest.raises(DataError, match="on_error must be 'stop' or 'skip', got 'ignore'"):
        read(tmp_path / "a.svm", on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="is no format of data"):
        stream_of("a.svm", Hinge())


# ---- parts ----------------------------------------------------------------------------------------------------------


def test_a_format_from_before_columns_of_text_is_what_it_was() -> None:
    known: dict[str, Any] = {
        "target": "y",
        "weight": "",
        "positive": "",
        "drop": ["a"],
        "categorical": [],
        "interactions": [],
    }
    known |= {"bits": 18, "labelled": True, "classes": False}
    old = from_json({"part": "DelimitedText", **known, "delimiter": "", "header": True})
    assert old == DelimitedText("y", drop=("a",))
    assert from_json({"part": "TableFormat", **known}) == TableFormat("y", drop=("a",), typed=False)


@pytest.mark.parametrize(
    ("format", "options", "wanted"),
    [
        ("svm", {}, SvmText()),
        ("svm", {"one_based": True, "bits": 20}, SvmText(20, True)),
        ("svm", {"positive": 3}, OneLabel(SvmText(), 3.0)),
        ("vw", {}, VwText()),
        ("vw", {"positive": "2", "bits": 10}, OneLabel(VwText(10), 2.0)),
        ("csv", {"target": "y", "drop": ["a", "b"]}, DelimitedText(target="y", drop=("a", "b"))),
        ("csv", {"drop": "id", "header": False}, DelimitedText(drop=("id",), header=False)),
        ("tsv", {"positive": 1}, DelimitedText(positive="1", delimiter="\t")),
        ("jsonl", {"interactions": [["a", "b"]]}, JsonLines(interactions=(("a", "b"),))),
        ("arrow", {"weight": "w", "bits": 9}, TableFormat(weight="w", bits=9, typed=True)),
    ],
)
def test_options_become_a_part_that_can_be_stored(format: str, options: dict[str, Any], wanted: Any) -> None:
    part = format_part(format, **options)
    assert part == wanted
    assert from_json(to_json(part)) == part


# ---- rows -----------------------------------------------------------------------------------------------------------


def test_svm_indices_are_columns_as_they_stand_unless_told(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(b"3 1:2 5:1\n2 1:1\n")
    assert [row.entries for row in collect(read(path, one_based=True)).rows] == [{0: 2.0, 4: 1.0}, {0: 1.0}]
    assert [row.entries for row in collect(read(path)).rows] == [{1: 2.0, 5: 1.0}, {1: 1.0}]
    assert [row.label for row in collect(read(path, positive=3)).rows] == [1.0, -1.0]
    path.write_bytes(b"1 0:1\n")
    fault = collect(read(path, one_based=True)).fault
    assert fault is not None
    assert "although indices are to begin with 1" in fault


def test_vw_with_a_positive_label_and_interactions(tmp_path: Path) -> None:
    path = tmp_path / "a.vw"
    path.write_bytes(b"2 |a x:2 |b y:3\n1 |a x\n|a x\n")
    rows = collect(read(path, positive=2, interactions=[("a", "b")])).rows
    assert [len(row.entries) for row in rows] == [3, 1, 1]
    assert 6.0 in rows[0].entries.values()
    assert [row.label for row in rows[:2]] == [1.0, -1.0]
    assert math.isnan(rows[2].label)
    assert rows[2].weight == 0.0


def test_the_same_table_in_every_format_with_columns(tmp_path: Path) -> None:
    rng = random.Random(8)
    records = [
        {
            "x": rng.randrange(9),
            "c": rng.choice(["red", "blue"]),
            "u": rng.uniform(-5, 5),
            "y": rng.choice(["yes", "no"]),
        }
        for _ in range(50)
    ]
    table = pa.Table.from_pylist(records)
    (tmp_path / "a.csv").write_text("x,c,u,y\n" + "".join(f"{r['x']},{r['c']},{r['u']!r},{r['y']}\n" for r in records))
    (tmp_path / "a.tsv").write_text("x\tc\tu\ty\n" + "".join("\t".join(map(str, r.values())) + "\n" for r in records))
    (tmp_path / "a.jsonl").write_text("".join(str(r).replace("'", '"') + "\n" for r in records))
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    options: dict[str, Any] = {"target": "y", "positive": "yes", "interactions": [("x", "c"), ("u", "u")], "bits": 12}
    wanted = content(collect(read(table, **options)).rows)
    assert len(wanted) == 50
    assert wanted[0][0] == ("1.0" if records[0]["y"] == "yes" else "-1.0")
    for ending in ("csv", "tsv", "jsonl", "parquet", "feather"):
        assert content(collect(read(tmp_path / f"a.{ending}", **options)).rows) == wanted, ending


def test_a_stored_part_reads_other_files_and_tables(tmp_path: Path) -> None:
    (tmp_path / "b.txt").write_bytes(b"x,c\n1,red\n,blue\n")
    part = from_json(to_json(format_part("csv", drop=["x"])))
    first = collect(stream_of(tmp_path / "b.txt", part, 1)).rows
    assert [row.entries for row in first] == [{slot("c=red"): 1.0}, {slot("c=blue"): 1.0}]
    table = pa.table({"x": [1, None], "c": ["red", "blue"]})
    assert content(collect(stream_of(table, part)).rows) == content(first)
    with pytest.raises(DataError, match="a table has named columns and cannot be read as SvmText"):
        stream_of(table, format_part("svm"))


def test_what_comes_back_is_a_stream(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes(b"1 1:1\nx\n1 2:1\n")
    stream = read(tmp_path / "a.svm", on_error="skip")
    assert isinstance(stream, Stream)
    assert stream.size == 14
    result = collect(stream)
    assert len(result.rows) == 2
    assert len(result.skipped) == 1
    assert isinstance(read(pa.table({"a": [1]})), TableStream)


def test_a_line_that_cannot_be_read_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n1 2:x\n")
    (tmp_path / "b.svm").write_bytes(b"x 1:1\n1 2:1\n")
    with pytest.raises(DataError, match=r"found 'x'; read\(…, on_error=\"skip\"\) leaves such lines out$"):
        list(raise_faults(read(tmp_path / "a.svm").batches()))
    with pytest.raises(DataError, match=r"found 'x 1:1'$"):
        list(raise_faults(read(tmp_path / "b.svm").batches()))


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("a9a.svm.gz", {}, 32_561),
        ("elec2.csv.gz", {}, 45_312),
        ("cal_housing.csv.gz", {"target": "median_house_value"}, 20_640),
    ],
)
def test_real_data(name: str, options: dict[str, Any], rows: int, data_file: Callable[[str], Path]) -> None:
    found = 0
    for batch in read(data_file(name), **options).batches():
        assert batch.fault is None
        found += len(batch)
    assert found == rows
