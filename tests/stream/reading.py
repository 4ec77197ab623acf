"""What tests of streams share: rows of a stream as plain Python values, and texts as files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from lowregret.stream.batch import Stream
from lowregret.stream.text import text_stream
from lowregret.stream.text_format import TextFormat


class Row(NamedTuple):
    label: float
    weight: float
    entries: dict[int, float]
    place: str


class Result(NamedTuple):
    rows: list[Row]
    skipped: list[str]
    fault: str | None


def collect(stream: Stream, after_batch: Callable[[Result], None] = lambda result: None) -> Result:
    """Everything that a stream hands over; checks what holds for every batch."""
    rows: list[Row] = []
    skipped: list[str] = []
    fault: str | None = None
    for batch in stream.batches():
        assert fault is None, "a fault is the end"
        x = batch.rows
        assert len(batch) == x.indptr.size - 1 == batch.lines.size
        assert x.indptr[-1] == x.indices.size == x.data.size
        for i in range(len(batch)):
            columns = x.indices[x.indptr[i] : x.indptr[i + 1]].tolist()
            assert all(a < b for a, b in pairwise(columns)), "columns ascend"
            assert not columns or columns[-1] < x.columns
            weight = float(batch.weights[i]) if batch.weights.size else 1.0
            values = x.data[x.indptr[i] : x.indptr[i + 1]].tolist()
            rows.append(Row(float(batch.labels[i]), weight, dict(zip(columns, values, strict=True)), batch.place(i)))
        skipped += batch.faults
        fault = batch.fault
        after_batch(Result(rows, skipped, fault))
    return Result(rows, skipped, fault)


def content(rows: Iterable[Row]) -> list[tuple[str, str, dict[int, float]]]:
    """Rows without their places, labels and weights as text, so that NaN equals NaN."""
    return [(repr(row.label), repr(row.weight), row.entries) for row in rows]


def read_bytes(
    folder: Path, text: bytes, form: TextFormat, name: str = "data", threads: int = 1, skip: bool = False
) -> Result:
    """The rows of this text."""
    path = folder / name
    path.write_bytes(text)
    return collect(text_stream(path, form, threads, skip))
