"""Seats of players made of players (see `learner/delayed.py`, `learner/doubling.py`), and the seat of any player."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.delay import dual_exponent, late_certificates
from lowregret.certificate.doubling import bounds_of, sum_blocks
from lowregret.compile.numerics import norm
from lowregret.convex.functions import Convex
from lowregret.convex.leader import Follower
from lowregret.errors import DivergedError
from lowregret.learner.delayed import Delayed
from lowregret.learner.doubling import Doubling, block_of
from lowregret.learner.late import DRIFT, LAGGED, LEDGER, TRAVELLED
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.play.own_player import OwnSeat
from lowregret.play.player import FollowerSeat, Look, RuleSeat, Seat
from lowregret.rule import Rule
from lowregret.state import COUNTS, LAST_RATE, SUMS, State
from lowregret.types import Vector

Late = tuple[int, float, Vector, Vector]  # due after this round; travelled before it; w_s; z_s


def _due(late: Late) -> int:
    return late[0]


class DelayedSeat(RuleSeat):
    """A rule that sees z_s late. Its certificates speak of all rounds, as if what is under way arrived at the end."""

    def __init__(self, player: Delayed, dimension: int, compiled: bool, arrays: dict[str, Any] | None = None) -> None:
        super().__init__(player.rule, dimension, compiled, arrays)
        self.player, self.rounds = player, 0
        self.late: Vector = np.zeros(LEDGER)
        self.queue: list[Late] = []
        if arrays is not None:
            self.rounds, self.late = int(arrays["rounds"][0]), arrays["late"]
            columns = (arrays["due"].tolist(), arrays["heights"].tolist(), arrays["points"], arrays["gradients"])
            self.queue = list(zip(*columns, strict=True))

    def see(self, f: Convex, z: Vector) -> None:
        t = self.rounds + 1
        queue = [*self.queue, (t + self.player.of_round(t), float(self.late[TRAVELLED]), self.point(), z)]
        state, late = self.state.copy(), self.late.copy()  # so that a round is refused as a whole
        self._deliver(state, late, sorted((item for item in queue if item[0] <= t), key=_due), t)
        self.state, self.late, self.rounds = state, late, t
        self.queue = [item for item in queue if item[0] > t]

    def _deliver(self, state: State, late: Vector, arrived: list[Late], t: int) -> None:
        for _, height, w, z in arrived:
            size, found = norm(z, dual_exponent(self.learner)), self._point(state)
            self._feed(state, z, t)
            late[DRIFT] += float((w - found) @ z)
            late[LAGGED] += size * (late[TRAVELLED] - height) if late[TRAVELLED] < math.inf else math.inf
            late[TRAVELLED] += state.sums[LAST_RATE] * size

    def _settled(self) -> tuple[State, Vector]:
        """The state and ledger as if all answers under way arrived now; where they would overflow, the drift is ∞."""
        state, late = self.state.copy(), self.late.copy()
        try:
            self._deliver(state, late, sorted(self.queue, key=_due), self.rounds)
        except DivergedError:
            late[[DRIFT, LAGGED]] = math.inf
        return state, late

    def ledger(self) -> Vector:
        state, late = self._settled()
        return np.concatenate([state.sums, state.counts.astype(float), late])

    def theta(self) -> Vector | None:
        return None if super().theta() is None else np.ascontiguousarray(self._settled()[0].theta)

    def certificates(self, ledger: Vector, theta: Vector | None, look: Look) -> list[Certificate]:
        """Strong convexity does not help: it holds around w_s, where the rule no longer is."""
        usual, late = np.split(ledger, [SUMS + COUNTS])
        found = look._replace(curvature=0.0)(self.learner, usual, theta)
        return late_certificates(self.learner, found, late, 0)

    def arrays(self) -> dict[str, Any]:
        d = self.state.dimension
        queue = {
            "due": np.array([item[0] for item in self.queue], np.int64),
            "heights": np.array([item[1] for item in self.queue], float),
            "points": np.array([item[2] for item in self.queue], float).reshape(-1, d),
            "gradients": np.array([item[3] for item in self.queue], float).reshape(-1, d),
        }
        return super().arrays() | queue | {"late": self.late, "rounds": np.array([self.rounds])}


class DoublingSeat(RuleSeat):
    """A rule that starts afresh with rounds 1, 2, 4, 8, …; the ledgers of its finished blocks are kept."""

    def __init__(self, player: Doubling, dimension: int, compiled: bool, arrays: dict[str, Any] | None = None) -> None:
        self.player = player
        self.finished: list[Vector] = [] if arrays is None else list(arrays["finished"])
        self.sums: list[Vector] = [] if arrays is None else list(arrays["thetas"])
        super().__init__(self._rule(len(self.finished)), dimension, compiled, arrays)

    def _rule(self, m: int) -> Rule:
        block = self.player.block(1 << m)
        rule: Rule = block.rule if isinstance(block, Linear) else block
        return rule

    def point(self) -> Vector:
        if self.state.rounds == 1 << len(self.finished):
            self._restart()
        return super().point()

    def _restart(self) -> None:
        theta = super().theta()
        self.finished.append(super().ledger())
        self.sums.append(np.zeros(0) if theta is None else theta.copy())
        self.learner = Linear(Cost(), self._rule(len(self.finished)))
        self.state = self.learner.start(self.state.dimension)

    def certificates(self, ledger: Vector, theta: Vector | None, look: Look) -> list[Certificate]:
        """The sum over the blocks so far; `ledger` is that of the latest."""
        latest = block_of(max(look.rounds, 1))
        bounds = []
        for m in range(latest):
            learner = Linear(Cost(), self._rule(m))
            bounds.append(bounds_of(look(learner, self.finished[m], None if theta is None else self.sums[m])))
        found = look(Linear(Cost(), self._rule(latest)), ledger, theta)
        return sum_blocks(found, [*bounds, bounds_of(found)], look.rounds)

    def arrays(self) -> dict[str, Any]:
        finished = np.array(self.finished).reshape(-1, SUMS + COUNTS)
        thetas = np.array(self.sums).reshape(len(self.sums), -1) if self.sums else np.zeros((0, 0))
        return super().arrays() | {"finished": finished, "thetas": thetas}


def take_seat(
    player: Any, dimension: int, functions: list[Convex], compiled: bool, arrays: dict[str, Any] | None = None
) -> Seat:
    """Seat a rule, a learner's rule, one that is delayed or restarts, a follower, or an object of the user's own."""
    if isinstance(player, Linear):
        player = player.rule
    if isinstance(player, Rule):
        return RuleSeat(player, dimension, compiled, arrays)
    if isinstance(player, Delayed):
        return DelayedSeat(player, dimension, compiled, arrays)
    if isinstance(player, Doubling):
        return DoublingSeat(player, dimension, compiled, arrays)
    if isinstance(player, Follower):
        return FollowerSeat(player, dimension, functions, arrays)
    return OwnSeat(player, dimension)
