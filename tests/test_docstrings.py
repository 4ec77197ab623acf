"""Docstrings say what a thing is or does in a sentence that can be understood alone."""

from __future__ import annotations

import ast
import re

import pytest

from tests.test_layers import MODULES

# A beginning that leans on something else, or that names nothing; and numbers that are not given.
RIDDLE = re.compile(r"(Likewise|What|The same|So many|As|Whether it is so)\b|(.*\W)?so many\b", re.DOTALL)


def riddles() -> list[tuple[str, str]]:
    """Module and name of whatever has a docstring that breaks the rule."""
    found = []
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                said = ast.get_docstring(node)
                if said and RIDDLE.match(said):
                    found.append((name, getattr(node, "name", "the module")))
    return found


def test_docstrings_can_be_understood_alone() -> None:
    assert [f"{module}: {name}" for module, name in riddles()] == []


@pytest.mark.parametrize(
    ("said", "riddle"),
    [
        ("Likewise, all of them finite.", True),
        ("What a file holds.", True),
        ("Room for so many features.", True),
        ("As `plot_run`, with eras.", True),
        ("Room for this many features.", False),
        ("Asks what a file holds.", False),
        ("the same cost for ever", False),
    ],
)
def test_riddles_are_told_from_sentences(said: str, riddle: bool) -> None:
    assert bool(RIDDLE.match(said)) == riddle
