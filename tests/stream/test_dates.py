"""Dates: against Python's own, the same in every format, and what is refused."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.naive_text import naive_date
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.dates import NO_DATE, moment
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.jsonl import JsonLines
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.read import read as stream
from tests.stream.naive_columns import collected, read, slot

U = np.uint64


def features(when: str, column: str = "when") -> dict[int, float]:
    """The features of a date, as the documentation has them."""
    return {slot(f"{column}.{name}".encode()): value for name, value in naive_date(when).items()}


def read_text(text: str) -> tuple[int, int, int, float, bool]:
    """What compiled code makes of a text, in plain Python; beyond it there is what must not be looked at."""
    return moment(np.frombuffer(text.encode(), np.uint8), U(0), U(len(text.encode())))


zones = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=st.one_of(st.none(), zones))


@given(moments, st.sampled_from([" ", "T", "t"]), st.sampled_from(["auto", "minutes", "seconds", "microseconds"]))
def test_moments_are_those_of_python(when: datetime, between: str, precision: str) -> None:
    text = when.isoformat(between, precision)
    told = datetime.fromisoformat(text)
    weekday, month, hour, days, found = read_text(f" {text}\t")
    assert found
    assert (weekday, month + 1, hour) == (told.weekday(), told.month, told.hour)
    since = told - datetime(2000, 1, 1, tzinfo=UTC if told.tzinfo else None)
    assert days == pytest.approx(since / timedelta(days=1), rel=1e-13, abs=1e-9)


@given(st.dates())
def test_days_are_those_of_python(when: date) -> None:
    assert read_text(when.isoformat()) == (when.weekday(), when.month - 1, -1, (when - date(2000, 1, 1)).days, True)


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2000-01-02T00:00Z", 1.0),
        ("2000-01-02 01:00+01", 1.0),
        ("2000-01-02 01:30+0130", 1.0),
        ("2000-01-01 22:30:00.000-01:30", 1.0),
        ("2000-01-01 23:59:60", 1.0),
        ("2000-01-02 12:00:00.0000000009", 1.5),
    ],
)
def test_offsets_and_fractions(text: str, days: float) -> None:
    assert read_text(text)[3:] == (days, True)


WRONG = [
    *("2023-02-29", "2024-13-01", "2024-00-10", "2024-01-32", "0000-01-01", "2024-1-1", "20240101", "2024/01/01"),
    *("01-02-2024", "2024-01-01x", "2024-01-01 1:00", "2024-01-01 24:00", "2024-01-01 12:60"),
    *("2024-01-01 12:00:61", "2024-01-01 12:00:", "2024-01-01 12:00:00.", "2024-01-01T12", "2024-01-01 12:00+05:"),
    *("2024-01-01 12:00+25:00", "2024-01-01 12:00 PM", "yesterday", "1700000000", "x", "2024-01-01 12.00"),
]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_date_is_refused_with_its_place(text: str) -> None:
    assert not read_text(text)[4]
    said = f"{NO_DATE} in the column 'when', but found '{text}"
    rows, faults = read(DelimitedText(date=("when",)), f"when,x\n2024-01-01,1\n{text},1\n".encode())
    assert [fault.partition(": ")[::2] for fault in faults] == [("0.txt:3", f"{said}'")]
    assert len(rows) == 1
    rows, faults = read(JsonLines(date=("when",)), f'{{"when":"{text}"}}\n'.encode())
    assert faults == [f"0.txt:1: {said}'"]
    rows, faults = collected(TableStream((pa.table({"when": ["", text]}),), TableFormat(date=("when",))).batches())
    assert faults == [f"Table:2: {said}'"]
    assert len(rows) == 1


def test_bad_dates_can_be_left_out_and_missing_ones_are_absent() -> None:
    content = b"when,x\n2024-03-31,1\n,2\nNA,3\nsoon,4\n"
    rows, faults = read(DelimitedText(date=("when",)), content, skip=True)
    assert [row.features.get(slot(b"x")) for row in rows] == [1.0, 2.0, 3.0]
    assert [len(row.features) for row in rows] == [4, 1, 1]
    assert len(faults) == 1


times = st.lists(st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1)), min_size=1, max_size=4)


@given(times, st.sampled_from(["s", "ms", "us", "ns"]))
def test_dates_are_the_same_in_every_format(found: list[datetime], unit: str) -> None:
    whole = found if unit in ("us", "ns") else [when.replace(microsecond=0) for when in found]
    expected = [features(str(when)) for when in whole]
    column = pa.array(whole, pa.timestamp("us")).cast(pa.timestamp(unit))
    texts = [str(when) for when in whole]
    tables = [pa.table({"when": array}) for array in (column, pa.array(texts), pa.array(texts).dictionary_encode())]
    rows = [collected(TableStream((table,), TableFormat(date=("when",))).batches())[0] for table in tables]
    rows.append(read(DelimitedText(date=("when",)), "\n".join(["when,", *(f"{text}," for text in texts)]).encode())[0])
    rows.append(read(JsonLines(date=("when",)), "\n".join(json.dumps({"when": t}) for t in texts).encode())[0])
    for each in rows:
        for row, features_of in zip(each, expected, strict=True):
            assert row.features == pytest.approx(features_of, rel=1e-15)
    assert all([row.features for row in each] == [row.features for row in rows[0]] for each in rows)


def test_the_types_of_a_table_tell_its_dates() -> None:
    noon = datetime(2024, 3, 31, 12)
    cells: dict[str, Any] = {
        "when": pa.array([noon, None]),
        "day": pa.array([noon.date(), None]),
        "there": pa.array([noon.replace(tzinfo=UTC), None], pa.timestamp("us", "America/New_York")),
        "name": pa.array([noon.date(), None]),
        "clock": pa.array([noon.time(), None]),
    }
    rows, _ = collected(stream(pa.table(cells), categorical="name").batches())
    known = features("2024-03-31 12:00") | features("2024-03-31", "day") | features("2024-03-31 08:00-04:00", "there")
    assert rows[0].features == known | {slot(b"name=2024-03-31"): 1.0, slot(b"clock=12:00:00.000000"): 1.0}
    assert rows[1].features == {}
    as_text, _ = collected(TableStream((pa.table({"day": cells["day"]}),), TableFormat()).batches())
    assert as_text[0].features == {slot(b"day=2024-03-31"): 1.0}
