"""The examples of forecasts run, and the commands that they name work on the tables that they write."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.experts.test_series import CROSS_VALIDATION

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("name", ["quantile_forecasts", "portfolio", "m_competition"])
def test_it_runs(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    *told, command = capsys.readouterr().out.splitlines()
    assert any("at most" in line for line in told)
    assert command.startswith("lowregret experts")
    again = run(capsys, *command.split()[1:])
    assert again.code == 0, again.err
    assert "regret" in again.out


@pytest.mark.parametrize(("name", "said"), [("backtest", "shrunk   loss"), ("daily_forecasts", "'newcomer'")])
def test_it_tells(capsys: Capsys, monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.setattr(sys, "argv", [name, str(CROSS_VALIDATION)])
    runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    assert said in capsys.readouterr().out
