"""The register of a run that is spread: who may begin a batch, in which order batches count, and the ledger of all.

    grant = register.begin(worker, rows)          before the worker pulls; WAIT or CLOSED if it may not begin
    lag = register.enter(worker, account)         after it learnt, before it pushes
    register.settle(worker)                       after all its pushes are at their servers (`begin` implies it)

A batch lacks the batches that were entered before it but not settled when it began. With a bound on staleness, no
batch begins that would let it, or one under way, lack more rows than that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate.spread import BATCHES, BOOK, LAGGED, MISSED, MOST, PATH, batch_size
from lowregret.learner.linear import Linear
from lowregret.rule.adagrad import CURVED, GROWN, PULLED
from lowregret.rule.base import WIDEST
from lowregret.rule.mirror_descent import RATE, MirrorDescent
from lowregret.run.schema_spread import LAGS
from lowregret.state import (
    BLUR,
    BLURRIEST,
    COUNTS,
    ENERGY,
    FIRST_RATE,
    LARGEST,
    LAST_RATE,
    LINEAR,
    MISTAKES,
    ROUNDS,
    STEPPED,
    TOTAL,
    State,
)
from lowregret.types import Vector

WAIT, CLOSED = "wait", "closed"
ADDED = (TOTAL, LINEAR, ENERGY, STEPPED, CURVED, PULLED, GROWN, BLUR)  # sums of a batch that add up
HIGHEST = (LARGEST, WIDEST, BLURRIEST)


class Grant(NamedTuple):
    """Leave to begin a batch, and the ledger as it is then."""

    sums: Vector
    counts: Any


class Account(NamedTuple):
    """The ledger of a batch: sums and counts before and after it, and ‖Z‖ of what it pushes."""

    before: Grant
    sums: Vector
    counts: Any
    moved: float

    @property
    def rounds(self) -> int:
        return int(self.counts[ROUNDS] - self.before.counts[ROUNDS])


@dataclass
class _Flight:
    """A batch under way."""

    rows: int
    others: int  # rows of others that it may come to lack
    known: int  # rounds settled when it began
    path: float  # of them


class Register:
    """The gate, the order and the ledger of a spread run. `staleness`: rows that a batch may lack; ∞ for any."""

    def __init__(self, learner: Linear, staleness: float = math.inf, state: State | None = None) -> None:
        self.learner, self.staleness = learner, staleness
        first = learner.start(1) if state is None else state
        self.sums, self.counts = first.sums.copy(), first.counts.copy()
        self.ledger: Vector = np.zeros(BOOK)
        self.lags = np.zeros(LAGS, np.int64)  # rows by how many they lacked
        self.closed = False
        self._flights: dict[Any, _Flight] = {}
        self._open: dict[
            Any, tuple[int, float]
        ] = {}  # rounds and ‖Z‖ of batches entered, whose pushes may be under way

    # ---- a batch ---------------------------------------------------------------------------------------------------

    def begin(self, worker: Any, rows: int) -> Grant | str:
        """Leave to begin a batch of this many rows; WAIT until others are done, or CLOSED for a cut."""
        self.settle(worker)
        if self.closed:
            return CLOSED
        away = sum(flight.rows for flight in self._flights.values()) + sum(rounds for rounds, _ in self._open.values())
        crowded = any(flight.others + rows > self.staleness for flight in self._flights.values())
        if away > self.staleness or crowded:
            return WAIT
        for flight in self._flights.values():
            flight.others += rows
        known = int(self.counts[ROUNDS]) - sum(rounds for rounds, _ in self._open.values())
        path = float(self.ledger[PATH]) - sum(moved for _, moved in self._open.values())
        self._flights[worker] = _Flight(rows, away, known, path)
        return Grant(self.sums.copy(), self.counts.copy())

    def enter(self, worker: Any, account: Account) -> int:
        """Enter a batch into the ledger; returns how many rows it lacked."""
        flight = self._flights.pop(worker)
        rounds, energy = account.rounds, float(account.sums[ENERGY] - account.before.sums[ENERGY])
        lag = int(self.counts[ROUNDS]) - flight.known
        size = batch_size(self.learner, account.moved, rounds, energy)
        self.ledger[LAGGED] += size * (max(float(self.ledger[PATH]) - flight.path, 0.0))
        self.ledger[PATH] += account.moved
        self.ledger[BATCHES] += 1
        self.ledger[MISSED] += rounds * lag
        self.ledger[MOST] = max(self.ledger[MOST], lag)
        self.lags[lag.bit_length()] += rounds
        self._add(account)
        self._open[worker] = rounds, account.moved
        return lag

    def settle(self, worker: Any) -> None:
        """All pushes of a worker are at their servers."""
        self._open.pop(worker, None)

    def _add(self, account: Account) -> None:
        before, after = account.before.sums, account.sums
        for k in ADDED:
            self.sums[k] += after[k] - before[k]
        for k in HIGHEST:
            self.sums[k] = max(self.sums[k], after[k])
        self.sums[FIRST_RATE] = self.sums[FIRST_RATE] or after[FIRST_RATE]
        self.sums[LAST_RATE] = after[LAST_RATE] or self.sums[LAST_RATE]
        for k in (ROUNDS, MISTAKES):
            self.counts[k] += account.counts[k] - account.before.counts[k]
        rule = self.learner.rule
        if isinstance(rule, MirrorDescent):
            self.sums[RATE] = rule.step.rate(self._state, 0.0)

    @property
    def _state(self) -> State:
        return State(np.empty(0), np.empty(0), self.sums, self.counts)

    # ---- cuts ------------------------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        """Whether no batch is under way: the servers hold what the ledger tells, and nothing else."""
        return not self._flights and not self._open

    @property
    def rounds(self) -> int:
        return int(self.counts[ROUNDS])

    @property
    def mean_loss(self) -> float:
        """Loss per round, of rows entered so far."""
        return float(self.sums[TOTAL]) / max(self.rounds, 1)

    def shut(self) -> None:
        """Let nobody begin, until `open`."""
        self.closed = True

    def open(self) -> None:
        """Let workers begin again."""
        self.closed = False


assert COUNTS == 4  # rounds and mistakes add up; pushes and the dimension are the servers' own
