"""Rows that are read several times are parsed once, and come again as they were."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from lowregret.errors import DataError
from lowregret.stream import again
from lowregret.stream.again import Again, Unchanged, read_once
from lowregret.stream.batch import Stream, raise_faults
from lowregret.stream.cache import CacheStream, Recorder
from lowregret.stream.read import format_part, stream_of
from tests.stream.test_cache import OBJECTS, SVM, TABLE, VW, facts, made

CASES: list[tuple[str, list[str], dict[str, Any]]] = [
    ("a.svm", SVM, {"positive": "2"}),
    ("a.vw", VW, {}),
    ("a.csv", TABLE, {"target": "y", "weight": "w", "positive": "UP"}),
    ("a.csv", TABLE, {"target": "y", "classes": True}),
    ("a.jsonl", OBJECTS, {"target": "y", "classes": True}),
]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "LEAST", 1)
    monkeypatch.setattr("lowregret.stream.text.BLOCK", 400)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "lines", "how"), CASES)
def test_every_pass_is_the_first(name: str, lines: list[str], how: dict[str, Any], tmp_path: Path) -> None:
    path = made(tmp_path, name, lines)
    form = format_part(name.partition(".")[2], **how)
    plain = stream_of(str(path), form)
    kept = read_once(plain, form, [str(path)])
    assert isinstance(kept, Again)
    assert kept.size == plain.size
    wanted = [facts(batch) | {"position": batch.position} for batch in plain.batches()]
    next(iter(kept.batches()))  # a pass broken off keeps nothing
    assert [facts(batch) | {"position": batch.position} for batch in kept.batches()] == wanted
    path.unlink()
    for _ in range(2):
        assert [facts(batch) | {"position": batch.position} for batch in kept.batches()] == wanted


def test_a_fault_is_met_each_time(tmp_path: Path) -> None:
    form = format_part("svm")
    kept = Again(stream_of(str(made(tmp_path, "a.svm", [*SVM, "x"])), form), form)
    faults = [[batch.fault for batch in kept.batches()][-1] for _ in range(2)]
    assert faults[0] == faults[1] is not None


@pytest.mark.parametrize(
    "where",
    ["tempfile.TemporaryFile", f"{Recorder.__module__}.Recorder.see", f"{Recorder.__module__}.Recorder.finish",
     "lowregret.stream.cache_file.CacheFile"],
)  # fmt: skip
def test_without_room_rows_are_parsed_again(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(where, full)
    form = format_part("svm")
    plain = stream_of(str(made(tmp_path, "a.svm", SVM)), form)
    kept = Again(plain, form)
    wanted = [facts(batch) for batch in plain.batches()]
    for _ in range(2):
        assert [facts(batch) for batch in kept.batches()] == wanted


def test_without_a_pyarrow_that_loads_rows_are_parsed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = format_part("svm")
    path = made(tmp_path, "a.svm", SVM)
    kept = read_once(stream_of(str(path), form), form, [str(path)])
    assert isinstance(kept, Again)
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # it is there, and importing it fails
    first, second = ([facts(batch) for batch in kept.batches()] for _ in range(2))
    assert first == second != []


def test_what_needs_no_keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = format_part("svm")
    plain = stream_of(str(made(tmp_path, "a.svm", SVM)), form)
    cache = CacheStream(("a.lrc",), form)

    def stays(stream: Stream) -> bool:
        found = read_once(stream, form, [])
        return isinstance(found, Unchanged) and found.stream is stream

    assert stays(cache)
    monkeypatch.setattr(again, "find_spec", lambda name: None)
    assert stays(plain)
    monkeypatch.undo()
    assert stays(plain)  # so small


@pytest.mark.parametrize("change", ["longer", "shorter", "another", "touched", "gone"])
def test_files_that_change_are_not_read_again(change: str, tmp_path: Path) -> None:
    path, form = made(tmp_path, "a.svm", SVM), format_part("svm")
    stream = Unchanged(stream_of(str(path), form), [str(path)])
    wanted = [facts(batch) for batch in stream.batches()]
    assert [facts(batch) for batch in stream.batches()] == wanted
    rows = iter(stream.batches())
    next(rows)
    if change == "another":
        copy = made(tmp_path, "b.svm", SVM)
        os.utime(copy, ns=(0, path.stat().st_mtime_ns))
        copy.replace(path)
    elif change == "touched":
        os.utime(path, (0, 0))
    elif change == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes() * 2 if change == "longer" else path.read_bytes()[:-9])
    for reading in (rows, stream.batches()):
        with pytest.raises(DataError, match=r"has changed since it was first read|damaged or cut short"):
            list(raise_faults(reading))
