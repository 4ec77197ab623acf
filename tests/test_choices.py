"""A few cases of `benchmarks.fuzz_choices`, and that its tests can fail."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.choices import bandits, nasty
from benchmarks.fuzz_choices import CASES, attack
from lowregret.bandit import Estimate, ips

FEW = {"coverage": 2, "structured": 1}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_nothing_is_shown_that_is_not_so(name: str) -> None:
    for seed in range(FEW.get(name, 4)):
        assert attack(name, seed) is None


def test_intervals_that_are_too_narrow_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def point(*args: Any) -> Estimate:
        found = ips(*args)
        return Estimate("", 0.0, found.value, found.value, "", 1, 1.0, "")

    monkeypatch.setattr(bandits, "ips", point)
    assert any("intervals at 80 % miss" in (attack("coverage", seed) or "") for seed in range(4))


def test_sums_that_are_off_are_found_out() -> None:
    nasty.near(0.1 + 0.2, Fraction(3, 10), 1, 2, "a sum")
    for told in (0.3 + 1e-12, np.nan, np.inf):
        with pytest.raises(nasty.Falsehood, match="a sum"):
            nasty.near(told, Fraction(3, 10), 1, 2, "a sum")
