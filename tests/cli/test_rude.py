"""Numbers beyond all counts, and output that cannot spell everything: a sentence, never a traceback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lowregret.store.file import kind_of
from lowregret.stream.batch import Batch
from lowregret.stream.text import TextStream
from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
BEYOND = 10**20


@pytest.mark.parametrize("option", ["passes", "threads", "skip", "dimension", "bits", "ngrams", "holdout"])
def test_numbers_beyond_all_counts(capsys: Capsys, tmp_path: Path, option: str) -> None:
    rows = written(tmp_path / "r.svm", svm_lines(10))
    told = run(capsys, "train", rows, "--algorithm", "ogd", f"--{option}", BEYOND)
    assert told.code == 2
    assert f"argument --{option}: expected " in told.err
    told = run(capsys, "train", rows, "--algorithm", "ogd", f"--{option}", "9" * 5000)
    assert told.code == 2
    assert len(told.err) < 400


def said(tmp_path: Path, encoding: str, *words: str) -> bytes:
    """What a command says on a standard output of this encoding."""
    environment = os.environ | {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "lowregret", "train", str(tmp_path / "r.csv"), "--target", "y", *words]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_output_that_cannot_spell_everything(tmp_path: Path) -> None:
    lines = [f"{'größe 😀' if k % 3 else 'b'},{k % 7}" for k in range(60)]
    (tmp_path / "r.csv").write_text("\n".join(["y,x", *lines]), encoding="utf-8")
    words = "--positive", "größe 😀", "--algorithm", "ogd"
    assert b"\\u00f6" in said(tmp_path, "ascii", *words)
    assert "größe".encode("latin-1") in said(tmp_path, "latin-1", *words)
    whole = json.loads(said(tmp_path, "utf-8", *words, "--json").decode())
    plain = json.loads(said(tmp_path, "ascii", *words, "--json").decode("ascii"))
    assert "größe 😀" in plain["metrics"]["confusion"]
    assert plain["certificate"] == whole["certificate"]


def test_the_locale_c(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("y,x\n" + "1,1\n-1,2\n" * 30)
    plain = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    command = [sys.executable, "-m", "lowregret", "train", str(tmp_path / "r.csv"), "--target", "y", "--json"]
    done = subprocess.run([*command, "--algorithm", "ogd"], env=plain, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "‖" in json.loads(done.stdout.decode("ascii"))["certificate"]["statement"]


FORMULA = r"$\frac{$"  # which would be a formula, and a wrong one


def test_names_with_dollar_signs_are_drawn_as_they_are(capsys: Capsys, tmp_path: Path) -> None:
    results = "--plot", tmp_path / "p.png", "--report", tmp_path / "r.html"
    log = written(tmp_path / "log.csv", ["arm,reward", *[f"{FORMULA},1", "b$x^$,0"] * 20])
    told = run(capsys, "bandit", log, "--action", "arm", "--reward", "reward", *results)
    assert told.code == 0, told.err
    assert FORMULA in (tmp_path / "r.html").read_text()
    forecasts = written(tmp_path / f"{FORMULA}.csv", [f"y,{FORMULA},b$x^$", *["1,0.5,2", "0,1,0.25"] * 20])
    told = run(capsys, "experts", forecasts, "--target", "y", *results)
    assert told.code == 0, told.err
    rows = written(tmp_path / f"{FORMULA}.svm", svm_lines(40))
    told = run(capsys, "train", rows, "--algorithm", "ogd", "--quiet", *results)
    assert told.code == 0, told.err


def test_names_with_markup_are_escaped_in_reports(capsys: Capsys, tmp_path: Path) -> None:
    script = "<script>alert(1)</script>"
    rows = written(tmp_path / "<script>.csv", ["y,x", *[f"{script},1", "<img src=x>,2", f"b,{script}"] * 10])
    said = "--target", "y", "--loss", "softmax", "--algorithm", "ogd", "--report", tmp_path / "r.html"
    told = run(capsys, "train", rows, *said, "--quiet")
    assert told.code == 0, told.err
    page = (tmp_path / "r.html").read_text()
    assert "&lt;script&gt;alert(1)" in page
    assert "<script" not in page
    assert "<img" not in page


def test_names_that_no_encoding_has(tmp_path: Path) -> None:
    """Lone surrogates, which JSON can spell, and names of files in other encodings."""
    odd = tmp_path / os.fsdecode(b"\xff.jsonl")
    odd.write_text("\n".join(json.dumps({"y": ["a", "\ud800b", "c"][k % 3], f"k{k % 3}": 1}) for k in range(60)) + "\n")
    results = "--predictions", tmp_path / "p", "--weights", tmp_path / "w", "--report", tmp_path / "r.html"
    words = "train", odd, "--target", "y", "--algorithm", "ogd", "--loss", "softmax", "-o", tmp_path / "m.lr"
    command = [sys.executable, "-m", "lowregret", *map(str, (*words, *results))]
    done = subprocess.run(command, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "utf-8"}, check=False)
    assert done.returncode == 0, done.stderr
    assert set((tmp_path / "p").read_text().split()) <= {"a", "\ufffdb", "c"}
    assert "\ufffd.jsonl" in (tmp_path / "r.html").read_text()
    told = process("predict", tmp_path / "m.lr", odd, "--quiet")
    assert (told.code, set(told.out.split())) == (0, {"a", "\ufffdb", "c"}), told.err


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("closed", "words", "code"),
    [
        ("<&- >&- 2>&-", "--quiet", 0),
        (">&-", "--quiet", 0),
        (">&-", "", 2),  # what is said is lost
        (">&- 2>&-", "--json", 2),
        ("2>&-", "", 0),
        ("2>&-", "--l1 7", 2),  # which ogd does not take
    ],
)
def test_without_standard_streams(tmp_path: Path, closed: str, words: str, code: int) -> None:
    rows, model = written(tmp_path / "r.svm", svm_lines(50)), tmp_path / "m.lr"
    command = f"{sys.executable} -m lowregret train {rows} --algorithm ogd -o {model} {words} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "lowregret:" not in done.stdout  # messages are no output
    if "--l1" not in words:
        assert kind_of(model) == "run"


@pytest.mark.skipif(not os.path.islink("/dev/stdout"), reason="standard output has no such name here")
@pytest.mark.parametrize(
    ("end", "code", "why"),
    [
        (">&-", 2, "lowregret: cannot write /dev/stdout: standard output is closed; name a file for --weights\n"),
        ("| true", 0, ""),
    ],
)
def test_results_written_to_standard_output_by_name(tmp_path: Path, end: str, code: int, why: str) -> None:
    """Weights were gone and all was well, or a reader that had enough was an error, as nowhere else."""
    rows = written(tmp_path / "r.svm", [f"+1 {k + 1}:1" for k in range(9000)])  # more than fits into a pipe
    train = f"{sys.executable} -m lowregret train {rows} --algorithm ogd --quiet --weights /dev/stdout {end}"
    command = ["bash", "-c", f"set -o pipefail; {train}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert why in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_whatever_interrupts_leaves_nothing_behind(tmp_path: Path, number: int) -> None:
    os.mkfifo(tmp_path / "rows.svm")
    words = "convert", tmp_path / "rows.svm", "-o", tmp_path / "rows.lrc"
    command = [sys.executable, "-m", "lowregret", *map(str, words)]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as running, open(tmp_path / "rows.svm", "w") as rows:
        rows.write("+1 1:1\n" * 10)
        rows.flush()
        while not list(tmp_path.glob(".rows.lrc.*.tmp")) and running.poll() is None:
            time.sleep(0.01)
        running.send_signal(number)
        said = running.communicate(timeout=60)[1]
    assert (running.returncode, said) == (130, b"lowregret: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def test_an_interruption_while_options_are_read(tmp_path: Path) -> None:
    code = (
        "import lowregret.cli.parser as p, lowregret.cli as c\n"
        "def stop(): raise KeyboardInterrupt\n"
        "p.parser = stop\n"
        "c.command()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "lowregret: interrupted\n")


@pytest.mark.parametrize(
    "words",
    ["--seed 7", "--seed 7 --output last", "--zero-based", "--seed 7 --algorithm auto", "--zero-based --bits 9"],
)
def test_options_that_would_do_nothing(capsys: Capsys, tmp_path: Path, words: str) -> None:
    rows = written(tmp_path / "r.svm", svm_lines(10))
    algorithm = () if "auto" in words else ("--algorithm", "ogd")
    told = run(capsys, "train", rows, "--loss", "logistic", *algorithm, *words.split())
    assert told.code == 2
    assert words.split()[0] in told.err
    assert "leave it out" in told.err


def test_tables_have_no_indices_to_count_from_zero(capsys: Capsys, tmp_path: Path) -> None:
    rows = written(tmp_path / "r.csv", ["y,a", "1,2", "-1,3"])
    told = run(capsys, "train", rows, "--target", "y", "--algorithm", "ogd", "--dimension", 9, "--zero-based")
    assert told.code == 2
    assert "--zero-based says how svm indices are counted" in told.err


@pytest.mark.parametrize("words", ["--certify exact", "--passes 2", "--holdout last:20%", "--eta theory --radius 1"])
def test_files_that_grow_between_two_readings(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    rows = written(tmp_path / "r.svm", svm_lines(30))
    whole = TextStream.batches

    def grown(stream: TextStream) -> Iterator[Batch]:
        yield from whole(stream)
        rows.write_text(rows.read_text() * 2)

    monkeypatch.setattr(TextStream, "batches", grown)
    told = run(capsys, "train", rows, "--algorithm", "ogd", *words.split(), "--json")
    assert told.code == 2
    assert f"{rows} has changed since it was first read" in told.err
