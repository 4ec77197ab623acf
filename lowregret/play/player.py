"""How a player sits at a game: it names a point, then sees a function and its sub-gradient there."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate import Certificate, Evidence, evaluate
from lowregret.compile.call import call, compilable
from lowregret.convex.functions import Convex, Sum
from lowregret.convex.leader import Follower
from lowregret.domain import Domain
from lowregret.errors import DataError, DivergedError
from lowregret.learner.linear import Linear, learn_rows, write_point
from lowregret.learner.validate import require_visible
from lowregret.loss import Cost
from lowregret.rows import Dense
from lowregret.rule import MirrorDescent, Rule
from lowregret.state import SUMS, State
from lowregret.types import Vector


class Seat(ABC):
    """A player and all it remembers."""

    domain: Domain

    @abstractmethod
    def point(self) -> Vector:
        """w_t"""

    @abstractmethod
    def see(self, f: Convex, z: Vector) -> None:
        """f_t, and z_t ∈ ∂f_t(w_t)"""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """All arrays from which play goes on as if it had never stopped."""


class Look(NamedTuple):
    """The rounds played when a ledger was written, the comparators, and the strong convexity of all functions."""

    rounds: int
    comparator: Domain
    curvature: float

    def __call__(self, learner: Linear, ledger: Vector, theta: Vector | None) -> list[Certificate]:
        """The certificates that a learner's ledger gives."""
        sums, counts = np.split(ledger, [SUMS])
        counts = counts.astype(np.int64)
        return evaluate(Evidence(learner, self.comparator, sums, counts, None, theta, self.curvature))


class RuleSeat(Seat):
    """An update rule: it is fed z_t as a row of costs, through the loop that learns rows."""

    def __init__(self, rule: Rule, dimension: int, compiled: bool, arrays: dict[str, Any] | None = None) -> None:
        self.learner = Linear(Cost(), rule)
        self.domain = rule.domain
        self.compiled = compiled and compilable(rule)
        self.state = self.learner.start(dimension) if arrays is None else State(*(arrays[k] for k in State._fields))

    def point(self) -> Vector:
        return self._point(self.state)

    def see(self, f: Convex, z: Vector) -> None:
        state = self.state.copy()  # so that a round is refused as a whole
        self._feed(state, z, state.rounds + 1)
        self.state = state

    def arrays(self) -> dict[str, Any]:
        return self.state._asdict()

    def ledger(self) -> Vector:
        """The sums and counts that certificates are computed from, in one vector."""
        return np.concatenate([self.state.sums, self.state.counts.astype(float)])

    def theta(self) -> Vector | None:
        """−Σz_t, where theorems ask for it."""
        return np.ascontiguousarray(self.state.theta) if isinstance(self.learner.rule, MirrorDescent) else None

    def certificates(self, ledger: Vector, theta: Vector | None, look: Look) -> list[Certificate]:
        """The certificates that a ledger gives to a look."""
        return look(self.learner, ledger, theta)

    def _point(self, state: State) -> Vector:
        w = np.empty(state.dimension)
        call(write_point, self.compiled, self.learner, state, w)
        return w

    def _feed(self, state: State, z: Vector, t: int) -> None:
        """Let the rule see z, or raise an error that names round t and leaves the state not to be used."""
        before = state.rounds
        row = Dense(np.ascontiguousarray(z[None, :]))
        given = row, np.ones(1), np.empty(0), np.empty(1), 0, 1 << 62, math.inf
        call(learn_rows, self.compiled, self.learner, state, *given)
        if state.rounds == before:
            require_visible(row, 0, f"round {t}")
            raise DivergedError(f"round {t}: the loss overflowed: use smaller costs or a bounded domain")
        if not np.all(np.isfinite(state.table)):
            raise DivergedError(f"round {t}: the weights overflowed: use a smaller step or a bounded domain")


class FollowerSeat(Seat):
    """A follower: it minimises over all functions so far, and books what following cost."""

    def __init__(
        self, player: Follower, dimension: int, functions: list[Convex], arrays: dict[str, Any] | None
    ) -> None:
        player.fits(dimension)
        self.player, self.domain = player, player.domain
        self.total = Sum(dimension, functions)
        self.next = player.first(dimension) if arrays is None else arrays["next"]
        self.gaps: list[float] = [0.0] if arrays is None else arrays["gaps"].tolist()
        self.drops: list[float] = [] if arrays is None else arrays["drops"].tolist()
        self.steps: list[float] = [] if arrays is None else arrays["steps"].tolist()

    def point(self) -> Vector:
        return self.next

    def see(self, f: Convex, z: Vector) -> None:
        w, total = self.next, self.total.plus(f)  # so that a round is refused as a whole
        solution = self.player.follow(total, w)
        drop = f.value(w.copy()) - f.value(solution.w.copy())
        step = self._penalised(total, w) - self._penalised(total, solution.w)
        self.total, self.next = total, solution.w
        self.gaps.append(solution.gap)
        self.drops.append(drop)
        self.steps.append(step)

    def _penalised(self, total: Sum, w: Vector) -> float:
        return self.player.penalty(w) + total.value(w)

    def arrays(self) -> dict[str, Any]:
        kept = {"gaps": self.gaps, "drops": self.drops, "steps": self.steps}
        return {"next": self.next} | {name: np.array(values, float) for name, values in kept.items()}


def checked_value(f: Convex, w: Vector, t: int) -> tuple[float, Vector]:
    """f(w) and a sub-gradient, both finite and of the right shape, or an error that names the round."""
    if f.dimension is not None and f.dimension != w.size:
        raise DataError(f"round {t}: the function takes {f.dimension} coordinates, the player has {w.size}")
    if not np.all(np.isfinite(w)):
        raise DivergedError(f"round {t}: the iterate is not finite: use a smaller step or a bounded domain")
    value = f.value(w.copy())  # a function of the user's own may change what it is given, or give the same array again
    if not math.isfinite(value):
        raise DataError(
            f"round {t}: the loss is {value} at the point played, {w[:5]}…: it must be finite on the domain"
        )
    z = np.array(f.subgradient(w.copy()), float)
    if z.shape != w.shape:
        raise DataError(f"round {t}: the sub-gradient has shape {z.shape}, the player {w.shape}")
    bad = np.flatnonzero(~np.isfinite(z))
    if bad.size:
        raise DataError(f"round {t}: coordinate {bad[0]} of the sub-gradient is {z[bad[0]]}")
    return value, z
