"""CSV and TSV against the csv module and a naive reading of fields; faults; random bytes; real data."""

from __future__ import annotations

import csv
import gzip
import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.errors import DataError, PartError
from lowregret.stream.delimited_rows import DelimitedRows
from lowregret.stream.delimited_wide import WideRows
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.text import text_stream
from tests.stream.naive_columns import (
    MISSING,
    Field,
    Meaning,
    Row,
    assert_same,
    collected,
    number,
    options,
    read,
    slot,
)


def field(column: str, text: str, quoted: bool = False) -> Field:
    """What a field of a table is."""
    value = number(text)
    missing = not text or (not quoted and text.strip(" \t") in MISSING)
    return Field(column, text, value, missing)


# ---- any table -------------------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.sampled_from(["007", "+3", ".5", "5.", "1e5", "1E-3", " 4 ", "12345678901234567890123", "2.5e-320", "-0"]),
)
texts = st.one_of(
    st.text(st.characters(exclude_characters="\r\n\t", exclude_categories=["Cs"]), max_size=10),
    st.text('ab",= ', max_size=6),
    st.sampled_from(
        [
            "NA",
            "NaN",
            "null",
            "None",
            " NA ",
            "na",
            "NAN",
            "  ",
            "1e",
            "1-2",
            "nan",
            "5.5.5",
            "-",
            ".",
            "1 2",
        ]
    ),
)
texts = texts.filter(lambda text: text.strip(" \t").lower().lstrip("+-") not in ("inf", "infinity"))  # refused
cells = st.tuples(st.one_of(numbers, texts), st.booleans())


def written(text: str, quoted: bool, delimiter: str) -> str:
    """A field of a table, quoted where it must be."""
    return '"' + text.replace('"', '""') + '"' if quoted or needs_quotes(text, delimiter) else text


def needs_quotes(text: str, delimiter: str) -> bool:
    """What would be another field without."""
    return delimiter in text or text.startswith('"')


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[tuple[str, bool]]], Meaning, str]:
    names = draw(st.lists(texts, min_size=3, max_size=6, unique=True).filter(lambda names: any(names)))
    delimiter = draw(st.sampled_from(",\t"))
    positive = draw(st.sampled_from(["", "UP", "1", "a", 'a"b']))
    target = draw(st.sampled_from([*filter(None, names)]))
    rest = [name for name in names if name != target]
    drop = tuple(draw(st.sets(st.sampled_from(rest))))
    categorical = tuple(draw(st.sets(st.sampled_from(rest))) - {*drop})
    labels = st.tuples(st.one_of(numbers, st.sampled_from(["", "NA", " "])), st.just(False))
    labelled = draw(st.booleans())
    if not labelled:
        labels = st.one_of(labels, cells, st.tuples(st.just("-1e999"), st.booleans()))
    if positive:
        labels = st.one_of(labels, cells, st.tuples(st.sampled_from([positive, "1.0"]), st.booleans()))
    fields = [labels if name == target else cells for name in names]
    rows = draw(st.lists(st.tuples(*fields).map(list), max_size=8))
    rows = [[(text, quoted or needs_quotes(text, delimiter)) for text, quoted in row] for row in rows]
    meaning = Meaning(target, "", positive, drop, categorical, draw(st.sampled_from([4, 18, 31])), labelled)
    return names, rows, meaning, delimiter


@given(tables(), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_table_is_read_as_documented(table: Any, feed: str, bom: bool) -> None:
    names, rows, meaning, delimiter = table
    lines = [delimiter.join(written(name, True, delimiter) for name in names)]
    lines += [delimiter.join(written(text, quoted, delimiter) for text, quoted in row) for row in rows]
    content = feed.join(lines).encode()
    found, faults = read(DelimitedText(**options(meaning), delimiter=delimiter), b"\xef\xbb\xbf" * bom + content)
    assert not faults
    expected = [
        meaning.row(line, [field(name, *cell) for name, cell in zip(names, row, strict=True)])
        for line, row in enumerate(rows, 2)
    ]
    assert_same(found, expected)
    back = list(csv.reader(lines[1:], delimiter=delimiter))  # what was written is the table that was meant
    assert back == [[text for text, _ in row] for row in rows]


@given(tables())
def test_without_the_target_only_labels_are_missing(table: Any) -> None:
    names, rows, meaning, delimiter = table
    form = DelimitedText(**options(replace(meaning, labelled=False, weight="no such column")), delimiter=delimiter)
    at = names.index(meaning.target)
    lines = [[written(name, True, delimiter) for name in names]]
    lines += [[written(text, quoted, delimiter) for text, quoted in row] for row in rows]
    found, faults = read(form, "\n".join(delimiter.join(line[:at] + line[at + 1 :]) for line in lines).encode())
    assert not faults
    expected, _ = read(form, "\n".join(map(delimiter.join, lines)).encode())
    assert_same(found, [row._replace(label=math.nan, weight=0.0) for row in expected])


noughts = st.one_of(  # in runs, or else there would hardly ever be four in a row
    st.integers(1, 9).map(lambda count: ["0"] * count),
    st.sampled_from(["1", "00", "-0", "0.0", "", "0x", "25"]).map(lambda text: [text]),
)


@given(st.data(), st.integers(2, 20), st.sampled_from(",\t"))
def test_tables_full_of_noughts(data: st.DataObject, width: int, delimiter: str) -> None:
    names = [f"c{column}" for column in range(width)]
    role = st.sampled_from(names)
    drop = tuple(data.draw(st.sets(role, max_size=2)))
    target = data.draw(role.filter(lambda name: name not in drop)) if len(drop) < width else ""
    categorical = tuple(data.draw(st.sets(role, max_size=2)) - {*drop, target})
    meaning = Meaning(target, "", "1", drop, categorical, data.draw(st.sampled_from([4, 18])))
    cells = st.lists(noughts, min_size=1, max_size=width).map(lambda runs: [*itertools.chain(*runs)])
    widths = st.sampled_from([width, width, width, width - 1, width + 1, width + 4])
    rows = data.draw(st.lists(st.builds(lambda row, size: (row * size)[:size], cells, widths), min_size=1, max_size=8))
    content = "\n".join(map(delimiter.join, [names, *rows])).encode()
    found, faults = read(DelimitedText(**options(meaning), delimiter=delimiter), content, skip=True)
    whole = {line: row for line, row in enumerate(rows, 2) if len(row) == width}
    assert_same(found, [meaning.row(line, map(field, names, row)) for line, row in whole.items()])
    wrong = [line for line, row in enumerate(rows, 2) if line not in whole and row != [""]]
    assert [int(fault.split(":")[1]) for fault in faults] == wrong


@given(tables(), st.integers(0, 8))
def test_any_split_into_files_reads_the_same(table: Any, cut: int) -> None:
    names, rows, meaning, delimiter = table
    form = DelimitedText(**options(meaning), delimiter=delimiter)
    header = delimiter.join(written(name, True, delimiter) for name in names)
    lines = [delimiter.join(written(text, quoted, delimiter) for text, quoted in row) for row in rows]
    whole, _ = read(form, "\n".join([header, *lines]).encode())
    parts, _ = read(form, *("\n".join([header, *part]).encode() for part in (lines[:cut], lines[cut:])))
    assert_same([row._replace(line=0) for row in parts], [row._replace(line=0) for row in whole])


# ---- particular tables -----------------------------------------------------------------------------------------------


def features(form: DelimitedText, *files: str) -> list[dict[int, float]]:
    rows, faults = read(form, *(file.encode() for file in files))
    assert not faults
    return [row.features for row in rows]


def test_without_header_columns_are_numbers() -> None:
    form = DelimitedText(target="1", header=False)
    rows, _ = read(form, b"\xef\xbb\xbf5,6,x\n7,8,y\n")
    assert rows == [
        Row(1, 5.0, 1.0, {2: 6.0, slot(b"3=x"): 1.0}),
        Row(2, 7.0, 1.0, {2: 8.0, slot(b"3=y"): 1.0}),
    ]


@pytest.mark.parametrize(("header", "delimiter"), [("a\tb", "\t"), ("a,b", ","), ("a,b\tc,d", ","), ("a", ",")])
def test_the_delimiter_is_the_one_the_header_has_more_of(header: str, delimiter: str) -> None:
    opened, size = DelimitedText().opened(f"{header}\n1".encode(), "file")
    assert isinstance(opened, DelimitedRows)
    assert (chr(opened.delimiter), size) == (delimiter, len(header) + 1)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"target": "a", "categorical": ("b",)}, DelimitedRows),
        ({"text": ("b",)}, WideRows),
        ({"date": ("a",)}, WideRows),
        ({"interactions": (("a", "b"),)}, WideRows),
    ],
)
def test_tables_wait_for_no_code_that_they_do_not_need(told: dict[str, Any], kind: type) -> None:
    opened, _ = DelimitedText(**told).opened(b"a,b\n1,2\n", "file")
    assert type(opened) is kind


def test_columns_go_by_name_whatever_their_order() -> None:
    form = DelimitedText(target="y")
    rows, _ = read(form, b"y,a,b\n1,2,3\n", b"b,c,y\n3,4,1\n")
    a, b, c = (slot(name) for name in (b"a", b"b", b"c"))
    assert rows == [Row(2, 1.0, 1.0, {a: 2.0, b: 3.0}), Row(2, 1.0, 1.0, {b: 3.0, c: 4.0})]


def test_blank_lines_are_no_rows_but_count() -> None:
    rows, faults = read(DelimitedText(), b"a,b\r\n\r\n1,2\n\n\n3,4\nx")
    assert [row.line for row in rows] == [3, 6]
    assert faults == ["0.txt:7: expected 2 fields, one for each column, but found 'x'"]


def test_weights_and_rows_without_label() -> None:
    form = DelimitedText(target="y", weight="w")
    rows, _ = read(form, b"w,y,a\n2,1,7\n0.5,,7\n 3 ,NA,7\n0,-1,7")
    assert [(row.label, row.weight) for row in rows if row.label == row.label] == [(1.0, 2.0), (-1.0, 0.0)]
    assert [row.line for row in rows if row.label != row.label] == [3, 4]


@pytest.mark.parametrize("width", [3, 4, 5, 8, 9])
def test_rows_of_noughts_have_as_many_fields_as_others(width: int) -> None:
    header, row = ",".join("abcdefghi"[:width]), ",".join("0" * width)
    rows, faults = read(DelimitedText(), "\n".join([header, row, row + ",0", row + ",", row[2:]]).encode(), skip=True)
    assert [(row.line, row.features) for row in rows] == [(2, {})]
    assert [fault.split("but found ")[1] for fault in faults] == ["',0'", "','", repr(row[2:])]


def test_features_of_0_are_left_out() -> None:
    form = DelimitedText(target="y", categorical=("c",), interactions=(("a", "b"), ("a", "c")))
    a, zero = slot(b"a"), slot(b"c=0")
    rows, _ = read(form, b'a,b,c,y\n2,0,0,0\n-0,0.0,,1\n"0", 0 ,NA,2\n0e5,1e-999,,3\n')
    assert rows == [
        Row(2, 0.0, 1.0, {a: 2.0, zero: 1.0, (a * 16777619 ^ zero) % 2**18: 2.0}),
        Row(3, 1.0, 1.0, {}),
        Row(4, 2.0, 1.0, {}),
        Row(5, 3.0, 1.0, {}),
    ]


def test_rows_to_be_scored_need_no_label_and_no_weight() -> None:
    form = DelimitedText(target="y", weight="w", labelled=False)
    files = [b"a,y\n1,5\n1,UP\n1,1e999\n1,\n", b"a\n1\n", b"w,a\n7,1\n", b"y,a,w\n5,1,2\n5,1,\nx,1,3\n"]
    rows, faults = read(form, *files)
    assert not faults
    assert [str(row.label) for row in rows] == ["5.0", *["nan"] * 5, "5.0", "5.0", "nan"]
    assert [row.weight for row in rows] == [1.0, *[0.0] * 5, 2.0, 1.0, 0.0]
    assert [row.features for row in rows] == [{slot(b"a"): 1.0}] * 9
    _, faults = read(form, b"y,a,w\n5,1,-2\n5,1,x\n5,1e999,1\n5,1\n", skip=True)
    assert [fault[:9] for fault in faults] == [f"0.txt:{line}: " for line in (2, 3, 4, 5)]
    with pytest.raises(DataError, match="has no column 'b'"):
        read(DelimitedText(target="y", categorical=("b",), labelled=False), b"a\n1\n")


def test_quoted_markers_are_text_and_quoted_numbers_numbers() -> None:
    a = slot(b"a")
    assert features(DelimitedText(), 'a,b\n"NA","5"\n"",""\n" 5 ","a""b"') == [
        {slot(b"a=NA"): 1.0, slot(b"b"): 5.0},
        {},
        {a: 5.0, slot(b'b=a"b'): 1.0},
    ]


def test_a_field_equal_to_the_positive_class_is_it_even_if_it_says_nothing_is_there() -> None:
    rows, _ = read(DelimitedText(target="y", positive="None"), b"y,a\nNone,1\nBoth,1\nNA,1\n")
    assert [row.label for row in rows[:2]] == [1.0, -1.0]
    assert rows[2].label != rows[2].label


@pytest.mark.parametrize("order", list(itertools.permutations("bay")))
def test_products_of_columns_do_not_depend_on_their_order(order: tuple[str, ...]) -> None:
    form = DelimitedText(target="y", interactions=(("b", "a"), ("b", "b")), bits=20)
    b, red = slot(b"b", 20), slot(b"a=red", 20)
    rows = [{"a": "red", "b": "3", "y": "1"}, {"a": "red", "b": "", "y": "1"}, {"a": "NA", "b": "2", "y": "1"}]
    content = "\n".join([",".join(order), *(",".join(row[name] for name in order) for row in rows)])
    assert features(form, content) == [
        {b: 3.0, red: 1.0, (b * 16777619 ^ red) % 2**20: 3.0, (b * 16777619 ^ b) % 2**20: 9.0},
        {red: 1.0},
        {b: 2.0, (b * 16777619 ^ b) % 2**20: 4.0},
    ]


def test_many_products_find_room() -> None:
    names = [f"c{column}" for column in range(20)]
    form = DelimitedText(interactions=tuple(itertools.combinations(names, 3)), bits=24)
    rows = features(form, "\n".join([",".join(names), *[",".join("1" * 20)] * 50]))
    assert len(rows) == 50
    assert sum(rows[0].values()) == sum(rows[-1].values()) == 20 + 20 * 19 * 18 / 6


def test_names_are_noted() -> None:
    book = Dictionary()
    read(
        DelimitedText(target="y"), b"a,b,d,y\n1,red,0,x\nblue,NA,0,1\n7,red,0,2\n8,red,0,3", skip=True, dictionary=book
    )
    slots = {name: slot(name.encode()) for name in ("a", "b=red", "a=blue")}
    assert {name: at for at in book.slots.tolist() for name in book.names(at)} == slots


# ---- faults ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,2", "expected 3 fields, one for each column, but found '1,2'"),
        ("1,2,3,4", "expected 3 fields, one for each column, and then the end of the line, but found ',4'"),
        ("1,2,3,", "expected 3 fields, one for each column, and then the end of the line, but found ','"),
        ('1,"2,3', "expected a closing quote before the end of the line"),
        ('1,"2"3,4', "expected the end of the field after its closing quote"),
        ('1,"a"b,4', "expected the end of the field after its closing quote"),
        ("1,2e999,4", "column 'a': expected a finite number, below 1.8e308"),
        ("1,inf,4", "column 'a': expected a finite number, below 1.8e308 (if it is no number, name its column"),
        ("1, -Infinity ,4", "column 'a': expected a finite number"),
        ("1,inf,4", "name its column in --categorical), but found 'inf'"),
        ('1,"inf",4', "name its column in --categorical), but found 'inf'"),
        ('1," +Infinity ",4', "column 'a': expected a finite number"),
        ('1," 2e999",4', "column 'a': expected a finite number, below 1.8e308"),
        ('1,"2e999",4', "name its column in --categorical), but found '2e999'"),
        ('"U ""P""",2,4', "such as --loss softmax), but found 'U \"P\"'"),
        ('1,2,""', "expected a number, 0 or more, in the weight column, but found nothing"),
        ("UP,2,4", "expected a number in the target column (if it has classes, say with --positive which"),
        ("1,2,", "expected a number, 0 or more, in the weight column, but found the end of the line"),
        ("1,2,-1", "expected a number, 0 or more, in the weight column, but found '-1'"),
        ("1,2,x", "expected a number, 0 or more, in the weight column, but found 'x'"),
    ],
)
def test_faults_name_line_cause_and_remedy(line: str, said: str) -> None:
    form = DelimitedText(target="y", weight="w")
    content = f"y,a,w\n1,2,3\n\n{line}\n5,6,7\n".encode()
    rows, (fault,) = read(form, content)
    assert fault.startswith("0.txt:4: ")
    assert said in fault
    assert [row.line for row in rows] == [2]
    rows, faults = read(form, content, skip=True)
    assert faults == [fault]
    assert [row.line for row in rows] == [2, 5]


@pytest.mark.parametrize(
    ("content", "header", "said"),
    [
        (b"", True, "0.txt is empty: expected the names of its columns"),
        (b"", False, "0.txt is empty: expected rows"),
        (b"\xef\xbb\xbf", True, "0.txt is empty"),
        (b"\n1,2\n", True, "0.txt begins with an empty line"),
        (b'a,"b\nc",d\n', True, "0.txt:1: the names of columns must be on one line"),
        (b"a,b,a\n", True, "0.txt has two columns 'a', 1 and 3"),
        (b"a,z\n", True, "0.txt has no column 'y'; it has 'a', 'z'"),
        (b"1,2\n", False, "0.txt has no column 'y'; it has '1', '2'"),
    ],
)
def test_headers_that_do_not_fit(content: bytes, header: bool, said: str) -> None:
    with pytest.raises(DataError) as error:
        read(DelimitedText(target="y", header=header), content)
    assert said in str(error.value)


@pytest.mark.parametrize("wrong", [{"bits": 0}, {"bits": 32}, {"delimiter": "x"}, {"interactions": (("a",),)}])
def test_settings_that_make_no_sense(wrong: dict[str, Any]) -> None:
    with pytest.raises(PartError, match=next(iter(wrong))):
        DelimitedText(**wrong)


pieces = st.sampled_from([b",", b'"', b"\n", b"\r", b" ", b"1", b"e", b"-", b".", b"NA", b"x"])
soup = st.lists(st.one_of(pieces, st.binary(max_size=3))).map(b"".join)


@given(soup, st.sampled_from([1, 2, 3]))
def test_random_bytes_are_rows_or_faults(content: bytes, width: int) -> None:
    header = ",".join("abc"[:width]).encode()
    rows, faults = read(DelimitedText(target="a", positive="x"), header + b"\n" + content, skip=True)
    lines = [at for at, line in enumerate(content.split(b"\n"), 2) if line not in (b"", b"\r")]
    assert sorted([row.line for row in rows] + [int(fault.split(":")[1]) for fault in faults]) == lines


# ---- real data -------------------------------------------------------------------------------------------------------


def naive_rows(lines: list[str], meaning: Meaning) -> list[Row]:
    reader = csv.reader(lines)
    names = next(reader)
    return [meaning.row(line, map(field, names, row)) for line, row in enumerate(reader, 2)]


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("elec2.csv.gz", Meaning(target="class", positive="UP", drop=("date",))),
        ("covtype.csv.gz", Meaning(target="Cover_Type", positive="2", bits=10)),
        ("nycflights13.csv.gz", Meaning(target="arr_delay", categorical=("flight", "month"))),
    ],
)
def test_real_data_are_read_as_by_the_csv_module(data_file: Callable[[str], Path], name: str, meaning: Meaning) -> None:
    with gzip.open(data_file(name), "rt") as file:
        lines = list(itertools.islice(file, 2001))
    found, faults = read(DelimitedText(**options(meaning)), "".join(lines).encode())
    assert not faults
    assert_same(found, naive_rows(lines, meaning))


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_every_delimiter_is_found_from_the_header(tmp_path: Path, delimiter: str) -> None:
    lines = [["y", "a", "b", "c", "d", "e"], ["1", "0", "0", "0", "0", "2.5"], ["-1", "3", "red", "", "0", "1"]]
    texts = {}
    for sign in (",", delimiter):
        path = tmp_path / f"table{ord(sign)}.csv"
        path.write_text("".join(sign.join(line) + "\n" for line in lines))
        form = DelimitedText(target="y", delimiter="" if sign == delimiter else ",")
        batches = [
            (b.labels.tolist(), b.rows.indices.tolist(), b.rows.data.tolist())
            for b in text_stream(path, form).batches()
        ]
        texts[sign] = batches
    assert texts[delimiter] == texts[","]
    assert texts[","][0][0] == [1.0, -1.0]


# ---- decimal commas --------------------------------------------------------------------------------------------------


@given(st.floats(allow_nan=False, allow_infinity=False), st.booleans())
def test_numbers_with_a_decimal_comma_are_the_same_numbers(value: float, quoted: bool) -> None:
    text = repr(value).replace(".", ",")
    content = f"a;b;y\n{written(text, quoted, ';')};x;1\n".encode()
    ((row,), faults) = read(DelimitedText(target="y", decimal=","), content)
    assert not faults
    assert row.features == {slot(b"b=x"): 1.0} | ({slot(b"a"): value} if value else {})


@pytest.mark.parametrize(
    ("content", "features"),
    [
        (b"a;b\n1,5;2\n", {b"a": 1.5, b"b": 2.0}),
        (b"a;b\n1.5;-,5\n", {b"a=1.5": 1.0, b"b": -0.5}),
        (b'a,b\n"1,5",2\n', {b"a": 1.5, b"b": 2.0}),
        (b"a,b\n1,5\n", {b"a": 1.0, b"b": 5.0}),
        (b"a\tb\n1,5e1\t0,125\n", {b"a": 15.0, b"b": 0.125}),
        (b"a;b\n9007199254740993,00000000000000000001;1\n", {b"a": 9007199254740994.0, b"b": 1.0}),
    ],
)
def test_decimal_commas(content: bytes, features: dict[bytes, float]) -> None:
    ((row,), faults) = read(DelimitedText(decimal=","), content)
    assert not faults
    assert row.features == {slot(name): value for name, value in features.items()}


@pytest.mark.parametrize("last", [b"5", b"12345678", b" 5 ", b"123456789e1"])
def test_the_line_ends_a_number_where_commas_are_delimiters_too(last: bytes, tmp_path: Path) -> None:
    """The next line is no fraction of it: not if it begins with a digit or a quote, nor if it is blank."""
    content = b"".join([b"y,x\n", b"7,", last, b"\n", b'"1,5",', last, b"\n", b"\n", b"3,", last, b"\n"])
    (tmp_path / "f.csv").write_bytes(content)
    rows, faults = collected(
        text_stream(tmp_path / "f.csv", DelimitedText(target="y", decimal=","), threads=1).batches()
    )
    assert not faults
    assert [(row.line, row.label) for row in rows] == [(2, 7.0), (3, 1.5), (5, 3.0)]
    assert [row.features for row in rows] == [{slot(b"x"): float(last)}] * 3


def test_the_delimiter_is_not_the_decimal_comma_of_a_table_without_names() -> None:
    rows, _ = read(DelimitedText(decimal=",", header=False), b"1,5;2,5;3,5\n0,5;0,5;0,5\n")
    assert [row.features for row in rows] == [{1: 1.5, 2: 2.5, 3: 3.5}, {1: 0.5, 2: 0.5, 3: 0.5}]
    with pytest.raises(PartError, match="decimal must be a point or a comma, got ';'"):
        DelimitedText(decimal=";")
