"""Batches do not depend on threads, blocks or files, and nothing is left behind."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lowregret.stream import text as text_module
from lowregret.stream.batch import Stream
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.text import TextStream, text_stream
from tests.stream.reading import collect, content


def text_of(rows: int, seed: int = 0) -> bytes:
    rng = random.Random(seed)
    lines = []
    for k in range(rows):
        entries = (b" %d:%.3f" % (rng.randrange(100), rng.uniform(-9, 9)) for _ in range(rng.randrange(8)))
        lines.append(b"%d" % k + b"".join(entries) + rng.choice((b"\n", b"\n\n", b" # c\r\n")))
    return b"".join(lines)


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("lowregret")]


@pytest.mark.parametrize("block", [1, 7, 64, 1000, 1 << 20])
def test_rows_do_not_depend_on_threads_or_blocks(tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data"
    path.write_bytes(text_of(400))
    wanted = collect(text_stream(path, SvmText(), 1))
    assert [row.label for row in wanted.rows] == list(range(400))
    monkeypatch.setattr(text_module, "BLOCK", block)
    for threads in (1, 2, 3):
        assert collect(text_stream(path, SvmText(), threads)) == wanted


@pytest.mark.parametrize("threads", [1, 3])
def test_faults_do_not_depend_on_threads_or_blocks(
    tmp_path: Path, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = text_of(300).split(b"\n")
    for k in (5, 6, 80, 200, len(lines) - 1):
        lines[k] = b"1 x:%d" % k
    path = tmp_path / "data"
    path.write_bytes(b"\n".join(lines))
    stopped, skipped = (collect(text_stream(path, SvmText(), 1, skip)) for skip in (False, True))
    assert [int(fault.split(":")[1]) - 1 for fault in skipped.skipped] == [5, 6, 80, 200, len(lines) - 1]
    assert stopped.fault == skipped.skipped[0]
    for block in (1, 50, 900):
        monkeypatch.setattr(text_module, "BLOCK", block)
        assert collect(text_stream(path, SvmText(), threads, skip=False)) == stopped
        assert collect(text_stream(path, SvmText(), threads, skip=True)) == skipped


@given(st.lists(st.integers(0, 60), max_size=9), st.integers(1, 3), st.integers(1, 500))
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_split_into_files(tmp_path: Path, cuts: list[int], threads: int, block: int) -> None:
    lines = text_of(60).splitlines(keepends=True)
    bounds = [0, *sorted(cuts), len(lines)]
    paths = []
    for k in range(len(bounds) - 1):
        paths.append(tmp_path / f"part{k}")
        part = b"".join(lines[bounds[k] : bounds[k + 1]])
        paths[-1].write_bytes(part[:-1] if k % 2 else part)  # a last line feed may be missing
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "BLOCK", block)
        result = collect(text_stream(paths, SvmText(), threads))
    (tmp_path / "whole").write_bytes(b"".join(lines))
    assert content(result.rows) == content(collect(text_stream(tmp_path / "whole", SvmText(), 1)).rows)
    for row in result.rows:
        name, line = row.place.rsplit(":", 1)
        assert float(Path(name).read_bytes().split(b"\n")[int(line) - 1].split()[0]) == row.label


def test_many_small_files(tmp_path: Path) -> None:
    """More than there are buffers."""
    for k in range(150):
        (tmp_path / f"{k:03}.svm").write_bytes(b"%d 1:1\n" % k)
    rows = collect(text_stream(f"{tmp_path}/*.svm", SvmText(), 2)).rows
    assert [row.label for row in rows] == list(range(150))
    assert rows[149].place == f"{tmp_path}/149.svm:1"


def test_a_stream_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(text_of(50))
    stream = text_stream(tmp_path / "data", SvmText(), 2)
    assert isinstance(stream, Stream)
    assert collect(stream) == collect(stream)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_early_leaves_no_thread(tmp_path: Path, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "BLOCK", 1000)
    (tmp_path / "data").write_bytes(text_of(2000))
    batches = text_stream(tmp_path / "data", SvmText(), 3).batches()
    for _ in range(taken):
        next(batches)
    assert bool(our_threads()) == (taken > 0)
    batches.close()  # type: ignore[attr-defined]
    assert our_threads() == []


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("where", ["_parse", "ThreadPoolExecutor"])
def test_closing_in_a_thread_of_its_own(tmp_path: Path, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As happens when that is where garbage is collected: it waits for no thread, least of all for itself."""
    monkeypatch.setattr(text_module, "BLOCK", 1000)
    (tmp_path / "data").write_bytes(text_of(2000))
    waiting, closed, problems = threading.Event(), threading.Event(), list[BaseException]()

    def close() -> None:
        if waiting.wait(10) and not closed.is_set():
            try:
                batches.close()  # type: ignore[attr-defined]
            except BaseException as error:
                problems.append(error)
            closed.set()

    class Pool(ThreadPoolExecutor):
        def submit(self, *args: Any) -> Any:  # type: ignore[override]
            if len(calls) >= 2:
                close()
            calls.append(1)
            return super().submit(*args)

    def parse(*args: Any) -> Any:
        if len(calls) >= 2:
            close()
        calls.append(1)
        return parsed(*args)

    calls: list[int] = []
    parsed = text_module._parse
    monkeypatch.setattr(text_module, where, parse if where == "_parse" else Pool)
    batches = text_stream(tmp_path / "data", SvmText(), 1).batches()
    next(batches)
    waiting.set()
    assert closed.wait(10)
    assert problems == []
    for _ in range(100):
        time.sleep(0.05 if our_threads() else 0)
    assert our_threads() == []


def test_an_exception_of_the_consumer_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "BLOCK", 1000)
    (tmp_path / "data").write_bytes(text_of(2000))

    def consume() -> None:
        for batch in text_stream(tmp_path / "data", SvmText(), 2).batches():
            raise ArithmeticError(batch.name)

    with pytest.raises(ArithmeticError):
        consume()
    assert our_threads() == []


def test_a_fault_leaves_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "BLOCK", 100)
    (tmp_path / "data").write_bytes(b"x\n" + text_of(2000))
    assert collect(text_stream(tmp_path / "data", SvmText(), 2)).fault
    assert our_threads() == []


def test_a_defect_in_a_thread_is_raised_where_batches_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_bytes(text_of(20))

    def broken(*args: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(text_module, "parse_text", broken)
    with pytest.raises(ZeroDivisionError):
        collect(text_stream(tmp_path / "data", SvmText(), 2))
    assert our_threads() == []


def test_blocks_are_read_ahead_but_not_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is that of a few blocks, although the consumer is slow."""
    parsed: list[int] = []
    parse = text_module._parse

    def counted(*args: Any) -> Any:
        parsed.append(1)
        return parse(*args)

    monkeypatch.setattr(text_module, "_parse", counted)
    monkeypatch.setattr(text_module, "BLOCK", 1000)
    (tmp_path / "data").write_bytes(b"1 1:1\n" * 100_000)
    batches = text_stream(tmp_path / "data", SvmText(), 2).batches()
    next(batches)
    time.sleep(0.3)
    assert 1 < len(parsed) <= 4
    batches.close()  # type: ignore[attr-defined]


def test_positive_label(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(b"3 1:1\n1\n2\n3\n")
    stream = TextStream((str(tmp_path / "data"),), SvmText(), 1, positive=3.0)
    labels = np.concatenate([batch.labels.copy() for batch in stream.batches()])
    assert labels.tolist() == [1.0, -1.0, -1.0, 1.0]
