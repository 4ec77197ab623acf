"""`lowregret train --plot`: the run's picture, beside whatever else is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import read
from lowregret.run.auto import AutoRun
from lowregret.run.session import Session
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
    assert not model.exists()  # both are found before learning


def test_each_panel_has_comparators_of_one_kind(capsys: Capsys, tmp_path: Path) -> None:
    """With `--certify exact` auto has two regrets, against its experts and against the best fixed choice."""
    file, picture = written(tmp_path / "a.svm", svm_lines(400)), tmp_path / "a.svg"
    told = run(capsys, "train", file, "--certify", "exact", "--plot", picture, "--quiet")
    assert told.code == 0, told.err
    assert picture.read_text().count('id="axes_') == 5
    session = Session.load(_trained(capsys, file, tmp_path))
    session.look_back(lambda: [_rows(file, session)])
    assert isinstance(session.run, AutoRun)
    panels = session.run.plot(theirs=session.theirs).axes
    experts, fixed = ({line.get_label(): line for line in panel.lines} for panel in panels[1:3])
    assert list(experts) == ["bound (MIX-SHARE)", "regret"]
    assert list(fixed) == ["linearised regret", "regret"]
    assert "experts" in panels[1].get_title()
    assert "l2-ball" in panels[2].get_title()
    exact, linear = (np.asarray(fixed[name].get_ydata(), float)[-1] for name in ("regret", "linearised regret"))
    assert exact == pytest.approx(session.certificate.regret)
    assert linear == pytest.approx(session.run.linear_regret())


def _trained(capsys: Capsys, file: Path, folder: Path) -> Path:
    run(capsys, "train", file, "-o", folder / "m.lr", "--quiet")
    return folder / "m.lr"


def _rows(file: Path, session: Session) -> tuple[Any, Any, Any]:
    """All rows of a small file, as the run counts features."""
    (batch,) = read(str(file)).batches()
    return session.run.located(batch.rows), batch.labels, batch.weights
