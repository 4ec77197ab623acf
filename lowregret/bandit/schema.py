"""The schemas of files of bandits."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lowregret.bandit.algorithm import UNKNOWN, BanditAlgorithm
from lowregret.bandit.exp3 import HIGHEST, Exponential
from lowregret.bandit.proof import exp3_path, tsallis_path
from lowregret.bandit.state import (
    BANDIT_COUNT_NAMES,
    BANDIT_COUNTS,
    BANDIT_SUM_NAMES,
    BANDIT_SUMS,
    BASE,
    BLUR,
    CHOICES,
    CLAMPED,
    COST,
    COSTS,
    LARGEST,
    LATE,
    LEAST,
    LEVEL,
    LOCAL,
    LOGGED,
    SHIFT,
    SMALLEST,
    BanditState,
)
from lowregret.bandit.stochastic import Greedy
from lowregret.bandit.tree import build_tree
from lowregret.bandit.tsallis import TsallisInf
from lowregret.certificate import Certificate
from lowregret.certificate.trace import next_mark
from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.learner.schema import cost_demands, ledger_slots, state_arrays
from lowregret.loss import Cost
from lowregret.rule import Rule
from lowregret.run.schema_rounds import SMALL, WORDS, Demands, RecordedSchema
from lowregret.state import TOTAL
from lowregret.store.schema import FLAG, Array, Arrays, Field, Told, extended, floats, number, part, whole, wholes

LOOSE = 1e-6  # of weights and their sums, which are rounded
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
            "sums": extended(BANDIT_SUMS),
            "counts": wholes(BANDIT_COUNTS),
            "chance": CHANCE,
            "pending.number": wholes("pending", high=NUMBERS),
            "pending.place": wholes("pending", high=NUMBERS),
            "pending.arm": wholes("pending", high=told["arms"] - 1),
            "pending.probability": floats("pending", low=UNKNOWN, high=1.0),
            "pending.baseline": floats("pending", low=0, high=1),
        }

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        counts, numbers, chances = arrays["counts"], arrays["pending.number"], arrays["pending.probability"]
        yield 0 < told["high"] - told["low"] < math.inf, "low < high, a finite number apart"
        yield counts[LATE] <= counts[COSTS] <= counts[CHOICES], "counts: costs of choices that were made"
        yield np.unique(numbers).size == numbers.size <= told["issued"], "pending choices of different numbers"
        places = np.append(arrays["pending.place"], told["issued"])
        yield np.all(np.diff(places) > 0), "places of pending choices in the order in which they were made"
        yield np.all((chances > 0) | (chances == UNKNOWN)), "pending probabilities above 0"
        yield numbers.size <= counts[CHOICES] - counts[COSTS], "pending choices without a cost"
        yield counts[LOGGED] <= counts[COSTS] and counts[CLAMPED] <= counts[CHOICES], "counts of what was counted"
        sums = arrays["sums"]
        yield np.all(sums[[LOCAL, LEAST, BLUR]] >= 0), "sums ≥ 0 where they are sizes"
        finite = np.isfinite(sums)
        finite[LOCAL] = True  # squares of estimates, which chances near 0 make as large as numbers are, or more
        yield np.all(finite), "sums that are finite"
        between = (sums[[COST, SHIFT]] >= 0) & (sums[[COST, SHIFT]] <= counts[COSTS])
        yield np.all(between) and 0 <= sums[LEVEL] <= 1, "sums of costs from 0 to 1"


class BanditSchema(ChooserSchema):
    """A `Bandit`."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"algorithm": part(BanditAlgorithm)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        algorithm, arms, weights = told["algorithm"], told["arms"], arrays["weights"]
        yield arrays["estimates"].size == arms, f"estimates of {arms} arms"
        yield np.all(arrays["seen"] <= arrays["shown"]), "costs seen of choices that were made"
        counted = [int(arrays[name].sum()) for name in ("shown", "seen")]
        yield counted == arrays["counts"][[CHOICES, COSTS]].tolist(), "counts of all arms together"
        yield weights.size == algorithm.room(arms).size, f"weights of {arms} arms"
        if isinstance(algorithm, Exponential):
            yield from _tree_demands(algorithm, arrays)
            yield from path_demands(exp3_path(algorithm.eta, _state(arrays)))
        if isinstance(algorithm, TsallisInf):
            yield from path_demands(tsallis_path(_state(arrays)))
            yield are_chances(weights) and arrays["sums"][LEAST] <= weights.min(), "weights that sum to 1"
        if isinstance(algorithm, Greedy):
            yield np.all(arrays["estimates"] >= 0), "estimates ≥ 0"
            yield np.all(arrays["estimates"] <= arrays["seen"]), "no more costs of an arm than were seen"


def _tree_demands(algorithm: Exponential, arrays: Arrays) -> Demands:
    """Conditions on the sum tree: its leaves are e^{−η(Ĉ − base)}, and none is below the least of them."""
    weights, estimates, sums = arrays["weights"], arrays["estimates"], arrays["sums"]
    tree, half = weights.copy(), weights.size >> 1
    build_tree(tree)
    exact = tree.tobytes() == weights.tobytes() and not np.any(weights[half + estimates.size :])
    yield exact and weights[0] == 0 and weights[1] > 0, "weights: every node the sum of its children"
    leaves = weights[half : half + estimates.size]
    with np.errstate(all="ignore"):
        wanted = np.exp(np.minimum(-algorithm.eta * (estimates - sums[BASE]), HIGHEST))
    yield np.allclose(leaves, wanted, rtol=LOOSE, atol=SMALLEST), "weights that follow from the estimates"
    yield sums[LEAST] <= leaves.min(), "sums: no weight below the least"


def _state(arrays: Arrays) -> BanditState:
    return BanditState(*(arrays[name] for name in BanditState._fields))


def path_demands(path: Certificate) -> Demands:
    """The condition that the regret on estimates is at most what a theorem without further premises says of it."""
    assert path.linear_regret is not None
    drift, lowest = abs(path.details["drift"]), abs(path.details["least_estimated_cost"])
    slack = LOOSE * (abs(path.linear_regret) + abs(path.bound) + drift + lowest) + path.rounding
    within = path.linear_regret <= path.bound + slack
    yield within or not path.premises_hold, "sums: no more regret on estimates than there can be"


def are_chances(weights: Any) -> bool:
    """Whether numbers that are not negative sum to 1."""
    return bool(abs(weights.sum() - 1) <= LOOSE)


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
        yield are_chances(arrays["weights"]), "weights that sum to 1"
        yield np.all(arrays["pending.probability"] > 0), "pending probabilities above 0"
        yield from path_demands(exp3_path(told["eta"], _state(arrays)))


class BanditDescentSchema(RecordedSchema):
    """A `BanditDescent`."""

    def own_fields(self) -> dict[str, Field]:
        sums = {"loss": number(), "energy": number(0), "largest_seen": number(0), "rounds": whole()}
        sums["steepest"] = number(0)._replace(needed=False)
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
        yield from cost_demands(Linear(Cost(), told["rule"]), arrays, told["dimension"])


class BanditRankingSchema(RecordedSchema):
    """A run that ranks."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"descent": EstimatedDescentSchema()}

    def own_fields(self) -> dict[str, Field]:
        return {"rounds": whole(), "loss": number(0), "position": whole(), "reciprocals": number(0)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        rounds = told["rounds"]
        yield rounds <= told["loss"] and told["reciprocals"] <= rounds * (1 + LOOSE), "positions from 1 on"


class ExpertRankingSchema(BanditRankingSchema):
    """An `ExpertRanking`, perhaps with orders of which one is shown."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"items": whole(1), "drawn": whole()}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {"chance": CHANCE, "orders": wholes("orders", told["items"], high=told["items"] - 1)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        experts, orders = told["descent"]["dimension"], arrays["orders"]
        cost, most = arrays["descent.sums"][TOTAL], told["rounds"] * (1 + LOOSE)
        yield told["loss"] <= told["rounds"] * told["items"] and 0 <= cost <= most, "positions among the items"
        yield told["drawn"] < experts, f"one of {experts} experts drawn"
        yield len(orders) in (0, experts), f"orders of {experts} experts, or none"
        yield np.array_equal(np.sort(orders, axis=1), np.tile(np.arange(told["items"]), (len(orders), 1))), "orders"


class ScoreRankingSchema(BanditRankingSchema):
    """A `ScoreRanking`, perhaps with features of items that are shown."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"surrogate": number(0)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return {"features": floats("items", told["descent"]["dimension"])}
