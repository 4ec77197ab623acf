"""Comparators for a trace: points, paths, weighted rounds, one's own luck, and other experts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.numerics import norms
from lowregret.convex.functions import alike
from lowregret.domain import Domain, Point, Simplex
from lowregret.errors import DataError, PartError
from lowregret.learner.validate import real_numbers
from lowregret.regret.played import Record
from lowregret.regret.result import Regret
from lowregret.types import Vector

HEAVIEST = 1e100  # weight of a round: costs are multiplied by it, and summed


def theorem(record: Record, comparators: Domain, measure: str = "regret") -> Certificate | None:
    """The tightest certificate of a record against these comparators, if it bounds what is measured.

    Of a schedule that weighs rounds it bounds a weighted mean, and not the sum.
    """
    found = record.certificate(comparators)
    return found if found is not None and found.measure == measure else None


class Comparator(ABC):
    """Something that could have been done instead."""

    @abstractmethod
    def against(self, record: Record) -> Regret:
        """The regret of what happened."""


@dataclass(frozen=True)
class Fixed(Comparator):
    """One point u in all rounds: Σ f_t(w_t) − f_t(u)."""

    u: Any

    def against(self, record: Record) -> Regret:
        u = record.point(self.u)
        return Regret("static", record.losses, record.along(u), u, certificate=theorem(record, Point(u)))


@dataclass(frozen=True)
class Best(Comparator):
    """The best fixed point of a set: closed form for linear functions, else a solver with a gap."""

    domain: Domain | None = None

    def against(self, record: Record) -> Regret:
        domain = self.domain or record.domain
        found = record.best(domain, np.ones(record.losses.size))
        theirs, certificate = record.along(found.w), theorem(record, domain)
        return Regret("static", record.losses, theirs, found.w, max(found.gap, 0.0), certificate=certificate)


@dataclass(frozen=True)
class Moving(Comparator):
    """A point u_t for each round (T × d): Σ f_t(w_t) − f_t(u_t), under DYN for projected gradient descent."""

    points: Any

    def against(self, record: Record) -> Regret:
        path = record.path(self.points)
        return along_path("dynamic", record, path)


def along_path(kind: str, record: Record, path: Any, gap: float = 0.0, found: Any = None) -> Regret:
    """The regret against a path, its length, and DYN where it speaks."""
    steps = norms(np.diff(path, axis=0))
    descent = record.descent
    return Regret(
        kind,
        record.losses,
        record.along(path),
        path if found is None else found,
        gap,
        float(np.sum(steps)),
        None if descent is None else record.doubted(descent.against(path), path),
        {"switches": int(np.count_nonzero(steps))} if kind == "switching" else {},
    )


@dataclass(frozen=True)
class Weighted(Comparator):
    """Rounds that count c_t ≥ 0: Σ c_t(f_t(w_t) − f_t(u)), u a point or the best of a set.

    Without weights, those that the player's own schedule gives the rounds (THM-14.12: 2(t+1)/(T(T+3))).
    """

    weights: Any = None
    comparator: Any = None

    def against(self, record: Record) -> Regret:
        c, own = self._weights(record)
        target = self.comparator
        if target is None or isinstance(target, Domain):
            domain = target or record.domain
            u, _, gap, _ = record.best(domain, c)
        else:
            u, gap = record.point(target), 0.0
            domain = Point(u)
        certificate = theorem(record, domain, "weighted regret") if own else None
        return Regret("weighted", c * record.losses, c * record.along(u), u, max(gap, 0.0), certificate=certificate)

    def _weights(self, record: Record) -> tuple[Vector, bool]:
        rounds = record.losses.size
        if self.weights is None:
            if record.importance is None:
                raise PartError("the player weighs all rounds alike: give weights")
            return record.importance, True
        c = real_numbers(self.weights, "weights")
        if c.shape != (rounds,) or not np.all((c >= 0) & (c <= HEAVIEST)):
            raise DataError(f"weights must be {rounds} numbers ≥ 0, at most {HEAVIEST:g}, one per round")
        return c, False


@dataclass(frozen=True)
class Realised(Comparator):
    """The cost of the experts drawn, not the average over the draw: Σ c_t[i_t] − min_i Σ c_t[i].

    If i_t is drawn from w_t and costs in [0, 1] are fixed before, then with probability 1 − δ (AZUMA)

        Σ c_t[i_t] ≤ Σ⟨w_t, c_t⟩ + √(T ln(1/δ)/2).
    """

    drawn: Any
    delta: float = 0.05

    def against(self, record: Record) -> Regret:
        costs, weights = experts(record)
        rounds, count = costs.shape
        drawn = np.asarray(self.drawn)
        if drawn.shape != (rounds,) or drawn.dtype.kind not in "iu" or np.any((drawn < 0) | (drawn >= count)):
            raise DataError(f"drawn must be {rounds} numbers of experts, 0 to {count - 1}")
        if not 0 < self.delta < 1:
            raise PartError(f"delta must be between 0 and 1, got {self.delta}")
        best = int(np.argmin([math.fsum(column) for column in (costs - alike(costs)).T]))
        expected = float(np.sum(record.losses - costs[:, best]))
        luck = math.sqrt(rounds * math.log(1 / self.delta) / 2)
        all_experts = Simplex(1.0)
        theory = theorem(record, all_experts)
        bound = theory.promised if theory is not None and theory.premises_hold else expected
        unit = bool(np.all((costs >= 0) & (costs <= 1))) and np.allclose(weights.sum(axis=1), 1)
        certificate = Certificate(
            id="AZUMA",
            statement=f"realised regret ≤ expected regret + √(T ln(1/δ)/2), with probability {1 - self.delta:g}",
            comparator=all_experts.describe(),
            linear_regret=None,
            bound=bound + luck,
            premises=(
                Premise("costs in [0, 1], weights that sum to 1", unit, [costs.min(), costs.max()]),
                _by_weights(weights, drawn),
            ),
            measure="realised regret",
        )
        details = {"expected": expected, "luck": luck, "delta": self.delta}
        mine = costs[np.arange(rounds), drawn]
        return Regret("realised", mine, costs[:, best], best, certificate=certificate, details=details)


def _by_weights(weights: Any, drawn: Any) -> Premise:
    """That experts were drawn by the weights, refuted by the first that had none."""
    name = "experts are drawn by the weights, after the costs of their round were fixed (assumed)"
    never = np.flatnonzero(weights[np.arange(drawn.size), drawn] <= 0)
    if not never.size:
        return Premise(name, True)
    return Premise(name, False, f"round {never[0]}: expert {drawn[never[0]]} was drawn, whose weight is 0")


@dataclass(frozen=True)
class Swap(Comparator):
    """The best map of experts to experts: Σ_i max_j Σ_t w_t[i](c_t[i] − c_t[j]), from one N × N matrix: O(TN²)."""

    def against(self, record: Record) -> Regret:
        costs, weights = experts(record)
        matrix = weights.T @ (costs - alike(costs))  # [i, j]: what the weight of i would have cost with j
        to = np.where(matrix.min(axis=1) < matrix.diagonal(), matrix.argmin(axis=1), np.arange(len(matrix)))
        gains = matrix.diagonal()[:, None] - matrix
        theirs = np.sum(weights * costs[:, to], axis=1)
        return Regret("swap", record.losses, theirs, to, details={"internal": float(gains.max())})


def experts(record: Record) -> tuple[Any, Any]:
    """ExpertRecord and weights of a record of experts."""
    if record.costs is None or record.points is None or np.any(record.points < 0):
        raise PartError(
            "this regret is about experts: it needs linear costs, and weights ≥ 0 (ExpertRecord, or such a game)"
        )
    return record.costs, record.points
