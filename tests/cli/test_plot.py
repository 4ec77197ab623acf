"""`lowregret train --plot`: the run's picture, beside whatever else is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("algorithm", ["auto", "ogd"])
def test_the_picture_is_drawn(capsys: Capsys, tmp_path: Path, algorithm: str) -> None:
    file, picture = written(tmp_path / "a.svm", svm_lines(100)), tmp_path / "a.svg"
    told = run(capsys, "train", file, "--loss", "logistic", "--algorithm", algorithm, "--plot", picture, "--json")
    assert told.code == 0, told.err
    assert told.json["rounds"] == 100
    assert picture.read_text().count('id="axes_') == (4 if algorithm == "auto" else 2)


@pytest.mark.parametrize("name", ["missing/a.png", "a.nonsense"])
def test_a_picture_that_cannot_be_written(capsys: Capsys, tmp_path: Path, name: str) -> None:
    file, model = written(tmp_path / "a.svm", svm_lines(30)), tmp_path / "m.lr"
    told = run(capsys, "train", file, "--plot", tmp_path / name, "-o", model, "--quiet")
    assert told.code == 2
    assert "cannot write" in told.err
    assert model.exists() == (name == "a.nonsense")  # a missing folder is found before learning
