"""Small problems that the tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.structured import Chain, Choices, Classes, LabelTree, Sequences, Space, choices, sequences
from tests.structured.naive import NaiveChain, NaiveClasses, NaiveSpace, NaiveTree, Structure, Vector

FEATURES = 3
PARENTS = [-1, -1, 0, 0, 1, 1, 4]  # leaves 2, 3, 5, 6 at different depths

SPACES: dict[str, tuple[Space, NaiveSpace]] = {
    "chain": (Chain(3), NaiveChain(FEATURES, 3)),
    "chain without ends": (Chain(2, ends=False), NaiveChain(FEATURES, 2, ends=False)),
    "classes": (Classes(4), NaiveClasses(FEATURES, 4)),
    "tree": (LabelTree(PARENTS), NaiveTree(FEATURES, PARENTS)),
}


def sequence_problem(space: Space, rounds: int, seed: int = 0, longest: int = 4) -> Sequences:
    """Labels that depend on the rows, noisily; rounds of one row where the space wants them."""
    rng = np.random.default_rng(seed)
    lengths = np.ones(rounds, int) if space.single else rng.integers(1, longest + 1, rounds)
    x = rng.normal(size=(lengths.sum(), FEATURES))
    scores = x @ rng.normal(size=(FEATURES, space.labels())) + 0.5 * rng.normal(size=(len(x), space.labels()))
    return sequences(x, np.argmax(scores, axis=1), lengths=lengths)


def pairs_of(data: Sequences) -> list[tuple[Vector, Structure]]:
    """What the naive learners take."""
    labels = data.split(data.labels)
    return [(x, tuple(y.tolist())) for x, y in zip(np.split(data.features, data.offsets[1:-1]), labels, strict=True)]


def click_problem(rounds: int, seed: int = 0, features: int = FEATURES) -> Choices:
    """Lists of one to six items, of which a good one is chosen."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, rounds)
    x = rng.normal(size=(lengths.sum(), features))
    utility = x @ rng.normal(size=features) + 0.5 * rng.normal(size=len(x))
    chosen = [int(np.argmax(u)) for u in np.split(utility, np.cumsum(lengths)[:-1])]
    return choices(x, chosen, lengths=lengths)


def lists_of(data: Choices) -> list[tuple[Any, int]]:
    return list(zip(np.split(data.features, data.offsets[1:-1]), data.chosen.tolist(), strict=True))
