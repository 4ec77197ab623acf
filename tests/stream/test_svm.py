"""LIBSVM text against a naive reading and scikit-learn's."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file

from lowregret.errors import PartError
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.text import text_stream
from tests.stream.reading import read_bytes

DATA = ["a9a", "a9a.t", "enron_spam", "farm_ads", "news20_test", "news20_train", "rcv1_sample"]
shared_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)


def naive(text: bytes, one_based: bool = False, bits: int = 0) -> list[tuple[float, dict[int, float]]]:
    """All rows, by Python's own means."""
    rows = []
    for line in text.split(b"\n"):
        tokens = line.split(b"#")[0].split()
        if not tokens:
            continue
        entries: dict[int, float] = {}
        for token in tokens[1:]:
            index, value = token.split(b":")
            if index != b"qid":
                column = int(index) - one_based
                column = column % 2**bits if bits else column
                entries[column] = entries.get(column, 0.0) + float(value)
        rows.append((float(tokens[0]), entries))
    return rows


def check(folder: Path, text: bytes, form: SvmText | None = None) -> None:
    form = form or SvmText()
    result = read_bytes(folder, text, form)
    assert result.fault is None
    assert [(row.label, row.entries) for row in result.rows] == naive(text, form.one_based, form.bits)
    assert all(row.weight == 1.0 for row in result.rows)


# ---- real data -------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DATA)
def test_real_data_equals_what_scikit_learn_reads(name: str, data_file: Callable[[str], Path]) -> None:
    path = data_file(f"{name}.svm.gz")
    x, y = load_svmlight_file(str(path), zero_based=True)
    first_row = first_entry = 0
    columns = 0
    for batch in text_stream(path, SvmText(), 2).batches():
        rows, entries = len(batch), batch.rows.data.size
        assert batch.fault is None
        assert np.array_equal(batch.labels, y[first_row : first_row + rows])
        assert np.array_equal(batch.rows.indptr, x.indptr[first_row : first_row + rows + 1] - first_entry)
        assert np.array_equal(batch.rows.indices, x.indices[first_entry : first_entry + entries])
        assert np.array_equal(batch.rows.data, x.data[first_entry : first_entry + entries])
        columns = max(columns, batch.rows.columns)
        first_row += rows
        first_entry += entries
    assert (first_row, first_entry, columns) == (x.shape[0], x.nnz, x.shape[1])


# ---- made up ---------------------------------------------------------------------------------------------------------

numbers = st.one_of(
    st.integers(-(10**6), 10**6).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.floats(-100, 100).map(lambda x: f"{x:.3f}"),
    st.floats(0, 1, exclude_min=True).map(lambda x: f"+{x:.30e}"),
)
indices = st.one_of(st.integers(1, 20), st.integers(1, 2**31 - 1))
blanks = st.sampled_from([" ", "  ", "\t", " \t"])
comments = st.sampled_from(["", "#", " # a: b 1:2", "#3:4", " "])


@st.composite
def lines(draw: st.DrawFn) -> str:
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(["", " ", "# only a comment", "\t#1 2:3"]))
    tokens = [draw(numbers)]
    if draw(st.booleans()):
        tokens.append(f"qid:{draw(st.integers(0, 99))}")
    for index in draw(st.lists(indices, max_size=12, unique=True)):
        tokens.append(f"{index}:{draw(numbers)}")
    line = draw(st.sampled_from(["", " "])) + tokens[0]
    for token in tokens[1:]:
        line += draw(blanks) + token
    return line + draw(comments)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(draw(st.lists(lines(), max_size=8)))
    return (text + draw(st.sampled_from(["", end]))).encode()


@given(texts(), st.booleans(), st.sampled_from([0, 1, 5, 31]))
@shared_folder
def test_any_rows(tmp_path: Path, text: bytes, one_based: bool, bits: int) -> None:
    """Values that meet in a column may be added in any order, so few bits only with one entry each."""
    form = SvmText(bits=bits, one_based=one_based)
    wanted = naive(text, one_based, bits)
    result = read_bytes(tmp_path, text, form)
    assert result.fault is None
    assert len(result.rows) == len(wanted)
    for row, (label, entries) in zip(result.rows, wanted, strict=True):
        assert row.label == label
        assert row.entries.keys() == entries.keys()
        for column, value in entries.items():
            assert row.entries[column] == (value if bits in (0, 31) else pytest.approx(value, rel=1e-9, abs=1e290))


def test_rows_that_come_in_any_order_and_twice(tmp_path: Path) -> None:
    rng = random.Random(5)
    text = ""
    for _ in range(200):
        entries = [f"{rng.randrange(50)}:{rng.randrange(-100, 100)}" for _ in range(rng.randrange(60))]
        text += " ".join([str(rng.choice((-1, 1))), *entries]) + "\n"
    check(tmp_path, text.encode())
    check(tmp_path, text.encode(), SvmText(bits=3))


@pytest.mark.parametrize(
    "text",
    [
        b"1 1:2\n", b"1 1:2", b"1 1:2\r\n", b"1 1:2\r", b"\n\n1 1:2\n\n\n-1 2:3\n\n", b"1\n-1", b"1 1:2#c", b"1#c 1:2",
        b"1 # c\n2", b"1 qid:5 1:2", b"1 qid:5", b"1 1:2 qid:x#", b"1  1:2\t3:4  \n", b" 1 1:2", b"\t1\t1:2\t",
        b"1 3:1 1:1 2:1", b"1 1:1 1:2", b"1 0:1", b"1 00000000000000000005:1", b"1.5e3 1:-0.0",
        b"1 5:5e-324 6:1e-310 7:2.4e-320",
        b"1 1:9007199254740993.00000000000000000001 2:9007199254740993.00000000000000000001",
        b"9007199254740993.00000000000000000001 1:1", b"", b"\n", b"#", b"\r\n", b"1 2147483647:1",
    ],
)  # fmt: skip
def test_corners(tmp_path: Path, text: bytes) -> None:
    check(tmp_path, text)


def test_wide_indices_are_taken_modulo(tmp_path: Path) -> None:
    text = b"1 2147483648:1 18446744073709551615:2 123456789012345678901234567890:4 12345678:8 123456789012345:16\n"
    for bits in (1, 18, 31):
        check(tmp_path, text, SvmText(bits=bits))


def test_a_line_of_hard_numbers_takes_no_longer_than_others(tmp_path: Path) -> None:
    """Each would have the line parsed again, if they did not all become known at once."""
    hard = b"9007199254740993.00000000000000000001"
    line = b"1 " + b" ".join(b"%d:%s" % (k, hard) for k in range(1, 20_001))
    check(tmp_path, line + b"\n" + line)


def test_bits_must_make_sense() -> None:
    with pytest.raises(PartError, match="bits must be from 1 to 31"):
        SvmText(bits=32)
    with pytest.raises(PartError):
        SvmText(bits=-1)


# ---- faults ----------------------------------------------------------------------------------------------------------

FAULTS = [
    (b"x 1:1", "expected a finite number as label", "'x 1:1'"),
    (b":1", "expected a finite number as label", "':1'"),
    (b"1,2 1:1", "expected a finite number as label", "'1,2 1:1'"),
    (b"nan 1:1", "expected a finite number as label", "'nan 1:1'"),
    (b"1e999 1:1", "expected a finite number as label", "'1e999 1:1'"),
    (b"1 a:1", "expected index:value, the index a whole number", "'a:1'"),
    (b"1 -1:1", "expected index:value", "'-1:1'"),
    (b"1 :1", "expected index:value", "':1'"),
    (b"1 1:1 qi:2", "expected index:value", "'qi:2'"),
    (b"1 1", "expected a colon between index and value", "'1'"),
    (b"1 1 :2", "expected a colon", "'1 :2'"),
    (b"1 1.5:2", "expected a colon", "'1.5:2'"),
    (b"1 1:", "expected a finite number as value", "the end of the line"),
    (b"1 1: 2", "expected a finite number as value", "' 2'"),
    (b"1 1:x", "expected a finite number as value", "'x'"),
    (b"1 1:2x", "expected a finite number as value", "'1:2x'"),
    (b"1 1:2:3", "expected a finite number as value", "'1:2:3'"),
    (b"1 1:inf", "expected a finite number as value", "'inf'"),
    (b"1 1:1e999", "expected a finite number as value", "'1:1e999'"),
    (b"1 1:1e-310-", "expected a finite number as value", "'1:1e-310-'"),
    (b"1 1:1e-310+5", "expected a finite number as value", "'1:1e-310+5'"),
    (b"1 1:9007199254740993.00000000000000000001.5", "expected a finite number as value", "'1:9007199254740993.0000"),
    (b"1 2147483648:1", "an index of 2³¹ or more needs --bits", "'2147483648:1'"),
    (b"1 18446744073709551617:1", "an index of 2³¹ or more needs --bits", "'18446744073709551617:1'"),
    (b"1 1:1 \xff:2", "expected index:value", "'\N{REPLACEMENT CHARACTER}:2'"),
    (b"1 1:1 \x00", "expected index:value", r"'\x00'"),
]


@pytest.mark.parametrize(("line", "expected", "found"), FAULTS)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_fault_says_what_and_where_and_keeps_the_rows_before(
    tmp_path: Path, line: bytes, expected: str, found: str, end: bytes
) -> None:
    text = end.join([b"1 1:1", b"# a comment", b"-1 2:2 3:3", line, b"1 4:4", b""])
    result = read_bytes(tmp_path, text, SvmText())
    assert [(row.label, row.entries) for row in result.rows] == [(1.0, {1: 1.0}), (-1.0, {2: 2.0, 3: 3.0})]
    assert [row.place for row in result.rows] == [f"{tmp_path}/data:1", f"{tmp_path}/data:3"]
    assert result.fault is not None
    assert result.fault.startswith(f"{tmp_path}/data:4: {expected}")
    assert f", but found {found}" in result.fault


@pytest.mark.parametrize(("line", "expected", "found"), FAULTS)
def test_skipping_leaves_out_just_the_faulty_lines(tmp_path: Path, line: bytes, expected: str, found: str) -> None:
    text = b"\n".join([line, b"1 1:1", line, line, b"", b"-1 2:2", line])
    result = read_bytes(tmp_path, text, SvmText(), skip=True)
    assert [(row.label, row.entries) for row in result.rows] == [(1.0, {1: 1.0}), (-1.0, {2: 2.0})]
    assert [row.place.rsplit(":")[-1] for row in result.rows] == ["2", "6"]
    assert [fault.split(":")[1] for fault in result.skipped] == ["1", "3", "4", "7"]
    assert all(expected in fault for fault in result.skipped)
    assert result.fault is None


def test_index_0_where_indices_begin_with_1(tmp_path: Path) -> None:
    result = read_bytes(tmp_path, b"1 1:1\n1 0:1\n", SvmText(one_based=True))
    assert [row.entries for row in result.rows] == [{0: 1.0}]
    assert result.fault is not None
    assert ":2: index 0, although indices are to begin with 1" in result.fault


def test_a_long_offending_text_is_cut(tmp_path: Path) -> None:
    fault = read_bytes(tmp_path, b"x" * 10_000, SvmText()).fault
    assert fault is not None
    assert fault.endswith("x…'")
    assert len(fault) < 300


def test_labels_need_not_be_classes(tmp_path: Path) -> None:
    result = read_bytes(tmp_path, b"2.5\n-1e-3 1:1\n", SvmText())
    assert [row.label for row in result.rows] == [2.5, -1e-3]
    assert not any(math.isnan(row.label) for row in result.rows)


@pytest.mark.parametrize("ending", [b" ", b"\n", b"\t", b"\r\n", b"#", b" #", b"  "])
def test_entries_of_every_length(tmp_path: Path, ending: bytes) -> None:
    """Words of eight bytes are looked at together: nothing may depend on where they end."""
    some = b"31415926535897932384626"
    values = [
        sign + some[:whole] + b"." + some[:part] for sign in (b"", b"-") for whole in range(9) for part in range(18)
    ]
    values += [some[:whole] for whole in range(1, 20)] + [b"3.14e-2", b"2E5", b"7.e1"]
    lines, expected = [], []
    for size in range(1, 10):
        index = some[:size]
        for value in values:
            if value.strip(b"-.") and b"." in value + b"." and any(c in b"0123456789" for c in value):
                lines.append(b"1 " + index + b":" + value + ending + (b"" if ending.endswith(b"\n") else b"\n"))
                expected.append({int(index): float(value)})
    result = read_bytes(tmp_path, b"".join(lines), SvmText())
    assert result.fault is None
    assert [row.entries for row in result.rows] == expected
