"""Numbers that break things, exact sums, and twins: a run that is saved, loaded and copied, and one that is not."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from lowregret import load

SCALES = (1e-150, 1e-20, 1e-3, 1.0, 1.0, 1.0, 7.0, 1e12, 1e150)
LOOSE = 2.0**-50  # of the sizes of the terms, for each of them: what rounding may lose
TINY = 2.0**-1070  # what underflow may lose
Generator = np.random.Generator
Vector = Any


class Falsehood(Exception):
    """Something that was shown is not so."""


def claim(true: Any, told: str) -> None:
    """Raise a `Falsehood` unless it is true."""
    if not true:
        raise Falsehood(told)


def exact(values: Iterable[Any]) -> list[Fraction]:
    """Numbers without rounding."""
    return [Fraction(float(v)) for v in values]


def product(a: Any, b: Any) -> Fraction:
    """⟨a, b⟩"""
    return sum((x * y for x, y in zip(exact(a), exact(b), strict=True)), Fraction(0))


def near(told: float, true: Fraction, sizes: Any, terms: int, what: str) -> None:
    """Claim that a sum of terms of these sizes is what it is told to be, up to rounding."""
    slack = (terms + 8) * (Fraction(LOOSE) * (Fraction(sizes) + abs(true)) + Fraction(TINY))
    claim(np.isfinite(told) and abs(Fraction(float(told)) - true) <= slack, f"{what} is {float(true)!r}, told {told!r}")


def pick(rng: Generator, things: Any) -> Any:
    """One of the things."""
    return things[int(rng.integers(len(things)))]


def shares(rng: Generator, rounds: int, width: int) -> Vector:
    """Numbers in [0, 1]: random, constant, with ties, rare, turning, tiny, or one column that is always best."""
    match int(rng.integers(7)):
        case 0:
            return rng.random((rounds, width))
        case 1:
            return np.full((rounds, width), pick(rng, (0.0, 1.0, 0.3)))
        case 2:
            return rng.choice([0.0, 0.5, 1.0], (rounds, width))
        case 3:
            return (rng.random((rounds, width)) < 0.03).astype(float)
        case 4:
            return (np.arange(rounds)[:, None] // 5 % width == np.arange(width)).astype(float)
        case 5:
            return rng.random((rounds, width)) * 10.0 ** rng.integers(-300, 1, (rounds, width))
    return np.where(np.arange(width) == rng.integers(width), 0.0, rng.random((rounds, width)))


def vectors(rng: Generator, rounds: int, width: int) -> Vector:
    """Vectors of any scale, some of them 0, equal, or much larger than the others."""
    found = rng.normal(size=(rounds, width)) if rng.random() < 0.6 else rng.choice([-1.0, 0.0, 1.0], (rounds, width))
    if rng.random() < 0.3:
        found = found * 10.0 ** rng.integers(-6, 7, (rounds, 1))
    if rng.random() < 0.2:
        found[rng.random(rounds) < 0.3] = 0.0
    return found * pick(rng, SCALES)


def again(rng: Generator, run: Any) -> Any:
    """The run itself, a copy of it, or what comes out of its file."""
    chance = rng.random()
    if chance < 0.6:
        return run
    if chance < 0.8:
        return copy.deepcopy(run)
    with tempfile.TemporaryDirectory() as folder:
        run.save(Path(folder) / "run.lr")
        return load(Path(folder) / "run.lr")


def same_arrays(a: Any, b: Any, what: str) -> None:
    """Claim that two runs would be written to the same arrays, to the last bit; numbers of choices go on elsewhere."""
    (_, mine), (_, theirs) = a.contents(), b.contents()
    for name in mine.keys() | theirs.keys():
        if name != "pending.number":
            equal = np.array_equal(mine[name], theirs[name], equal_nan=True)
            claim(equal, f"{what}: {name} is {mine[name]!r} and {theirs[name]!r}")
