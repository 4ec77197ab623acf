"""The page about the architecture is true: drawn from the imports and from a run as they are now."""

from __future__ import annotations

import pytest

from benchmarks.architecture import HANDED, LOOP, PAGE, PICTURE, Stack, filled, picture, record, reduced
from tests.test_layers import ROOMS, floor

MOST_HOPS = 12  # from the command to the compiled loop


@pytest.fixture(scope="module")
def found() -> dict[str, Stack]:
    return record()


def test_the_picture_is_up_to_date() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "run python -m benchmarks.architecture"


def test_the_page_is_up_to_date(found: dict[str, Stack]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == filled(text, found), "run python -m benchmarks.architecture"


def test_few_hops_lead_to_the_compiled_loop(found: dict[str, Stack]) -> None:
    assert found[LOOP][0] == "cli.main"
    assert len(found[LOOP]) - 1 <= MOST_HOPS
    assert found[HANDED][-1] == HANDED


def test_lines_left_out_of_the_picture_are_implied_by_others() -> None:
    lines = reduced()
    for room, others in ROOMS.items():
        reached, left = set[str](), list(lines[room])
        while left:
            other = left.pop()
            reached.add(other)
            left += lines[other]
        assert others <= reached
        assert all(floor(other) <= floor(room) for other in lines[room])
