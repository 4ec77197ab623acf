"""PROTO-RANK: order k items, then one of them turns out to be wanted; the loss is its position, 1 if it came first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.bandit.estimated import EstimatedDescent
from lowregret.bandit.proof import scaled
from lowregret.bandit.tsallis import drawn
from lowregret.certificate import Certificate, Premise, certificates
from lowregret.compile.random import new_chance, uniform
from lowregret.errors import DataError, PartError
from lowregret.mirror import Entropy
from lowregret.rule import MirrorDescent, Rule
from lowregret.step import Constant
from lowregret.types import Vector
from lowregret.words import Brief


class _Positions(Brief):
    """What all rankings report: mean position and mean reciprocal rank."""

    def __init__(self) -> None:
        self.rounds, self._positions, self._reciprocals = 0, 0, 0.0

    def _book(self, position: int) -> int:
        self.rounds += 1
        self._positions += position
        self._reciprocals += 1 / position
        return position

    @property
    def mean_position(self) -> float:
        return self._positions / max(self.rounds, 1)

    @property
    def mean_reciprocal_rank(self) -> float:
        return self._reciprocals / max(self.rounds, 1)


class ExpertRanking(_Positions):
    """Every expert names an order; one is drawn by exponential weights on (position − 1)/(k − 1). O(Nk) a round."""

    def __init__(self, experts: int, items: int, eta: float, *, seed: int = 0) -> None:
        super().__init__()
        if items < 1:
            raise PartError(f"there must be at least one item to rank, got {items}")
        self.items, self.chance = items, new_chance(seed)
        self.descent = EstimatedDescent(MirrorDescent(Entropy(), Constant(eta)), experts)
        self._orders: Any = None
        self._drawn = 0

    def rank(self, orders: Any) -> Any:
        """The order of an expert drawn by the weights; `orders`: experts × items, each row a permutation of 0 … k−1."""
        table, w = np.asarray(orders), self.descent.point
        if table.shape != (w.size, self.items) or not np.array_equal(
            np.sort(table, axis=1), np.tile(np.arange(self.items), (w.size, 1))
        ):
            raise DataError(f"orders must be {w.size} permutations of 0 … {self.items - 1}, one a row")
        with np.errstate(over="ignore"):
            self._drawn = drawn(w, uniform(self.chance))
        self._orders = table
        return table[self._drawn].copy()

    def learn(self, item: int) -> int:
        """The item that was wanted; returns its position in the order that was shown."""
        if self._orders is None:
            raise DataError("rank first, then say which item was wanted")
        if not 0 <= item < self.items:
            raise DataError(f"there is no item {item}: they are numbered from 0 to {self.items - 1}")
        places = np.argmax(self._orders == item, axis=1)
        self._orders = None
        self.descent.see(places / max(self.items - 1, 1))
        return self._book(int(places[self._drawn]) + 1)

    @property
    def certificates(self) -> list[Certificate]:
        """Σ of expected positions, less that of the best expert, is at most …"""
        found = certificates(self.descent.seat.learner, self.descent.seat.state, self.descent.comparator)
        measure = "regret in expected positions"
        return [replace(scaled(c, max(self.items - 1, 1)), measure=measure) for c in found]


class ScoreRanking(_Positions):
    """Order items by ⟨w, ψ_j⟩; learn by any rule from Σ_{j≠y}[1 − ⟨w, ψ_y − ψ_j⟩]₊ ≥ position − 1. O(kd) a round.

    Items tied with the wanted one count as placed before it, which keeps the surrogate above the loss.
    """

    def __init__(self, rule: Rule, dimension: int) -> None:
        super().__init__()
        self.descent = EstimatedDescent(rule, dimension)
        self.surrogate = 0.0
        self._features: Any = None

    def rank(self, features: Any) -> Any:
        """Items in falling order of score; `features` is items × d."""
        table = np.asarray(features, float)
        w = self.descent.point
        if table.ndim != 2 or table.shape[1] != w.size or not len(table) or not np.all(np.isfinite(table)):
            raise DataError(f"features must be items × {w.size} finite numbers, got shape {table.shape}")
        self._features = table
        return np.argsort(-(table @ w), kind="stable")

    def learn(self, item: int) -> int:
        """The item that was wanted; returns its position."""
        table: Vector = self._features
        if table is None:
            raise DataError("rank first, then say which item was wanted")
        if not 0 <= item < len(table):
            raise DataError(f"there is no item {item}: they are numbered from 0 to {len(table) - 1}")
        self._features = None
        margins = (table[item] - table) @ self.descent.point
        others = np.arange(len(table)) != item
        active = others & (margins < 1)
        self.surrogate += float(np.sum(1 - margins[active]))
        self.descent.see(np.sum(table[active] - table[item], axis=0))
        return self._book(1 + int(np.sum(others & (margins <= 0))))

    @property
    def certificates(self) -> list[Certificate]:
        """Regret of the surrogate; Σ(position − 1) ≤ the surrogate's loss ≤ that of any fixed u + the bound."""
        found = certificates(self.descent.seat.learner, self.descent.seat.state, self.descent.comparator)
        lost = float(self._positions - self.rounds)
        above = Premise("positions lost ≤ surrogate loss", lost <= self.surrogate * (1 + 1e-9), lost)
        return [replace(c, measure="regret of the surrogate", premises=(*c.premises, above)) for c in found]
