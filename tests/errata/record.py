"""The corrections of the source texts, read from the docstrings of their tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from inspect import getdoc
from pathlib import Path

HERE = Path(__file__).parent
CORRECTIONS = 41


@dataclass(frozen=True)
class Erratum:
    """What is printed where, what is true, and the run that shows it."""

    number: str
    where: str
    printed: str
    true: str
    run: str
    file: str
    test: str


def errata() -> Iterator[Erratum]:
    """All corrections, file by file."""
    for path in HERE.glob("test_*.py"):
        module = import_module(f"tests.errata.{path.stem}")
        for name, thing in vars(module).items():
            if found := re.match(r"test_e(\d+)_", name):
                yield _read(f"E{found[1]}", getdoc(thing) or "", path.name, name)


def _read(number: str, doc: str, file: str, test: str) -> Erratum:
    told = re.fullmatch(r"(.+?)\.\n\nPrinted: (.+?)\nTrue: (.+?)\nRun: (.+)", doc, re.DOTALL)
    assert told, f"the docstring of {test} must say where it is printed, then Printed:, True: and Run:"
    where, printed, true, run = (" ".join(part.split()).removesuffix(".") for part in told.groups())
    return Erratum(number, where, printed, true, run, file, test)
