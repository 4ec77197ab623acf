"""Records of what happened: my loss in every round, and what any other point would have paid."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import norms
from lowregret.compile.turns import view_of
from lowregret.convex.functions import Convex, LinearFunction, Pieces, Sum, alike
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import Solution
from lowregret.convex.verify import PREMISE, strayed
from lowregret.domain import Domain, Simplex
from lowregret.errors import DataError, PartError
from lowregret.hindsight import best_fixed
from lowregret.learner.linear import Linear, score_rows
from lowregret.learner.validate import finite_numbers, numbers, real_numbers, settled
from lowregret.loss import OnMistakes
from lowregret.loss.verify import counterexample
from lowregret.play.game import Game
from lowregret.play.player import RuleSeat
from lowregret.regret.descent import DescentTrace, descent_of
from lowregret.rows import EVERY, Features, Rows, copied
from lowregret.run.linear import LinearRun
from lowregret.state import LONGEST
from lowregret.types import Vector


class Record(ABC):
    """Rounds t = 1 … T with convex functions f_t and the points w_t played."""

    losses: Vector  # f_t(w_t)
    dimension: int
    domain: Domain  # what to compare with if nothing else is asked for
    costs: Any = None  # z_t (T × d) if all f_t are ⟨·, z_t⟩
    points: Any = None  # w_t (T × d), where they are known

    @abstractmethod
    def along(self, points: Any) -> Vector:
        """f_t(u_t), for a T × d matrix of points, or one point for all rounds."""

    @abstractmethod
    def best(self, domain: Domain, weights: Vector) -> Solution:
        """The point of a set that minimises Σ c_t f_t, with its gap."""

    @property
    def folds(self) -> bool:
        """Whether `best_within` costs O(d) and no solver's work."""
        return False

    def best_within(self, domain: Domain, begin: int, end: int) -> Solution:
        """The best point for rounds begin … end−1."""
        weights = np.zeros(self.losses.size)
        weights[begin:end] = 1.0
        return self.best(domain, weights)

    def certificate(self, comparator: Domain) -> Certificate | None:
        """The tightest certificate against these comparators, if a theorem speaks of the player."""
        return None

    @property
    def descent(self) -> DescentTrace | None:
        """How projected gradient descent went, if that is what happened."""
        return None

    def doubted(self, found: Certificate, path: Any, first: int = 0, domain: Domain | None = None) -> Certificate:
        """A certificate against a path from a round on, in a set, with what functions of the user's own say there."""
        return found

    @property
    def importance(self) -> Vector | None:
        """c_t with Σc_t = 1, if the player's schedule weighs the rounds."""
        return None

    def point(self, u: Any) -> Vector:
        """A point of the right size."""
        return finite_numbers(u, "the comparator", self.dimension)

    def path(self, points: Any) -> Any:
        """One point for each round."""
        matrix = real_numbers(points, "the points of a path")
        if matrix.shape != (self.losses.size, self.dimension):
            raise DataError(
                f"a path needs one point of {self.dimension} coordinates for each of {self.losses.size} rounds, "
                f"got shape {matrix.shape}"
            )
        if not np.isfinite(matrix).all():
            raise DataError("the points of a path must be finite numbers")
        return matrix


class Scaled(Convex):
    """c·f(w), c ≥ 0"""

    f: Convex
    c: float

    def value(self, w: Vector) -> float:
        return self.c * self.f.value(w)

    def subgradient(self, w: Vector) -> Vector:
        return self.c * self.f.subgradient(w)

    @property
    def curvature(self) -> float:
        return self.c * self.f.curvature

    def pieces(self) -> Pieces:
        p = self.f.pieces()
        rest = None if p.rest is None else Scaled(p.rest, self.c)
        return Pieces(self.c * p.curvature, self.c * p.linear, self.c * p.constant, rest)


class Functions(Record):
    """A record of functions and points; linear ones as a matrix of costs."""

    def __init__(self, functions: Sequence[Convex], costs: Any, points: Any, losses: Vector, domain: Domain) -> None:
        self.functions, self.costs, self.points = functions, costs, points
        self.losses, self.dimension, self.domain = losses, points.shape[1], domain

    def along(self, points: Any) -> Vector:
        if self.costs is not None:
            return np.sum(self.costs * points, axis=1)
        path = np.broadcast_to(points, self.points.shape)
        return np.array([f.value(u.copy()) for f, u in zip(self.functions, path, strict=True)])

    def best(self, domain: Domain, weights: Vector) -> Solution:
        total = Sum(self.dimension)
        if self.costs is not None and isinstance(domain, Simplex):
            common = alike(self.costs)
            total.add(_summed(weights, self.costs - common))
            found = self._solve(domain, total)
            return found._replace(value=found.value + domain.total * math.fsum(weights * common[:, 0]))
        if self.costs is not None:
            total.add(_summed(weights, self.costs))
        else:
            for f, c in zip(self.functions, weights.tolist(), strict=True):
                if c != 0:
                    total.add(f if c == 1 else Scaled(f, c))
        return self._solve(domain, total)

    def _solve(self, domain: Domain, total: Sum) -> Solution:
        return FollowTheLeader(domain).follow(total, domain.projection(np.zeros(self.dimension)))

    @cached_property
    def _fold(self) -> tuple[Vector, Any, Vector] | None:
        """Sums of the first t functions' curvature, linear part and constant, if that is all there is to them."""
        if self.costs is not None:
            flat = np.zeros(self.losses.size + 1)
            return flat, _sums(self.costs), flat
        pieces = [f.pieces() for f in self.functions]
        if any(p.rest is not None for p in pieces):
            return None
        linear = np.array([np.zeros(self.dimension) + p.linear for p in pieces])
        return _sums([p.curvature for p in pieces]), _sums(linear), _sums([p.constant for p in pieces])

    @cached_property
    def _sizes(self) -> tuple[Any, Vector]:
        """Sums of the sizes of the first t functions' linear parts and constants."""
        assert self._fold is not None
        linear, constant = (_sums(np.abs(np.diff(column, axis=0))) for column in self._fold[1:])
        return linear, constant

    @property
    def folds(self) -> bool:
        return self._fold is not None

    def best_within(self, domain: Domain, begin: int, end: int) -> Solution:
        if self._fold is None:
            return super().best_within(domain, begin, end)
        total = Sum(self.dimension)
        total.sigma, total.linear, total.constant = (column[end] - column[begin] for column in self._fold)
        total.curvature, total.count = total.sigma, end
        total.spread, total.held = (column[end] for column in self._sizes)  # a difference is off as its terms are
        found = self._solve(domain, total)
        return found._replace(gap=found.gap + total.blur(found.w))


def _summed(weights: Vector, costs: Any) -> LinearFunction:
    """⟨·, Σ c_t z_t⟩"""
    return LinearFunction(np.array([math.fsum(column) for column in (weights[:, None] * costs).T]))


def _sums(values: Any) -> Any:
    """0 and the running sums."""
    return np.concatenate([np.zeros_like(values[:1], float), np.cumsum(values, axis=0)])


class GameRecord(Functions):
    """A game."""

    def __init__(self, game: Game) -> None:
        linear = all(type(f) is LinearFunction for f in game.functions)
        costs = np.array([f.z for f in game.functions]) if linear and game.rounds else None  # type: ignore[attr-defined]
        super().__init__(game.functions, costs, game.points, game.losses, game.comparator)
        self.game = game
        self._tried: dict[int, tuple[Domain, str | None]] = {}

    def best(self, domain: Domain, weights: Vector) -> Solution:
        found = super().best(domain, weights)
        why = self._refuted(domain) or self._strayed(np.broadcast_to(found.w, self.points.shape))
        return found if why is None else found._replace(gap=math.inf)

    def _refuted(self, domain: Domain) -> str | None:
        if id(domain) not in self._tried:  # it is asked for every window
            self._tried[id(domain)] = domain, self.game.refuted(self.game.rounds, domain)
        return self._tried[id(domain)][1]

    def _strayed(self, path: Any, first: int = 0) -> str | None:
        rounds = slice(first, first + len(path))
        return strayed(
            self.functions[rounds], self.points[rounds], self.game.gradients[rounds], self.losses[rounds], path
        )

    def certificate(self, comparator: Domain) -> Certificate | None:
        other = view_of(self.game)
        other.__dict__.pop("certificates", None)
        other.comparator = comparator
        return other.certificate

    def doubted(self, found: Certificate, path: Any, first: int = 0, domain: Domain | None = None) -> Certificate:
        why = self._strayed(path, first) or (None if domain is None else self._refuted(domain))
        return found if why is None else replace(found, premises=(*found.premises, Premise(PREMISE, False, why)))

    @cached_property
    def _descent(self) -> DescentTrace | None:
        seat, points = self.game.seat, self.points
        if type(seat) is not RuleSeat or self.game.refuted(self.game.rounds, self.domain) is not None:
            return None
        longest = float(np.max(norms(points)))
        return descent_of(seat.learner, seat.state, norms(self.game.gradients), points[0], longest)

    @property
    def descent(self) -> DescentTrace | None:
        return self._descent

    @property
    def importance(self) -> Vector | None:
        step = self.game.seat.learner.rule.schedule() if isinstance(self.game.seat, RuleSeat) else None
        if step is None or not step.weighted():
            return None
        totals = np.array([step.total_importance(t) for t in range(self.losses.size + 1)])
        return np.diff(totals) / totals[-1]


class ExpertRecord(Functions):
    """Experts: what each cost in every round (T × N), and how I spread my weight over them (T × N)."""

    def __init__(self, costs: Any, weights: Any) -> None:
        costs, points = real_numbers(costs, "costs"), real_numbers(weights, "weights")
        if costs.ndim != 2 or costs.shape != points.shape:
            raise DataError(f"costs and weights must be T × N matrices, got shapes {costs.shape} and {points.shape}")
        if not (np.isfinite(costs).all() and np.isfinite(points).all()):
            raise DataError("costs and weights must be finite numbers")
        total = float(points.sum(axis=1).mean()) if points.size else 1.0
        if points.size and (points.min() < 0 or not np.allclose(points.sum(axis=1), total, atol=0.0)):
            raise DataError("weights must be ≥ 0 and have the same sum in every round")
        super().__init__((), costs, points, np.sum(costs * points, axis=1), Simplex(total or 1.0))


class RowRecord(Record):
    """A run on rows, all learnt in one call: the same rows, labels and weights once more."""

    def __init__(self, run: LinearRun, features: Features, labels: Any, weights: Any = None) -> None:
        learner = run.learner
        if learner.ridge > 0 or isinstance(learner.loss, OnMistakes):
            raise PartError("a ridge, or a loss that depends on what was predicted, has no f_t of the row alone")
        if learner.centred():
            raise PartError("comparators of a learner with a centre are counted from there: use `run.regret(u, X, y)`")
        labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
        self.run, self.x = run, copied(run.expanded(features, weights))  # which may change before it is asked
        self.y = numbers(labels, "labels", self.x.shape[0])
        self.weights = np.ones(self.y.size) if weights is None else numbers(weights, "weights", self.y.size)
        if run.scores.size != self.y.size or np.count_nonzero(self.weights) != run.rounds:
            raise DataError(f"give all {run.rounds} rows of the run, learnt in one call; got {self.y.size}")
        self.dimension, self.domain = run.dimension, run.comparator
        self.losses, self._slopes = self._judge(run.scores)

    def _judge(self, scores: Vector) -> tuple[Vector, Vector]:
        """Losses and slopes of scores."""
        losses, slopes = np.zeros(self.y.size), np.zeros(self.y.size)
        call(judge, self.run.compiled, self.run.learner.judge, scores, self.y, self.weights, losses, slopes)
        return losses, slopes

    def along(self, points: Any) -> Vector:
        scores = np.empty(self.y.size)
        points = np.ascontiguousarray(points)
        learner = self.run.learner
        if points.ndim == 1:
            call(score_rows, self.run.compiled, learner.scorer, points, self.x, EVERY, scores)
        else:
            call(score_along, self.run.compiled, learner.judge, points, self.x, scores)
        return self._judge(scores)[0]

    def best(self, domain: Domain, weights: Vector) -> Solution:
        counted = self.weights * weights
        start = domain.projection(np.zeros(self.dimension))
        return best_fixed(
            self.run.learner, domain, lambda: [(self.x, self.y, counted)], start, compiled=self.run.compiled
        )

    def certificate(self, comparator: Domain) -> Certificate | None:
        other = view_of(self.run)
        other.comparator = comparator
        return other.certificate

    @cached_property
    def _descent(self) -> DescentTrace | None:
        learner = self.run.learner
        reach = self.domain.reach(2, self.dimension)
        if type(self.run) is not LinearRun or self.run.late is not None:  # which scores by other iterates than it moves
            return None
        if counterexample(learner.loss, self.run.met, reach) is not None:
            return None
        squares = np.empty(self.y.size)
        call(row_squares, self.run.compiled, self.run.learner.judge, self.x, squares)
        start = self.run.learner.rule.first(self.dimension)
        longest = math.sqrt(self.run.state.sums[LONGEST])
        sizes = np.abs(self._slopes) * np.sqrt(squares)
        return descent_of(learner, self.run.state, sizes, start, longest, self.weights != 0)

    @property
    def descent(self) -> DescentTrace | None:
        return self._descent


@kernel
def judge(learner: Linear, scores: Vector, y: Vector, weights: Vector, losses: Vector, slopes: Vector) -> None:
    """Losses and their slopes at given scores."""
    for i in range(y.size):
        if weights[i] != 0.0:
            value, slope = learner.loss.at(scores[i], y[i])
            losses[i], slopes[i] = weights[i] * value, weights[i] * slope


@kernel
def score_along(learner: Linear, points: Any, x: Rows, scores: Vector) -> None:
    """scores[i] = ⟨u_i, x_i⟩: O(nnz)."""
    for i in range(scores.size):
        scores[i] = learner.score(points[i], x, i)


@kernel
def row_squares(learner: Linear, x: Rows, squares: Vector) -> None:
    """‖x_i‖² with the bias."""
    for i in range(squares.size):
        squares[i] = learner.square(x, i)
