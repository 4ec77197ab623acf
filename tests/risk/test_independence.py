"""The test of independence: what it computes, how often it cries wolf, and what it must see."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret.risk.independence import DOUBLING, LENGTHS, close_block, evidence, first_levels, kt

BLOCK = 64
Bits = list[int]


def measured(bits: Bits) -> float:
    """`evidence` from counts, as a tally would keep them."""
    levels, full = first_levels(), len(bits) - len(bits) % BLOCK
    for k in range(0, full, BLOCK):
        close_block(levels, sum(bits[k : k + BLOCK]), BLOCK)
    both = sum(a & b for a, b in pairwise(bits))
    return evidence(len(bits), sum(bits), both, bits[-1], levels, sum(bits[full:]), len(bits) - full)


def forecasts(bits: Bits, lengths: Iterator[int]) -> float:
    """ln Q of a new Krichevsky–Trofimov coin for each block, bit by bit."""
    total, ones, seen, length = 0.0, 0, 0, next(lengths)
    for bit in bits:
        if seen == length:
            ones, seen, length = 0, 0, next(lengths)
        p = (ones + 0.5) / (seen + 1)
        total += math.log(p if bit else 1 - p)
        ones, seen = ones + bit, seen + 1
    return total


def doubling() -> Iterator[int]:
    length = BLOCK
    while True:
        yield length
        length *= 2


def constant(length: int) -> Iterator[int]:
    while True:
        yield length


def naive(bits: Bits) -> float:
    """ln of the mixture of forecasters over the best coin in hindsight, as the definition says."""
    markov, counts, before = 0.0, {0: [0, 0], 1: [0, 0]}, 0
    for bit in bits:
        markov += math.log((counts[before][bit] + 0.5) / (sum(counts[before]) + 1))
        counts[before][bit] += 1
        before = bit
    blocks = [forecasts(bits, constant(int(n))) for k, n in enumerate(LENGTHS) if k != DOUBLING]
    blocks.append(forecasts(bits, doubling()))
    mixed = 0.5 * math.exp(markov) + sum(0.1 * math.exp(q) for q in blocks)
    share = sum(bits) / len(bits)
    best = sum(math.log(share if bit else 1 - share) for bit in bits)
    return math.log(mixed) - best


@given(st.integers(1, 700), st.floats(0, 1), st.integers(0, 10**6))
def test_against_the_definition(size: int, p: float, seed: int) -> None:
    bits = (np.random.default_rng(seed).random(size) < p).astype(int).tolist()
    assert measured(bits) == pytest.approx(naive(bits), abs=1e-8)


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_closed_form_of_a_coin(ones: int, zeros: int) -> None:
    assert kt(ones, zeros) == pytest.approx(forecasts([1] * ones + [0] * zeros, constant(1000)), abs=1e-10)


def test_it_is_an_e_process() -> None:
    """E E_t ≤ 1 for every coin, exactly: over all 2^12 sequences."""
    for p in (0.1, 0.5, 0.83):
        total = 0.0
        for code in range(1 << 12):
            bits = [code >> k & 1 for k in range(12)]
            total += p ** sum(bits) * (1 - p) ** (12 - sum(bits)) * math.exp(measured(bits))
        assert total <= 1


def test_independent_labels_are_seldom_suspected() -> None:
    """Looking after each of 640 bits at α = 0.2, in 300 streams."""
    rng, alarms = np.random.default_rng(5), 0
    for _ in range(300):
        bits = (rng.random(640) < rng.random()).astype(int).tolist()
        alarms += any(measured(bits[:t]) >= math.log(5) for t in range(8, 641, 16))
    assert alarms <= 0.2 * 300


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("sorted", [0] * 300 + [1] * 300),
        ("alternating", [0, 1] * 300),
        ("sticky", np.repeat(np.random.default_rng(0).integers(0, 2, 200), 5).tolist()),
        ("a slow drift", (np.random.default_rng(1).random(20000) < np.linspace(0.3, 0.5, 20000)).astype(int).tolist()),
        ("one change", (np.random.default_rng(2).random(8000) < np.where(np.arange(8000) < 4096, 0.3, 0.45)).tolist()),
    ],
)
def test_what_it_must_see(name: str, bits: Bits) -> None:
    assert measured([int(b) for b in bits]) >= math.log(1000)


def test_no_bits_no_evidence() -> None:
    assert evidence(0, 0, 0, 0, first_levels(), 0, 0) == 0.0
