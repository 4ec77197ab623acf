"""Vowpal Wabbit's text against Vowpal Wabbit itself, and against a naive reading."""

from __future__ import annotations

import contextlib
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lowregret.errors import PartError
from lowregret.stream.batch import Batch
from lowregret.stream.cross import Crossing
from lowregret.stream.formats.vw import VwText
from lowregret.stream.text import text_stream
from tests.stream.naive_vw import Fault, read_line

GOOD = [
    "1 |a x y:2 |b z:0.5",
    "-1 2.5 |a x:-3e-1 y:.5 z:5. w:+1.5 v:1E1",
    "1 0.5 'tag |a x",
    "0 tag| x",
    "0 2 'tag| x y z",
    "  1   2  | x",
    "| x y",
    " | only blanks before the bar",
    "'tag| x",
    "1| a word that touches the bar is a tag",
    "key\t1 | x",
    "1\t|a x",
    "1 |a x",
    "1 |  x   y  ",
    "1 |a\tx\ty:2",
    "1 |a x|b y",
    "1 |a x:2|b y",
    "1 || x ||b y |",
    "1 |a |b y",
    "1 |a:2 x y:3 z:word |b:0.5 x |c:1e-1 x",
    "1 |a:0 x y:word |b: 2 x",
    "1 |a 12:2 007 4294967299 99999999999999999999999 12a 0x1 -5 +3 12345678 1234567 123456789",
    "1 |12 x 3 :4",
    "1 |98765432109876543210 x 3",
    "1 | :2 x :3 |a :4 y :0 :5",
    "1 |a x:word y:word x:other 3:word :word",
    "1 |a x: word y:\tword z: 3 w:",
    "1 |a x:e y:e5 z:- w:. v:-. u:1e t:1.5e- s:-e r:+ q:+e",
    "1 |a x:word:2 y::z ::",
    "1 |a x:word|b y",
    "1 |a x:|b y",
    "1 |a x:ind y:nab z:-in",
    "1 |a x:0 y:0.0 z:-0",
    "1 |a x x:2 x",
    "1 |été é:2 |é日本 語 語:0.5",
    '1 |a a\'b "c" #d x#y a=b a,b ^ *',
    "1 |a \x01x\x02 y\x01z \x1f5 \x0bx:2",
    "1 |a a ab abc abcd abcde abcdef abcdefg abcdefgh abcdefghi abcdefghijklmnop abcdefghijklmnopq",
    "1 |a x:0.123456789012345678901234567890 |b y:0.1234567890123456789012345e-25",
    "nobar",
    "1 2",
    "1 ",
    "1 'tag",
    "\ufeff1 |a x",
    "1 |a x\r",
    "1 |a x:2\r",
    "1 |a x:\r",
]
BAD = {
    "foo | x": ("label", "foo | x"),
    "1x | x": ("label", "1x | x"),
    "inf | x": ("label", "inf | x"),
    "1e999 | x": ("label", "1e999 | x"),
    "1 foo | x": ("importance", "foo | x"),
    "1 -1 | x": ("importance", "-1 | x"),
    "1 2 0.5 | x": ("initial", "0.5 | x"),
    "1 2 0.5 tag| x": ("initial", "0.5 tag| x"),
    "1 2 3 4 | x": ("tag", "3 4 | x"),
    "1 |: x": ("namespace", ": x"),
    "1 |a: x": ("namespace", "x"),
    "1 |a:": ("namespace", "the end of the line"),
    "1 |a:2b x": ("namespace", "2b x"),
    "1 |a:inf x": ("namespace", "inf x"),
    "1 |a x:1:2": ("value", "1:2"),
    "1 |a x:12x": ("value", "12x"),
    "1 |a x:0x10": ("value", "0x10"),
    "1 |a x:inf": ("value", "inf"),
    "1 |a x:-Infinity": ("value", "-Infinity"),
    "1 |a x:NaN y": ("value", "NaN y"),
    "1 |a x:1e400": ("value", "1e400"),
    "1 |a x:+1e": ("value", "+1e"),
    "1 |a:1e200 x:1e200": ("value", "1e200"),
    "1 |a x:\v1": ("value", "\v1"),
    "1 |a x\ry": ("carriage return", "\\ry"),
}


def batches(path: Path, data: bytes, form: VwText, skip: bool = False) -> Iterator[Batch]:
    path.write_bytes(data)
    return text_stream(path, form, threads=1, skip=skip).batches()


def crossing(products: list[str]) -> Crossing:
    return Crossing.of([tuple(map(ord, letters)) for letters in products])


def check(path: Path, data: bytes, bits: int, products: list[str]) -> None:
    """Rows, labels, importances, and the lines of rows and faults must be those of the naive reading."""
    expected, faults = [], []
    for line, text in enumerate(data.split(b"\n"), 1):
        try:
            row = read_line(text)
        except Fault:
            faults.append(line)
        else:
            expected += [(line, row)] if row else []
    found = list(batches(path, data, VwText(bits, crossing(products)), skip=True))
    assert [int(fault.removeprefix(f"{path}:").split(":")[0]) for batch in found for fault in batch.faults] == faults
    assert [line for batch in found for line in batch.lines] == [line for line, _ in expected]
    rows = iter(row for _, row in expected)
    for batch in found:
        for i, row in zip(range(len(batch)), rows, strict=False):
            np.testing.assert_equal(batch.labels[i], row.label)
            if batch.weights.size and row.label == row.label:
                assert batch.weights[i] == row.weight
            begin, end = batch.rows.indptr[i : i + 2]
            entries = row.entries(bits, products)
            assert batch.rows.indices[begin:end].tolist() == sorted(entries)
            np.testing.assert_allclose(
                batch.rows.data[begin:end], [entries[slot] for slot in sorted(entries)], 1e-12, 1e-300
            )


# ---- against Vowpal Wabbit -------------------------------------------------------------------------------------------


def generated(lines: int) -> list[str]:
    """Random lines that Vowpal Wabbit reads without a warning."""
    made = random.Random(7)
    names = ["x", "y", "12", "3", "a_long_name_of_a_feature", "é", "x=1", "0", "9" * 12, "user"]
    values = ["", "", ":2", ":0.5", ":-1e-1", ":0", ":word", ": 3", ":e", ":+1", ":other", ":1.25"]
    spaces = ["", "a", "b", "c", "abc", "a:2", "b:0.5", "12"]
    heads = ["1 ", "-1 ", "0.5 2 ", "1 'tag ", "", "tag", "1 0.5 'tag", "-2  "]

    def feature() -> str:
        return made.choice(names) + made.choice(values) if made.random() < 0.9 else f":{made.randrange(5)}"

    def namespace() -> str:
        blanks = (made.choice([" ", "  ", "\t"]) + feature() for _ in range(made.randrange(6)))
        return "|" + made.choice(spaces) + "".join(blanks) + made.choice(["", " "])

    return [made.choice(heads) + "".join(namespace() for _ in range(made.randrange(1, 5))) for _ in range(lines)]


def odd(lines: int) -> list[str]:
    """Random pieces that are no fault, without numbers too large for single precision."""
    made, found = random.Random(8), list[str]()
    pieces = [
        *"|||      ::::\t'-+.ae\x01",
        "b",
        "xyz",
        "long_name",
        "1",
        "2.5",
        "é",
        "1 |a x:",
        "1 2 |b:2 ",
        " y:2",
        "in",
    ]
    while len(found) < lines:
        line = "".join(made.choices(pieces, k=made.randrange(2, 25)))
        with contextlib.suppress(Fault):
            found += [line] if read_line(line.encode()) else []
    return found


@pytest.mark.parametrize("bits", [18, 6])
@pytest.mark.parametrize("products", [[], ["ab", "aa", " b"], ["ba", "ab", "abc", "aab", "bba", "bbb"]])
def test_predictions_of_vowpal_wabbit(tmp_path: Path, bits: int, products: list[str]) -> None:
    """Its weights, which are random, times our rows are its predictions."""
    pytest.importorskip("vowpalwabbit")
    lines = [*GOOD, *generated(300), *odd(1000)]
    data = "".join(line + "\n" for line in lines).encode()
    (tmp_path / "data").write_bytes(data)
    options = ["-b", str(bits), "--noconstant", "--sgd", "-l", "0", "--random_weights"]
    options += [word for p in products for word in ("-q" if len(p) == 2 else "--cubic", p)]
    command = [sys.executable, "-m", "vowpalwabbit", "-d", "data", "-r", "raw", "--readable_model", "weights", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = done.stderr + done.stdout  # it also warns of a namespace with a scale and nothing else
    assert said.count("malformed") == said.count("malformed example! Float expected")
    weights = np.zeros(2**bits)
    for slot, weight in re.findall(rb"^(\d+):(\S+)", (tmp_path / "weights").read_bytes(), re.MULTILINE):
        weights[int(slot)] = float(weight)
    assert np.count_nonzero(weights) == 2**bits
    expected = [float(line.split()[0]) for line in (tmp_path / "raw").read_bytes().split(b"\n") if line]
    assert len(expected) == len(lines)
    row = 0
    for batch in batches(tmp_path / "data", data, VwText(bits, crossing(products))):
        assert batch.fault is None
        for begin, end in pairwise(batch.rows.indptr):
            terms = batch.rows.data[begin:end] * weights[batch.rows.indices[begin:end]]
            near = pytest.approx(expected[row], abs=1e-5 * (1.0 + abs(terms).sum()))  # weights have six digits
            assert terms.sum() == near, lines[row]
            row += 1
    assert row == len(lines)


def test_labels_of_vowpal_wabbit(tmp_path: Path) -> None:
    vowpalwabbit = pytest.importorskip("vowpalwabbit")
    lines = [
        line for line in [*GOOD, *generated(100)] if line == line.strip() and "\ufeff" not in line
    ]  # only in files
    machine = vowpalwabbit.Workspace("--quiet")
    (batch,) = batches(tmp_path / "data", ("\n".join(lines) + "\n").encode(), VwText())
    for i, line in enumerate(lines):
        read = machine.parse(line)
        label, weight = read.get_simplelabel_label(), read.get_simplelabel_weight()
        machine.finish_example(read)
        if label > 1e38:
            assert np.isnan(batch.labels[i]), line
        else:
            assert (batch.labels[i], batch.weights[i]) == (label, weight), line


# ---- against the naive reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [3, 18, 31])
def test_every_form(tmp_path: Path, bits: int) -> None:
    data = "\n".join([*GOOD, "", "  ", "\t\r", *BAD, "", *generated(200)]).encode()
    check(tmp_path / "data", data, bits, [])
    check(tmp_path / "data", data, bits, ["ab", "aa", "abc", "aab", "abb", "bbb", "ac"])


@pytest.mark.parametrize("line", BAD)
def test_faults_say_what_and_where(tmp_path: Path, line: str) -> None:
    what, where = BAD[line]
    (batch,) = batches(tmp_path / "data", f"1 | x\n\n{line}\n1 | y\n".encode(), VwText())
    assert len(batch) == 1
    assert batch.fault is not None
    assert batch.fault.startswith(f"{tmp_path / 'data'}:3: expected")
    assert what in batch.fault
    assert batch.fault.endswith(where if "the end" in where else f"but found {where!r}".replace("\\\\", "\\"))


_hard = "0." + "1" * 30  # more digits than compiled code reads
_words = ["a", "b", "xyz", "longer_name", "1", "2.5", "7e1", "1e999", "inf", "nan", "é", "123456789"]
_pieces = st.sampled_from([*"|||    ::::\t\r\n'-+.e\x01\v\0\ufeff", *_words, _hard, "1 |a x:", "1 2 |b:2 "])


@example(pieces=["|", " ", ":", "\r", "|"])
@settings(max_examples=300)
@example(["1 |a x:", _hard, "e", "\n", "|"])
@example(["1 |a x:", _hard, "-", "\n", "|"])
@example(["1 |a x:", "7e1", "e"])
@example(["1 |a x:", "7e1", "7e1"])
@given(st.lists(_pieces, max_size=40))
def test_any_pieces(tmp_path_factory: pytest.TempPathFactory, pieces: list[str]) -> None:
    path = tmp_path_factory.getbasetemp() / "pieces"
    check(path, "".join(pieces).encode(), 18, ["ab", "aa"])


@settings(max_examples=100)
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    check(tmp_path_factory.getbasetemp() / "bytes", b"\n" + data, 18, [])  # a compressed file begins otherwise


def test_products_may_fill_any_room(tmp_path: Path) -> None:
    """Many more entries than bytes: the room grows, and nothing is lost."""
    names = " ".join(f"n{i}" for i in range(60))
    data = f"1 |a {names} |b {names}\n".encode() * 3
    check(tmp_path / "data", data, 20, ["ab", "aab"])


def test_bits_are_checked() -> None:
    with pytest.raises(PartError, match="bits"):
        VwText(0)
    with pytest.raises(PartError, match="bits"):
        VwText(32)
