"""Counts as people read them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.bandit import Bandit, Exp3
from lowregret.words import counted, listed, percent, percent_down, percent_up, rounded_down, rounded_up


@pytest.mark.parametrize(
    ("count", "things", "told"),
    [
        (0, ("round",), "0 rounds"),
        (1, ("round",), "1 round"),
        (2_000, ("round",), "2,000 rounds"),
        (1.0, ("class", "classes"), "1 class"),
        (3, ("class", "classes"), "3 classes"),
    ],
)
def test_one_thing_and_many(count: float, things: tuple[str, ...], told: str) -> None:
    assert counted(count, *things) == told


def test_a_bandit_of_one_round() -> None:
    bandit = Bandit(1, Exp3(eta=0.1), compiled=False)
    number, _ = bandit.choose()
    assert str(bandit).startswith("0 rounds of exp3 on 1 arm, loss 0 (0 a round), 1 choice waits for its cost")
    bandit.choose()
    bandit.reward(number, 1.0)
    assert str(bandit).startswith("1 round of exp3 on 1 arm, loss 0 (0 a round), 1 choice waits for its cost")
    bandit.choose()
    assert "2 choices wait for their costs" in str(bandit)


@given(st.floats(1e-300, 1e300).flatmap(lambda x: st.sampled_from((x, -x, 0.0))), st.integers(1, 8))
def test_bounds_are_shown_on_their_own_side(value: float, digits: int) -> None:
    assert Fraction(rounded_down(value, digits)) <= Fraction(value) <= Fraction(rounded_up(value, digits))
    assert abs(float(rounded_up(value, digits)) - value) <= (1 + 1e-9) * 10.0 ** (1 - digits) * abs(value)


@given(st.floats(0, 1), st.integers(0, 4))
def test_shares_are_shown_on_their_own_side(value: float, digits: int) -> None:
    low, high = (Fraction(show(value, digits).rstrip("%")) / 100 for show in (percent_down, percent_up))
    assert low <= Fraction(value) <= high <= low + Fraction(1, 10 ** (digits + 2))


def test_no_share_is_none_or_all_unless_it_is() -> None:
    assert [percent(x) for x in (0.0, 1.0, 0.5, 4e-5, 1 / 30_000)] == ["0.00%", "100.00%", "50.00%", "0.004%", "0.003%"]
    assert percent(1 - 1 / 30_000) == "99.997%"
    assert percent(0.999, 0) == "99.9%"
    assert percent(None) == "–"


def test_numbers_that_are_none() -> None:
    assert [rounded_up(math.inf), rounded_down(-math.inf), rounded_up(math.nan)] == ["inf", "-inf", "nan"]


def test_lists_of_names_are_bounded() -> None:
    assert listed(["a", 2]) == "a, 2"
    assert listed(range(10**6), 3) == "0, 1, 2 and 999997 more"


@given(st.floats(5e-324, 1e300).flatmap(lambda x: st.sampled_from((x, -x))), st.integers(1, 10**9))
def test_shares_of_bounds_are_shown_on_their_own_side(value: float, among: int) -> None:
    """Also where the share is less than all floats."""
    low, high = (Fraction(show(value, 4, among)) for show in (rounded_down, rounded_up))
    assert low <= Fraction(value) / among <= high
    assert low != 0 != high
