"""Numbers in text against Python's own `float`."""

from __future__ import annotations

import math
import random
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lowregret.stream.number import ABSENT, HARD, READ, number, read_number

SLACK = b"\n" * 16


def read(text: str) -> tuple[float, int]:
    value = np.full(1, math.nan)
    status = read_number(np.frombuffer(text.encode() + SLACK, np.uint8), value)
    return float(value[0]), status


def bits(x: float) -> bytes:
    """Equal only if the signs of zeros are, too."""
    return struct.pack("d", x)


def check(text: str, hard_allowed: bool = False) -> None:
    value, status = read(text)
    if status == HARD and hard_allowed:
        return
    assert status == READ, text
    assert bits(value) == bits(float(text)), text


def random_digits(rng: random.Random, most: int) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.randint(1, most)))
    at = rng.randint(0, len(digits))
    return rng.choice((digits, digits[:at] + "." + digits[at:], "0." + digits, "000" + digits))


def test_random_bit_patterns_written_with_repr_and_17_digits() -> None:
    rng = random.Random(1)
    for _ in range(10_000):
        x = struct.unpack("d", rng.randbytes(8))[0]
        if math.isfinite(x):
            check(repr(x))
            check(f"{x:.17e}")


def test_up_to_19_digits_with_exponents_are_never_hard() -> None:
    rng = random.Random(2)
    for _ in range(10_000):
        sign, letter = rng.choice(("", "-", "+")), rng.choice("eE")
        digits = f"{rng.randrange(10 ** rng.randint(1, 19))}"
        check(f"{sign}{digits}{letter}{rng.choice(('', '+', '-'))}{rng.randint(0, 345)}")


def test_up_to_40_digits() -> None:
    rng = random.Random(3)
    hard = 0
    for _ in range(10_000):
        text = rng.choice(("", "-")) + random_digits(rng, 40) + rng.choice(("", f"e{rng.randint(-340, 310)}"))
        check(text, hard_allowed=True)
        hard += read(text)[1] == HARD
    assert hard < 100  # only where more than 19 digits decide


def test_subnormal_numbers_and_their_neighbours() -> None:
    rng = random.Random(4)
    for _ in range(5_000):
        x = struct.unpack("d", struct.pack("Q", rng.randrange(2**53 + 2**50)))[0]
        check(repr(x))
        check(f"{rng.randrange(10**19)}e{rng.randint(-345, -320)}")


@pytest.mark.parametrize("step", [-2, -1, 0, 1, 2])
def test_ties_go_to_the_even_one(step: int) -> None:
    """Halves between neighbouring doubles, and the numbers next to them."""
    for power in range(53, 63):
        for odd in range(1, 12, 2):
            middle = 2**power + odd * 2 ** (power - 53)
            check(str(middle + step))
            check(f"{middle + step}.0")
    for odd in range(1, 40, 2):
        check(repr((2**53 + odd) * 5))
        check(f"{(2**53 + odd) * 5}e-1")
        check(f"{(2**53 + odd) * 625 + step}e-4")


@pytest.mark.parametrize(
    "text",
    [
        "0", "-0", "+0", "0.0", "-0.0", "0e5", "0e-999999999999999999", "5.", ".5", "-.5e1", "00012", "12345678",
        "123456789", "12345678.", "1.12345678", "1234567.1234567", "12345678.12345678", "9007199254740993", "1e22",
        "1e23", "1e-22",
        "9007199254740991e22", "9007199254740992e22", "4.9e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
        "2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623158e308",
        "1.7976931348623159e308", "1e309", "-1e400", "1e99999999999999999999", "1e-99999999999999999999",
        "1e0000000000000000000005",
    ],
)  # fmt: skip
def test_corners(text: str) -> None:
    check(text)


def test_many_noughts() -> None:
    check("0." + "0" * 200_000 + "1e200000")
    check("1" + "0" * 200_000 + "e-200000")
    check("0" * 5000 + "7")


def test_undecided_numbers_are_left_to_python() -> None:
    value, status = read("9007199254740993.0000000000000000000000001")
    assert status == HARD
    assert read("9007199254740993.0000000000000000000000000")[1] == READ
    assert value == 0.0


@pytest.mark.parametrize(
    "text", ["", "-", "+", ".", "-.", "e5", ".e5", "nan", "inf", "-inf", "+-1", "--1", "x", " 1", "/", ":"]
)
def test_what_is_no_number_is_absent(text: str) -> None:
    assert read(text)[1] == ABSENT


@pytest.mark.parametrize(
    ("text", "length"),
    [("1e", 1), ("1e+", 1), ("1ex", 1), ("12.5e-", 4), ("1.2.3", 3), ("1e5.5", 3), ("7,", 1), ("12345678x", 8),
     ("123456789012345678901234x", 24), ("1e5e5", 3), ("-1-1", 2), ("1:2", 1)],
)  # fmt: skip
def test_a_number_ends_where_python_would_stop(text: str, length: int) -> None:
    with np.errstate(over="ignore"):
        value, end, status = number(np.frombuffer(text.encode() + SLACK, np.uint8), np.uint64(0))
    assert status == READ
    assert end == length
    assert value == float(text[:length])


join = "{}{}{}".format
signs = st.sampled_from(["", "+", "-"])


def digits(least: int, most: int) -> st.SearchStrategy[str]:
    return st.text("0123456789", min_size=least, max_size=most)


plain = st.builds(join, digits(1, 25), st.sampled_from(["", "."]), digits(0, 25)) | digits(1, 25).map(".{}".format)
exponents = st.just("") | st.builds(join, st.sampled_from("eE"), signs, digits(1, 4))


@given(st.builds(join, signs, plain, exponents))
@example("0.000001e-318")
@settings(max_examples=500)
def test_all_that_looks_like_a_number(text: str) -> None:
    check(text, hard_allowed=True)


@given(st.binary(max_size=30).filter(lambda text: b"\n" not in text))
@settings(max_examples=300)
def test_any_bytes(text: bytes) -> None:
    """What is read is what `float` reads of the longest beginning that is a number."""
    padded = np.frombuffer(text + SLACK, np.uint8)
    value = np.zeros(1)
    status = read_number(padded, value)
    with np.errstate(over="ignore"):
        _, end, plain = number(padded, np.uint64(0))
    assert status == plain
    if status == READ:
        assert bits(float(text[: int(end)])) == bits(float(value[0]))
