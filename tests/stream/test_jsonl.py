"""JSON lines against the json module: the same objects accepted, with the same features; faults; real data."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lowregret import stream
from lowregret.errors import DataError, PartError
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.jsonl import JsonLines
from lowregret.stream.json_name import LONGEST_NAME
from lowregret.stream.json_plain import spelt_in, texts_in
from lowregret.stream.names import NUMBERS
from tests.stream.naive_columns import Field, Meaning, Row, assert_same, number, options, read, slot

# ---- a naive reading -------------------------------------------------------------------------------------------------


class Number(str):
    """A number as it is written."""


class Pairs(list[tuple[str, Any]]):
    """An object, with all of its names."""


def naive_fields(line: bytes) -> list[Field] | None:
    """The fields of a JSON object; None if it is none, or nested too deep."""
    try:
        found = json.loads(
            line.decode(), object_pairs_hook=Pairs, parse_int=Number, parse_float=Number, parse_constant=Number
        )
        return list(flat("", found, 1)) if isinstance(found, Pairs) else None
    except ValueError:
        return None


def flat(name: str, value: Any, depth: int) -> Iterator[Field]:
    if isinstance(value, (Pairs, list)):
        if depth > 64:
            raise ValueError("too deep")
        inner = value if isinstance(value, Pairs) else [(str(at), element) for at, element in enumerate(value)]
        for key, element in inner:
            yield from flat(f"{name}.{key}" if depth > 1 else key, element, depth + 1)
    elif isinstance(value, Number):
        if value == "-Infinity":
            raise ValueError("not even Python writes it for a number that is too large")
        yield Field(name, value, float(value), value == "NaN")
    elif isinstance(value, bool):
        yield Field(name, "true" if value else "false", float(value))
    else:
        yield Field(name, "null" if value is None else value, None, not value)


def naive_row(line: bytes, at: int, meaning: Meaning) -> Row | None:
    fields = naive_fields(line)
    return None if fields is None or any(map(meaning.is_fault, fields)) else meaning.row(at, fields)


# ---- any object ------------------------------------------------------------------------------------------------------

blanks = st.text(" \t\r", max_size=1)
numbers = st.one_of(
    st.integers().map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(json.dumps),
    st.sampled_from(["0", "-0", "1e5", "1.5E+3", "2.5e-320", "123456789012345678901234567890", "0.1e-7", "1e999"]),
)
words = st.one_of(st.text(max_size=12), st.sampled_from(["a", "b", "y", "é", "UP", "😀", 'a"b', "1", "b.0"]))
texts = st.one_of(
    st.builds(json.dumps, words, ensure_ascii=st.booleans()),
    st.text("0123456789abcdefDE", min_size=4, max_size=4).map(lambda code: f'"\\u{code}\\ud83d\\ude00\\/"'),
)
literals = st.sampled_from(["true", "false", "null", "NaN"])


def arrays(elements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.builds("[{}{}]".format, blanks, st.lists(elements, max_size=4).map(",".join))


def objects(elements: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.builds("{0}{1}{0}:{2}{3}{2}".format, blanks, texts, blanks, elements)
    return st.builds("{{{}{}}}".format, blanks, st.lists(pair, max_size=5).map(",".join))


values = st.recursive(
    st.one_of(numbers, texts, literals), lambda inner: st.one_of(arrays(inner), objects(inner)), max_leaves=8
)
lines = objects(values).map(lambda text: text.encode(errors="surrogatepass"))
meanings = st.builds(
    Meaning,
    target=st.just("y"),
    positive=st.sampled_from(["", "UP", "1", "é", "😀"]),
    drop=st.sampled_from([(), ("a",), ("a.b",)]),
    categorical=st.sampled_from([(), ("b",), ("b.0", "é")]),
    bits=st.sampled_from([5, 18]),
    labelled=st.booleans(),
)


def check(contents: list[bytes], meaning: Meaning) -> None:
    """Each line must be read, or refused, as the json module does it."""
    found, faults = read(JsonLines(**options(meaning)), b"\n".join([b"{}", *contents]), skip=True)
    wanted = {at: naive_row(line, at, meaning) for at, line in enumerate(contents, 2) if line.strip(b" \t\r")}
    assert_same(found[1:], [row for row in wanted.values() if row is not None])
    assert [int(fault.split(":")[1]) for fault in faults] == [at for at, row in wanted.items() if row is None]


@given(st.lists(lines, max_size=4), meanings)
def test_any_object_is_read_as_by_the_json_module(contents: list[bytes], meaning: Meaning) -> None:
    check(contents, meaning)


signs = st.one_of(
    st.sampled_from(
        [bytes([byte]) for byte in b'{}[]":,\\u0123.eE+- \tnulltrfasNI\x00\x1f\x7f\x80\xc3\xa9\xed\xa0\xf4\x90']
    ),
    st.binary(min_size=1, max_size=1),
)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    line = draw(lines)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(line)))
        line = line[:at] + draw(st.one_of(signs, st.just(b""))) + line[at + draw(st.integers(0, 1)) :]
    return line.replace(b"\n", b"")


@given(st.lists(damaged(), max_size=4), meanings)
@example([b'{"a":01}', b'{"a":1.}', b'{"a":.5}', b'{"a":-}', b'{"a":1.e3}', b'{"a":+1}', b'{"a":1e}'], Meaning())
@example([b'{"a":1,}', b'{"a":[1,]}', b"{,}", b'{"a" 1}', b'{"a"}', b"{1:2}", b'{"a":}', b'{"a":1 2}'], Meaning())
@example([b"[1]", b"1", b"null", b'{"a":1}}', b'{"a":1]', b'{"a":[1}', b'{"a":1} x', b'{"a":1'], Meaning())
@example([b'{"a":"\\x"}', b'{"a":"\\u12"}', b'{"a":"\\u12g4"}', b'{"a":"\t"}', b'{"a":"b}', b"{\"a\":'b'}"], Meaning())
@example([b'{"\xff":1}', b'{"a":"\xc3"}', b'{"a":"\xed\xa0\x80"}', b'{"a":"\xf4\x90\x80\x80"}'], Meaning())
@example(
    [b'{"a":"\xc0\x80"}', b'{"a":"\xe0\x80\x80"}', b'{"a":"\xf0\x80\x80\x80"}', b'{"a":"\xf4\x8f\xbf\xbf"}'], Meaning()
)
@example([b'{"a":Infinity}', b'{"a":-Infinity}', b'{"a":NaN}', b'{"a":nul}', b'{"a":True}', b'{"a":-NaN}'], Meaning())
def test_damaged_objects_are_refused_where_the_json_module_refuses_them(
    contents: list[bytes], meaning: Meaning
) -> None:
    check(contents, meaning)


@given(st.lists(signs).map(b"".join).map(lambda content: content.replace(b"\n", b"")), meanings)
def test_random_bytes_are_rows_or_faults(content: bytes, meaning: Meaning) -> None:
    check([content], meaning)


# ---- particular objects ----------------------------------------------------------------------------------------------


def features(form: JsonLines, *contents: str) -> list[dict[int, float]]:
    rows, faults = read(form, "\n".join(contents).encode())
    assert not faults
    return [row.features for row in rows]


def test_objects_and_arrays_are_flattened() -> None:
    content = '{"a": {"b": 1, "c": [2, {"d": "x"}]}, "7": true, "e": "5"}'
    names = {b"a.b": 1.0, b"a.c.0": 2.0, b"a.c.1.d=x": 1.0, b"e=5": 1.0}
    assert features(JsonLines(), content) == [{7: 1.0} | {slot(name): value for name, value in names.items()}]


def test_an_array_of_many_elements() -> None:
    (found,) = features(JsonLines(bits=31), json.dumps({"a": [1] * 1234}))
    assert found == {slot(f"a.{at}".encode(), 31): 1.0 for at in range(1234)}


def test_names_that_occur_twice_count_twice() -> None:
    rows, _ = read(JsonLines(target="y"), b'{"a": 1, "y": 1, "a": 2, "y": 0, "a": "x"}')
    assert rows == [Row(1, 0.0, 1.0, {slot(b"a"): 3.0, slot(b"a=x"): 1.0})]


@pytest.mark.parametrize("opening", ['{"a":', "["])
def test_depth_has_a_limit(opening: str) -> None:
    def nested(depth: int) -> bytes:
        text = '{"a":' + opening * (depth - 1) + "1"
        return (text + ("}" if opening[0] == "{" else "]") * (depth - 1) + "}").encode()

    rows, faults = read(JsonLines(), nested(64))
    assert (len(rows[0].features), faults) == (1, [])
    _, (fault,) = read(JsonLines(), b"{}\n" + nested(65))
    assert fault.startswith("0.txt:2: expected at most 64 objects and arrays within each other")


@pytest.mark.parametrize("longer", [0, 1, 2, 500, 5000])
def test_names_have_a_limit(longer: int) -> None:
    name = "x" * (LONGEST_NAME - 2 + longer)
    rows, faults = read(JsonLines(), json.dumps({name: {"b": 1}}).encode())
    assert [row.features for row in rows] == ([{slot(f"{name}.b".encode()): 1.0}] if longer == 0 else [])
    assert [fault[:40] for fault in faults] == (["0.txt:1: expected a name of at most 16000"[:40]] if longer else [])


@pytest.mark.parametrize("inner", ["1", '"a"', "[]", '""', "null"])
@pytest.mark.parametrize("size", [LONGEST_NAME - 100, 100_000])
def test_looking_at_lines_takes_little_memory(size: int, inner: str) -> None:
    """A long name times a long array would be 300 MB or more."""
    line = f'{{"{"k" * size}": [{",".join([inner] * 20_000)}]}}'
    tracemalloc.start()
    for look in (texts_in, spelt_in):
        assert sum(map(len, look([line]))) <= 32 * len(line)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20 << 20


def test_lines_that_are_too_deep_are_not_looked_at() -> None:
    assert spelt_in([f'{{"a": {"[" * 900}1{"]" * 900}}}', '{"b": 1}']) == {"b": NUMBERS}
    assert spelt_in([f'{{"a": {"[" * 63}1{"]" * 63}}}']) == {"a" + ".0" * 63: NUMBERS}


def test_all_of_a_long_array_is_looked_at() -> None:
    lines = [json.dumps({"outer": {"an embedding of names": ["x"] * 5000}}) for _ in range(3)]
    assert texts_in(lines) == {f"outer.an embedding of names.{k}": ["x"] * 3 for k in range(5000)}


def test_weights_must_be_there() -> None:
    form = JsonLines(target="y", weight="w.a")
    content = b'{"w": {"a": 2}, "y": 1}\n{"y": 1}\n{"w": {"a": -1}}\n{"w": {"a": "2"}}\n{"w": {"a": null}}\n'
    rows, faults = read(form, content, skip=True)
    assert rows == [Row(1, 1.0, 2.0, {})]
    assert [fault.split(",")[0] for fault in faults] == [f"0.txt:{line}: expected a number" for line in (2, 3, 4, 5)]
    assert "found '{\"y\": 1}'" in faults[0]


def test_rows_to_be_scored_need_no_label_and_no_weight() -> None:
    content = b"""{"a": 1}
{"a": 1, "y": "UP", "w": null}
{"a": 1, "y": 1e999, "w": 3}
{"a": 1, "y": 5, "w": 2}
{"a": 1, "y": 5}
{"a": 1, "y": 5, "w": -2}
{"a": 1e999, "y": 5}"""
    rows, faults = read(JsonLines(target="y", weight="w", labelled=False), content, skip=True)
    assert [str(row.label) for row in rows] == ["nan", "nan", "nan", "5.0", "5.0"]
    assert [row.weight for row in rows] == [0.0, 0.0, 0.0, 2.0, 1.0]
    assert [row.features for row in rows] == [{slot(b"a"): 1.0}] * 5
    assert [fault[:9] for fault in faults] == ["0.txt:6: ", "0.txt:7: "]


def test_features_of_0_are_left_out() -> None:
    content = '{"a": 0, "b": false, "c": -0.0, "d": 0, "e": "0", "f": [0, 1], "g": 1e-999}'
    names = (b"d=0", b"e=0", b"f.1")
    assert features(JsonLines(categorical=("d",)), content) == [{slot(name): 1.0 for name in names}]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1, 2]", "expected a JSON object, {…}, but found '[1, 2]'"),
        ("{a: 1}", "expected a name in double quotes, but found 'a: 1}'"),
        ('{"a" 1}', "expected a colon after the name, but found '1}'"),
        ('{"a": }', "expected a value (a number, text in double quotes"),
        ('{"a": 1 "b": 2}', "expected a comma or the end of the object or array, but found '\"b\": 2}'"),
        ('{"a": 1', "expected a comma or the end of the object or array, but found the end of the line"),
        ('{"a": "\\x"}', "expected text in double quotes"),
        ('{"a": 1} 2', "expected the end of the line after the object, but found '2'"),
        ('{"a": 1e999}', "'a': expected a finite number, below 1.8e308, but found '1e999'"),
        ('{"a": -1e999, "b": 2}', "'a': expected a finite number, below 1.8e308, but found '-1e999'"),
        ('{"y": "a, b", "b": 2}', "such as --loss softmax), but found 'a, b'"),
        ('{"y": "UP"}', "expected a number in the target column (if it has classes, say with --positive"),
    ],
)
def test_faults_name_line_cause_and_remedy(line: str, said: str) -> None:
    content = f'{{"y": 1}}\n \r\n{line}\n{{"y": 2}}'.encode()
    rows, (fault,) = read(JsonLines(target="y"), content)
    assert fault.startswith("0.txt:3: ")
    assert said in fault
    assert [row.line for row in rows] == [1]
    rows, faults = read(JsonLines(target="y"), content, skip=True)
    assert faults == [fault]
    assert [row.line for row in rows] == [1, 4]


def test_a_byte_order_mark_is_no_text() -> None:
    rows, faults = read(JsonLines(), b'\xef\xbb\xbf{"7": 1}\n{"8": 1}')
    assert [(row.line, row.features) for row in rows] == [(1, {7: 1.0}), (2, {8: 1.0})]
    assert not faults


def test_products_are_those_of_a_table() -> None:
    products = (("b", "a"), ("b", "b"))
    table, _ = read(DelimitedText(interactions=products), b"a,c,b\nred,7,3\n,7,2\nred,7,0\n")
    objects = b'{"b": 3, "c": 7, "a": "red"}\n{"c": 7, "b": 2}\n{"a": "red", "b": 0, "c": 7}'
    found, _ = read(JsonLines(interactions=products), objects)
    assert [row.features for row in found] == [row.features for row in table]
    assert [len(row.features) for row in found] == [5, 3, 2]


def test_many_products_find_room() -> None:
    names = [f"c{column}" for column in range(20)]
    form = JsonLines(interactions=tuple(itertools.combinations(names, 3)), bits=24)
    rows = features(form, *[json.dumps(dict.fromkeys(names, 1))] * 50)
    assert len(rows) == 50
    assert sum(rows[0].values()) == sum(rows[-1].values()) == 20 + 20 * 19 * 18 / 6


def test_names_of_plain_columns_are_noted() -> None:
    book = Dictionary()
    content = b'{"a": 1, "b": "red", "c": 5, "d": null, "e": [7, "x"], "f": 0, "g": {"h": 1}}\n{"b": 2}'
    read(JsonLines(categorical=("c",)), content, dictionary=book)
    slots = {name: slot(name.encode()) for name in ("a", "b=red", "c=5", "b")}
    assert {name: at for at in book.slots.tolist() for name in book.names(at)} == slots


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(PartError, match="bits"):
        JsonLines(bits=0)
    with pytest.raises(PartError, match="interactions must name two or three columns"):
        JsonLines(interactions=(("a", "b", "c", "d"),))
    with pytest.raises(DataError, match="cannot be both the target and dropped"):
        JsonLines(target="y", drop=("y",))


# ---- real data -------------------------------------------------------------------------------------------------------


class Case(NamedTuple):
    name: str
    meaning: Meaning


@pytest.mark.parametrize(
    "case",
    [
        Case("elec2.csv.gz", Meaning(target="class", positive="UP", drop=("date",))),
        Case("covtype.csv.gz", Meaning(target="Cover_Type", positive="2")),
        Case("nycflights13.csv.gz", Meaning(target="arr_delay", categorical=("flight", "month"))),
    ],
)
def test_real_data_are_read_as_from_a_table(data_file: Callable[[str], Path], case: Case) -> None:
    with gzip.open(data_file(case.name), "rt") as file:
        table = list(itertools.islice(file, 2001))
    names, *rows = csv.reader(table)
    objects = ["{" + ",".join(map(member, names, row)) + "}" for row in rows]
    found, faults = read(JsonLines(**options(case.meaning)), "\n".join(objects).encode())
    assert not faults
    expected, _ = read(DelimitedText(**options(case.meaning)), "".join(table).encode())
    assert_same(found, [row._replace(line=row.line - 1) for row in expected])


def member(name: str, text: str) -> str:
    plain = text if number(text) is not None else "null" if text in ("", "NA") else json.dumps(text)
    return f"{json.dumps(name)}: {plain}"


@pytest.mark.parametrize(
    ("line", "name", "text"),
    [
        (b'\xef\xbb\xbf{"y": "a", "x": 1}', "y", "a"),
        (b'{"y": {"z": "a"}, "y": {"x": 1}}', "y.z", "a"),
        (b'{"y": "b", "y": "a"}', "y", "a"),
        (b'{"y": {"z.u": 1}, "y.z": {"u": "a"}}', "y.z.u", "a"),
        (b'{"": {"y": "a"}, "y": "b"}', ".y", "a"),
        (b'{"y": "\\ud800a\\udfff", "x": 1}', "y", "\ufffda\ufffd"),
        (b'{"y": "\\ud83d\\ude00"}', "y", "\U0001f600"),
    ],
)
def test_the_class_of_a_line_is_the_text_that_was_read(tmp_path: Path, line: bytes, name: str, text: str) -> None:
    (tmp_path / "r.jsonl").write_bytes(line + b"\n")
    (batch,) = stream.read(tmp_path / "r.jsonl", target=name, classes=True).batches()
    assert batch.names == {batch.labels[0]: text}
