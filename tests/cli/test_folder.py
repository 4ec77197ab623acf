"""The folder where a command runs gives it data, and nothing else: its maker may be anybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lowregret
from tests.cli.running import svm_lines, written

ROOT = Path(lowregret.__file__).parent.parent
SCRIPT = """
import os, sys
here, mine = os.getcwd(), {mine}

def look(event, given):
    if event == "open" and isinstance(given[0], str | bytes):
        path = os.path.abspath(os.fsdecode(given[0]))
        if os.path.dirname(path) == here and os.path.basename(path) not in mine:
            print("opens", path, file=sys.stderr)

sys.addaudithook(look)
from lowregret.cli import command
command()
"""
PYTHON = [
    "numpy", "numba", "yaml", "scipy", "matplotlib", "pyarrow", "random", "sitecustomize", "usercustomize", "lowregret",
    "conftest",
]  # fmt: skip
SETTINGS = [
    ".env", ".numba_config.yaml", "matplotlibrc", "pyproject.toml", "setup.cfg", "lowregret.toml", ".lowregret",
    "lowregret.pth", "pyvenv.cfg", ".netrc", "python311._pth",
]  # fmt: skip


@pytest.mark.parametrize(
    "words",
    [
        "train rows.svm --loss logistic --algorithm ogd --plot a.png --report a.html",
        "experts table.csv --target y --plot a.png",
    ],
)
def test_commands_open_only_what_they_are_told_to(tmp_path: Path, words: str) -> None:
    """The console script, that is: `python -m lowregret` has the folder among those that Python imports from."""
    here, script = tmp_path / "here", tmp_path / "bin" / "lowregret"
    for folder in (here, script.parent):
        folder.mkdir()
    for name in PYTHON:
        (here / f"{name}.py").write_text("raise SystemExit('imported')")
    for name in SETTINGS:
        (here / name).write_text("here: yes\n")
    written(here / "rows.svm", svm_lines(30))
    written(here / "table.csv", ["y,a,b", *["1,1,0", "0,0,1"] * 10])
    known = {name.name for name in here.iterdir()}
    script.write_text(SCRIPT.format(mine={"rows.svm", "table.csv", "a.png", "a.html", "rows.lrc"}))
    command = [sys.executable, str(script), *words.split(), "--quiet"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
    ours = [line for line in told.stderr.splitlines() if not line.endswith(".tmp") and "compiling" not in line]
    assert (told.returncode, ours) == (0, [])
    assert {name.name for name in here.iterdir()} - known <= {"a.png", "a.html", "rows.lrc"}


def test_workers_import_nothing_from_the_folder(tmp_path: Path) -> None:
    """Ray puts the folder where a driver is before all others from which workers import."""
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    here, script = tmp_path / "here", tmp_path / "bin" / "lowregret"
    for folder in (here, script.parent):
        folder.mkdir()
    told = f"open({str(here / 'IMPORTED')!r}, 'a').write(__name__); raise ImportError(__name__)\n"
    for name in [*PYTHON, "ray", "psutil", "string", "secrets"]:
        (here / f"{name}.py").write_text(told)
    for name in SETTINGS:
        (here / name).write_text("here: yes\n")
    written(here / "rows.svm", svm_lines(30))
    script.write_text("from lowregret.cli import command\ncommand()\n")
    words = "train rows.svm --ray local --workers 2 --loss logistic --algorithm ogd --eta 0.1 --json"
    command = [sys.executable, str(script), *words.split()]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)
    assert not (here / "IMPORTED").exists()
    assert (done.returncode, json.loads(done.stdout)["rounds"]) == (0, 30)
