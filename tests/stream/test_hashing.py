"""Hashes against values known from elsewhere and a reading in whole numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.compile.kernel import kernel
from lowregret.stream.hashing import hash_name, hash_text, murmur
from tests.stream.naive_vw import murmur3, number_of

KNOWN = {  # from the authors of the hash and of its ports
    (b"", 0): 0,
    (b"", 1): 0x514E28B7,
    (b"", 0xFFFFFFFF): 0x81F16F39,
    (b"\xff\xff\xff\xff", 0): 0x76293B50,
    (b"\x21\x43\x65\x87", 0): 0xF55B516B,
    (b"\x21\x43\x65\x87", 0x5082EDEE): 0x2362F9DE,
    (b"\x21\x43\x65", 0): 0x7E4A8634,
    (b"\x21\x43", 0): 0xA0F7B07A,
    (b"\x21", 0): 0x72661CF4,
    (b"\x00\x00\x00\x00", 0): 0x2362F9DE,
    (b"Hello, world!", 0x9747B28C): 0x24884CBA,
    (b"The quick brown fox jumps over the lazy dog", 0x9747B28C): 0x2FA826CD,
}


@kernel
def murmured(text: np.ndarray, begin: int, end: int, seed: int) -> int:
    return int(murmur(text, begin, end, seed))


@pytest.mark.parametrize(("data", "seed"), KNOWN)
def test_known_values(data: bytes, seed: int) -> None:
    assert murmur3(data, seed) == KNOWN[data, seed]
    assert murmured(np.frombuffer(data, np.uint8), 0, len(data), seed) == KNOWN[data, seed]


@given(
    before=st.binary(max_size=9),
    data=st.binary(max_size=40),
    after=st.binary(max_size=20),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_text_anywhere(before: bytes, data: bytes, after: bytes, seed: int) -> None:
    """Whatever stands before and behind, and also where the text ends at once."""
    text = np.frombuffer(before + data + after, np.uint8)
    assert murmured(text, len(before), len(before) + len(data), seed) == murmur3(data, seed)


@given(name=st.text("0123456789ab", min_size=1), seed=st.integers(0, 2**32 - 1))
def test_digits_are_their_own_number(name: str, seed: int) -> None:
    text = np.frombuffer(name.encode(), np.uint8)
    assert hash_text(text, seed) % 2**64 == number_of(name.encode(), seed)


def test_names_and_namespaces() -> None:
    """As `--audit` of Vowpal Wabbit shows them with 18 bits."""
    slots = {("x", "a"): 55432, ("y", "a"): 42847, ("z", "b"): 124687, ("x", ""): 170779, ("x", "12"): 98015}
    assert {key: hash_name(*key) % 2**18 for key in slots} == slots
    assert hash_name("3", "12") == 15
