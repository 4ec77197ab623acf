"""Files that are followed: rows come when their lines are whole, replaced and cut files are begun again."""

from __future__ import annotations

import gzip
import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lowregret.errors import DataError
from lowregret.stream import follow as following
from lowregret.stream.follow import Follow, between
from lowregret.stream.read import format_part, stream_of

PATIENCE = 60.0  # seconds after which something is wrong


class Reader:
    """Follows a file in a thread, and remembers rows as (line, label) and what was said."""

    def __init__(self, *paths: Path, form: str = "svm", **options: str) -> None:
        self.said: list[str] = []
        self.rows: list[tuple[int, float]] = []
        self.problem: BaseException | None = None
        self.follow = Follow(self.said.append)
        part = format_part(form, **options)  # type: ignore[arg-type]
        self._stream = stream_of([str(path) for path in paths], part, 1, follow=self.follow)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for batch in self._stream.batches():
                self.rows += zip(batch.lines.tolist(), batch.labels.tolist(), strict=True)
        except BaseException as error:
            self.problem = error

    def wait(self, holds: Callable[[], bool]) -> None:
        begin = time.perf_counter()
        while not holds():
            assert time.perf_counter() - begin < PATIENCE, (self.rows, self.said, self.problem)
            assert self._thread.is_alive(), self.problem
            time.sleep(0.005)

    def has(self, *labels: float) -> None:
        """Wait until these rows, and no others, have come."""
        self.wait(lambda: [label for _, label in self.rows] == list(labels))

    def end(self) -> None:
        self.follow.end()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        if self.problem is not None:
            raise self.problem


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK", 0.005)


def append(path: Path, text: str) -> None:
    with open(path, "a") as file:
        file.write(text)


def test_rows_come_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n2 1:1\n")
    reader = Reader(path)
    reader.has(1, 2)
    append(path, "3 1:1\n")
    reader.has(1, 2, 3)
    append(path, "4 1:")
    time.sleep(0.1)
    assert len(reader.rows) == 3  # half a line is none
    append(path, "1\n5")
    reader.has(1, 2, 3, 4)
    reader.end()
    assert reader.rows == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert reader.said == [f"{path} ends within a line, which is left out: '5'"]


def test_an_empty_file_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("")
    reader = Reader(path, form="csv", target="y")
    append(path, "y,")
    time.sleep(0.05)
    append(path, "a\n7,1\n")
    reader.has(7)
    reader.end()


def test_a_replaced_file_is_read_after_the_old_one(tmp_path: Path) -> None:
    """As log files are rotated: renamed, still written to, then begun anew, with a header of its own."""
    path, old = tmp_path / "a.csv", tmp_path / "a.csv.1"
    path.write_text("y,a\n1,1\n")
    reader = Reader(path, form="csv", target="y")
    reader.has(1)
    path.rename(old)
    append(old, "2,1\n")
    reader.has(1, 2)
    path.write_text("")
    append(old, "3,1\n")  # by a writer that has not yet noticed
    reader.has(1, 2, 3)
    assert reader.said == []
    append(path, "a,y\n0,4\n")
    reader.has(1, 2, 3, 4)
    assert reader.said == [f"{path} is another file now: going on with it from its beginning"]
    reader.end()
    assert reader.rows[-1] == (2, 4)


def test_a_cut_file_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n2 1:1\n")
    reader = Reader(path)
    reader.has(1, 2)
    os.truncate(path, 0)
    reader.wait(lambda: bool(reader.said))
    assert reader.said == [f"{path} was cut to 0 bytes, of which 12 were read: beginning again"]
    append(path, "3 1:1\n")
    reader.has(1, 2, 3)
    reader.end()
    assert reader.rows[-1] == (1, 3)


def test_only_the_last_of_several_files(tmp_path: Path) -> None:
    one, other = tmp_path / "a.svm", tmp_path / "b.svm"
    one.write_text("1 1:1")
    other.write_text("2 1:1\n")
    reader = Reader(one, other)
    reader.has(1, 2)
    append(one, "\n9 1:1\n")
    append(other, "3 1:1\n")
    reader.has(1, 2, 3)
    reader.end()


def test_a_pipe_ends_when_its_writer_says_so(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = Reader(path)
    with open(path, "w") as pipe:
        pipe.write("1 1:1\n2 1:1\n")
        pipe.flush()
        reader.has(1, 2)
        pipe.write("3 1:1")
    reader._thread.join(PATIENCE)
    assert [label for _, label in reader.rows] == [1, 2, 3]
    reader.end()


def test_a_pipe_can_be_ended(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = Reader(path)
    with open(path, "w") as pipe:
        pipe.write("1 1:1\n2 1")
        pipe.flush()
        reader.has(1)
        reader.end()
    assert reader.rows == [(1, 1)]


def test_whoever_stops_reading_ends_it(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text("1 1:1\n")
    batches = stream_of(str(path), format_part("svm"), 1, follow=Follow(print)).batches()
    assert len(next(iter(batches))) == 1
    batches.close()  # type: ignore[attr-defined]
    assert not [one for one in threading.enumerate() if one.name.startswith("lowregret-read")]


def test_memory_does_not_grow_with_the_stream(tmp_path: Path) -> None:
    """Many small writes and replacements leave nothing behind: no thread, no open file."""
    path = tmp_path / "a.svm"
    path.write_text("0 1:1\n")
    reader = Reader(path)
    reader.has(0)
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for k in range(1, 41):
        if k % 4 == 0:
            path.rename(tmp_path / "old")
        append(path, f"{k} 1:1\n")
        reader.has(*range(k + 1))
    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    reader.end()
    assert sum("is another file now" in said for said in reader.said) == 10


def test_only_text_can_be_followed(tmp_path: Path) -> None:
    for form in ("arrow", "parquet"):
        with pytest.raises(DataError, match="is no text, which alone can be followed"):
            stream_of(str(tmp_path / "x"), format_part(form, target="y"), follow=Follow(print))
    with pytest.raises(DataError, match="is no text"):
        stream_of(str(tmp_path / "x.lrc"), format_part("svm"), follow=Follow(print))

    (tmp_path / "a.svm").write_bytes(gzip.compress(b"1 1:1\n"))
    reader = Reader(tmp_path / "a.svm")
    reader._thread.join(PATIENCE)
    with pytest.raises(DataError, match="is compressed: only text as it stands can be followed"):
        reader.end()


@pytest.mark.parametrize(
    ("beside", "before", "found"),
    [
        ("x.1 x.2 x.3 x.4", "x.3", "x.2 x.1"),
        (" ".join(f"x.{k}" for k in range(1, 12)), "x.10", " ".join(f"x.{k}" for k in range(9, 0, -1))),
        ("x.0 x.1 x.2", "x.2", "x.1 x.0"),
        ("x.1 x.1.gz x.2", "x.2", "x.1"),  # which is being compressed
        ("x.1.gz x.2", "x.2", "x.1.gz"),
        ("x.1 x.3", "x.3", None),  # what became of the second?
        ("x.1 x.bak x.1~ xy.1 x.old.1", "x.1", ""),
        ("x-20240131 x-20240201 x-20240130", "x-20240131", "x-20240201"),
        ("x.2023 x.2024", "x.2024", ""),  # years, not counts: the other one is older
        ("x.bak", "x.bak", None),
    ],
)
def test_files_in_between_by_the_names_of_rotation(tmp_path: Path, beside: str, before: str, found: str | None) -> None:
    for name in ("x", *beside.split()):
        (tmp_path / name).write_text(name)
    (tmp_path / "x.70").mkdir()
    (tmp_path / "x.50").symlink_to("x")
    told = between(str(tmp_path / "x"), os.stat(tmp_path / before), os.stat(tmp_path / "x"))
    assert (None if told is None else [Path(name).name for name, _ in told]) == (
        None if found is None else found.split()
    )


@pytest.mark.parametrize("seed", range(4))
def test_files_that_are_renamed_all_the_time_are_read_once(tmp_path: Path, seed: int) -> None:
    path, r, rows = tmp_path / "x", random.Random(seed), 0

    def write(count: int) -> None:
        nonlocal rows
        append(path, "".join(f"{rows + k} 1:1\n" for k in range(count)))
        rows += count

    write(3)
    reader = Reader(path)
    reader.wait(lambda: len(reader.rows) == 3)
    for _ in range(40):
        time.sleep(r.choice((0.0, 0.0, 0.0005, 0.003, 0.01)))
        if r.random() < 0.7:
            for k in range(len(list(tmp_path.iterdir())) - 1, 0, -1):
                (tmp_path / f"x.{k}").rename(tmp_path / f"x.{k + 1}")
            path.rename(tmp_path / "x.1")
        write(r.randrange(1, 5))
    reader.wait(lambda: bool(reader.rows) and reader.rows[-1][1] == rows - 1)
    reader.end()
    if not any("is not read" in line for line in reader.said):
        assert [label for _, label in reader.rows] == list(range(rows))
