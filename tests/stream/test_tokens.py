"""Words of text: against a plain reading, the same in every format, with their names."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from benchmarks.naive_text import naive_words, phrases
from lowregret.errors import PartError
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.jsonl import JsonLines
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.read import format_part, stream_of
from tests.stream.naive_columns import MISSING, collected, read, slot


def features(text: str, ngrams: int = 1) -> dict[int, float]:
    """The slots of a text in the column t, and how often they occur."""
    return dict(Counter(slot(f"t={phrase}".encode()) for phrase in phrases(text, ngrams)))


def csv_of(texts: list[str]) -> bytes:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
        [["t", "y"], *([text, "1"] for text in texts)]
    )
    return out.getvalue().encode()


letters = st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"])
texts = st.one_of(
    st.text(letters, max_size=20),
    st.text("aB'-\u2019\u2010 ÄéΩжЖİ你，。“”!\U0001f600\"\\", max_size=20),
    st.sampled_from(["Don't--stop", "it\u2019s", "12.5%", "a-b-c -d- 'e'", "Straße CAFÉ", "free Free FREE", "NA", "0"]),
)


@given(st.lists(texts, min_size=1, max_size=5), st.integers(1, 3))
@example(["You don't say: WELL-known \u201cquotes\u201d"], 2)
def test_words_are_the_same_in_every_format(found: list[str], ngrams: int) -> None:
    options: dict[str, Any] = {"target": "y", "text": ("t",), "ngrams": ngrams}
    expected = [features(text, ngrams) for text in found]
    rows, faults = read(DelimitedText(**options, delimiter=","), csv_of(found))
    assert not faults
    assert [row.features for row in rows] == expected
    for plain in (False, True):
        lines = "\n".join(json.dumps({"t": text, "y": 1}, ensure_ascii=not plain) for text in found).encode()
        rows, faults = read(JsonLines(**options), lines)
        assert not faults
        assert [row.features for row in rows] == expected
    column = pa.array(found)
    for array in (column, column.dictionary_encode(), column.cast(pa.large_string())):
        table = pa.table({"t": array, "y": [1] * len(found)})
        rows, faults = collected(TableStream((table,), TableFormat(**options)).batches())
        assert not faults
        assert [row.features for row in rows] == expected


@given(st.lists(st.one_of(st.binary(max_size=12), texts.map(str.encode)), min_size=1, max_size=3))
def test_bytes_that_are_not_utf_8_are_letters(pieces: list[bytes]) -> None:
    found = b"".join(pieces)
    table = pa.table({"t": pa.array([found], pa.binary())})
    ((row,), _) = collected(TableStream((table,), TableFormat(text=("t",))).batches())
    words = naive_words(found.decode(errors="surrogateescape"))
    assert row.features == dict(Counter(slot(b"t=" + word.encode(errors="surrogateescape")) for word in words))


def test_what_is_no_text_is_read_as_it_is_written() -> None:
    """Numbers and truth values are words, what is missing has none; a quote that TSV leaves open is no fault."""
    expected = [features(text) for text in ("0", "1.5", "true", "", 'so "he said', '"Hi" there')]
    lines = [{"t": 0}, {"t": 1.5}, {"t": True}, {"t": None}, {"t": 'so "he said'}, {"t": '"Hi" there'}]
    rows, faults = read(JsonLines(text=("t",)), "\n".join(map(json.dumps, lines)).encode())
    assert not faults
    assert [row.features for row in rows] == expected
    table = 't\tu\n0\t\n1.5\t\ntrue\t\n""\t\n"so ""he said"\t\n"Hi" there\t\n'
    rows, faults = read(DelimitedText(text=("t",), delimiter="\t"), table.encode())
    assert not faults
    assert [row.features for row in rows] == expected
    assert all(features(text) for text in MISSING if text)
    rows, _ = read(
        DelimitedText(text=("t",), delimiter="\t"), "\n".join(["t\tu", *(f"{m}\t1" for m in MISSING)]).encode()
    )
    assert [row.features for row in rows] == [{slot(b"u"): 1.0}] * len(MISSING)


def test_an_open_quote_is_a_fault_where_quotes_are_the_rule() -> None:
    _, faults = read(DelimitedText(text=("t",)), b't,u\n"Hi" there,1\n')
    assert "expected the end of the field after its closing quote" in faults[0]


def test_words_may_be_multiplied_and_lie_in_nested_columns() -> None:
    options: dict[str, Any] = {"text": ("t",), "interactions": (("t", "c"),)}
    one, _ = read(DelimitedText(**options), b"t,c\nred wine,x\nwhite,y\n")
    other, _ = read(JsonLines(**options), b'{"t":"red wine","c":"x"}\n{"c":"y","t":"white"}\n')
    third, _ = collected(
        TableStream((pa.table({"t": ["red wine", "white"], "c": ["x", "y"]}),), TableFormat(**options)).batches()
    )
    assert [row.features for row in one] == [row.features for row in other] == [row.features for row in third]
    assert [len(row.features) for row in one] == [5, 3]
    nested, _ = read(JsonLines(text=("a.t", "l.1")), b'{"a":{"t":"x y"},"l":["p q","p q"]}\n')
    assert nested[0].features == {slot(name): 1.0 for name in (b"a.t=x", b"a.t=y", b"l.0=p q", b"l.1=p", b"l.1=q")}


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_names_are_words_as_they_are_hashed(tmp_path: Path, name: str) -> None:
    text = "Don\u2019t STOP\n\u00c4rger, don't"
    content = csv_of([text.replace("\n", " ")]) if name == "t.csv" else json.dumps({"t": text, "y": 1}).encode()
    (tmp_path / name).write_bytes(content)
    dictionary = Dictionary()
    part = format_part(name.partition(".")[2], target="y", text="t", ngrams=2)
    (batch,) = stream_of(tmp_path / name, part, dictionary=dictionary).batches()
    names = {f"t={phrase}" for phrase in phrases(text, 2)}
    assert {name for k in batch.rows.indices.tolist() for name in dictionary.names(k)} == names
    assert len(dictionary) == len(names)
    assert dictionary.collisions == 0


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(PartError, match="ngrams must be from 1 to 5, got 6"):
        format_part("csv", text="t", ngrams=6)
    with pytest.raises(PartError, match="ngrams are of words: name a column of text"):
        format_part("jsonl", ngrams=2)
