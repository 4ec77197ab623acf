"""The textbook's classes by name: `thresholds:4096`, `cube:5`, `random:500x100:seed=1`."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import PartError
from lowregret.finite.hypotheses import Hypotheses

LARGEST = 1 << 30  # entries of a matrix

Booleans = NDArray[np.bool_]
Made = tuple[Any, list[object] | None]  # a matrix, and what its points are called


class Generator(NamedTuple):
    """A family of classes: how it is called, what it is, and how it is made."""

    usage: str
    example: str
    meaning: str
    make: Callable[..., Made]
    options: dict[str, Callable[[str], Any]]


def make_hypotheses(spec: str) -> Hypotheses:
    """The class that a text such as `thresholds:4096` or `random:500x100:seed=1` names."""
    name, *words = spec.split(":")
    if name not in GENERATORS:
        raise PartError(f"there is no class {name!r}: use one of {', '.join(GENERATORS)}, or name a file")
    generator = GENERATORS[name]
    sizes = [_size(word, spec, generator) for word in (words[0].split("x") if words else [])]
    if len(sizes) != generator.usage.split(":")[1].count("x") + 1:
        raise PartError(f"{spec!r}: expected {generator.usage}, such as {generator.example}")
    options = dict(_option(word, spec, generator) for word in words[1:])
    return Hypotheses(*generator.make(*sizes, **options))


def _size(word: str, spec: str, generator: Generator) -> int:
    if not (word.isascii() and word.isdigit() and int(word) >= 1):
        raise PartError(
            f"{spec!r}: expected {generator.usage} with whole numbers from 1 on, such as {generator.example}"
        )
    return int(word)


def _option(word: str, spec: str, generator: Generator) -> tuple[str, Any]:
    key, _, value = word.partition("=")
    try:
        return key, generator.options[key](value)
    except (KeyError, ValueError):
        raise PartError(f"{spec!r}: {word!r} is not understood: expected {generator.usage}") from None


def _require_room(hypotheses: int, points: int) -> None:
    if hypotheses * points > LARGEST:
        raise PartError(f"{hypotheses:,} hypotheses on {points:,} points are too many: at most {LARGEST:,} entries")


# ---- classes --------------------------------------------------------------------------------------------------------


def thresholds(n: int) -> Made:
    """h_a(x) = 1[x < a], a = 0 … n − 1, on n − 1 points (one point at least)."""
    _require_room(n, n)
    return np.arange(max(n - 1, 1)) < np.arange(n)[:, None], None


def singletons(n: int) -> Made:
    """h_j(x) = 1[x = j]"""
    _require_room(n, n)
    return np.eye(n, dtype=bool), None


def intervals(n: int) -> Made:
    """h(x) = 1[a ≤ x < b], the empty one among them."""
    _require_room(n * (n + 1) // 2 + 1, n)
    ends = np.array([(0, 0), *itertools.combinations(range(n + 1), 2)])
    x = np.arange(n)
    return (ends[:, :1] <= x) & (x < ends[:, 1:]), None


def cube(k: int) -> Made:
    """All functions on k points."""
    _require_room(1 << min(k, 64), k)
    return _corners(k), None


def disjunctions(d: int, k: int | None = None, r: int | None = None) -> Made:
    """x ↦ OR of at most k of d variables, on points with at most r ones: then the Littlestone dimension is ≤ rk.

    Begin with no variable. A positive that is missed adds its variables, at most r, one of them among the k; a negative
    that is taken for a positive removes its variables for good, at least one and none of the k. So a learner that says
    1 where it knows a variable makes at most k mistakes of the first kind and k(r − 1) of the second.
    """
    points, chosen = _boolean_points(d), _choices(d, k)
    points = points if r is None else points[points.sum(axis=1) <= r]
    return chosen.astype(int) @ points.T > 0, _names(points)


def conjunctions(d: int, k: int | None = None) -> Made:
    """x ↦ AND of at most k of d variables."""
    points, chosen = _boolean_points(d), _choices(d, k)
    return chosen.astype(int) @ (1 - points.T) == 0, _names(points)


def parities(d: int) -> Made:
    """x ↦ whether an odd number of chosen variables is 1."""
    points, chosen = _boolean_points(d), _choices(d, None)
    return chosen.astype(int) @ points.T % 2 == 1, _names(points)


def halfspaces(side: int) -> Made:
    """x ↦ 1[⟨w,x⟩ > b] on the side × side grid: all ways in which a line can cut it.

    Between two neighbouring directions in which points tie, the order of the points along a direction does not change:
    the sum of the two stands for all, and every beginning of that order is a half-space.
    """
    _require_room(side**4, side**2)
    grid = np.array(list(itertools.product(range(side), repeat=2)))
    steps = range(1 - side, side)
    ties = sorted((d for d in itertools.product(steps, steps) if math.gcd(*d) == 1), key=lambda d: math.atan2(*d))
    rows = [np.zeros(len(grid), bool)]
    for one, next_one in itertools.pairwise([*ties, *ties[:1]]):
        along = grid @ (np.array(one) + next_one)
        rows += [along > b for b in along]
    rows.append(np.ones(len(grid), bool))
    return np.unique(rows, axis=0), [tuple(map(int, point)) for point in grid]


def lists(d: int, k: int | None = None) -> Made:
    """Decision lists: if ±x_i then b, else if …, else b; at most k tests, one variable each."""
    points = _boolean_points(d).astype(bool)
    weights = [1 << i for i in range(len(points))]
    whole = (1 << len(points)) - 1
    literals = [sum(itertools.compress(weights, column)) for column in points.T]
    literals += [whole ^ literal for literal in literals]
    found = latest = {0, whole}
    for _ in range(d if k is None else k):
        latest = {f & ~test | (test if b else 0) for f in latest for test in literals for b in (0, 1)} - found
        found = found | latest
        _require_room(len(found), len(points))
    return [[function >> i & 1 for i in range(len(points))] for function in sorted(found)], _names(points)


def random(n: int, m: int, seed: int = 0, density: float = 0.5) -> Made:
    """Entries are 1 with probability `density`, independently."""
    _require_room(n, m)
    return np.random.default_rng(seed).random((n, m)) < density, None


def _corners(d: int) -> Booleans:
    """All 0/1 vectors of length d, a row each, in the order of binary numbers."""
    return np.arange(1 << d)[:, None] >> np.arange(d - 1, -1, -1) & 1 == 1


def _boolean_points(d: int) -> NDArray[np.int64]:
    _require_room(1 << min(d, 64), 1 << min(d, 64))
    return _corners(d).astype(np.int64)


def _choices(d: int, k: int | None) -> Booleans:
    """Sets of at most k of d variables."""
    chosen = _corners(d)
    return chosen if k is None else chosen[chosen.sum(axis=1) <= k]


def _names(points: Iterable[Iterable[Any]]) -> list[object]:
    return ["".join(str(int(bit)) for bit in point) for point in points]


def _at_least_0(text: str) -> int:
    if int(text) < 0:
        raise ValueError
    return int(text)


def _share(text: str) -> float:
    if not 0 <= float(text) <= 1:
        raise ValueError
    return float(text)


_LIMIT: dict[str, Callable[[str], Any]] = {"k": _at_least_0}

GENERATORS: dict[str, Generator] = {
    "thresholds": Generator("thresholds:N", "thresholds:4096", "1[x < a], N of them on N − 1 points", thresholds, {}),
    "singletons": Generator("singletons:N", "singletons:10", "1[x = j] on N points", singletons, {}),
    "intervals": Generator("intervals:N", "intervals:20", "1[a ≤ x < b] on N points", intervals, {}),
    "cube": Generator("cube:K", "cube:5", "all functions on K points", cube, {}),
    "disjunctions": Generator(
        "disjunctions:D[:k=K][:r=R]", "disjunctions:6:k=2",
        "OR of at most K of D variables, on the points of {0,1}^D with at most R ones", disjunctions,
        _LIMIT | {"r": _at_least_0},
    ),
    "conjunctions": Generator(
        "conjunctions:D[:k=K]", "conjunctions:5", "AND of at most K of D variables, on {0,1}^D", conjunctions, _LIMIT
    ),
    "parities": Generator("parities:D", "parities:6", "sums modulo 2 of some of D variables, on {0,1}^D", parities, {}),
    "halfspaces": Generator("halfspaces:N", "halfspaces:4", "half-planes on the N × N grid", halfspaces, {}),
    "lists": Generator(
        "lists:D[:k=K]", "lists:3", "decision lists of at most K tests of one of D variables, on {0,1}^D", lists, _LIMIT
    ),
    "random": Generator(
        "random:NxM[:seed=S][:density=P]", "random:500x100:seed=1",
        "N hypotheses on M points, 1 with probability P (0.5)", random, {"seed": _at_least_0, "density": _share},
    ),
}  # fmt: skip
