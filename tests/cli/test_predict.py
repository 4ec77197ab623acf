"""`lowregret predict`, and how quickly help comes."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lowregret import load, zoo
from lowregret.cli.commands import NAMES
from lowregret.cli.progress import Progress
from lowregret.cli.scores import apply_link
from lowregret.loss import Hinge, Logistic
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.run.session import Session
from lowregret.stream.formats.svm import SvmText
from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("words", [("--loss", "hinge"), ("--loss", "softmax")])
def test_features_beyond_the_dimension_are_refused(capsys: Capsys, tmp_path: Path, words: tuple[str, ...]) -> None:
    path, model = written(tmp_path / "a.svm", svm_lines(20)), tmp_path / "m.lr"
    new = written(tmp_path / "b.svm", [*svm_lines(3), "-1 2:1 40:5", "1 50:1"])
    said = ("--algorithm", "ogd", "--dimension", 31, *words)
    assert run(capsys, "train", path, *said, "-o", model, "--quiet").code == 0
    told = run(capsys, "predict", model, new)
    assert told.code == 2
    assert told.err == (
        f"lowregret: {new}:4: feature 40, counted from 1, is beyond the model's 31: leave it out, or train with a "
        "larger --dimension\n"
    )


def test_scores_of_a_fixed_model(capsys: Capsys, tmp_path: Path) -> None:
    path, new = (
        written(tmp_path / "a.svm", svm_lines(200)),
        written(tmp_path / "b.svm", [*svm_lines(50, 1), "-1 900:5"]),
    )
    run(capsys, "train", path, "-o", tmp_path / "m.lr", "--algorithm", "ogd", "--loss", "logistic", "--quiet")
    told = run(capsys, "predict", tmp_path / "m.lr", new, "-o", tmp_path / "p.txt")
    assert told.code == 0, told.err
    assert "51 rows scored" in told.err
    model = load(tmp_path / "m.lr")
    assert isinstance(model, LinearRun)
    from sklearn.datasets import load_svmlight_file

    x, _ = load_svmlight_file(str(new), zero_based=True)
    expected = model.decision_function(x)
    assert np.loadtxt(tmp_path / "p.txt").tobytes() == expected.tobytes()
    told = run(capsys, "predict", tmp_path / "m.lr", new, "--link", "prob")
    np.testing.assert_allclose(np.array(told.out.split(), float), 1 / (1 + np.exp(-expected)))
    told = run(capsys, "predict", tmp_path / "m.lr", new, "--json", "-o", tmp_path / "q.txt", "--link", "label")
    assert told.json["rows"] == 51
    assert set((tmp_path / "q.txt").read_text().split()) <= {"1.0", "-1.0"}


def test_predicting_with_what_is_no_model(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(20))
    assert "not a lowregret file" in run(capsys, "predict", path, path).err
    begin(zoo.ogd(Hinge()), 3).save(tmp_path / "run.lr")
    assert "how to read rows" in run(capsys, "predict", tmp_path / "run.lr", path).err


def test_links() -> None:
    scores = np.array([-1000.0, 0.0, 2.0])
    assert apply_link(scores, "raw", Hinge()).tolist() == scores.tolist()
    assert apply_link(scores, "label", Hinge()).tolist() == [-1.0, 1.0, 1.0]
    assert apply_link(scores, "prob", Logistic()).tolist() == pytest.approx([0.0, 0.5, 1 / (1 + np.exp(-2))])


def test_help_imports_nothing_heavy() -> None:
    """Each command has help with an example, and none of it needs Numba."""
    script = (
        "import sys; from lowregret.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print('numba' in sys.modules, 'numpy' in sys.modules, file=sys.stderr)"
    )
    for words in (["--help"], *([name, "--help"] for name in NAMES)):
        done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=True)
        assert done.stderr.strip() == "False False"
        assert words == ["--help"] or "example" in done.stdout


def test_unknown_commands_and_versions() -> None:
    assert process("nonsense").code == 2
    assert "lowregret 0" in process("--version").out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def session() -> Session:
    learnt = Session(begin(zoo.ogd(Hinge()), 2, compiled=False), SvmText(), "ogd")
    learnt.run.learn([[1.0, 2.0]] * 4, [1.0, -1.0, 1.0, -1.0])
    learnt.rows = 4
    return learnt


def test_progress_says_all() -> None:
    shown = Progress(session(), 1000, stream=io.StringIO())
    shown.before = (0, 0.0, 0)
    line = shown.line(shown.start + 2.0, 500)
    for words in ("4 rows", "rows/s", "MB/s", "50%, 0:00:02 left", "loss", "lately", "error", "regret ≤"):
        assert words in line


def test_progress_is_plain_lines_off_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, expected in ((io.StringIO(), "\n"), (Terminal(), "\r\x1b[2K")):
        with Progress(session(), 1000, stream=stream) as shown:
            shown.update(10)
            assert stream.getvalue() == ""
            shown.shown -= 60
            shown.update(20)
        assert stream.getvalue().count(expected) >= 1
    silent = io.StringIO()
    quiet = Progress(session(), 1000, wanted=False, stream=silent)
    quiet.shown -= 60
    quiet.update(20)
    assert silent.getvalue() == ""
