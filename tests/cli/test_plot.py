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


TABLE = ["y,a,{name}", *["1,1,0", "0,0,1", "1,1,1"] * 10]
PNG = b"\x89PNG"


def _table(folder: Path, name: str = "b") -> Path:
    return written(folder / "table.csv", [TABLE[0].format(name=name), *TABLE[1:]])


def test_pictures_go_to_standard_output_and_devices_as_they_are_called(tmp_path: Path) -> None:
    """`--plot /dev/stdout` wrote /dev/stdout.png."""
    assert process("dimension", "cube:2", "--quiet").code == 0  # what is compiled is told once
    command = [sys.executable, "-m", "lowregret", "dimension", "cube:2", "--plot"]
    for quiet in ("/dev/stdout", "/proc/self/fd/1"):
        told = subprocess.run([*command, quiet], capture_output=True, check=False)
        assert (told.returncode, told.stderr) == (0, b"")
        assert told.stdout.startswith(PNG)
    with (tmp_path / "both").open("wb") as both:
        same = process("dimension", "cube:2", "--plot", "/dev/stdout", stdout=both)
        assert same.code == 2
        assert same.err.endswith("give each a file of its own\n")
    assert run_quietly("dimension", "cube:2", "--plot", os.devnull)
    assert not Path(f"{os.devnull}.png").exists()
    (tmp_path / "old").write_text("kept")
    assert run_quietly("dimension", "cube:2", "--plot", tmp_path / "old")
    assert (tmp_path / "old").read_text() == "kept"
    assert (tmp_path / "old.png").read_bytes().startswith(PNG)


def run_quietly(*words: object) -> bool:
    """Whether a command ends well and has nothing to complain about."""
    told = process(*words, "--quiet")
    return (told.code, told.err) == (0, "")


@pytest.mark.parametrize("ending", ["png", "eps"])
def test_letters_that_fonts_lack_are_no_warning(tmp_path: Path, ending: str) -> None:
    table, report = _table(tmp_path, "\U0001f600"), tmp_path / "a.html"
    process("experts", table, "--target", "y")  # compiles
    assert run_quietly("experts", table, "--target", "y", "--plot", tmp_path / f"a.{ending}", "--report", report)


HERE = "text.usetex: True\nfigure.figsize: 1, 1\nno colon\n"


def test_settings_in_the_folder_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made it, such as the author of a data set, would have LaTeX run; the user's own settings are read."""
    table, theirs = _table(tmp_path), tmp_path / "own"
    (tmp_path / "matplotlibrc").write_text(HERE)
    monkeypatch.chdir(tmp_path)
    said = "experts", table, "--target", "y", "--report", "a.html", "--plot"
    process(*said[:4])  # compiles
    assert run_quietly(*said, "a.png")
    theirs.mkdir()
    (theirs / "matplotlibrc").write_text("text.usetex: True\nfigure.facecolor: 123456\n")
    for variable in ("MATPLOTLIBRC", "MPLCONFIGDIR"):
        with monkeypatch.context() as patch:
            patch.setenv(variable, str(theirs))
            assert run_quietly(*said, "a.svg")
            assert "#123456" in Path("a.svg").read_text()


def test_settings_that_no_picture_can_be_drawn_by_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = tmp_path / "settings"
    monkeypatch.setenv("MATPLOTLIBRC", str(settings))
    for text, told in (
        (b"savefig.bbox: tight\nsavefig.pad_inches: 1e6\n", "cannot draw: Image size of "),
        (b"\xff: 1\n", "lowregret: Matplotlib cannot begin: "),
    ):
        settings.write_bytes(text)
        found = process("dimension", "cube:2", "--plot", tmp_path / "a.png")
        assert found.code == 2
        assert told in found.err
        assert "Traceback" not in found.err


def test_names_are_never_latex(tmp_path: Path) -> None:
    """Not even where the program draws its own pictures by it."""
    from lowregret.finite import dimensions, make_hypotheses

    with matplotlib.rc_context({"text.usetex": True}):
        dimensions(make_hypotheses("cube:2")).plot(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
