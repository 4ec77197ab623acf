"""`lowregret dimension`."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pytest

from lowregret.cli.commands import dimension as command
from lowregret.finite import make_hypotheses
from lowregret.finite.search import Littlestone, VapnikChervonenkis
from tests.cli.running import process, run, written

KEYS = ["hypotheses", "points", "littlestone", "vc", "tree", "shattered", "verified"]


@pytest.fixture
def thresholds(tmp_path: Path) -> Path:
    return written(tmp_path / "class.csv", ["0,0,0", "1,0,0", "1,1,0", "1,1,1", "1,0,0"])


def test_json_of_a_file(thresholds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "dimension", thresholds, "--json")
    assert told.code == 0, told.err
    assert list(told.json) == KEYS
    assert told.json == {
        "hypotheses": 4, "points": 3, "littlestone": [2, 2], "vc": [1, 1], "tree": [1, 0, 2], "shattered": [0],
        "verified": True,
    }  # fmt: skip


def test_for_people(thresholds: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "dimension", thresholds)
    assert told.out == (
        "class        4 hypotheses on 3 points (repeated rows left out: 1)\n"
        "Littlestone  2: the best learner can be forced to 2 mistakes, and makes no more\n"
        "VC           1: shattered {x0}\n"
        "witnesses    verified, by another way than they were found\n"
        "\n"
        "a shattered tree: whatever the learner says, the other label is possible\n"
        "x1\n"
        "├─0─ x0\n"
        "│    ├─0─ h0\n"
        "│    └─1─ h1\n"
        "└─1─ x2\n"
        "     ├─0─ h2\n"
        "     └─1─ h3\n"
    )
    assert run(capsys, "dimension", thresholds, "--quiet").out.count("\n") == 4


def test_large_trees_are_drawn_only_at_the_top(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "dimension", "thresholds:300")
    assert "…" in told.out
    assert told.out.count("\n") < 45
    one = run(capsys, "dimension", "thresholds:1")
    assert one.out.endswith("possible\nh0\n")


@pytest.mark.parametrize("spec", ["thresholds:12", "cube:7", "cube:9", "thresholds:1"])
def test_pictures(tmp_path: Path, capsys: pytest.CaptureFixture[str], spec: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "tree.png"
    assert run(capsys, "dimension", spec, "--plot", path, "--quiet").code == 0
    assert path.read_bytes().startswith(b"\x89PNG")


def test_a_process_of_its_own_reads_standard_input() -> None:
    told = process("dimension", "-", "--json", stdin=b"0,1\n1,0\n")
    assert told.code == 0, told.err
    assert told.json["littlestone"] == [1, 1]
    assert told.err == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere.csv",), "neither a file nor a class by name"),
        (("treshold:5",), "there are thresholds, singletons"),
        (("cube:x",), "expected cube:K"),
        (("cube:3", "--plot", "/no/such/folder/a.png"), "there is no folder"),
        (("cube:3", "--plot", "tree.xyz"), "cannot write tree.xyz"),
        (("cube:3", "--time", "0"), "positive number"),
        ((), "MATRIX.csv|GENERATOR"),
    ],
)
def test_bad_usage(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    told = run(capsys, "dimension", *words)
    assert told.code == 2
    assert told.out == ""
    assert said in told.err
    assert "Traceback" not in told.err


def test_a_broken_file_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "class.csv", ["0,1", "1,2"])
    told = run(capsys, "dimension", path)
    assert (told.code, told.out) == (2, "")
    assert told.err == f"lowregret: {path}:2:2: expected 0 or 1, got '2'\n"


def test_time_limit(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "dimension", "cube:2")  # compiles
    begin = time.monotonic()
    told = run(capsys, "dimension", "random:500x100:seed=1", "--time", "2")
    assert 1.8 <= time.monotonic() - begin <= 2.5  # 2.2 on a free machine
    assert told.code == 0
    assert "time is up" in told.out
    assert "VC           between 7 and 8" in told.out


def test_interrupted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def impatient(self: object, trees: Littlestone, sets: VapnikChervonenkis) -> None:
        if trees.low == 8:
            raise KeyboardInterrupt

    monkeypatch.setattr(command.Watch, "update", impatient)
    told = run(capsys, "dimension", "random:500x100:seed=1", "--quiet")
    assert told.code == 130
    assert "interrupted: these are bounds" in told.out


def test_progress_on_a_terminal_and_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    h = make_hypotheses("cube:3")
    trees, sets = Littlestone(h), VapnikChervonenkis(h)
    for terminal, expected in (
        (True, "\r\x1b[2KLittlestone between 0 and 3, VC"),
        (False, "Littlestone between 0 and 3"),
    ):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda terminal=terminal: terminal)
        with command.Watch(True, stream) as watch:
            watch.update(trees, sets)
            assert stream.getvalue() == ""  # too early
            watch.shown -= 100
            watch.update(trees, sets)
            assert stream.getvalue().startswith(expected)
        assert stream.getvalue().endswith("\r\x1b[2K" if terminal else "s\n")
