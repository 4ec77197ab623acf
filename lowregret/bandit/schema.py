"""What files of bandits hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm, Exponential
from lowregret.bandit.state import CHOICES, COSTS, COUNT_NAMES, COUNTS, LARGEST, LATE, SUM_NAMES, SUMS
from lowregret.bandit.stochastic import Thompson
from lowregret.bandit.tree import build_tree
from lowregret.store.schema import (
    FLAG,
    NUMBER,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    floats,
    items,
    number,
    part,
    whole,
    wholes,
)

SMALL = 5e-324  # the smallest positive number
WORDS = (1 << 64) - 1

Demands = Iterator[tuple[Any, str]]


class StateSchema(Schema):
    """What a bandit carries from round to round, and the range of its costs."""

    def fields(self) -> dict[str, Field]:
        return {"low": number(), "high": number(), "issued": whole(), "compiled": FLAG}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {"sums": SUM_NAMES, "counts": COUNT_NAMES}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return {
            "estimates": floats("arms", low=-LARGEST, high=LARGEST),
            "weights": floats("weights", low=0),
            "shown": wholes("arms"),
            "seen": wholes("arms"),
            "sums": floats(SUMS),
            "counts": wholes(COUNTS),
            "chance": wholes(2, high=WORDS, kind="uint64"),
        }

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        counts = arrays["counts"]
        yield told["low"] < told["high"], "low < high"
        yield arrays["estimates"].size >= 1, "at least one arm"
        yield counts[LATE] <= counts[COSTS] <= counts[CHOICES], "counts: costs of choices that were made"


class BanditSchema(StateSchema):
    """A `Bandit`, and choices that wait for their costs."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"algorithm": part(BanditAlgorithm)}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return super().arrays(told, present) | {
            "pending.number": wholes("pending", high=max(told["issued"] - 1, 0)),
            "pending.arm": wholes("pending"),
            "pending.probability": floats("pending", low=UNKNOWN, high=1.0),
        }

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        algorithm, arms, weights = told["algorithm"], arrays["estimates"].size, arrays["weights"]
        numbers, chances = arrays["pending.number"], arrays["pending.probability"]
        yield np.unique(numbers).size == numbers.size <= told["issued"], "pending choices of different numbers"
        yield np.all(arrays["pending.arm"] < arms), f"pending arms below {arms}"
        yield np.all((chances > 0) | (chances == UNKNOWN)), "pending probabilities above 0"
        yield np.all(arrays["seen"] <= arrays["shown"]), "costs seen of choices that were made"
        yield weights.size == algorithm.room(arms).size, f"weights of {arms} arms"
        if isinstance(algorithm, Exponential):
            tree, half = weights.copy(), weights.size >> 1
            build_tree(tree)
            exact = tree.tobytes() == weights.tobytes() and not np.any(weights[half + arms :])
            yield exact and weights[0] == 0 and weights[1] > 0, "weights: every node the sum of its children"
        if isinstance(algorithm, Thompson):
            yield np.all(arrays["estimates"] >= 0), "estimates ≥ 0"
            yield np.all(arrays["estimates"] <= arrays["seen"]), "no more costs of an arm than were seen"


class Exp4Schema(StateSchema):
    """`Exp4`, and choices that wait for their costs."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"arms": whole(1), "eta": number(SMALL), "pending": items(items(NUMBER, 3))}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        advice = floats(len(told["pending"]), "arms", low=0, high=1)
        return super().arrays(told, present) | {"weights": floats("arms", low=0, high=1), "columns": advice}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        yield (
            all(len(waiting) == 3 for waiting in told["pending"]),
            "a number, an arm and a probability for each choice",
        )
        numbers = [number for number, _, _ in told["pending"]]
        whole_numbers = all(type(n) is int and 0 <= n < told["issued"] for n in numbers)
        yield whole_numbers and len(set(numbers)) == len(numbers), "pending choices of different numbers"
        arms = all(type(arm) is int and 0 <= arm < told["arms"] for _, arm, _ in told["pending"])
        yield arms, f"pending arms below {told['arms']}"
        yield all(0 < p <= 1 for _, _, p in told["pending"]), "pending probabilities from 0 to 1"
