"""Docstrings say what a thing is or does in a sentence that can be understood alone."""

from __future__ import annotations

import ast
import re
from collections import Counter

import pytest

from tests.test_layers import MODULES, room

# A beginning that leans on something else, or that names nothing; and numbers that are not given.
RIDDLE = re.compile(r"(Likewise|What|The same|So many|As|Whether it is so)\b|(.*\W)?so many\b", re.DOTALL)

# Docstrings to be rewritten, by room: these numbers fall, and no room is added.
LEFT = {"bandit": 13, "experts": 13, "play": 6, "rule": 3, "sklearn": 4, "state": 1}


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
    found = riddles()
    too_many = Counter(room(module) for module, _ in found) - Counter(LEFT)
    assert [f"{module}: {name}" for module, name in found if room(module) in too_many] == []


def test_rooms_that_are_done_are_not_listed() -> None:
    assert LEFT.keys() <= {room(module) for module, _ in riddles()}


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
