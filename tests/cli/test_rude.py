"""Numbers beyond all counts, and output that cannot spell everything: a sentence, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import run, svm_lines, written

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
