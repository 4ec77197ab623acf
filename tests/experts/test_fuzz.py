"""A few games of `benchmarks.fuzz_experts`, of every kind; `make fuzz` plays many more."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzz_experts import GAMES, play_game

SEEDS = range(100, 106)


@pytest.mark.parametrize("name", GAMES)
def test_nothing_is_false(name: str, tmp_path: Path) -> None:
    ends = [play_game(name, seed, str(tmp_path)) for seed in SEEDS]
    assert "played" in ends
