"""The example of one series and sixty models runs, and its mixture is better than each of them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(ROOT / "examples" / "sixty_models.py"), run_name="__main__")
    mixture, said, came = made["mixture"], made["said"], made["came"]
    assert mixture.regret < 0
    assert mixture.certificate.holds
    for name, forecasts in said.items():  # made of the days before
        assert ((forecasts[1:] != came[1:]) | (forecasts[1:] == forecasts[:-1])).all(), name
    page = (tmp_path / "out" / "sixty.html").read_text()
    assert "ar_1_7_28" in page
    assert "trusted most tomorrow" in capsys.readouterr().out
