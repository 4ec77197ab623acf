"""`train --learners`: several threads learn from files, and what they learn does not depend on how many they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowregret import load, read, train, zoo
from lowregret.loss import Logistic
from lowregret.run import notes
from lowregret.run.blocks import BlockRun
from tests.cli.running import run, written

Capsys = pytest.CaptureFixture[str]

_made = np.random.default_rng(4)
X = np.round(_made.normal(size=(900, 12)), 2) * (_made.random((900, 12)) < 0.6)
SIGNS = np.where(X[:, 0] + X[:, 3] > 0, 1, -1)
SVM = [f"{y} " + " ".join(f"{j + 1}:{row[j]:g}" for j in np.flatnonzero(row)) for row, y in zip(X, SIGNS, strict=True)]
SAID = ("--algorithm", "adagrad", "--loss", "logistic", "--quiet", "--json")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.svm", SVM)


def test_the_command_learns_as_python_does(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    mine = train(zoo.adagrad(Logistic()), read(file), learners=1, block=7)
    for learners in (1, 2, 4):
        told = run(capsys, "train", file, *SAID, "--learners", learners, "--block", 7, "-o", tmp_path / "m.lr")
        assert told.json["loss"]["total"] == mine.loss
        assert {name: told.json["learners"][name] for name in ("threads", "block")} == {"threads": learners, "block": 7}
        assert told.json["certificate"]["id"] == "LEM-2.5"
        assert load(tmp_path / "m.lr").weights.tobytes() == mine.weights.tobytes()
    run(capsys, "predict", tmp_path / "m.lr", file, "-o", tmp_path / "scores.txt", "--quiet")
    assert np.loadtxt(tmp_path / "scores.txt").size == 900


def test_learners_may_be_free(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    told = run(capsys, "train", file, *SAID, "--learners", 1, "--block", "free", "-o", tmp_path / "m.lr")
    assert told.json["learners"] == {"threads": 1, "block": "free", "gain": None, "lag": None}
    assert told.json["loss"]["total"] == train(zoo.adagrad(Logistic()), read(file)).loss
    assert run(capsys, "train", file, "--resume", tmp_path / "m.lr", "--learners", 2, "--quiet").code == 0
    assert "expected a whole number from 1 on" in run(capsys, "train", file, "--learners", 2, "--block", "wild").err


def test_a_model_is_gone_on_with_by_any_number(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    first, second = written(tmp_path / "a.svm", SVM[:333]), written(tmp_path / "b.svm", SVM[333:])
    run(capsys, "train", file, *SAID, "--learners", 2, "-o", tmp_path / "whole.lr")
    run(capsys, "train", first, *SAID, "--learners", 2, "-o", tmp_path / "part.lr")
    told = run(capsys, "train", second, "--resume", tmp_path / "part.lr", "--learners", 3, "-o", tmp_path / "part.lr")
    assert told.code == 0
    part, whole = load(tmp_path / "part.lr"), load(tmp_path / "whole.lr")
    assert isinstance(part, BlockRun)
    assert (part.learners, part.block) == (3, whole.block)
    assert part.weights.tobytes() == whole.weights.tobytes()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--learners", "2", "--block", "8"), "auto learns row by row, whoever helps"),
        (("--learners", "2", "--algorithm", "ogd-eager", "--eta", "0.1"), "moves its weights together"),
        (("--learners", "2", "--algorithm", "ogd", "--output", "average"), "needs each iterate on the way"),
        (("--learners", "2", "--algorithm", "ogd", "--partitions"), "leave expand (--partitions) out"),
        (("--learners", "0", "--algorithm", "ogd"), "expected a whole number from 1 on"),
        (("--block", "9", "--algorithm", "ogd"), "say how many (--learners)"),
    ],
    ids=["auto", "ball", "average", "partitions", "none", "block"],
)
def test_what_cannot_be_is_refused(capsys: Capsys, file: Path, words: tuple[str, ...], why: str) -> None:
    told = run(capsys, "train", file, *words)
    assert told.code != 0
    assert why in told.err


def test_a_model_that_learns_row_by_row_goes_on_so(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    run(capsys, "train", file, *SAID, "-o", tmp_path / "m.lr")
    told = run(capsys, "train", file, "--resume", tmp_path / "m.lr", "--learners", 2)
    assert told.code != 0
    assert "learns row by row, and goes on so" in told.err


def test_it_says_whether_it_helped() -> None:
    assert notes.cores(1, 8, None) == []
    assert "without waiting" in notes.cores(2, "free", 1.7, (0.5, 9.0))[0]
    assert "1.7 times as fast as one" in notes.cores(2, 8, 1.7)[0]
    assert "no faster than one (0.4 times)" in notes.cores(2, 8, 0.4)[0]
    assert "too few rows at a time" in notes.cores(2, 8, None)[0]
