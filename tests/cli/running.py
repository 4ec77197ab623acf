"""Running the command line, in this process or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from lowregret.cli import main


@dataclass
class Told:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> Told:
    """A command in this process."""
    try:
        code = main([str(word) for word in words])
    except SystemExit as exit:  # argparse
        code = int(exit.code or 0)
    captured = capsys.readouterr()
    return Told(code, captured.out, captured.err)


def process(*words: object, stdin: bytes | BinaryIO = b"", stdout: int | BinaryIO = subprocess.PIPE) -> Told:
    """A command in a process of its own, given some bytes or a file, its output read or sent elsewhere."""
    command = [sys.executable, "-m", "lowregret", *map(str, words)]
    given: dict[str, Any] = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
    done = subprocess.run(command, **given, stdout=stdout, stderr=subprocess.PIPE, check=False)
    return Told(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


def svm_lines(rows: int, seed: int = 0, features: int = 30) -> list[str]:
    """Separable-ish rows in LIBSVM form."""
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(99).normal(size=features + 1)
    lines = []
    for _ in range(rows):
        at = np.sort(rng.choice(np.arange(1, features + 1), 5, replace=False))
        values = rng.normal(size=5).round(3)
        label = "+1" if w[at] @ values + 0.5 * rng.normal() > 0 else "-1"
        lines.append(label + "".join(f" {j}:{v}" for j, v in zip(at, values, strict=True)))
    return lines


def written(path: Path, lines: list[str]) -> Path:
    """A text file with these lines."""
    path.write_text("".join(line + "\n" for line in lines))
    return path
