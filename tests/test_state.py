"""The ledger by name: every slot has one name, and every name one meaning, declared in one place."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import lowregret
from lowregret.state import COUNT_NAMES, COUNTS, SUM_NAMES, SUMS, State, slot

FILES = sorted(Path(lowregret.__file__).parent.rglob("*.py"))
DECLARED = [
    (path.name, constant, name)
    for path in FILES
    for constant, name in re.findall(r'^(\w+) = slot\("(\w+)"\)  # \S', path.read_text(), re.MULTILINE)
]


def test_every_name_is_declared_once_with_its_meaning() -> None:
    assert Counter(name for _, _, name in DECLARED) == Counter(dict.fromkeys(SUM_NAMES, 1))
    assert all(constant == name.upper() for _, constant, name in DECLARED)


def test_no_slot_has_a_second_name() -> None:
    for path in FILES:
        constants = "|".join(name.upper() for name in SUM_NAMES)
        renamed = re.findall(rf"^[A-Z_]+ = (?:{constants})\b.*", path.read_text(), re.MULTILINE)
        assert renamed == [], path


def test_names_have_places() -> None:
    assert [slot(name) for name in SUM_NAMES] == list(range(SUMS))
    with pytest.raises(ValueError, match="not in tuple"):
        slot("nothing")
    state = State.zeros(3, 2, True)
    assert (state.sums.size, state.counts.size) == (SUMS, COUNTS)
    assert len(COUNT_NAMES) == COUNTS
