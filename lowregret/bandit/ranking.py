"""PROTO-RANK: order k items, then one of them turns out to be wanted; the loss is its position, 1 if it came first."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Integral
from typing import Any, Self

import numpy as np

from lowregret.bandit.estimated import EstimatedDescent
from lowregret.bandit.proof import scaled
from lowregret.bandit.schema import ExpertRankingSchema, ScoreRankingSchema
from lowregret.bandit.tsallis import drawn
from lowregret.certificate import Certificate, Premise, certificates
from lowregret.compile.random import new_chance, uniform
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.validate import is_whole, require_room
from lowregret.mirror import Entropy
from lowregret.rule import MirrorDescent, Rule
from lowregret.run.round_by_round import Contents, Recorded, prefixed
from lowregret.step import Constant
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted


def require_item(item: Any, items: int) -> None:
    """Refuse what is no item's number."""
    if not (isinstance(item, Integral) and 0 <= int(item) < items):
        raise DataError(f"there is no item {item!r}: they are numbered from 0 to {items - 1}")


class BanditRanking(Recorded):
    """A run that ranks. `position` is that of the item wanted in the latest round, `loss` the sum of positions."""

    rounds: int = 0
    loss: float = 0.0

    def __init__(self, descent: EstimatedDescent) -> None:
        super().__init__()
        self.descent = descent
        self.position, self._reciprocals = 0, 0.0

    def _book(self, position: int) -> None:
        self.position = position
        self.rounds += 1
        self.loss += position
        self._reciprocals += 1 / position
        self._mark()

    @property
    def mean_position(self) -> float:
        """The mean of the positions of the items wanted, 1 if all came first."""
        return self.loss / max(self.rounds, 1)

    @property
    def mean_reciprocal_rank(self) -> float:
        """The mean of 1/position."""
        return self._reciprocals / max(self.rounds, 1)

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        inner, arrays = self.descent.contents()
        told = {"rounds": self.rounds, "loss": self.loss, "position": self.position, "descent": inner}
        return told | {"reciprocals": self._reciprocals}, prefixed("descent", arrays)

    def _restore(self, found: Contents) -> None:
        """Rounds, positions and weights of a file."""
        self.rounds, self.loss, self.position, self._reciprocals = found.tell(
            "rounds", "loss", "position", "reciprocals"
        )
        self.descent = EstimatedDescent.from_contents(found.inner("descent"))


class ExpertRanking(BanditRanking):
    """Every expert names an order; one is drawn by exponential weights on (position − 1)/(k − 1). O(Nk) a round."""

    kind = "expert-ranking"
    schema = ExpertRankingSchema()

    def __init__(self, experts: int, items: int, eta: float, *, seed: int = 0) -> None:
        if not is_whole(items, 1):
            raise PartError(f"there must be a whole number of items to rank, at least 1, got {items!r}")
        require_room(int(items), "items")
        super().__init__(EstimatedDescent(MirrorDescent(Entropy(), Constant(eta)), experts))
        self.items, self.chance = int(items), new_chance(seed)
        self._orders: Any = None
        self._drawn = 0

    def rank(self, orders: Any) -> Any:
        """The order of an expert drawn by the weights; `orders`: experts × items, each row a permutation of 0 … k−1."""
        table, w = np.array(orders), self.descent.point
        if table.shape != (w.size, self.items) or not np.array_equal(
            np.sort(table, axis=1), np.tile(np.arange(self.items), (w.size, 1))
        ):
            raise DataError(f"orders must be {w.size} permutations of 0 … {self.items - 1}, one a row")
        with np.errstate(over="ignore"):
            self._drawn = drawn(w, uniform(self.chance))
        self._orders = table
        return table[self._drawn].copy()

    @in_turn
    def learn(self, item: int) -> Self:
        """The item that was wanted: its position in the order that was shown is lost."""
        if self._orders is None:
            raise DataError("rank first, then say which item was wanted")
        require_item(item, self.items)
        places = np.argmax(self._orders == item, axis=1)
        self._orders = None
        self.descent.learn(places / max(self.items - 1, 1))
        self._book(int(places[self._drawn]) + 1)
        return self

    @property
    def certificates(self) -> list[Certificate]:
        """Σ of expected positions, less that of the best expert, is at most …"""
        found = certificates(self.descent.seat.learner, self.descent.seat.state, self.descent.comparator)
        measure = "regret in expected positions"
        return [replace(scaled(c, max(self.items - 1, 1)), measure=measure) for c in found]

    def _of(self) -> str:
        return f"{counted(self.items, 'item')} by {counted(self.descent.seat.state.dimension, 'expert')}"

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        shown = np.empty((0, self.items), np.int64) if self._orders is None else self._orders.astype(np.int64)
        description |= {"items": self.items, "drawn": self._drawn}
        return description, arrays | {"chance": self.chance, "orders": shown}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = cls(found.description["descent"]["dimension"], found.description["items"], 1.0)
        made._restore(found)
        made.chance, made._drawn = found.arrays["chance"], found.description["drawn"]
        made._orders = found.arrays["orders"] if len(found.arrays["orders"]) else None
        return made


class ScoreRanking(BanditRanking):
    """Order items by ⟨w, ψ_j⟩; learn by any rule from Σ_{j≠y}[1 − ⟨w, ψ_y − ψ_j⟩]₊ ≥ position − 1. O(kd) a round.

    Items tied with the wanted one count as placed before it, which keeps the surrogate above the loss.
    """

    kind = "score-ranking"
    schema = ScoreRankingSchema()

    def __init__(self, rule: Rule, dimension: int) -> None:
        super().__init__(EstimatedDescent(rule, dimension))
        self.surrogate = 0.0
        self._features: Any = None

    def rank(self, features: Any) -> Any:
        """Items in falling order of score; `features` is items × d."""
        table = np.array(features, float)
        w = self.descent.point
        if table.ndim != 2 or table.shape[1] != w.size or not len(table) or not np.all(np.isfinite(table)):
            raise DataError(f"features must be items × {w.size} finite numbers, got shape {table.shape}")
        self._features = table
        return np.argsort(-(table @ w), kind="stable")

    @in_turn
    def learn(self, item: int) -> Self:
        """The item that was wanted: its position is lost."""
        table: Vector = self._features
        if table is None:
            raise DataError("rank first, then say which item was wanted")
        require_item(item, len(table))
        with np.errstate(over="ignore", invalid="ignore"):
            margins = (table[item] - table) @ self.descent.point
            others = np.arange(len(table)) != item
            active = others & (margins < 1)
            surrogate = self.surrogate + float(np.sum(1 - margins[active]))
            z = np.sum(table[active] - table[item], axis=0)
        if not (np.all(np.isfinite(margins)) and math.isfinite(surrogate)):
            raise DivergedError("differences of scores left the range of numbers: scale the features down")
        self.descent.learn(z)
        self._features, self.surrogate = None, surrogate
        self._book(1 + int(np.sum(others & (margins <= 0))))
        return self

    @property
    def certificates(self) -> list[Certificate]:
        """Regret of the surrogate; Σ(position − 1) ≤ the surrogate's loss ≤ that of any fixed u + the bound."""
        found = certificates(self.descent.seat.learner, self.descent.seat.state, self.descent.comparator)
        lost = self.loss - self.rounds
        above = Premise("positions lost ≤ surrogate loss", lost <= self.surrogate * (1 + 1e-9), lost)
        return [replace(c, measure="regret of the surrogate", premises=(*c.premises, above)) for c in found]

    def _of(self) -> str:
        return self.descent._of()

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        shown = np.empty((0, self.descent.seat.state.dimension)) if self._features is None else self._features
        return description | {"surrogate": self.surrogate}, arrays | {"features": shown}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        inner = found.inner("descent")
        made = cls(inner.part("rule"), inner.description["dimension"])
        made._restore(found)
        made.surrogate = found.description["surrogate"]
        made._features = found.arrays["features"] if len(found.arrays["features"]) else None
        return made
