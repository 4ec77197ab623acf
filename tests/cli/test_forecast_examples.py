"""The examples of forecasts run, and the commands that they name work on the tables that they write."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from tests.cli.running import run

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.mark.parametrize("name", ["quantile_forecasts", "portfolio"])
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
