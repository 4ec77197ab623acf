"""Dictionaries of names against a plain dict."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.compile.kernel import kernel
from lowregret.stream.buffers import KEPT, Buffers, close_row, record
from lowregret.stream.cross import begin_row
from lowregret.stream.dictionary import Dictionary, Names
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.vw import VwText
from lowregret.stream.hashing import murmur
from lowregret.stream.read import stream_of
from lowregret.stream.text import text_stream
from tests.stream.naive_vw import Fault, read_line

Name = tuple[int, str]


def expected_names(lines: list[bytes], bits: int) -> dict[Name, None]:
    found: dict[Name, None] = {}
    for line in lines:
        try:
            row = read_line(line)
        except Fault:
            continue
        for number, name in row.names if row else []:
            found[number % 2**bits, name.decode()] = None
    return found


def listed(dictionary: Dictionary) -> set[Name]:
    return {(slot, name) for slot in set(dictionary.slots.tolist()) for name in dictionary.names(slot)}


def check(dictionary: Dictionary, expected: dict[Name, None]) -> None:
    assert len(dictionary) == len(expected)
    assert dictionary.slots.tolist() == [slot for slot, _ in expected]
    assert listed(dictionary) == set(expected)
    counts = Counter(slot for slot, _ in expected)
    assert dictionary.collisions == sum(count for count in counts.values() if count > 1)
    for slot in counts:
        assert dictionary.names(slot) == [name for at, name in expected if at == slot]


def test_names_of_a_stream(tmp_path: Path) -> None:
    """Many names in several files and few slots; names of lines that are left out are not seen."""
    made = random.Random(5)
    users, words, colours = range(3000), range(500), ["red", "blue"]
    lines = [
        f"1 |user u{made.choice(users)}:0.5 |a w{made.choice(words)} x:{made.choice(colours)} z:0 | 7 plain:2".encode()
        for _ in range(2000)
    ]
    lines[1000] = b"1 |user never_seen |a x:1:2"
    for part in range(2):
        (tmp_path / f"part{part}").write_bytes(b"\n".join(lines[1000 * part : 1000 * part + 1000]) + b"\n")
    dictionary = Dictionary()
    stream = text_stream(str(tmp_path / "part*"), VwText(bits=11), threads=2, skip=True, dictionary=dictionary)
    assert sum(len(batch) for batch in stream.batches()) == 1999
    expected = expected_names(lines, 11)
    assert any(name == "a^x:red" for _, name in expected)
    check(dictionary, expected)
    again = Dictionary.load(dictionary.save())
    check(again, expected)
    assert sum(len(batch) for batch in stream.batches()) == 1999
    check(dictionary, expected)


def test_a_loaded_dictionary_goes_on(tmp_path: Path) -> None:
    def seen(text: bytes, dictionary: Dictionary) -> Dictionary:
        (tmp_path / "data").write_bytes(text)
        for _ in text_stream(tmp_path / "data", VwText(), dictionary=dictionary).batches():
            pass
        return Dictionary.load(dictionary.save())

    first = seen(b"1 |a x y\n", Dictionary())
    second = seen(b"1 |a y z\n", first)
    check(second, expected_names([b"|a x y z"], 18))
    check(Dictionary.load(Dictionary().save()), {})


def test_nothing_is_recorded_unless_wanted(tmp_path: Path) -> None:
    out = Buffers.sized(1, 10)
    assert note(out, np.array([[5, 0, 1, 1, 2]])) == 0


# ---- names of tables -------------------------------------------------------------------------------------------------


@kernel
def note(out: Buffers, names: np.ndarray) -> int:
    """Record names in a row of their own each."""
    for k in range(names.shape[0]):
        begin_row(out)
        record(out, names[k, 0], names[k, 1], names[k, 2], names[k, 3], names[k, 4])
        close_row(out, 1.0, 1.0, 0)
    return int(out.cursor[KEPT])


_spans = st.tuples(st.integers(0, 10), st.integers(0, 10)).map(sorted)


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans(), _spans, st.booleans(), _spans), max_size=60))
def test_columns_and_values(records: list[tuple[int, bool, list[int], bool, list[int]]]) -> None:
    """The first part may come from a header, the second may be missing."""
    text, header = b"abababcdcd", b"price_colour"
    out = Buffers.sized(100, 100, named=True)
    rows: list[list[int]] = []
    expected: dict[Name, None] = {}
    for slot, from_header, (begin, end), has_name, (name, name_end) in records:
        space = (-1 - begin, -1 - end) if from_header else (begin, end)
        rows.append([slot, *space, *((name, name_end) if has_name else (-1, -1))])
        first = (header if from_header else text)[begin:end]
        whole = first + (b"=" if first else b"") + text[name:name_end] if has_name else first
        expected[slot, whole.decode()] = None
    assert note(out, np.array(rows, np.int64).reshape(-1, 5)) == len(records)
    dictionary = Dictionary()
    dictionary.see(bytearray(text + bytes(64)), out, header)
    check(dictionary, expected)


def test_names_that_are_made_to_collide_lie_apart() -> None:
    """MurmurHash3 has names with the same hash for every seed: 65,536 of them, all in one place, took a minute."""
    pairs = [(_block(i, 0), _block(i, 1)) for i in range(12)]
    made = [b"".join(pair[i >> at & 1] for at, pair in enumerate(pairs)) for i in range(1 << 12)]
    assert len({int(murmur(np.frombuffer(name, np.uint8), 0, len(name), 7)) for name in made[:64]}) == 1
    dictionary, text = Dictionary(), b"".join(made)
    ends = np.arange(len(made) + 1) * len(made[0])
    dictionary.add(Names(np.frombuffer(text + bytes(8), np.uint8), ends, np.full(len(made), 7)))
    used = np.flatnonzero(dictionary._book.table)
    assert len(dictionary) == len(used) == len(made)
    assert np.max(np.diff(np.flatnonzero(np.diff(used) > 1)), initial=0) < 64, "no long run of neighbours"


def _block(i: int, flipped: int) -> bytes:
    """Eight bytes after which the state of the hash is the same, flipped or not: two flipped bits cancel."""
    words = []
    for bit, number in ((18, i), (31, 1000 + i)):
        four = (number ^ flipped << bit) * pow(0x1B873593, -1, 1 << 32) % (1 << 32)
        four = (four << 17 | four >> 15) % (1 << 32) * pow(0xCC9E2D51, -1, 1 << 32) % (1 << 32)
        words.append(four.to_bytes(4, "little"))
    return b"".join(words)


@pytest.mark.parametrize("coded", [False, True])
def test_tables_of_arrow_have_the_names_of_the_same_tables_in_text(tmp_path: Path, coded: bool) -> None:
    """Row 4 has a weight that is none, and is left out: words, categories and numbers of its own have no name."""
    lines = [
        "y,w,number,zero,kind,code,words,when",
        "1,1,0.5,0,red,7,Spam and HAM,2024-03-31 14:05",
        "0,2,,0,green,,ham,2000-01-01",
        "1,1,2,0,,8,,",
        "0,-1,3,1,blue,9,eggs,2024-12-24 23:00",
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    form = DelimitedText(
        target="y", weight="w", categorical=("code",), text=("words",), date=("when",), ngrams=2,
    )  # fmt: skip
    texts = pyarrow.csv.ConvertOptions(
        column_types={"words": pa.string(), "when": pa.string(), "kind": pa.string()}, strings_can_be_null=False
    )
    table = pyarrow.csv.read_csv(tmp_path / "a.csv", convert_options=texts)
    if coded:
        for name in ("kind", "words"):
            table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
    found = []
    for data in (str(tmp_path / "a.csv"), table):
        dictionary = Dictionary()
        rows = sum(len(batch) for batch in stream_of(data, form, on_error="skip", dictionary=dictionary).batches())
        assert rows == 3
        found.append({(slot, *dictionary.names(slot)) for slot in dictionary.slots.tolist()})
    assert found[0] == found[1]
    names = {name for _, *shared in found[1] for name in shared}
    assert {"number", "kind=red", "code=7", "words=spam and", "when.hour=14", "when.days"} <= names
    assert not names & {"zero", "kind=blue", "code=9", "words=eggs", "when.hour=23"}
