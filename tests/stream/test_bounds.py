"""Every index of the compiled parsers is checked: over good and broken text, none is wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.fuzz import TARGETS
from lowregret.errors import BoundsError
from lowregret.stream.buffers import Buffers
from lowregret.stream.formats import FORMATS
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.text_format import parse_text

INPUTS = 20_000


def test_every_format_of_text_is_a_target() -> None:
    parts = {type(target.form).__name__ for target in TARGETS.values()}
    assert parts == {form.reader.__name__ for form in FORMATS.values() if form.sample}


def test_no_index_is_out_of_bounds() -> None:
    command = [sys.executable, "-m", "benchmarks.fuzz", "--inputs", str(INPUTS), "--seed", "7"]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split(": ", 1) for line in done.stdout.splitlines())
    assert said.keys() == TARGETS.keys()
    for name, counts in said.items():
        assert f"'lines': {INPUTS}" in counts, name


def test_the_check_finds_something() -> None:
    text = np.frombuffer(b"1 1:1 2:1 3:1\n" + b"\n" * 64, np.uint8)
    with pytest.raises(BoundsError):
        parse_text(SvmText(), text, 14, Buffers.sized(4, 2))
