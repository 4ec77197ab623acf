"""`lowregret train --plot`: the run's picture, beside whatever else is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest

from lowregret import read
from lowregret.run.auto import AutoRun
from lowregret.run.session import Session
from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("algorithm", ["auto", "ogd"])
def test_the_picture_is_drawn(capsys: Capsys, tmp_path: Path, algorithm: str) -> None:
    file, picture = written(tmp_path / "a.svm", svm_lines(100)), tmp_path / "a.svg"
    told = run(capsys, "train", file, "--loss", "logistic", "--algorithm", algorithm, "--plot", picture, "--json")
    assert told.code == 0, told.err
    assert told.json["rounds"] == 100
    assert picture.read_text().count('id="axes_') == (4 if algorithm == "auto" else 2)


@pytest.mark.parametrize("name", ["missing/a.png", "a.nonsense", "a.pgf"])
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


PNG = b"\x89PNG"


def test_pictures_go_to_standard_output_and_devices_as_they_are_called(capsys: Capsys, tmp_path: Path) -> None:
    """`--plot /dev/stdout` wrote /dev/stdout.png."""
    plot = "dimension", "cube:2", "--quiet", "--plot"
    command = [sys.executable, "-m", "lowregret", *plot, "/dev/stdout"]
    assert subprocess.run(command, capture_output=True, check=False).stdout.startswith(PNG)
    with (tmp_path / "both").open("wb") as both:
        same = process(*plot, "/dev/stdout", stdout=both)
    assert same.code == 2
    assert same.err.endswith("give each a file of its own\n")
    assert run(capsys, *plot, os.devnull).code == 0
    assert not Path(f"{os.devnull}.png").exists()
    (tmp_path / "old").write_text("kept")
    assert run(capsys, *plot, tmp_path / "old").code == 0
    assert (tmp_path / "old").read_text() == "kept"
    assert (tmp_path / "old.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize("ending", ["png", "eps"])
@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.usefixtures("interpreted")
def test_letters_that_fonts_lack_are_no_warning(
    capsys: Capsys, caplog: pytest.LogCaptureFixture, tmp_path: Path, ending: str
) -> None:
    table = written(tmp_path / "table.csv", ["y,a,\U0001f600", *["1,1,0", "0,0,1", "1,1,1"] * 10])
    told = run(capsys, "experts", table, "--target", "y", "--quiet", "--plot", tmp_path / f"a.{ending}")
    assert (told.code, told.err, caplog.text) == (0, "", "")


def test_settings_in_the_folder_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made it, such as the author of a data set, would have LaTeX run; the user's own settings are read."""
    own = tmp_path / "own"
    (tmp_path / "matplotlibrc").write_text("figure.figsize: 1, 1\nno colon\n")
    own.mkdir()
    (own / "matplotlibrc").write_text("text.usetex: True\nfigure.facecolor: 123456\n")
    monkeypatch.chdir(tmp_path)
    for variable in ("MATPLOTLIBRC", "MPLCONFIGDIR"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(own))
            told = process("dimension", "cube:2", "--plot", "a.svg")
            assert (told.code, "colon" in told.err) == (0, False)
            assert "#123456" in Path("a.svg").read_text()


def test_settings_that_no_picture_can_be_drawn_by_are_told(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "dimension", "cube:2", "--quiet", "--plot", tmp_path / "a.png"
    with matplotlib.rc_context({"savefig.bbox": "tight", "savefig.pad_inches": 1e6}):
        told = run(capsys, *words)
    assert told.code == 2
    assert told.err.startswith("lowregret: cannot draw: Image size of ")
    (tmp_path / "settings").write_bytes(b"\xff: 1\n")
    monkeypatch.setenv("MATPLOTLIBRC", str(tmp_path / "settings"))
    told = process(*words)
    assert told.code == 2
    assert "lowregret: Matplotlib cannot begin: " in told.err


def test_names_are_never_latex(tmp_path: Path) -> None:
    """Not even where the program draws its own pictures by it."""
    from lowregret.finite import dimensions, make_hypotheses

    with matplotlib.rc_context({"text.usetex": True}):
        dimensions(make_hypotheses("cube:2")).plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
