"""Two commands that go on with one model: the second to end does not undo what the first learnt."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lowregret.cli.work import going_on
from lowregret.cli.work import train as learning
from lowregret.run.session import Session
from lowregret.store.kinds import load
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def test_the_second_model_is_written_beside(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, model = written(tmp_path / "r.svm", svm_lines(100)), tmp_path / "m.lr"
    run(capsys, "train", rows, "--algorithm", "ogd", "--quiet", "-o", model)
    ready = learning._ready

    def another_first(*given: Any) -> Any:
        found = ready(*given)
        monkeypatch.setattr(learning, "_ready", ready)
        run(capsys, "train", rows, "--resume", model, "--quiet", "-o", model, "--passes", 2)
        return found

    monkeypatch.setattr(learning, "_ready", another_first)
    told = run(capsys, "train", rows, "--resume", model, "--quiet", "-o", model)
    assert told.code == 2
    said = f"another process has written it since this one began, and its file stays; the model is kept in {model}.2"
    assert said in told.err
    assert Session.load(model).run.rounds == 300
    assert Session.load(f"{model}.2").run.rounds == 200
    assert sorted(os.listdir(tmp_path)) == ["m.lr", "m.lr.2", "r.svm"]


def test_a_mixture_of_another_command_stays(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, model = written(tmp_path / "t.csv", ["y,a,b", *["1,0.5,2", "0,1,0.25"] * 5]), tmp_path / "m.lr"
    run(capsys, "experts", table, "--target", "y", "--quiet", "-o", model)
    reading = vars(going_on)["read_forecasts"]

    def another_first(*given: Any) -> Any:
        monkeypatch.setattr(going_on, "read_forecasts", reading)
        run(capsys, "experts", table, "--target", "y", "--resume", model, "--quiet", "-o", model)
        return reading(*given)

    monkeypatch.setattr(going_on, "read_forecasts", another_first)
    told = run(capsys, "experts", table, "--target", "y", "--resume", model, "--quiet", "-o", model)
    assert told.code == 2
    assert "another process has written it" in told.err
    assert load(model).rounds == 20
