"""`lowregret warm`: what it compiled is what later commands look for; and commands that compile say so."""

from __future__ import annotations

import tempfile
from contextlib import AbstractContextManager, nullcontext
from io import StringIO
from pathlib import Path

import pytest
from numba.core.event import trigger_event

from lowregret import cli
from lowregret.cli import notice
from lowregret.cli.clock import COMPILE
from lowregret.cli.notice import Notice
from lowregret.zoo import ALGORITHMS
from tests.cli.running import process, run, svm_lines, written


def test_what_was_warmed_is_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    cold, warm = (process("warm", "pa:hinge", "--json") for _ in range(2))
    assert [one["name"] for one in cold.json["warm"]] == ["pa:hinge"]
    assert 0 < cold.json["warm"][0]["compile"] <= cold.json["seconds"]["compile"]
    assert "pa:hinge: compiled in" in cold.err
    assert warm.json["seconds"]["compile"] == 0
    assert warm.err == "pa:hinge: in the cache already\n"
    rows = written(tmp_path / "a.svm", svm_lines(500))
    words = "--algorithm", "pa", "--loss", "hinge", "--C", 0.5, "--json", "--predictions", tmp_path / "p"
    assert process("train", rows, *words).json["seconds"]["compile"] == 0


@pytest.mark.thorough
def test_the_loops_of_several_learners_can_be_warmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert process("warm", "ogd:hinge", "pa:hinge", "--learners", "--quiet").code == 0  # of which pa learns row by row
    rows = written(tmp_path / "a.svm", svm_lines(500))
    for more in ((), ("--block", "free"), ("--block", 4)):
        told = process("train", rows, "--algorithm", "ogd", "--loss", "hinge", "--learners", 2, *more, "--json")
        assert told.json["seconds"]["compile"] == 0


@pytest.mark.thorough
def test_every_algorithm_can_be_warmed(capsys: pytest.CaptureFixture[str], interpreted: None) -> None:
    told = run(capsys, "warm", *ALGORITHMS, "ogd:poisson", "ogd:hinge:0.5", "adagrad:softmax", "--quiet", "--json")
    assert told.code == 0
    names = [one["name"] for one in told.json["warm"]]
    assert names[:3] == ["auto:logistic", "auto:square", "auto:softmax"]
    assert names[3:] == [*list(ALGORITHMS)[1:], "ogd:poisson", "ogd:hinge:0.5", "adagrad:softmax"]
    assert told.err == ""


@pytest.mark.parametrize(
    ("name", "hint"), [("odg", "did you mean ogd?"), ("xyz", "there are auto, "), ("ogd:hing", "there is no loss")]
)
def test_what_is_not_there_is_said_so(capsys: pytest.CaptureFixture[str], name: str, hint: str) -> None:
    told = run(capsys, "warm", name)
    assert told.code == 2
    assert hint in told.err


def test_long_compiling_is_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notice, "PATIENCE", 0.0)
    said = StringIO()
    with Notice(stream=said) as teller:
        for _ in range(2):
            with trigger_event(COMPILE), trigger_event(COMPILE):
                assert teller._timer is not None
                teller._timer.join()
    assert said.getvalue() == "compiling (once per machine)…\n"


@pytest.mark.parametrize(("wanted", "patience"), [(False, 0.0), (True, 60.0)])
def test_no_announcement_in_quiet_or_for_a_moment(
    monkeypatch: pytest.MonkeyPatch, wanted: bool, patience: float
) -> None:
    monkeypatch.setattr(notice, "PATIENCE", patience)
    said = StringIO()
    with Notice(wanted, said) as teller, trigger_event(COMPILE):
        pass
    if teller._timer is not None:
        teller._timer.join()
    assert said.getvalue() == ""


@pytest.mark.parametrize(
    "words",
    [
        ("experts", "t.csv", "--target", "y"),
        ("bandit", "log.csv", "--action", "arm", "--reward", "y"),
        ("dimension", "thresholds:4"),
    ],
)
def test_every_command_that_compiles_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "t.csv", ["y,a,b", *["1,0.5,2", "0,1,0.25"] * 5])
    written(tmp_path / "log.csv", ["arm,y", *["a,1", "b,0"] * 5])
    asked: list[bool] = []

    def told(wanted: bool) -> AbstractContextManager[None]:
        asked.append(wanted)
        return nullcontext()

    monkeypatch.setattr(notice, "Notice", told)
    assert run(capsys, *words).code == 0
    assert asked == [True]


def test_without_a_folder_for_temporary_files_warm_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output was said to have none."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "none")])
    told = run(capsys, "warm", "ogd:hinge")
    assert told.code == 2
    assert told.err.startswith("lowregret: warm writes a few temporary files: No usable temporary directory found in")
    assert told.err.endswith("; name a folder for them in TMPDIR\n")


def test_memory_may_be_short_with_few_features_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def short(argv: object) -> int:
        raise MemoryError

    monkeypatch.setattr(cli, "_run", short)
    told = run(capsys, "zoo")
    assert told.code == 2
    assert told.err.startswith("lowregret: out of memory: free some for this process; many features take less")
