"""How a player sits at a game: it names a point, then sees a function and its sub-gradient there."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from lowregret.check import call, compilable
from lowregret.convex import Convex, Sum
from lowregret.domain import Domain
from lowregret.error import DataError, DivergedError, PartError
from lowregret.follow import Follower
from lowregret.learner import Linear, learn_rows, write_point
from lowregret.loss import Cost
from lowregret.rows import Dense
from lowregret.rule import Rule
from lowregret.state import State, Vector


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
        """What must be kept to go on as if nothing had happened."""


class RuleSeat(Seat):
    """An update rule: it is fed z_t as a row of costs, through the loop that learns rows."""

    def __init__(self, rule: Rule, dimension: int, compiled: bool, arrays: dict[str, Any] | None = None) -> None:
        self.learner = Linear(Cost(), rule)
        self.domain = rule.domain
        self.compiled = compiled and compilable(rule)
        self.state = self.learner.start(dimension) if arrays is None else State(**arrays)

    def point(self) -> Vector:
        w = np.empty(self.state.dimension)
        call(write_point, self.compiled, self.learner, self.state, w)
        return w

    def see(self, f: Convex, z: Vector) -> None:
        before = self.state.rounds
        row = Dense(np.ascontiguousarray(z[None, :]))
        call(learn_rows, self.compiled, self.learner, self.state, row, np.ones(1), np.empty(0), np.empty(1), 0, 1 << 62)
        if self.state.rounds == before:
            raise DivergedError(f"round {before + 1}: the loss overflowed: use smaller costs or a bounded domain")

    def arrays(self) -> dict[str, Any]:
        return self.state._asdict()


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
        w = self.next
        self.total.add(f)
        solution = self.player.follow(self.total, w)
        self.next = solution.w
        self.gaps.append(solution.gap)
        self.drops.append(f.value(w) - f.value(solution.w))
        self.steps.append(self._penalised(w) - self._penalised(solution.w))

    def _penalised(self, w: Vector) -> float:
        return self.player.penalty(w) + self.total.value(w)

    def arrays(self) -> dict[str, Any]:
        kept = {"gaps": self.gaps, "drops": self.drops, "steps": self.steps}
        return {"next": self.next} | {name: np.array(values, float) for name, values in kept.items()}


def take_seat(
    player: Any, dimension: int, functions: list[Convex], compiled: bool, arrays: dict[str, Any] | None = None
) -> Seat:
    """Seat a rule, a learner's rule, or a follower."""
    if isinstance(player, Linear):
        player = player.rule
    if isinstance(player, Rule):
        return RuleSeat(player, dimension, compiled, arrays)
    if isinstance(player, Follower):
        return FollowerSeat(player, dimension, functions, arrays)
    raise PartError(
        "the player must be a rule such as Lazy(Euclidean(), Constant(0.1)) or a follower such as "
        f"FollowTheLeader(L2Ball(1.0)), got {player!r}"
    )


def checked_value(f: Convex, w: Vector, t: int) -> tuple[float, Vector]:
    """f(w) and a sub-gradient, both finite and of the right shape, or an error that names the round."""
    if f.dimension is not None and f.dimension != w.size:
        raise DataError(f"round {t}: the function takes {f.dimension} coordinates, the player has {w.size}")
    if not np.all(np.isfinite(w)):
        raise DivergedError(f"round {t}: the iterate is not finite: use a smaller step or a bounded domain")
    value = f.value(w)
    if not math.isfinite(value):
        raise DataError(
            f"round {t}: the loss is {value} at the point played, {w[:5]}…: it must be finite on the domain"
        )
    z = np.asarray(f.subgradient(w), float)
    if z.shape != w.shape:
        raise DataError(f"round {t}: the sub-gradient has shape {z.shape}, the player {w.shape}")
    bad = np.flatnonzero(~np.isfinite(z))
    if bad.size:
        raise DataError(f"round {t}: coordinate {bad[0]} of the sub-gradient is {z[bad[0]]}")
    return value, z
