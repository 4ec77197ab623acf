"""`lowregret train --predict-only`: a small file that predicts as the model does, and cannot be resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.run.predictor import Predictor
from lowregret.run.session import Session
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

RNG = np.random.default_rng(5)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = RNG.normal(size=(150, 2)).round(4).tolist()
    names = ["up" if a > b else "down" if a + b > 0 else "flat" for a, b in rows]
    return written(
        tmp_path / "rows.csv", ["y,a,b", *(f"{name},{a},{b}" for name, (a, b) in zip(names, rows, strict=True))]
    )


@pytest.mark.parametrize(
    ("words", "links"),
    [
        (("--positive", "up"), ("raw", "prob", "label")),
        (("--positive", "up", "--algorithm", "ogd", "--loss", "hinge"), ("raw", "label")),
        (("--loss", "softmax"), ("raw", "prob", "label")),
        (("--loss", "softmax", "--algorithm", "adagrad"), ("raw", "prob", "label")),
    ],
)
def test_it_predicts_and_judges_as_the_model_does(
    capsys: Capsys, table: Path, tmp_path: Path, words: tuple[str, ...], links: tuple[str, ...]
) -> None:
    for name, more in (("whole.lr", ()), ("small.lr", ("--predict-only",))):
        told = run(capsys, "train", table, "--target", "y", *words, "-o", tmp_path / name, *more)
        assert told.code == 0, told.err
        assert told.out.endswith(f"model      {tmp_path / name}{', for prediction alone' if more else ''}\n")
    assert (tmp_path / "small.lr").stat().st_size < (tmp_path / "whole.lr").stat().st_size / 2
    for link in links:
        said = [run(capsys, "predict", tmp_path / name, table, "--link", link) for name in ("whole.lr", "small.lr")]
        assert [one.code for one in said] == [0, 0], said[1].err
        assert said[0].out == said[1].out
        assert said[0].err == said[1].err
    figures = []
    for name in ("whole.lr", "small.lr"):
        told = run(capsys, "predict", tmp_path / name, table, "--json")
        figures.append(told.json | {"model": ""})
    assert json.dumps(figures[0]) == json.dumps(figures[1])
    assert figures[0]["error"] is not None


def test_notes_on_other_columns_and_labels_are_the_same(capsys: Capsys, table: Path, tmp_path: Path) -> None:
    other = written(tmp_path / "other.csv", ["y,a,c", "up,0.5,1", "sideways,0.25,2"])
    said = []
    for more in ((), ("--predict-only",)):
        run(capsys, "train", table, "--target", "y", "--positive", "up", "-o", tmp_path / "m.lr", "--quiet", *more)
        said.append(run(capsys, "predict", tmp_path / "m.lr", other))
    assert "which" in said[0].err
    assert said[0] == said[1]


def test_it_is_read_in_python(capsys: Capsys, table: Path, tmp_path: Path) -> None:
    run(capsys, "train", table, "--target", "y", "--loss", "softmax", "-o", tmp_path / "m.lr", "--predict-only")
    model = lowregret.load(tmp_path / "m.lr")
    assert isinstance(model, Predictor)
    assert model.classes is not None
    assert sorted(map(str, model.classes.names)) == ["down", "flat", "up"]
    assert model.rounds == 150


def test_it_cannot_be_resumed(capsys: Capsys, table: Path, tmp_path: Path) -> None:
    small = tmp_path / "m.lr"
    run(capsys, "train", table, "--target", "y", "--positive", "up", "-o", small, "--predict-only")
    told = run(capsys, "train", table, "--resume", small, "-o", tmp_path / "n.lr")
    assert told.code == 2
    assert told.err == (
        f"lowregret: {small} was written for prediction alone: resume the model of a training without --predict-only\n"
    )
    assert not (tmp_path / "n.lr").exists()


def test_a_resumed_model_is_not_replaced_by_what_cannot_be_resumed(capsys: Capsys, table: Path, tmp_path: Path) -> None:
    whole = tmp_path / "m.lr"
    run(capsys, "train", table, "--target", "y", "--positive", "up", "-o", whole)
    before = whole.read_bytes()
    told = run(capsys, "train", table, "--resume", whole, "-o", whole, "--predict-only")
    assert told.code == 2
    assert f"-o {whole} is read by this command and would be lost: name another file" in told.err
    assert whole.read_bytes() == before
    told = run(capsys, "train", table, "--resume", whole, "-o", tmp_path / "small.lr", "--predict-only")
    assert told.code == 0, told.err
    assert lowregret.load(tmp_path / "small.lr").rounds == 300
    assert Session.load(whole).run.rounds == 150


def test_it_wants_a_file(capsys: Capsys, table: Path) -> None:
    told = run(capsys, "train", table, "--target", "y", "--positive", "up", "--predict-only")
    assert told.code == 2
    assert told.err == "lowregret: --predict-only says what -o writes: name a file after -o\n"


def test_a_bad_line_leaves_what_was_learnt(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", [*svm_lines(60), "1 nonsense"])
    told = run(capsys, "train", path, "-o", tmp_path / "m.lr", "--predict-only", "--quiet")
    assert told.code == 2
    assert "--resume" not in told.err
    assert lowregret.load(tmp_path / "m.lr").rounds == 60


def test_whoever_interrupts_is_told_that_it_cannot_go_on(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model, learn = written(tmp_path / "a.svm", svm_lines(60)), tmp_path / "m.lr", Session.learn

    def interrupted(session: Session, *given: Any) -> None:
        learn(session, *given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "learn", interrupted)
    told = run(capsys, "train", path, "-o", model, "--predict-only", "--quiet")
    assert told.code == 130
    said = f"interrupted after 60 rows; {model} is for prediction alone: begin again to learn all of them"
    assert told.err == f"lowregret: {said}\n"
    assert lowregret.load(model).rounds == 60


def test_a_predictor_saved_in_python_does_not_say_how_to_read(capsys: Capsys, table: Path, tmp_path: Path) -> None:
    run(capsys, "train", table, "--target", "y", "--positive", "up", "-o", tmp_path / "m.lr")
    small = lowregret.load(tmp_path / "m.lr").predictor().save(tmp_path / "small.lr")
    told = run(capsys, "predict", small, table)
    assert told.code == 2
    assert "was saved in Python, which does not say how to read rows: train it from files" in told.err
