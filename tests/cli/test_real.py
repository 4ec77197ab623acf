"""The commands of the docs on real data: they run, and beat the simplest guess by what was once seen."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import run

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
COMMANDS = re.findall(
    r"^\| `lowregret (train .*?)` \| ([\d,]+) \| ([\d.]+)( %)? \|", PAGE.read_text(encoding="utf-8"), re.M
)


def test_the_page_tells_six() -> None:
    assert len(COMMANDS) == 6


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "rows", "error", "percent"), COMMANDS, ids=[words.split(".")[0].split()[-1] for words, *_ in COMMANDS]
)
def test_commands_of_the_docs(
    capsys: pytest.CaptureFixture[str],
    data_file: Callable[[str], Path],
    words: str,
    rows: str,
    error: str,
    percent: str,
) -> None:
    train, file, *options = shlex.split(words)
    told = run(capsys, train, data_file(file), *options, "--json", "--quiet")
    assert told.code == 0, told.err
    found = told.json
    assert found["rounds"] == int(rows.replace(",", ""))
    seen = 100 * found["error"] if percent else found["metrics"]["mae"]
    assert seen == pytest.approx(float(error), abs=0.006)
    assert found["certificate"]["holds"]
