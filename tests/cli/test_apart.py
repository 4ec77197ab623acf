"""No command writes over what it reads, nor two results into one file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

TABLE = ["y,a,b", *["1,1,0", "0,0,1"] * 10]
MATRIX = ["0,0", "0,1", "1,1"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "rows.svm", svm_lines(20))
    written(tmp_path / "table.csv", TABLE)
    written(tmp_path / "matrix.csv", MATRIX)
    written(tmp_path / "prior.txt", ["a 1", "b 1"])
    return tmp_path


@pytest.mark.parametrize("option", ["-o", "--predictions", "--weights", "--report", "--plot"])
def test_training_keeps_its_data(capsys: Capsys, here: Path, option: str) -> None:
    before = (here / "rows.svm").read_bytes()
    (here / "soft.svm").symlink_to("rows.svm")
    os.link(here / "rows.svm", here / "hard.svm")
    for name in ("rows.svm", "./rows.svm", here / "rows.svm", "soft.svm", "hard.svm"):
        for data in ("rows.svm", "r*.svm"):
            told = run(capsys, "train", data, "--algorithm", "ogd", option, name)
            assert told.code == 2, name
            assert told.err.startswith(f"lowregret: {option} {name}")
            assert told.err.endswith("would be lost: name another file\n")
            assert (here / "rows.svm").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [
        "predict m.lr rows.svm -o rows.svm",
        "predict m.lr rows.svm -o m.lr",
        "train rows.svm --resume m.lr --predictions m.lr",
        "experts table.csv --target y --predictions table.csv",
        "experts table.csv --target y --report table.csv",
        "experts table.csv --target y --plot table.csv",
        "experts table.csv --target y --prior prior.txt --predictions prior.txt",
        "bandit table.csv --action a --reward y --plot table.csv",
        "bandit table.csv --action a --reward y --report table.csv",
        "dimension matrix.csv --plot matrix.csv",
        "play replay ogd --data rows.svm --plot rows.svm",
    ],
)
def test_so_does_every_command(capsys: Capsys, here: Path, words: str) -> None:
    assert run(capsys, "train", "rows.svm", "--algorithm", "ogd", "--quiet", "-o", "m.lr").code == 0
    before = {path: path.read_bytes() for path in here.iterdir()}
    told = run(capsys, *words.split())
    assert told.code == 2
    assert "is read by this command and would be lost: name another file" in told.err
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def test_standard_input_may_be_a_file_too(here: Path) -> None:
    before = (here / "rows.svm").read_bytes()
    with open(here / "rows.svm", "rb") as file:
        told = process("train", "-", "--format", "svm", "-o", here / "rows.svm", stdin=file)
    assert told.code == 2
    assert "which is standard input, is read" in told.err
    assert (here / "rows.svm").read_bytes() == before


def test_two_results_want_two_files(capsys: Capsys, here: Path) -> None:
    told = run(capsys, "train", "rows.svm", "--algorithm", "ogd", "-o", "out", "--predictions", here / "out")
    assert told.code == 2
    assert told.err == f"lowregret: --predictions and -o both name {here / 'out'}: give each a file of its own\n"
    assert not (here / "out").exists()


def test_a_model_may_replace_itself_and_devices_are_no_files(capsys: Capsys, here: Path) -> None:
    said = ("train", "rows.svm", "--quiet", "--predictions", os.devnull, "--weights", os.devnull)
    assert run(capsys, *said, "--algorithm", "ogd", "-o", "m.lr").code == 0
    told = run(capsys, *said, "--resume", "m.lr", "-o", "m.lr")
    assert told.code == 0, told.err
