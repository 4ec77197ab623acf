"""The schemas of files of bandits."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.exp3 import Exponential
from lowregret.bandit.state import (
    BANDIT_COUNT_NAMES,
    BANDIT_COUNTS,
    BANDIT_SUM_NAMES,
    BANDIT_SUMS,
    CHOICES,
    COSTS,
    LARGEST,
    LATE,
)
from lowregret.bandit.stochastic import Thompson
from lowregret.bandit.tree import build_tree
from lowregret.certificate.trace import next_mark
from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.learner.schema import ledger_demands, ledger_slots, state_arrays
from lowregret.loss import Cost
from lowregret.rule import Rule
from lowregret.run.schema_rounds import SMALL, WORDS, Demands, RecordedSchema
from lowregret.store.schema import FLAG, Array, Arrays, Field, Told, floats, number, part, whole, wholes

NUMBERS = 2**53  # of choices, at most
CHANCE = wholes(2, high=WORDS, kind="uint64")  # the state of a generator


class ChooserSchema(RecordedSchema):
    """A bandit: its state, the range of its costs, and choices that wait for theirs."""

    def own_fields(self) -> dict[str, Field]:
        return {
            "low": number(),
            "high": number(),
            "issued": whole(),
            "latest": whole(-1, NUMBERS),
            "arms": whole(1),
            "compiled": FLAG,
        }

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        return {"sums": BANDIT_SUM_NAMES, "counts": BANDIT_COUNT_NAMES}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {
            "estimates": floats("estimates", low=-LARGEST, high=LARGEST),
            "weights": floats("weights", low=0),
            "shown": wholes("estimates"),
            "seen": wholes("estimates"),
            "sums": floats(BANDIT_SUMS),
            "counts": wholes(BANDIT_COUNTS),
            "chance": CHANCE,
            "pending.number": wholes("pending", high=NUMBERS),
            "pending.arm": wholes("pending", high=told["arms"] - 1),
            "pending.probability": floats("pending", low=UNKNOWN, high=1.0),
            "pending.baseline": floats("pending", low=-LARGEST, high=LARGEST),
        }

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        counts, numbers, chances = arrays["counts"], arrays["pending.number"], arrays["pending.probability"]
        yield 0 < told["high"] - told["low"] < math.inf, "low < high, a finite number apart"
        yield counts[LATE] <= counts[COSTS] <= counts[CHOICES], "counts: costs of choices that were made"
        yield np.unique(numbers).size == numbers.size <= told["issued"], "pending choices of different numbers"
        yield np.all((chances > 0) | (chances == UNKNOWN)), "pending probabilities above 0"


class BanditSchema(ChooserSchema):
    """A `Bandit`."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"algorithm": part(BanditAlgorithm)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        algorithm, arms, weights = told["algorithm"], told["arms"], arrays["weights"]
        yield arrays["estimates"].size == arms, f"estimates of {arms} arms"
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


class Exp4Schema(ChooserSchema):
    """`Exp4`, which has estimates and weights of experts."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"experts": whole(1), "eta": number(SMALL), "centred": FLAG}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        n = told["experts"]
        advice = {"weights": floats(n, low=0, high=1), "pending.advice": floats("pending", n, low=0, high=1)}
        return super().own_arrays(told) | advice | {"pending.baseline": floats("pending", low=0, high=1)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        yield arrays["estimates"].size == told["experts"], f"estimates of {told['experts']} experts"
        yield np.all(arrays["pending.probability"] > 0), "pending probabilities above 0"


class BanditDescentSchema(RecordedSchema):
    """A `BanditDescent`."""

    def own_fields(self) -> dict[str, Field]:
        sums = {"loss": number(), "energy": number(0), "largest_seen": number(0), "rounds": whole()}
        facts = {"eta": number(SMALL), "delta": number(SMALL)}
        facts |= {"lipschitz": number(0, math.inf), "largest": number(0, math.inf)}
        told = {"domain": part(Domain), "dimension": whole(1), "points": whole(1, 2)}
        return told | {"outside": FLAG._replace(needed=False)} | facts | sums

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {"theta": floats(told["dimension"]), "sum": floats(told["dimension"]), "chance": CHANCE}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        last = int(arrays["history"][-1, 0]) if len(arrays["history"]) else 0
        yield last <= told["rounds"] < next_mark(last), f"rounds that go on from the last point of the curves, {last}"


class EstimatedDescentSchema(RecordedSchema):
    """An `EstimatedDescent`: a rule and its state."""

    def own_fields(self) -> dict[str, Field]:
        return {"rule": part(Rule), "comparator": part(Domain), "dimension": whole(1), "compiled": FLAG}

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        return ledger_slots()

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return state_arrays(Linear(Cost(), told["rule"]), told["dimension"])

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        told["comparator"].fits(told["dimension"])
        yield from ledger_demands(arrays, told["dimension"])


class BanditRankingSchema(RecordedSchema):
    """A run that ranks."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"descent": EstimatedDescentSchema()}

    def own_fields(self) -> dict[str, Field]:
        return {"rounds": whole(), "loss": number(0), "position": whole(), "reciprocals": number(0)}


class ExpertRankingSchema(BanditRankingSchema):
    """An `ExpertRanking`, perhaps with orders of which one is shown."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"items": whole(1), "drawn": whole()}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {"chance": CHANCE, "orders": wholes("orders", told["items"], high=told["items"] - 1)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        experts, orders = told["descent"]["dimension"], arrays["orders"]
        yield told["drawn"] < experts, f"one of {experts} experts drawn"
        yield len(orders) in (0, experts), f"orders of {experts} experts, or none"
        yield np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(told["items"]), (len(orders), 1))), "orders"


class ScoreRankingSchema(BanditRankingSchema):
    """A `ScoreRanking`, perhaps with features of items that are shown."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"surrogate": number(0)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {"features": floats("items", told["descent"]["dimension"])}
