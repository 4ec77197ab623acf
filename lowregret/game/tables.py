"""Where a learner and an environment meet: rounds are played, and the books can be looked at after any of them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowregret.bandit import Bandit, BanditAlgorithm, BanditDescent
from lowregret.certificate import Certificate
from lowregret.certificate.mistakes import mistake_certificates, mistake_rounds
from lowregret.compile.spec import to_json
from lowregret.convex.functions import LinearFunction
from lowregret.errors import DataError
from lowregret.experts import Aggregator, ExpertMixture
from lowregret.finite import FiniteLearner
from lowregret.game.environment import BanditFeedback, CostGame, ObliviousGame
from lowregret.game.finite_games import FiniteGame
from lowregret.game.row_games import RowGame
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.delayed import Delayed
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Hinge
from lowregret.play.game import Game
from lowregret.rows import as_rows
from lowregret.run.begin import begin
from lowregret.state import MISTAKES, State
from lowregret.types import Vector

LONG = 20_000  # rounds from which compiling pays
NEAR = 1e-4  # of the best fixed choice in hindsight; what it is off counts as regret
REPEATED = 20  # games whose mean stands for an expectation


@dataclass(frozen=True)
class Row:
    """The books after a round: `regret` is what the certificate bounds (mistakes, where it says so).

    `linear_regret` and `bound` have their rounding in them.
    """

    round: int
    loss: float
    regret: float
    linear_regret: float | None
    bound: float | None

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        return dict(vars(self))


class GameTable(ABC):
    """One game, in any number of pieces."""

    certificate: Certificate  # the one that is shown
    certificates: list[Certificate]  # all that speak of the game
    games: int = 1  # whose mean is shown

    @abstractmethod
    def until(self, t: int) -> Row:
        """Play until t rounds are done; also settles the certificates."""

    def play(self, rounds: int) -> list[Row]:
        """Look at the books after 1, 2, 4, 8, … rounds, and at the end."""
        return [self.until(t) for t in marks(rounds)]

    @property
    def spec(self) -> dict[str, Any] | None:
        """The learner, to the letter."""
        return None


def marks(rounds: int) -> Iterator[int]:
    """1, 2, 4, 8, … and the last round."""
    t = 1
    while t < rounds:
        yield t
        t *= 2
    yield rounds


def prefer(found: list[Certificate], theorems: tuple[str, ...]) -> Certificate:
    """The first named theorem whose premises hold; else the first that is there; else the tightest of all."""
    named = [c for name in theorems for c in found if c.id == name]
    return next((c for c in named if c.premises_hold), (named or found)[0])


def _row(t: int, loss: float, c: Certificate) -> Row:
    bound = c.promised if c.premises_hold and math.isfinite(c.promised) else None
    return Row(t, loss, math.nan if c.regret is None else c.regret, c.measured, bound)


class CostGameTable(GameTable):
    """A rule or follower against costs, through `play`'s game."""

    def __init__(self, e: Any, player: Any, rounds: int, seed: int, theorems: tuple[str, ...]) -> None:
        if isinstance(e, CostGame) and e.delay:
            player, theorems = Delayed(player, e.delay), ("DELAY", *theorems)
        self.game = Game(player, e.dimension, e.domain, compiled=rounds > LONG)
        self.answer, self.theorems = e.begin(rounds, seed), theorems

    def until(self, t: int) -> Row:
        self.game.learn(self.answer, t - self.game.rounds)
        self.certificates = self.game.certificates
        found = prefer(self.certificates, self.theorems)
        linear = None if found.linear_regret is None else self.game.linear_regret()
        self.certificate = replace(found, regret=self.game.regret, linear_regret=linear)
        return _row(t, self.game.loss, self.certificate)

    @property
    def spec(self) -> dict[str, Any] | None:
        return to_json(self.game.player)


class PanelTable(GameTable):
    """An aggregator of experts against their costs: the loss is the mixture's, Σ⟨w_t, z_t⟩."""

    def __init__(self, e: CostGame, aggregator: Aggregator, rounds: int, seed: int) -> None:
        self.panel = ExpertMixture(e.dimension, aggregator, Cost(), compiled=rounds > LONG)
        self.costs = e.table(rounds, seed) if isinstance(e, ObliviousGame) else None
        self.answer = e.begin(rounds, seed)

    def until(self, t: int) -> Row:
        played = self.panel.rounds
        if self.costs is not None:
            self.panel.learn(self.costs[played:t], np.ones(t - played))
        else:
            for s in range(played, t):
                self.panel.learn(self._costs(s + 1)[None], np.ones(1))
        self.certificates = self.panel.certificates
        self.certificate = self.certificates[0]
        return _row(t, self.panel.loss, self.certificate)

    def _costs(self, t: int) -> Vector:
        f = self.answer(t, self.panel.weights)
        if not isinstance(f, LinearFunction):
            raise DataError(f"round {t}: experts have costs, one number each, not {f!r}")
        return np.array(f.z)

    @property
    def spec(self) -> dict[str, Any] | None:
        return to_json(self.panel.aggregator)


class BanditTable(GameTable):
    """A bandit that sees the cost of its own arm: means over several coins, for the theorems speak of expectations."""

    def __init__(
        self, e: BanditFeedback, algorithm: BanditAlgorithm, rounds: int, seed: int, theorems: tuple[str, ...]
    ) -> None:
        self.costs, self.theorems, self.games = e.table(rounds, seed), theorems, REPEATED
        coins = range(REPEATED * seed, REPEATED * (seed + 1))
        self.bandits = [Bandit(e.dimension, algorithm, seed=s, compiled=rounds > LONG // REPEATED) for s in coins]

    def until(self, t: int) -> Row:
        for bandit in self.bandits:
            bandit.learn(self.costs[bandit.rounds : t])
        loss = float(np.mean([bandit.loss for bandit in self.bandits]))
        regret = loss - float(np.min(np.sum(self.costs[:t], axis=0)))
        self.certificates = self.bandits[0].certificates
        found = prefer(self.certificates, self.theorems)
        self.certificate = replace(found, regret=regret, linear_regret=None)
        return _row(t, loss, self.certificate)

    @property
    def spec(self) -> dict[str, Any] | None:
        return to_json(self.bandits[0].algorithm)


class DescentTable(GameTable):
    """Gradient descent that sees the cost of one point a round: means over several coins."""

    def __init__(self, e: BanditFeedback, make: Callable[[int], BanditDescent], rounds: int, seed: int) -> None:
        self.costs, self.domain, self.games = e.table(rounds, seed), e.domain, REPEATED
        self.players = [make(s) for s in range(REPEATED * seed, REPEATED * (seed + 1))]

    def until(self, t: int) -> Row:
        for player in self.players:
            player.learn(lambda s, w: float(w @ self.costs[s]), t - player.rounds)
        loss = float(np.mean([player.loss for player in self.players]))
        regret = loss + self.domain.support(-np.sum(self.costs[:t], axis=0))
        self.certificate = replace(self.players[0].certificate, regret=regret)
        self.certificates = [self.certificate]
        return _row(t, loss, self.certificate)


class FiniteTable(GameTable):
    """A learner of a finite class; expected mistakes where it draws."""

    def __init__(self, e: FiniteGame, learner: FiniteLearner, rounds: int, seed: int) -> None:
        self.learner, self.answer = learner, e.begin(rounds, seed)

    def until(self, t: int) -> Row:
        for s in range(self.learner.rounds + 1, t + 1):
            self.learner.learn(*self.answer(s, self.learner.predict))
        self.certificate = self.learner.certificate
        self.certificates = [self.certificate]
        return _row(t, self.learner.loss, self.certificate)


class RowTable(GameTable):
    """A learner of rows; regret against the best of the ball in hindsight."""

    def __init__(self, e: RowGame, learner: Linear, rounds: int, seed: int, theorems: tuple[str, ...]) -> None:
        self.e, self.theorems = e, theorems
        self.x, self.y = e.rows(rounds, seed)
        self.y = np.array(self.y)
        self.run = begin(learner, e.dimension, comparator=e.domain, compiled=rounds > LONG)
        self.scores: list[Vector] = []

    def until(self, t: int) -> Row:
        self._learn(t)
        self.certificates = self.run.certificates
        found = prefer(self.certificates, self.theorems)
        self.certificate = replace(found, regret=self.run.loss - self._best(t))
        return _row(t, self.run.loss, self.certificate)

    def _learn(self, t: int) -> None:
        played = self.run.rounds
        for first, end in [(played, t)] if self.e.oblivious else [(s, s + 1) for s in range(played, t)]:
            if not self.e.oblivious:
                self.y[first] = self.e.label(self.x[first], self.run.point, float(self.y[first]))
            self.run.learn(self.x[first:end], self.y[first:end])
            self.scores.append(self.run.scores)

    def _best(self, t: int) -> float:
        """The least loss of a fixed choice in hindsight, rounded down by the solver's gap."""
        learner = self.run.learner
        best = best_in_hindsight(learner.loss, self.x[:t], self.y[:t], self.e.domain, bias=learner.bias, tolerance=NEAR)
        return best.value - best.gap

    @property
    def spec(self) -> dict[str, Any] | None:
        return to_json(self.run.learner)


class MistakeTable(RowTable):
    """The Perceptron or Winnow: mistakes, under the bounds on mistakes, against one u."""

    def until(self, t: int) -> Row:
        self._learn(t)
        return self._judge(t, self.run.state, self._rival(t))

    def play(self, rounds: int) -> list[Row]:
        """Against one and the same u after every round: that of all rounds."""
        states = [(t, self._learnt(t)) for t in marks(rounds)]
        u = self._rival(rounds)
        return [self._judge(t, state, u) for t, state in states]

    def _learnt(self, t: int) -> State:
        self._learn(t)
        return self.run.state.copy()

    def _judge(self, t: int, state: State, u: Vector) -> Row:
        rows, scores = as_rows(self.x[:t]), np.concatenate(self.scores)[:t]
        self.certificates = mistake_certificates(self.run.learner, state, rows, self.y[:t], scores, u)
        self.certificate = prefer(self.certificates, self.theorems)
        return _row(t, float(state.counts[MISTAKES]), self.certificate)

    def _rival(self, t: int) -> Vector:
        """The environment's u (with a bias: above ½), or the best of the ball on the rounds with a mistake."""
        u, bias = self.e.rival(self.x[:t], self.y[:t]), self.run.learner.bias
        if u is not None:
            return np.append(u, -0.5 / bias) if bias else u
        wrong = mistake_rounds(self.run.learner.loss, self.run.state, self.y[:t], np.concatenate(self.scores)) > 0
        return best_in_hindsight(Hinge(), self.x[:t][wrong], self.y[:t][wrong], self.e.domain, bias=bias).w
