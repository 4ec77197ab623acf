"""Names from files that look like commands to terminals or like lines of ours, messages that nobody reads, signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lowregret import load
from lowregret.cli import main

Capsys = pytest.CaptureFixture[str]
EVIL = "a\x1b]0;x\x07\nerror      0.00% of the rows"


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    rows = tmp_path / "evil.jsonl"
    rows.write_text("".join(json.dumps({"y": EVIL if k % 2 else "b", "x": k % 3}) + "\n" for k in range(40)))
    return rows


def on_terminal(*words: object) -> str:
    """What a command shows on a terminal."""
    parent, child = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "lowregret", *map(str, words)], stdout=child, stderr=child):
        os.close(child)
        said = b""
        try:
            while some := os.read(parent, 4096):
                said += some
        except OSError:  # the other end is closed
            pass
    os.close(parent)
    return said.decode()


@pytest.mark.parametrize("loss", ["hinge --positive b", "softmax"])
def test_names_steer_no_terminal(evil: Path, loss: str) -> None:
    said = on_terminal("train", evil, "--target", "y", "--algorithm", "adagrad", "--loss", *loss.split())
    assert "a\\x1b]0;x\\x07" in said
    assert "\x1b" not in said.replace("\r\x1b[2K", "")
    assert "\x07" not in said


@pytest.mark.parametrize("loss", ["hinge --positive b", "softmax"])
def test_names_make_no_lines(capsys: Capsys, evil: Path, loss: str) -> None:
    words = [str(evil), "--target", "y", "--algorithm", "adagrad", "--loss", *loss.split(), "--weights"]
    model, labels, weights = (evil.with_name(name) for name in ("m.lr", "labels.txt", "weights.txt"))
    assert main(["train", *words, str(weights), "-o", str(model)]) == 0
    assert capsys.readouterr().out.count("\nerror  ") == 1
    assert main(["predict", str(model), str(evil), "--link", "label", "-o", str(labels)]) == 0
    assert capsys.readouterr().err.count("\nerror  ") == 1
    assert set(labels.read_text().splitlines()) <= {"b", EVIL.replace("\n", "\\n")}
    assert labels.read_text().count("\n") == 40


def test_classes_with_commas_are_one_column_each(tmp_path: Path) -> None:
    rows, scores = tmp_path / "rows.jsonl", tmp_path / "scores.csv"
    rows.write_text("".join(json.dumps({"y": 'a,"b' if k % 2 else "c", "x": k % 3}) + "\n" for k in range(20)))
    words = ["--target", "y", "--algorithm", "adagrad", "--loss", "softmax", "-o", str(tmp_path / "m.lr")]
    assert main(["train", str(rows), *words]) == 0
    assert main(["predict", str(tmp_path / "m.lr"), str(rows), "--link", "prob", "-o", str(scores)]) == 0
    assert scores.read_text().splitlines()[0] == 'c,"a,""b"'


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_messages_that_cannot_be_written_end_nothing(tmp_path: Path) -> None:
    rows, model = tmp_path / "rows.svm", tmp_path / "m.lr"
    rows.write_text("+1 1:1\nx\n-1 1:-1\ny\n+1 2:1\n")
    command = [sys.executable, "-m", "lowregret", "train", str(rows), "--algorithm", "ogd", "-o", str(model)]
    with open("/dev/full", "w") as full:
        assert subprocess.run([*command, "--on-error", "skip"], stderr=full, check=False).returncode == 0
        assert load(model).rounds == 3
        assert subprocess.run([*command[:4], "nowhere.svm"], stderr=full, check=False).returncode == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_amid_imports_is_not_swallowed(number: int) -> None:
    code = (
        "import os, sys, lowregret.cli as c\n"
        "class Gone:\n"
        f"    def __del__(self): os.kill(os.getpid(), {int(number)})\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'lowregret.compile': Gone()\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['lowregret', 'zoo']\n"
        "c.command()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "lowregret: interrupted\n")


def test_what_is_ignored_stays_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.svm")
    words = "train", tmp_path / "rows.svm", "--loss", "hinge", "--algorithm", "ogd", "--checkpoint", "1e-9"
    command = [sys.executable, "-m", "lowregret", *map(str, words), "-o", str(tmp_path / "m.lr"), "--quiet"]
    running = subprocess.Popen(["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command])
    with running, open(tmp_path / "rows.svm", "w") as rows:
        rows.write("+1 1:1\n" * 10)
        rows.flush()
        time.sleep(2.5)
        running.send_signal(signal.SIGINT)
        time.sleep(0.2)
        rows.write("-1 1:1\n" * 10)
        rows.close()
        assert running.wait(60) == 0
    assert load(tmp_path / "m.lr").rounds == 20


def test_messages_in_pipes_spell_names_and_are_bounded(tmp_path: Path) -> None:
    rows, labels = tmp_path / "rows.jsonl", ["a\x1b]0;x\x07\nlowregret: all is well", "b" * 9_000]
    rows.write_text("".join(json.dumps({"y": label, "x": 1}) + "\n" for label in labels))
    words = ["train", str(rows), "--target", "y", "--algorithm", "adagrad", "--loss", "hinge", "--positive", "q"]
    done = subprocess.run([sys.executable, "-m", "lowregret", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "a\\x1b]0;x\\x07" in done.stderr
    assert "\x1b" not in done.stderr
    assert "\nlowregret: all" not in done.stderr
    assert len(done.stderr) < 6_000
    assert "characters more" in done.stderr


def test_a_library_that_does_not_load_is_no_failed_writing(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(argv: object) -> int:
        raise OSError("no room for a shared object")  # as llvmlite says it, under `ulimit -v`

    monkeypatch.setattr("lowregret.cli._run", fail)
    assert main(["zoo"]) == 2
    assert capsys.readouterr().err == "lowregret: no room for a shared object\n"
