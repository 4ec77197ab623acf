"""Stored files of every kind load for ever, hold what was recorded, and go on to the recorded bits.

Bits are those of one arithmetic: where NumPy adds up in another order than where they were recorded, ten digits agree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.fuzz_models import fuzzed
from lowregret.store import file as store
from lowregret.store.kinds import KINDS, load
from tests.models.arithmetic import arithmetic
from tests.models.examples import EXAMPLES, figures, numbers

FOLDER = Path(__file__).parent.parent / "models"
RECORDED: dict[str, Any] = json.loads((FOLDER / "recorded.json").read_text())
FILES = sorted(path.stem for path in FOLDER.glob("*.lr"))
LARGEST = 40_000  # bytes: a run with partitions has two minds, frozen and not
DIGITS, SMALLEST = 1e-10, 1e-13  # of figures elsewhere; where terms cancel
CHANGES = 12  # of each file; `make fuzz` tries many more


def test_every_kind_has_a_file_and_every_file_an_example() -> None:
    """`python -m tests.models` writes those that are missing."""
    assert {store.kind_of(FOLDER / f"{name}.lr") for name in FILES} == set(KINDS)
    assert sorted(EXAMPLES) == FILES == sorted(RECORDED)
    assert max((FOLDER / f"{name}.lr").stat().st_size for name in FILES) < LARGEST


@pytest.mark.parametrize("name", FILES)
def test_it_loads_and_goes_on(name: str) -> None:
    thing = load(FOLDER / f"{name}.lr")
    thing.compiled = False  # which changes no bit, and takes no time to compile
    expected = dict(RECORDED[name])
    same, more = expected.pop("arithmetic") == arithmetic(), expected.pop("more")
    found = figures(thing)
    assert found.keys() == expected.keys()
    for what, wanted in expected.items():
        assert found[what] == (wanted if same else pytest.approx(wanted, rel=DIGITS, abs=0.0))
    assert numbers(EXAMPLES[name].more(thing)) == (more if same else pytest.approx(more, rel=DIGITS, abs=SMALLEST))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.filterwarnings("ignore")
def test_changed_files_are_refused_or_go_on(name: str) -> None:
    """Interpreted, so that an index beyond the end is an error. Half of the changes fit the rest: some do no harm."""
    found = fuzzed(name, CHANGES, 1, compiled=False)
    assert found.changes == CHANGES
    assert found.refused > CHANGES // 4
