"""A few of the random commands of `benchmarks/fuzz_commands.py`, and what it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.command_runs import strict
from benchmarks.fuzz_commands import fuzzed
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]


@pytest.mark.parametrize("count", [15, pytest.param(30, marks=pytest.mark.thorough)])
def test_random_commands(count: int) -> None:
    codes, wrong = fuzzed(count, seed=1)
    assert not wrong, wrong
    assert set(codes) == {0, 2}


@pytest.mark.usefixtures("interpreted")
def test_numbers_without_limit_are_null_in_json(capsys: Capsys, tmp_path: Path) -> None:
    rows = written(tmp_path / "r.svm", svm_lines(20))
    told = run(capsys, "train", rows, "--algorithm", "pa", "--json", "--quiet")
    assert strict(told.out)["spec"]["rule"]["step"]["C"] is None


def test_what_is_no_delimiter(capsys: Capsys, tmp_path: Path) -> None:
    told = run(capsys, "experts", written(tmp_path / "r.csv", ["y,a", "1,1"]), "--target", "y", "--delimiter", "ab")
    assert told.code == 2
    assert "expected one character between columns" in told.err
