"""Comparators that change their mind: the best sequence with few switches, and the worst window of rounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import difference_error
from lowregret.domain import Domain, Simplex
from lowregret.errors import PartError
from lowregret.learner.validate import is_whole
from lowregret.regret.comparator import Comparator, along_path
from lowregret.regret.played import Record
from lowregret.regret.result import Regret
from lowregret.types import Vector

CLOSED_ROUNDS, SOLVER_ROUNDS = 300, 40  # rounds up to which all segments are looked at, in closed form or by a solver


@dataclass(frozen=True)
class Switching(Comparator):
    """The best sequence of points that switches at most `switches` times, exactly, by dynamic programming.

    Linear costs on a simplex (experts): O(kTN). Other sets: O(T²) best points, each with its gap, and O(kT²).
    """

    switches: int
    domain: Domain | None = None

    def against(self, record: Record) -> Regret:
        if not (is_whole(self.switches) and record.losses.size):
            raise PartError(f"switches must be a whole number ≥ 0, of one round at least, got {self.switches!r}")
        domain, k = self.domain or record.domain, min(self.switches, record.losses.size - 1)
        if record.costs is not None and isinstance(domain, Simplex):
            chosen = best_experts(record.costs, k)
            path = domain.total * np.eye(record.dimension)[chosen]
            return along_path("switching", record, path, found=chosen)
        values, gaps, points = segments(record, domain)
        ends, _ = _programme(values, k)
        path = np.concatenate([[points[a, b]] * (b - a) for a, b in ends])
        lowest = _programme(values - gaps, k)[1] if np.all(gaps < np.inf) else -np.inf
        gap = sum(float(values[a, b]) for a, b in ends) - lowest
        return along_path("switching", record, path, max(gap, 0.0))


@dataclass(frozen=True)
class Windows(Comparator):
    """The window with the largest static regret: of this length, or of any (adaptive regret).

    `mine`, `theirs` and the bound are those of the window, `details` say where it is: rounds `first` to `last`.
    Experts: O(TN), for windows of any length too. Other sets: one best point for each window.
    """

    length: int | None = None
    domain: Domain | None = None

    def against(self, record: Record) -> Regret:
        domain, rounds = self.domain or record.domain, record.losses.size
        if self.length is not None and not (is_whole(self.length, 1) and self.length <= rounds):
            raise PartError(f"windows must be 1 to {rounds} rounds long, got {self.length!r}")
        if record.costs is not None and isinstance(domain, Simplex):
            begin, end, point = _worst_of_experts(record.losses[:, None] - domain.total * record.costs, self.length)
            point, gap, high = domain.total * point, 0.0, -np.inf
        else:
            begin, end, high = self._search(record, domain)
            inside = np.zeros(rounds)
            inside[begin:end] = 1.0
            point, _, gap, _ = record.best(domain, inside)  # of sums of its own: what came before blurs the others
        mine, theirs = record.losses[begin:end], record.along(point)[begin:end]
        gap = max(gap, high - float(np.sum(mine - theirs)), 0.0)
        descent = record.descent
        known = None if descent is None else descent.within(begin, end, domain)
        path = np.tile(point, (end - begin, 1))
        certificate = None if known is None else record.doubted(known, path, begin, domain)
        details = {"first": begin + 1, "last": end}
        return Regret("window", mine, theirs, point, gap, certificate=certificate, details=details)

    def _search(self, record: Record, domain: Domain) -> tuple[int, int, float]:
        """The worst window, and a number that no window's regret exceeds."""
        rounds, length = record.losses.size, self.length
        if length is None:
            _require_few(record)
            windows = [(a, b) for a in range(rounds) for b in range(a + 1, rounds + 1)]
        else:
            windows = [(a, a + length) for a in range(rounds - length + 1)]
        found = np.array([record.best_within(domain, a, b)[1:] for a, b in windows])
        regrets = np.array([np.sum(record.losses[a:b]) for a, b in windows]) - found[:, 0]
        worst = int(np.argmax(regrets))
        return *windows[worst], float(np.max(regrets + found[:, 1]))


def segments(record: Record, domain: Domain) -> tuple[Any, Any, dict[tuple[int, int], Vector]]:
    """The least loss on a set in rounds a … b−1 (inf where a ≥ b), its gap, and its point."""
    _require_few(record)
    rounds = record.losses.size
    values, gaps = np.full((rounds + 1, rounds + 1), np.inf), np.zeros((rounds + 1, rounds + 1))
    points = {}
    for a in range(rounds):
        for b in range(a + 1, rounds + 1):
            points[a, b], values[a, b], gaps[a, b], _ = record.best_within(domain, a, b)
    return values, gaps, points


def _require_few(record: Record) -> None:
    rounds, most = record.losses.size, CLOSED_ROUNDS if record.folds else SOLVER_ROUNDS
    if rounds > most:
        raise PartError(
            f"a best point for each of all segments of {rounds} rounds takes too long: use at most {most} rounds, "
            "or experts (linear costs on a simplex)"
        )


def _programme(values: Any, switches: int) -> tuple[list[tuple[int, int]], float]:
    """The cheapest way to cut the rounds into at most switches + 1 segments, and its cost: O(kT²)."""
    rounds = len(values) - 1
    cost, cuts = values[0].copy(), []
    cost[0] = 0.0
    for _ in range(switches):
        ways = cost[:, None] + values
        ways[0] = cost  # no cut: as cheap as with fewer segments
        cut = np.argmin(ways, axis=0)
        cuts.append(cut)
        cost = ways[cut, np.arange(rounds + 1)]
    ends, b = [], rounds
    for cut in reversed(cuts):
        a = int(cut[b])
        if a > 0:
            ends.append((a, b))
            b = a
    return [(0, b), *reversed(ends)], float(cost[rounds])


def best_experts(costs: Any, switches: int) -> Any:
    """The experts of the cheapest sequence with at most `switches` switches: O(kTN) time and bytes."""
    rounds, count = costs.shape
    came = np.zeros((rounds, switches + 1, count), np.bool_)
    leader = np.zeros((rounds, switches + 1), np.int64)
    chosen = np.zeros(rounds, np.int64)
    cost, rest = np.zeros((2, switches + 1, count))
    cheapest(np.ascontiguousarray(costs), cost, rest, came, leader, chosen)
    return chosen


@kernel
def cheapest(costs: Any, cost: Any, rest: Any, came: Any, leader: Any, chosen: Any) -> None:
    """cost[j, i]: of the best sequence so far with at most j switches that ends with expert i, and `rest` its rounding.

    came[t, j, i]: whether it switched to i before round t, from leader[t−1, j−1].
    """
    rounds, count = costs.shape
    budget = cost.shape[0]
    for t in range(rounds):
        for j in range(budget - 1, -1, -1):
            for i in range(count):
                if t > 0 and j > 0:
                    other = leader[t - 1, j - 1]
                    if (cost[j - 1, other] - cost[j, i]) + (rest[j - 1, other] - rest[j, i]) < 0.0:
                        cost[j, i], rest[j, i] = cost[j - 1, other], rest[j - 1, other]
                        came[t, j, i] = True
                total = cost[j, i] + costs[t, i]
                rest[j, i] += difference_error(cost[j, i], -costs[t, i], total)
                cost[j, i] = total
        for j in range(budget):
            best = 0
            for i in range(1, count):
                if (cost[j, i] - cost[j, best]) + (rest[j, i] - rest[j, best]) < 0.0:
                    best = i
            leader[t, j] = best
    j = budget - 1
    i = leader[rounds - 1, j]
    for t in range(rounds - 1, -1, -1):
        chosen[t] = i
        if came[t, j, i]:
            j -= 1
            i = leader[t - 1, j]


def _worst_of_experts(differences: Any, length: int | None) -> tuple[int, int, Vector]:
    """The window in which one column of T × N differences has the largest sum, and 1 for that column: O(TN)."""
    if length is None:
        found = np.zeros(2, np.int64)
        worst_interval(np.ascontiguousarray(differences), found)
        begin, end = int(found[0]), int(found[1])
    else:
        begin = int(np.argmax(window_sums(differences, length).max(axis=1)))
        end = begin + length
    worst = np.argmax([math.fsum(column) for column in differences[begin:end].T])
    return begin, end, (np.arange(differences.shape[1]) == worst).astype(float)


def window_sums(values: Any, length: int) -> Any:
    """Σ of the rows of every window of this length: O(T ln length) additions, and what is outside adds no rounding.

    A window is made of those of 1, 2, 4, … rows: nothing is subtracted, in which a large row would hide later ones.
    """
    rows = len(values) - length + 1
    total, power, done, width = np.zeros((rows, *values.shape[1:])), values, 0, 1
    while width <= length:
        if length & width:
            total = total + power[done : done + rows]
            done += width
        width *= 2
        if width <= length:
            power = power[: -width // 2 or None] + power[width // 2 :]
    return total


@kernel
def worst_interval(differences: Any, found: Any) -> float:
    """The largest sum of a column over an interval, whose ends go to `found`."""
    best = -np.inf
    for i in range(differences.shape[1]):
        total, begin = 0.0, 0
        for t in range(differences.shape[0]):
            if total <= 0.0:
                total, begin = 0.0, t
            total += differences[t, i]
            if total > best:
                best = total
                found[0], found[1] = begin, t + 1
    return best
