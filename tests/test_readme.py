"""What the README and the docs tell people to paste works when pasted."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    block for page in PAGES for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
]


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 3


@pytest.mark.parametrize(("number", "block"), list(enumerate(BLOCKS)), ids=range(len(BLOCKS)))
def test_pasted_example_runs_and_prints(
    number: int, block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a module of this process, for one of its own would spend its time on imports; `test_cache.py` has scripts."""
    name = f"pasted_{number}"
    (tmp_path / f"{name}.py").write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(name)
    del sys.modules[name]
    told = capsys.readouterr().out
    assert "≤" in told or "at most" in told
