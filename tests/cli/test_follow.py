"""`--follow`: learning and scoring while a file is written, until a signal ends it as the end of the file would."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lowregret.stream import follow as following
from tests.cli.running import Told, run, svm_lines, written
from tests.cli.test_broken_off import bits

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

LINES = svm_lines(120)
HOW = ("--algorithm", "ogd", "--loss", "hinge")
PATIENCE = 60.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "LOOK", 0.005)


def wait(holds: Callable[[], bool]) -> bool:
    """Wait until something holds; returns whether it does."""
    begin = time.perf_counter()
    while not holds() and time.perf_counter() - begin < PATIENCE:
        time.sleep(0.005)
    return holds()


def lines_in(path: Path) -> int:
    return len(path.read_text().splitlines()) if path.exists() else 0


def followed(capsys: Capsys, write: Callable[[], object], number: int, *words: object) -> Told:
    """A command, while a thread writes and in the end sends a signal; that comes whatever happens."""

    def work() -> None:
        try:
            write()
        except BaseException as error:
            problems.append(error)
        finally:
            os.kill(os.getpid(), number)

    problems: list[BaseException] = []
    before = {n: signal.signal(n, signal.default_int_handler) for n in (signal.SIGINT, signal.SIGTERM)}
    writer = threading.Thread(target=work)
    writer.start()
    try:
        said = run(capsys, *words)
    finally:
        writer.join()
        for n, handler in before.items():
            signal.signal(n, handler)
    assert not problems, (problems, said)
    return said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_learning_as_rows_come(capsys: Capsys, tmp_path: Path, number: int) -> None:
    """Written bit by bit, replaced and ended within a line, it is one file learnt from beginning to end."""
    path, scores, model = tmp_path / "a.svm", tmp_path / "scores.txt", tmp_path / "m.lr"
    written(path, LINES[:50])

    def write() -> None:
        assert wait(lambda: lines_in(scores) == 50)
        assert wait(model.exists)  # a checkpoint
        text = "".join(f"{line}\n" for line in LINES[50:100])
        for k in range(0, len(text), 97):
            with open(path, "a") as file:
                file.write(text[k : k + 97])
        assert wait(lambda: lines_in(scores) == 100)
        path.rename(tmp_path / "old.svm")
        written(path, [*LINES[100:], "+1 3:"])
        with open(path, "rb+") as file:
            file.truncate(path.stat().st_size - 1)
        assert wait(lambda: lines_in(scores) == 120)

    outputs = ("-o", model, "--checkpoint", 1e-9, "--predictions", scores, "--json", "--quiet")
    said = followed(capsys, write, number, "train", path, "--follow", *HOW, *outputs)
    assert said.code == 0, said.err
    assert "is another file now" in said.err
    assert "ends within a line, which is left out: '+1 3:'" in said.err
    whole = written(tmp_path / "whole.svm", LINES)
    plain = run(capsys, "train", whole, *HOW, "-o", tmp_path / "n.lr", "--predictions", tmp_path / "n.txt", "--json")
    assert scores.read_text() == (tmp_path / "n.txt").read_text()
    assert bits(model) == bits(tmp_path / "n.lr")
    for name in ("rounds", "loss", "error", "metrics", "certificate"):
        assert said.json[name] == plain.json[name]


def test_the_last_rows_are_held_out_in_the_end(capsys: Capsys, tmp_path: Path) -> None:
    path, scores = written(tmp_path / "a.svm", LINES), tmp_path / "scores.txt"
    write = lambda: wait(lambda: lines_in(scores) == 100)  # noqa: E731
    how = ("--holdout", "last:20", "--json", "--quiet")
    said = followed(capsys, write, signal.SIGINT, "train", path, "--follow", *HOW, *how, "--predictions", scores)
    assert said.code == 0, said.err
    assert said.json["metrics"]["holdout"]["rows"] == 20
    assert lines_in(scores) == 120


def test_scoring_as_rows_come(capsys: Capsys, tmp_path: Path) -> None:
    path, scores = written(tmp_path / "a.svm", LINES[:20]), tmp_path / "scores.txt"
    run(capsys, "train", path, *HOW, "-o", tmp_path / "m.lr", "--quiet")

    def write() -> None:
        assert wait(lambda: lines_in(scores) == 20)
        with open(path, "a") as file:
            file.write("".join(f"{line}\n" for line in LINES[20:60]))
        assert wait(lambda: lines_in(scores) == 60)

    said = followed(capsys, write, signal.SIGTERM, "predict", tmp_path / "m.lr", path, "--follow", "-o", scores)
    assert said.code == 0, said.err
    assert said.err.startswith("60 rows scored")
    assert run(capsys, "predict", tmp_path / "m.lr", path, "--quiet").out == scores.read_text()


@pytest.mark.parametrize("names", [("a.svm.2", "a.svm.1"), ("a.svm-20240131", "a.svm-20240201"), ("b", "c")])
def test_replaced_twice_between_two_looks(capsys: Capsys, tmp_path: Path, names: tuple[str, str]) -> None:
    """What is left of the files in between, by the names of rotation, is read; else it is said that some may lack."""
    path, scores = written(tmp_path / "a.svm", LINES[:40]), tmp_path / "scores.txt"
    found = names[0].startswith("a")

    def write() -> None:
        assert wait(lambda: lines_in(scores) == 40)
        path.rename(tmp_path / names[0])
        written(tmp_path / names[1], LINES[40:80])
        written(tmp_path / "next", LINES[80:]).rename(path)
        assert wait(lambda: lines_in(scores) == (120 if found else 80))

    how = "--json", "--quiet", "--predictions", scores
    said = followed(capsys, write, signal.SIGINT, "train", path, "--follow", *HOW, *how)
    assert said.code == 0, said.err
    assert said.json["rounds"] == (120 if found else 80)
    assert (f"reading {tmp_path / names[1]} first" if found else "if anything, is not read") in said.err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--passes 2 --loss hinge", "--passes reads rows to their end"),
        ("--certify exact --loss hinge", "--certify exact reads rows to their end"),
        ("--holdout last:5% --loss hinge", "--holdout last:P% reads rows to their end"),
        ("--algorithm ogd-eager --loss hinge --eta theory", "--eta theory reads rows to their end"),
        ("", "say --loss, or --positive LABEL"),
    ],
)
def test_refused(capsys: Capsys, tmp_path: Path, words: str, why: str) -> None:
    said = run(capsys, "train", written(tmp_path / "a.svm", LINES), "--follow", *words.split())
    assert said.code == 2
    assert why in said.err
