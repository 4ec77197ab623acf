"""The random numbers: those of splitmix64, and distributions with the right moments."""

from __future__ import annotations

import numpy as np
import pytest

from lowregret.compile.random import beta, gamma, hash_number, new_chance, normal, uniform


def test_they_are_those_of_splitmix64() -> None:
    with np.errstate(over="ignore"):
        found = [int(hash_number(np.uint64(1234567), n)) for n in (1, 2, 3)]
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_neighbouring_seeds_have_nothing_in_common() -> None:
    with np.errstate(over="ignore"):
        rows = [[uniform(chance) for _ in range(2000)] for chance in (new_chance(0), new_chance(1))]
    assert abs(np.cov(rows)[0, 1]) < 0.08 / 12
    assert all(0 <= x < 1 for row in rows for x in row)


@pytest.mark.parametrize("shape", [0.3, 1.0, 4.5])
def test_gamma(shape: float) -> None:
    chance = new_chance(2)
    with np.errstate(over="ignore"):
        x = np.array([gamma(chance, shape) for _ in range(6000)])
    assert np.mean(x) == pytest.approx(shape, abs=5 * (shape / 6000) ** 0.5)
    assert np.var(x) == pytest.approx(shape, rel=0.15)


def test_beta_and_normal() -> None:
    chance = new_chance(3)
    with np.errstate(over="ignore"):
        x = np.array([beta(chance, 2.0, 3.0) for _ in range(6000)])
        z = np.array([normal(chance) for _ in range(6000)])
    assert np.mean(x) == pytest.approx(0.4, abs=0.015)
    assert np.var(x) == pytest.approx(0.04, rel=0.1)
    assert np.mean(z) == pytest.approx(0, abs=0.06)
    assert np.var(z) == pytest.approx(1, rel=0.1)
