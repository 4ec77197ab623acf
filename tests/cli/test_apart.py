"""No command writes over what it reads, nor two results into one file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lowregret.cli import main
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
        "train rows.svm --cache --predictions rows.svm.lrc",
        "train rows.svm --cache -o rows.svm.lrc",
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


@pytest.mark.parametrize(
    "words",
    [
        "predict m.lr rows.svm",
        "predict m.lr rows.svm --predictions scores --json",
        "train rows.svm --json --quiet",
        "train rows.svm --quiet --predictions -",
    ],
)
def test_standard_output_may_be_an_input(capsys: Capsys, here: Path, words: str) -> None:
    assert run(capsys, "train", "rows.svm", "--algorithm", "ogd", "--quiet", "-o", "m.lr").code == 0
    before = {path: path.read_bytes() for path in here.iterdir()}
    with open("rows.svm", "ab") as file:
        told = process(*words.split(), stdout=file)
    assert told.code == 2
    assert told.err == (
        "lowregret: standard output, which is rows.svm, is read by this command and would be lost: name another file\n"
    )
    assert {path: path.read_bytes() for path in here.iterdir()} == before


@pytest.mark.parametrize("option", ["-o", "--predictions", "--weights"])
def test_standard_output_may_be_another_output(here: Path, option: str) -> None:
    with open("both.out", "wb") as file:
        told = process("train", "rows.svm", "--json", option, "both.out", stdout=file)
    assert told.code == 2
    expected = f"standard output and {option} both name both.out: give each a file of its own"
    assert told.err == f"lowregret: {expected}\n"
    assert (here / "both.out").read_bytes() == b""


def test_where_nothing_goes_to_standard_output_it_harms_nothing(
    capsys: Capsys, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open("out", "w") as file:
        monkeypatch.setattr("sys.stdout", file)
        assert main(["train", "rows.svm", "--algorithm", "ogd", "--quiet", "-o", "m.lr", "--predictions", "out"]) == 0
        assert main(["predict", "m.lr", "rows.svm", "--quiet", "--predictions", "out"]) == 0
    assert len((here / "out").read_text().splitlines()) == 20


def test_pictures_go_by_the_name_that_they_get(capsys: Capsys, here: Path) -> None:
    written(here / "rows.png", svm_lines(20))
    before = (here / "rows.png").read_bytes()
    for name in ("rows", "rows."):
        told = run(capsys, "train", "rows.png", "--format", "svm", "--algorithm", "ogd", "--plot", name)
        assert told.code == 2
        assert told.err.startswith("lowregret: --plot rows.png is read by this command")
    told = run(capsys, "train", "rows.svm", "--algorithm", "ogd", "--plot", "out", "--predictions", "out.png")
    assert told.code == 2
    assert told.err == "lowregret: --plot and --predictions both name out.png: give each a file of its own\n"
    assert (here / "rows.png").read_bytes() == before


def test_so_does_the_second_picture(capsys: Capsys, here: Path) -> None:
    """Which nobody names."""
    written(here / "t.coverage.png", TABLE)
    before = (here / "t.coverage.png").read_bytes()
    told = run(capsys, "experts", "t.coverage.png", "--target", "y", "--coverage", "0.9", "--plot", "t.png")
    assert told.code == 2
    assert "t.coverage.png is read by this command and would be lost" in told.err
    said = "--target", "y", "--coverage", "0.9", "--plot", "q.png", "-o", "q.coverage.png"
    told = run(capsys, "experts", "table.csv", *said)
    assert told.code == 2
    assert told.err.endswith("and -o both name q.coverage.png: give each a file of its own\n")
    (here / "d.coverage.png").mkdir()
    told = run(capsys, "experts", "table.csv", "--target", "y", "--coverage", "0.9", "--plot", "d.png", "-o", "m.lr")
    assert told.code == 2
    assert "d.coverage.png" in told.err
    os.mkfifo(here / "p.coverage.png")
    told = run(capsys, "experts", "table.csv", "--target", "y", "--coverage", "0.9", "--plot", "p.png", "-o", "m.lr")
    assert told.code == 2
    assert "p.coverage.png: it is a pipe" in told.err
    told = run(capsys, "experts", "table.csv", "--target", "y", "--coverage", "0.9", "--plot", os.devnull, "-o", "m.lr")
    assert told.code == 2
    assert told.err.endswith(f"beside that of --plot, and {os.devnull} is no file: name one\n")
    assert not (here / "m.lr").exists()
    assert (here / "t.coverage.png").read_bytes() == before


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
