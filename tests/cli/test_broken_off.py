"""Broken off anywhere, by whatever: metrics, predictions and model stand at one row, and going on is as if unbroken."""

from __future__ import annotations

import errno
import io
import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lowregret.cli import scores
from lowregret.cli.room import give_back, set_aside
from lowregret.cli.scores import ScoreFile
from lowregret.cli.work import train as learning
from lowregret.learner.growth import Together
from lowregret.loss import Hinge
from lowregret.risk.kept_trial import Trial
from lowregret.risk.statistics import Tally
from lowregret.run.base import RowRun
from lowregret.run.begin import begin
from lowregret.run.confusion import Confusion
from lowregret.run.linear import LinearRun
from lowregret.run.metrics import Metrics
from lowregret.run.record import RunRecord
from lowregret.run.session import Session
from lowregret.store import file as store
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]

linear: Any = sys.modules[LinearRun.__module__]

LINES = svm_lines(300, features=5000)
CODED = [("1", "2")[k % 2] + line[2:] if line.startswith("+1") else "3" + line[2:] for k, line in enumerate(LINES)]
ROWS = [100, 180, 300]  # of the files together

INTERRUPTED, MEMORY, FULL = KeyboardInterrupt(), MemoryError(), OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture(autouse=True)
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "begin", partial(begin, compiled=False))


def files(tmp_path: Path, lines: list[str]) -> list[Path]:
    edges = [0, *ROWS]
    return [written(tmp_path / f"{k}.svm", lines[edges[k] : edges[k + 1]]) for k in range(3)]


def train(capsys: Capsys, paths: list[Path], *said: object) -> Any:
    return run(capsys, "train", *paths, "--quiet", "--checkpoint", 1e-9, *said)


def bits(path: Path) -> dict[str, bytes]:
    """All that a model file knows of its rows."""
    session = Session.load(path)
    counts = [session.rows, session.nonzeros, session.unlabelled, session.skipped, session.loss, session.error]
    found = {name: array.tobytes() for name, array in session.run.contents()[1].items()}
    for name, judged in (("metrics", session.metrics), ("held", session.held)):
        found |= {f"{name}.{key}": array.tobytes() for key, array in judged.arrays().items()}
    return found | {"counts": repr(counts).encode()}


class Trap:
    """Raises a problem at one call of a function, before or after that does its work, or from there on."""

    def __init__(self, real: Any, problem: BaseException, at: int, after: bool = False, ever: bool = False) -> None:
        self.real, self.problem, self.at, self.after, self.ever = real, problem, at, after, ever
        self.calls = itertools.count()

    def __get__(self, owner: Any, kind: Any = None) -> Callable[..., Any]:
        return partial(self, owner)

    def __call__(self, *args: Any, **options: Any) -> Any:
        call = next(self.calls)
        sprung = call >= self.at if self.ever else call == self.at
        if sprung and not self.after:
            raise self.problem
        found = self.real(*args, **options)
        if sprung:
            raise self.problem
        return found


class Looped:
    """A compiled loop that is interpreted."""

    def __init__(self, trap: Trap) -> None:
        self.py_func = trap


PLACES: dict[str, Callable[[pytest.MonkeyPatch, BaseException], None]] = {
    "before a loop": lambda patch, problem: patch.setattr(
        linear, "learn_rows", Looped(Trap(linear.learn_rows.py_func, problem, 6))
    ),
    "after a loop": lambda patch, problem: patch.setattr(
        linear, "learn_rows", Looped(Trap(linear.learn_rows.py_func, problem, 6, after=True))
    ),
    "in a row": lambda patch, problem: patch.setattr(Hinge, "at", Trap(Hinge.at, problem, 301)),
    "in growing": lambda patch, problem: patch.setattr(Together, "grow", Trap(Together.grow, problem, 0)),
    "in growing the frozen model": lambda patch, problem: patch.setattr(
        Together, "lengthen", Trap(Together.lengthen, problem, 2)
    ),
    "in judging": lambda patch, problem: patch.setattr(Trial, "judge", Trap(Trial.judge, problem, 6)),
    "in freezing": lambda patch, problem: patch.setattr(LinearRun, "_freeze", Trap(LinearRun._freeze, problem, 3)),
    "at a mark": lambda patch, problem: patch.setattr(RunRecord, "mark", Trap(RunRecord.mark, problem, 1)),
    "in settling": lambda patch, problem: patch.setattr(RowRun, "_settle", Trap(RowRun._settle, problem, 1)),
    "in the tally": lambda patch, problem: patch.setattr(Tally, "see", Trap(Tally.see, problem, 1)),
    "in metrics": lambda patch, problem: patch.setattr(Metrics, "see", Trap(Metrics.see, problem, 2)),
    "in lines": lambda patch, problem: patch.setattr(ScoreFile, "see", Trap(ScoreFile.see, problem, 1)),
    "in writing": lambda patch, problem: patch.setattr(ScoreFile, "flush", Trap(ScoreFile.flush, problem, 1)),
    "in a checkpoint": lambda patch, problem: patch.setattr(store, "write", Trap(store.write, problem, 1)),
    "in the last save": lambda patch, problem: patch.setattr(store, "write", Trap(store.write, problem, 3)),
}
SAID = ("--algorithm", "ogd", "--loss", "hinge", "--holdout", 7)


def goes_on(capsys: Capsys, tmp_path: Path, paths: list[Path]) -> None:
    """Check what was broken off, and that the rest makes it whole."""
    model, first = tmp_path / "m.lr", tmp_path / "p.txt"
    session = Session.load(model)
    assert 0 < session.rows < 300 or first.read_text().count("\n") == 300
    assert session.metrics.rows == session.run.rounds
    assert session.metrics.rows + session.held.rows == session.rows
    lines = first.read_text()
    assert lines.count("\n") + session.unwritten.count("\n") == session.rows
    assert lines == "" or lines.endswith("\n")
    if session.rows < 300:
        more = "--skip", session.rows, "--holdout", 7, "--predictions", tmp_path / "q.txt", "--resume", model
        told = train(capsys, paths, *more, "-o", model)
        assert told.code == 0, told.err
        lines += (tmp_path / "q.txt").read_text()
    assert lines == (tmp_path / "whole.txt").read_text()
    assert bits(model) == bits(tmp_path / "whole.lr")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("problem", [INTERRUPTED, MEMORY, FULL], ids=["interrupted", "memory", "full"])
def test_all_stand_at_one_row(capsys: Capsys, tmp_path: Path, place: str, problem: BaseException) -> None:
    paths = files(tmp_path, LINES)
    train(capsys, paths, *SAID, "-o", tmp_path / "whole.lr", "--predictions", tmp_path / "whole.txt")
    with pytest.MonkeyPatch.context() as patch:
        PLACES[place](patch, problem)
        told = train(capsys, paths, *SAID, "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == (130 if problem is INTERRUPTED else 2), told.err
    goes_on(capsys, tmp_path, paths)


class FullDisk(io.FileIO):
    """A file with room for some bytes."""

    room = 0

    def write(self, data: Any) -> int:
        left = self.room - self.tell()
        if left <= 0:
            raise FULL
        return super().write(bytes(data)[:left])


def test_lines_that_find_no_room_are_kept_in_the_model(capsys: Capsys, tmp_path: Path) -> None:
    paths = files(tmp_path, LINES)
    train(capsys, paths, *SAID, "-o", tmp_path / "whole.lr", "--predictions", tmp_path / "whole.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FullDisk, "room", sum(map(len, (tmp_path / "whole.txt").open().readlines()[:140])) + 2)
        patch.setattr("lowregret.cli.scores.open_alone", lambda path: FullDisk(path, "w"))
        told = train(capsys, paths, *SAID, "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == 2
    assert "No space left on device" in told.err
    assert f"80 lines of predictions wait in {tmp_path / 'm.lr'}: --resume writes them first" in told.err
    assert Session.load(tmp_path / "m.lr").unwritten
    assert (tmp_path / "p.txt").read_text().count("\n") == 100
    goes_on(capsys, tmp_path, paths)


@pytest.mark.parametrize("link", ["label", "raw"])
def test_many_classes(capsys: Capsys, tmp_path: Path, link: str) -> None:
    paths = files(tmp_path, CODED)
    said = "--algorithm", "ogd", "--loss", "softmax", "--classes", "1,2,3", "--link", link
    train(capsys, paths, *said, "-o", tmp_path / "whole.lr", "--predictions", tmp_path / "whole.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Confusion, "see", Trap(Confusion.see, INTERRUPTED, 3))
        told = train(capsys, paths, *said, "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == 130
    session = Session.load(tmp_path / "m.lr")
    assert session.rows == session.metrics.rows == session.run.rounds == 180
    more = "--skip", session.rows, "--link", link, "--predictions", tmp_path / "q.txt", "--resume", tmp_path / "m.lr"
    train(capsys, paths, *more, "-o", tmp_path / "m.lr")
    head = "" if link == "label" else "1,2,3\n"
    whole, first, second = ((tmp_path / f"{name}.txt").read_text() for name in ("whole", "p", "q"))
    assert second.startswith(head)
    assert first + second.removeprefix(head) == whole
    assert bits(tmp_path / "m.lr") == bits(tmp_path / "whole.lr")


def test_without_any_model_predictions_stay(capsys: Capsys, tmp_path: Path) -> None:
    paths = files(tmp_path, LINES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "write", Trap(store.write, MEMORY, 0, ever=True))
        told = train(capsys, paths, *SAID, "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == 2
    assert not (tmp_path / "m.lr").exists()
    assert (tmp_path / "p.txt").read_text().count("\n") == 100


def test_a_full_disk_is_met_before_a_batch_is_learnt(capsys: Capsys, tmp_path: Path) -> None:
    """Room for all lines of a batch is asked for first, so that predictions, metrics and model end with one row."""
    paths = files(tmp_path, LINES)
    train(capsys, paths, *SAID, "-o", tmp_path / "whole.lr", "--predictions", tmp_path / "whole.txt")
    real, room = set_aside, sum(map(len, (tmp_path / "whole.txt").open().readlines()[:200]))

    def small(file: int, begin: int, size: int) -> None:
        if begin + size > max(room, ROWS[0] * scores.NUMBER):
            raise FULL
        real(file, begin, size)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scores, "set_aside", small)
        told = train(capsys, paths, *SAID, "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == 2
    assert f"cannot write {tmp_path / 'p.txt'}: No space left on device" in told.err
    session = Session.load(tmp_path / "m.lr")
    lines = (tmp_path / "p.txt").read_text()
    assert session.unwritten == ""
    assert lines.count("\n") == session.rows == session.metrics.rows + session.held.rows
    assert session.rows in ROWS[:2]
    goes_on(capsys, tmp_path, paths)


def test_the_room_set_aside_is_given_back(tmp_path: Path) -> None:
    """It does not show in the length of the file, and afterwards not in what it takes on disk."""
    with open(tmp_path / "f", "wb", 0) as file:
        file.write(b"line\n")
        set_aside(file.fileno(), 5, 1 << 22)
        found = os.fstat(file.fileno())
        assert found.st_size == 5
        give_back(file.fileno(), 5)
        assert os.fstat(file.fileno()).st_blocks <= 64
    read, write = os.pipe()
    set_aside(write, 0, 1 << 22)  # which knows no such thing
    os.close(read)
    os.close(write)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], capture_output=True, check=False)
    if made.returncode:
        pytest.skip(f"no small disk can be made: {made.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_that_stays_full(capsys: Capsys, tmp_path: Path, small_disk: Path) -> None:
    paths = [written(tmp_path / f"{k}.svm", svm_lines(1000, seed=k)) for k in range(5)]
    said = *SAID, "-o", tmp_path / "m.lr", "--predictions", small_disk / "p.txt"
    told = train(capsys, paths, *said)
    assert told.code == 2
    assert f"cannot write {small_disk / 'p.txt'}: No space left on device" in told.err
    session = Session.load(tmp_path / "m.lr")
    assert session.unwritten == ""
    assert 0 < session.rows < 5000
    assert (small_disk / "p.txt").read_text().count("\n") == session.rows
    assert session.rows == session.metrics.rows + session.held.rows
