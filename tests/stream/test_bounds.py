"""Every index of the compiled parsers, checked: in a process of its own, over good and broken text."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from benchmarks.fuzz import TARGETS
from lowregret.stream.formats import FORMATS

INPUTS = 20_000


def test_every_format_of_text_is_a_target() -> None:
    parts = {type(target.form).__name__ for target in TARGETS.values()}
    assert parts == {form.reader.__name__ for form in FORMATS.values() if form.sample}


def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    """All formats in one process: what they share is compiled once."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--inputs", str(INPUTS), "--seed", "7"]
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(command, env=checked, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said.keys() == TARGETS.keys()
    for name, counts in said.items():
        assert f"'lines': {INPUTS}" in counts, name
    assert any(tmp_path.rglob("*.nbc")), "it was compiled anew"


def test_the_check_would_find_something(tmp_path: Path) -> None:
    script = """
import numpy as np
from lowregret.stream.buffers import Buffers
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.text_format import parse_text
text = np.frombuffer(b"1 1:1 2:1 3:1\\n" + b"\\n" * 64, np.uint8)
parse_text(SvmText(), text, 14, Buffers.sized(4, 2))
"""
    checked = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], env=checked, capture_output=True, text=True)
    assert "IndexError" in done.stderr
